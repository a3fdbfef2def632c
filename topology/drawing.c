/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * drawing: boxes and lines of a fabric, for dump_dot() and dump_svg().
 *
 * A picture of every HCA would show nothing, so hosts that have like links share a box: a unit
 * of 32 rail-optimised nodes is one box with a line to each of its eight leaves. Parallel links
 * are one line. SHARP aggregation nodes and routers, being no hosts, are left out. Columns
 * follow natural order of names, leaves by unit and rail.
 */
#include "topology/drawing.h"
#include "topology/hostlist.h"
#include "topology/mem.h"
#include "topology/names.h"

#include <stdlib.h>
#include <string.h>

/* ---- Which box ---------------------------------------------------------------------- */

static uint32_t first_switch(const struct topo *t, const struct topo_host *host)
{
	for (uint32_t i = 0; i < host->ncas; i++) {
		uint32_t ca = t->host_cas[host->first + i];

		for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, ca, num));

			if (peer && peer->node < t->nswitches)
				return peer->node;
		}
	}
	return t->nswitches; /* no switch: all such hosts share a box */
}

/* By host: its box. Boxes are numbered in the order of their first hosts. */
static uint32_t *group_hosts(const struct topo *t, struct drawing *d)
{
	uint32_t keys = t->nswitches + 1 + INT16_MAX + 1,
		 *box_of_key = mem_alloc(keys, sizeof(*box_of_key));
	uint32_t *box = mem_alloc(t->nhosts, sizeof(*box));

	d->nboxes = t->nswitches;
	for (uint32_t h = 0; h < t->nhosts; h++) {
		int su = t->nodes[t->host_cas[t->hosts[h].first]].su;
		uint32_t key =
			su >= 0 ? t->nswitches + 1 + (uint32_t)su : first_switch(t, &t->hosts[h]);

		if (!box_of_key[key])
			box_of_key[key] = ++d->nboxes;
		box[h] = box_of_key[key] - 1;
	}
	free(box_of_key);
	return box;
}

static void label_groups(const struct topo *t, struct drawing *d, const uint32_t *box)
{
	const char **names = mem_alloc(t->nhosts, sizeof(*names));
	uint32_t *first = mem_alloc(d->nboxes + 1, sizeof(*first)),
		 *next = mem_alloc(d->nboxes, sizeof(*next));

	for (uint32_t h = 0; h < t->nhosts; h++)
		d->boxes[box[h]].nhosts++;
	for (uint32_t b = 0; b < d->nboxes; b++)
		next[b] = first[b + 1] = first[b] + d->boxes[b].nhosts;
	for (uint32_t b = 0; b < d->nboxes; b++)
		next[b] = first[b];
	for (uint32_t h = 0; h < t->nhosts; h++)
		names[next[box[h]]++] = t->hosts[h].name;
	for (uint32_t b = t->nswitches; b < d->nboxes; b++)
		d->boxes[b].label = hostlist_format(names + first[b], d->boxes[b].nhosts);
	free(names);
	free(first);
	free(next);
}

/* ---- Where -------------------------------------------------------------------------- */

struct place {
	uint32_t row, box, rank;
	int16_t su, rail;
};

static int compare_places(const void *va, const void *vb)
{
	const struct place *a = va, *b = vb;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->su != b->su)
		return (uint16_t)a->su < (uint16_t)b->su ? -1 : 1; /* -1 last */
	if (a->rail != b->rail)
		return (uint16_t)a->rail < (uint16_t)b->rail ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->box < b->box ? -1 : a->box > b->box;
}

static struct place *sorted_places(const struct topo *t, const struct drawing *d)
{
	struct place *places = mem_alloc(d->nboxes, sizeof(*places));
	struct names names = { 0 };
	uint32_t *rank;

	for (uint32_t b = 0; b < d->nboxes; b++)
		places[b] = (struct place){ d->nrows - 1, b, b, -1, -1 };
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *node = &t->nodes[sw];

		places[sw] = (struct place){ t->nlevels - 1u - node->level, sw,
					     names_id(&names, node->name, strlen(node->name)),
					     node->su, node->rail };
	}
	rank = names_rank(&names);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		places[sw].rank = rank[places[sw].rank];
	free(rank);
	names_fini(&names);
	qsort(places, d->nboxes, sizeof(*places), compare_places);
	return places;
}

static void place_boxes(const struct topo *t, struct drawing *d)
{
	struct place *places = sorted_places(t, d);

	d->row_boxes = mem_alloc(d->nrows, sizeof(*d->row_boxes));
	for (uint32_t i = 0; i < d->nboxes; i++) {
		uint32_t row = places[i].row;

		d->boxes[places[i].box].row = row;
		d->boxes[places[i].box].column = d->row_boxes[row]++;
		if (d->row_boxes[row] > d->widest)
			d->widest = d->row_boxes[row];
	}
	free(places);
}

/* ---- Lines -------------------------------------------------------------------------- */

static uint32_t box_of_node(const struct topo *t, const uint32_t *box_of_host, uint32_t n)
{
	if (n < t->nswitches)
		return n;
	return t->nodes[n].host == TOPO_NONE ? TOPO_NONE : box_of_host[t->nodes[n].host];
}

static int compare_lines(const void *va, const void *vb)
{
	const struct drawing_line *a = va, *b = vb;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return a->b < b->b ? -1 : a->b > b->b;
}

static void collect_lines(const struct topo *t, struct drawing *d, const uint32_t *box_of_host)
{
	d->lines = mem_alloc(t->nlinks, sizeof(*d->lines));
	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);
		uint32_t a, b;

		if (!peer || port->peer < p)
			continue;
		a = box_of_node(t, box_of_host, port->node);
		b = box_of_node(t, box_of_host, peer->node);
		if (a != b && a != TOPO_NONE && b != TOPO_NONE)
			d->lines[d->nlines++] = (struct drawing_line){ a < b ? a : b, a < b ? b : a,
								       1, !port->link_up };
	}
}

static void merge_lines(struct drawing *d)
{
	uint32_t n = 0;

	qsort(d->lines, d->nlines, sizeof(*d->lines), compare_lines);
	for (uint32_t i = 0; i < d->nlines; i++) {
		if (n && compare_lines(&d->lines[n - 1], &d->lines[i]) == 0) {
			d->lines[n - 1].links++;
			d->lines[n - 1].down += d->lines[i].down;
		} else {
			d->lines[n++] = d->lines[i];
		}
	}
	d->nlines = n;
}

/* ---- */

struct drawing *drawing_new(const struct topo *t)
{
	struct drawing *d = mem_alloc(1, sizeof(*d));
	uint32_t *box_of_host = group_hosts(t, d);

	d->nrows = t->nlevels + 1u;
	d->boxes = mem_alloc(d->nboxes, sizeof(*d->boxes));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		d->boxes[sw].label = mem_strdup(t->nodes[sw].name);
	label_groups(t, d, box_of_host);
	place_boxes(t, d);
	collect_lines(t, d, box_of_host);
	merge_lines(d);
	free(box_of_host);
	return d;
}

void drawing_free(struct drawing *d)
{
	for (uint32_t b = 0; b < d->nboxes; b++)
		free(d->boxes[b].label);
	free(d->boxes);
	free(d->lines);
	free(d->row_boxes);
	free(d);
}
