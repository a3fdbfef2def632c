/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* limits: how much may be out of routing, and the marks of what is. */
#include <inttypes.h>
#include "fm/conf/lists.h"
#include "fm/links_out/rules.h"
#include "topology/base/mem.h"

#define HELD_SHARE 200 /* 1 of so many links may be held, if that is more than max_links */
#define TIER_SHARE 4   /* 1 of so many links of a tier may be isolated */

/* ---- What leaves need ------------------------------------------------------------------------ */

static bool carries(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port->link_up && !inv_port_is(node, num, INV_CORDONED | INV_QUARANTINED) &&
	       !inv_port_is(port->peer, port->peer_port, INV_CORDONED | INV_QUARANTINED);
}

/* Whether a leaf (a switch with hosts) would have too few uplinks without that one. */
static bool leaf_needs(const struct links_out *table, const struct inv_node *node, unsigned uplink)
{
	unsigned uplinks = 0, left = 0;
	bool has_hosts = false;

	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_node *peer = node->ports[p].peer;

		if (!peer)
			continue;
		if (!inv_is_switch(peer)) {
			has_hosts = true;
			continue;
		}
		uplinks++;
		left += p != uplink && carries(node, p);
	}
	return has_hosts && left * 100 < uplinks * table->services.conf->quarantine.min_uplinks;
}

/* Whether that is the switch's last link that carries transit to the other's tier. */
static bool is_last_link(const struct topo *t, const struct inv_node *node, unsigned link)
{
	uint32_t far = topo_find(t, node->ports[link].peer->guid);

	for (unsigned p = 1; p <= node->nports && far != TOPO_NONE; p++) {
		const struct inv_port *port = &node->ports[p];
		uint32_t other = port->peer ? topo_find(t, port->peer->guid) : TOPO_NONE;

		if (p != link && other < t->nswitches && carries(node, p) &&
		    t->nodes[other].level == t->nodes[far].level)
			return false;
	}
	return true;
}

bool limit_is_needed(const struct links_out *table, const struct inv_node *node, unsigned num,
		     enum out_cause cause)
{
	const struct inv_port *port = &node->ports[num];
	const struct topo *t = fabric_view(table->fabric).topo;

	if (leaf_needs(table, node, num) || leaf_needs(table, port->peer, port->peer_port))
		return true;
	return cause == OUT_HOLD && t &&
	       (is_last_link(t, node, num) || is_last_link(t, port->peer, port->peer_port));
}

/* ---- Which links may be held ----------------------------------------------------------------- */

const char limit_released[] = "released by an operator, it stays in use",
	   limit_needed[] =
		   "it stays in use: a switch would have too few other links to the next tier",
	   limit_full[] = "it stays in use: health_ber_max_links are isolated already";

static bool end_is_excluded(const char *patterns, const struct inv_node *node, uint8_t num)
{
	char guid[24], port[sizeof(node->desc) + 8], guid_port[32];

	array_printf(guid, "0x%016" PRIx64, node->guid);
	array_printf(port, "%s:%u", node->desc, num);
	array_printf(guid_port, "%s:%u", guid, num);
	return name_patterns_match(patterns, node->desc, port) ||
	       name_patterns_match(patterns, guid, guid_port);
}

const char *limit_hold(const struct links_out *table, guid_t guid, uint8_t num)
{
	const struct conf_ber *conf = &table->services.conf->ber;
	const struct out *exempt = out_find(table, guid, num, OUT_EXEMPT);
	const struct topo *t = fabric_view(table->fabric).topo;
	struct inv_node *node;
	const struct inv_port *port = inventory_port(table->services.inventory, guid, num, &node);
	unsigned share = t ? topo_links(t) / HELD_SHARE : 0, most = conf->max_links, held = 0;

	if (!port || !out_is_transit(node, num))
		return "a host's link stays in use";
	if (end_is_excluded(conf->exclude, node, num) ||
	    end_is_excluded(conf->exclude, port->peer, port->peer_port))
		return "excluded by health_ber_exclude, it stays in use";
	if (exempt && exempt->reason == limit_released)
		return limit_released;
	if (!t || limit_is_needed(table, node, num, OUT_HOLD))
		return limit_needed;
	/* A hold that is waived isolates nothing and takes nobody's place. */
	OUT_ROWS (table, it)
		held += it->cause == OUT_HOLD && it->state == OUT_IN_FORCE;
	if (held >= (most && share > most ? share : most))
		return limit_full;
	return conf->dry_run ? "dry run: it would be isolated from routing" : NULL;
}

/* ---- How many may be isolated ---------------------------------------------------------------- */

/* A link counts once, by its end with the lower index, in the tier of its lower switch. */

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
	uint32_t at = port - t->ports;

	return at < port->peer ? at : port->peer;
}

static unsigned tier_of(const struct topo *t, const struct topo_port *port)
{
	unsigned a = t->nodes[port->node].level, b = t->nodes[t->ports[port->peer].node].level;

	return a < b ? a : b;
}

/* Whether new isolations would take the last of a leaf's uplinks that are in use. */
static bool is_bared(const struct judge *j, uint32_t sw)
{
	unsigned wanted = 0, left = 0;

	for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(j->t, sw, num);
		const struct topo_port *peer = far_end(j->t, port);

		if (!peer || !port->link_up)
			continue;

		uint8_t link = j->links[link_of(j->t, port)];

		wanted += link == WANTED;
		left += !link && !port->cordoned && !peer->cordoned;
	}
	return wanted && !left;
}

static bool is_allowed(const struct judge *j, const struct out *it)
{
	uint32_t sw = topo_find(j->t, it->node);
	unsigned last = it->port ?: j->t->nodes[sw].nports;

	for (unsigned num = it->port ?: 1; num <= last; num++) {
		const struct topo_port *port = topo_port(j->t, sw, num);
		const struct topo_port *peer = far_end(j->t, port);

		if (!peer)
			continue;
		if (j->gone[tier_of(j->t, port)] * TIER_SHARE > j->all[tier_of(j->t, port)] ||
		    j->bare[peer->node] || (it->port && j->bare[sw]))
			return false;
	}
	return true;
}

uint32_t isolate_judge(const struct topo *t, struct out *const *rows, uint32_t count)
{
	struct judge j = { .t = t,
			   .links = mem_alloc(t->nswitch_ports + 1u, 1),
			   .bare = mem_array(j.bare, t->nswitches + 1u) };
	uint32_t refused = 0;

	for (uint32_t p = 0; p < j.t->nswitch_ports; p++)
		if (far_end(j.t, &j.t->ports[p]) && p < j.t->ports[p].peer)
			j.all[tier_of(j.t, &j.t->ports[p])]++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t sw = topo_find(t, rows[i]->node);
		unsigned last = rows[i]->port ?: t->nodes[sw].nports;

		for (unsigned num = rows[i]->port ?: 1; num <= last; num++) {
			const struct topo_port *port = topo_port(t, sw, num);

			if (!far_end(j.t, port) || !port->link_up)
				continue; /* what carries nothing can't be taken away */
			uint8_t *link = &j.links[link_of(j.t, port)];

			j.gone[tier_of(j.t, port)] += !*link;
			*link |= rows[i]->state == OUT_IN_FORCE ? IN_FORCE : WANTED;
		}
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		j.bare[sw] = t->nodes[sw].level == 0 && is_bared(&j, sw);
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i]->state != OUT_IN_FORCE)
			rows[i]->state = is_allowed(&j, rows[i]) ? OUT_LISTED : OUT_WAIVED;
		refused += rows[i]->state == OUT_WAIVED;
	}
	free(j.links);
	free(j.bare);
	return refused;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

/* Whether its ports are marked. A quarantine that leaves a leaf too few uplinks is waived. */
static bool is_marked(struct out *it)
{
	const struct fabric_services *services = &it->table->services;
	const struct topo *t = fabric_view(it->table->fabric).topo;
	const struct inv_node *node = out_node(it);

	if (it->rule->mark == INV_KEPT) {
		/*
		 * A link that is not Active counts as down without a mark (active_decides); what
		 * may not be isolated, and was routed over, stays so.
		 */
		uint32_t at = t ? topo_port_of(t, it->node, it->port) : TOPO_NONE;

		return it->state != OUT_IN_FORCE && at != TOPO_NONE && t->ports[at].link_up;
	}
	if (it->state != OUT_IN_FORCE || !node)
		return false;
	if (it->rule->mark != INV_QUARANTINED || !out_is_transit(node, it->port) ||
	    !limit_is_needed(it->table, node, it->port, it->cause))
		return true;

	const struct event_subject subject =
		inventory_link_subject(services->inventory, it->node, it->port);

	it->state = OUT_WAIVED;
	event_log_add(services->events, LOG_WARNING, "quarantine-waived", &subject, NULL,
		      "%s: carries traffic although quarantined: a leaf would have less than %d%% "
		      "of its uplinks",
		      inventory_link_name(services->inventory, it->node, it->port).text,
		      services->conf->quarantine.min_uplinks);
	return false;
}

void out_mark_all(struct links_out *table)
{
	static const uint8_t marks[] = { INV_CORDONED, INV_QUARANTINED, INV_ISOLATED, INV_KEPT };

	OUT_EACH (table, it)
		out_mark_ports(it, false);
	/* A leaf's quarantines are judged behind all cordons, the newest last. */
	ARRAY_EACH (mark, marks, ARRAY_SIZE(marks))
		OUT_ROWS (table, it) {
			if (it->rule->mark != *mark)
				continue;
			out_mark_node(it, true);
			if (is_marked(it))
				out_mark_ports(it, true);
		}
}
