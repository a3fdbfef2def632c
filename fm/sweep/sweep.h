/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep: reads the fabric by directed-route SMPs into the inventory.
 *
 * Three sweeps, each ends in one done callback, always from the loop; one runs at a time:
 *   discover  everything, from the SM's port; each link is probed once; all ports of a switch are
 *             read in parallel. Replaces whatever runs (whose callback does not come).
 *   refresh   named switches: SwitchInfo, their ports, and what appeared behind them; named CAs:
 *             description and ports. Joins a running discover or refresh (the newer callback comes
 *             at the end of both), replaces a poll: takes its findings over and asks its questions.
 *   poll      one Get(SwitchInfo) a switch and one Get(NodeInfo) a port that is up with nobody
 *             answering behind it. Only while nothing else runs; beside a refresh SwitchInfo alone,
 *             and what it shows is read at once.
 * Discover and refresh report what they have found as soon as only slow answers are left
 * (result.rest), and go on beside; the callback then comes again, at least once, and last without
 * result.rest. A path that dies is suspected before the node: another known path is tried. A node
 * that stays silent is kept as such, reported, and never makes the rest wait. An answer that
 * contradicts the record is asked for once more. Duplicate GUIDs are named; the first met stays, as
 * long as it answers where it is. PortStateChange is cleared before the ports are read, so that no
 * change between is lost.
 */
#pragma once

#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/inventory/inventory.h"

struct sweep;

struct sweep_result {
	int error;	   /* 0, or -EIO: the local port did not answer */
	unsigned silent;   /* nodes, and ports with an unknown one behind, that do not answer */
	unsigned partial;  /* nodes that answer and whose answers were not all had */
	bool rest;	   /* slow answers are left: the callback comes again */
	bool idle;	   /* rechecked switches alone were asked, and nothing was new */
	unsigned refusing; /* switches that answer, and whose PortStateChange can't be cleared */
	/* switches whose LinearFDBTop was reset repeatedly (sweep_node.keeps_no_top) */
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
	uint64_t found_us; /* came the first answer that shows a change, since the last callback */
	unsigned smps;	   /* sent for this sweep */
	uint64_t took_us;
};
typedef void sweep_done_fn(void *arg, const struct sweep_result *result);

/* The caller's, with an empty inventory; never NULL. Loop and mad are borrowed. */
struct sweep *sweep_new(struct loop *loop, struct mad *mad);
void sweep_free(struct sweep *sweep); /* NULL is fine */
/* The sweep's, valid until sweep_free(); never NULL. */
struct inventory *sweep_inventory(struct sweep *sweep);

/* See above. The GUIDs are copied; those of unknown nodes have no effect. */
void sweep_discover(struct sweep *sweep, sweep_done_fn *fn, void *arg);
void sweep_refresh(struct sweep *sweep, const guid_t *nodes, unsigned count, sweep_done_fn *fn,
		   void *arg);
void sweep_poll(struct sweep *sweep, sweep_done_fn *fn, void *arg);
/* Beside a refresh that runs, as a part of it: the refresh's callback reports what it finds. */
void sweep_poll_beside(struct sweep *sweep);
/*
 * A refresh of those of the switches that one Get(SwitchInfo) each shows to have changed. The GUIDs
 * are copied; those of unknown nodes have no effect.
 */
void sweep_recheck(struct sweep *sweep, const guid_t *switches, unsigned count, sweep_done_fn *fn,
		   void *arg);
/*
 * A Set to each switch without tables, before it is used: whether it takes any. Joins a sweep as a
 * refresh does; the callback comes when each has taken it, or took none of many while it answered
 * Gets (sweep_node.keeps_change). What the sweep before found to take none is not asked again.
 * False: there is no such switch, and fn is not called.
 */
bool sweep_examine(struct sweep *sweep, sweep_done_fn *fn, void *arg);
/*
 * Like a poll: of some `count` ports that were answered once is asked again what is known of them;
 * and, with `refused`, who is behind ports where somebody answers that can't be there. False:
 * nothing is left that was answered only once. Not while anything runs.
 */
bool sweep_verify(struct sweep *sweep, unsigned count, bool refused, sweep_done_fn *fn, void *arg);
/*
 * What becomes of a link over which somebody answers who is not known to be there: it is part of
 * the fabric; it is not, and nothing is sent over it but this probe, with each sweep of its switch;
 * or PortInfo of port 0 of the switch behind is read first, and asked again is by that. known: the
 * node behind, NULL = it is met for the first time.
 */
enum sweep_gate { SWEEP_ADMITS, SWEEP_KEEPS_OUT, SWEEP_READS_FIRST };
typedef enum sweep_gate sweep_gate_fn(void *arg, struct inv_node *from, uint8_t num,
				      const struct inv_node *known,
				      const struct wire_node_info *info,
				      const struct wire_port_info *port0);
/* NULL: all links are admitted. A node that is known is judged where it may be in that place. */
void sweep_set_gate(struct sweep *sweep, sweep_gate_fn *fn, void *arg);
/* Whether any sweep runs; one that waits for slow answers alone; a discover; a poll. */
bool sweep_busy(const struct sweep *sweep);
bool sweep_trails(const struct sweep *sweep);
bool sweep_discovers(const struct sweep *sweep);
bool sweep_polls(const struct sweep *sweep);
/*
 * A passive sweep: this manager may not be the master, so PortStateChange is left as it is in a
 * fabric whose switches have tables. (Without tables it has no master.) The switches it is left at
 * are those whose sw.port_state_change still says so. One that observes leaves it everywhere.
 */
void sweep_set_passive(struct sweep *sweep, bool on, bool observes);

/*
 * Whether the link of that port is up, by what the port answered, and who is behind it did not
 * answer the latest probe that is over; asked: or is asked now, and has not answered yet.
 */
bool sweep_is_silent_behind(const struct inv_node *node, unsigned port, bool asked);

/* ---- What sweeps keep of nodes and ports ----------------------------------------------------- */

/* Opens these columns; sweep_new() does that for its own inventory. */
void sweep_open_columns(struct inventory *inv);

enum sweep_heard { SWEEP_UNTOUCHED, SWEEP_TOUCHED, SWEEP_ANSWERED }; /* in the present sweep */

struct sweep_node {
	uint64_t top_lost_us; /* when LinearFDBTop was reset, and no port's state had changed */
	/* the impossible field of its latest SwitchInfo (flaw_port -1) or PortInfo, a literal */
	const char *flaw;
	int flaw_port;
	uint32_t flawed_in;	   /* the sweep that met it */
	uint32_t seen;		   /* the sweep that met the node last */
	uint32_t met_first;	   /* the sweep that met it first, or first after it was gone */
	uint32_t lost_in;	   /* the latest sweep that found some of `lost` */
	uint32_t asked_in;	   /* the sweep that asks it because probes of it fail */
	uint32_t storm;		   /* of traps, in which it was swept for one: fm/fabric/traps.c */
	struct inv_silence states; /* SwitchPortStateTable */
	uint8_t waiting;	   /* answers before its ports are read */
	uint8_t heard;		   /* enum sweep_heard */
	uint8_t lost; /* links over which it let the first round pass, since it was heard */
	/* of its SwitchInfo that did not last, one after the other; fm/verification's */
	uint8_t trials;
	uint8_t desc; /* enum sweep_desc */
	/* answers, and one question got no answer: the next poll asks for a new sweep */
	bool partial;
	bool ports_read;   /* of a switch; else they are read without PortStateChange too */
	bool keeps_change; /* answers, and its PortStateChange could not be cleared */
	bool had_change;   /* PortStateChange was set, and can be cleared: its traps were true */
	bool keeps_no_top; /* LinearFDBTop was set, and was reset twice within a while */
	bool sw_differs;   /* LifeTimeValue or MulticastFDBTop is not as wanted, by the last poll */
};

enum sweep_desc { /* sweep_node.desc: why its NodeDescription is read again */
		  DESC_CURRENT,
		  DESC_TO_READ,	  /* it may have another name: read when it is visited */
		  DESC_AFTER_SET, /* the Get behind a Set that was not answered */
};

enum sweep_probe { /* sweep_port.probe */
		   PROBE_NONE,
		   PROBE_OUT,	 /* asked, from one end or the other */
		   PROBE_MET,	 /* the link was confirmed in this sweep */
		   PROBE_FAILED, /* up, and nobody answers */
		   /* what answers can't be there: a GUID met twice, a loop, nonsense */
		   PROBE_REFUSED,
};

/*
 * sweep_port.was_up. ONCE: in this life, or the rows of known links have it. BEFORE: it was up when
 * the life before ended, by these rows, and no end has answered otherwise.
 */
enum sweep_up { SWEEP_NEVER_UP, SWEEP_ONCE_UP = 1, SWEEP_BEFORE_UP = 3 };

struct sweep_port { /* 2 bytes: there are as many as ports */
	uint8_t probe : 3;
	bool seen : 1;	     /* it was read in this sweep */
	bool must_probe : 1; /* the node behind it is asked even if a record of it exists */
	bool refuted : 1;    /* PortInfo was asked to decide about the link, and did not come */
	uint8_t was_up : 2;  /* enum sweep_up */
	uint8_t verify_tries : 6; /* verification requests in a row without an answer */
	bool must_read : 1;	  /* PortInfo is asked for even if the port's state is known */
	bool missed : 1;	  /* PROBE_FAILED, and so it was when it is asked again */
};

static inline struct sweep_node *sweep_node(const struct inv_node *node)
{
	return inv_node_cell(node, INV_SWEEP_NODE, sizeof(struct sweep_node));
}
static inline bool sweep_answered(const struct inv_node *node)
{
	return sweep_node(node)->heard == SWEEP_ANSWERED;
}
static inline struct sweep_port *sweep_port(const struct inv_node *node, unsigned num)
{
	return inv_port_cell(node, num, INV_SWEEP_PORT, sizeof(struct sweep_port));
}
