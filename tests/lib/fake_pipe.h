/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fake_pipe: what a room of the fabric manager sees of the pipe (fm/fabric/module.h, request.h,
 * view.h), and nothing behind it, for tests that link that room alone. What is published is the
 * test's to set; requests are counted, and none is served. Behind <cmocka.h>.
 */
#ifndef FMD_TESTS_FAKE_PIPE_H
#define FMD_TESTS_FAKE_PIPE_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/core/log.h"
#include "fm/fabric/host.h"
#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/program/program.h"
#include "fm/program/table_block.h"
#include "topology/mem.h"

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
	bool unsettled;			     /* what fabric_is_settled() denies */
	unsigned lost;			     /* files that an alert was raised for */
	bool standby, updating, programming; /* the test's to set */
	uint64_t link_clean_us;		     /* of all links: what fabric_link_clean_us() answers */
	/* What other rooms would say of a host; NULL = nothing. */
	void (*host_part)(struct fabric *fabric, uint32_t host, struct host_verdict *verdict);
	bool left; /* what fabric_request_verification() answers */
	bool own_loop;
	struct program *own_program; /* NULL = it was given */
	struct {
		enum fabric_role now; /* the test's to set, with `next` where it serves that */
		bool paused, took_over;
		unsigned changes;		/* that were asked for.. */
		struct fabric_role_change next; /* ..and the latest of them */
	} role;
	struct {
		unsigned sweeps, reroutes, retries, refreshes, reregisters, quarantines,
			improvements, faults, traps, hosts_changed, holds;
		unsigned port_reregisters;
		unsigned mft_written, mft_mismatches;
		guid_t refreshed; /* the latest */
		unsigned isolations, programs, verifications,
			ports; /* ports, refused: of the latest verification */
		bool refused;
		guid_t isolated; /* the latest, its port and why */
		uint8_t isolated_port;
		enum isolation_cause cause;
		unsigned tables_unheld;
		struct table_block unheld; /* the latest */
		const char *reason;
	} asked;
	struct { /* that waits for an update; ops NULL = none */
		const struct fabric_operation_ops *ops;
		void *data;
		waiter_fn *fn;
		void *arg;
	} operation;
};

/* The operation is settled; error: its tables were refused. */
void fake_pipe_answer(struct fabric *f, const char *error);
void fake_open_state(struct fabric *f);
void fake_stop(void *arg);
void fake_run_for(struct fabric *f, uint64_t us);
void fake_pipe_prepare(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       struct mad *mad, struct sa *sa);
void fake_pipe_init_on(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       const struct fabric_services *given);
void fake_pipe_init_sa(struct fabric *f, const struct fabric_module *module, struct topo *topo,
		       struct mad *mad, struct sa *sa);
void fake_pipe_init(struct fabric *f, const struct fabric_module *module, struct topo *topo);

/*
 * As after a restart: what the room said of its files is on disk, and it begins anew with nothing
 * else.
 */
void fake_pipe_restart(struct fabric *f);
void fake_pipe_fini(struct fabric *f);

/*
 * How many events of that kind there were; *text: the latest one's, if wanted, until the next call.
 */
unsigned fake_events(const struct fabric *f, const char *kind, const char **text);

#endif
