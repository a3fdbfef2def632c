/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fake_pipe: replaces the pipe (fm/fabric/module.h, request.h, view.h) in tests that link one room
 * alone. The test sets what is published; requests are counted, and none is served. Include cmocka
 * first.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/program/program.h"
#include "fm/program/audit.h"
#include "tests/lib/state_rows.h"
#include "topology/base/mem.h"

struct fabric {
	struct fabric_written written;
	struct fabric_view view;
	struct fabric_services services;
	struct conf conf;
	struct inventory inventory;
	struct lid_memory lids;
	char folder[32];		    /* state_dir */
	const struct fabric_module *module; /* the room under test */
	void *room;
	struct loop_timer *stop;
	bool unsettled;			     /* fabric_is_settled() returns false */
	unsigned lost;			     /* alerts of kinds with lost rows */
	bool standby, updating, programming; /* set by the test */
	bool left;			     /* what fabric_request_verification() returns */
	bool own_loop;
	struct program *own_program; /* NULL = it was given */
	struct {
		enum fabric_role now; /* set by the test, with `next` where it serves that */
		bool paused, took_over;
		unsigned changes;		/* number of changes requested */
		struct fabric_role_change next; /* the latest of them */
	} role;
	struct {
		unsigned sweeps, reroutes, retries, refreshes, reregisters, improvements, faults,
			traps, hosts_changed;
		unsigned port_reregisters;
		unsigned mft_written;
		guid_t refreshed; /* the latest */
		unsigned programs, verifications,
			ports; /* ports, refused: of the latest verification */
		bool refused, held;
		fabric_verified_fn *verified;
		const char *reason;
	} asked;
	struct { /* that waits for an update; ops NULL = none */
		const struct fabric_operation_ops *ops;
		void *data;
		waiter_fn *fn;
		void *arg;
	} operation;
};

/* Ends the waiting operation; error: its tables were refused, for that reason. */
void fake_pipe_answer(struct fabric *f, const char *error);
/* Makes state_dir in /tmp and opens it; fini removes it. */
void fake_open_state(struct fabric *f);
/* A loop_fn that stops the loop; and runs the loop for a simulated time. */
void fake_stop(void *arg);
void fake_run_for(struct fabric *f, uint64_t us);
/* Make the pipe with that snapshot published, and (init) start the room. */
void fake_pipe_prepare(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       struct mad *mad, struct sa *sa);
void fake_pipe_init_on(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       const struct fabric_services *given);
void fake_pipe_init_sa(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       struct mad *mad, struct sa *sa);
void fake_pipe_init(struct fabric *f, const struct fabric_module *module, struct topo *topo);

/* Writes the room's rows, ends the room and starts it again with the rows alone. */
void fake_pipe_restart(struct fabric *f);
/* The same, but what was not written by now is lost. */
void fake_pipe_kill(struct fabric *f);
/* Its two halves: between them state_dir is nobody's (state_rows.h). */
void fake_pipe_end(struct fabric *f);
void fake_pipe_begin(struct fabric *f);
/* These lines are all rows of a kind, as another manager sends them. */
void fake_take(struct fabric *f, const char *kind, const char *text);
void fake_pipe_fini(struct fabric *f);

/* The number of events of a kind; *text (may be NULL): the latest one's, until the next call. */
unsigned fake_events(const struct fabric *f, const char *kind, const char **text);
