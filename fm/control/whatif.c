/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * whatif: a copy of the published snapshot with links down or cordoned, and what the engine makes
 * of it: tables, proof, congestion, and how much of the running tables would change.
 *
 * LIDs, classes and engine are those in force, so the answer is what the fault itself would bring.
 * Hosts may be taken to be in another state of their NVLinks. The nodes are the same in the copy,
 * so indices, LID map and tables agree. Congestion is measured for today's tables too: a figure
 * alone says little. All this takes seconds on a large fabric; a child process has them.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/control/find.h"
#include "fm/fabric/view.h"
#include "fm/nvswitch/module.h"
#include "routing/report/affected.h"
#include "routing/report/report.h"
#include "routing/ftree/route.h"
#include "topology/graph/cutoff.h"
#include "topology/base/mem.h"
#include "topology/graph/risk.h"
#include "topology/snapshot/topo_builder.h"

struct whatif {
	const struct command_env *env;
	const struct topo *present;
	struct topo_builder *builder;
	struct topo *t;
	struct tables tables;
	uint8_t *states; /* of hosts; NULL = those in force */
	bool *storage;	 /* by node; NULL = not configured */
	double route_ms, check_ms;
	struct fabric_tried tried;
	unsigned failed, cordoned; /* links */
	uint8_t *named;		   /* by port, of a link's lower: what was counted */
};

enum { NAMED_FAILED = 1, NAMED_CORDONED = 2 };

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* ---- The copy -------------------------------------------------------------------------------- */

/* A link named twice, or from both its ends, is one. */
static bool is_first(struct whatif *w, const struct topo_port *port, uint8_t how)
{
	uint32_t at = (uint32_t)(port - w->present->ports);

	if (port->peer < at)
		at = port->peer;
	if (w->named[at] & how)
		return false;
	w->named[at] |= how;
	return true;
}

typedef bool change_fn(struct whatif *w, uint32_t node, unsigned num);

static bool fail_link(struct whatif *w, uint32_t node, unsigned num)
{
	const struct topo_port *port = topo_port(w->present, node, num);

	if (port->peer == TOPO_NONE)
		return false;
	w->failed += is_first(w, port, NAMED_FAILED);
	return topo_builder_link_down(w->builder, (int)node, num) == 0;
}

static bool cordon_link(struct whatif *w, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(w->present, topo_port(w->present, node, num));

	if (node >= w->present->nswitches || !peer || peer->node >= w->present->nswitches)
		return false;
	w->cordoned += is_first(w, topo_port(w->present, node, num), NAMED_CORDONED);
	return topo_builder_cordon(w->builder, (int)node, num) == 0;
}

/* One port, or all of a node's or host's. */
static bool change_one(struct whatif *w, const char *what, change_fn *change, char *err)
{
	const uint32_t *nodes;
	unsigned count, changed = 0;
	struct what place;

	if (!command_find_what(w->env, what, WHAT_PLACE, &place, err))
		return false;
	count = what_nodes(w->present, &place, &nodes);
	for (unsigned i = 0; i < count; i++)
		for (unsigned num = 1; num <= w->present->nodes[nodes[i]].nports; num++)
			if (!place.port || num == place.port)
				changed += change(w, nodes[i], num);
	if (!changed)
		snprintf(err, COMMAND_ERROR_SIZE, "%s: there is no such link", what);
	return changed > 0;
}

static bool fail_links(struct whatif *w, const char *what, char *err)
{
	return change_one(w, what, fail_link, err);
}

static bool cordon_links(struct whatif *w, const char *what, char *err)
{
	return change_one(w, what, cordon_link, err);
}

static bool assume_state(struct whatif *w, const char *what, char *err)
{
	return !nvlink_assume(w->env->fabric, what, &w->states, err, COMMAND_ERROR_SIZE);
}

typedef bool take_fn(struct whatif *w, const char *what, char *err);

static bool take_all(struct whatif *w, const json_t *list, take_fn *take, char *err)
{
	const json_t *what;
	size_t i;

	if (list && !json_is_array(list)) {
		snprintf(err, COMMAND_ERROR_SIZE, "arguments: a list of names is expected");
		return false;
	}
	json_array_foreach ((json_t *)list, i, what) {
		if (!json_is_string(what)) {
			snprintf(err, COMMAND_ERROR_SIZE, "arguments: a name must be text");
			return false;
		}
		if (!take(w, json_string_value(what), err))
			return false;
	}
	return true;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static void find_storage(struct whatif *w)
{
	uint8_t *classes = fabric_port_classes(w->env->fabric);

	if (!classes)
		return;
	w->storage = mem_alloc(w->t->nnodes, sizeof(*w->storage));
	for (uint32_t n = 0; n < w->t->nnodes; n++)
		w->storage[n] = classes[w->t->nodes[n].port0] == ROUTE_STORAGE;
	free(classes);
}

static json_t *congestion_of(const struct whatif *w, const struct topo *t,
			     const struct tables *tables)
{
	const struct congestion_scene scene = { t, fabric_view(w->env->fabric).lids, tables,
						w->storage };
	struct congestion congestion;

	congestion_study(&scene, &congestion, NULL);
	return report_congestion(&congestion);
}

static json_t *delta_of(const struct whatif *w)
{
	const struct tables *running = fabric_view(w->env->fabric).tables;
	struct delta delta = { 0 };

	delta_count(running, &w->tables, &delta);
	delta.entries_minimum = delta_minimum(w->t, fabric_view(w->env->fabric).lids,
					      w->tried.engine, running, &w->tables);
	return report_delta(&delta);
}

static json_t *present_of(const struct whatif *w)
{
	struct check_report proof;

	fabric_check(w->env->fabric, &proof);
	return json_pack("{so so}", "proof", report_proof(&proof), "congestion",
			 congestion_of(w, w->present, fabric_view(w->env->fabric).tables));
}

/* How hosts in another state are treated, and who pays for it. */
static void report_states(const struct whatif *w, json_t *doc)
{
	struct fabric *f = w->env->fabric;
	const struct congestion_scene now = { w->present, fabric_view(f).lids,
					      fabric_view(f).tables, w->storage };
	const struct congestion_scene then = { w->t, fabric_view(f).lids, &w->tables, w->storage };
	uint8_t *aside = nvlink_aside(f, w->states);

	json_object_set_new(doc, "nvswitch", nvlink_trial(f, w->t, w->states, &w->tables));
	json_object_set_new(doc, "pays", affected_json(&now, &then, aside));
	free(aside);
}

static json_t *document(struct whatif *w)
{
	struct fabric_policy policy;
	struct check_report proof;
	double start = now_ms();
	json_t *doc;
	bool sound;

	policy = nvlink_policy(w->env->fabric, w->t, w->states);
	fabric_try(w->env->fabric, w->t, &policy, &w->tables, &w->tried);
	fabric_policy_fini(&policy);
	w->route_ms = now_ms() - start;
	start = now_ms();
	sound = check_tables(w->t, fabric_view(w->env->fabric).lids, &w->tables, &proof);
	w->check_ms = now_ms() - start;
	find_storage(w);
	doc = json_pack("{si si si sf sf sb so so so so so}", "links_failed", (int)w->failed,
			"links_cordoned", (int)w->cordoned, "links_down",
			(int)topo_links_down(w->t), "route_ms", w->route_ms, "check_ms",
			w->check_ms, "sound", sound, "proof", report_proof(&proof), "congestion",
			congestion_of(w, w->t, &w->tables), "before", present_of(w), "delta",
			delta_of(w), "at_risk", risk_json(w->t));
	json_object_set_new(doc, "lost", lost_json(w->present, w->t));
	json_object_set_new(doc, "engine", json_string(w->tried.engine));
	if (w->tried.why[0])
		json_object_set_new(doc, "engine_why", json_string(w->tried.why));
	if (w->states)
		report_states(w, doc);
	return doc;
}

static void whatif_fini(struct whatif *w)
{
	topo_builder_free(w->builder);
	topo_unref(w->t);
	tables_fini(&w->tables);
	free(w->states);
	free(w->storage);
	free(w->named);
}

/* {"fail": [WHAT ..], "cordon": [WHAT ..], "nvswitch": ["HOST=STATE" ..]} */
static json_t *whatif_answer(const struct command_env *env, json_t *args, char *err)
{
	struct whatif w = { .env = env, .present = fabric_view(env->fabric).topo };
	json_t *fail = NULL, *cordon = NULL, *nvswitch = NULL, *result = NULL;

	if (!w.present)
		return command_refuse(err, "no topology yet: the first sweep has not finished");
	if (!command_unpack(args, err, "{s?o, s?o, s?o}", "fail", &fail, "cordon", &cordon,
			    "nvswitch", &nvswitch))
		return NULL;
	w.named = mem_alloc(w.present->nports + 1, 1);
	w.builder = topo_builder_from(w.present);
	if (take_all(&w, fail, fail_links, err) && take_all(&w, cordon, cordon_links, err) &&
	    take_all(&w, nvswitch, assume_state, err)) {
		w.t = topo_freeze(w.builder);
		w.builder = NULL;
		result = document(&w);
	}
	whatif_fini(&w);
	return result;
}

const struct command_run whatif_run = { .answer = whatif_answer, .long_answer = true };
