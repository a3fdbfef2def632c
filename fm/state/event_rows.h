/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* event_rows: the newest EVENTS_KEPT events of the log outlive a restart, a row each. */
#ifndef FMD_STATE_EVENT_ROWS_H
#define FMD_STATE_EVENT_ROWS_H

#include "fm/events/event_log.h"
#include "fm/state/state.h"

#define EVENTS_KEPT 4096u /* the log's capacity, too */

struct event_rows;
/* Reads the rows into the log, ahead of what it holds. Both are borrowed. free() ends it. */
struct event_rows *event_rows_new(struct state *state, struct event_log *events);
/* The newest event was just added. */
void event_rows_added(struct event_rows *rows);
/*
 * A change of role: the rows, which another manager may have sent, come into the log, and the log's
 * events, of which this one put none while another was master, become rows.
 */
void event_rows_merge(struct event_rows *rows);

#endif
