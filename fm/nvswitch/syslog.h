/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * syslog: messages as they come over the wire, taken apart: RFC 3164 (and rsyslog's with an ISO
 * time, and without time or host as devices and forwarders send it), RFC 5424, /dev/kmsg records;
 * over streams by octet count or newline (RFC 6587). Pure: bytes in, host and text out.
 */
#ifndef FMD_NVSWITCH_SYSLOG_H
#define FMD_NVSWITCH_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSLOG_LINE 2048 /* of a message; the rest of a longer one is not read */
#define SYSLOG_HOST 128

struct syslog_message {
	char host[SYSLOG_HOST]; /* "" = none is said; "relay/host" and "host/relay" as they stand */
	const char *text;	/* behind the header; points into the line */
	size_t len;
};
/* False: neither of the forms, or a host name that is none. */
bool syslog_read(const char *line, size_t len, struct syslog_message *message);
bool syslog_read_kmsg(const char *record, size_t len, struct syslog_message *message);
/*
 * Letters that names of hosts, addresses and chains of relays have: what is logged and shown of
 * them is text.
 */
bool syslog_host_is_text(const char *host);

typedef void syslog_line_fn(void *arg, const char *line, size_t len);

struct syslog_stream { /* one connection's framing; zeroed at first */
	uint32_t left; /* of a counted message, octets to come */
	uint32_t used;
	uint8_t mode;
	bool lines_only; /* no counts: set by the caller */
	char line[SYSLOG_LINE];
};
void syslog_stream_feed(struct syslog_stream *stream, const char *data, size_t len,
			syslog_line_fn *fn, void *arg);
void syslog_stream_end(struct syslog_stream *stream, syslog_line_fn *fn,
		       void *arg); /* a last line without newline counts */

#endif
