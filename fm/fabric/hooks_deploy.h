/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hooks_deploy: what was published is programmed and brought up, or is not.
 * See fm/fabric/module.h for who calls them and when; a hook that is NULL is not needed.
 */
#ifndef FMD_FABRIC_HOOKS_DEPLOY_H
#define FMD_FABRIC_HOOKS_DEPLOY_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

struct bringup_result;
struct mft_result;
struct program_result;
struct table_block;

struct fabric_deploy_hooks {
	/*
	 * What was published is about to be programmed. False: the room holds that back until it
	 * calls fabric_request_program().
	 */
	bool (*may_program)(void *room);
	/*
	 * Tables were programmed, and acknowledged or not; after a restart once more when all are
	 * read.
	 */
	void (*programmed)(void *room, const struct program_result *result);
	/* Multicast tables were written, and acknowledged or not (fabric_report_mft_written()). */
	void (*mft_written)(void *room, const struct mft_result *result);
	/*
	 * A switch does not hold a multicast block that it acknowledged
	 * (fabric_report_mft_mismatch()).
	 */
	void (*mft_mismatch)(void *room);
	/*
	 * A switch holds another block of its forwarding table than it acknowledged; an operator's
	 * readback found it.
	 */
	void (*mismatch)(void *room, guid_t sw, uint32_t block);
	/*
	 * A switch does not hold a block that was written to it twice
	 * (fabric_report_table_unheld()).
	 */
	void (*table_unheld)(void *room, const struct table_block *block);
	/* Ports and links were brought up, or given up. */
	void (*brought_up)(void *room, const struct bringup_result *result);
	/* Work of this room is under way that the audit of tables waits for. */
	bool (*busy)(const void *room);
	/* All that was published is programmed and brought up. */
	void (*settled)(void *room);
	/* The same, in a step of its own behind it: for what takes a pass over the snapshot. */
	void (*settled_later)(void *room);
};

#endif
