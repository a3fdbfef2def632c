/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * miswiring: a mistake is made on a list of cables, by port of the intact fabric, and remembers the
 * ports that it touched and the ends that a finding has to name. No two mistakes touch the same
 * port, nor the same host.
 */
#include "tests/lib/miswiring_own.h"
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

#define TRIES 2000

#define KIND(name) (1u << CABLING_##name)
const struct mistake_words mistake_words[MISTAKES] = {
	[MISTAKE_RAILS] = { "two HCAs of a host exchanged", NULL },
	[MISTAKE_HOSTS] = { "two hosts exchanged on one leaf", NULL },
	[MISTAKE_UNITS] = { "HCAs of two units exchanged, same rail", NULL },
	[MISTAKE_ACROSS] = { "HCAs of two units and rails exchanged", NULL },
	[MISTAKE_WHOLE_HOSTS] = { "whole hosts of two units exchanged", NULL },
	[MISTAKE_NO_HCA] = { "HCA missing", NULL },
	[MISTAKE_HCA_UPLINK] = { "HCA and uplink exchanged", NULL },
	[MISTAKE_HCA_MOVED] = { "HCA in an uplink's port", NULL },
	[MISTAKE_HCA_SPINE] = { "HCA on a spine", NULL },
	[MISTAKE_LOST] = { "uplink missing", NULL },
	[MISTAKE_DOUBLED] = { "uplink doubled, another missing", NULL },
	[MISTAKE_LEAF_PORTS] = { "uplinks exchanged at a leaf", NULL },
	[MISTAKE_SPINE_PORTS] = { "leaves exchanged at a spine", NULL },
	[MISTAKE_PODS] = { "uplinks of two pods exchanged", NULL },
	[MISTAKE_LEAF_LEAF] = { "leaf to leaf", NULL },
	[MISTAKE_SPINE_SPINE] = { "spine to spine", NULL },
	[MISTAKE_CORES] = { "cores exchanged at a spine", NULL },
	[MISTAKE_CORE_PORTS] = { "spines exchanged at a core", NULL },
	[MISTAKE_LOST_CORE] = { "cable to a core missing", NULL },
	[MISTAKE_LEAF_CORE] = { "leaf to core", NULL },
	[MISTAKE_FREE_PORT] = { "HCA in a free port of its leaf", NULL },
	[MISTAKE_FREE_LEAF] = { "HCA in a free port of another leaf", NULL },
	[MISTAKE_EXTRA] = { "cable within a tier, in free ports", NULL },
	[MISTAKE_SLOW_HCA] = { "HCA's link at a lower speed", NULL },
	[MISTAKE_SLOW_UPLINK] = { "switches' link at a lower speed", NULL },
	[MISTAKE_NARROW] = { "x2 of x4", NULL },
	[MISTAKE_LANES] = { "parallel cables exchanged",
			    "both lead from the one switch to the other all the same" },
	[MISTAKE_SAME_UNIT] = { "whole hosts of a unit exchanged",
				"only the plan knows which host stands where" },
};

struct miswiring *miswiring_new(const struct topo *t, uint64_t seed)
{
	struct miswiring *m = mem_alloc(1, sizeof(*m));

	m->t = t;
	m->random = seed;
	m->peer = mem_alloc(t->nports, sizeof(*m->peer));
	m->speed = mem_alloc(t->nports, 1);
	m->width = mem_alloc(t->nports, 1);
	m->owner = mem_alloc(t->nports, sizeof(*m->owner));
	m->gone = mem_alloc(t->nnodes, sizeof(*m->gone));
	m->busy = mem_alloc(t->nhosts + 1, sizeof(*m->busy));
	for (uint32_t p = 0; p < t->nports; p++) {
		m->peer[p] = t->ports[p].peer;
		m->speed[p] = t->ports[p].speed;
		m->width[p] = t->ports[p].width;
	}
	return m;
}

void miswiring_free(struct miswiring *m)
{
	free(m->peer);
	free(m->speed);
	free(m->width);
	free(m->owner);
	free(m->gone);
	free(m->busy);
	free(m->planted);
	free(m);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static uint32_t below(struct miswiring *m, uint32_t count)
{
	return (uint32_t)(random_next(&m->random) % count);
}

static bool is_free(const struct miswiring *m, uint32_t port)
{
	uint32_t host = node_of(m, port)->host;

	return m->peer[port] == m->t->ports[port].peer && !m->owner[port] &&
	       (m->peer[port] == TOPO_NONE || !m->owner[m->peer[port]]) &&
	       (host == TOPO_NONE || !m->busy[host]) && !m->gone[m->t->ports[port].node];
}

/* A cable's port on a switch of a level, by where it leads: down to an HCA, or up. */
static uint32_t pick(struct miswiring *m, unsigned level, bool up)
{
	for (unsigned i = 0; i < TRIES * 10; i++) {
		uint32_t p = below(m, m->t->nswitch_ports);
		uint32_t far = m->peer[p];
		const struct topo_node *peer;

		if (far == TOPO_NONE || node_of(m, p)->level != level || !is_free(m, p) ||
		    !is_free(m, far))
			continue;
		peer = node_of(m, far);
		if (peer->sharp || (up ? peer->type != TOPO_SWITCH || peer->level != level + 1
				       : peer->type == TOPO_SWITCH))
			continue;
		return p;
	}
	return TOPO_NONE;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static void own(struct miswiring *m, uint32_t port)
{
	uint32_t host = port == TOPO_NONE ? TOPO_NONE : node_of(m, port)->host;

	if (port == TOPO_NONE)
		return;
	m->owner[port] = m->nplanted + 1;
	if (host != TOPO_NONE)
		m->busy[host] = true;
}

static void join(struct miswiring *m, uint32_t a, uint32_t b)
{
	m->peer[a] = b;
	m->peer[b] = a;
}

static void plant(struct miswiring *m, struct planted planted)
{
	m->planted = mem_resize(m->planted, m->nplanted + 1, sizeof(*m->planted));
	m->planted[m->nplanted++] = planted;
}

/* The cables at a and b change places there; all four ends have to be named. */
static bool exchange(struct miswiring *m, enum mistake mistake, uint32_t a, uint32_t b)
{
	uint32_t far_a = m->peer[a], far_b = m->peer[b];

	own(m, a);
	own(m, b);
	own(m, far_a);
	own(m, far_b);
	join(m, a, far_b);
	join(m, b, far_a);
	plant(m, (struct planted){ .mistake = mistake,
				   .keys = { a, b, far_a, far_b },
				   .nkeys = 4,
				   .kinds = KIND(SWAP),
				   .plan_kinds = KIND(SWAP) });
	return true;
}

/* The far end of the cable at `from` comes to `to`, whose own cable is out. */
static bool replug(struct miswiring *m, enum mistake mistake, uint32_t from, uint32_t to,
		   unsigned kinds)
{
	uint32_t far = m->peer[from], lost = m->peer[to];

	own(m, from);
	own(m, to);
	own(m, far);
	own(m, lost);
	m->peer[from] = TOPO_NONE;
	if (lost != TOPO_NONE)
		m->peer[lost] = TOPO_NONE;
	join(m, far, to);
	plant(m, (struct planted){ .mistake = mistake,
				   .keys = { far, to },
				   .nkeys = 2,
				   .kinds = kinds,
				   .plan_kinds = KIND(ELSEWHERE) });
	return true;
}

static bool take_out(struct miswiring *m, enum mistake mistake, uint32_t port)
{
	uint32_t far = m->peer[port];

	own(m, port);
	own(m, far);
	m->peer[port] = m->peer[far] = TOPO_NONE;
	plant(m, (struct planted){ .mistake = mistake,
				   .keys = { port, far },
				   .nkeys = 2,
				   .kinds = KIND(MISSING),
				   .plan_kinds = KIND(MISSING) });
	return true;
}

/* Two cables lose an end each, and what is left is one. */
static bool join_two(struct miswiring *m, enum mistake mistake, uint32_t a, uint32_t b)
{
	uint32_t far_a = m->peer[a], far_b = m->peer[b];

	own(m, a);
	own(m, b);
	own(m, far_a);
	own(m, far_b);
	m->peer[far_a] = m->peer[far_b] = TOPO_NONE;
	join(m, a, b);
	plant(m, (struct planted){ .mistake = mistake,
				   .keys = { a, b },
				   .nkeys = 2,
				   .kinds = KIND(SAME_TIER),
				   .plan_kinds = KIND(ELSEWHERE) });
	return true;
}

static bool lose_hca(struct miswiring *m, uint32_t port)
{
	uint32_t far = m->peer[port];

	own(m, port);
	own(m, far);
	m->gone[m->t->ports[far].node] = true;
	m->peer[port] = m->peer[far] = TOPO_NONE;
	plant(m, (struct planted){ .mistake = MISTAKE_NO_HCA,
				   .keys = { port, far },
				   .nkeys = 2,
				   .kinds = KIND(NO_HCA),
				   .plan_kinds = KIND(ABSENT) });
	return true;
}

static bool slow_down(struct miswiring *m, enum mistake mistake, uint32_t port)
{
	uint32_t far = m->peer[port];
	bool narrow = mistake == MISTAKE_NARROW;

	own(m, port);
	own(m, far);
	if (narrow)
		m->width[port] = m->width[far] = 2;
	else
		m->speed[port] = m->speed[far] = m->speed[port] - 1;
	plant(m, (struct planted){ .mistake = mistake,
				   .keys = { port, far },
				   .nkeys = 2,
				   .kinds = narrow ? KIND(WIDTH) : KIND(SPEED) });
	return true;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

enum like { OTHER, SAME };

/* What a second port has to have in common with a first one, and what not. */
static bool fits(const struct miswiring *m, enum mistake mistake, uint32_t a, uint32_t b)
{
	const struct topo_node *leaf_a = node_of(m, a), *leaf_b = node_of(m, b);
	const struct topo_node *far_a = node_of(m, m->peer[a]), *far_b = node_of(m, m->peer[b]);

	switch (mistake) {
	case MISTAKE_RAILS:
		return far_a->host == far_b->host && leaf_a != leaf_b;
	case MISTAKE_HOSTS:
		return leaf_a == leaf_b;
	case MISTAKE_UNITS:
		return leaf_a->su != leaf_b->su && leaf_a->rail == leaf_b->rail;
	case MISTAKE_ACROSS:
		return leaf_a->su != leaf_b->su && leaf_a->rail != leaf_b->rail;
	case MISTAKE_WHOLE_HOSTS:
		return leaf_a->su != leaf_b->su;
	case MISTAKE_SAME_UNIT:
		return leaf_a->su == leaf_b->su && far_a->host != far_b->host;
	case MISTAKE_LEAF_PORTS:
	case MISTAKE_CORES:
		return leaf_a == leaf_b && far_a != far_b;
	case MISTAKE_SPINE_PORTS:
	case MISTAKE_CORE_PORTS:
		return leaf_a != leaf_b && far_a == far_b;
	case MISTAKE_LANES:
		return leaf_a == leaf_b && far_a == far_b;
	case MISTAKE_DOUBLED:
	case MISTAKE_SPINE_SPINE:
		return leaf_a != leaf_b && far_a != far_b;
	case MISTAKE_HCA_SPINE:
		return true;
	default:
		return leaf_a != leaf_b;
	}
}

static bool has_cable(const struct miswiring *m, const struct topo_node *sw,
		      const struct topo_node *other)
{
	for (unsigned num = 1; num <= sw->nports; num++) {
		uint32_t peer = m->t->ports[sw->port0 + num].peer;

		if (peer != TOPO_NONE && node_of(m, peer) == other)
			return true;
	}
	return false;
}

/* Leaves of two pods have no spine in common. */
static bool in_other_pods(const struct miswiring *m, uint32_t a, uint32_t b)
{
	return !has_cable(m, node_of(m, a), node_of(m, m->peer[b]));
}

/* A second port beside a first one; TOPO_NONE = there is none. */
static uint32_t pick_beside(struct miswiring *m, enum mistake mistake, uint32_t a, unsigned level,
			    bool up)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t b = mistake == MISTAKE_RAILS ? TOPO_NONE : pick(m, level, up);

		if (mistake == MISTAKE_RAILS) {
			const struct topo_host *host = &m->t->hosts[node_of(m, m->peer[a])->host];
			uint32_t ca = m->t->host_cas[host->first + below(m, host->ncas)];

			b = m->peer[m->t->nodes[ca].port0 + 1];
		}
		if (b == TOPO_NONE)
			return b;
		if (a != b && fits(m, mistake, a, b) &&
		    (mistake != MISTAKE_PODS || in_other_pods(m, a, b)) &&
		    (mistake != MISTAKE_DOUBLED || !in_other_pods(m, a, b)))
			return b;
	}
	return TOPO_NONE;
}

/* All HCAs of two hosts, rail by rail. */
static bool exchange_hosts(struct miswiring *m, enum mistake mistake, uint32_t a, uint32_t b)
{
	const struct topo_host *ha = &m->t->hosts[node_of(m, m->peer[a])->host],
			       *hb = &m->t->hosts[node_of(m, m->peer[b])->host];
	bool units = mistake == MISTAKE_WHOLE_HOSTS;

	for (uint32_t i = 0; i < ha->ncas; i++) {
		uint32_t ca = m->t->nodes[m->t->host_cas[ha->first + i]].port0 + 1,
			 cb = m->t->nodes[m->t->host_cas[hb->first + i]].port0 + 1;
		uint32_t pa = m->peer[ca], pb = m->peer[cb];

		own(m, pa);
		own(m, pb);
		own(m, ca);
		own(m, cb);
		join(m, ca, pb);
		join(m, cb, pa);
	}
	plant(m, (struct planted){ .mistake = mistake,
				   .keys = { m->peer[a], m->peer[b] },
				   .nkeys = units ? 0 : 2,
				   .kinds = units ? KIND(HOST) : 0,
				   .plan_kinds = KIND(SWAP) });
	return true;
}

static bool add_pair(struct miswiring *m, enum mistake mistake)
{
	unsigned level = mistake == MISTAKE_CORES || mistake == MISTAKE_CORE_PORTS ? 1 : 0;
	bool hosts = mistake <= MISTAKE_WHOLE_HOSTS || mistake == MISTAKE_SAME_UNIT;
	uint32_t a = pick(m, level, !hosts), b;

	b = a == TOPO_NONE ? a : pick_beside(m, mistake, a, level, !hosts);
	if (b == TOPO_NONE)
		return false;
	switch (mistake) {
	case MISTAKE_WHOLE_HOSTS:
	case MISTAKE_SAME_UNIT:
		return exchange_hosts(m, mistake, a, b);
	case MISTAKE_LEAF_LEAF:
		return join_two(m, mistake, a, b);
	case MISTAKE_SPINE_SPINE:
		return join_two(m, mistake, m->peer[a], m->peer[b]);
	case MISTAKE_DOUBLED:
		return replug(m, mistake, m->peer[a], m->peer[b], KIND(DOUBLED) | KIND(SWITCH));
	case MISTAKE_SPINE_PORTS:
	case MISTAKE_CORE_PORTS:
		return exchange(m, mistake, m->peer[a], m->peer[b]);
	default:
		return exchange(m, mistake, a, b);
	}
}

/* An HCA of the leaf that an uplink is of. */
static uint32_t pick_hca_of(struct miswiring *m, uint32_t uplink)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t p = pick(m, 0, false);

		if (p == TOPO_NONE || node_of(m, p) == node_of(m, uplink))
			return p;
	}
	return TOPO_NONE;
}

static bool add_hca_uplink(struct miswiring *m, enum mistake mistake)
{
	uint32_t uplink = pick(m, 0, true), hca;

	if (uplink == TOPO_NONE)
		return false;
	hca = mistake == MISTAKE_HCA_SPINE ? pick(m, 0, false) : pick_hca_of(m, uplink);
	if (hca == TOPO_NONE)
		return false;
	if (mistake == MISTAKE_HCA_UPLINK)
		return exchange(m, mistake, hca, uplink);
	return replug(m, mistake, hca, mistake == MISTAKE_HCA_SPINE ? m->peer[uplink] : uplink,
		      KIND(UPLINK_PORT));
}

/* A port without a cable, but the one that leads to an aggregation node; TOPO_NONE = none found. */
static uint32_t pick_unused(struct miswiring *m, unsigned level, const struct topo_node *on)
{
	for (unsigned i = 0; i < TRIES * 10; i++) {
		uint32_t p =
			on ? on->port0 + 1 + below(m, on->nports) : below(m, m->t->nswitch_ports);
		const struct topo_node *sw = node_of(m, p);

		if (m->t->ports[p].num && m->t->ports[p].num < sw->nports && sw->level == level &&
		    m->t->ports[p].peer == TOPO_NONE && is_free(m, p))
			return p;
	}
	return TOPO_NONE;
}

static bool add_in_free_port(struct miswiring *m, enum mistake mistake)
{
	uint32_t hca = pick(m, 0, false), to;

	if (hca == TOPO_NONE)
		return false;
	to = pick_unused(m, 0, mistake == MISTAKE_FREE_PORT ? node_of(m, hca) : NULL);
	if (to == TOPO_NONE || (mistake == MISTAKE_FREE_LEAF && node_of(m, to) == node_of(m, hca)))
		return false;
	return replug(m, mistake, hca, to,
		      mistake == MISTAKE_FREE_PORT ? KIND(PORT) : KIND(RAIL) | KIND(LEAF));
}

static bool add_extra(struct miswiring *m)
{
	unsigned level = below(m, 2);
	uint32_t a = pick_unused(m, level, NULL), b;

	b = a == TOPO_NONE ? a : pick_unused(m, level, NULL);
	if (b == TOPO_NONE || node_of(m, a) == node_of(m, b))
		return false;
	own(m, a);
	own(m, b);
	join(m, a, b);
	plant(m, (struct planted){ .mistake = MISTAKE_EXTRA,
				   .keys = { a, b },
				   .nkeys = 2,
				   .kinds = KIND(SAME_TIER),
				   .plan_kinds = KIND(EXTRA) });
	return true;
}

static bool add_leaf_core(struct miswiring *m)
{
	uint32_t uplink = pick(m, 0, true), spine = pick(m, 1, true);

	return uplink != TOPO_NONE && spine != TOPO_NONE &&
	       replug(m, MISTAKE_LEAF_CORE, m->peer[uplink], m->peer[spine], KIND(SWITCH));
}

bool miswiring_add(struct miswiring *m, enum mistake mistake)
{
	uint32_t p;

	switch (mistake) {
	case MISTAKE_NO_HCA:
	case MISTAKE_SLOW_HCA:
		p = pick(m, 0, false);
		return p != TOPO_NONE &&
		       (mistake == MISTAKE_NO_HCA ? lose_hca(m, p) : slow_down(m, mistake, p));
	case MISTAKE_HCA_UPLINK:
	case MISTAKE_HCA_MOVED:
	case MISTAKE_HCA_SPINE:
		return add_hca_uplink(m, mistake);
	case MISTAKE_LOST:
	case MISTAKE_LOST_CORE:
		p = pick(m, mistake == MISTAKE_LOST ? 0 : 1, true);
		return p != TOPO_NONE && take_out(m, mistake, p);
	case MISTAKE_SLOW_UPLINK:
	case MISTAKE_NARROW:
		p = pick(m, 0, mistake == MISTAKE_SLOW_UPLINK || below(m, 2));
		return p != TOPO_NONE && slow_down(m, mistake, p);
	case MISTAKE_LEAF_CORE:
		return add_leaf_core(m);
	case MISTAKE_FREE_PORT:
	case MISTAKE_FREE_LEAF:
		return add_in_free_port(m, mistake);
	case MISTAKE_EXTRA:
		return add_extra(m);
	default:
		return add_pair(m, mistake);
	}
}

void miswiring_take_out_host(struct miswiring *m, uint32_t host)
{
	const struct topo_host *h = &m->t->hosts[host];

	m->busy[host] = true;
	for (uint32_t i = 0; i < h->ncas; i++) {
		const struct topo_node *ca = &m->t->nodes[m->t->host_cas[h->first + i]];

		m->gone[m->t->host_cas[h->first + i]] = true;
		for (unsigned num = 1; num <= ca->nports; num++) {
			uint32_t peer = m->peer[ca->port0 + num];

			if (peer != TOPO_NONE)
				m->peer[peer] = m->peer[ca->port0 + num] = TOPO_NONE;
		}
	}
}

/* ---- The fabric ------------------------------------------------------------------------------ */

static void build_node(const struct miswiring *m, struct topo_builder *b, uint32_t n)
{
	const struct topo_node *node = &m->t->nodes[n];
	int handle =
		topo_builder_node(b, &(struct topo_node){ .guid = node->guid,
							  .sys_guid = node->sys_guid,
							  .desc = node->desc,
							  .vendor = node->vendor,
							  .device = node->device,
							  .type = node->type,
							  .nports = node->nports,
							  .sharp = node->sharp,
							  .enhanced_port0 = node->enhanced_port0 });

	for (unsigned num = node->type == TOPO_SWITCH ? 0 : 1; num <= node->nports; num++) {
		uint32_t p = node->port0 + num;
		const struct topo_port *port = &m->t->ports[p];
		struct topo_port attr = { .guid = port->guid,
					  .lid = port->lid,
					  .state = port->state,
					  .speed = m->speed[p],
					  .width = m->width[p],
					  .mtu = port->mtu };

		topo_builder_port(b, handle, num, &attr);
	}
}

struct topo *miswiring_freeze(const struct miswiring *m)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < m->t->nnodes; n++)
		if (!m->gone[n])
			build_node(m, b, n);
	for (uint32_t p = 0; p < m->t->nports; p++) {
		uint32_t peer = m->peer[p];

		if (peer == TOPO_NONE || peer < p)
			continue;
		if (topo_builder_link(b, topo_builder_find(b, node_of(m, p)->guid),
				      m->t->ports[p].num,
				      topo_builder_find(b, node_of(m, peer)->guid),
				      m->t->ports[peer].num, m->t->ports[p].link_up))
			abort();
	}
	return topo_freeze(b);
}
