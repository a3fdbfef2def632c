/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/view.h"
#include "fm/maintenance/maintenance.h"
#include "routing/report/congestion.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/*
 * A LID to which hosts' packets cross a cordon, 0 = none do. Of a switch as a whole (port 0) only
 * what comes into it is transit; of a link, both directions.
 */
static uint16_t crossed(const struct link_use_scene *s, uint32_t node, uint8_t port)
{
	const struct topo *t = s->topo;
	unsigned last = port ? port : t->nodes[node].nports;
	uint16_t lid = 0;

	for (unsigned num = port ?: 1; !lid && num <= last; num++) {
		const struct topo_port *near = topo_port(t, node, num), *far = topo_peer(t, near);

		if (!far || far->node >= t->nswitches || !near->link_up)
			continue;
		lid = link_use_any(s, far, port ? TOPO_NONE : node);
		if (!lid && port)
			lid = link_use_any(s, near, TOPO_NONE);
	}
	return lid;
}

/*
 * A new list, which the caller owns, of {"what", "why"} for each such cordon by the published
 * tables; empty if there is none. Takes one pass over the tables if there may be any.
 */
static json_t *transit_overridden(const struct fabric_view *view, const struct cordon_list *cordons)
{
	const struct topo *t = view->topo;
	const struct link_use_scene scene = { t, view->lids, view->tables };
	json_t *rows = json_array();

	if (!t || !cordons->count || !view->cordons_overridden)
		return rows;

	for (unsigned i = 0; i < cordons->count; i++) {
		uint32_t node = topo_find(t, cordons->list[i].node);
		uint8_t port = cordons->list[i].port;
		uint16_t lid = node < t->nswitches ? crossed(&scene, node, port) : 0;

		if (lid) {
			const char *host = fabric_view_name_of_lid(view, lid);
			const char *sw = t->nodes[node].name;
			char name[160], why[200];

			if (port)
				array_printf(name, "%s p%u", sw, port);
			else
				array_printf(name, "%s", sw);
			array_printf(why, "some hosts have no other path to %s", host);
			json_array_append_new(rows,
					      json_pack("{ss* ss*}", "what", name, "why", why));
		}
	}
	return rows;
}

/*
 * change: what cordon, uncordon and release have in common: an operation (fm/fabric/operation.h),
 * its answer and its event.
 */

/* By kind: in the answer's text, and the kind of the event. */
static const char *const verbs[] = { [CHANGE_CORDON] = "cordoned",
				     [CHANGE_UNCORDON] = "uncordoned",
				     [CHANGE_RELEASE] = "released" };

static json_t *result(void *data)
{
	const struct change *change = data;
	const struct maintenance *m = change->room;
	const struct fabric_view view = fabric_view(m->fabric);
	const struct fabric_written written = fabric_written(m->fabric);
	bool changed = change->cordons.count || change->released.count;

	return json_pack("{ss sb si sI sI sf sI so ss*}", "what", change->what,
			 change->kind == CHANGE_RELEASE ? "released" : "cordoned",
			 change->kind != CHANGE_UNCORDON, "ports", change->links,
			 "lft_entries_changed", (json_int_t)(changed ? written.entries : 0),
			 "lft_blocks_written", (json_int_t)(written.blocks - change->blocks_before),
			 "took_ms", (loop_now_us(m->services.loop) - change->asked_us) / 1e3,
			 "unreachable", (json_int_t)(view.proof ? view.proof->unreachable : 0),
			 "not_honoured", transit_overridden(&view, &m->cordons.in_force), "note",
			 change->note);
}

static void reported(void *data, json_t *result, const char *error)
{
	const struct change *change = data;
	const struct fabric_services *services = &change->room->services;
	const struct event_subject subject =
		inventory_link_subject(services->inventory, change->node, change->port);

	if (change->note)
		return;
	if (error)
		event_log_add(services->events, LOG_WARNING, verbs[change->kind], &subject, NULL,
			      "%s: %s, but not applied: %s", change->what, verbs[change->kind],
			      error);
	else {
		json_int_t entries =
			json_integer_value(json_object_get(result, "lft_entries_changed"));
		json_int_t blocks =
			json_integer_value(json_object_get(result, "lft_blocks_written"));
		const char *unsaved = json_string_value(json_object_get(result, "not_saved"));
		unsigned overridden = json_array_size(json_object_get(result, "not_honoured"));

		if (overridden)
			event_log_add(services->events, LOG_WARNING, "cordons-bent", NULL, NULL,
				      "fabric: %u %s transit traffic although cordoned: some hosts "
				      "have no "
				      "other path",
				      overridden,
				      words_plural(overridden, "switch or link carries",
						   "switches or links carry"));
		event_log_add(services->events, LOG_NOTICE, verbs[change->kind], &subject,
			      json_incref(result), "%s: %s, %u %s: %lld %s in %lld %s, %.1f ms%s%s",
			      change->what, verbs[change->kind], change->links,
			      words_plural(change->links, "link", "links"), entries,
			      words_plural(entries, "entry", "entries"), blocks,
			      words_plural(blocks, "block", "blocks"),
			      json_real_value(json_object_get(result, "took_ms")),
			      unsaved ? ", but " : "", unsaved ? unsaved : "");
	}
}

static void rollback(void *data)
{
	const struct change *change = data;
	struct maintenance *m = change->room;

	if (change->kind == CHANGE_RELEASE)
		quarantines_restore(&m->quarantines, &change->released);
	else
		cordons_change(&m->cordons, &change->cordons, change->kind == CHANGE_UNCORDON);
}

void change_start(struct change *change, const char *note, waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = {
		.keeps = true,
		.rollback = rollback,
		.result = result,
		.reported = reported,
		.free = change_free,
	};

	change->note = note;
	(note ? fabric_operation_done : fabric_operation_start)(change->room->fabric, &ops, change,
								fn, arg);
}

struct change *change_new(struct maintenance *m, const struct target *target, enum change_kind kind)
{
	struct change *change = mem_new(change);

	*change = (struct change){ .room = m,
				   .kind = kind,
				   .node = target->guid,
				   .port = target->port,
				   .asked_us = loop_now_us(m->services.loop),
				   .blocks_before = fabric_written(m->fabric).blocks };
	array_printf(change->what, "%s", target->name);
	return change;
}

void change_free(void *arg)
{
	struct change *change = arg;

	free(change->cordons.list);
	free(change->released.list);
	free(change);
}
