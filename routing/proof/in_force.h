/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * in_force: what packets find, as far as devices have shown it: the blocks that switches have
 * acknowledged or were read to hold, and links whose ports are Active at both ends, those of hosts
 * too. The proof (check.h) is of the tables that are wanted; the difference are pairs that wait for
 * a device, and this names it.
 */
#pragma once

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct in_force_view { /* all borrowed, until in_force_end() */
	const struct topo *topo;
	const struct lid_map *lids;
	/* rows of the snapshot's switches as far as they are known; TABLES_NO_ROUTE = not known */
	const struct tables *held;
	const bool *active;	    /* [nports]: that end is; a link carries data if both are */
	const uint8_t *const *rows; /* [nswitches] in the place of `held`; NULL = not wanted */
	/* Called before anything of a node is used; NULL = not wanted. */
	void (*show)(void *arg, uint32_t node);
	void *arg;
};

/* Ordered pairs of host ports that have a LID, by their first LIDs. */
struct in_force {
	uint64_t pairs, arrive;
	/*
	 * [nnodes]: of the pairs that do not arrive, those whose packets end at that node: a switch
	 * that holds no entry or leads into a link that is not Active, a host whose own link is not
	 * Active, the first switch met again on a loop.
	 */
	uint64_t *ends;
	bool *cut_off; /* [nnodes]: hosts with a LID that no packet of another reaches */
};

/* True: there is a link at the port, and it is Active at both ends. */
bool in_force_carries(const struct in_force_view *view, uint32_t port);
/*
 * The node at which packets from that port to a LID end; TOPO_NONE: they arrive. The port is a
 * host's or a switch's port 0, and a port has that LID.
 */
uint32_t in_force_end_of(const struct in_force_view *view, uint32_t from, uint16_t lid);

struct in_force_job;
/* The caller's, never NULL. Work goes in calls of so many destinations; true: there is more. */
struct in_force_job *in_force_begin(const struct in_force_view *view);
bool in_force_go(struct in_force_job *job, uint32_t destinations);
/* Frees the job. Where out is not NULL it is filled, and the caller frees its arrays. */
void in_force_end(struct in_force_job *job, struct in_force *out);
