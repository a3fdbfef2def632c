/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * history: what ports carried and which errors they counted: the last week in rows of five minutes,
 * the last hour in rows of a pass over the counters, of ten seconds where a port is watched. One
 * file, state_dir/history.
 *
 * A row has one byte for each port: the load of what the port sends, in steps of half a per cent of
 * its data rate. What a port receives is what its peer sends, so a link has both directions. Errors
 * and changes of speed or width are records of 16 bytes in a ring of their own, written only where
 * there are some.
 *
 * The file is sparse and has a fixed shape: a head, a time for each row, a table of ports, the ring
 * of records, the rows. A thread writes it, the reader of an answer reads the bytes of two ports. A
 * row counts once its time is written, which is behind its bytes: a torn row is no row. A file of
 * another shape, or one whose head was damaged, is kept as `history.bad`, and a new one begins.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "fm/mad/wire_perf.h"
#include "topology/snapshot/topo.h"

#define HISTORY_PORTS	120000u /* of 16,384 HCAs in three tiers; ports beyond them are not kept */
#define HISTORY_STEP_S	300u
#define HISTORY_WEEK_S	(7 * 24 * 3600u)
#define HISTORY_HOUR_S	3600u
#define HISTORY_PASS_S	10u /* of shorter passes the last one within ten seconds is kept */
#define HISTORY_CHANGES 524288u
#define HISTORY_ROWS	(HISTORY_WEEK_S / HISTORY_STEP_S + HISTORY_HOUR_S / HISTORY_PASS_S)
#define HISTORY_DATA	(4096u + 16u * (HISTORY_ROWS + HISTORY_PORTS + HISTORY_CHANGES))
/* What the file comes to at most. */
#define HISTORY_BYTES (HISTORY_DATA + (uint64_t)HISTORY_ROWS * HISTORY_PORTS)

struct history;
/*
 * The history in that folder, the caller's, never NULL; the folder's name is copied. threaded: file
 * operations are a thread's, which begins with the first reading, each row is synchronized, and
 * until the file is read nothing is taken; else all happens within the calls, and nothing is
 * synchronized.
 */
struct history *history_open(const char *folder, bool threaded);
void history_close(struct history *history); /* writes what is had; NULL is fine */

struct history_reading { /* of a port with a link */
	guid_t node, peer;
	uint32_t watched_s; /* when, between two passes: its rates alone count; 0 = in a pass */
	uint8_t port, peer_port;
	uint8_t speed, lanes;	     /* enum topo_speed */
	double bytes_s[2];	     /* of data that it sent, received; NAN = not known */
	uint32_t added[PERF_ERRORS]; /* errors since the reading before */
};
/*
 * The latest of a pass counts for the load; all errors count. Readings between two passes are a row
 * of the last hour with the next reading ten seconds later, unless a pass ended meanwhile.
 */
void history_take(struct history *history, const struct history_reading *reading);
/* A pass over all ports has ended, at that time in seconds since 1970. */
void history_passed(struct history *history, uint32_t now_s);
/* Why it is not kept, or why it began again; NULL = all is well. Borrowed until the next call. */
const char *history_alert(struct history *history);

/*
 * The rows of a port, oldest first, each of step_s seconds: of the last hour if step_s is below
 * HISTORY_STEP_S, else of the week. The caller's; empty = nothing is kept of it. May be called in a
 * child process.
 *
 * {"time", "sent_percent", "sent_most_percent", "received_percent", "received_most_percent",
 *  "errors", "changes"}: null = not read.
 */
json_t *history_rows(const struct history *history, guid_t node, uint8_t port, guid_t peer,
		     uint8_t peer_port, uint32_t step_s, uint32_t now_s);
