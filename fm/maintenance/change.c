/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/view.h"
#include "fm/maintenance/maintenance.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

struct search { /* for packets that cross a cordon */
	const struct fabric_view *view;
	const struct topo *t;  /* the view's */
	const bool *has_hosts; /* by switch */
	uint32_t node;	       /* the cordon's */
	bool whole;	       /* the cordon is of all of the switch's links */
	uint16_t lid;	       /* found: packets to there do */
};

static bool is_switch(const struct topo *t, const struct topo_port *port)
{
	return port && port->node < t->nswitches;
}

/* The switch that the LID's host is connected to; TOPO_NONE: it is no host's. */
static uint32_t home_of(const struct search *s, uint16_t lid)
{
	uint32_t port = s->view->lids->port_of_lid[lid];
	const struct topo_port *peer;

	if (port == TOPO_NONE || !topo_is_host(s->t, s->t->ports[port].node))
		return TOPO_NONE;
	peer = topo_peer(s->t, &s->t->ports[port]);
	return is_switch(s->t, peer) ? peer->node : TOPO_NONE;
}

/* Some host's packets to the LID come by this switch. Tables were proven: paths have no loop. */
static bool is_used(const struct search *s, uint32_t sw, uint16_t lid)
{
	if (s->has_hosts[sw])
		return true;
	for (unsigned num = 1; num <= s->t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(s->t, topo_port(s->t, sw, num));

		if (is_switch(s->t, peer) && peer->link_up &&
		    tables_row(s->view->tables, peer->node)[lid] == peer->num &&
		    is_used(s, peer->node, lid))
			return true;
	}
	return false;
}

/* Hosts' packets leave by that port, through the cordon's link. */
static bool carries(struct search *s, const struct topo_port *from)
{
	const uint8_t *row = tables_row(s->view->tables, from->node), *at = row;
	const uint8_t *end = row + s->view->tables->top + 1;

	while ((at = memchr(at + 1, from->num, end - at - 1))) {
		uint16_t lid = at - row;
		uint32_t home = home_of(s, lid);

		if (home == TOPO_NONE || (s->whole && home == s->node) ||
		    !is_used(s, from->node, lid))
			continue;
		s->lid = lid;
		return true;
	}
	return false;
}

/* Of a switch as a whole only what comes into it is transit; of a link, both directions. */
static bool is_crossed(struct search *s, uint8_t port)
{
	for (unsigned num = port ? port : 1; num <= s->t->nodes[s->node].nports; num++) {
		const struct topo_port *near = topo_port(s->t, s->node, num);
		const struct topo_port *far = topo_peer(s->t, near);

		if (is_switch(s->t, far) && near->link_up &&
		    (carries(s, far) || (!s->whole && carries(s, near))))
			return true;
		if (port)
			break;
	}
	return false;
}

/*
 * A new list, which the caller owns, of {"what", "why"} for each such cordon by the published
 * tables; empty if there is none. Takes one pass over the tables if there may be any.
 */
static json_t *transit_overridden(const struct fabric_view *view, const struct cordon_list *cordons)
{
	struct search search = { .view = view, .t = view->topo };
	json_t *rows = json_array();
	bool *hosts;

	if (!view->topo || !cordons->count || !view->cordons_overridden)
		return rows;

	/* By switch, whether it has hosts. */
	const struct topo *t = view->topo;

	search.has_hosts = hosts = mem_array(hosts, t->nswitches + 1);

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *peer = topo_peer(t, &t->ports[p]);

		if (topo_is_host(t, t->ports[p].node) && is_switch(t, peer))
			hosts[peer->node] = true;
	}

	for (unsigned i = 0; i < cordons->count; i++) {
		search.node = topo_find(t, cordons->list[i].node);
		search.whole = !cordons->list[i].port;
		if (search.node < t->nswitches && is_crossed(&search, cordons->list[i].port)) {
			uint8_t port = cordons->list[i].port;
			uint32_t host = t->ports[view->lids->port_of_lid[search.lid]].node;
			const char *sw = t->nodes[search.node].name;
			char name[160], why[200];

			if (port)
				array_printf(name, "%s p%u", sw, port);
			else
				array_printf(name, "%s", sw);
			array_printf(why, "some hosts have no other path to %s",
				     t->nodes[host].name);
			json_array_append_new(rows,
					      json_pack("{ss* ss*}", "what", name, "why", why));
		}
	}
	free(hosts);
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

static const struct fabric_operation_ops cordon_ops = { .file = "cordons",
							.rollback = rollback,
							.result = result,
							.reported = reported,
							.free = change_free };

static const struct fabric_operation_ops release_ops = { .file = "quarantine",
							 .rollback = rollback,
							 .result = result,
							 .reported = reported,
							 .free = change_free };

void change_start(struct change *change, waiter_fn *fn, void *arg)
{
	fabric_operation_start(change->room->fabric,
			       change->kind == CHANGE_RELEASE ? &release_ops : &cordon_ops, change,
			       fn, arg);
}

void change_unchanged(struct change *change, const char *note, waiter_fn *fn, void *arg)
{
	change->note = note;
	fabric_operation_done(change->room->fabric,
			      change->kind == CHANGE_RELEASE ? &release_ops : &cordon_ops, change,
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
