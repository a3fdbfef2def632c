/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bringup_priv: what bringup.c (PortInfo, links), pkeys.c (P_Key tables) and lanes.c (SL2VL, VL
 * arbitration) share: one queue, one result.
 */
#pragma once

#include "fm/inventory/inventory.h"
#include "fm/inventory/port_setup.h"
#include "fm/keys/lookup.h"
#include "fm/loop/job.h"
#include "fm/loop/log.h"
#include "fm/mad/batch.h"
#include "fm/sweep/bringup.h"

#define BRINGUP_LOG_BURST 20
#define GIVEN_UP	  UINT8_MAX /* port_setup.errors */
#define JOB_GET		  15	    /* port_setup.job: PortInfo is being read */
#define FRESH		  8	    /* refusals in a row, over some 50 s */

/* batch_job.kind; .object is the node, .arg its port. */
enum bringup_job { JOB_PORT, JOB_PKEYS, JOB_LANES };

struct bringup {
	struct loop *loop;
	struct inventory *inv;
	struct batch *batch;
	struct bringup_conf conf;
	const struct pkey_map *pkeys; /* the caller's */
	uint16_t sm_lid, sm_lid_was;  /* the latter ours too, of the port that was ours before */
	bool busy;
	bool any_given_up;	 /* some port may be, or may hold less than it acknowledged */
	bool any_unread;	 /* something may have been acknowledged, and not read since */
	struct job *plan;	 /* an apply begins with this pass over all ports */
	const struct topo *topo; /* what the pass reads, NULL = it has ended */
	const struct lid_map *lids;
	guid_t planned; /* the pass has done all nodes up to this one */
	bringup_done_fn *fn;
	void *arg;
	void (*active_fn)(void *arg); /* or NULL */
	void *active_arg;
	struct bringup_result result;
	uint64_t started_us, smps_before;
	struct log_limit failed_log, bounce_log, pkeys_log, lanes_log;
};

/*
 * port_step.c. The other end of the link, the inventory's, NULL = no link is known; whether a port
 * that was given up is being tried again; whether its host takes ClientReregister.
 */
struct inv_port *bringup_peer(const struct inv_port *port);
struct port_setup *setup_of_peer(const struct inv_port *port);
bool bringup_on_trial(const struct port_setup *setup);
bool bringup_is_shut(const struct inv_node *node, unsigned num); /* it is to carry no data */
/* The port has accepted a Set: it does not count as given up any more. */
void bringup_cured(struct bringup *b, struct port_setup *setup);
bool bringup_can_reregister(const struct inv_node *node, const struct inv_port *port);
/* Fills in the request that is due. False: none is, or no path leads there. */
bool bringup_make_port(struct bringup *b, const struct batch_job *job,
		       struct batch_request *request);
/* Queues a request, of a JOB_..; apart, so that callers that find none due have no stack guard. */
void bringup_ask(struct bringup *b, struct inv_node *node, uint8_t num, unsigned kind, bool urgent);
/* Queues what is due at a port; a Get of its PortInfo; what is due at both ends of its link. */
void bringup_step(struct bringup *b, struct inv_node *node, uint8_t num);
void bringup_note_keys(struct bringup *b, struct inv_node *node);	       /* whose are they? */
void bringup_step_link(struct bringup *b, struct inv_node *node, uint8_t num); /* both ends */

/* A host lost what bringup_make_port() made, in a round: whether it takes no Sets. */
bool bringup_is_deaf(const struct batch_job *job);
/* The answer, or the loss, of what bringup_make_port() made. */
void bringup_port_answered(struct bringup *b, struct inv_node *node, uint8_t num,
			   const struct mad_answer *answer);
void bringup_port_lost(struct bringup *b, struct inv_node *node, uint8_t num);
/* A setting that the port acknowledged was read; same: it holds it. */
void setup_was_read(struct port_setup *setup, enum inv_set what, bool same);
/* Frees what is known of its P_Key table. */
void setup_forget_pkeys(struct port_setup *setup);
/* The port's setback, never NULL: made where it has none. */
struct setback *setback_to_write(struct port_setup *setup);
/* When the port is asked again; 0 = it is not given up. */
void setup_retry_at(struct port_setup *setup, uint64_t us);
/* How long a port rests that was given up so often in a row. */
uint64_t bringup_rest_us(unsigned given_up);

/*
 * pkeys.c. What a port's table is to hold; `port` is its index in the snapshot and the map,
 * TOPO_NONE = none.
 */
void pkeys_want(struct bringup *b, struct inv_node *node, uint8_t num, uint32_t port);
void pkeys_step(struct bringup *b, struct inv_node *node, uint8_t num); /* queues what is due */
/* Fills in the request that is due. False: none is, or no path leads there. */
bool pkeys_make(struct bringup *b, const struct batch_job *job, struct batch_request *request);
void pkeys_answered(struct bringup *b, const struct batch_job *job,
		    const struct mad_answer *answer);
/* Queues the writes of a table that failed. */
void pkeys_retry(struct bringup *b, struct inv_node *node, uint8_t num);
/* What is known of the port's table; failed: it is left until bringup_retry(). */
void pkeys_forget(struct port_setup *setup, bool failed);
/* A block of its table as the port has shown to hold it; false: it has not, or not now. */
bool pkeys_held(const struct inv_node *node, uint8_t num, unsigned block, struct port_table *table);

/* lanes.c */
#define LANES_BYTES 3							/* a node, in INV_LANES */
void lanes_step(struct bringup *b, struct inv_node *node, uint8_t num); /* queues what is due */
/* Fills in the request that is due. False: none is, or no path leads there. */
bool lanes_make(struct bringup *b, const struct batch_job *job, struct batch_request *request);
void lanes_answered(struct bringup *b, const struct batch_job *job,
		    const struct mad_answer *answer);
/* Queues the writes of tables that failed. */
void lanes_retry(struct bringup *b, struct inv_node *node, uint8_t num);
/* A port's tables are written again; failed: not before bringup_retry(). */
void lanes_lost(struct port_setup *setup, bool sl2vl, bool failed);
/* The request on its way was cancelled; the configuration wants other tables now. */
void lanes_withdrawn(struct inv_node *node, uint8_t num);
void lanes_forget(struct inv_node *node);
void lanes_new_life(struct inv_node *node); /* the switch lost what was set */
/*
 * A step's table as the port has shown to hold it; in: of a switch, counts through input ports.
 * False: it has not, or not now.
 */
bool lanes_held(const struct bringup *b, const struct inv_node *node, uint8_t num, unsigned step,
		unsigned in, struct port_table *table);

/* ---- What a port's PortInfo should be, from the configuration and both its ends -------------- */

enum port_plan { /* the first three as in enum inv_differs */
		 PORT_PLAN_SAME = INV_SAME,
		 /* time-outs, MTU and the like differ: set once, what a device ignores is left */
		 PORT_PLAN_TUNE = INV_DIFFERS,
		 /* the address differs: LID, LMC, SM LID or GID prefix */
		 PORT_PLAN_MUST = INV_DIFFERS_ADDRESS,
		 /* past Init, and the ends disagree on MTU or VLs: the link has to be bounced */
		 PORT_PLAN_CLASH,
};

/* How the port differs from what it should be; *want: all of PortInfo for a Set, the state kept. */
enum port_plan port_plan(const struct inventory *inv, const struct bringup_conf *conf,
			 uint16_t sm_lid, const struct inv_node *node, uint8_t num,
			 struct wire_port_info *want);

/* ---- What a port's P_Key table should be, from what it is and what the port should hold ------ */

/* Pure. */

#define PKEY_BLOCKS_MAX 64 /* of a port; what devices have is 4 */

struct pkey_wish {
	const uint16_t *keys; /* each once, by base ascending, as a pkey_map has them */
	unsigned nkeys;
	uint16_t index0; /* what has its place there; 0 = the default partition's */
	unsigned cap;	 /* entries of the table */
};

/*
 * A key that is there keeps its index, in its other membership too; index 0 goes to the one it is
 * for. New keys go where the fewest blocks differ, and into an index that was in use last of all:
 * connections hold indices. `want` gets whole blocks. Returns how many keys found no room; the
 * default partition always finds some.
 */
unsigned pkey_plan(const uint16_t *have, const struct pkey_wish *wish, uint16_t *want);

/*
 * The block to write next on the way from have to want, -1 = none differs. In this order the port
 * is never without the default partition on the way.
 */
int pkey_plan_next(const uint16_t *have, const uint16_t *want, unsigned nblocks);
