/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_counts: cables between switches whose port numbers have no pattern: only how many lead
 * from each switch to each parent is known, by the votes of its family.
 *
 * A switch with more cables to one parent than its family has, and fewer to another, has a cable
 * too many at the first and one too few at the second. Which of parallel cables is wrong is
 * unknown: the finding names the last one.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/cabling_uplinks.h"
#include "topology/mem.h"

#define VOTERS 4

struct gap { /* a cable that a switch lacks to a parent */
	uint32_t sw, parent;
	struct wiring_votes votes;
};

struct counting {
	struct wiring *w;
	const struct tiers *tiers;
	const uint32_t *members;
	uint32_t n;
	uint32_t *parents, nparents;
	uint16_t *cables;	    /* [member][parent] */
	uint16_t *usual;	    /* by parent */
	struct wiring_votes *votes; /* by parent; votes 0 = too few agree */
	struct gap *gaps;
	uint32_t ngaps;
	bool *spare; /* by port of a switch: its cable is one too many for its lower end */
};

static uint32_t parent_at(const struct counting *c, uint32_t sw, unsigned num)
{
	uint32_t peer = c->w->found[c->w->t->nodes[sw].port0 + num];
	uint32_t far = peer == TOPO_NONE ? TOPO_NONE : c->w->node[peer];

	return far < c->w->t->nswitches && c->tiers->level[far] == c->tiers->level[sw] + 1
		       ? far
		       : TOPO_NONE;
}

static void list_parents(struct counting *c, uint32_t *place)
{
	c->nparents = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t sw = c->members[i];

		for (uint32_t j = c->tiers->first[sw]; j < c->tiers->first[sw + 1]; j++) {
			uint32_t far = c->tiers->near[j];

			if (c->tiers->level[far] == c->tiers->level[sw] + 1 &&
			    place[far] == TOPO_NONE) {
				place[far] = c->nparents;
				c->parents[c->nparents++] = far;
			}
		}
	}
}

static void count_cables(struct counting *c, const uint32_t *place)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (unsigned num = 1; num <= c->w->t->nodes[c->members[i]].nports; num++) {
			uint32_t far = parent_at(c, c->members[i], num);

			if (far != TOPO_NONE)
				c->cables[i * c->nparents + place[far]]++;
		}
}

static void vote_on_parent(struct counting *c, uint32_t parent)
{
	uint32_t votes[256] = { 0 }, best = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		uint16_t cables = c->cables[i * c->nparents + parent];

		votes[cables < 255 ? cables : 255]++;
	}
	for (uint32_t cables = 1; cables < 256; cables++)
		if (votes[cables] > votes[best])
			best = cables;
	if (!most(votes[best], c->n, 3, 4))
		return;
	c->usual[parent] = (uint16_t)best;
	c->votes[parent] = (struct wiring_votes){ votes[best], c->n };
}

/* Whether a member has the usual number of cables to most parents; else it is of another kind. */
static bool is_usual(const struct counting *c, uint32_t member)
{
	uint32_t same = 0, all = 0;

	for (uint32_t u = 0; u < c->nparents; u++) {
		const uint16_t cables = c->cables[member * c->nparents + u];

		if (!c->votes[u].votes || (!cables && !c->usual[u]))
			continue;
		all++;
		same += cables == c->usual[u];
	}
	return all && most(same, all, 3, 5);
}

static void mark_spare(struct counting *c, uint32_t sw, uint32_t parent, unsigned too_many,
		       unsigned usual)
{
	for (unsigned num = c->w->t->nodes[sw].nports; num && too_many; num--)
		if (parent_at(c, sw, num) == parent) {
			c->spare[c->w->t->nodes[sw].port0 + num] = true;
			c->w->one_of[c->w->t->nodes[sw].port0 + num] = usual > 0;
			too_many--;
		}
}

static void compare_member(struct counting *c, uint32_t member)
{
	for (uint32_t u = 0; u < c->nparents; u++) {
		unsigned cables = c->cables[member * c->nparents + u], usual = c->usual[u];

		if (!c->votes[u].votes)
			continue;
		for (; cables < usual; usual--) {
			if (!(c->ngaps & (c->ngaps - 1)))
				c->gaps = mem_resize(c->gaps, c->ngaps ? c->ngaps * 2 : 1,
						     sizeof(*c->gaps));
			c->gaps[c->ngaps++] = (struct gap){ .sw = c->members[member],
							    .parent = c->parents[u],
							    .votes = c->votes[u] };
		}
		if (cables > usual)
			mark_spare(c, c->members[member], c->parents[u], cables - usual, usual);
	}
}

static void count_family(struct counting *c, uint32_t *place)
{
	list_parents(c, place);
	c->cables = mem_alloc(c->n * (c->nparents + 1), sizeof(*c->cables));
	c->usual = mem_alloc(c->nparents + 1, sizeof(*c->usual));
	c->votes = mem_alloc(c->nparents + 1, sizeof(*c->votes));
	count_cables(c, place);
	for (uint32_t u = 0; u < c->nparents; u++)
		vote_on_parent(c, u);
	for (uint32_t i = 0; i < c->n; i++)
		if (is_usual(c, i))
			compare_member(c, i);
	for (uint32_t u = 0; u < c->nparents; u++)
		place[c->parents[u]] = TOPO_NONE;
	free(c->cables);
	free(c->usual);
	free(c->votes);
}

/* ---- What goes where ------------------------------------------------------------------------- */

/* Whether the cable at a port leads to a switch of the same level, or skips a level. */
static bool is_off_tier(const struct counting *c, uint32_t port)
{
	uint32_t peer = c->w->found[port];

	return peer != TOPO_NONE && c->w->node[peer] < c->w->t->nswitches &&
	       abs(c->tiers->level[c->w->node[peer]] - c->tiers->level[c->w->node[port]]) != 1;
}

/* A port whose cable is one too many and belongs nowhere yet; TOPO_NONE = none. */
static uint32_t spare_end(const struct counting *c, uint32_t sw, bool lower)
{
	for (unsigned num = 1; num <= c->w->t->nodes[sw].nports; num++) {
		uint32_t port = c->w->t->nodes[sw].port0 + num, peer = c->w->found[port];

		if (peer != TOPO_NONE && c->w->want[port] == TOPO_NONE &&
		    ((lower ? c->spare[port] : peer < c->w->t->nswitch_ports && c->spare[peer]) ||
		     is_off_tier(c, port)))
			return port;
	}
	return TOPO_NONE;
}

static void fill_gap(struct counting *c, const struct gap *gap)
{
	uint32_t a = spare_end(c, gap->sw, true), b = spare_end(c, gap->parent, false);

	if (a == TOPO_NONE)
		a = wiring_add_end(c->w, gap->sw, c->w->ends[c->w->t->nodes[gap->sw].port0].name,
				   0);
	if (b == TOPO_NONE)
		b = wiring_add_end(c->w, gap->parent,
				   c->w->ends[c->w->t->nodes[gap->parent].port0].name, 0);
	wiring_expect(c->w, a, b, gap->votes);
}

static void mark_strays(struct counting *c)
{
	for (uint32_t p = 0; p < c->w->t->nswitch_ports; p++)
		if (c->spare[p])
			c->w->stray[p] = c->w->stray[c->w->found[p]] = true;
}

void cabling_count_uplinks(struct wiring *w, const struct tiers *tiers, const bool *regular)
{
	uint32_t nswitches = w->t->nswitches;
	uint32_t *place = mem_alloc(nswitches + 1, sizeof(*place));
	uint32_t *members = mem_alloc(nswitches + 1, sizeof(*members));
	struct counting c = { .w = w,
			      .tiers = tiers,
			      .members = members,
			      .parents = mem_alloc(nswitches + 1, sizeof(*c.parents)),
			      .spare = mem_alloc(w->t->nswitch_ports + 1, sizeof(*c.spare)) };

	memset(place, 0xff, nswitches * sizeof(*place));
	for (uint32_t f = 0; f < nswitches; f++) {
		if (tiers->up[f] != f || regular[f])
			continue;
		c.n = 0;
		for (uint32_t sw = 0; sw < nswitches; sw++)
			if (tiers->up[sw] == f)
				members[c.n++] = sw;
		if (c.n >= VOTERS)
			count_family(&c, place);
	}
	for (uint32_t i = 0; i < c.ngaps; i++)
		fill_gap(&c, &c.gaps[i]);
	mark_strays(&c);
	free(place);
	free(members);
	free(c.parents);
	free(c.spare);
	free(c.gaps);
}
