/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include "routing/path.h"
#include "routing/report/load_map.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"

/*
 * load_map: see load_map.h. Of the two ends of a link the lower is the one of the lower level;
 * between equals the one with the lower index, so that each link is in one tier, once.
 */

const double load_bin_edges[LOAD_BINS - 1] = { 0, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2, 3 };

unsigned load_bin(double load, double mean)
{
	unsigned bin = 0;

	while (bin < LOAD_BINS - 1 && load > load_bin_edges[bin] * mean)
		bin++;
	return bin;
}

/* ---- The tier's channels --------------------------------------------------------------------- */

/* Is this the lower end of a link between switches, and of this level? */
static bool is_lower_end(const struct topo *t, uint32_t port, unsigned level)
{
	const struct topo_port *p = &t->ports[port], *peer = topo_peer(t, p);

	if (!peer || !p->num || p->node >= t->nswitches || peer->node >= t->nswitches ||
	    t->nodes[p->node].level != level)
		return false;
	return t->nodes[peer->node].level == level ? port < p->peer
						   : t->nodes[peer->node].level > level;
}

static double rate_of(const struct topo *t, uint32_t port)
{
	return topo_lane_mbps(t->ports[port].speed) * t->ports[port].width ?: 1;
}

/* The flows by a port, those of slower channels than the tier's fastest counted as so many more. */
static double time_of(const struct load_tier *tier, const struct topo *t, const uint64_t *by_port,
		      uint32_t port)
{
	return by_port[port] * (tier->rate / rate_of(t, port));
}

/* ---- The map --------------------------------------------------------------------------------- */

static int compare_switches(const void *a, const void *b, void *topo)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct topo_node *nodes = ((const struct topo *)topo)->nodes;
	const char *p = nodes[x].name, *q = nodes[y].name;
	int order = names_compare(p, strlen(p), q, strlen(q));

	return order ? order : x < y ? -1 : x > y;
}

/* The marked switches in natural order; their marks become their numbers. */
static uint32_t *list_marked(const struct topo *t, uint32_t *marks, uint32_t *count)
{
	uint32_t *list = mem_array(list, t->nswitches), n = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (marks[sw])
			list[n++] = sw;
	qsort_r(list, n, sizeof(*list), compare_switches, (void *)t);
	for (uint32_t i = 0; i < n; i++)
		marks[list[i]] = i;
	*count = n;
	return list;
}

struct marks { /* by switch; see list_marked() */
	uint32_t *row, *column;
};

static void fill_row(const struct topo *t, const uint64_t *by_port, struct load_map *map,
		     const struct marks *marks, uint32_t row, struct load_cell *cells)
{
	const struct topo_node *sw = &t->nodes[map->rows[row]];

	for (unsigned num = 1; num <= sw->nports; num++) {
		uint32_t port = sw->port0 + num;
		const struct topo_port *p = &t->ports[port];

		if (!is_lower_end(t, port, map->tier.level))
			continue;
		struct load_cell *cell = &cells[marks->column[t->ports[p->peer].node]];
		cell->row = row;
		cell->column = marks->column[t->ports[p->peer].node];

		uint64_t up = by_port[port], down = by_port[p->peer];
		const struct load_tier *tier = &map->tier;
		double up_time = time_of(tier, t, by_port, port), up_means = 0, down_means = 0;
		double down_time = time_of(tier, t, by_port, p->peer);

		if (tier->mean[LOAD_UP] > 0)
			up_means = up_time / tier->mean[LOAD_UP];
		if (tier->mean[LOAD_DOWN] > 0)
			down_means = down_time / tier->mean[LOAD_DOWN];

		cell->links++;
		if (!p->link_up)
			continue;
		cell->live++;
		cell->up += up;
		cell->down += down;
		cell->ratio = up_means > cell->ratio ? up_means : cell->ratio;
		cell->ratio = down_means > cell->ratio ? down_means : cell->ratio;
	}
	for (uint32_t c = 0; c < map->ncolumns; c++)
		if (cells[c].links)
			map->cells[map->ncells++] = cells[c];
	mem_zero(cells, map->ncolumns);
}

static uint32_t mark_ends(const struct topo *t, unsigned level, struct marks *marks)
{
	uint32_t links = 0;

	for (uint32_t i = 0; i < t->nports; i++) {
		if (!is_lower_end(t, i, level))
			continue;
		marks->row[t->ports[i].node] = 1;
		marks->column[t->ports[t->ports[i].peer].node] = 1;
		links++;
	}
	return links;
}

struct load_map *load_map_new(const struct topo *t, const uint64_t *by_port, unsigned level)
{
	struct load_map *map = mem_new(map);
	struct marks marks = { mem_array(marks.row, t->nswitches),
			       mem_array(marks.column, t->nswitches) };

	map->tier.level = level;

	struct load_tier *tier = &map->tier;
	double capacity[LOAD_DIRECTIONS] = { 0 }; /* in fastest channels */

	for (uint32_t i = 0; i < t->nports; i++)
		if (t->ports[i].link_up && is_lower_end(t, i, level))
			tier->rate = fmax(tier->rate, rate_of(t, i));
	for (uint32_t i = 0; i < t->nports; i++) {
		if (!t->ports[i].link_up || !is_lower_end(t, i, level))
			continue;
		uint32_t ends[] = { [LOAD_UP] = i, [LOAD_DOWN] = t->ports[i].peer };

		for (unsigned d = 0; d < LOAD_DIRECTIONS; d++) {
			uint64_t time = ceil(time_of(tier, t, by_port, ends[d]));

			tier->channels[d]++;
			tier->mean[d] += by_port[ends[d]];
			capacity[d] += rate_of(t, ends[d]) / tier->rate;
			tier->max[d] = time > tier->max[d] ? time : tier->max[d];
		}
	}
	for (unsigned d = 0; d < LOAD_DIRECTIONS; d++)
		tier->mean[d] /= capacity[d] > 0 ? capacity[d] : 1;

	for (uint32_t i = 0; i < t->nports; i++) {
		if (!t->ports[i].link_up || !is_lower_end(t, i, level))
			continue;
		tier->bins[LOAD_UP][load_bin(time_of(tier, t, by_port, i), tier->mean[LOAD_UP])]++;
		tier->bins[LOAD_DOWN][load_bin(time_of(tier, t, by_port, t->ports[i].peer),
					       tier->mean[LOAD_DOWN])]++;
	}

	map->cells = mem_array(map->cells, mark_ends(t, level, &marks));
	map->rows = list_marked(t, marks.row, &map->nrows);
	map->columns = list_marked(t, marks.column, &map->ncolumns);

	struct load_cell *cells = mem_array(cells, map->ncolumns);

	for (uint32_t row = 0; row < map->nrows; row++)
		fill_row(t, by_port, map, &marks, row, cells);
	free(cells);
	free(marks.row);
	free(marks.column);
	return map;
}

void load_map_free(struct load_map *map)
{
	if (!map)
		return;
	free(map->rows);
	free(map->columns);
	free(map->cells);
	free(map);
}
