/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_rows: the newest EVENTS_KEPT events of the log outlive a restart, a row each, and each is
 * handed to the operators' program (event_hook).
 *
 * The program runs for one event after the other, in their order; the next one waits until it has
 * ended with status 0. How far it came is a row, too, so behind a restart or a change of manager it
 * goes on there: an event may come twice, none is left out but what has left the log.
 */
#pragma once

#include "fm/state/state.h"

#define EVENTS_KEPT 4096u /* the log's capacity, too */

struct event_rows;
/*
 * Reads the rows into the log, ahead of what it holds. All are borrowed. Events from now on are for
 * the program, unless an earlier run has left some.
 */
struct event_rows *event_rows_new(struct loop *loop, struct state *state, struct event_log *events,
				  struct alerts *alerts);
void event_rows_free(struct event_rows *rows); /* NULL is fine */
/* program "": none runs. */
void event_rows_configure(struct event_rows *rows, const char *program, unsigned timeout_ms);
/* No program is started, as another manager's does: at first. */
void event_rows_hold(struct event_rows *rows, bool held);
/* The newest event was just added. */
void event_rows_added(struct event_rows *rows);
/*
 * A change of role: the rows, which another manager may have sent, come into the log, and the log's
 * events, of which this one put none while another was master, become rows.
 */
void event_rows_merge(struct event_rows *rows);
