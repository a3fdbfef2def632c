/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep's own parts: sweep.c sends requests and repeats them, ask.c decides what to ask of a node,
 * explore.c reads the answers and decides what to send next.
 */
#pragma once

#include "fm/inventory/inventory.h"
#include "fm/loop/log.h"
#include "fm/mad/batch.h"
#include "fm/mad/wire.h"
#include "fm/sweep/sweep.h"

/* ---- Kinds of sweeps and of their requests --------------------------------------------------- */

enum sweep_kind { SWEEP_NONE, SWEEP_DISCOVER, SWEEP_REFRESH, SWEEP_POLL, SWEEP_VERIFY };

enum sweep_job {	    /* object = node, arg = port or block */
		 JOB_LOCAL, /* NodeInfo of the SM's own port */
		 JOB_PROBE, /* NodeInfo over a port of the node: who is there? */
		 JOB_GATE,  /* PortInfo of port 0 of a switch there, before it is known */
		 JOB_DESC,
		 JOB_GENERAL,	  /* GeneralInfo's capabilities, of a CA */
		 JOB_SWITCH,	  /* SwitchInfo */
		 JOB_CLEAR,	  /* its PortStateChange */
		 JOB_PORT,	  /* PortInfo */
		 JOB_PORT_EXT,	  /* the same with the extended speeds asked for */
		 JOB_STATES,	  /* SwitchPortStateTable, a block of 128 ports */
		 JOB_POLL,	  /* SwitchInfo, to compare only */
		 JOB_POLL_PORT,	  /* a probe whose answer only says that there is one */
		 JOB_VERIFY_LINK, /* a probe, to compare only */
		 JOB_VERIFY_PORT, /* PortInfo, to compare only */
};

/* ---- Answers that contradict the record (explore.c) ------------------------------------------ */

struct parked { /* a probe's answer that waits for what a node's known place says */
	struct inv_node *from, *node;
	uint8_t num, node_num;
};

struct parking {
	struct parked *list;
	unsigned count;
	struct gate *gate; /* gate.c; NULL: all links are admitted */
};

/* Nothing is on its way any more. True: an answer was waiting for that, and the sweep goes on. */
bool contest_ends(struct sweep *s);

/* ---- Links that are not known (gate.c) ------------------------------------------------------- */

struct gated { /* a switch that answered a probe, and waits for JOB_GATE */
	guid_t from;
	uint8_t num;
	bool read; /* port0 is */
	struct wire_port_info port0;
};

struct gate {
	sweep_gate_fn *fn;
	void *arg;
	struct gated *list;
	unsigned count;
};

/*
 * Whether what answers there is no part of the fabric, or not yet. The link that is known there
 * stays so, and is down: its port holds another cable.
 */
bool gate_keeps_out(struct sweep *s, struct inv_node *from, uint8_t num,
		    const struct inv_node *known, const struct wire_node_info *info);
/* JOB_GATE is over; data NULL: it was not answered. */
void gate_answer(struct sweep *s, struct inv_node *from, uint8_t num, const uint8_t *data);

struct sweep_waves { /* what is reported before the end, see wave_left() */
	struct loop_timer *early;
	uint64_t early_us;	  /* not again before */
	uint8_t newest, answered; /* of the newest request for a sweep; of what is being answered */
	unsigned nprompt;	  /* jobs whose first round is not over */
	unsigned nprompt_newest;  /* of these, those of `newest` */
	bool news;		  /* something was answered since that was last reported */
	bool more;		  /* more was asked than SwitchInfo of rechecked switches */
};

struct sweep {
	struct loop *loop;
	struct mad *mad;
	struct inventory inv;
	struct batch *batch;
	enum sweep_kind kind;
	struct sweep_waves waves;
	bool reroute; /* a link was found down: requests on their way may be lost */
	sweep_done_fn *fn;
	void *arg;
	uint64_t started_us, smps_before;
	uint32_t falls_before;
	struct sweep_result result;
	guid_t *changed;
	struct inv_node **touched; /* nodes whose marks the next sweep has to clear */
	uint32_t ntouched;
	struct parking parking;
	guid_t local_guid;    /* of the SM's own node, as last answered */
	unsigned local_asked; /* how often it was asked in this sweep */
	guid_t verified;      /* nodes up to this one had their turn (explore.c) */
	guid_t unpolled;      /* switches from this GUID on are polled beside a refresh; 0 = none */
	bool passive, observes;
	bool managed;	 /* a switch with tables was met, in a passive sweep; or observes */
	bool incomplete; /* some node may be silent or partial, or unknown behind a port */
	struct log_limit twice_log, bad_log, silent_log;
};

/*
 * ask.c. Whether the job asks a node by the other end of a link; the node that it asks, the
 * inventory's, NULL = none is known there; whether no answer is the likeliest.
 */
bool sweep_job_is_probe(const struct batch_job *job);
const struct inv_node *sweep_job_target(const struct batch_job *job);
bool sweep_job_is_long_shot(const struct batch_job *job);
void sweep_start(struct sweep *s, enum sweep_kind kind, sweep_done_fn *fn, void *arg);
void sweep_ask(struct sweep *s, enum sweep_job kind, struct inv_node *node, uint32_t arg,
	       bool urgent);
void sweep_changed(struct sweep *s, const struct inv_node *node);
void sweep_node_answers(struct inv_node *node);		  /* it does not count as silent any more */
void sweep_heard(struct sweep *s, struct inv_node *node); /* it has answered */
void sweep_touch(struct sweep *s, struct inv_node *node); /* answered, or has a probe */

/* Queues a Get(PortInfo). */
void ports_ask(struct sweep *s, struct inv_node *node, unsigned num);
/* Sets sweep_port.probe at both ends of the link. */
void ports_set_probe(struct sweep *s, struct inv_node *node, unsigned num, enum sweep_probe probe);
void explore_visit(struct sweep *s, struct inv_node *node, const struct mad_path *path);
void explore_visit_ca(struct sweep *s, struct inv_node *node);
void explore_visit_neighbours(struct sweep *s, struct inv_node *node); /* the switches */

/*
 * A block of SwitchPortStateTable is not available: PortInfo of each of its ports is asked instead.
 */
void ports_states_missing(struct sweep *s, struct inv_node *node, unsigned block);
/* One of the answers that come before a switch's ports is here, or never will be. */
void ports_switch_ready(struct sweep *s, struct inv_node *node);
void ports_met(struct sweep *s, struct inv_node *node, unsigned num, bool extended,
	       const uint8_t data[64]);
void ports_states_met(struct sweep *s, struct inv_node *node, unsigned block,
		      const uint8_t data[64]);
/* The port was read, and its link is up: asks who is behind, if that is to be known. */
void ports_is_up(struct sweep *s, struct inv_node *node, unsigned num);

/* explore.c */
void explore_answer(struct sweep *s, const struct batch_job *job, const struct mad_path *path,
		    const uint8_t data[64]);
void explore_refused(struct sweep *s, const struct batch_job *job, uint16_t status);
void explore_unanswered(struct sweep *s, const struct batch_job *job); /* once without an answer */
/* A job that is given up next was answered, and that field of the answer is impossible. */
void explore_flawed(struct sweep *s, const struct batch_job *job, const char *flaw);
void explore_given_up(struct sweep *s, const struct batch_job *job);
