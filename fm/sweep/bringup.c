/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A job is "look at this port": when its turn comes, make() compares the record with the plan and
 * sends the one step that is due, if any:
 *
 *   Init                          Set all + Armed
 *   past Init, something differs  Set all, no state change
 *   Armed, the other end too      Set all + Active
 *   ends disagree on MTU or VLs   Set Down (both retrain; logged), from one end
 *   a Set was refused             Get, and look again: the other end may have taken it along
 *
 * Both ends are looked at again after each answer, so a link goes on by itself and waits for no
 * other. A port may be in the queue twice; inv_port.job lets only one request of it be on its way.
 * P_Key tables (pkeys.c) go through the same queue, beside it.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/sweep/bringup_priv.h"
#include "fm/sweep/port_plan.h"
#include "topology/mem.h"

#define ROUNDS	      4
#define ERRORS_MAX    3
#define SETS_MAX      5
#define SETS_ON_TRIAL 2
#define GIVEN_UP      UINT8_MAX /* inv_port.errors */
#define JOB_GET	      UINT8_MAX /* inv_port.job: PortInfo is being read */
#define PORTS_A_STEP  16384
#define RETRY_US      200000   /* at first; doubles */
#define RETRY_MAX_US  59000000 /* a device that works again does so within a minute */
#define TRIAL_US      55000000 /* of a port that acknowledges what it does not hold */
#define FRESH	      8	       /* refusals in a row, over some 50 s */
#define LOST_MAX      32       /* tries that get no answer before one counts as a refusal */
#define LOST_US	      20000 /* after each of the first of these; doubles behind them, up to RETRY_US */
#define LOST_FIRST    5

struct step { /* what is due at a port */
	bool set, get;
	uint8_t state; /* 0 = no change */
	struct wire_port_info want;
};

/* ---- Which step is due ---------------------------------------------------------------------- */

static struct inv_port *peer_of(const struct inv_port *port)
{
	return port->peer ? &port->peer->ports[port->peer_port] : NULL;
}

bool bringup_port_workable(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num], *peer = peer_of(port);

	if (node->removed || node->gone || node->silent || node->no_sets || !port->known ||
	    port->errors == GIVEN_UP)
		return false;
	if (num == 0)
		return inv_is_switch(node);
	return port->link_up && peer && peer->known && !port->peer->silent &&
	       port->state >= TOPO_INIT;
}

/* One that was given up before is asked once. */
static bool is_on_trial(const struct inv_port *port)
{
	return port->given_up && port->errors != GIVEN_UP;
}

static bool can_reregister(const struct inv_node *node, const struct inv_port *port)
{
	return !inv_is_switch(node) && port->capmask & WIRE_CAP_REREGISTER;
}

/* A host reregisters when its port is (or becomes) usable, not while it is being set up. */
static bool wants_reregister(const struct inv_node *node, const struct inv_port *port,
			     enum port_plan plan, uint8_t state)
{
	bool usable = state == TOPO_ACTIVE || (!state && port->state == TOPO_ACTIVE);

	return usable && can_reregister(node, port) && (port->reregister || plan == PORT_PLAN_MUST);
}

/* One end is enough: the switch's, or that of the higher address. */
static bool bounces_from(const struct inv_node *node, const struct inv_port *port)
{
	bool other = inv_is_switch(port->peer);

	return inv_is_switch(node) && (!other || port > peer_of(port));
}

static void step_by_plan(const struct bringup *b, const struct inv_node *node, uint8_t num,
			 struct step *step)
{
	const struct inv_port *port = &node->ports[num], *peer = peer_of(port);
	enum port_plan plan = port_plan(&b->conf, b->sm_lid, node, num, &step->want);

	if (num && port->state == TOPO_INIT)
		step->set = true, step->state = TOPO_ARMED;
	else if (plan == PORT_PLAN_CLASH && !port->settled) /* once: a device may insist */
		step->set = bounces_from(node, port), step->state = TOPO_DOWN;
	else if (plan == PORT_PLAN_MUST || (plan == PORT_PLAN_TUNE && !port->settled))
		step->set = true;
	else if (num && port->state == TOPO_ARMED && peer->state >= TOPO_ARMED &&
		 pkeys_ready(b, node, num) && pkeys_ready(b, port->peer, port->peer_port))
		step->set = true, step->state = TOPO_ACTIVE;
	else if (port->reregister && wants_reregister(node, port, plan, 0))
		step->set = true;
	step->want.state = step->state;
	step->want.client_reregister = wants_reregister(node, port, plan, step->state);
}

static struct step port_step(const struct bringup *b, const struct inv_node *node, uint8_t num)
{
	struct step step = { .set = false };

	if (!bringup_port_workable(node, num) || node->ports[num].job)
		return step;
	if (node->ports[num].reread)
		step.get = true;
	else
		step_by_plan(b, node, num, &step);
	return step;
}

/* ---- Sending -------------------------------------------------------------------------------- */

static bool make_port(struct bringup *b, const struct batch_job *job, struct batch_request *request)
{
	struct inv_node *node = job->object;
	uint8_t num = (uint8_t)job->arg;
	struct step step = port_step(b, node, num);

	if (!step.set && !step.get)
		return false;
	if (!inventory_port_path(b->inv, node, num, &request->way.path))
		return false;
	request->mad.method = step.set ? WIRE_SET : WIRE_GET;
	request->mad.attr_id = WIRE_PORT_INFO;
	request->mad.attr_mod = inventory_port_modifier(node, num);
	if (step.set)
		wire_port_info_encode(&step.want, request->data);
	node->ports[num].job = step.get ? JOB_GET : (uint8_t)(1 + step.state);
	return true;
}

static bool bringup_way(void *owner, const struct batch_job *job, struct batch_way *way)
{
	struct bringup *b = owner;

	way->stamp = b->inv->clock;
	return inventory_port_path(b->inv, job->object, (uint8_t)job->arg, &way->path);
}

static bool bringup_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct bringup *b = owner;

	request->way.stamp = b->inv->clock;
	request->mad.device = ((struct inv_node *)job->object)->guid;
	request->mad.urgent = job->urgent;
	request->mad.doubtful = job->tries > 0;
	request->mad.retries = 1;
	request->mad.once = is_on_trial(&((struct inv_node *)job->object)->ports[job->arg]);
	if (job->kind == JOB_PORT)
		return make_port(b, job, request);
	return job->kind == JOB_PKEYS ? pkeys_make(b, job, request) : lanes_make(b, job, request);
}

static void port_cured(struct bringup *b, struct inv_port *port)
{
	b->result.cured += port->given_up > 0;
	port->given_up = port->lost = 0;
	port->retry_at_us = 0;
}

/* By itself, or with the last Set. */
static void port_holds(struct bringup *b, struct inv_port *port)
{
	if (port->unread & INV_SET_INFO)
		return;
	b->result.cured += (port->unheld & INV_SET_INFO) != 0;
	inventory_was_read(port, INV_SET_INFO, true);
}

static void port_settled(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	if (!port->settled && num && port_plan_tolerates(port) &&
	    inventory_is_first_end(node, num) &&
	    log_allow(&b->bounce_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING,
			 "%s: Active, and its ends have different OperationalVLs; left as it is",
			 inventory_name(node, num).text);
	port->settled = true;
	port_holds(b, port);
	port_cured(b, port);
}

/* Queues a port if something is due there; who completes a link goes ahead of who starts one. */
static void port_look(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct step step = port_step(b, node, num);
	struct batch_job job = {
		.object = node, .arg = num, .kind = JOB_PORT, .urgent = step.state == TOPO_ACTIVE
	};

	if (step.set || step.get)
		batch_add(b->batch, &job);
	else if (bringup_port_workable(node, num) && !node->ports[num].job)
		port_settled(b, node, num);
}

void bringup_look_link(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	port_look(b, node, num);
	if (port->peer)
		port_look(b, port->peer, port->peer_port);
}

void bringup_reread(struct bringup *b, struct inv_node *node, uint8_t num)
{
	node->ports[num].reread = true;
	port_look(b, node, num);
}

/* ---- Answers -------------------------------------------------------------------------------- */

static void tell_given_up(struct bringup *b, const struct inv_node *node, uint8_t num)
{
	const struct inv_port *port = &node->ports[num], *peer = peer_of(port);
	struct inv_name name = inventory_name(node, num);

	if (!peer || !peer->given_up)
		b->result.links_new++;
	if (!b->result.first_new[0])
		snprintf(b->result.first_new, sizeof(b->result.first_new), "%s: %s", name.text,
			 port->refusal);
	if (log_allow(&b->failed_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: %s, left in %s", name.text, port->refusal,
			 topo_state_name(port->state));
}

static uint64_t rest_us(unsigned given_up)
{
	uint64_t us = given_up > FRESH ? RETRY_MAX_US : (uint64_t)RETRY_US << (given_up - 1);

	return us < RETRY_MAX_US ? us : RETRY_MAX_US;
}

/* One try in three gets lost, or its answer, where a tenth of all packets do: most ports are cured by one of the first. */
static uint64_t lost_rest_us(unsigned lost)
{
	uint64_t us = LOST_US << (lost > LOST_FIRST ? lost - LOST_FIRST : 0);

	return us < RETRY_US ? us : RETRY_US;
}

static void port_give_up(struct bringup *b, struct inv_node *node, uint8_t num, const char *why)
{
	struct inv_port *port = &node->ports[num];

	port->errors = GIVEN_UP;
	port->at_once &= (uint8_t)~INV_SET_INFO;
	port->refusal = why;
	b->any_given_up = true;
	if (!port->given_up)
		tell_given_up(b, node, num);
	if (port->given_up < UINT8_MAX)
		port->given_up++;
	port->retry_at_us = loop_now_us(b->loop) + rest_us(port->given_up);
}

/*
 * Where packets get lost, so may all tries of a Set, or their answers: that is no refusal, and it is tried again soon. Who takes no
 * Set does not answer either, and can't be told from that but by how often it happens.
 */
static void port_lost(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	port->unsure |= port->job != JOB_GET;
	port->job = 0;
	if (port->lost == LOST_MAX) {
		port_give_up(b, node, num, "does not answer");
		return;
	}
	if (port->given_up)
		port->lost++;
	else
		port_give_up(b, node, num, "does not answer");
	port->errors = GIVEN_UP;
	port->at_once &= (uint8_t)~INV_SET_INFO;
	port->retry_at_us = loop_now_us(b->loop) + lost_rest_us(port->lost);
	b->any_given_up = true;
}

/* The record may be behind the port: what it says decides. */
static void port_doubt(struct bringup *b, struct inv_node *node, uint8_t num, const char *why)
{
	struct inv_port *port = &node->ports[num];

	port->reread = true;
	if (++port->errors >= ERRORS_MAX || (is_on_trial(port) && !port->unsure))
		port_give_up(b, node, num, why);
}

/* A Set was acknowledged; `before` it the port was in that state. */
static void port_set(struct bringup *b, struct inv_node *node, uint8_t num, uint8_t asked,
		     uint8_t before)
{
	struct inv_port *port = &node->ports[num], *peer = peer_of(port);

	b->result.ports_set += port->sets == 0;
	port->sets++;
	if (asked == TOPO_DOWN) {
		port->reread = true;
		if (peer)
			peer->reread = true;
		if (log_allow(&b->bounce_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
			log_line(LOG_SWEEP, LOG_NOTICE,
				 "%s: bounced, its ends disagreed on MTU or VLs",
				 inventory_name(node, num).text);
		return;
	}
	port->settled = port->state != TOPO_INIT;
	port->unread |= INV_SET_INFO;
	b->any_unread = true;
	port->at_once |= port->doubted & INV_SET_INFO;
	port->reread |= (port->at_once & INV_SET_INFO) != 0;
	if (asked == TOPO_ARMED) /* the link has come up: its host may have rebooted */
		port->reregister = can_reregister(node, port);
	else if (port->state == TOPO_ACTIVE && (asked == TOPO_ACTIVE || before == TOPO_ACTIVE))
		port->reregister = false; /* that Set has said it */
	if (asked > port->state)
		port_doubt(b, node, num, "acknowledges a state it does not take");
	else if (port->sets >= (is_on_trial(port) ? SETS_ON_TRIAL : SETS_MAX))
		port_give_up(b, node, num, "does not take its settings");
}

/* It was read behind a Set: nothing more is sent to it in this apply. */
static void port_not_held(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	b->any_given_up = true;
	if (num && port->state != TOPO_ACTIVE)
		port_give_up(b, node, num, "does not hold what it acknowledges");
	else
		port->errors = GIVEN_UP;
}

/* A port that moves on has come over its errors; the second end to be Active completes the link. */
static void port_moved(struct bringup *b, struct inv_port *port, uint8_t before)
{
	const struct inv_port *peer = peer_of(port);

	if (port->state <= before)
		return;
	port->errors = 0;
	port_cured(b, port);
	if (port->state != TOPO_ACTIVE || !peer || peer->state != TOPO_ACTIVE)
		return;
	b->result.links_activated++;
	if (b->active_fn && inv_is_switch(port->peer) && inv_is_switch(peer->peer))
		b->active_fn(b->active_arg);
}

/* It has moved on: its tables, which may have failed with it, are tried again. */
static void tables_again(struct bringup *b, struct inv_port *port)
{
	b->result.cured++;
	if (port->pkey_state == INV_PKEYS_FAILED)
		port->pkey_state = INV_PKEYS_OPEN;
	lanes_begin(port);
}

static void port_answered(struct bringup *b, struct inv_node *node, uint8_t num,
			  const struct mad_answer *answer)
{
	struct inv_port *port = &node->ports[num];
	uint8_t asked = (uint8_t)(port->job - 1), before = port->state;
	bool was_get = port->job == JOB_GET;

	port->job = 0;
	port->reread &= !was_get;
	if (answer->result == MAD_OK) {
		bool given_up = port->given_up;

		(was_get ? inventory_set_port_info : inventory_port_was_set)(node, num,
									     answer->data);
		inventory_port_changed(b->inv, node, num);
		if (given_up && !port->given_up)
			tables_again(b, port);
		port_moved(b, port, before);
		if (!was_get)
			port_set(b, node, num, asked, before);
		else if (port->unheld & INV_SET_INFO)
			port_not_held(b, node, num);
	} else {
		port_doubt(b, node, num, "refuses its settings");
	}
	bringup_look_link(b, node, num);
	pkeys_look(b, node, num);
	lanes_look(b, node, num);
}

/* It is to be sent again, as what is due by then. */
static void job_withdrawn(struct inv_node *node, const struct batch_job *job)
{
	struct inv_port *port = &node->ports[job->arg];

	if (job->kind == JOB_PORT)
		port->job = 0;
	else if (job->kind == JOB_LANES)
		lanes_withdrawn(node, (uint8_t)job->arg);
	else if (port->pkeys)
		port->pkeys->job = 0;
}

static void bringup_answer(void *owner, const struct batch_job *job, const struct batch_way *way,
			   const struct mad_answer *answer)
{
	struct bringup *b = owner;
	struct inv_node *node = job->object;
	struct batch_job again = *job;
	bool answered = answer->result == MAD_OK || answer->result == MAD_STATUS;

	if (answered)
		inventory_path_worked(b->inv, &way->path);
	else
		inventory_path_failed(b->inv, &way->path, way->stamp);
	if (!answered && !is_on_trial(&node->ports[job->arg]) && ++again.tries < ROUNDS) {
		job_withdrawn(node, job);
		batch_add(b->batch, &again);
	} else if (job->kind == JOB_PKEYS) {
		pkeys_answered(b, job, answer);
	} else if (job->kind == JOB_LANES) {
		lanes_answered(b, job, answer);
	} else if (answered) {
		port_answered(b, node, (uint8_t)job->arg, answer);
	} else {
		port_lost(b, node, (uint8_t)job->arg);
	}
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void count_unheld(struct bringup *b, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];
	struct bringup_result *r = &b->result;

	if (!port->unheld)
		return;
	b->any_given_up = true;
	r->unheld++;
	if (port->trial_at_us <= loop_now_us(b->loop))
		port->trial_at_us = loop_now_us(b->loop) + TRIAL_US;
	if (!r->retry_at_us || port->trial_at_us < r->retry_at_us)
		r->retry_at_us = port->trial_at_us;
}

static void count_port(struct bringup *b, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num], *peer = peer_of(port);
	struct bringup_result *r = &b->result;

	if (num && !port->link_up)
		return;
	count_unheld(b, node, num);
	if (!port->retry_at_us)
		return;
	b->any_given_up = true;
	if (!r->retry_at_us || port->retry_at_us < r->retry_at_us)
		r->retry_at_us = port->retry_at_us;
	if (!port->given_up)
		return;
	if (peer && peer->given_up && !inventory_is_first_end(node, num))
		return; /* by its other end */
	r->links_failed++;
	r->links_fresh += port->given_up <= FRESH;
}

/* Mostly there are none. */
static void count_given_up(struct bringup *b)
{
	struct inv_node *node = b->any_given_up ? inventory_first(b->inv) : NULL;

	b->any_given_up = false;
	for (; node; node = inventory_next(b->inv, node))
		for (unsigned p = 0; !node->gone && !node->silent && p <= node->nports; p++)
			count_port(b, node, p);
}

static void bringup_idle(void *owner)
{
	struct bringup *b = owner;
	struct bringup_result result;

	if (b->topo)
		return; /* the plan's end goes on */
	b->busy = false;
	count_given_up(b);
	result = b->result;
	result.smps = batch_smps(b->batch) - b->smps_before;
	result.took_us = loop_now_us(b->loop) - b->started_us;
	b->fn(b->arg, &result); /* may free b */
}

static const struct batch_ops bringup_ops = {
	.make = bringup_make,
	.way = bringup_way,
	.done = bringup_answer,
	.idle = bringup_idle,
};

struct bringup *bringup_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			    const struct bringup_conf *conf)
{
	struct bringup *b = mem_alloc(1, sizeof(*b));

	b->loop = loop;
	b->inv = inv;
	b->conf = *conf;
	b->batch = batch_new(loop, mad, &bringup_ops, b);
	b->plan = job_new(loop, b);
	job_give_way(b->plan); /* tables first: at a fault nearly all ports are as they should be */
	return b;
}

void bringup_free(struct bringup *b)
{
	if (!b)
		return;
	job_free(b->plan);
	topo_unref(b->topo);
	batch_free(b->batch);
	free(b);
}

void bringup_on_active(struct bringup *b, void (*fn)(void *arg), void *arg)
{
	b->active_fn = fn;
	b->active_arg = arg;
}

void bringup_reregister(struct bringup *b)
{
	struct inv_node *node;
	unsigned p;

	for (node = inventory_first(b->inv); node; node = inventory_next(b->inv, node))
		for (p = 1; p <= node->nports; p++)
			node->ports[p].reregister = can_reregister(node, &node->ports[p]);
}

void bringup_reregister_port(struct bringup *b, guid_t guid, uint8_t num)
{
	struct inv_node *node = inventory_find(b->inv, guid);

	if (node && num && num <= node->nports)
		node->ports[num].reregister = can_reregister(node, &node->ports[num]);
}

/* What was settled under the old configuration is open again. */
void bringup_configure(struct bringup *b, const struct bringup_conf *conf)
{
	bool other_lanes = memcmp(&b->conf.qos, &conf->qos, sizeof(conf->qos)) != 0;
	struct inv_node *node;
	unsigned p;

	b->conf = *conf;
	for (node = inventory_first(b->inv); node; node = inventory_next(b->inv, node)) {
		for (p = 0; p <= node->nports; p++) {
			node->ports[p].settled = false;
			node->ports[p].given_up = node->ports[p].lost = 0;
		}
		if (other_lanes)
			lanes_forget(node);
	}
}

/* A port holds 2^LMC LIDs in a row. */
static uint8_t lids_lmc(const struct lid_map *lids, uint32_t port, uint16_t lid)
{
	uint32_t count = 1;
	uint8_t lmc = 0;

	while (lid + count <= lids->top && lids->port_of_lid[lid + count] == port)
		count++;
	while (2u << lmc <= count)
		lmc++;
	return lmc;
}

/* The node may have come back with more ports than the snapshot knows. */
static uint32_t port_index(const struct topo *t, uint32_t node, uint32_t num)
{
	if (node == TOPO_NONE || num > t->nodes[node].nports)
		return TOPO_NONE;
	return t->nodes[node].port0 + num;
}

static void node_want(struct bringup *b, struct inv_node *node)
{
	uint32_t index = topo_find(b->topo, node->guid), p;

	for (p = 0; p <= node->nports; p++) {
		struct inv_port *port = &node->ports[p];
		uint32_t i = port_index(b->topo, index, p);

		pkeys_want(b, node, (uint8_t)p, i);
		lanes_begin(port);
		port->sets = 0;
		port->errors = port->given_up ? GIVEN_UP : 0;
		if (!port->given_up)
			port->retry_at_us = 0;
		port->want_lid = i == TOPO_NONE ? 0 : b->lids->lid_of_port[i];
		port->want_lmc = port->want_lid ? lids_lmc(b->lids, i, port->want_lid) : 0;
	}
}

/* Settled and Active ports of switches need no second look: most of a fabric at a fault. */
static bool port_is_idle(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return inv_is_switch(node) && num &&
	       (!port->link_up || (port->settled && port->state == TOPO_ACTIVE));
}

static void node_look(struct bringup *b, struct inv_node *node)
{
	for (unsigned p = 0; p <= node->nports; p++) {
		pkeys_look(b, node, (uint8_t)p);
		lanes_look(b, node, (uint8_t)p);
		if (!port_is_idle(node, p))
			port_look(b, node, (uint8_t)p);
	}
}

void bringup_set_pkeys(struct bringup *b, const struct pkey_map *map)
{
	b->pkeys = map;
}

/* ---- Apply ---------------------------------------------------------------------------------- */

/* The next nodes by GUID, for the inventory may change between two steps. False: those were the last. */
static bool each_node(struct bringup *b, void (*fn)(struct bringup *b, struct inv_node *node))
{
	struct inv_node *node = inventory_from(b->inv, b->planned);
	unsigned ports;

	for (ports = 0; node && ports < PORTS_A_STEP;) {
		fn(b, node);
		ports += node->nports + 1u;
		node = inventory_next(b->inv, node);
	}
	b->planned = node ? node->guid : 0;
	return node != NULL;
}

static enum job_said want_of_ports(void *arg)
{
	return each_node(arg, node_want) ? JOB_MORE : JOB_NEXT;
}

static enum job_said look_at_ports(void *arg)
{
	return each_node(arg, node_look) ? JOB_MORE : JOB_NEXT;
}

static enum job_said begin_sending(void *arg)
{
	struct bringup *b = arg;

	topo_unref(b->topo);
	b->topo = NULL;
	batch_wake(b->batch);
	return JOB_NEXT;
}

static const struct job_step plan_steps[] = {
	{ "bringup-wants", want_of_ports },
	{ "bringup-ports", look_at_ports },
	{ "bringup-begin", begin_sending },
	{ NULL, NULL },
};

void bringup_begin(struct bringup *b, bringup_done_fn *fn, void *arg)
{
	if (!b->busy)
		b->smps_before = batch_smps(b->batch);
	b->busy = true;
	b->fn = fn;
	b->arg = arg;
	b->result = (struct bringup_result){ 0 };
	b->started_us = loop_now_us(b->loop);
}

void bringup_apply(struct bringup *b, const struct topo *t, const struct lid_map *lids,
		   uint16_t sm_lid, bringup_done_fn *fn, void *arg)
{
	batch_drop_queue(b->batch);
	bringup_begin(b, fn, arg);
	b->sm_lid = sm_lid;
	topo_unref(b->topo);
	b->topo = topo_ref(t);
	b->lids = lids;
	b->planned = 0;
	job_start(b->plan, plan_steps, NULL);
}

void bringup_wait(struct bringup *b, uint64_t us)
{
	job_wait(b->plan, us);
}

/* ---- Those that were given up ----------------------------------------------------------------- */

static bool retry_is_due(const struct bringup *b, const struct inv_port *port)
{
	uint64_t now = loop_now_us(b->loop);

	return (port->retry_at_us && port->retry_at_us <= now) ||
	       (port->unheld && port->trial_at_us <= now);
}

static void retry_port(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	port->errors = port->sets = 0;
	port->reread = false;
	port->retry_at_us = port->given_up ? loop_now_us(b->loop) + rest_us(port->given_up) : 0;
	if (port->unheld)
		port->trial_at_us = loop_now_us(b->loop) + TRIAL_US;
	port->settled &= !(port->unheld & INV_SET_INFO);
	port_look(b, node, num);
	if (port->unheld & INV_SET_PKEYS)
		pkeys_retry(b, node, num);
	if (port->unheld & INV_SET_LANES)
		lanes_retry(b, node, num);
}

bool bringup_retry(struct bringup *b, bringup_done_fn *fn, void *arg)
{
	struct inv_node *node;
	bool any = false;

	if (b->busy)
		return false;
	for (node = inventory_first(b->inv); node; node = inventory_next(b->inv, node))
		for (unsigned p = 0; !node->gone && !node->silent && p <= node->nports; p++) {
			if (!retry_is_due(b, &node->ports[p]))
				continue;
			if (!any)
				bringup_begin(b, fn, arg);
			any = true;
			retry_port(b, node, (uint8_t)p);
		}
	if (any)
		batch_wake(b->batch);
	return any;
}
