/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counted again when something that it depends on may have changed: what is published, what was
 * acknowledged, the states of ports. Mostly all switches hold what is wanted and all links are
 * Active: then all pairs of the proof are in force, and nothing is counted. Else the pairs are, in
 * slices, from a copy of what switches hold; what is published anew ends that, for it is of others.
 */
#include "fm/inforce/module.h"
#include <stdlib.h>
#include "fm/fabric/view.h"
#include "fm/loop/job.h"
#include "fm/program/program.h"
#include "routing/proof/in_force.h"
#include "topology/base/mem.h"

#define SOON_US	 50000 /* acknowledgements come many at a time */
#define DEST_MAX 64    /* a step of the job */
#define WAITS	 8     /* devices that are named */

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
	struct tables held;
	bool *active;
	/* what was counted last */
	bool known;
	uint64_t pairs; /* in force */
	struct wait waits[WAITS];
	unsigned nwaits; /* named; `others` wait for devices that are not */
	uint64_t others;
};

/* ---- What devices have shown ----------------------------------------------------------------- */

/* By port of the snapshot: that end is Active; then, that both are. True: all known links are. */
static bool read_active(struct inforce *in, const struct topo *t)
{
	const struct inventory *inv = in->services.inventory;
	bool all = true;

	free(in->active);
	in->active = mem_alloc(t->nports + 1, sizeof(bool));
	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct inv_node *node = inventory_find(inv, t->nodes[n].guid);

		for (unsigned p = 1; node && p <= t->nodes[n].nports && p <= node->nports; p++)
			in->active[t->nodes[n].port0 + p] = node->ports[p].state == TOPO_ACTIVE;
	}
	for (uint32_t p = 0; p < t->nports; p++) {
		uint32_t peer = t->ports[p].peer;

		if (peer == TOPO_NONE || peer < p)
			continue;
		in->active[p] = in->active[peer] = in->active[p] && in->active[peer];
		all &= in->active[p] || !t->ports[p].link_up;
	}
	return all;
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

static void drop_count(struct inforce *in)
{
	job_stop(in->job);
	if (in->count)
		in_force_end(in->count, NULL);
	in->count = NULL;
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->pairs != y->pairs)
		return x->pairs < y->pairs ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void take_sum(struct inforce *in, const struct topo *t, const struct in_force *sum)
{
	struct wait *waits = mem_alloc(t->nnodes + 1, sizeof(*waits));
	uint32_t count = 0;

	/* A host whose link is not Active waits for the switch there, where that is the ill one. */
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		for (unsigned p = 1; p <= t->nodes[n].nports && sum->ends[n]; p++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, n, p));
			const struct inv_node *sw = peer ? inventory_find(in->services.inventory,
									  t->nodes[peer->node].guid)
							 : NULL;

			if (!sw || !(sw->silent || inv_node_is(sw, INV_NO_SETS | INV_WRONG_TABLES)))
				continue;
			sum->ends[peer->node] += sum->ends[n];
			sum->ends[n] = 0;
		}
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (sum->ends[n])
			waits[count++] = (struct wait){ t->nodes[n].guid, sum->ends[n] };
	qsort(waits, count, sizeof(*waits), compare_waits);
	in->known = true;
	in->pairs = sum->arrive;
	in->nwaits = count < WAITS ? count : WAITS;
	in->others = 0;
	for (uint32_t i = 0; i < count; i++)
		if (i < WAITS)
			in->waits[i] = waits[i];
		else
			in->others += waits[i].pairs;
	free(waits);
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
	return JOB_END;
}

static void soon_cb(void *room)
{
	static const struct job_step steps[] = { { "pairs-in-force", count_step }, { NULL, NULL } };
	struct inforce *in = room;
	struct fabric_view view = fabric_view(in->fabric);
	bool differs, all;

	drop_count(in);
	if (!view.topo)
		return;
	differs = program_held(in->services.program, view.topo, view.tables, &in->held);
	all = read_active(in, view.topo);
	if (!differs && all) {
		in->known = true;
		in->pairs = view.proof->reachable;
		in->nwaits = 0;
		in->others = 0;
		return;
	}
	in->count =
		in_force_begin(&(struct in_force_view){ .topo = view.topo,
							.lids = view.lids,
							.held = differs ? &in->held : view.tables,
							.active = in->active });
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
	if (step != FABRIC_PUBLISHED && step != FABRIC_SHOWN)
		return;
	drop_count(room);
	count_soon(room);
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

static void status(const void *room, json_t *doc)
{
	const struct inforce *in = room;
	struct fabric_view view = fabric_view(in->fabric);
	json_t *waits = json_array();

	for (unsigned i = 0; view.topo && in->known && i < in->nwaits; i++) {
		const struct wait *wait = &in->waits[i];
		uint32_t node = topo_find(view.topo, wait->node);

		json_array_append_new(
			waits,
			json_pack("{so ss sI ss}", "node",
				  json_sprintf("0x%016llx", (unsigned long long)wait->node),
				  "node_name",
				  node == TOPO_NONE ? "gone" : view.topo->nodes[node].name, "pairs",
				  (json_int_t)wait->pairs, "why", why_of(in, wait->node)));
	}
	json_object_set_new(
		doc, "in_force",
		json_pack("{so so so sI}", "wanted",
			  view.topo ? json_integer((json_int_t)view.proof->reachable) : json_null(),
			  "pairs",
			  view.topo && in->known ? json_integer((json_int_t)in->pairs)
						 : json_null(),
			  "waits", waits, "others", (json_int_t)in->others));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct inforce *in = mem_alloc(1, sizeof(*in));

	in->fabric = fabric;
	in->services = fabric_services(fabric);
	in->soon = loop_timer_new(in->services.loop, soon_cb, in);
	in->job = job_new(in->services.loop, in);
	return in;
}

static void fini(void *room)
{
	struct inforce *in = room;

	drop_count(in);
	job_free(in->job);
	loop_timer_free(in->soon);
	tables_fini(&in->held);
	free(in->active);
	free(in);
}

const struct fabric_module inforce_module = { .name = "inforce",
					      .init = init,
					      .fini = fini,
					      .published = published,
					      .programmed = programmed,
					      .settled = settled,
					      .status = status };
