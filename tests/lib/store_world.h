/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * store_world: a state over a folder of its own in /tmp, on a simulated loop, and one row that
 * holds a number. Behind <cmocka.h>.
 */
#pragma once

#include "fm/state/state.h"

#define SECOND_US 1000000ull

struct world {
	char folder[40];
	struct loop *loop;
	struct loop_timer *stop;
	struct event_log *events;
	struct alerts *alerts;
	struct state *store;
	unsigned value, value_read;    /* the number that the row gets, and the one read from it */
	struct event_rows *event_rows; /* in test_event_rows.c alone */
};

/* Creates the folder and the loop; store_world_open() follows. _free() removes the folder. */
struct world *store_world_new(void);
struct world *store_world_new_on(struct loop *loop); /* takes the loop, which may be a real one */
int store_world_free(struct world *w);

/* The daemon's life: events, alerts and state. store_world_close() writes nothing, as kill -9. */
void store_world_open(struct world *w, unsigned events_kept);
void store_world_close(struct world *w);
void store_world_reopen(struct world *w); /* events and alerts go on */

void store_world_run(struct world *w, uint64_t us); /* simulated time */

/* Hooks of a struct state_kind whose owner is a struct world; and one that is asked at once. */
bool value_line(void *world, const char *line);
uint64_t value_write(const void *world, uint64_t from, FILE *out);
extern const struct state_kind value_kind;
