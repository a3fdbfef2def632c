/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * store_world: a state store over a folder of its own in /tmp, on a simulated loop, and one state
 * file that holds a number. Behind <cmocka.h>.
 */
#ifndef FMD_TESTS_STORE_WORLD_H
#define FMD_TESTS_STORE_WORLD_H

#include "fm/state/state_store.h"

#define SECOND_US 1000000ull

struct world {
	char folder[40];
	struct loop *loop;
	struct loop_timer *stop;
	struct event_log *events;
	struct alerts *alerts;
	struct state_store *store;
	unsigned value, value_read; /* the number that the file gets, and the one read from it */
	unsigned writes;	    /* files that the store has finished writing */
	struct event_files *event_files; /* in test_event_files.c alone */
};

/* Creates the folder and the loop; store_world_open() follows. _free() removes the folder. */
struct world *store_world_new(void);
struct world *store_world_new_on(struct loop *loop); /* takes the loop, which may be a real one */
int store_world_free(struct world *w);

/* The daemon's life: events, alerts and store. store_world_close() writes nothing, as kill -9. */
void store_world_open(struct world *w, unsigned events_kept);
void store_world_close(struct world *w);
void store_world_reopen(struct world *w); /* events and alerts go on */

void store_world_run(struct world *w, uint64_t us); /* simulated time */

/* Hooks of a struct state_file whose owner is a struct world. */
unsigned value_file_read(void *world, FILE *in);
void value_file_forget(void *world);
void value_file_write(const void *world, FILE *out);

#endif
