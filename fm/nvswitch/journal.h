/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal: a stream of journald's records: the export format
 * (https://systemd.io/JOURNAL_EXPORT_FORMATS: journald's ForwardToSocket=, `journalctl -o export`,
 * which the native protocol shares) or a JSON object a line (`journalctl -o json`).
 *
 * Only _HOSTNAME and MESSAGE of a record are read. Only the record under way is kept, its message
 * cut to SYSLOG_LINE.
 */
#ifndef FMD_NVSWITCH_JOURNAL_H
#define FMD_NVSWITCH_JOURNAL_H

#include "fm/nvswitch/syslog.h"

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
