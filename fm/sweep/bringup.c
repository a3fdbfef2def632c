/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Bring-up as a whole: an apply plans all ports, then works through one queue of PortInfo
 * (port_step.c), P_Key tables (pkeys.c), SL2VL and VL arbitration tables;
 * those that were given up are tried again in their time.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/sweep/bringup_priv.h"
#include "topology/base/mem.h"

/* ---- SL2VL and VL arbitration tables (IBA 14.2.5.8, 14.2.5.9), where QoS is configured ------- */

/*
 * Port by
 * port, a table at a time: read, and set if it differs. A port begins once it is Armed, for what it
 * should hold depends on its OperationalVLs, and begins anew when those change. A table that a
 * device refuses is left as it is.
 *
 *   CAs, routers        four arbitration blocks, as far as they are there, and one SL2VL table
 *   ports of switches   the same, and an SL2VL table for each port that packets come in by
 *   an enhanced port 0  the same as other ports of its switch
 *
 * A switch that takes wildcards (SwitchInfo:OptimizedSLtoVLMappingProgramming) gets its SL2VL by
 * one Set for all ports, unread: to read them all would take thousands. Ports with another number
 * of lanes than the first one follow by a Set each.
 */

#define STEPS	    (INV_SL2VL + 1)
#define ALL_IN	    0x20000u /* SL2VL's modifier */
#define ALL_IN_OUT  0x30000u
#define SL2VL_BYTES 8

struct lanes_switch {	   /* all ports' SL2VL was written.. */
	uint8_t vls;	   /* ..for so many lanes; 0 = not yet */
	uint8_t port;	   /* the port for which that is on its way; 0 = none */
	bool no_wildcards; /* refused that once */
};
_Static_assert(sizeof(struct lanes_switch) == LANES_BYTES, "");

struct table {		/* what is due at a port */
	uint8_t method; /* 0 = nothing now */
	uint16_t attr_id;
	uint32_t modifier;
	unsigned bytes; /* that count */
	uint8_t want[WIRE_SMP_DATA];
};

static struct lanes_switch *of_switch(const struct inv_node *node)
{
	return inv_node_cell(node, INV_LANES, sizeof(struct lanes_switch));
}

static const struct qos_tables *tables_for(const struct bringup *b, const struct inv_node *node,
					   unsigned num)
{
	return &b->conf.qos.kind[inv_qos_kind(node->info.type, num)];
}

static bool is_due(const struct bringup *b, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	const struct port_setup *setup = port_setup(node, num);

	if (!b->conf.qos.on || setup->qos.job || setup->qos.failed || setup->qos.step >= STEPS)
		return false;
	if (num == 0 ? !(node->sw.flags & INV_ENHANCED_PORT0) : port->state < TOPO_ARMED)
		return false;
	return bringup_port_workable(node, num);
}

/* ---- The table that is due ------------------------------------------------------------------- */

static void advance(struct inv_qos *qos, bool held)
{
	if (held)
		qos->held |= (uint8_t)(1u << qos->step);
	qos->step++;
	qos->in = 0;
	qos->differs = false;
}

static bool arb_step(const struct bringup *b, const struct inv_node *node, unsigned num,
		     const struct wire_port_info *info, struct table *table)
{
	const struct inv_qos *qos = &port_setup(node, num)->qos;
	unsigned entries = qos_arb_entries(qos->step, info->arb_low_cap, info->arb_high_cap);

	if (info->vl_cap <= 1 || !entries)
		return false;
	table->method = qos->differs && !qos->reading ? WIRE_SET : WIRE_GET;
	table->attr_id = WIRE_VL_ARB;
	table->modifier = (qos->step + 1u) << 16 | (inv_is_switch(node) ? num : 0);
	table->bytes = 2 * entries;
	qos_arb(tables_for(b, node, num), qos->step, entries, qos->vls, table->want);
	return true;
}

static bool sl2vl_step(const struct bringup *b, const struct inv_node *node, unsigned num,
		       struct table *table)
{
	const struct inv_qos *qos = &port_setup(node, num)->qos;

	/* The capability mask of a switch is that of its port 0. */
	if (!(node->ports[inv_is_switch(node) ? 0 : num].capmask & WIRE_CAP_SL_MAP))
		return false;
	table->attr_id = WIRE_SL2VL;
	table->bytes = SL2VL_BYTES;
	qos_sl2vl(tables_for(b, node, num), qos->vls, table->want);
	if (qos->reading) { /* one input port stands for all */
		table->method = WIRE_GET;
		table->modifier = inv_is_switch(node) ? (num % node->nports + 1) << 8 | num : 0;
		return true;
	}
	if (inv_is_switch(node) && node->sw.opt_sl2vl & 1 && !of_switch(node)->no_wildcards) {
		/*
		 * The first port with lanes stands for all of the switch; the others wait for that;
		 * port 0's tables are written after it.
		 */
		const struct inv_qos *step_qos = &port_setup(node, num)->qos;

		if (step_qos->written == step_qos->vls)
			return false;
		table->method = WIRE_SET;
		table->modifier = ALL_IN | num;
		if (!of_switch(node)->vls) {
			table->method = num && !of_switch(node)->port ? WIRE_SET : 0;
			table->modifier = ALL_IN_OUT;
		}
		return true;
	}
	table->method = qos->differs ? WIRE_SET : WIRE_GET;
	table->modifier = inv_is_switch(node) ? (uint32_t)qos->in << 8 | num : 0;
	return true;
}

static void step_find(const struct bringup *b, struct inv_node *node, unsigned num,
		      struct table *table)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);
	*table = (struct table){ .method = 0 };
	while (qos->step < STEPS) {
		if (qos->reading && !(qos->held >> qos->step & 1)) {
			qos->step++; /* nobody acknowledged it */
			continue;
		}
		if (qos->step < INV_SL2VL ? arb_step(b, node, num, &info, table)
					  : sl2vl_step(b, node, num, table))
			return;
		advance(qos, qos->step == INV_SL2VL && qos->written && qos->written == qos->vls);
	}
}

/* The Set that is for all ports of a switch. */
static bool is_wildcard(const struct table *table)
{
	return table->attr_id == WIRE_SL2VL && table->modifier == ALL_IN_OUT;
}

void lanes_step(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;
	struct batch_job job = { .object = node, .arg = num, .kind = JOB_LANES };
	struct wire_port_info info;
	uint8_t vls, most = (uint8_t)tables_for(b, node, num)->max_vls;

	if (!b->conf.qos.on || qos->job)
		return;
	wire_port_info_decode(node->ports[num].info, &info);
	vls = (uint8_t)qos_vls(info.op_vls);
	vls = vls < most ? vls : most;
	if (qos->vls != vls)
		*qos = (struct inv_qos){ .vls = vls,
					 .written = qos->written,
					 .wrote = qos->wrote,
					 .failed = qos->failed };
	if (is_due(b, node, num))
		batch_add(b->batch, &job);
}

static void lanes_read_back(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct port_setup *setup = port_setup(node, num);

	if (!b->conf.qos.on || setup->qos.failed) {
		setup->unread &= (uint8_t)~INV_SET_LANES;
		return;
	}
	if (setup->qos.step < STEPS || setup->qos.job)
		return;
	setup->qos.reading = true;
	setup->qos.step = 0;
	lanes_step(b, node, num);
}

/* Queues the writes of tables that failed; the Gets of those that were acknowledged. */
static void lanes_retry(struct bringup *b, struct inv_node *node, uint8_t num)
{
	if (port_setup(node, num)->qos.job)
		return;

	struct inv_qos *qos = &port_setup(node, num)->qos;

	*qos = (struct inv_qos){ .vls = qos->vls };

	lanes_step(b, node, num);
}

static void lanes_hold(struct bringup *b, struct port_setup *setup)
{
	b->result.cured += (setup->unheld & INV_SET_LANES) != 0;
	setup_was_read(setup, INV_SET_LANES, true);
}

/*
 * All tables of the port are done: what was written is to be read, at once where that was not held
 * before.
 */
static void round_ends(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct port_setup *setup = port_setup(node, num);
	struct inv_qos *qos = &setup->qos;

	if (qos->step < STEPS || qos->job)
		return;
	if (qos->reading) {
		qos->reading = false;
		lanes_hold(b, setup);
	} else if (qos->wrote) {
		qos->wrote = false;
		setup->unread |= INV_SET_LANES;
		b->any_unread = true;
		setup->at_once |= setup->doubted & INV_SET_LANES;
		if (setup->at_once & INV_SET_LANES)
			lanes_read_back(b, node, num);
	} else if (setup->unheld & INV_SET_LANES && qos->held) {
		lanes_hold(b, setup); /* by itself */
	}
}

/* Fills in the request that is due. False: none is, or no path leads there. */
static bool lanes_make(struct bringup *b, const struct batch_job *job,
		       struct batch_request *request)
{
	struct inv_node *node = job->object;
	uint8_t num = (uint8_t)job->arg;
	struct inv_qos *qos = &port_setup(node, num)->qos;
	struct table table;

	if (!is_due(b, node, num))
		return false;
	step_find(b, node, num, &table);
	if (!table.method) {
		round_ends(b, node, num);
		return false;
	}
	if (!inventory_port_path(b->inv, node, num, &request->via.path))
		return false;
	request->mad.method = table.method;
	request->mad.attr_id = table.attr_id;
	request->mad.attr_mod = table.modifier;
	if (table.method == WIRE_SET)
		memcpy(request->data, table.want, sizeof(table.want));
	qos->job = table.method;
	if (is_wildcard(&table))
		of_switch(node)->port = num;
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static bool same(const struct table *table, const uint8_t *data)
{
	for (unsigned i = 0; i < table->bytes; i++)
		if ((data[i] ^ table->want[i]) &
		    (table->attr_id == WIRE_VL_ARB && i % 2 == 0 ? 0x0f : 0xff))
			return false;
	return true;
}

static void log_rejected(struct bringup *b, const struct inv_node *node, unsigned num,
			 const struct table *table, const char *what)
{
	if (log_allow(&b->lanes_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: its %s table %s",
			 inventory_name(node, (int)num).text,
			 table->attr_id == WIRE_VL_ARB ? "VL arbitration" : "SL2VL", what);
}

/* All ports of the switch have it now; those with as many lanes are done with it. */
static void wildcard_done(const struct bringup *b, struct inv_node *node, uint8_t vls)
{
	const struct qos_tables *port0 = tables_for(b, node, 0), *others = tables_for(b, node, 1);
	bool alike = !memcmp(port0->sl2vl, others->sl2vl, sizeof(port0->sl2vl));

	of_switch(node)->vls = vls;
	for (unsigned p = alike ? 0 : 1; p <= node->nports; p++) {
		port_setup(node, p)->qos.written = vls;
		port_setup(node, p)->qos.wrote = true;
	}
}

/* The table is as wanted. */
static void table_done(const struct bringup *b, struct inv_node *node, uint8_t num,
		       const struct table *table)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;

	qos->differs = false;
	if (table->attr_id == WIRE_SL2VL && inv_is_switch(node) && node->sw.opt_sl2vl & 1 &&
	    !of_switch(node)->no_wildcards) {
		qos->written = qos->vls;
		if (is_wildcard(table))
			wildcard_done(b, node, qos->vls);
		advance(qos, true);
	} else if (table->attr_id == WIRE_SL2VL && inv_is_switch(node) && qos->in < node->nports) {
		qos->in++;
	} else {
		advance(qos, true);
	}
}

static void table_answered(struct bringup *b, struct inv_node *node, uint8_t num,
			   struct table *table, uint8_t was, const struct mad_answer *answer)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;

	if (qos->reading) {
		struct inv_qos *back_qos = &port_setup(node, num)->qos;

		if (answer->result == MAD_OK && !same(table, answer->data)) {
			/*
			 * It acknowledged another one. Twice in a row it is left until
			 * bringup_retry().
			 */
			struct port_setup *setup = port_setup(node, num);

			setup_was_read(setup, INV_SET_LANES, false);
			setup->qos = (struct inv_qos){ .vls = setup->qos.vls };
			if (!(setup->unheld & INV_SET_LANES))
				return;
			b->any_given_up = true;
			setup->qos.step = STEPS;
			log_rejected(b, node, num, table,
				     "was acknowledged, but reads back differently");
		} else
			back_qos->step++; /* what is not answered says nothing */
	} else if (answer->result == MAD_OK && same(table, answer->data)) {
		qos->wrote |= was == WIRE_SET;
		b->result.lanes_set += was == WIRE_SET;
		table_done(b, node, num, table);
	} else if (answer->result == MAD_OK && was == WIRE_GET) {
		qos->differs = true;
	} else if (is_wildcard(table)) {
		bool refused = answer->result == MAD_OK || answer->result == MAD_STATUS;

		of_switch(node)->no_wildcards = refused;
		for (unsigned p = 0; p <= node->nports && !refused; p++)
			port_setup(node, p)->qos.failed = true;
	} else if (answer->result == MAD_OK || answer->result == MAD_STATUS) {
		log_rejected(b, node, num, table,
			     answer->result == MAD_OK ? "keeps other values than it was sent"
						      : "was rejected");
		advance(qos, false);
	} else {
		log_rejected(b, node, num, table, "is unreachable");
		qos->failed = true;
	}
}

static void lanes_withdrawn(struct inv_node *node, uint8_t num);

/* ---- Life ------------------------------------------------------------------------------------ */

static void lanes_withdrawn(struct inv_node *node, uint8_t num)
{
	port_setup(node, num)->qos.job = 0;
	if (of_switch(node)->port == num)
		of_switch(node)->port = 0;
}

void lanes_new_life(struct inv_node *node)
{
	of_switch(node)->vls = 0;
}

/* ---- Bringup --------------------------------------------------------------------------------- */

#define ROUNDS	     4
#define PORTS_A_STEP 16384
#define TRIAL_US     55000000 /* of a port that acknowledges what it does not hold */

/* ---- Sending -------------------------------------------------------------------------------- */

static bool bringup_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	struct bringup *b = owner;

	via->stamp = b->inv->clock;
	return inventory_port_path(b->inv, job->object, (uint8_t)job->arg, &via->path);
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

	if (answered)
		inventory_path_worked(b->inv, &via->path);
	else
		inventory_path_failed(b->inv, &via->path, via->stamp);
	if (!answered && !bringup_on_trial(port_setup(node, job->arg)) && ++again.tries < ROUNDS) {
		/* It is to be sent again, as what is due by then. */
		struct port_setup *setup = port_setup(node, job->arg);

		if (job->kind == JOB_PORT)
			setup->job = 0;
		else if (job->kind == JOB_LANES)
			lanes_withdrawn(node, (uint8_t)job->arg);
		else if (setup->pkeys)
			setup->pkeys->job = 0;

		batch_add(b->batch, &again);
	} else if (job->kind == JOB_PKEYS) {
		pkeys_answered(b, job, answer);
	} else if (job->kind == JOB_LANES) {
		/*
		 * What was asked is what is due still: a port's record changes by its answers
		 * alone, and by lanes_forget().
		 */
		uint8_t num = (uint8_t)job->arg;
		struct inv_qos *qos = &port_setup(node, num)->qos;
		uint8_t was = qos->job;
		struct table table;

		if (!was)
			return; /* not wanted any more */
		lanes_withdrawn(node, num);
		step_find(b, node, num, &table);
		if (table.method == was)
			table_answered(b, node, num, &table, was, answer);
		if (!is_wildcard(&table))
			lanes_step(b, node, num);
		for (unsigned p = 0; is_wildcard(&table) && p <= node->nports; p++)
			lanes_step(b, node, (uint8_t)p);
		round_ends(b, node, num);
	} else if (answered) {
		bringup_port_answered(b, node, (uint8_t)job->arg, answer);
	} else {
		bringup_port_lost(b, node, (uint8_t)job->arg);
	}
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void count_port(struct bringup *b, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	const struct port_setup *setup = port_setup(node, num), *far = setup_of_peer(port);
	struct bringup_result *r = &b->result;
	uint64_t retry_at_us;

	if (num && !port->link_up)
		return;

	struct port_setup *unheld_setup = port_setup(node, num);
	struct setback *setback;

	if (unheld_setup->unheld) {
		setback = setback_to_write(unheld_setup);
		b->any_given_up = true;
		r->unheld++;
		if (setback->trial_at_us <= loop_now_us(b->loop))
			setback->trial_at_us = loop_now_us(b->loop) + TRIAL_US;
		if (!r->retry_at_us || setback->trial_at_us < r->retry_at_us)
			r->retry_at_us = setback->trial_at_us;
	}

	retry_at_us = setback_of(setup)->retry_at_us;
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
	struct bringup_result result;
	struct inv_node *node;

	if (b->topo)
		return; /* the plan's end goes on */
	b->busy = false;
	node = b->any_given_up ? inventory_first(b->inv) : NULL; /* mostly no port was */
	b->any_given_up = false;
	for (; node; node = inventory_next(b->inv, node))
		for (unsigned p = 0; !node->gone && !node->silent && p <= node->nports; p++)
			count_port(b, node, p);
	result = b->result;
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
	struct bringup *b = mem_alloc(1, sizeof(*b));

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
	struct inv_node *node;
	unsigned p;

	for (node = inventory_first(b->inv); node; node = inventory_next(b->inv, node))
		for (p = 1; p <= node->nports; p++)
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
	bool other_lanes = memcmp(&b->conf.qos, &conf->qos, sizeof(conf->qos)) != 0;
	struct inv_node *node;
	unsigned p;

	b->conf = *conf;
	for (node = inventory_first(b->inv); node; node = inventory_next(b->inv, node)) {
		for (p = 0; p <= node->nports; p++) {
			port_setup(node, p)->settled = false;
			port_setup(node, p)->given_up = port_setup(node, p)->lost = 0;
			node->ports[p].counts_violations = false;
		}
		if (other_lanes) {
			*of_switch(node) = (struct lanes_switch){ 0 };
			for (unsigned num = 0; num <= node->nports; num++)
				port_setup(node, num)->qos = (struct inv_qos){ 0 };
		}
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

		pkeys_want(b, node, (uint8_t)p, i);
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

		pkeys_step(b, node, (uint8_t)p);
		lanes_step(b, node, (uint8_t)p);
		/* Settled and Active ports of switches need no more: most of a fabric. */
		if (!inv_is_switch(node) || !p ||
		    (port->link_up && (!port_setup(node, p)->settled ||
				       port->state != TOPO_ACTIVE || bringup_is_shut(node, p))))
			bringup_step(b, node, (uint8_t)p);
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
	unsigned ports;

	for (ports = 0; node && ports < PORTS_A_STEP;) {
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

bool bringup_retry(struct bringup *b, bringup_done_fn *fn, void *arg)
{
	struct inv_node *node;
	uint64_t now = loop_now_us(b->loop);
	bool any = false;

	if (b->busy)
		return false;
	for (node = inventory_first(b->inv); node; node = inventory_next(b->inv, node))
		for (unsigned p = 0; !node->gone && !node->silent && p <= node->nports; p++) {
			const struct port_setup *setup = port_setup(node, p);
			const struct setback *setback = setback_of(setup);

			if (!(setback->retry_at_us && setback->retry_at_us <= now) &&
			    !(setup->unheld && setback->trial_at_us <= now))
				continue;
			if (!any)
				bringup_begin(b, fn, arg);
			any = true;

			uint8_t num = (uint8_t)p;
			struct port_setup *retry_port_setup = port_setup(node, num);

			retry_port_setup->errors = retry_port_setup->sets = 0;
			/*
			 * If it hides a key, whether it counted what it did not answer is read
			 * first.
			 */
			retry_port_setup->reread =
				inventory_has_key(node, num) &&
				inventory_key_of(b->inv, node, num) == INV_KEY_HIDDEN;
			setup_retry_at(retry_port_setup,
				       retry_port_setup->given_up
					       ? loop_now_us(b->loop) +
							 bringup_rest_us(retry_port_setup->given_up)
					       : 0);
			if (retry_port_setup->unheld)
				setback_to_write(retry_port_setup)->trial_at_us =
					loop_now_us(b->loop) + TRIAL_US;
			retry_port_setup->settled &= !(retry_port_setup->unheld & INV_SET_INFO);
			bringup_step(b, node, num);
			if (retry_port_setup->unheld & INV_SET_PKEYS)
				pkeys_retry(b, node, num);
			if (retry_port_setup->unheld & INV_SET_LANES)
				lanes_retry(b, node, num);
		}
	if (any)
		batch_wake(b->batch);
	return any;
}

/* ---- What was acknowledged is read ----------------------------------------------------------- */

/*
 * Settings and tables of a few ports at a time. The first difference is written again and read at
 * once, the second one in a row is port_setup.unheld.
 */
bool bringup_read_back(struct bringup *b, unsigned count, bringup_done_fn *fn, void *arg)
{
	bool from_the_first = !b->read_from;
	struct inv_node *node;
	unsigned asked = 0;

	if (b->busy || !b->any_unread)
		return false;
	for (node = inventory_from(b->inv, b->read_from); node && asked < count;
	     node = inventory_next(b->inv, node)) {
		for (unsigned p = 0; p <= node->nports; p++) {
			if (!port_setup(node, p)->unread || !bringup_port_workable(node, p))
				continue;
			if (!asked++)
				bringup_begin(b, fn, arg);
			if (port_setup(node, p)->unread & INV_SET_INFO)
				bringup_reread(b, node, (uint8_t)p);
			if (port_setup(node, p)->unread & INV_SET_PKEYS)
				pkeys_read_back(b, node, (uint8_t)p);
			if (port_setup(node, p)->unread & INV_SET_LANES)
				lanes_read_back(b, node, (uint8_t)p);
		}
		b->read_from = node->guid + 1;
	}
	if (!node)
		b->read_from = 0;
	if (asked)
		batch_wake(b->batch);
	else
		b->any_unread = !from_the_first;
	return asked > 0;
}

bool bringup_has_unread(const struct bringup *b)
{
	return b->any_unread;
}
