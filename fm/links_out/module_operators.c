/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* operators: commands that take links out of routing, bring them back, or forget them. */
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "fm/links_out/rules.h"
#include "routing/report/congestion.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/graph/cutoff.h"

/* ---- What a command names -------------------------------------------------------------------- */

static const struct topo_port *target_far_end(const struct topo *t, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, num));

	return node < t->nswitches && peer && peer->node < t->nswitches ? peer : NULL;
}

static unsigned target_count_links(const struct topo *t, const struct target *target)
{
	unsigned count = 0;

	if (target->node == TOPO_NONE)
		return 0;
	for (unsigned num = 1; num <= t->nodes[target->node].nports; num++)
		if ((!target->port || num == target->port) && target_far_end(t, target->node, num))
			count++;
	return count;
}

/* ---- Cordons that carry transit -------------------------------------------------------------- */

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
static json_t *transit_overridden(const struct fabric_view *view, const struct links_out *table)
{
	const struct topo *t = view->topo;
	const struct link_use_scene scene = { t, view->lids, view->tables };
	json_t *rows = json_array();

	if (!t || !view->cordons_overridden)
		return rows;
	OUT_ROWS (table, it) {
		uint32_t node = it->cause == OUT_CORDON ? topo_find(t, it->node) : TOPO_NONE;
		uint16_t lid = node < t->nswitches ? crossed(&scene, node, it->port) : 0;
		char name[160], why[200];

		if (!lid)
			continue;
		if (it->port)
			array_printf(name, "%s p%u", t->nodes[node].name, it->port);
		else
			array_printf(name, "%s", t->nodes[node].name);
		array_printf(why, "some hosts have no other path to %s",
			     fabric_view_name_of_lid(view, lid));
		json_add(rows, "{ss* ss*}", "what", name, "why", why);
	}
	return rows;
}

/* ---- Cordon, uncordon, release --------------------------------------------------------------- */

enum change_kind { CHANGE_CORDON, CHANGE_UNCORDON, CHANGE_RELEASE };

/* In the answer's text, and the kind of the event. */
static const char *const verbs[] = { [CHANGE_CORDON] = "cordoned",
				     [CHANGE_UNCORDON] = "uncordoned",
				     [CHANGE_RELEASE] = "released" };

/* One of these commands, from its first word to its answer (fm/fabric/operation.h). */
struct change {
	struct links_out *table;
	enum change_kind kind;
	const char *note; /* why nothing changes; NULL = something does */
	struct target target;
	unsigned links;	  /* of the target; of a release those that were out */
	struct out *rows; /* that were added (CHANGE_CORDON) or removed, the newest first */
	unsigned count;
	uint64_t asked_us, blocks_before;
};

static json_t *result(void *data)
{
	const struct change *change = data;
	struct fabric *fabric = change->table->fabric;
	const struct fabric_view view = fabric_view(fabric);
	const struct fabric_written written = fabric_written(fabric);

	return json_pack("{ss sb si sI sI sf sI so so* ss*}", "what", change->target.name,
			 change->kind == CHANGE_RELEASE ? "released" : "cordoned",
			 change->kind != CHANGE_UNCORDON, "ports", change->links,
			 "lft_entries_changed", (json_int_t)(change->count ? written.entries : 0),
			 "lft_blocks_written", (json_int_t)(written.blocks - change->blocks_before),
			 "took_ms",
			 (loop_now_us(change->table->services.loop) - change->asked_us) / 1e3,
			 "unreachable", (json_int_t)(view.proof ? view.proof->unreachable : 0),
			 "not_honoured", transit_overridden(&view, change->table), "lost",
			 view.topo ? lost_json(NULL, view.topo, fabric_own_node(fabric)) : NULL,
			 "note", change->note);
}

static void reported(void *data, json_t *result, const char *error)
{
	const struct change *change = data;
	const struct fabric_services *services = &change->table->services;
	const struct target *target = &change->target;
	const struct event_subject subject =
		inventory_link_subject(services->inventory, target->guid, target->port);

	if (error)
		event_log_add(services->events, LOG_WARNING, verbs[change->kind], &subject, NULL,
			      "%s: %s, but not applied: %s", target->name, verbs[change->kind],
			      error);
	else {
		json_int_t entries = json_number(result, "lft_entries_changed");
		json_int_t blocks = json_number(result, "lft_blocks_written");
		const char *unsaved = json_text(result, "not_saved");
		unsigned overridden = json_array_size(json_object_get(result, "not_honoured"));

		if (overridden)
			event_log_add(services->events, LOG_WARNING, "cordons-bent", NULL, NULL,
				      "fabric: %u %s transit traffic although cordoned: some hosts "
				      "have no other path",
				      overridden,
				      words_plural(overridden, "switch or link carries",
						   "switches or links carry"));
		event_log_add(services->events, LOG_NOTICE, verbs[change->kind], &subject,
			      json_incref(result), "%s: %s, %u %s: %lld %s in %lld %s, %.1f ms%s%s",
			      target->name, verbs[change->kind], change->links,
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

	/* What was released is listed as exempt. */
	for (unsigned i = change->count; i-- > 0;) {
		const struct out *row = &change->rows[i];
		struct out *it = out_find(change->table, row->node, row->port,
					  change->kind == CHANGE_RELEASE ? OUT_EXEMPT : OUT_CORDON);

		if (it)
			out_remove(it);
		if (change->kind != CHANGE_CORDON &&
		    (change->kind == CHANGE_UNCORDON ||
		     !out_quarantine(change->table, row->node, row->port)))
			out_add(change->table, row);
	}
	out_changed(change->table, change->rows->cause);
}

static void change_free(void *arg)
{
	struct change *change = arg;

	free(change->rows);
	free(change);
}

static struct change *change_new(struct links_out *table, const struct target *target,
				 enum change_kind kind)
{
	struct change *change = mem_new(change);

	*change = (struct change){ .table = table,
				   .kind = kind,
				   .target = *target,
				   .asked_us = loop_now_us(table->services.loop),
				   .blocks_before = fabric_written(table->fabric).blocks };
	return change;
}

/* note, a literal: why nothing is changed, if that is so; then it is answered at once. */
static void change_start(struct change *change, const char *note, waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = {
		.keeps = true,
		.rollback = rollback,
		.result = result,
		.reported = reported,
		.free = change_free,
	};

	if (change->count) {
		out_changed(change->table, change->rows->cause);
		fabric_operation_start(change->table->fabric, &ops, change, fn, arg);
		return;
	}
	change->note = note;
	fabric_operation_done(change->table->fabric, result(change), fn, arg);
	change_free(change);
}

static void note_row(struct change *change, const struct out *row)
{
	change->rows = mem_grow(change->rows, change->count);
	change->rows[change->count++] = *row;
}

/* Whether a row is of the target or of one of its links, by either end. */
static bool touches(const struct out *it, const struct target *target)
{
	struct inv_node *node;
	const struct inv_port *port =
		inventory_port(it->table->services.inventory, it->node, it->port, &node);

	return (it->node == target->guid && (!target->port || it->port == target->port)) ||
	       (port && port->peer && port->peer->guid == target->guid &&
		(!target->port || port->peer_port == target->port));
}

/* Removes what touches the target, and has that mark. Returns how many were in force. */
static unsigned take_back(struct change *change, const struct target *target, uint8_t mark)
{
	unsigned in_force = 0;

	OUT_EACH (change->table, it)
		if (it->rule->mark == mark && touches(it, target)) {
			in_force += it->state != OUT_OVER;
			note_row(change, it);
			out_remove(it);
		}
	return in_force;
}

/* The name of the switch whose cordon as a whole covers a link, or NULL. */
static const char *covered_by(const struct links_out *table, const struct topo *t,
			      const struct target *target)
{
	const struct topo_port *peer =
		target->port ? target_far_end(t, target->node, target->port) : NULL;

	if (target->port && out_find(table, target->guid, 0, OUT_CORDON))
		return t->nodes[target->node].name;
	if (peer && out_find(table, t->nodes[peer->node].guid, 0, OUT_CORDON))
		return t->nodes[peer->node].name;
	return NULL;
}

/* A switch that is not in the snapshot: by its GUID in hexadecimal, if it has a cordon. */
static bool find_absent(const struct links_out *table, const char *what, struct target *target)
{
	char rest;

	if (sscanf(what, "0x%" SCNx64 "%c", &target->guid, &rest) != 1)
		return false;
	array_printf(target->name, "%s", what);
	return any_of(i, 0, table->count,
		      table->all[i]->cause == OUT_CORDON && table->all[i]->node == target->guid);
}

void links_out_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg)
{
	struct links_out *table = fabric_room(fabric, &links_out_module);
	const struct fabric_view view = fabric_view(fabric);
	char err[TARGET_ERROR_SIZE];
	struct target target;

	if (!target_find(&view, what, &target, err) && (on || !find_absent(table, what, &target))) {
		fn(arg, NULL, err);
		return;
	}

	const char *whole = covered_by(table, view.topo, &target);
	unsigned links = target_count_links(view.topo, &target);

	*err = '\0';
	if (on && !links)
		array_printf(err, "%s has no link between switches: nothing to cordon",
			     target.name);
	else if (!on && whole)
		array_printf(err, "%s is cordoned as a whole: uncordon that", whole);
	if (*err) {
		fn(arg, NULL, err);
		return;
	}

	struct change *change = change_new(table, &target, on ? CHANGE_CORDON : CHANGE_UNCORDON);

	change->links = links;
	if (!on)
		take_back(change, &target, INV_CORDONED);
	else if (!whole && !any_of(i, 0, table->count,
				   table->all[i]->cause == OUT_CORDON &&
					   (target.port || !table->all[i]->port) &&
					   touches(table->all[i], &target))) {
		struct out row = { .node = target.guid, .port = target.port, .cause = OUT_CORDON };

		event_now(row.since);
		out_add(table, &row);
		note_row(change, &row);
	}
	change_start(change, on ? "already cordoned" : "not cordoned", fn, arg);
}

void links_out_release(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	struct links_out *table = fabric_room(fabric, &links_out_module);
	const struct fabric_view view = fabric_view(fabric);
	char err[TARGET_ERROR_SIZE];
	struct target *targets;
	unsigned count = target_find_all(&view, what, WHAT_PLACE, &targets, err);

	if (!count) {
		fn(arg, NULL, err);
		return;
	}

	struct change *change = change_new(table, &targets[0], CHANGE_RELEASE);

	for (unsigned i = 0; i < count; i++)
		change->links += take_back(change, &targets[i], INV_QUARANTINED);
	free(targets);
	/* They are not held until they were clean. */
	ARRAY_EACH (row, change->rows, change->count)
		out_exempt(table, row->node, row->port, limit_released);
	change_start(change, "not quarantined", fn, arg);
}

void links_out_cordon_too(struct fabric *fabric, const char *lines, size_t length)
{
	struct links_out *table = fabric_room(fabric, &links_out_module);
	unsigned before = table->counts[OUT_CORDON];
	FILE *in = fmemopen((char *)lines, length, "r");
	char line[128];

	while (fgets(line, sizeof(line), in))
		out_take(table, OUT_CORDON, line);
	fclose(in);
	if (table->counts[OUT_CORDON] == before)
		return;
	event_log_add(table->services.events, LOG_WARNING, "cordoned", NULL, NULL,
		      "fabric: %u cordons more, of a manager that was master too, hold",
		      table->counts[OUT_CORDON] - before);
	out_changed(table, OUT_CORDON);
}

const char *links_out_cordoned_since(const struct fabric *fabric, guid_t node, unsigned port)
{
	const struct links_out *table = fabric_room(fabric, &links_out_module);
	const struct out *it = out_find(table, node, port, OUT_CORDON);

	it = it && *it->since ? it : out_find(table, node, 0, OUT_CORDON);
	return it && *it->since ? it->since : NULL;
}

/* ---- Links that are forgotten ---------------------------------------------------------------- */

/* only: a port; 0 = all. Returns how many links were down. */
static unsigned forget_links(struct inventory *inv, struct inv_node *node, unsigned only)
{
	unsigned count = 0;

	for (unsigned p = only ? only : 1; p <= (only ? only : node->nports); p++)
		if (p <= node->nports && node->ports[p].peer && !node->ports[p].link_up) {
			inventory_unlink(inv, node, p);
			count++;
		}
	return count;
}

/*
 * Forgets what was named. False, with the reason in err: nothing is named so. subject: a device or
 * port, or the host by that name.
 */
static bool forget_what(struct fabric *fabric, struct inventory *inv, const char *what, char *name,
			struct event_subject *subject, unsigned *links, char *err)
{
	const struct fabric_view view = fabric_view(fabric);
	struct admission *admission = links_out_admission(fabric);
	struct target *targets;
	unsigned count = target_find_all(&view, what, WHAT_PLACE, &targets, err);

	for (unsigned i = 0; i < count; i++) {
		struct inv_node *node = inventory_find(inv, targets[i].guid);

		/* Of a port, a cable that is held there goes before the one that is missed. */
		unsigned held = admission_forget(admission, targets[i].guid, targets[i].port);

		if (node && !(held && targets[i].port))
			held += forget_links(inv, node, targets[i].port);
		*links += held;
		strcpy(name, targets[i].name);
		*subject =
			(struct event_subject){ .node = targets[i].guid, .port = targets[i].port };
	}
	if (count > 1)
		*subject = (struct event_subject){ .host = name };
	free(targets);
	return count;
}

static unsigned forget_nodes(struct fabric *fabric, struct inventory *inv)
{
	struct admission *admission = links_out_admission(fabric);
	struct inv_node *node, *next;
	unsigned count = 0;

	for (node = inventory_first(inv); node; node = next) {
		next = inventory_next(inv, node);
		if (!node->gone || node == inv->local ||
		    any_of(p, 1, node->nports + 1, node->ports[p].peer))
			continue;
		if (inv_is_switch(node))
			admission_expect(admission, node->guid, OUT_ADMITTED);
		fabric_request_lids_free(fabric, node->guid);
		for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
			fabric_request_lids_free(fabric, node->port_guids[p]);
		inventory_remove(inv, node);
		count++;
	}
	return count;
}

/*
 * Removes links that are down from the design, for only an operator can know that a link will not
 * return: those of `what`, a host, a node or a port; NULL = all links that are down, and the LIDs
 * of ports that left the fabric earlier. A node without any link left is removed too, and its LIDs
 * are free. A link or node that returns later is new. It is answered when the tables that use the
 * freed slots are programmed: fn is called once, with the answer or an error.
 */
void links_out_forget(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .keeps = true, .late = true };
	const struct fabric_services services = fabric_services(fabric);
	const struct topo *t = fabric_view(fabric).topo;
	struct inventory *inv = services.inventory;
	char err[TARGET_ERROR_SIZE], name[sizeof(((struct target *)NULL)->name)] = "fabric";
	struct event_subject subject = { 0 };
	unsigned links = 0, lids = 0, nodes;

	if (!t) {
		fn(arg, NULL, "no topology yet");
		return;
	}
	if (what && !forget_what(fabric, inv, what, name, &subject, &links, err)) {
		fn(arg, NULL, err);
		return;
	}
	if (!what) {
		INVENTORY_EACH (inv, node)
			links += forget_links(inv, node, 0);

		/* LIDs of ports that are no part of the fabric, and were not before. */
		const struct lid_memory *lid_memory = services.lids;
		unsigned before = lid_memory->count;

		for (uint32_t i = lid_memory->count; i-- > 0;)
			if (topo_find_port(t, lid_memory->entries[i].port_guid) == TOPO_NONE)
				fabric_request_lids_free(fabric, lid_memory->entries[i].port_guid);
		lids = before - lid_memory->count;
	}
	if (!links && !lids) {
		fn(arg, NULL,
		   what ? "it has no link that is down: nothing to forget"
			: "no link is down: nothing to forget");
		return;
	}
	nodes = forget_nodes(fabric, inv);
	event_log_add(services.events, LOG_NOTICE, "forgotten", &subject,
		      json_pack("{si si si}", "cables", links, "nodes", nodes, "absent", lids),
		      "%s: forgot %u %s that %s down and %u %s; freed the LIDs of %u %s that "
		      "left earlier",
		      name, links, words_plural(links, "link", "links"),
		      words_plural(links, "was", "were"), nodes,
		      words_plural(nodes, "node", "nodes"), lids,
		      words_plural(lids, "port", "ports"));
	fabric_operation_start(fabric, &ops, NULL, fn, arg);
	fabric_request_reroute(fabric, "links were forgotten");
}
