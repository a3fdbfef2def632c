/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cabling_wiring: a list of findings, and what is found and expected by port (cabling_own.h). */
#include "topology/cabling/cabling_own.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"

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
	c->items = mem_grow(c->items, c->count);
	c->items[c->count++] = *item;
}

static int compare_items(const void *va, const void *vb)
{
	const struct cabling_item *a = va, *b = vb;

	/* Nodes that are absent come first, unknown ones last. */
	return sort_order(b->kind == CABLING_ABSENT, a->kind == CABLING_ABSENT) ?:
	       sort_order(a->kind == CABLING_UNKNOWN, b->kind == CABLING_UNKNOWN) ?:
	       names_compare(a->at.name, strlen(a->at.name), b->at.name, strlen(b->at.name)) ?:
	       sort_order(a->at.port, b->at.port) ?: sort_order(a->kind, b->kind);
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
				     .label = topo_port_label(t, port - t->ports) };
}

/* ---- A wiring -------------------------------------------------------------------------------- */

uint32_t wiring_add_end(struct wiring *w, uint32_t node, const char *name, uint8_t port)
{
	const struct topo_node *it = node == TOPO_NONE ? NULL : &w->t->nodes[node];

	w->v = mem_grow(w->v, w->nvertices);
	w->v[w->nvertices] = (struct wiring_vertex){
		.found = TOPO_NONE,
		.want = TOPO_NONE,
		.node = node,
		.end = { .name = name,
			 .port = port,
			 .only = !it || it->nports == 1,
			 .label = it && port <= it->nports ? topo_port_label(w->t, it->port0 + port)
							   : NULL },
	};
	return w->nvertices++;
}

void wiring_init(struct wiring *w, const struct topo *t)
{
	*w = (struct wiring){ .t = t, .result = mem_new(w->result) };
	w->result->arena = arena_new();
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		wiring_add_end(w, port->node, t->nodes[port->node].name, port->num);
		/* Aggregation nodes are inside of switches: nobody cables them. */
		if (!peer || t->nodes[port->node].sharp || t->nodes[peer->node].sharp)
			continue;
		w->v[p].found = port->peer;
		w->result->cables += port->peer > p;
	}
}

bool wiring_expect(struct wiring *w, uint32_t a, uint32_t b, struct wiring_votes votes)
{
	if (a == b || (w->v[a].want != TOPO_NONE && w->v[a].want != b) ||
	    (w->v[b].want != TOPO_NONE && w->v[b].want != a))
		return false;
	w->result->compared += w->v[a].want == TOPO_NONE;
	w->v[a].want = b;
	w->v[b].want = a;
	w->v[a].votes = w->v[b].votes = votes;
	return true;
}

void wiring_drop(struct wiring *w, uint32_t vertex)
{
	if (w->v[vertex].want == TOPO_NONE)
		return;
	w->v[w->v[vertex].want].want = TOPO_NONE;
	w->v[vertex].want = TOPO_NONE;
	w->result->compared--;
}
