/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_world: the daemon on the fabric double, for the tests of it. Time is the test's own.
 * Behind <cmocka.h>.
 */
#ifndef FMD_TESTS_FABRIC_WORLD_H
#define FMD_TESTS_FABRIC_WORLD_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/maintenance/module.h"
#include "fm/core/log.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/view.h"
#include "fm/rooms.h"
#include "fm/state/state_file.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/double.h"
#include "tests/lib/fabrics.h"
#include "topology/generate.h"
#include "topology/mem.h"

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

/* What is published; NULL before the first update. */
const struct topo *fabric_topo(const struct fabric *f);
const struct lid_map *fabric_lids(const struct fabric *f);
const struct tables *fabric_tables(const struct fabric *f);
void stop_cb(void *arg);
void run_for(struct world *w, uint64_t us);
void start_fabric(struct world *w);
void stop_fabric(struct world *w);

/* The SM sits at the first host, and is not started yet. Takes the design. */
void world_init_stopped(struct world *w, struct topo *design);
void world_init(struct world *w, struct topo *design);
void remove_state(const struct world *w, const char *name);
void world_fini(struct world *w);
struct topo *small_tree(void);
bool is_up(const struct world *w);
double status_number(const struct world *w, const char *section, const char *key);
uint16_t lid_of(const struct world *w, uint32_t host);

/* Packets of sampled pairs arrive by what the switches hold. */
void assert_hardware_delivers(const struct world *w, uint64_t seed);

/* Pairs of hosts between whom packets do not arrive by what the switches hold. */
unsigned dead_pairs(const struct world *w);
void assert_hardware_holds_the_tables(const struct world *w);
uint32_t far_leaf(const struct world *w);

/* Alerts that last now: of that kind, "" = of any, whose text has that in it. */
unsigned count_alerts(const struct world *w, const char *what, const char *text);

/* Events of a kind whose text has that in it, of the latest thousand. */
unsigned count_logged(const struct world *w, const char *kind, const char *text);
void state_path(const struct world *w, const char *name, char path[128]);

/* Without its first and last line a file of state_dir may be edited by hand. */
void strip_state(const struct world *w, const char *name);

/* Again, with that in a file of state_dir. False: it was set aside. */
bool restart_with(struct world *w, const char *name, const char *text);

/* It is not right, and is set aside. */
void restart_with_corrupted(struct world *w, const char *name, const char *text);

struct reply { /* what an act was answered */
	unsigned count;
	json_t *result;
	char error[256];
};

void reply_cb(void *arg, json_t *result, const char *error);
struct reply cordon(struct world *w, const char *what, bool on);

struct answer {
	unsigned count;
	bool failed;
};

void operation_cb(void *arg, json_t *result, const char *error);

/* What routing comes to for the published snapshot, by what it goes by now. */
void try_present(const struct fabric *fabric, struct tables *out);

#endif
