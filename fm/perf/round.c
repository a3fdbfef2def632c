/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Both the inventory and what is kept of nodes are sorted by GUID, so one walk goes along both:
 * nodes of the one alone are new, of the other alone are gone.
 */
#include "fm/perf/round.h"
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

#define PORTS_A_PIECE 2048

void round_begin(struct round *r)
{
	r->count = r->total = 0;
	r->next = 0;
	r->old = cl_qmap_head(r->nodes);
	memset(r->with, 0, sizeof(r->with));
}

/* Nodes that are taken off the inventory meanwhile are marked so, and their memory stays. */
static void meet(struct round *r, struct inv_node *inv)
{
	struct pnode *n = pnode_take(r->nodes, &r->old, inv);

	n->inv = inv;
	n->asked_caps = false;
	memset(n->due, 0, sizeof(n->due));
	if (r->count == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		r->met = mem_resize(r->met, r->room, sizeof(*r->met));
		r->order = mem_resize(r->order, r->room, sizeof(*r->order));
	}
	r->met[r->count++] = n;
	r->with[n->nports]++;
	for (unsigned num = 1; num <= n->nports; num++)
		r->total += port_is_asked(inv, num);
}

static void put_in_order(struct round *r)
{
	unsigned place[UINT8_MAX + 1], next = 0;

	for (unsigned nports = UINT8_MAX + 1; nports--; next += r->with[nports])
		place[nports] = next;
	for (unsigned i = 0; i < r->count; i++)
		r->order[place[r->met[i]->nports]++] = r->met[i];
}

bool round_more(struct round *r)
{
	struct inv_node *inv = inventory_from(r->inv, r->next);

	for (unsigned ports = 0; inv && ports < PORTS_A_PIECE;
	     ports += inv ? inv->nports + 1u : 0) {
		meet(r, inv);
		r->next = inv->guid + 1;
		inv = inventory_next(r->inv, inv);
	}
	if (inv)
		return true;
	pnode_drop_from(r->nodes, r->old);
	put_in_order(r);
	return false;
}

void round_fini(struct round *r)
{
	free(r->met);
	free(r->order);
}
