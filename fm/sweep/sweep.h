/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep: reads the fabric by directed-route SMPs into the inventory.
 *
 * Three sweeps, each ends in one done callback, always from the loop; one runs at a time:
 *   discover  everything, from the SM's port; each link is probed once; all ports of a switch are
 *             read in parallel. Replaces whatever runs (whose callback does not come).
 *   refresh   named switches: SwitchInfo, their ports, and what appeared behind them; named CAs:
 *             description and ports. Joins a running discover or refresh (the newer callback comes
 *             at the end of both), replaces a poll.
 *   poll      one Get(SwitchInfo) a switch and one Get(NodeInfo) a port that is up with nobody
 *             answering behind it. Only while nothing else runs.
 * Discover and refresh report what they have found as soon as only slow answers are left
 * (result.rest), and go on beside; the callback then comes again, at least once, and last without
 * result.rest. A path that dies is suspected before the node: another known path is tried. A node
 * that stays silent is kept as such, reported, and never makes the rest wait. An answer that
 * contradicts the record is asked for once more. Duplicate GUIDs are named; the first met stays, as
 * long as it answers where it is. PortStateChange is cleared before the ports are read, so that no
 * change between is lost.
 */
#ifndef FMD_SWEEP_SWEEP_H
#define FMD_SWEEP_SWEEP_H

#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/inventory/inventory.h"

struct sweep;
struct m_keys;

struct sweep_result {
	int error;	   /* 0, or -EIO: the local port did not answer */
	unsigned silent;   /* nodes, and ports with an unknown one behind, that do not answer */
	unsigned partial;  /* nodes that answer and whose answers were not all had */
	bool rest;	   /* slow answers are left: the callback comes again */
	bool newest;	   /* with rest: the first round of the newest request is answered */
	unsigned refusing; /* switches that answer, and whose PortStateChange can't be cleared */
	/* switches whose LinearFDBTop was reset repeatedly (inv_node.keeps_no_top) */
	unsigned untrue;
	unsigned duplicates; /* GUIDs met twice, in this sweep */
	unsigned fell;	     /* links that went down */
	/* a port was met that has IsSM and was not asked yet, or another's SM LID */
	bool another_sm;
	unsigned gone; /* nodes in the inventory that no link leads to any more */
	/*
	 * Nodes to refresh; valid during the callback. Refresh: the other ends of links that went
	 * down.
	 */
	const guid_t *changed;
	unsigned nchanged;
	unsigned smps; /* sent for this sweep */
	uint64_t took_us;
};
typedef void sweep_done_fn(void *arg, const struct sweep_result *result);

/* The caller's, with an empty inventory; never NULL. Loop and mad are borrowed. */
struct sweep *sweep_new(struct loop *loop, struct mad *mad);
void sweep_free(struct sweep *sweep); /* NULL is fine */
/* The sweep's, valid until sweep_free(); never NULL. */
struct inventory *sweep_inventory(struct sweep *sweep);
/* M_Keys of ports, from now on also for what others send over `mad`; borrowed, NULL = none. */
void sweep_use_keys(struct sweep *sweep, struct m_keys *keys);

/* See above. The GUIDs are copied; those of unknown nodes have no effect. */
void sweep_discover(struct sweep *sweep, sweep_done_fn *fn, void *arg);
void sweep_refresh(struct sweep *sweep, const guid_t *nodes, unsigned count, sweep_done_fn *fn,
		   void *arg);
void sweep_poll(struct sweep *sweep, sweep_done_fn *fn, void *arg);
/*
 * Like a poll: of some `count` ports that were answered once is asked again what is known of them;
 * and, with `refused`, who is behind ports where somebody answers that can't be there. False:
 * nothing is left that was answered only once. Not while anything runs.
 */
bool sweep_verify(struct sweep *sweep, unsigned count, bool refused, sweep_done_fn *fn, void *arg);
/* Whether any sweep runs; one that waits for slow answers alone; a discover; a poll. */
bool sweep_busy(const struct sweep *sweep);
bool sweep_trails(const struct sweep *sweep);
bool sweep_discovers(const struct sweep *sweep);
bool sweep_polls(const struct sweep *sweep);
/*
 * A passive sweep: this manager may not be the master, so PortStateChange is left as it is in a
 * fabric whose switches have tables. (Without tables it has no master.) The switches it is left at
 * are those whose sw.port_state_change still says so.
 */
void sweep_set_passive(struct sweep *sweep, bool on);

#endif
