/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "fm/inventory/port_setup.h"
#include "fm/isolation/isolation.h"
#include "fm/isolation/list.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"

/* ---- How many may be isolated ---------------------------------------------------------------- */

/* A link counts once, by its end with the lower index, in the tier of its lower switch. */

#define SHARE 4 /* of a tier, a quarter */

enum { IN_FORCE = 1, WANTED = 2 };

struct judge {
	const struct topo *t;
	uint8_t *links;						    /* by port of their lower end */
	unsigned all[TOPO_MAX_LEVEL + 1], gone[TOPO_MAX_LEVEL + 1]; /* by tier */
	bool *bare; /* by switch: a leaf that would lose its last uplink */
};

/* The far end of a link to another switch, else NULL. */
static const struct topo_port *far_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return port->num && peer && peer->node < t->nswitches && peer->node != port->node ? peer
											  : NULL;
}

static uint32_t link_of(const struct topo *t, const struct topo_port *port)
{
	uint32_t at = (uint32_t)(port - t->ports);

	return at < port->peer ? at : port->peer;
}

static unsigned tier_of(const struct topo *t, const struct topo_port *port)
{
	unsigned a = t->nodes[port->node].level, b = t->nodes[t->ports[port->peer].node].level;

	return a < b ? a : b;
}

/* Ports that an ask is about are from..to. */
static void ask_ports(const struct topo *t, const struct isolate_ask *ask, unsigned *from,
		      unsigned *to)
{
	*from = ask->port ? ask->port : 1;
	*to = ask->port ? ask->port : t->nodes[ask->node].nports;
}

static void take(struct judge *j, const struct isolate_ask *ask)
{
	unsigned from, to;

	ask_ports(j->t, ask, &from, &to);
	for (unsigned num = from; num <= to; num++) {
		const struct topo_port *port = topo_port(j->t, ask->node, num);
		uint8_t *link;

		if (!far_end(j->t, port))
			continue;
		link = &j->links[link_of(j->t, port)];
		j->gone[tier_of(j->t, port)] += !*link;
		*link |= ask->in_force ? IN_FORCE : WANTED;
	}
}

/* Whether new isolations would take the last of a leaf's uplinks that are in use. */
static bool is_bared(const struct judge *j, uint32_t sw)
{
	unsigned wanted = 0, left = 0;

	for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(j->t, sw, num);
		const struct topo_port *peer = far_end(j->t, port);
		uint8_t link;

		if (!peer || !port->link_up)
			continue;
		link = j->links[link_of(j->t, port)];
		wanted += link == WANTED;
		left += !link && !port->cordoned && !peer->cordoned;
	}
	return wanted && !left;
}

static bool is_allowed(const struct judge *j, const struct isolate_ask *ask)
{
	unsigned from, to;

	ask_ports(j->t, ask, &from, &to);
	for (unsigned num = from; num <= to; num++) {
		const struct topo_port *port = topo_port(j->t, ask->node, num);
		const struct topo_port *peer = far_end(j->t, port);

		if (!peer)
			continue;
		if (j->gone[tier_of(j->t, port)] * SHARE > j->all[tier_of(j->t, port)])
			return false;
		if (j->bare[peer->node] || (ask->port && j->bare[ask->node]))
			return false;
	}
	return true;
}

uint32_t isolate_judge(const struct topo *t, struct isolate_ask *asks, uint32_t count)
{
	struct judge j = { .t = t,
			   .links = mem_alloc(t->nswitch_ports + 1u, 1),
			   .bare = mem_alloc(t->nswitches + 1u, sizeof(*j.bare)) };
	uint32_t refused = 0;

	for (uint32_t p = 0; p < j.t->nswitch_ports; p++)
		if (far_end(j.t, &j.t->ports[p]) && p < j.t->ports[p].peer)
			j.all[tier_of(j.t, &j.t->ports[p])]++;
	for (uint32_t i = 0; i < count; i++)
		take(&j, &asks[i]);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		j.bare[sw] = t->nodes[sw].level == 0 && is_bared(&j, sw);
	for (uint32_t i = 0; i < count; i++) {
		asks[i].allowed = asks[i].in_force || is_allowed(&j, &asks[i]);
		refused += !asks[i].allowed;
	}
	free(j.links);
	free(j.bare);
	return refused;
}

#define GATHER_US 100000

/* ---- The judgement --------------------------------------------------------------------------- */

/* Collects the entries that are switches, or links between them, of the published snapshot. */
static uint32_t collect_asks(const struct isolation *is, const struct topo *t,
			     struct isolate_ask *asks, unsigned *of)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < is->count; i++) {
		const struct isolated *it = is->all[i];
		uint32_t node = topo_find(t, it->node);

		/*
		 * Whether other switches are still being probed: their number decides about this
		 * one too.
		 */
		if (node >= t->nswitches || it->port > t->nodes[node].nports ||
		    (it->cause == ISOLATED_NO_SETS && !it->judged && it->list->suspects))
			continue;
		of[count] = i;
		asks[count++] = (struct isolate_ask){ .node = node,
						      .port = it->port,
						      .in_force = it->in_force };
	}
	return count;
}

static void put_in_force(struct isolated *it)
{
	it->judged = it->in_force = true;
	if (it->cause == ISOLATED_WRONG_TABLES)
		wrong_list_changed(it->list);
}

/* Puts hosts and their links in force: no traffic passes through them, they are only reported. */
static void judge_hosts(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++) {
		struct isolated *it = is->all[i];
		const struct inv_node *node = isolated_node(it);

		if (node && !it->in_force &&
		    (it->port ? !isolated_is_transit(node, it->port) : !inv_is_switch(node)))
			put_in_force(it);
	}
}

/* Judges switches and links between them. True = something new is in force. */
static bool judge_switches(struct isolation *is, const struct topo *t)
{
	struct isolate_ask *asks = mem_alloc(is->count + 1u, sizeof(*asks));
	unsigned *of = mem_alloc(is->count + 1u, sizeof(*of));
	uint32_t count = collect_asks(is, t, asks, of);
	bool changed = false;

	isolate_judge(t, asks, count);
	for (uint32_t i = 0; i < count; i++) {
		struct isolated *it = is->all[of[i]];

		it->judged = true;
		if (!asks[i].allowed)
			isolation_ask_keys(is, it);
		else if (!it->in_force) {
			put_in_force(it);
			changed = true;
		}
	}
	free(asks);
	free(of);
	return changed;
}

static void reroute(struct isolation *is)
{
	fabric_request_reroute(is->fabric, "isolations changed");
}

static void judge_now(struct isolation *is, const struct topo *t)
{
	loop_timer_stop(is->judge);
	is->keys = KEYS_UNKNOWN;
	judge_hosts(is);
	if (judge_switches(is, t))
		reroute(is);
	isolation_raise_alerts(is);
}

static void judge_cb(void *arg)
{
	struct isolation *is = arg;
	const struct topo *t = fabric_view(is->fabric).topo;

	if (t)
		judge_now(is, t);
	else
		loop_timer_set(is->judge, GATHER_US);
}

void isolation_judge_soon(struct isolation *is)
{
	if (is->count)
		loop_timer_set(is->judge, 0);
}

/* ---- Adding and releasing -------------------------------------------------------------------- */

static void arm_probe(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++)
		if (is->all[i]->cause == ISOLATED_NO_SETS) {
			if (!loop_timer_armed(is->probe))
				loop_timer_set(is->probe, ISOLATION_PROBE_US);
			return;
		}
	loop_timer_stop(is->probe);
}

/* Names a link by its end at a switch; of two switches by the one with the lower GUID. */
static void take_end(const struct inventory *inv, guid_t *guid, uint8_t *num)
{
	const struct inv_node *node = inventory_find(inv, *guid);
	const struct inv_node *peer = node && *num <= node->nports ? node->ports[*num].peer : NULL;

	if (!peer || !inv_is_switch(peer) || (inv_is_switch(node) && peer->guid >= node->guid))
		return;
	*guid = peer->guid;
	*num = node->ports[*num].peer_port;
}

bool isolation_is_suspect(const struct isolation *is, guid_t sw)
{
	for (const struct suspect *it = is->suspects; it; it = it->next)
		if (it->node == sw)
			return true;
	return isolated_find(is, sw, 0, ISOLATED_NO_SETS) != NULL;
}

/* Whether a switch at one of the link's ends is suspect: then the switch is judged first. */
static bool is_of_suspect(const struct isolation *is, guid_t guid, uint8_t num)
{
	const struct inv_node *node = inventory_find(is->services.inventory, guid);
	const struct inv_node *peer = node && num <= node->nports ? node->ports[num].peer : NULL;

	return isolation_is_suspect(is, guid) || (peer && isolation_is_suspect(is, peer->guid));
}

void isolation_add(struct isolation *is, guid_t guid, uint8_t port, enum isolation_cause cause)
{
	take_end(is->services.inventory, &guid, &port);
	if (isolated_find(is, guid, port, cause) ||
	    (cause == ISOLATED_NOT_ACTIVE && is_of_suspect(is, guid, port)) ||
	    !isolated_add(is, guid, port, cause))
		return;
	arm_probe(is);
	if (!loop_timer_armed(is->judge))
		loop_timer_set(is->judge, GATHER_US);
}

void isolation_add_judged(struct isolation *is, guid_t sw, enum isolation_cause cause)
{
	struct isolated *it;

	isolation_add(is, sw, 0, cause);
	it = isolated_find(is, sw, 0, cause);
	if (it) /* the list may be full */
		put_in_force(it);
}

/* Removes an entry; others may be put in force then. */
static void drop(struct isolated *it)
{
	struct isolation *is = it->list;

	isolated_remove(it);
	arm_probe(is);
	loop_timer_set(is->judge, 0);
}

void isolation_release_it(struct isolated *it, const char *why)
{
	struct isolation *is = it->list;

	log_line(LOG_SWEEP, LOG_NOTICE, "%s: %s", isolated_name(it).text, why);
	drop(it);
	reroute(is);
}

void isolation_release(struct isolation *is, guid_t guid, uint8_t port, enum isolation_cause cause)
{
	struct isolated *it;

	take_end(is->services.inventory, &guid, &port);
	it = isolated_find(is, guid, port, cause);
	if (it)
		isolation_release_it(it, "works again");
}

/* ---- Links that do not become Active --------------------------------------------------------- */

static bool gave_up(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port_setup(node, num)->given_up || port_setup(port->peer, port->peer_port)->given_up;
}

void isolation_judge_links(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	if (inv->nactive == inv->nbetween)
		return;
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned p = 1; inv_is_switch(node) && p <= node->nports; p++)
			if (isolated_is_transit(node, p) && node->ports[p].link_up &&
			    !isolated_is_active(&node->ports[p]) && gave_up(node, p))
				isolation_add(is, node->guid, (uint8_t)p, ISOLATED_NOT_ACTIVE);
	judge_now(is, fabric_view(is->fabric).topo);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/*
 * Whether the fault is over: its device is gone, works, has rebooted, or the fault is known to be a
 * foreign key.
 */
static bool has_ended(const struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);

	if (!node || (it->port && !node->ports[it->port].peer))
		return true;
	if (it->cause == ISOLATED_NO_SETS)
		return node->gone || node->rebooted ||
		       isolated_find(it->list, it->node, 0, ISOLATED_FOREIGN_KEY);
	if (it->cause == ISOLATED_FOREIGN_KEY)
		return !isolated_has_foreign_key(it->list, node);
	return it->cause == ISOLATED_NOT_ACTIVE &&
	       (!node->ports[it->port].link_up || isolated_is_active(&node->ports[it->port]));
}

/* Ahead of the first write: the key was read by the sweep that this snapshot is made of. */
static void add_foreign_keys(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		if (isolated_has_foreign_key(is, node))
			isolation_add(is, node->guid, 0, ISOLATED_FOREIGN_KEY);
}

void isolation_mark(struct isolation *is)
{
	add_foreign_keys(is);
	for (unsigned i = is->count; i-- > 0;)
		if (has_ended(is->all[i]))
			drop(is->all[i]);
	isolated_mark_all(is);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void isolation_init(struct isolation *is, loop_fn *probe)
{
	is->judge = loop_timer_new(is->services.loop, judge_cb, is);
	is->probe = loop_timer_new(is->services.loop, probe, is);
}

void isolation_fini(struct isolation *is)
{
	for (unsigned i = 0; i < is->count; i++) {
		mad_cancel(is->services.mad, is->all[i]->probe);
		free(is->all[i]);
	}
	is->count = 0;
	isolation_raise_alerts(is);
	mad_cancel(is->services.mad, is->asked_keys);
	loop_timer_free(is->judge);
	loop_timer_free(is->probe);
	free(is->all);
}
