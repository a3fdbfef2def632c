/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * syslog: parses log messages: RFC 3164 (and rsyslog's with an ISO time, and without time or host
 * as devices and forwarders send it), RFC 5424, /dev/kmsg records; over streams by octet count or
 * newline (RFC 6587). Pure: bytes in, host and text out.
 */
#ifndef FMD_NVSWITCH_SYSLOG_H
#define FMD_NVSWITCH_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSLOG_LINE 2048 /* of a message; the rest of a longer one is not read */
#define SYSLOG_HOST 128

struct syslog_message {
	char host[SYSLOG_HOST]; /* "" = none; "relay/host" and "host/relay" are not split */
	const char *text;	/* behind the header; points into the line */
	size_t len;
};
/* False: the line has none of the forms, or an invalid host name. *message points into it. */
bool syslog_read(const char *line, size_t len, struct syslog_message *message);
bool syslog_read_kmsg(const char *record, size_t len, struct syslog_message *message);
/* Whether it has only characters of host names, addresses and chains of relays, safe to show. */
bool syslog_host_is_text(const char *host);

typedef void syslog_line_fn(void *arg, const char *line, size_t len); /* line: during the call */

struct syslog_stream { /* the framing of one connection; zeroed at first */
	uint32_t left; /* octets of a counted message that are still to come */
	uint32_t used;
	uint8_t mode;
	bool lines_only; /* no counts: set by the caller */
	char line[SYSLOG_LINE];
};
/* Takes bytes of the stream and calls fn with each message that is complete. */
void syslog_stream_feed(struct syslog_stream *stream, const char *data, size_t len,
			syslog_line_fn *fn, void *arg);
/* The stream is over: a last line without newline counts. */
void syslog_stream_end(struct syslog_stream *stream, syslog_line_fn *fn, void *arg);

#endif
