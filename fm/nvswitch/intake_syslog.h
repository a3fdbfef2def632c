/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * syslog: what is read line by line or record by record: files that people write, up to the first
 * line that is wrong; messages of syslog; journald's records.
 */
#ifndef FMD_NVSWITCH_INTAKE_SYSLOG_H
#define FMD_NVSWITCH_INTAKE_SYSLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes a line, of which its end and a remark (from # on) were cut off. Returns NULL, or what is
 * wrong with it: a static text.
 */
typedef const char *lines_fn(void *arg, char *line);

/*
 * Calls fn with each line. Returns 0, or -1 with `FILE: reason` (it cannot be read) or `FILE:LINE:
 * reason` in err; the lines before were taken then, which is for the caller to undo.
 */
int lines_read(const char *path, lines_fn *fn, void *arg, char *err, size_t err_size);

/* ---- Syslog ---------------------------------------------------------------------------------- */

/*
 * Parses log messages: RFC 3164 (and rsyslog's with an ISO time, and without time or host
 * as devices and forwarders send it), RFC 5424; in streams each ends with a
 * newline. Pure: bytes in, host and text out.
 */

#define SYSLOG_LINE 2048 /* of a message; the rest of a longer one is not read */
#define SYSLOG_HOST 128

struct syslog_message {
	char host[SYSLOG_HOST]; /* "" = none; "relay/host" and "host/relay" are not split */
	const char *text;	/* behind the header; points into the line */
	size_t len;
};
/* False: the line has none of the forms, or an invalid host name. *message points into it. */
bool syslog_read(const char *line, size_t len, struct syslog_message *message);
/* Whether it has only characters of host names, addresses and chains of relays, safe to show. */
bool syslog_host_is_text(const char *host);

typedef void syslog_line_fn(void *arg, const char *line, size_t len); /* line: during the call */

struct syslog_stream { /* the line under way of one connection; zeroed at first */
	uint32_t used;
	char line[SYSLOG_LINE];
};
/* Takes bytes of the stream and calls fn with each line that is complete. */
void syslog_stream_feed(struct syslog_stream *stream, const char *data, size_t len,
			syslog_line_fn *fn, void *arg);

/* ---- Journal --------------------------------------------------------------------------------- */

/*
 * A stream of journald's records: the export format
 * (https://systemd.io/JOURNAL_EXPORT_FORMATS: journald's ForwardToSocket=, `journalctl -o export`,
 * which the native protocol shares) or a JSON object a line (`journalctl -o json`).
 *
 * Only _HOSTNAME and MESSAGE of a record are read. Only the record under way is kept, its message
 * cut to SYSLOG_LINE.
 */

#define JOURNAL_JSON_MAX 32768 /* bytes of a line of JSON; a longer one is malformed */

struct journal_stream { /* of one connection; zeroed at first */
	uint8_t at, field;
	uint32_t name_used, size_used;
	uint64_t left; /* of a binary value */
	char name[64];
	uint8_t size[8];
	struct syslog_message message;
	uint32_t text_used, host_used;
	bool any;
	char text[SYSLOG_LINE];
	char *json; /* [JOURNAL_JSON_MAX], of JSON alone */
	uint32_t json_used;
};
/* Takes a record; `message` is valid during the call. known false = the record is malformed. */
typedef void journal_fn(void *arg, bool known, const struct syslog_message *message);

/* Whether a stream that begins with this byte is journald's; syslog begins with `<` or a digit. */
bool journal_begins(char first);
/* Takes bytes of a stream, and calls fn with each record that is complete. */
void journal_feed(struct journal_stream *stream, const char *data, size_t len, journal_fn *fn,
		  void *arg);
/* Frees what the stream holds; a record that is not complete is dropped. */
void journal_fini(struct journal_stream *stream);

#endif
