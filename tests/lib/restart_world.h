/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* restart_world: a fabric double on which fmd is restarted; compares what it publishes. */
#pragma once

#include "tests/lib/fabric_world.h"

struct seen { /* what is published */
	struct tables tables;
	guid_t *switches;
	double links, links_down;
	json_t *at_risk;
};

void seen_fini(struct seen *s);
/* A copy of what is published now; the caller frees it by seen_fini(). */
struct seen seen_of(const struct world *w);
/* Fails unless the same switches, LFTs, links and risks are published now. */
void assert_seen_again(const struct world *w, const struct seen *before);
/* Starts fmd (restart: ends it before) and runs two seconds, until it is up; clears MAD counts. */
void start_again(struct world *w);
void restart(struct world *w);
/* LFT blocks since the start. */
uint64_t blocks_written(const struct world *w);
uint64_t blocks_read(const struct world *w);
void cut_all_of(struct world *w, uint32_t node);
/* Cuts a link between switches, one to a host, all of a spine, all of a host. */
void damage(struct world *w);
