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
 * Calls fn with each line of a file. Returns 0, or -1 with `FILE: reason` (it cannot be read) or
 * `FILE:LINE: reason` in err; the lines before were taken then, which is for the caller to undo.
 */
int lines_read(const char *path, lines_fn *fn, void *arg, char *err);
/* The same of a text, which is cut up; *number: lines that were taken. What is wrong, or NULL. */
const char *lines_take(char *text, lines_fn *fn, void *arg, unsigned *number);

/* ---- Messages -------------------------------------------------------------------------------- */

#define SYSLOG_LINE 2048 /* of a message; the rest of a longer one is not read */
#define SYSLOG_HOST 128

struct syslog_message {
	char host[SYSLOG_HOST]; /* "" = none; "relay/host" and "host/relay" are not split */
	const char *text;	/* behind the header */
	size_t len;
};
/*
 * RFC 3164 (and rsyslog's with an ISO time, and without time or host as devices and forwarders send
 * it), RFC 5424. False: the line has none of the forms, or an invalid host name. *message points
 * into it.
 */
bool syslog_read(const char *line, size_t len, struct syslog_message *message);
/* Whether it has only characters of host names, addresses and chains of relays, safe to show. */
bool syslog_host_is_text(const char *host);

/* ---- Streams of one connection --------------------------------------------------------------- */

/*
 * The first byte says in which form messages come: as lines of syslog; as records of journald in
 * the export format (https://systemd.io/JOURNAL_EXPORT_FORMATS: journald's ForwardToSocket=,
 * `journalctl -o export`, which the native protocol shares), or as a JSON object a line
 * (`journalctl -o json`). Of a record only _HOSTNAME and MESSAGE are read.
 */

#define LOG_STREAM_LINE 32768 /* bytes of a line; the rest of a longer one is not read */

struct log_stream { /* zeroed at first */
	uint8_t form, field;
	bool any;      /* of the record under way */
	bool lost;     /* up to an empty line: what stood there is no field */
	bool sizing;   /* 8 bytes say how long the value is, which may have newlines in it */
	uint64_t left; /* of that value, and the newline behind it */
	uint32_t used, text_used;
	char *line; /* [LOG_STREAM_LINE] */
	char text[SYSLOG_LINE];
	struct syslog_message message;
};
/* Takes a message, valid during the call. known false = it is malformed. */
typedef void log_stream_fn(void *arg, bool known, const struct syslog_message *message);

/* Takes bytes of a stream, and calls fn with each message that is complete. */
void log_stream_feed(struct log_stream *stream, const char *data, size_t len, log_stream_fn *fn,
		     void *arg);
/* Ends it: a last line of syslog needs no newline, a record that is not complete is dropped. */
void log_stream_end(struct log_stream *stream, log_stream_fn *fn, void *arg);

#endif
