/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <stdlib.h>
#include "topology/cutoff.h"
#include "topology/islands.h"
#include "topology/mem.h"

struct search {
	const struct topo *t;
	uint32_t *island;     /* by switch */
	uint32_t main;	      /* the one that counts as reached; TOPO_NONE = none */
	const uint8_t *among; /* by node: which CAs decide it by their number; NULL = all */
};

/* The island that a CA is in, by its first link that is up. */
static uint32_t island_of_ca(const struct search *s, uint32_t ca)
{
	for (unsigned num = 1; num <= s->t->nodes[ca].nports; num++) {
		const struct topo_port *port = topo_port(s->t, ca, num);
		uint32_t to = port->link_up ? topo_peer(s->t, port)->node : TOPO_NONE;

		if (to < s->t->nswitches)
			return s->island[to];
	}
	return TOPO_NONE;
}

/* That with most HCAs. */
static uint32_t largest(const struct search *s, uint32_t islands)
{
	uint32_t *hcas = mem_alloc(islands + 1, sizeof(*hcas)), best = TOPO_NONE;

	for (uint32_t ca = s->t->nswitches; ca < s->t->nnodes; ca++) {
		bool counts = topo_is_host(s->t, ca) && (!s->among || s->among[ca]);
		uint32_t at = counts ? island_of_ca(s, ca) : TOPO_NONE;

		if (at != TOPO_NONE)
			hcas[at]++;
	}
	for (uint32_t i = 0; i < islands; i++)
		if (hcas[i] && (best == TOPO_NONE || hcas[i] > hcas[best]))
			best = i;
	free(hcas);
	return best;
}

/* Of one link of an HCA; *sw: its switch, where that is to blame. */
static enum cutoff_fate port_fate(const struct search *s, const struct topo_port *port,
				  uint32_t *sw)
{
	const struct topo_port *peer = topo_peer(s->t, port);

	if (!peer || (peer->node >= s->t->nswitches && s->t->nswitches))
		return CUTOFF_NOT_KNOWN; /* no link was ever met, or it leads to another host */
	if (!s->t->nswitches)		 /* two hosts with a cable between them are a fabric */
		return port->link_up ? CUTOFF_REACHED : CUTOFF_OFF;
	*sw = peer->node;
	if (s->island[peer->node] != s->main)
		return CUTOFF_CUT_OFF;
	if (port->link_up)
		return CUTOFF_REACHED;
	return peer->state > TOPO_DOWN ? CUTOFF_CUT_OFF : CUTOFF_OFF;
}

static enum cutoff_fate hca_fate(const struct search *s, uint32_t ca, uint32_t *sw)
{
	enum cutoff_fate fate = CUTOFF_NOT_KNOWN;

	for (unsigned num = 1; num <= s->t->nodes[ca].nports; num++) {
		uint32_t at = TOPO_NONE;
		enum cutoff_fate one = port_fate(s, topo_port(s->t, ca, num), &at);

		if (one == CUTOFF_REACHED)
			return CUTOFF_REACHED;
		if (one == CUTOFF_OFF && fate == CUTOFF_CUT_OFF)
			continue; /* one of its leaves is dead: that is the worse news */
		if (one == CUTOFF_NOT_KNOWN)
			continue;
		fate = one;
		*sw = at;
	}
	return fate;
}

static bool is_hca(const struct topo *t, uint32_t node)
{
	return t->nodes[node].type == TOPO_CA && topo_is_host(t, node);
}

static enum cutoff_fate node_fate(const struct search *s, uint32_t node, uint32_t *sw)
{
	return is_hca(s->t, node) ? hca_fate(s, node, sw) : CUTOFF_NOT_KNOWN;
}

static void count_cut_off(const struct search *s, uint32_t *behind, struct cutoff *out)
{
	const struct topo *t = s->t;

	for (uint32_t ca = t->nswitches; ca < t->nnodes; ca++) {
		uint32_t sw = TOPO_NONE;
		enum cutoff_fate fate = node_fate(s, ca, &sw);

		out->off += fate == CUTOFF_OFF;
		if (fate != CUTOFF_CUT_OFF)
			continue;
		out->hcas++;
		if (s->island[sw] == s->main && out->hca == TOPO_NONE)
			out->hca = ca;
		if (s->island[sw] == s->main)
			continue;
		out->switches += !behind[sw]++;
		if (out->worst == TOPO_NONE || behind[sw] > behind[out->worst])
			out->worst = sw;
	}
}

/* The caller frees its islands. */
static struct search search_from(const struct topo *t, uint32_t from, const uint8_t *among)
{
	uint32_t islands;
	struct search s = { .t = t, .island = islands_find(t, &islands), .among = among };

	if (from == TOPO_NONE)
		s.main = largest(&s, islands);
	else
		s.main = from < t->nswitches ? s.island[from] : island_of_ca(&s, from);
	return s;
}

uint8_t *cutoff_fates(const struct topo *t, uint32_t from)
{
	struct search s = search_from(t, from, NULL);
	uint8_t *fates = mem_alloc(t->nnodes + 1, 1);
	uint32_t sw;

	for (uint32_t ca = t->nswitches; ca < t->nnodes && s.main != TOPO_NONE; ca++)
		fates[ca] = (uint8_t)node_fate(&s, ca, &sw);
	free(s.island);
	return fates;
}

uint8_t *cutoff_links(const struct topo *t, const uint8_t *among)
{
	struct search s = search_from(t, TOPO_NONE, among);
	uint8_t *links = mem_alloc(t->nnodes + 1, 1);
	uint32_t sw;

	for (uint32_t ca = t->nswitches; ca < t->nnodes; ca++)
		for (unsigned num = 1; is_hca(t, ca) && num <= t->nodes[ca].nports; num++)
			links[ca] += port_fate(&s, topo_port(t, ca, num), &sw) == CUTOFF_REACHED;
	free(s.island);
	return links;
}

void cutoff_find(const struct topo *t, uint32_t from, struct cutoff *out)
{
	uint32_t *behind = mem_alloc(t->nswitches + 1, sizeof(*behind));
	struct search s = search_from(t, from, NULL);

	*out = (struct cutoff){ .worst = TOPO_NONE, .hca = TOPO_NONE };
	if (s.main != TOPO_NONE)
		count_cut_off(&s, behind, out);
	free(behind);
	free(s.island);
}

static bool is_dead(const struct topo *t, uint32_t sw)
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++)
		if (topo_port(t, sw, num)->link_up)
			return false;
	return true;
}

int cutoff_describe(const struct topo *t, const struct cutoff *c, char *buf, size_t size)
{
	char more[48] = "";

	if (!c->hcas)
		return snprintf(buf, size, "%s", "");
	if (c->worst == TOPO_NONE)
		return snprintf(buf, size, "%u HCA%s cut off: the link of %s%s is not Active",
				c->hcas, c->hcas == 1 ? "" : "s", t->nodes[c->hca].name,
				c->hcas == 1 ? "" : " and others");
	if (c->switches > 1)
		snprintf(more, sizeof(more), ", and so %s %u more", c->switches == 2 ? "is" : "are",
			 c->switches - 1);
	return snprintf(buf, size, "%u HCA%s cut off: %s is %s%s", c->hcas, c->hcas == 1 ? "" : "s",
			t->nodes[c->worst].name, is_dead(t, c->worst) ? "down" : "unreachable",
			more);
}
