/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cordon: a line of state_dir/cordons is `GUID PORT TIME`, port 0 for the whole switch. Files of
 * earlier versions have no time.
 */
#include "fm/maintenance/maintenance.h"
#include <inttypes.h>
#include "fm/fabric/request.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- What a command names -------------------------------------------------------------------- */

static struct target make(const struct topo *t, const struct what *what, uint32_t node)
{
	struct target target = { .guid = t->nodes[node].guid, .node = node, .port = what->port };

	what_name(t, what, target.name, sizeof(target.name));
	return target;
}

bool target_find(const struct fabric_view *view, const char *text, struct target *target, char *err)
{
	const struct what_scope scope = fabric_view_scope(view);
	struct what what;

	*target = (struct target){ .node = TOPO_NONE };
	if (!what_find(&scope, text, WHAT_NODE | WHAT_PORT, &what, err, TARGET_ERROR_SIZE))
		return false;
	*target = make(view->topo, &what, what.node);
	return true;
}

unsigned target_find_all(const struct fabric_view *view, const char *text, struct target **targets,
			 char *err)
{
	const struct what_scope scope = fabric_view_scope(view);
	const uint32_t *nodes;
	struct what what;
	unsigned count;

	*targets = NULL;
	if (!what_find(&scope, text, WHAT_PLACE, &what, err, TARGET_ERROR_SIZE))
		return 0;
	count = what_nodes(view->topo, &what, &nodes);
	*targets = mem_array(*targets, count);
	for (unsigned i = 0; i < count; i++)
		(*targets)[i] = make(view->topo, &what, nodes[i]);
	return count;
}

static const struct topo_port *target_far_end(const struct topo *t, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, num));

	return node < t->nswitches && peer && peer->node < t->nswitches ? peer : NULL;
}

unsigned target_count_links(const struct topo *t, const struct target *target)
{
	unsigned count = 0;

	if (target->node == TOPO_NONE)
		return 0;
	for (unsigned num = 1; num <= t->nodes[target->node].nports; num++)
		if ((!target->port || num == target->port) && target_far_end(t, target->node, num))
			count++;
	return count;
}

/* ---- The list and its file ------------------------------------------------------------------- */

static void append(struct cordon_list *list, struct cordon cordon)
{
	list->list = mem_grow(list->list, list->count);
	list->list[list->count++] = cordon;
}

static const struct cordon *find(const struct cordons *c, guid_t node, unsigned port)
{
	for (unsigned i = 0; i < c->in_force.count; i++)
		if (c->in_force.list[i].node == node && c->in_force.list[i].port == port)
			return &c->in_force.list[i];
	return NULL;
}

const char *cordons_since(const struct cordons *c, guid_t node, unsigned port)
{
	const struct cordon *cordon = find(c, node, port);

	return cordon && *cordon->since ? cordon->since : NULL;
}

/* 2026-11-23T03:00:00.000Z */
static bool is_time(const char *text)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";

	return !any_of(i, 0, sizeof(form),
		       form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]);
}

static bool take_line(void *owner, const char *line)
{
	struct cordons *c = owner;
	struct cordon cordon = { 0 };
	unsigned port;
	char rest;
	int fields =
		sscanf(line, "0x%" SCNx64 " %u %39s %c", &cordon.node, &port, cordon.since, &rest);

	if (fields < 2 || fields > 3 || port > UINT8_MAX || (fields == 3 && !is_time(cordon.since)))
		return false;
	cordon.port = port;
	if (!find(c, cordon.node, port))
		append(&c->in_force, cordon);
	return true;
}

static void write_list(const void *owner, FILE *out)
{
	const struct cordon_list *list = &((const struct cordons *)owner)->in_force;

	for (unsigned i = 0; i < list->count; i++)
		fprintf(out, "0x%016" PRIx64 " %u%s%s\n", list->list[i].node, list->list[i].port,
			*list->list[i].since ? " " : "", list->list[i].since);
}

/* By name, for whoever reads that the file was lost. */
static void sum_up(const void *owner, FILE *out)
{
	const struct cordons *c = owner;

	for (unsigned i = 0; i < c->in_force.count; i++) {
		const struct cordon *cordon = &c->in_force.list[i];
		const struct inv_node *node = inventory_find(c->services->inventory, cordon->node);

		fprintf(out, "%s", i ? ", " : "");
		if (node)
			fprintf(out, "%s", node->name);
		else
			fprintf(out, "0x%016" PRIx64, cordon->node);
		if (cordon->port)
			fprintf(out, ":%u", cordon->port);
	}
}

const struct state_kind cordons_kind = {
	.name = "cordons",
	.summary = sum_up,
	.form = "`GUID PORT [TIME]`",
	.line = take_line,
	.write = write_list,
};

/* ---- Marks ----------------------------------------------------------------------------------- */

static void mark(struct inventory *inventory, const struct cordon *cordon, bool on)
{
	struct inv_node *node = inventory_find(inventory, cordon->node);
	unsigned last;

	if (!node || !inv_is_switch(node))
		return;
	last = cordon->port ? cordon->port : node->nports;
	for (unsigned p = cordon->port ? cordon->port : 1; p <= last && p <= node->nports; p++) {
		const struct inv_node *peer = node->ports[p].peer;

		inv_port_mark(node, p, INV_CORDONED, on && peer && inv_is_switch(peer));
	}
}

void cordons_mark(const struct cordons *c)
{
	for (unsigned i = 0; i < c->in_force.count; i++)
		mark(c->services->inventory, &c->in_force.list[i], true);
}

/* Marks go at once; that of a port which another cordon holds is back with the next snapshot. */
void cordons_change(struct cordons *c, const struct cordon_list *change, bool on)
{
	for (unsigned i = 0; i < change->count; i++) {
		if (on) {
			append(&c->in_force, change->list[i]);
			if (!*change->list[i].since)
				event_now(c->in_force.list[c->in_force.count - 1].since);
			continue;
		}
		mark(c->services->inventory, &change->list[i], false);

		struct cordon cordon = change->list[i];
		struct cordon *list = c->in_force.list;
		unsigned kept = 0;

		for (unsigned k = 0; k < c->in_force.count; k++)
			if (list[k].node != cordon.node || list[k].port != cordon.port)
				list[kept++] = list[k];
		c->in_force.count = kept;
	}
	state_changed(c->services->state, &cordons_kind, c);
	fabric_request_reroute(c->fabric, "cordons changed");
}

/* ---- What a command changes ------------------------------------------------------------------ */

bool cordons_find_absent(const struct cordons *c, const char *what, struct target *target)
{
	char rest;

	if (sscanf(what, "0x%" SCNx64 "%c", &target->guid, &rest) != 1)
		return false;
	array_printf(target->name, "%s", what);
	return any_of(i, 0, c->in_force.count, c->in_force.list[i].node == target->guid);
}

/* The name of the switch whose cordon as a whole covers a link, or NULL. */
static const char *covered_by(const struct cordons *c, const struct topo *t,
			      const struct target *target)
{
	const struct topo_port *peer = target_far_end(t, target->node, target->port);

	if (find(c, target->guid, 0))
		return t->nodes[target->node].name;
	if (peer && find(c, t->nodes[peer->node].guid, 0))
		return t->nodes[peer->node].name;
	return NULL;
}

static bool is_cordoned(const struct cordons *c, const struct topo *t, const struct target *target)
{
	const struct topo_port *peer =
		target->port ? target_far_end(t, target->node, target->port) : NULL;

	return find(c, target->guid, target->port) || (target->port && covered_by(c, t, target)) ||
	       (peer && find(c, t->nodes[peer->node].guid, peer->num));
}

bool cordons_plan(const struct cordons *c, const struct topo *t, const struct target *target,
		  bool on, struct cordon_list *change, char *err)
{
	const char *whole;

	if (on) {
		if (!target_count_links(t, target)) {
			snprintf(err, TARGET_ERROR_SIZE,
				 "%s has no link between switches: nothing to cordon",
				 target->name);
			return false;
		}
		if (!is_cordoned(c, t, target))
			append(change,
			       (struct cordon){ .node = target->guid, .port = target->port });
		return true;
	}
	whole = target->port ? covered_by(c, t, target) : NULL;
	if (whole) {
		snprintf(err, TARGET_ERROR_SIZE, "%s is cordoned as a whole: uncordon that", whole);
		return false;
	}
	/* The target's own cordons, and those of its links from their other ends. */
	for (unsigned i = 0; i < c->in_force.count; i++) {
		const struct cordon *cordon = &c->in_force.list[i];

		if (cordon->node == target->guid && (!target->port || cordon->port == target->port))
			append(change, *cordon);
	}
	for (unsigned num = 1; target->node != TOPO_NONE && num <= t->nodes[target->node].nports;
	     num++) {
		const struct topo_port *peer = target_far_end(t, target->node, num);
		const struct cordon *far =
			peer ? find(c, t->nodes[peer->node].guid, peer->num) : NULL;

		if (far && (!target->port || num == target->port))
			append(change, *far);
	}
	return true;
}
