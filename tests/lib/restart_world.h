/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* restart_world: a fabric double whose fmd is started again, and what is published then. */
#ifndef FMD_TESTS_RESTART_WORLD_H
#define FMD_TESTS_RESTART_WORLD_H

#include "tests/lib/fabric_world.h"

struct seen { /* what is published */
	struct tables tables;
	guid_t *switches;
	double links, links_down;
	json_t *at_risk;
};

void seen_fini(struct seen *s);
/* What is published now; the caller ends it. */
struct seen seen_of(const struct world *w);
/* The same switches, LFTs, links and risks are published now. */
void assert_seen_again(const struct world *w, const struct seen *before);
/* Two seconds; it is up then. Counts of MADs begin anew. */
void start_again(struct world *w);
void restart(struct world *w);
/* LFT blocks since then. */
uint64_t blocks_written(const struct world *w);
uint64_t blocks_read(const struct world *w);
void cut_all_of(struct world *w, uint32_t node);
/* A cable between switches, one to a host, a whole spine, a whole host. */
void damage(struct world *w);

#endif
