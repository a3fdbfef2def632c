/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counted again when something that it depends on may have changed: what is published, what was
 * acknowledged, the states of ports. What devices have shown is noted in slices, and what a path
 * needs of that at once where the SA asks. Mostly all switches hold what is wanted, and no entry
 * leads into a link that is not Active: then all pairs of the proof are in force, and nothing is
 * counted. Else the pairs are, in slices, from a copy of what switches hold; what is published
 * anew ends that, for it is of others.
 */
#include "fm/inforce/module.h"
#include <inttypes.h>
#include "fm/loop/job.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "routing/proof/in_force.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/graph/cutoff.h"

#define SOON_US	 50000	/* acknowledgements come many at a time */
#define WRITE_US 200000 /* within that what a fault changes is mostly written: it is not counted */
#define DEST_MAX 64	/* a step of the job */
#define SHOW_MAX 64	/* nodes, likewise */
#define WAITS	 8	/* devices that are named */

#define SILENCE_US 1000000 /* a path that is being put into force is not answered for so long */

struct wait {
	guid_t node;
	uint64_t pairs;
};

struct inforce {
	struct fabric *fabric;
	struct fabric_services services;
	struct loop_timer *soon;
	struct job *job;
	struct in_force_job *count; /* NULL: nothing is being counted */
	/* what devices have shown, of the published snapshot */
	bool looked; /* else it is of an earlier one */
	uint64_t published_us;
	bool whole;		   /* all that is wanted is in force */
	struct in_force_view seen; /* its `held` is what is wanted */
	uint32_t next;		   /* the node that is due to be shown */
	uint64_t written;	   /* blocks, when the first was */
	bool *active;		   /* of port 0: the node is shown */
	const uint8_t **rows;
	bool differs;		   /* some row is not as wanted */
	struct tables held;	   /* those rows */
	struct log_limit answered; /* that there is no path */
	/* what was counted last */
	bool known;
	uint32_t cut_off; /* HCAs that nothing reaches, and that are not seen off */
	uint64_t pairs;	  /* in force */
	struct wait waits[WAITS];
	unsigned nwaits; /* named; `others` wait for devices that are not */
	uint64_t others;
};

/* ---- What devices have shown ----------------------------------------------------------------- */

/*
 * A switch most of whose links to others are in Init at their far ends, or Armed, while it was
 * Active when it was last heard: it has booted, so it has no tables, and its answers are past. Not
 * all, for a neighbour may be as it is.
 */
static bool has_booted(const struct inv_node *node)
{
	int past = 0;

	for (unsigned p = 1; inv_is_switch(node) && p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p], *far;

		if (!port->peer || !inv_is_switch(port->peer) || port->state != TOPO_ACTIVE)
			continue;
		far = &port->peer->ports[port->peer_port];
		past += far->state == TOPO_ACTIVE ? -1 : far->link_up;
	}
	return past > 0;
}

/* Notes what the node holds, and which of its ports are Active; once a look. */
static void show(void *room, uint32_t n)
{
	struct inforce *in = room;
	const struct topo *t = in->seen.topo;
	const struct inv_node *node = inventory_find(in->services.inventory, t->nodes[n].guid);

	bool *active = in->active + t->nodes[n].port0;

	if (*active)
		return;
	*active = true;
	if (node && !has_booted(node))
		for (unsigned p = 1; p <= t->nodes[n].nports && p <= node->nports; p++)
			active[p] = node->ports[p].state == TOPO_ACTIVE;
	if (n >= t->nswitches)
		return;

	bool differs = program_held(in->services.program, t, in->seen.held, n, &in->held);

	in->rows[n] = tables_row(differs ? &in->held : in->seen.held, n);
	in->differs |= differs;
}

/* The view is of what is published, nodes are shown as they are used. NULL: nothing is. */
static const struct in_force_view *look(struct inforce *in)
{
	const struct fabric_view view = fabric_view(in->fabric);
	const struct topo *t = view.topo;

	if (!t || in->looked)
		return t ? &in->seen : NULL;
	free(in->active);
	free(in->rows);
	in->active = mem_array(in->active, t->nports + 1);
	in->rows = mem_array(in->rows, t->nswitches + 1);
	in->seen = (struct in_force_view){ .topo = t,
					   .lids = view.lids,
					   .held = view.tables,
					   .active = in->active,
					   .rows = in->rows,
					   .show = show,
					   .arg = in };
	tables_resize(&in->held, t->nswitches, view.tables->top);
	in->looked = true;
	in->whole = in->differs = false;
	in->next = 0;
	in->written = program_blocks_written(in->services.program);
	return &in->seen;
}

/* A wanted entry leads into a link that is not Active; a link that nothing leads into may be so. */
static bool leads_into_dark(const struct inforce *in)
{
	const struct topo *t = in->seen.topo;

	return any_of(p, 0, t->nports,
		      t->ports[p].link_up && t->ports[p].node < t->nswitches &&
			      !in_force_carries(&in->seen, p) &&
			      memchr(in->rows[t->ports[p].node] + 1,
				     (int)(p - t->nodes[t->ports[p].node].port0),
				     in->seen.held->top));
}

static const char *why_of(const struct inforce *in, guid_t guid)
{
	const struct inv_node *node = inventory_find(in->services.inventory, guid);

	if (!node || node->gone)
		return "is not there";
	if (node->silent)
		return "does not answer";
	if (!inv_is_switch(node))
		return "its link is not Active";
	if (inv_node_is(node, INV_NO_SETS))
		return "takes no Sets";
	if (inv_node_is(node, INV_WRONG_TABLES))
		return "does not hold what it acknowledges";
	return fabric_programming(in->fabric) ? "is being written"
					      : "leads into a link that is not Active";
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void drop_look(struct inforce *in)
{
	in->looked = false;
	job_stop(in->job);
	if (in->count)
		in_force_end(in->count, NULL);
	in->count = NULL;
}

/* Those that most pairs wait for are named. */
static void name_wait(struct inforce *in, guid_t node, uint64_t pairs)
{
	unsigned at = in->nwaits;

	while (at && (in->waits[at - 1].pairs < pairs ||
		      (in->waits[at - 1].pairs == pairs && in->waits[at - 1].node > node)))
		at--;
	if (in->nwaits == WAITS)
		in->others += at == WAITS ? pairs : in->waits[WAITS - 1].pairs;
	else
		in->nwaits++;
	if (at == WAITS)
		return;
	memmove(in->waits + at + 1, in->waits + at, (in->nwaits - 1 - at) * sizeof(*in->waits));
	in->waits[at] = (struct wait){ node, pairs };
}

/* Since when packets end at the device, as a count has found; 0 = they do not. */
static uint64_t *waited_since(struct inv_node *node)
{
	return inv_node_cell(node, INV_WAITED, sizeof(uint64_t));
}

/* A host whose link is not Active waits for the switch there, if that is ill or has booted. */
static uint32_t blamed(const struct inforce *in, const struct topo *t, uint32_t n)
{
	if (n < t->nswitches)
		return n;
	TOPO_LINKS (t, n, port, peer) {
		const struct inv_node *sw =
			inventory_find(in->services.inventory, t->nodes[peer->node].guid);

		if (sw && (sw->silent || inv_node_is(sw, INV_NO_SETS | INV_WRONG_TABLES) ||
			   has_booted(sw)))
			return peer->node;
	}
	return n;
}

static void take_sum(struct inforce *in, const struct topo *t, const struct in_force *sum)
{
	const struct inventory *inv = in->services.inventory;
	uint8_t *fates = cutoff_fates(t, fabric_own_node(in->fabric));

	in->known = true;
	in->pairs = sum->arrive;
	in->cut_off = in->nwaits = 0;
	in->others = 0;
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		const uint64_t pairs = sum->ends[n];
		const uint32_t at = pairs ? blamed(in, t, n) : n;

		in->cut_off += fates[n] == CUTOFF_CUT_OFF ||
			       (fates[n] == CUTOFF_REACHED && sum->cut_off[n]);
		sum->ends[n] = 0;
		sum->ends[at] += pairs;
	}
	free(fates);
	for (uint32_t n = 0; n < t->nnodes; n++) {
		struct inv_node *node = inventory_find(inv, t->nodes[n].guid);

		if (sum->ends[n])
			name_wait(in, t->nodes[n].guid, sum->ends[n]);
		if (node && !sum->ends[n])
			*waited_since(node) = 0;
		else if (node && !*waited_since(node))
			*waited_since(node) = loop_now_us(in->services.loop);
	}
}

static enum job_result count_step(void *room)
{
	struct inforce *in = room;
	struct in_force sum;

	if (in_force_go(in->count, DEST_MAX))
		return JOB_MORE;
	in_force_end(in->count, &sum);
	in->count = NULL;
	take_sum(in, fabric_view(in->fabric).topo, &sum);
	free(sum.ends);
	free(sum.cut_off);
	return JOB_END;
}

static enum sa_gate gate(void *room, uint32_t from, uint16_t lid);

/* All is shown. Figures are of one time: none are taken while blocks are acknowledged. */
static enum job_result judge(struct inforce *in)
{
	struct inventory *inv = in->services.inventory;
	const struct check_report *proof = fabric_view(in->fabric).proof;

	if (in->written != program_blocks_written(in->services.program)) {
		loop_timer_set(in->soon, WRITE_US);
		return JOB_END;
	}
	in->whole = !in->differs && (!inv->ndark || !leads_into_dark(in));
	sa_use_gate(in->services.sa, in->whole ? NULL : gate, in);
	if (!in->whole) {
		struct in_force_view seen = in->seen;

		seen.show = NULL;
		in->count = in_force_begin(&seen);
		return JOB_NEXT;
	}
	for (struct inv_node *n = in->pairs == proof->reachable ? NULL : inventory_first(inv); n;
	     n = inventory_next(inv, n))
		*waited_since(n) = 0;
	in->known = true;
	in->pairs = proof->reachable;
	in->nwaits = in->cut_off = 0;
	in->others = 0;
	return JOB_END;
}

/* Hosts only where something is not as wanted. */
static enum job_result show_step(void *room)
{
	struct inforce *in = room;
	const struct in_force_view *seen = look(in);

	for (unsigned i = 0; seen && i < SHOW_MAX; i++) {
		if (in->next == (in->differs || in->services.inventory->ndark
					 ? seen->topo->nnodes
					 : seen->topo->nswitches))
			return judge(in);
		show(in, in->next++);
	}
	return seen ? JOB_MORE : JOB_END;
}

static void soon_cb(void *room)
{
	static const struct job_step steps[] = { { "tables-shown", show_step },
						 { "pairs-in-force", count_step },
						 { NULL, NULL } };
	struct inforce *in = room;

	drop_look(in);
	if (fabric_programming(in->fabric) &&
	    loop_now_us(in->services.loop) - in->published_us < WRITE_US)
		loop_timer_set(in->soon, SOON_US);
	else
		job_start(in->job, steps, NULL);
}

static void count_soon(struct inforce *in)
{
	if (!loop_timer_armed(in->soon))
		loop_timer_set(in->soon, SOON_US);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct inforce *in = room;

	if (step != FABRIC_PUBLISHED && step != FABRIC_SHOWN)
		return;
	drop_look(in);
	in->published_us = loop_now_us(in->services.loop);
	sa_use_gate(in->services.sa, gate, in);
	count_soon(in);
}

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	count_soon(room);
}

static void settled(void *room, enum fabric_settle_step step)
{
	if (step == FABRIC_REVIEWED)
		count_soon(room);
}

static json_t *wait_json(const struct inforce *in, const struct topo *t, guid_t guid)
{
	uint32_t node = topo_find(t, guid);

	return json_pack("{ss so ss}", "node", node == TOPO_NONE ? "gone" : t->nodes[node].name,
			 "guid", json_guid(guid), "why", why_of(in, guid));
}

json_t *inforce_json(const struct fabric *fabric)
{
	const struct inforce *in = fabric_room(fabric, &inforce_module);
	struct fabric_view view = fabric_view(fabric);
	json_t *waits = json_array();

	if (!view.topo || !in->known)
		return json_pack("{sn sn sn so sI}", "pairs_wanted", "pairs_in_force",
				 "pairs_waiting", "waits", waits, "others", (json_int_t)0);
	for (unsigned i = 0; i < in->nwaits; i++) {
		json_t *row = wait_json(in, view.topo, in->waits[i].node);

		json_object_set_new(row, "pairs", json_integer(in->waits[i].pairs));
		json_array_append_new(waits, row);
	}
	return json_pack("{sI sI sI so sI}", "pairs_wanted", (json_int_t)view.proof->reachable,
			 "pairs_in_force", (json_int_t)in->pairs, "pairs_waiting",
			 (json_int_t)(view.proof->reachable > in->pairs
					      ? view.proof->reachable - in->pairs
					      : 0),
			 "waits", waits, "others", (json_int_t)in->others);
}

static void status(const void *room, json_t *doc)
{
	const struct inforce *in = room;
	/* NULL: nothing waits, or it was forgotten since it was counted. */
	const struct inv_node *worst =
		in->nwaits ? inventory_find(in->services.inventory, in->waits->node) : NULL;

	json_object_set_new(doc, "in_force", inforce_json(in->fabric));
	if (!worst || in->cut_off <= json_number(doc, "hcas_cut_off"))
		return;
	json_object_set_new(doc, "hcas_cut_off", json_integer(in->cut_off));
	json_object_set_new(doc, "cut_off",
			    json_sprintf("%u %s cut off: %s %s", in->cut_off,
					 words_plural(in->cut_off, "HCA", "HCAs"), worst->name,
					 why_of(in, worst->guid)));
}

/* ---- For others ------------------------------------------------------------------------------ */

const struct tables *inforce_tables(struct fabric *fabric)
{
	struct inforce *in = fabric_room(fabric, &inforce_module);
	const struct in_force_view *seen = look(in);

	for (uint32_t n = 0; seen && !in->whole && n < seen->topo->nswitches; n++)
		show(in, n);
	if (!seen || !in->differs)
		return fabric_view(fabric).tables;
	for (uint32_t n = 0; n < seen->topo->nswitches; n++) {
		uint8_t *row = tables_row(&in->held, n);

		if (in->rows[n] != row)
			memcpy(row, in->rows[n], in->held.stride);
		in->rows[n] = row;
	}
	return &in->held;
}

/* By node; TOPO_NONE: packets from that port to the LID arrive, as far as devices have shown. */
static uint32_t waits_for(struct inforce *in, uint32_t from, uint16_t lid)
{
	const struct in_force_view *seen = look(in);
	uint32_t end = seen && !in->whole ? in_force_end_of(seen, from, lid) : TOPO_NONE;

	return end == TOPO_NONE ? end : blamed(in, seen->topo, end);
}

json_t *inforce_waits_json(struct fabric *fabric, uint32_t from, uint16_t lid)
{
	struct inforce *in = fabric_room(fabric, &inforce_module);
	uint32_t end = waits_for(in, from, lid);
	const struct topo *t = in->seen.topo;

	return end == TOPO_NONE ? NULL : wait_json(in, t, t->nodes[end].guid);
}

/*
 * For the SA. A path that is being put into force is left unanswered for a second: clients ask
 * again by themselves, and take any status for the last word. Later there is no such path.
 */
static enum sa_gate gate(void *room, uint32_t from, uint16_t lid)
{
	struct inforce *in = room;
	struct fabric_view view = fabric_view(in->fabric);
	uint64_t now = loop_now_us(in->services.loop);
	uint32_t end = waits_for(in, from, lid);

	if (end == TOPO_NONE)
		return SA_GATE_OPEN;

	struct inv_node *node = inventory_find(in->services.inventory, view.topo->nodes[end].guid);

	if (!node || !*waited_since(node) || now - *waited_since(node) < SILENCE_US)
		return SA_GATE_SOON;
	if (log_allow(&in->answered, now, 1))
		log_line(LOG_SA, LOG_WARNING,
			 "lid %u: answered that there is no path to lid %u: %s %s",
			 view.lids->lid_of_port[from], lid, node->name, why_of(in, node->guid));
	return SA_GATE_SHUT;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct inforce *in = ROOM_NEW(in, fabric);

	in->soon = loop_timer_new(in->services.loop, soon_cb, in);
	in->job = job_new(in->services.loop, in);
	inventory_open_column(in->services.inventory, INV_WAITED, sizeof(uint64_t), NULL);
	sa_use_gate(in->services.sa, gate, in);
	return in;
}

static void fini(void *room)
{
	struct inforce *in = room;

	sa_use_gate(in->services.sa, NULL, NULL);
	drop_look(in);
	job_free(in->job);
	loop_timer_free(in->soon);
	tables_fini(&in->held);
	free(in->active);
	free(in->rows);
	free(in);
}

const struct fabric_module inforce_module = { .name = "inforce",
					      .init = init,
					      .fini = fini,
					      .published = published,
					      .programmed = programmed,
					      .settled = settled,
					      .status = status };
