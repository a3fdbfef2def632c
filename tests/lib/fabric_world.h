/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_world: the whole daemon on the fabric double, in simulated time. Include cmocka first.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/links_out/module.h"
#include "fm/loop/log.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/view.h"
#include "fm/rooms.h"
#include "tests/lib/state_rows.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/double.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

#define SECOND_US     1000000ull
#define SAMPLED_PAIRS 64

struct world {
	char state_dir[64];
	struct topo *design;
	struct loop *loop;
	struct double_fabric *hw;
	struct mad *mad;
	struct conf conf;
	struct fabric *fabric;
	struct loop_timer *stop;
};

/* What is published, owned by the daemon; NULL before the first update. */
const struct topo *fabric_topo(const struct fabric *f);
const struct lid_map *fabric_lids(const struct fabric *f);
const struct tables *fabric_tables(const struct fabric *f);
void stop_cb(void *arg);
void run_for(struct world *w, uint64_t us);
void start_fabric(struct world *w);
void stop_fabric(struct world *w);

/* fmd is at the first host; _stopped: not started yet. Takes the reference of the design. */
void world_init_stopped(struct world *w, struct topo *design);
void world_init(struct world *w, struct topo *design);
/* While fmd does not run: such rows were never kept. "cables": with nodes and ports. */
void remove_state(const struct world *w, const char *kind);
void remove_all_state(const struct world *w); /* all files */
void world_fini(struct world *w);
struct topo *small_tree(void);
bool is_up(const struct world *w);
double status_number(const struct world *w, const char *section, const char *key);
uint16_t lid_of(const struct world *w, uint32_t host);

/* Fails unless packets of SAMPLED_PAIRS pairs arrive by the tables that the switches hold. */
void assert_hardware_delivers(const struct world *w, uint64_t seed);

/* The number of pairs of hosts whose packets do not arrive by the tables that the switches hold. */
unsigned dead_pairs(const struct world *w);
void assert_hardware_holds_the_tables(const struct world *w);
uint32_t far_leaf(const struct world *w);

/* The number of present alerts of a kind ("" = any) whose text contains `text`. */
unsigned count_alerts(const struct world *w, const char *what, const char *text);

/* The number of events of a kind, of the latest thousand, whose text contains `text`. */
unsigned count_logged(const struct world *w, const char *kind, const char *text);
void state_path(const struct world *w, const char *name, char path[128]);

/* All rows of a kind as lines: of fmd's memory where it runs, else of its disk. The caller's. */
char *state_lines(const struct world *w, const char *kind);

/* What the disk has of it while fmd runs: as a kill at this moment would leave it. */
char *disk_lines(const struct world *w, const char *kind);

/* Starts fmd again with these lines as a kind's rows. False: it says that some were lost. */
bool restart_with(struct world *w, const char *kind, const char *text);

/* Does so with rows that can't be, and fails unless it says that they were lost. */
void restart_with_corrupted(struct world *w, const char *kind, const char *text);

struct reply { /* to an operator's command */
	unsigned count;
	json_t *result;
	char error[256];
};

void reply_cb(void *arg, json_t *result, const char *error);
struct reply cordon(struct world *w, const char *what, bool on);

struct path_heard { /* count 0: the request was left unanswered */
	unsigned count;
	uint16_t status, pkey;
};
/* What that node of the design is answered when it asks for a path between two, by port GUIDs. */
struct path_heard ask_path(struct world *w, uint32_t asker, guid_t from, guid_t to);

struct answer {
	unsigned count;
	bool failed;
};

void operation_cb(void *arg, json_t *result, const char *error);

/* Computes the tables for the published snapshot with the present policy. */
void try_present(const struct fabric *fabric, struct tables *out);
