/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal: a stream of journald's records: the export format
 * (https://systemd.io/JOURNAL_EXPORT_FORMATS: journald's ForwardToSocket=, `journalctl -o export`,
 * which the native protocol shares) or a JSON object a line (`journalctl -o json`).
 *
 * Of a record _HOSTNAME and MESSAGE count, nothing else. Nothing is kept but the record under way,
 * its message cut to what a line of a log may have.
 */
#ifndef FMD_NVSWITCH_JOURNAL_H
#define FMD_NVSWITCH_JOURNAL_H

#include "fm/nvswitch/syslog.h"

#define JOURNAL_JSON_MAX 32768 /* bytes of a line of JSON; a longer one is malformed */

struct journal_stream { /* one connection's; zeroed at first */
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
/* known: it is a record with a message; else it is none, and malformed. */
typedef void journal_fn(void *arg, bool known, const struct syslog_message *message);

/*
 * Whether a stream that begins with this byte is journald's at all: syslog begins with `<` or a
 * digit.
 */
bool journal_begins(char first);
void journal_feed(struct journal_stream *stream, const char *data, size_t len, journal_fn *fn,
		  void *arg);
void journal_fini(struct journal_stream *stream);

#endif
