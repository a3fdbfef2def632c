/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/report/rates.h"
#include "routing/ftree/route.h"
#include "routing/path.h"
#include "topology/base/mem.h"

struct flow { /* its channels, by the index of the port that sends, are links[first ..] */
	uint32_t first, count;
	bool own, ended; /* ended: one of its channels is full, and its rate is final */
	double rate;
};
struct traffic {
	struct flow *flows;
	uint32_t *links, nflows, nlinks;
};

#define HOPS_WITHIN_LEAF 3 /* host, leaf, host */

static bool add_flow(struct traffic *traffic, const struct topo *t, const struct lid_map *lids,
		     const struct tables *tables, uint32_t from, uint32_t to, bool own)
{
	struct path path;

	if (from == to)
		return true;
	if (path_trace(t, lids, tables, from, lids->lid_of_port[to], &path))
		return false;
	traffic->flows[traffic->nflows++] =
		(struct flow){ .first = traffic->nlinks, .count = path.count - 1, .own = own };
	traffic->links[traffic->nlinks++] = from;
	for (unsigned i = 1; i + 1 < path.count; i++)
		traffic->links[traffic->nlinks++] =
			t->nodes[path.hops[i].node].port0 + path.hops[i].out_port;
	return true;
}

/* By which ports of leaves the host's own flows leave; they are all that there is. */
static void count_uplinks(const struct traffic *traffic, uint32_t nports, struct rates *out)
{
	unsigned *load = mem_array(load, nports);

	for (uint32_t f = 0; f < traffic->nflows; f++) {
		unsigned *uplink = &load[traffic->links[traffic->flows[f].first + 1]];

		if (traffic->flows[f].count + 1 <= HOPS_WITHIN_LEAF)
			continue;
		out->own_flows++;
		out->uplinks += !*uplink;
		if (++*uplink > out->worst_uplink)
			out->worst_uplink = *uplink;
	}
	free(load);
}

/* All flows grow alike until a channel is full; those on it stay as they are, the others go on. */
static void fill(const struct traffic *traffic, uint32_t nports)
{
	double *left = mem_array(left, nports), level = 0;
	uint32_t *users = mem_array(users, nports), going = traffic->nflows;

	for (uint32_t f = 0; f < traffic->nflows; f++)
		for (uint32_t i = 0; i < traffic->flows[f].count; i++) {
			users[traffic->links[traffic->flows[f].first + i]]++;
			left[traffic->links[traffic->flows[f].first + i]] = 1;
		}
	while (going) {
		double step = 1;

		for (uint32_t p = 0; p < nports; p++)
			if (users[p] && left[p] / users[p] < step)
				step = left[p] / users[p];
		level += step;
		for (uint32_t p = 0; p < nports; p++)
			left[p] -= step * users[p];
		for (uint32_t f = 0; f < traffic->nflows; f++) {
			struct flow *flow = &traffic->flows[f];
			const uint32_t *links = traffic->links + flow->first;
			bool full = false;

			for (uint32_t i = 0; i < flow->count && !flow->ended; i++)
				full |= left[links[i]] < 1e-9;
			if (!full)
				continue;
			flow->ended = true;
			flow->rate = level;
			going--;
			for (uint32_t i = 0; i < flow->count; i++)
				users[links[i]]--;
		}
	}
	free(left);
	free(users);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The compute ports of hosts, in order: those of `host` first. Returns how many these are. */
static uint32_t list_ports(const struct topo *t, const struct lid_map *lids, const uint8_t *classes,
			   uint32_t host, uint32_t *ports, uint32_t *count)
{
	uint32_t own = 0;

	*count = 0;
	for (uint32_t h = 0; h <= t->nhosts; h++) {
		const struct topo_host *it = &t->hosts[h ? h - 1 : host];

		if (h - 1 == host)
			continue;
		for (uint32_t i = 0; i < it->ncas; i++) {
			const struct topo_node *node = &t->nodes[t->host_cas[it->first + i]];

			for (uint32_t p = node->port0 + 1; p <= node->port0 + node->nports; p++) {
				uint8_t class = classes ? classes[p] : ROUTE_COMPUTE;

				if (class != ROUTE_STORAGE && class != ROUTE_MANAGEMENT &&
				    t->ports[p].link_up && lids->lid_of_port[p])
					ports[(*count)++] = p;
			}
		}
		own = h ? own : *count;
	}
	return own;
}

void rates_measure(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		   const uint8_t *classes, uint32_t host, bool shift, struct rates *out)
{
	uint32_t *ports = mem_array(ports, t->nports + 1), count, own, others, most;
	uint32_t *to = mem_array(to, t->nports + 1);

	own = list_ports(t, lids, classes, host, ports, &count);
	others = count - own;
	most = own * own + others + 1;
	*out = (struct rates){ .adapters = own, .least = others ? 1 : 0 };
	for (uint64_t seed = 1; seed <= RATES_SEEDS; seed++) {
		uint64_t random = seed * 0x9e3779b97f4a7c15ull;
		struct traffic traffic = { mem_alloc(most, sizeof(struct flow)),
					   mem_alloc(most, PATH_MAX_HOPS * sizeof(uint32_t)), 0,
					   0 };

		for (uint32_t a = 0; a < own; a++)
			for (uint32_t b = 0; b < own; b++)
				out->unreachable += !add_flow(&traffic, t, lids, tables, ports[a],
							      ports[b], true) &&
						    seed == 1;

		uint32_t flows = traffic.nflows;
		if (seed == 1)
			count_uplinks(&traffic, t->nports, out);
		mem_copy(to, ports + own, others);
		for (uint32_t i = others; i > 1 && !shift; i--) {
			uint32_t at = next_random(&random) % i, kept = to[i - 1];

			to[i - 1] = to[at];
			to[at] = kept;
		}
		for (uint32_t i = 0, by = next_random(&random); i < others; i++)
			add_flow(&traffic, t, lids, tables, ports[own + i],
				 shift ? to[(i + by % others) % others] : to[i], false);
		fill(&traffic, t->nports);
		out->flows += traffic.nflows - flows;
		for (uint32_t f = 0; f < traffic.nflows; f++) {
			double rate = traffic.flows[f].rate;

			*(f < flows ? &out->own : &out->others) += rate / RATES_SEEDS;
			if (f >= flows && rate < out->least)
				out->least = rate;
		}
		/* Once more, the others by themselves. */
		for (uint32_t f = 0; f < traffic.nflows; f++)
			traffic.flows[f].ended = false;
		memmove(traffic.flows, traffic.flows + flows,
			(traffic.nflows - flows) * sizeof(struct flow));
		traffic.nflows -= flows;
		fill(&traffic, t->nports);
		for (uint32_t f = 0; f < traffic.nflows; f++)
			out->others_alone += traffic.flows[f].rate / RATES_SEEDS;
		free(traffic.flows);
		free(traffic.links);
	}
	out->flows /= RATES_SEEDS;
	free(ports);
	free(to);
}
