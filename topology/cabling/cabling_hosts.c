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
#include "topology/cabling/cabling_own.h"
#include "topology/base/mem.h"

#define AMBIGUOUS (TOPO_NONE - 1)

/* The switch port that an HCA is connected to, TOPO_NONE = none. */
static uint32_t switch_port(const struct wiring *w, uint32_t ca)
{
	const struct topo_port *port = topo_link_from(w->t, ca, 1);
	uint32_t peer = port ? w->v[port - w->t->ports].found : TOPO_NONE;

	return peer < w->t->nswitch_ports ? peer : TOPO_NONE;
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
	for (uint32_t n = 0; n < u->t->nnodes; n++) {
		if (u->t->nodes[n].su >= (int)u->count)
			u->count = u->t->nodes[n].su + 1;
		if (u->t->nodes[n].rail >= (int)u->rails)
			u->rails = u->t->nodes[n].rail + 1;
	}
	u->leaf = mem_array(u->leaf, u->count * u->rails + 1);
	u->places = mem_array(u->places, w->t->nhosts + 1);
	u->same = mem_array(u->same, u->count + 1);
	u->all = mem_array(u->all, u->count + 1);
	memset(u->leaf, 0xff, u->count * u->rails * sizeof(*u->leaf));

	/*
	 * The leaf of a rail is the unit's switch with nearly all HCAs of it: others have stray
	 * ones.
	 */
	uint32_t *hcas = mem_array(hcas, u->count * u->rails + 1);

	for (uint32_t sw = 0; sw < u->t->nswitches; sw++) {
		const struct topo_node *node = &u->t->nodes[sw];
		uint32_t place = node->su * (int)u->rails + node->rail, its = 0;

		if (node->su < 0 || node->rail < 0)
			continue;
		TOPO_LINKS (u->t, sw, port, peer)
			its += peer->node >= u->t->nswitches && u->t->nodes[peer->node].rail >= 0;
		if (u->leaf[place] == TOPO_NONE || its > hcas[place] * 4) {
			u->leaf[place] = sw;
			hcas[place] = its;
		} else if (its * 4 >= hcas[place]) {
			u->leaf[place] = AMBIGUOUS;
			hcas[place] = its > hcas[place] ? its : hcas[place];
		}
	}
	free(hcas);
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

/*
 * Expects an HCA at its host's port of the leaf. True also where that has an HCA that says the same
 * of itself: one of the two has the other's name.
 */
static bool expect_at_port(struct wiring *w, const struct units *u, const struct topo_node *ca,
			   uint32_t port, uint32_t leaf)
{
	unsigned num = units_port(u, ca->host);
	uint32_t place = w->t->nodes[leaf].port0 + num, it;

	if (!num || num > w->t->nodes[leaf].nports)
		return false;
	if (wiring_expect(w, port, place, u->places[ca->host].votes))
		return true;
	it = w->v[place].want == TOPO_NONE ? TOPO_NONE : w->v[w->v[place].want].node;
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
		if (j == i || w->v[list[j].port].want != TOPO_NONE ||
		    w->v[list[j].at].node != list[i].leaf || w->v[list[i].at].node != list[j].leaf)
			continue;
		if (list[j].host == list[i].host)
			return j;
		best = best == TOPO_NONE ? j : best;
	}
	return best;
}

static void expect_hca(struct wiring *w, const struct units *u, uint32_t ca, struct loose *loose,
		       uint32_t *n)
{
	const struct topo_node *node = &w->t->nodes[ca];
	const struct topo_port *first = topo_link_from(w->t, ca, 1);
	uint32_t leaf = node->rail < 0 ? TOPO_NONE : units_leaf(u, node->su, node->rail);
	uint32_t port = first ? (first - w->t->ports) : TOPO_NONE;
	uint32_t at = first ? w->v[port].found : TOPO_NONE;

	if (node->rail < 0 || at == TOPO_NONE || !units_has_rails(u, node->host))
		return;
	if (leaf == TOPO_NONE) {
		/* In a director a rail has several leaves: any will do, and no other rail's. */
		const struct topo_node *its = &w->t->nodes[w->v[at].node];

		if (at < w->t->nswitch_ports && its->rail >= 0 && its->su == node->su &&
		    its->rail != node->rail)
			w->v[port].stray = w->v[at].stray = true;
		return;
	}
	if (expect_at_port(w, u, node, port, leaf))
		return;
	if (w->v[at].node == leaf)
		wiring_expect(w, port, at, u->places[node->host].votes);
	else
		loose[(*n)++] = (struct loose){ port, at, leaf, node->host };
}

void cabling_expect_hosts(struct wiring *w)
{
	struct loose *loose = mem_array(loose, w->t->ncas + 1);
	uint32_t n = 0;
	struct units u;

	units_init(&u, w);
	/*
	 * HCAs that are in their places come first: no other one that has their name is expected
	 * there.
	 */
	for (uint32_t ca = w->t->nswitches; ca < w->t->nnodes; ca++) {
		const struct topo_node *node = &w->t->nodes[ca];
		uint32_t at = node->rail < 0 ? TOPO_NONE : switch_port(w, ca), leaf;

		if (at == TOPO_NONE || !units_has_rails(&u, node->host))
			continue;
		leaf = units_leaf(&u, node->su, node->rail);
		if (w->v[at].node == leaf && w->v[at].end.port == units_port(&u, node->host))
			wiring_expect(w, w->v[at].found, at, u.places[node->host].votes);
	}
	for (uint32_t ca = w->t->nswitches; ca < w->t->nnodes; ca++)
		expect_hca(w, &u, ca, loose, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct wiring_votes votes = u.places[loose[i].host].votes;

		if (w->v[loose[i].port].want != TOPO_NONE)
			continue;

		uint32_t j = find_partner(w, loose, n, i);

		if (j != TOPO_NONE && wiring_expect(w, loose[i].port, loose[j].at, votes) &&
		    wiring_expect(w, loose[j].port, loose[i].at, votes))
			continue;
		wiring_drop(w, loose[i].port);
		wiring_expect(w, loose[i].port,
			      wiring_add_end(w, loose[i].leaf, w->t->nodes[loose[i].leaf].name, 0),
			      votes);
	}
	units_fini(&u);
	free(loose);
}

/* ---- Rails alone ----------------------------------------------------------------------------- */

struct cabling *cabling_rails(const struct topo *t)
{
	struct wiring w;
	struct units u;

	wiring_init(&w, t);
	units_init(&u, &w);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		const struct topo_node *ca = &w.t->nodes[n];
		const struct topo_port *port = ca->rail < 0 ? NULL : topo_link_from(w.t, n, 1);
		const struct topo_port *peer = port ? topo_peer(w.t, port) : NULL;
		const struct topo_node *leaf = peer ? &w.t->nodes[peer->node] : NULL;
		const char *belongs = NULL;

		if (!leaf || leaf->rail < 0 || !units_has_rails(&u, ca->host))
			continue;
		w.result->compared++;
		if (leaf->rail == ca->rail)
			continue;
		/* The leaf of its rail in its unit, one of several. */
		for (uint32_t sw = 0; sw < t->nswitches && !belongs; sw++)
			if (t->nodes[sw].level == 0 && t->nodes[sw].su == ca->su &&
			    t->nodes[sw].rail == ca->rail)
				belongs = t->nodes[sw].name;
		cabling_add(w.result, &(struct cabling_item){ .kind = CABLING_RAIL,
							      .at = cabling_end_of(w.t, peer),
							      .found = cabling_end_of(w.t, port),
							      .belongs.name = belongs,
							      .a = cabling_end_of(w.t, port),
							      .b = cabling_end_of(w.t, peer),
							      .a_found = cabling_end_of(w.t, peer),
							      .b_found = cabling_end_of(w.t, port),
							      .rail = ca->rail,
							      .leaf_rail = leaf->rail });
	}
	units_fini(&u);
	free(w.v);
	return w.result;
}
