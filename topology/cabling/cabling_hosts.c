/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_hosts: which leaf and port each HCA of a rail-optimised host belongs on.
 *
 * The leaf is that of the HCA's rail in the host's scalable unit (rail.c: rails by device names,
 * units by where most of a host's HCAs are). The port is the one that most of the host's HCAs are
 * at, each on its own leaf, where hosts have one: in a unit in which 85% of the HCAs are at such a
 * port. Else any port of the leaf will do. Hosts without rails (storage, management) may be
 * anywhere.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/cabling/cabling_hosts.h"
#include "topology/base/mem.h"

#define AMBIGUOUS (TOPO_NONE - 1)

/* The switch port that an HCA is connected to, TOPO_NONE = none. */
static uint32_t switch_port(const struct wiring *w, uint32_t ca)
{
	const struct topo_port *port = cabling_first_cabled(w->t, ca);
	uint32_t peer = port ? w->found[port - w->t->ports] : TOPO_NONE;

	return peer < w->t->nswitch_ports ? peer : TOPO_NONE;
}

static void size_units(struct units *u)
{
	for (uint32_t n = 0; n < u->t->nnodes; n++) {
		if (u->t->nodes[n].su >= (int)u->count)
			u->count = u->t->nodes[n].su + 1;
		if (u->t->nodes[n].rail >= (int)u->rails)
			u->rails = u->t->nodes[n].rail + 1;
	}
}

static uint32_t count_hcas(const struct topo *t, uint32_t sw)
{
	uint32_t count = 0;

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		count += peer && peer->node >= t->nswitches && t->nodes[peer->node].rail >= 0;
	}
	return count;
}

/* The leaf of a rail is the unit's switch with nearly all HCAs of it: others have stray ones. */
static void choose_leaves(struct units *u)
{
	uint32_t *hcas = mem_alloc(u->count * u->rails + 1, sizeof(*hcas));

	for (uint32_t sw = 0; sw < u->t->nswitches; sw++) {
		const struct topo_node *node = &u->t->nodes[sw];
		uint32_t place = (uint32_t)(node->su * (int)u->rails + node->rail), its;

		if (node->su < 0 || node->rail < 0)
			continue;
		its = count_hcas(u->t, sw);
		if (u->leaf[place] == TOPO_NONE || its > hcas[place] * 4) {
			u->leaf[place] = sw;
			hcas[place] = its;
		} else if (its * 4 >= hcas[place]) {
			u->leaf[place] = AMBIGUOUS;
			hcas[place] = its > hcas[place] ? its : hcas[place];
		}
	}
	free(hcas);
}

int units_of_host(const struct units *u, uint32_t host)
{
	return u->t->nodes[u->t->host_cas[u->t->hosts[host].first]].su;
}

uint32_t units_leaf(const struct units *u, int su, int rail)
{
	uint32_t leaf = su < 0 || rail < 0 || rail >= (int)u->rails ? TOPO_NONE
								    : u->leaf[su * u->rails + rail];

	return leaf == AMBIGUOUS ? TOPO_NONE : leaf;
}

/* Hosts with fewer (storage, login) are not cabled by rails. */
bool units_has_rails(const struct units *u, uint32_t host)
{
	const struct topo_host *h = &u->t->hosts[host];
	uint32_t rails = 0, own = 0;
	int su = units_of_host(u, host);

	for (uint32_t rail = 0; su >= 0 && rail < u->rails; rail++)
		rails += u->leaf[su * u->rails + rail] != TOPO_NONE;
	for (uint32_t i = 0; i < h->ncas; i++)
		own += u->t->nodes[u->t->host_cas[h->first + i]].rail >= 0;
	return rails && own * 2 > rails;
}

/* The port number that most of the host's HCAs are at. */
static void place_host(struct units *u, uint32_t host)
{
	const struct topo_host *h = &u->t->hosts[host];
	struct host_place *place = &u->places[host];
	uint32_t count[256] = { 0 };
	int su = units_of_host(u, host);

	for (uint32_t i = 0; i < h->ncas; i++) {
		uint32_t ca = u->t->host_cas[h->first + i], port = switch_port(u->w, ca);

		if (u->t->nodes[ca].rail < 0 || port == TOPO_NONE)
			continue;
		place->votes.of++;
		if (++count[u->t->ports[port].num] > place->votes.votes) {
			place->votes.votes = count[u->t->ports[port].num];
			place->port = u->t->ports[port].num;
		}
	}
	if (su >= 0) {
		u->same[su] += place->votes.votes;
		u->all[su] += place->votes.of;
	}
}

void units_init(struct units *u, const struct wiring *w)
{
	*u = (struct units){ .t = w->t, .w = w };
	size_units(u);
	u->leaf = mem_alloc(u->count * u->rails + 1, sizeof(*u->leaf));
	u->places = mem_alloc(w->t->nhosts + 1, sizeof(*u->places));
	u->same = mem_alloc(u->count + 1, sizeof(*u->same));
	u->all = mem_alloc(u->count + 1, sizeof(*u->all));
	memset(u->leaf, 0xff, u->count * u->rails * sizeof(*u->leaf));
	choose_leaves(u);
	for (uint32_t h = 0; h < w->t->nhosts; h++)
		if (units_has_rails(u, h))
			place_host(u, h);
}

void units_fini(struct units *u)
{
	free(u->leaf);
	free(u->places);
	free(u->same);
	free(u->all);
}

unsigned units_port(const struct units *u, uint32_t host)
{
	const struct host_place *place = &u->places[host];
	int su = units_of_host(u, host);

	return su >= 0 && place->votes.votes >= 3 &&
			       most(place->votes.votes, place->votes.of, 5, 8) &&
			       most(u->same[su], u->all[su], 17, 20)
		       ? place->port
		       : 0;
}

/* ---- Each HCA -------------------------------------------------------------------------------- */

/* Wrong HCAs that only a leaf is known for. */
struct loose {
	uint32_t port, at, leaf, host;
};

static bool expect_at_port(struct wiring *w, const struct units *u, uint32_t host, uint32_t port,
			   uint32_t leaf)
{
	unsigned num = units_port(u, host);

	return num && num <= w->t->nodes[leaf].nports &&
	       wiring_expect(w, port, w->t->nodes[leaf].port0 + num, u->places[host].votes);
}

/* Its own place has an HCA that says the same of itself: one of the two has the other's name. */
static bool is_twin(const struct wiring *w, const struct units *u, const struct topo_node *ca,
		    uint32_t leaf)
{
	unsigned num = units_port(u, ca->host);
	uint32_t place = w->t->nodes[leaf].port0 + num, it;

	if (!num || num > w->t->nodes[leaf].nports || w->want[place] == TOPO_NONE)
		return false;
	it = w->node[w->want[place]];
	return it != TOPO_NONE && &w->t->nodes[it] != ca && w->t->nodes[it].host == ca->host &&
	       w->t->nodes[it].rail == ca->rail;
}

/*
 * Another misplaced HCA, each on the leaf where the other belongs; one of the same host is
 * preferred. TOPO_NONE = there is none.
 */
static uint32_t find_partner(const struct wiring *w, const struct loose *list, uint32_t n,
			     uint32_t i)
{
	uint32_t best = TOPO_NONE;

	for (uint32_t j = 0; j < n; j++) {
		if (j == i || w->want[list[j].port] != TOPO_NONE ||
		    w->node[list[j].at] != list[i].leaf || w->node[list[i].at] != list[j].leaf)
			continue;
		if (list[j].host == list[i].host)
			return j;
		best = best == TOPO_NONE ? j : best;
	}
	return best;
}

static void match_loose(struct wiring *w, const struct units *u, const struct loose *list,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct wiring_votes votes = u->places[list[i].host].votes;
		uint32_t j;

		if (w->want[list[i].port] != TOPO_NONE)
			continue;
		j = find_partner(w, list, n, i);
		if (j != TOPO_NONE && wiring_expect(w, list[i].port, list[j].at, votes) &&
		    wiring_expect(w, list[j].port, list[i].at, votes))
			continue;
		wiring_drop(w, list[i].port);
		wiring_expect(w, list[i].port,
			      wiring_add_end(w, list[i].leaf, w->t->nodes[list[i].leaf].name, 0),
			      votes);
	}
}

/* In a director a rail has several leaves: any will do, and no other rail's. */
static void judge_any_leaf(struct wiring *w, const struct topo_node *ca, uint32_t port, uint32_t at)
{
	const struct topo_node *leaf = &w->t->nodes[w->node[at]];

	if (at < w->t->nswitch_ports && leaf->rail >= 0 && leaf->su == ca->su &&
	    leaf->rail != ca->rail)
		w->stray[port] = w->stray[at] = true;
}

static void expect_hca(struct wiring *w, const struct units *u, uint32_t ca, struct loose *loose,
		       uint32_t *n)
{
	const struct topo_node *node = &w->t->nodes[ca];
	const struct topo_port *first = cabling_first_cabled(w->t, ca);
	uint32_t leaf = node->rail < 0 ? TOPO_NONE : units_leaf(u, node->su, node->rail);
	uint32_t port = first ? (uint32_t)(first - w->t->ports) : TOPO_NONE;
	uint32_t at = first ? w->found[port] : TOPO_NONE;

	if (node->rail < 0 || at == TOPO_NONE || !units_has_rails(u, node->host))
		return;
	if (leaf == TOPO_NONE) {
		judge_any_leaf(w, node, port, at);
		return;
	}
	if (expect_at_port(w, u, node->host, port, leaf) || is_twin(w, u, node, leaf))
		return;
	if (w->node[at] == leaf)
		wiring_expect(w, port, at, u->places[node->host].votes);
	else
		loose[(*n)++] = (struct loose){ port, at, leaf, node->host };
}

/* HCAs that are in their places come first: no other one that has their name is expected there. */
static void expect_in_place(struct wiring *w, const struct units *u)
{
	for (uint32_t ca = w->t->nswitches; ca < w->t->nnodes; ca++) {
		const struct topo_node *node = &w->t->nodes[ca];
		uint32_t at = node->rail < 0 ? TOPO_NONE : switch_port(w, ca), leaf;

		if (at == TOPO_NONE || !units_has_rails(u, node->host))
			continue;
		leaf = units_leaf(u, node->su, node->rail);
		if (w->node[at] == leaf && w->ends[at].port == units_port(u, node->host))
			wiring_expect(w, w->found[at], at, u->places[node->host].votes);
	}
}

void cabling_expect_hosts(struct wiring *w)
{
	struct loose *loose = mem_alloc(w->t->ncas + 1, sizeof(*loose));
	uint32_t n = 0;
	struct units u;

	units_init(&u, w);
	expect_in_place(w, &u);
	for (uint32_t ca = w->t->nswitches; ca < w->t->nnodes; ca++)
		expect_hca(w, &u, ca, loose, &n);
	match_loose(w, &u, loose, n);
	units_fini(&u);
	free(loose);
}

/* ---- Rails alone ----------------------------------------------------------------------------- */

/* The leaf of a rail in a scalable unit, one of several; or NULL. */
static const char *leaf_of_rail(const struct topo *t, int su, int rail)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == 0 && t->nodes[sw].su == su && t->nodes[sw].rail == rail)
			return t->nodes[sw].name;
	return NULL;
}

static void judge_rail(struct wiring *w, const struct units *u, uint32_t n)
{
	const struct topo_node *ca = &w->t->nodes[n];
	const struct topo_port *port = ca->rail < 0 ? NULL : cabling_first_cabled(w->t, n);
	const struct topo_port *peer = port ? topo_peer(w->t, port) : NULL;
	const struct topo_node *leaf = peer ? &w->t->nodes[peer->node] : NULL;

	if (!leaf || leaf->rail < 0 || !units_has_rails(u, ca->host))
		return;
	w->result->compared++;
	if (leaf->rail == ca->rail)
		return;
	cabling_add(w->result,
		    &(struct cabling_item){ .kind = CABLING_RAIL,
					    .at = cabling_end_of(w->t, peer),
					    .found = cabling_end_of(w->t, port),
					    .belongs.name = leaf_of_rail(w->t, ca->su, ca->rail),
					    .a = cabling_end_of(w->t, port),
					    .b = cabling_end_of(w->t, peer),
					    .a_found = cabling_end_of(w->t, peer),
					    .b_found = cabling_end_of(w->t, port),
					    .rail = ca->rail,
					    .leaf_rail = leaf->rail });
}

struct cabling *cabling_rails(const struct topo *t)
{
	struct wiring w;
	struct units u;

	wiring_init(&w, t);
	units_init(&u, &w);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		judge_rail(&w, &u, n);
	units_fini(&u);
	wiring_fini(&w);
	return w.result;
}
