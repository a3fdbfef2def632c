/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cabling_wiring: a list of findings, and what is found and expected by port (cabling_own.h). */
#include <stdlib.h>
#include <string.h>
#include "topology/cabling/cabling_own.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"

struct cabling *cabling_new(void)
{
	struct cabling *c = mem_alloc(1, sizeof(*c));

	c->arena = arena_new();
	return c;
}

void cabling_free(struct cabling *c)
{
	if (!c)
		return;
	arena_free(c->arena);
	free(c->items);
	free(c);
}

void cabling_add(struct cabling *c, const struct cabling_item *item)
{
	/* Doubled whenever the count is a power of two. */
	if ((c->count & (c->count - 1)) == 0)
		c->items = mem_resize(c->items, c->count ? c->count * 2 : 1, sizeof(*c->items));
	c->items[c->count++] = *item;
}

static int rank_of(const struct cabling_item *item)
{
	return item->kind == CABLING_ABSENT ? 0 : item->kind == CABLING_UNKNOWN ? 2 : 1;
}

static int compare_items(const void *va, const void *vb)
{
	const struct cabling_item *a = va, *b = vb;
	int order = rank_of(a) - rank_of(b);

	if (!order)
		order = names_compare(a->at.name, strlen(a->at.name), b->at.name,
				      strlen(b->at.name));
	if (!order)
		order = a->at.port - b->at.port;
	return order ? order : (int)a->kind - (int)b->kind;
}

void cabling_sort(struct cabling *c)
{
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), compare_items);
}

struct cabling_end cabling_end_of(const struct topo *t, const struct topo_port *port)
{
	if (!port)
		return (struct cabling_end){ 0 };
	return (struct cabling_end){ .name = t->nodes[port->node].name,
				     .port = port->num,
				     .only = t->nodes[port->node].nports == 1,
				     .label = topo_port_label(t, (uint32_t)(port - t->ports)) };
}

const struct topo_port *cabling_first_cabled(const struct topo *t, uint32_t ca)
{
	for (unsigned num = 1; num <= t->nodes[ca].nports; num++)
		if (topo_peer(t, topo_port(t, ca, num)))
			return topo_port(t, ca, num);
	return NULL;
}

/* ---- A wiring -------------------------------------------------------------------------------- */

static void make_room(struct wiring *w, uint32_t room)
{
	w->room = room;
	w->found = mem_resize(w->found, room, sizeof(*w->found));
	w->want = mem_resize(w->want, room, sizeof(*w->want));
	w->stray = mem_resize(w->stray, room, sizeof(*w->stray));
	w->one_of = mem_resize(w->one_of, room, sizeof(*w->one_of));
	w->votes = mem_resize(w->votes, room, sizeof(*w->votes));
	w->ends = mem_resize(w->ends, room, sizeof(*w->ends));
	w->node = mem_resize(w->node, room, sizeof(*w->node));
}

uint32_t wiring_add_end(struct wiring *w, uint32_t node, const char *name, uint8_t port)
{
	uint32_t v = w->nvertices++;

	if (v == w->room)
		make_room(w, w->room * 2);
	w->found[v] = w->want[v] = TOPO_NONE;
	w->stray[v] = w->one_of[v] = false;
	w->votes[v] = (struct wiring_votes){ 0 };
	w->ends[v] = (struct cabling_end){
		.name = name,
		.port = port,
		.only = node == TOPO_NONE || w->t->nodes[node].nports == 1,
		.label = node == TOPO_NONE || port > w->t->nodes[node].nports
				 ? NULL
				 : topo_port_label(w->t, w->t->nodes[node].port0 + port)
	};
	w->node[v] = node;
	return v;
}

/* Aggregation nodes are inside of switches: nobody cables them. */
static bool is_cabled(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return peer && !t->nodes[port->node].sharp && !t->nodes[peer->node].sharp;
}

void wiring_init(struct wiring *w, const struct topo *t)
{
	*w = (struct wiring){ .t = t, .result = cabling_new() };
	make_room(w, t->nports + 64);
	for (uint32_t p = 0; p < t->nports; p++) {
		uint32_t node = t->ports[p].node;

		wiring_add_end(w, node, t->nodes[node].name, t->ports[p].num);
		if (is_cabled(t, &t->ports[p]))
			w->found[p] = t->ports[p].peer;
		w->result->cables += w->found[p] != TOPO_NONE && w->found[p] > p;
	}
}

void wiring_fini(struct wiring *w)
{
	free(w->found);
	free(w->want);
	free(w->stray);
	free(w->one_of);
	free(w->votes);
	free(w->ends);
	free(w->node);
}

bool wiring_expect(struct wiring *w, uint32_t a, uint32_t b, struct wiring_votes votes)
{
	if (a == b || (w->want[a] != TOPO_NONE && w->want[a] != b) ||
	    (w->want[b] != TOPO_NONE && w->want[b] != a))
		return false;
	w->result->compared += w->want[a] == TOPO_NONE;
	w->want[a] = b;
	w->want[b] = a;
	w->votes[a] = w->votes[b] = votes;
	return true;
}

void wiring_drop(struct wiring *w, uint32_t vertex)
{
	if (w->want[vertex] == TOPO_NONE)
		return;
	w->want[w->want[vertex]] = TOPO_NONE;
	w->want[vertex] = TOPO_NONE;
	w->result->compared--;
}
