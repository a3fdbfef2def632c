/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * congestion: counts flows (see congestion.h). Flows are followed through the tables hop by hop;
 * nothing is assumed of the engine. The all-to-all pattern goes block by block of 64 LIDs, so that
 * the part of the tables in use fits in the cache.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/congestion.h"
#include "topology/graph.h"
#include "topology/mem.h"

#define MAX_HOPS 64

struct flow_host { /* a host port, in topological order */
	uint32_t sw, order;
	uint16_t lid;
	int16_t rail;
	uint32_t place; /* index within its rail */
};

struct flows {
	const struct topo *t;
	const struct tables *tables;
	struct flow_host *hosts;
	uint32_t nhosts, nrails;
	uint32_t **rails; /* by rail: host indices */
	uint32_t *rail_count;
	uint32_t *next;	 /* by topo port of a switch: switch behind it, TOPO_NONE = none */
	uint32_t *load;	 /* by topo port: flows in the pattern */
	uint64_t *total; /* by topo port: all-to-all */
	uint32_t *touched, ntouched; /* ports with load */
};

/* splitmix64 (Steele, Lea and Flood, 2014): small, seedable, the same everywhere. */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static int by_order(const void *a, const void *b)
{
	const struct flow_host *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static void list_hosts(struct flows *f, const struct lid_map *lids)
{
	struct graph *g = graph_new(f->t, (struct graph_how){ GRAPH_BY_LEVEL, false });

	f->hosts = mem_alloc(g->nhosts + 1, sizeof(*f->hosts));
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		for (unsigned h = 0; h < g->switches[sw].nhosts; h++) {
			const struct graph_host *host = &g->hosts[g->switches[sw].first_host + h];
			const struct topo_node *node = &f->t->nodes[f->t->ports[host->port].node];
			uint16_t lid = lids->lid_of_port[host->port];

			if (host->live && lid && !node->sharp)
				f->hosts[f->nhosts++] =
					(struct flow_host){ sw, host->order, lid, node->rail, 0 };
		}
	}
	graph_free(g);
	qsort(f->hosts, f->nhosts, sizeof(*f->hosts), by_order);
}

static void list_rails(struct flows *f)
{
	for (uint32_t i = 0; i < f->nhosts; i++)
		if (f->hosts[i].rail >= 0 && (uint32_t)f->hosts[i].rail >= f->nrails)
			f->nrails = f->hosts[i].rail + 1;
	f->rails = mem_alloc(f->nrails + 1, sizeof(*f->rails));
	f->rail_count = mem_alloc(f->nrails + 1, sizeof(*f->rail_count));
	for (uint32_t r = 0; r < f->nrails; r++)
		f->rails[r] = mem_alloc(f->nhosts + 1, sizeof(*f->rails[r]));
	for (uint32_t i = 0; i < f->nhosts; i++) {
		int rail = f->hosts[i].rail;

		if (rail < 0)
			continue;
		f->hosts[i].place = f->rail_count[rail];
		f->rails[rail][f->rail_count[rail]++] = i;
	}
}

static void list_channels(struct flows *f)
{
	const struct topo *t = f->t;

	f->next = mem_alloc(t->nports + 1, sizeof(*f->next));
	f->load = mem_alloc(t->nports + 1, sizeof(*f->load));
	f->total = mem_alloc(t->nports + 1, sizeof(*f->total));
	f->touched = mem_alloc(t->nports + 1, sizeof(*f->touched));
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];
		bool channel = port->link_up && port->num && port->node < t->nswitches &&
			       t->ports[port->peer].node < t->nswitches;

		f->next[i] = channel ? t->ports[port->peer].node : TOPO_NONE;
	}
}

/* The channel a packet for lid takes from sw, or TOPO_NONE when it ends here. */
static uint32_t channel_from(const struct flows *f, uint32_t sw, uint16_t lid)
{
	unsigned out = tables_row(f->tables, sw)[lid];
	uint32_t port = f->t->nodes[sw].port0 + out;

	return out <= f->t->nodes[sw].nports && f->next[port] != TOPO_NONE ? port : TOPO_NONE;
}

static void add_flow(struct flows *f, const struct flow_host *from, const struct flow_host *to,
		     uint32_t *worst)
{
	uint32_t sw = from->sw, port;

	for (unsigned hop = 0; hop < MAX_HOPS && (port = channel_from(f, sw, to->lid)) != TOPO_NONE;
	     hop++) {
		if (f->load[port]++ == 0)
			f->touched[f->ntouched++] = port;
		if (f->load[port] > *worst)
			*worst = f->load[port];
		sw = f->next[port];
	}
}

static void clear_load(struct flows *f)
{
	while (f->ntouched)
		f->load[f->touched[--f->ntouched]] = 0;
}

static uint32_t shift_worst(struct flows *f, uint64_t k)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < f->nhosts; i++)
		add_flow(f, &f->hosts[i], &f->hosts[(i + k) % f->nhosts], &worst);
	clear_load(f);
	return worst;
}

static uint32_t rail_shift_worst(struct flows *f, uint64_t k)
{
	uint32_t worst = 0;

	for (uint32_t i = 0; i < f->nhosts; i++) {
		const struct flow_host *host = &f->hosts[i];

		if (host->rail < 0)
			continue;
		uint32_t to = f->rails[host->rail][(host->place + k) % f->rail_count[host->rail]];
		add_flow(f, host, &f->hosts[to], &worst);
	}
	clear_load(f);
	return worst;
}

static void measure_shifts(struct flows *f, struct congestion *out)
{
	uint64_t state = 1;

	for (unsigned n = 0; n < CONGESTION_SHIFTS && f->nhosts > 1; n++) {
		uint64_t r = random_next(&state);
		uint32_t shift = shift_worst(f, 1 + r % (f->nhosts - 1));
		uint32_t rail = f->nrails ? rail_shift_worst(f, 1 + (r >> 20)) : shift;

		out->shift_max = shift > out->shift_max ? shift : out->shift_max;
		out->rail_shift_max = rail > out->rail_shift_max ? rail : out->rail_shift_max;
		out->shift_mean += (double)shift / CONGESTION_SHIFTS;
		out->rail_shift_mean += (double)rail / CONGESTION_SHIFTS;
	}
}

static int by_lid(const void *a, const void *b)
{
	return (int)((const struct flow_host *)a)->lid - (int)((const struct flow_host *)b)->lid;
}

static void add_all_to_all(struct flows *f, const struct flow_host *to, const uint32_t *sources,
			   const uint32_t *count, uint32_t n)
{
	for (uint32_t s = 0; s < n; s++) {
		uint32_t sw = sources[s], port;
		uint32_t flows = count[sw] - (sw == to->sw);

		for (unsigned hop = 0;
		     hop < MAX_HOPS && (port = channel_from(f, sw, to->lid)) != TOPO_NONE; hop++) {
			f->total[port] += flows;
			sw = f->next[port];
		}
	}
}

static void measure_all_to_all(struct flows *f, struct congestion *out)
{
	uint32_t *count = mem_alloc(f->t->nswitches + 1, sizeof(*count));
	uint32_t *sources = mem_alloc(f->t->nswitches + 1, sizeof(*sources)), nsources = 0,
		 channels = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->nhosts; i++)
		if (count[f->hosts[i].sw]++ == 0)
			sources[nsources++] = f->hosts[i].sw;
	qsort(f->hosts, f->nhosts, sizeof(*f->hosts), by_lid);
	for (uint32_t i = 0; i < f->nhosts; i++)
		add_all_to_all(f, &f->hosts[i], sources, count, nsources);
	for (uint32_t i = 0; i < f->t->nports; i++) {
		if (f->next[i] == TOPO_NONE)
			continue;
		channels++;
		sum += f->total[i];
		out->all_to_all_max =
			f->total[i] > out->all_to_all_max ? f->total[i] : out->all_to_all_max;
	}
	out->all_to_all_ratio = sum ? (double)out->all_to_all_max * channels / sum : 0;
	free(count);
	free(sources);
}

void congestion_measure(const struct topo *t, const struct lid_map *lids,
			const struct tables *tables, struct congestion *out)
{
	struct flows f = { .t = t, .tables = tables };

	*out = (struct congestion){ 0 };
	list_hosts(&f, lids);
	list_rails(&f);
	list_channels(&f);
	measure_shifts(&f, out);
	measure_all_to_all(&f, out);
	for (uint32_t r = 0; r < f.nrails; r++)
		free(f.rails[r]);
	free(f.rails);
	free(f.rail_count);
	free(f.hosts);
	free(f.next);
	free(f.load);
	free(f.total);
	free(f.touched);
}
