/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* table: the rows, of any cause: added, removed, found, due, and kept; and what commands name. */
#include "fm/fabric/request.h"
#include "fm/links_out/rules.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

#define SECOND_US 1000000ull

/* ---- Links ----------------------------------------------------------------------------------- */

struct inv_node *out_node(const struct out *it)
{
	struct inv_node *node = inventory_find(it->table->services.inventory, it->node);

	return node && it->port <= node->nports ? node : NULL;
}

bool out_is_transit(const struct inv_node *node, unsigned num)
{
	const struct inv_node *peer = node->ports[num].peer;

	return inv_is_switch(node) && peer && inv_is_switch(peer);
}

void out_take_end(const struct links_out *table, enum out_cause cause, guid_t *guid, uint8_t *num)
{
	struct inv_node *node;
	const struct inv_port *port = inventory_port(table->services.inventory, *guid, *num, &node);
	const struct inv_node *peer = port ? port->peer : NULL;
	bool by_switch = peer && table->rules[cause].group == OUT_FAULT &&
			 inv_is_switch(node) != inv_is_switch(peer);

	if (!peer ||
	    (by_switch ? inv_is_switch(node)
		       : peer->guid > *guid || (peer->guid == *guid && port->peer_port > *num)))
		return;
	*guid = peer->guid;
	*num = port->peer_port;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct out *out_find(const struct links_out *table, guid_t node, uint8_t port, enum out_cause cause)
{
	for (unsigned i = 0; table->counts[cause] && i < table->count; i++) {
		struct out *it = table->all[i];

		if (it->node == node && it->port == port && it->cause == cause)
			return it;
	}
	return NULL;
}

struct out *out_quarantine(const struct links_out *table, guid_t node, uint8_t port)
{
	return out_find(table, node, port, OUT_QUARANTINE) ?: out_find(table, node, port, OUT_HOLD);
}

static void due_cb(void *arg)
{
	struct links_out *table = arg;
	uint64_t now = loop_now_us(table->services.loop);

	table->due_us = UINT64_MAX;
	OUT_EACH (table, it)
		if (it->due_us <= now) {
			it->due_us = it->rule->wait_us ? now + it->rule->wait_us : UINT64_MAX;
			it->rule->due(it);
		}
	OUT_EACH (table, it)
		out_set_due(it, it->due_us);
}

void out_set_due(struct out *it, uint64_t at_us)
{
	struct links_out *table = it->table;
	uint64_t now = loop_now_us(table->services.loop);

	it->due_us = at_us;
	if (at_us >= table->due_us)
		return;
	table->due_us = at_us;
	loop_timer_set(table->due, at_us > now ? at_us - now : 0);
}

/* Of the switch: what it is not to be sent. */
void out_mark_node(const struct out *it, bool on)
{
	struct inv_node *node = out_node(it);

	if (!node || !it->rule->node_mark)
		return;
	inv_node_mark(node, it->rule->node_mark, on);
	if (it->rule->node_mark == INV_NO_SETS)
		sweep_node(node)->keeps_change &= on;
}

void out_mark_ports(const struct out *it, bool on)
{
	uint8_t mark = it->rule->mark;
	struct inv_node *node = mark ? out_node(it) : NULL;
	unsigned last = !node ? 0 : it->port ?: node->nports;

	for (unsigned p = it->port ?: 1; p <= last; p++) {
		const struct inv_port *port = &node->ports[p];

		inv_port_mark(node, p, mark, on && out_is_transit(node, p));
		if (mark == INV_KEPT && port->peer)
			inv_port_mark(port->peer, port->peer_port, mark, on);
	}
}

struct out *out_add(struct links_out *table, const struct out *row)
{
	if (table->counts[row->cause] == table->rules[row->cause].most)
		return NULL;

	struct out *it = mem_new(it);

	*it = *row;
	it->table = table;
	it->rule = &table->rules[it->cause];
	table->all = mem_grow(table->all, table->count);
	table->all[table->count++] = it;
	table->counts[it->cause]++;
	out_mark_node(it, true);
	if (!it->due_us)
		it->due_us = it->rule->wait_us
				     ? loop_now_us(table->services.loop) + it->rule->wait_us
				     : UINT64_MAX;
	out_set_due(it, it->due_us);
	return it;
}

void out_remove(struct out *it)
{
	struct links_out *table = it->table;
	unsigned i = 0;

	while (table->all[i] != it)
		i++;
	memmove(&table->all[i], &table->all[i + 1], (--table->count - i) * sizeof(*table->all));
	table->counts[it->cause]--;
	out_mark_ports(it, false);
	out_mark_node(it, false);
	if (it->token)
		mad_cancel(table->services.mad, it->token);
	free(it);
}

bool out_exempt(struct links_out *table, guid_t node, uint8_t port, const char *reason)
{
	const struct out row = { .node = node, .port = port, .cause = OUT_EXEMPT };
	struct out *it = out_find(table, node, port, OUT_EXEMPT) ?: out_add(table, &row);
	bool is_new = it && it->reason != reason;

	if (it)
		it->reason = reason;
	return is_new;
}

/* ---- Changes --------------------------------------------------------------------------------- */

void out_keep(struct links_out *table, enum out_cause cause)
{
	unsigned kind = table->rules[cause].kind;

	if (kind)
		state_changed(table->services.state, &table->kinds[kind], &table->kept[kind]);
}

void out_changed(struct links_out *table, enum out_cause cause)
{
	out_keep(table, cause);
	fabric_request_reroute(table->fabric, table->rules[cause].again);
	if (table->rules[cause].mark == INV_QUARANTINED)
		fabric_report_hosts_changed(table->fabric);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/*
 * Whether the link was clean for so long, at least for one reading; one that is down is not,
 * whatever was read before.
 */
static bool was_clean(const struct out *it, uint64_t us)
{
	struct inv_node *node;
	const struct inv_port *port =
		inventory_port(it->table->services.inventory, it->node, it->port, &node);

	return port && port->link_up && port->peer && it->clean_us && it->clean_us >= us;
}

void out_check(struct out *it)
{
	const struct fabric_services *services = &it->table->services;
	struct links_out *table = it->table;
	bool held = it->cause == OUT_HOLD;
	enum out_cause cause = it->cause;

	/* The next errors of a link whose hold is waived are judged again. */
	if (it->state == OUT_OVER || (held && it->state == OUT_WAIVED) ||
	    (cause == OUT_EXEMPT && was_clean(it, 0))) {
		out_remove(it);
		out_keep(table, cause);
	} else if (cause == OUT_QUARANTINE || (held && was_clean(it, it->seconds * SECOND_US))) {
		const struct event_subject subject =
			inventory_link_subject(services->inventory, it->node, it->port);

		if (held)
			it->until_us = loop_now_us(services->loop);
		it->state = OUT_OVER;
		event_log_add(services->events, LOG_NOTICE, "released", &subject, NULL,
			      held ? "%s: released, clean for %u s" : "%s: released after %u s",
			      inventory_link_name(services->inventory, it->node, it->port).text,
			      it->seconds);
		out_set_due(it, it->until_us + it->seconds * SECOND_US);
		out_changed(table, cause);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

void out_init(struct links_out *table, struct fabric *fabric)
{
	*table = (struct links_out){ .fabric = fabric,
				     .services = fabric_services(fabric),
				     .due_us = UINT64_MAX };
	table->due = loop_timer_new(table->services.loop, due_cb, table);
	ARRAY_EACH (owner, table->kept, OUT_KIND)
		*owner = table;
}

void out_fini(struct links_out *table)
{
	ARRAY_EACH (it, table->all, table->count) {
		if ((*it)->token)
			mad_cancel(table->services.mad, (*it)->token);
		free(*it);
	}
	free(table->all);
	table->count = 0;
	loop_timer_free(table->due);
}

/* ---- What a command names -------------------------------------------------------------------- */

unsigned target_find_all(const struct fabric_view *view, const char *text, unsigned kinds,
			 struct target **targets, char *err)
{
	const struct what_scope scope = fabric_view_scope(view);
	const uint32_t *nodes;
	struct what what;

	*targets = NULL;
	if (!what_find(&scope, text, kinds, &what, err, TARGET_ERROR_SIZE))
		return 0;

	unsigned count = what_nodes(view->topo, &what, &nodes);

	*targets = mem_array(*targets, count);
	for (unsigned i = 0; i < count; i++) {
		struct target *it = &(*targets)[i];

		*it = (struct target){ .guid = view->topo->nodes[nodes[i]].guid,
				       .node = nodes[i],
				       .port = what.port };
		what_name(view->topo, &what, it->name, sizeof(it->name));
	}
	return count;
}

bool target_find(const struct fabric_view *view, const char *text, struct target *target, char *err)
{
	struct target *found;
	unsigned count = target_find_all(view, text, WHAT_NODE | WHAT_PORT, &found, err);

	*target = count ? *found : (struct target){ .node = TOPO_NONE };
	free(found);
	return count;
}
