/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Bring-up as a whole: an apply plans all ports, then works through one queue of PortInfo
 * (port_step.c), P_Key tables (pkeys.c), SL2VL and VL arbitration tables (lanes.c);
 * those that were given up are tried again in their time.
 */
#include "fm/sweep/bringup_priv.h"
#include "topology/base/mem.h"

#define ROUNDS	     4
#define ROUND_MS     50 /* of the first round to a host; doubles */
#define PORTS_A_STEP 16384
#define TRIAL_US     55000000 /* of a port that acknowledges what it does not hold */

/* ---- Sending -------------------------------------------------------------------------------- */

static bool bringup_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	struct bringup *b = owner;

	via->stamp = b->inv->clock;
	return inventory_port_path(b->inv, job->object, job->arg, &via->path);
}

static bool bringup_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct bringup *b = owner;

	request->via.stamp = b->inv->clock;
	request->mad.device = ((struct inv_node *)job->object)->guid;
	request->mad.urgent = job->urgent;
	request->mad.doubtful = job->tries > 0;
	request->mad.retries = 1;
	request->mad.once = bringup_on_trial(port_setup(job->object, job->arg));
	if (!inv_is_switch(job->object) && job->tries < 2)
		request->mad.timeout_ms = ROUND_MS << job->tries;
	if (job->kind == JOB_PORT)
		return bringup_make_port(b, job, request);
	return job->kind == JOB_PKEYS ? pkeys_make(b, job, request) : lanes_make(b, job, request);
}

static void bringup_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			   const struct mad_answer *answer)
{
	struct bringup *b = owner;
	struct inv_node *node = job->object;
	struct batch_job again = *job;
	bool answered = answer->result == MAD_OK || answer->result == MAD_STATUS;
	struct port_setup *setup = port_setup(node, job->arg);

	inventory_path_result(b->inv, &via->path, answered, via->stamp);
	if (!answered && !bringup_on_trial(setup) && !bringup_is_deaf(job) &&
	    ++again.tries < ROUNDS) {
		/* It is to be sent again, as what is due by then. */
		if (job->kind == JOB_PORT)
			setup->job = 0;
		else if (job->kind == JOB_LANES)
			lanes_withdrawn(node, job->arg);
		else if (setup->pkeys)
			setup->pkeys->job = 0;

		batch_add(b->batch, &again);
	} else if (job->kind == JOB_PKEYS) {
		pkeys_answered(b, job, answer);
	} else if (job->kind == JOB_LANES) {
		lanes_answered(b, job, answer);
	} else if (answered) {
		bringup_port_answered(b, node, job->arg, answer);
	} else {
		bringup_port_lost(b, node, job->arg);
	}
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void count_port(struct bringup *b, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	struct port_setup *setup = port_setup(node, num);
	const struct port_setup *far = setup_of_peer(port);
	struct bringup_result *r = &b->result;

	if (num && !port->link_up)
		return;

	if (setup->unheld) {
		struct setback *setback = setback_to_write(setup);

		b->any_given_up = true;
		r->unheld++;
		if (setback->trial_at_us <= loop_now_us(b->loop))
			setback->trial_at_us = loop_now_us(b->loop) + TRIAL_US;
		if (!r->retry_at_us || setback->trial_at_us < r->retry_at_us)
			r->retry_at_us = setback->trial_at_us;
	}

	uint64_t retry_at_us = setback_of(setup)->retry_at_us;

	if (!retry_at_us)
		return;
	b->any_given_up = true;
	if (!r->retry_at_us || retry_at_us < r->retry_at_us)
		r->retry_at_us = retry_at_us;
	if (!setup->given_up)
		return;
	if (far && far->given_up && !inventory_is_first_end(node, num))
		return; /* by its other end */
	r->links_failed++;
	r->links_fresh += setup->given_up <= FRESH;
}

static void bringup_idle(void *owner)
{
	struct bringup *b = owner;

	if (b->topo)
		return; /* the plan's end goes on */
	b->busy = false;

	/* Mostly no port was given up. */
	struct inv_node *node = b->any_given_up ? inventory_first(b->inv) : NULL;

	b->any_given_up = false;
	for (; node; node = inventory_next(b->inv, node))
		for (unsigned p = 0; !node->gone && !node->silent && p <= node->nports; p++)
			count_port(b, node, p);

	struct bringup_result result = b->result;

	result.smps = batch_smps(b->batch) - b->smps_before;
	result.took_us = loop_now_us(b->loop) - b->started_us;
	b->fn(b->arg, &result); /* may free b */
}

static const struct batch_ops bringup_ops = {
	.make = bringup_make,
	.path_of = bringup_path,
	.done = bringup_answer,
	.idle = bringup_idle,
};

struct bringup *bringup_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			    const struct bringup_conf *conf)
{
	struct bringup *b = mem_new(b);

	b->loop = loop;
	b->inv = inv;
	b->conf = *conf;
	b->batch = batch_new(loop, mad, &bringup_ops, b);
	b->plan = job_new(loop, b);
	job_yield(b->plan); /* tables first: at a fault nearly all ports are as they should be */
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
	INVENTORY_EACH (b->inv, node)
		for (unsigned p = 1; p <= node->nports; p++)
			port_setup(node, p)->reregister =
				bringup_can_reregister(node, &node->ports[p]);
}

void bringup_reregister_port(struct bringup *b, guid_t guid, uint8_t num)
{
	struct inv_node *node = inventory_find(b->inv, guid);

	if (node && num && num <= node->nports)
		port_setup(node, num)->reregister = bringup_can_reregister(node, &node->ports[num]);
}

/* What was settled under the old configuration is open again. */
void bringup_configure(struct bringup *b, const struct bringup_conf *conf)
{
	bool other_lanes = memcmp(&b->conf.qos, &conf->qos, sizeof(conf->qos));

	b->conf = *conf;
	INVENTORY_EACH (b->inv, node) {
		for (unsigned p = 0; p <= node->nports; p++) {
			port_setup(node, p)->settled = false;
			port_setup(node, p)->given_up = port_setup(node, p)->lost = 0;
			node->ports[p].counts_violations = false;
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

static void node_want(struct bringup *b, struct inv_node *node)
{
	uint32_t index = topo_find(b->topo, node->guid), p;

	bringup_note_keys(b, node);
	for (p = 0; p <= node->nports; p++) {
		struct port_setup *setup = port_setup(node, p);
		/* The node may have come back with more ports than the snapshot knows. */
		uint32_t i = index == TOPO_NONE || p > b->topo->nodes[index].nports
				     ? TOPO_NONE
				     : b->topo->nodes[index].port0 + p;

		pkeys_want(b, node, p, i);
		setup->qos.failed = false; /* what failed is tried again */
		setup->sets = 0;
		setup->errors = setup->given_up ? GIVEN_UP : 0;
		if (!setup->given_up)
			setup_retry_at(setup, 0);
		setup->want_lid = i == TOPO_NONE ? 0 : b->lids->lid_of_port[i];
		setup->want_lmc = setup->want_lid ? lids_lmc(b->lids, i, setup->want_lid) : 0;
	}
}

static void node_step(struct bringup *b, struct inv_node *node)
{
	for (unsigned p = 0; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];

		pkeys_step(b, node, p);
		if (b->conf.qos.on)
			lanes_step(b, node, p);
		/* Settled and Active ports of switches need no more: most of a fabric. */
		if (!inv_is_switch(node) || !p ||
		    (port->link_up && (!port_setup(node, p)->settled ||
				       port->state != TOPO_ACTIVE || bringup_is_shut(node, p))))
			bringup_step(b, node, p);
	}
}

void bringup_set_pkeys(struct bringup *b, const struct pkey_map *map)
{
	b->pkeys = map;
}

/* ---- Apply ---------------------------------------------------------------------------------- */

/*
 * The next nodes by GUID, for the inventory may change between two steps. False: those were the
 * last.
 */
static bool each_node(struct bringup *b, void (*fn)(struct bringup *b, struct inv_node *node))
{
	struct inv_node *node = inventory_from(b->inv, b->planned);

	for (unsigned ports = 0; node && ports < PORTS_A_STEP;) {
		fn(b, node);
		ports += node->nports + 1u;
		node = inventory_next(b->inv, node);
	}
	b->planned = node ? node->guid : 0;
	return node != NULL;
}

static enum job_result want_of_ports(void *arg)
{
	return each_node(arg, node_want) ? JOB_MORE : JOB_NEXT;
}

static enum job_result step_ports(void *arg)
{
	return each_node(arg, node_step) ? JOB_MORE : JOB_NEXT;
}

static enum job_result begin_sending(void *arg)
{
	struct bringup *b = arg;

	topo_unref(b->topo);
	b->topo = NULL;
	batch_wake(b->batch);
	return JOB_NEXT;
}

static const struct job_step plan_steps[] = {
	{ "bringup-wants", want_of_ports },
	{ "bringup-ports", step_ports },
	{ "bringup-begin", begin_sending },
	{ NULL, NULL },
};

/* bringup.c. Makes b busy, with an empty result for fn. */
static void bringup_begin(struct bringup *b, bringup_done_fn *fn, void *arg)
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
	if (b->sm_lid != sm_lid)
		b->sm_lid_was = b->sm_lid;
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

/* ---- Those that were given up ---------------------------------------------------------------- */

static void retry_port(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct port_setup *setup = port_setup(node, num);

	setup->errors = setup->sets = 0;
	/*
	 * It refused what it may have executed before, and that answer was lost: it is read until
	 * it answers. If it hides a key, whether it counted what it did not answer is read first.
	 */
	setup->reread =
		(setup->reread && setup->unsure) ||
		(port_has_key(node, num) && port_key_of(b->inv, node, num) == PORT_KEY_HIDDEN);
	setup_retry_at(setup, setup->given_up
				      ? loop_now_us(b->loop) + bringup_rest_us(setup->given_up)
				      : 0);
	if (setup->unheld)
		setback_to_write(setup)->trial_at_us = loop_now_us(b->loop) + TRIAL_US;
	setup->settled &= !(setup->unheld & INV_SET_INFO);
	bringup_step(b, node, num);
	if (setup->unheld & INV_SET_PKEYS)
		pkeys_retry(b, node, num);
	if (setup->unheld & INV_SET_LANES)
		lanes_retry(b, node, num);
}

bool bringup_retry(struct bringup *b, bringup_done_fn *fn, void *arg)
{
	uint64_t now = loop_now_us(b->loop);
	bool any = false;

	if (b->busy)
		return false;
	INVENTORY_EACH (b->inv, node)
		for (unsigned p = 0; !node->gone && !node->silent && p <= node->nports; p++) {
			const struct port_setup *setup = port_setup(node, p);
			const struct setback *setback = setback_of(setup);

			if (!(setback->retry_at_us && setback->retry_at_us <= now) &&
			    !(setup->unheld && setback->trial_at_us <= now))
				continue;
			if (!any)
				bringup_begin(b, fn, arg);
			any = true;
			retry_port(b, node, p);
		}
	if (any)
		batch_wake(b->batch);
	return any;
}

/* ---- What a port has shown to hold ----------------------------------------------------------- */

bool bringup_held(const struct bringup *b, const struct inv_node *node, uint8_t num,
		  enum inv_set what, unsigned part, unsigned round, struct port_table *table)
{
	const struct port_setup *setup = port_setup(node, num);

	if (!bringup_port_workable(node, num) || setup->given_up ||
	    (num ? node->ports[num].state < TOPO_ARMED : !node->ports[num].lid))
		return false;
	if (what == INV_SET_PKEYS)
		return pkeys_held(node, num, part, table);
	if (what == INV_SET_LANES)
		return lanes_held(b, node, num, part, round, table);
	*table = (struct port_table){ .attr_id = WIRE_PORT_INFO,
				      .modifier = inventory_port_modifier(node, num) };
	return !part && setup->settled && !setup->job && !(setup->unheld & INV_SET_INFO);
}

bool bringup_compare(struct bringup *b, struct inv_node *node, uint8_t num, enum inv_set what,
		     const struct port_table *table, const uint8_t data[64], bool last)
{
	struct port_setup *setup = port_setup(node, num);
	struct wire_port_info is, known;
	struct inv_change change;
	bool before = setup->unheld & what, unheld;

	if (what == INV_SET_INFO) {
		wire_port_info_decode(data, &is);
		wire_port_info_decode(node->ports[num].info, &known);
		if ((num && is.state != known.state) ||
		    inventory_settings_differ(NULL, node, num, &is, &known))
			return true;
		node->ports[num].info_verified = true;
	} else if (port_table_differs(table, data, &change)) {
		if (!(setup->doubted & what))
			inventory_report(b->inv, node, num, &change);
		setup_was_read(setup, what, false);
		unheld = setup->unheld & what;
		b->any_given_up |= unheld;
		if (what == INV_SET_PKEYS)
			pkeys_forget(setup, unheld);
		else
			lanes_lost(setup, table->attr_id == WIRE_SL2VL, unheld);
		return !before || !unheld;
	}
	if (last)
		setup_was_read(setup, what, true);
	return false;
}

bool bringup_has_unread(const struct bringup *b)
{
	return b->any_unread;
}

void bringup_all_read(struct bringup *b)
{
	b->any_unread = false;
}
