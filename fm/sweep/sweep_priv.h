/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sweep's own parts: sweep.c asks and retries, explore.c and ports.c read the answers and say what to
 * ask next. */
#ifndef FMD_SWEEP_SWEEP_PRIV_H
#define FMD_SWEEP_SWEEP_PRIV_H

#include "fm/core/log.h"
#include "fm/mad/batch.h"
#include "fm/sweep/sweep.h"

enum sweep_look { LOOK_NONE, LOOK_DISCOVER, LOOK_REFRESH, LOOK_POLL };

enum sweep_job {	    /* object = node, arg = port or block */
		 JOB_LOCAL, /* NodeInfo of the SM's own port */
		 JOB_PROBE, /* NodeInfo over a port of the node: who is there? */
		 JOB_DESC,
		 JOB_GENERAL,	   /* GeneralInfo's capabilities, of a CA */
		 JOB_SWITCH,	   /* SwitchInfo */
		 JOB_CLEAR,	   /* its PortStateChange */
		 JOB_PORT,	   /* PortInfo */
		 JOB_PORT_EXT,	   /* the same with the extended speeds asked for */
		 JOB_STATES,	   /* SwitchPortStateTable, a block of 128 ports */
		 JOB_POLL,	   /* SwitchInfo, to compare only */
		 JOB_POLL_PORT,	   /* a probe whose answer only says that there is one */
		 JOB_VERIFY_CABLE, /* a probe, to compare only */
		 JOB_VERIFY_PORT,  /* PortInfo, likewise */
};

enum sweep_probe { /* inv_port.probe */
		   PROBE_NONE,
		   PROBE_OUT,	 /* asked, from one end or the other */
		   PROBE_MET,	 /* the cable was confirmed in this look */
		   PROBE_FAILED, /* up, and nobody answers */
		   PROBE_REFUSED, /* what answers can't be there: a GUID met twice, a loop, nonsense */
};

struct parked { /* a probe's answer that waits for what a node's known place says */
	struct inv_node *from, *node;
	uint8_t num, node_num;
};

struct sweep {
	struct loop *loop;
	struct mad *mad;
	struct inventory inv;
	struct batch *batch;
	enum sweep_look look;
	struct loop_timer *early;
	uint64_t early_us;	/* not again before */
	uint8_t wave, ask_wave; /* of the newest request to look; of what is being answered */
	unsigned nprompt,
		nprompt_wave; /* jobs whose first round is not over; of these, of `wave` */
	bool news;	      /* something was answered since that was last told */
	uint32_t number;      /* of the look; marks what was seen in it */
	bool reroute;	      /* a cable was found down: requests on their way may be lost */
	sweep_done_fn *fn;
	void *arg;
	uint64_t started_us, smps_before;
	uint32_t falls_before;
	struct sweep_result result;
	guid_t *changed;
	unsigned changed_room;
	struct inv_node **touched; /* what the next look has to open anew */
	uint32_t ntouched, touched_room;
	struct parked *parked;
	unsigned nparked, parked_room;
	guid_t local_said;    /* of the SM's own node, as last answered.. */
	unsigned local_asked; /* ..so often in this look */
	guid_t verified;      /* nodes up to this one had their turn (verify.c).. */
	bool wraps;	      /* ..since the first one had it */
	bool shy, managed;    /* managed: a switch with tables was met, in a shy look */
	bool odd; /* some node may be silent or partial, some port without a node behind it */
	struct log_limit twice_log, bad_log, silent_log;
};

void sweep_start(struct sweep *s, enum sweep_look look, sweep_done_fn *fn, void *arg);
void sweep_ask(struct sweep *s, enum sweep_job kind, struct inv_node *node, uint32_t arg,
	       bool urgent);
void sweep_changed(struct sweep *s, const struct inv_node *node);
void sweep_touch(struct sweep *s, struct inv_node *node); /* answered, or has a probe */

/* ports.c */
void ports_ask(struct sweep *s, struct inv_node *node, unsigned num);
void ports_ask_all(struct sweep *s, struct inv_node *node);
/* A block of SwitchPortStateTable can't be had: PortInfo of each of its ports is asked instead. */
void ports_states_missing(struct sweep *s, struct inv_node *node, unsigned block);
/* One of the answers that come before a switch's ports is here, or never will be. */
void ports_switch_ready(struct sweep *s, struct inv_node *node);
/* At both ends. */
void ports_set_probe(struct sweep *s, struct inv_node *node, unsigned num, enum sweep_probe probe);
void ports_met(struct sweep *s, struct inv_node *node, unsigned num, bool extended,
	       const uint8_t data[64]);
void ports_is_up(struct sweep *s, struct inv_node *node, unsigned num);
void ports_states_met(struct sweep *s, struct inv_node *node, unsigned block,
		      const uint8_t data[64]);

/* explore.c */
void explore_visit(struct sweep *s, struct inv_node *node, const struct mad_path *path);
void explore_visit_ca(struct sweep *s, struct inv_node *node);
void explore_answer(struct sweep *s, const struct batch_job *job, const struct mad_path *path,
		    const uint8_t data[64]);
void explore_refused(struct sweep *s, const struct batch_job *job, uint16_t status);
void explore_visit_neighbours(struct sweep *s, struct inv_node *node); /* the switches */
void explore_doubted(struct sweep *s, const struct batch_job *job);    /* once without an answer */
void explore_given_up(struct sweep *s, const struct batch_job *job);

bool explore_info_is_sane(const struct wire_node_info *info);

/* contest.c: what an answer may change. */
enum claim { CLAIM_BELIEVED, CLAIM_ASKED, CLAIM_REFUSED };
enum claim contest_claim(struct sweep *s, struct inv_node *from, uint8_t num,
			 const struct wire_node_info *info); /* ASKED: once more */
enum place { PLACE_FREE, PLACE_ASKED, PLACE_TAKEN };
/* May node's port be behind that port? ASKED: the probe is sent again when that is known. */
enum place contest_place(struct sweep *s, struct inv_node *from, uint8_t num, struct inv_node *node,
			 uint8_t node_num);
bool contest_ends(
	struct sweep *s); /* nothing is on its way: true = something was waiting for that */
void contest_go_on(struct sweep *s); /* behind each answer, and each request given up */

/* verify.c */
void verify_answer(struct sweep *s, const struct batch_job *job, const uint8_t data[64]);
void verify_given_up(struct sweep *s, const struct batch_job *job);

/* finish.c: what the silences of a look mean. */
void finish_look(struct sweep *s);
void finish_early(struct sweep *s); /* slow answers are left: of these nothing is said yet */

#endif
