/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * plain_judge: what check_tables() finds, found the slow and plain way: every packet is followed by
 * itself, every dependency is a line in a list, a cycle is a channel that waits for itself. It
 * shares no code with the judge.
 */
#pragma once

#include <stdbool.h>
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

enum plain_end { PLAIN_ELSEWHERE, PLAIN_ARRIVES, PLAIN_LOOPS };

/* Where a packet for the LID ends that is at the switch. */
enum plain_end plain_follow(const struct topo *t, const struct lid_map *lids,
			    const struct tables *tables, uint32_t sw, uint32_t lid);

struct plain_findings { /* as in struct check_report */
	uint64_t reachable, unreachable, unreachable_special, disconnected;
	uint64_t loops, bad_ports, credit_cycles;
};

struct plain_findings plain_judge(const struct topo *t, const struct lid_map *lids,
				  const struct tables *tables);
