/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <stdlib.h>
#include "topology/cutoff.h"
#include "topology/mem.h"

struct search {
	const struct topo *t;
	uint32_t *island; /* by switch: the first one of its island + 1, 0 = not met yet */
	uint32_t *queue;
};

/* All switches that lead to each other by cables that are up. Returns how many HCAs they have. */
static uint32_t flood(struct search *s, uint32_t first)
{
	uint32_t count = 0, hcas = 0;

	s->island[first] = first + 1;
	s->queue[count++] = first;
	for (uint32_t at = 0; at < count; at++) {
		uint32_t sw = s->queue[at];

		for (unsigned num = 1; num <= s->t->nodes[sw].nports; num++) {
			const struct topo_port *port = topo_port(s->t, sw, num);
			uint32_t to = port->link_up ? topo_peer(s->t, port)->node : TOPO_NONE;

			if (to == TOPO_NONE)
				continue;
			if (to >= s->t->nswitches) {
				hcas += topo_is_host(s->t, to);
			} else if (!s->island[to]) {
				s->island[to] = first + 1;
				s->queue[count++] = to;
			}
		}
	}
	return hcas;
}

/* The island that a CA is in, by its first link that is up; 0 = in none. */
static uint32_t island_of_ca(const struct search *s, uint32_t ca)
{
	for (unsigned num = 1; num <= s->t->nodes[ca].nports; num++) {
		const struct topo_port *port = topo_port(s->t, ca, num);
		uint32_t to = port->link_up ? topo_peer(s->t, port)->node : TOPO_NONE;

		if (to < s->t->nswitches)
			return s->island[to];
	}
	return 0;
}

/* Floods all; returns the island that counts as reached, 0 = none. */
static uint32_t find_main(struct search *s, uint32_t from)
{
	uint32_t best = 0, most = 0;

	for (uint32_t sw = 0; sw < s->t->nswitches; sw++) {
		uint32_t hcas = s->island[sw] ? 0 : flood(s, sw);

		if (hcas > most) {
			best = sw + 1;
			most = hcas;
		}
	}
	if (from == TOPO_NONE)
		return best;
	return from < s->t->nswitches ? s->island[from] : island_of_ca(s, from);
}

enum fate { REACHED, OFF, CUT_OFF, UNKNOWN };

/* Of one cable of an HCA; *sw: its switch, where that is to blame. */
static enum fate port_fate(const struct search *s, uint32_t main, const struct topo_port *port,
			   uint32_t *sw)
{
	const struct topo_port *peer = topo_peer(s->t, port);

	if (!peer || peer->node >= s->t->nswitches)
		return UNKNOWN; /* no cable of it was ever met, or it leads to another host */
	*sw = peer->node;
	if (s->island[peer->node] != main)
		return CUT_OFF;
	if (port->link_up)
		return REACHED;
	return peer->state > TOPO_DOWN ? CUT_OFF : OFF;
}

static enum fate hca_fate(const struct search *s, uint32_t main, uint32_t ca, uint32_t *sw)
{
	enum fate fate = UNKNOWN;

	for (unsigned num = 1; num <= s->t->nodes[ca].nports; num++) {
		uint32_t at = TOPO_NONE;
		enum fate one = port_fate(s, main, topo_port(s->t, ca, num), &at);

		if (one == REACHED)
			return REACHED;
		if (one == OFF && fate == CUT_OFF)
			continue; /* one of its leaves is dead: that is the worse news */
		if (one == UNKNOWN)
			continue;
		fate = one;
		*sw = at;
	}
	return fate;
}

static void count_cut_off(const struct search *s, uint32_t main, uint32_t *behind,
			  struct cutoff *out)
{
	const struct topo *t = s->t;

	for (uint32_t ca = t->nswitches; ca < t->nnodes; ca++) {
		uint32_t sw = TOPO_NONE;
		enum fate fate = t->nodes[ca].type == TOPO_CA && topo_is_host(t, ca)
					 ? hca_fate(s, main, ca, &sw)
					 : UNKNOWN;

		out->off += fate == OFF;
		if (fate != CUT_OFF)
			continue;
		out->hcas++;
		if (s->island[sw] == main && out->hca == TOPO_NONE)
			out->hca = ca;
		if (s->island[sw] == main)
			continue;
		out->switches += !behind[sw]++;
		if (out->worst == TOPO_NONE || behind[sw] > behind[out->worst])
			out->worst = sw;
	}
}

void cutoff_find(const struct topo *t, uint32_t from, struct cutoff *out)
{
	struct search s = { t, mem_alloc(t->nswitches + 1, sizeof(*s.island)),
			    mem_alloc(t->nswitches + 1, sizeof(*s.queue)) };
	uint32_t *behind = mem_alloc(t->nswitches + 1, sizeof(*behind));
	uint32_t main = find_main(&s, from);

	*out = (struct cutoff){ .worst = TOPO_NONE, .hca = TOPO_NONE };
	if (main)
		count_cut_off(&s, main, behind, out);
	free(behind);
	free(s.queue);
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
				c->hcas, c->hcas == 1 ? "" : "s", t->nodes[c->hca].desc,
				c->hcas == 1 ? "" : " and others");
	if (c->switches > 1)
		snprintf(more, sizeof(more), ", and so %s %u more", c->switches == 2 ? "is" : "are",
			 c->switches - 1);
	return snprintf(buf, size, "%u HCA%s cut off: %s is %s%s", c->hcas, c->hcas == 1 ? "" : "s",
			t->nodes[c->worst].desc, is_dead(t, c->worst) ? "down" : "not reached",
			more);
}
