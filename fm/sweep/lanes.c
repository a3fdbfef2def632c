/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lanes: SL2VL and VL arbitration tables (IBA 14.2.5.8, 14.2.5.9), where QoS is configured. Port by
 * port, a table at a time: read, and set if it differs. A port begins once it is Armed, for what it
 * should hold depends on its OperationalVLs, and again when those change. A table that a
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
#include <string.h>
#include "fm/sweep/bringup_priv.h"

#define STEPS	   (INV_SL2VL + 1)
#define ALL_IN	   0x20000u /* SL2VL's modifier */
#define ALL_IN_OUT 0x30000u

struct lanes_switch {
	uint8_t vls;	   /* lanes that all ports' SL2VL was written for; 0 = not yet */
	uint8_t port;	   /* the port for which that is on its way; 0 = none */
	bool no_wildcards; /* refused that once */
};
_Static_assert(sizeof(struct lanes_switch) == LANES_BYTES, "");

static struct lanes_switch *of_switch(const struct inv_node *node)
{
	return inv_node_cell(node, INV_LANES, sizeof(struct lanes_switch));
}

static const struct qos_tables *tables_for(const struct bringup *b, const struct inv_node *node,
					   unsigned num)
{
	return &b->conf.qos.kind[inv_qos_kind(node->info.type, num)];
}

static bool takes_wildcards(const struct inv_node *node)
{
	return inv_is_switch(node) && node->sw.opt_sl2vl & 1 && !of_switch(node)->no_wildcards;
}

static bool is_due(const struct bringup *b, const struct inv_node *node, unsigned num)
{
	const struct port_setup *setup = port_setup(node, num);

	if (!b->conf.qos.on || setup->qos.job || setup->qos.failed || setup->qos.step >= STEPS)
		return false;
	if (num == 0 ? !(node->sw.flags & INV_ENHANCED_PORT0) : node->ports[num].state < TOPO_ARMED)
		return false;
	return bringup_port_workable(node, num);
}

/* ---- The table that is due ------------------------------------------------------------------- */

static void advance(struct inv_qos *qos, bool held)
{
	if (held)
		qos->held |= 1u << qos->step;
	qos->step++;
	qos->in = 0;
	qos->differs = false;
}

static bool arb_step(const struct bringup *b, const struct inv_node *node, unsigned num,
		     const struct inv_qos *qos, struct port_table *table)
{
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);

	unsigned entries = qos_arb_entries(qos->step, info.arb_low_cap, info.arb_high_cap);

	if (info.vl_cap <= 1 || !entries)
		return false;
	table->method = qos->differs && !qos->reading ? WIRE_SET : WIRE_GET;
	table->attr_id = WIRE_VL_ARB;
	table->modifier = (qos->step + 1u) << 16 | (inv_is_switch(node) ? num : 0);
	table->entries = entries;
	table->bits = 16;
	table->mask = 0x0fff; /* the VL has four bits, its weight eight */
	table->change = (struct inv_change){ .attribute = "VLArbitrationTable",
					     .field = qos->step < 2 ? "LowPriorityVLWeight"
								    : "HighPriorityVLWeight",
					     .at = qos->step % 2 * 32 };
	qos_arb(tables_for(b, node, num), qos->step, entries, qos->vls, table->want);
	return true;
}

/*
 * The first port with lanes stands for all of the switch; the others wait for that; port 0's tables
 * are written after it.
 */
static bool wildcard_step(const struct inv_node *node, unsigned num, struct port_table *table)
{
	const struct inv_qos *qos = &port_setup(node, num)->qos;

	if (qos->written == qos->vls)
		return false;
	table->method = WIRE_SET;
	table->modifier = ALL_IN | num;
	if (!of_switch(node)->vls) {
		table->method = num && !of_switch(node)->port ? WIRE_SET : 0;
		table->modifier = ALL_IN_OUT;
	}
	return true;
}

static bool sl2vl_step(const struct bringup *b, const struct inv_node *node, unsigned num,
		       const struct inv_qos *qos, struct port_table *table)
{
	/* The capability mask of a switch is that of its port 0. */
	if (!(node->ports[inv_is_switch(node) ? 0 : num].capmask & WIRE_CAP_SL_MAP))
		return false;
	table->attr_id = WIRE_SL2VL;
	table->entries = QOS_SLS;
	table->bits = 4;
	table->mask = 0xf;
	table->change = (struct inv_change){ .attribute = "SLtoVLMappingTable", .field = "SL" };
	qos_sl2vl(tables_for(b, node, num), qos->vls, table->want);
	if (qos->reading) { /* one input port stands for all */
		table->method = WIRE_GET;
		table->modifier =
			inv_is_switch(node) ? ((num + qos->in) % node->nports + 1) << 8 | num : 0;
		return true;
	}
	if (takes_wildcards(node))
		return wildcard_step(node, num, table);
	table->method = qos->differs ? WIRE_SET : WIRE_GET;
	table->modifier = inv_is_switch(node) ? (uint32_t)qos->in << 8 | num : 0;
	return true;
}

static void step_find(const struct bringup *b, struct inv_node *node, unsigned num,
		      struct port_table *table)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;

	*table = (struct port_table){ .method = 0 };
	while (qos->step < STEPS) {
		if (qos->step < INV_SL2VL ? arb_step(b, node, num, qos, table)
					  : sl2vl_step(b, node, num, qos, table))
			return;
		advance(qos, qos->step == INV_SL2VL && qos->written && qos->written == qos->vls);
	}
}

bool lanes_held(const struct bringup *b, const struct inv_node *node, uint8_t num, unsigned step,
		unsigned in, struct port_table *table)
{
	const struct port_setup *setup = port_setup(node, num);
	struct inv_qos qos = setup->qos;

	if (!b->conf.qos.on || qos.job || qos.failed || qos.step < STEPS || step >= STEPS ||
	    !(qos.held >> step & 1) || (setup->unheld & ~setup->unread & INV_SET_LANES))
		return false;
	qos.step = step & 0xf;
	qos.in = in;
	qos.reading = true;
	return step < INV_SL2VL ? arb_step(b, node, num, &qos, table)
				: sl2vl_step(b, node, num, &qos, table);
}

/* The Set that is for all ports of a switch. */
static bool is_wildcard(const struct port_table *table)
{
	return table->attr_id == WIRE_SL2VL && table->modifier == ALL_IN_OUT;
}

void lanes_step(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;
	struct wire_port_info info;
	uint8_t vls, most = tables_for(b, node, num)->max_vls;

	if (!b->conf.qos.on || qos->job)
		return;
	wire_port_info_decode(node->ports[num].info, &info);
	/* Lanes that another changed are given back: nothing is for those. */
	if (setback_of(port_setup(node, num))->mtu)
		info.op_vls = setback_of(port_setup(node, num))->vls;
	vls = qos_vls(info.op_vls);
	vls = vls < most ? vls : most;
	if (qos->vls != vls)
		*qos = (struct inv_qos){ .vls = vls,
					 .written = qos->written,
					 .wrote = qos->wrote,
					 .failed = qos->failed };
	if (is_due(b, node, num))
		bringup_ask(b, node, num, JOB_LANES, false);
}

void lanes_lost(struct port_setup *setup, bool sl2vl, bool failed)
{
	setup->qos = (struct inv_qos){ .vls = setup->qos.vls,
				       .written = sl2vl ? 0 : setup->qos.written,
				       .step = failed ? STEPS : 0 };
}

void lanes_retry(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;

	if (qos->job)
		return;
	*qos = (struct inv_qos){ .vls = qos->vls };
	lanes_step(b, node, num);
}

/* All tables of the port are done: what was written is to be read. */
static void round_ends(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct port_setup *setup = port_setup(node, num);
	struct inv_qos *qos = &setup->qos;

	if (qos->step < STEPS || qos->job)
		return;
	if (qos->wrote) {
		qos->wrote = false;
		setup->unread |= INV_SET_LANES;
		b->any_unread = true;
		setup->at_once |= setup->doubted & INV_SET_LANES;
	} else if (setup->unheld & INV_SET_LANES && qos->held) {
		b->result.cured++; /* by itself */
		setup_was_read(setup, INV_SET_LANES, true);
	}
}

bool lanes_make(struct bringup *b, const struct batch_job *job, struct batch_request *request)
{
	struct inv_node *node = job->object;
	uint8_t num = job->arg;
	struct inv_qos *qos = &port_setup(node, num)->qos;
	struct port_table table;

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

bool port_table_differs(const struct port_table *table, const uint8_t *data,
			struct inv_change *change)
{
	*change = table->change;
	return inventory_entry_differs(change, data, table->want, table->entries, table->bits,
				       table->mask);
}

static void log_rejected(struct bringup *b, const struct inv_node *node, unsigned num,
			 const struct port_table *table, const char *what)
{
	if (log_allow(&b->lanes_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: its %s table %s",
			 inventory_name(node, num).text,
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
		       const struct port_table *table)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;

	qos->differs = false;
	if (table->attr_id == WIRE_SL2VL && takes_wildcards(node)) {
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
			   struct port_table *table, uint8_t was, const struct mad_answer *answer)
{
	struct inv_qos *qos = &port_setup(node, num)->qos;
	struct inv_change change;

	if (answer->result == MAD_OK && !port_table_differs(table, answer->data, &change)) {
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

/*
 * What was asked is what is due still: a port's record changes by its answers alone, and by
 * lanes_forget().
 */
void lanes_answered(struct bringup *b, const struct batch_job *job, const struct mad_answer *answer)
{
	struct inv_node *node = job->object;
	uint8_t num = job->arg, was = port_setup(node, num)->qos.job;
	struct port_table table;

	if (!was)
		return; /* not wanted any more */
	lanes_withdrawn(node, num);
	step_find(b, node, num, &table);
	if (table.method == was)
		table_answered(b, node, num, &table, was, answer);
	if (!is_wildcard(&table))
		lanes_step(b, node, num);
	for (unsigned p = 0; is_wildcard(&table) && p <= node->nports; p++)
		lanes_step(b, node, p);
	round_ends(b, node, num);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void lanes_withdrawn(struct inv_node *node, uint8_t num)
{
	port_setup(node, num)->qos.job = 0;
	if (of_switch(node)->port == num)
		of_switch(node)->port = 0;
}

void lanes_new_life(struct inv_node *node)
{
	of_switch(node)->vls = 0;
}

void lanes_forget(struct inv_node *node)
{
	*of_switch(node) = (struct lanes_switch){ 0 };
	for (unsigned p = 0; p <= node->nports; p++)
		port_setup(node, p)->qos = (struct inv_qos){ 0 };
}
