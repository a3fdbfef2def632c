/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include "routing/adaptive/groups.h"
#include "routing/report/congestion.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/graph/graph.h"

/*
 * link_use: pairs are counted against the direction of packets: for each LID that leaves by the
 * port, the hosts of the switch and of all switches that send the LID there. Tables that were
 * proven have no loop; the depth is bounded all the same.
 */

#define DEPTH_MAX 64

struct count {
	const struct link_use_scene *s;
	uint32_t *hosts; /* by switch: host ports with a LID whose links are up */
	unsigned lid;
};

uint32_t link_use_by_port(const struct link_use_scene *s, uint32_t sw, uint32_t lids[256])
{
	const uint8_t *row = tables_row(s->tables, sw);
	uint32_t none = 0;

	mem_zero(lids, 256);
	for (uint32_t lid = 1; lid <= s->lids->top; lid++) {
		if (s->lids->port_of_lid[lid] == TOPO_NONE)
			continue;
		if (row[lid] == TABLES_NO_ROUTE)
			none++;
		else
			lids[row[lid]]++;
	}
	return none;
}

struct lid_use link_use_of_lid(const struct link_use_scene *s, unsigned lid)
{
	struct lid_use use = { 0 };

	for (uint32_t sw = 0; sw < s->topo->nswitches; sw++) {
		if (tables_row(s->tables, sw)[lid] == TABLES_NO_ROUTE)
			use.drop++;
		else
			use.forward++;
	}
	return use;
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool is_host_port(const struct link_use_scene *s, uint32_t port)
{
	return topo_is_host(s->topo, s->topo->ports[port].node) && s->lids->lid_of_port[port];
}

/* Hosts whose packets to the LID come by this switch. */
static uint64_t upstream(const struct count *c, uint32_t sw, unsigned depth)
{
	const struct topo *t = c->s->topo;
	const struct topo_node *node = &t->nodes[sw];
	uint64_t hosts = c->hosts[sw];

	for (unsigned num = 1; depth && num <= node->nports; num++) {
		const struct topo_end *end = &t->ends[node->port0 + num];

		if (end->up && end->to < t->nswitches &&
		    (tables_row(c->s->tables, end->to))[c->lid] == end->num)
			hosts += upstream(c, end->to, depth - 1);
	}
	return hosts;
}

static bool is_lid_of_host(const struct link_use_scene *s, unsigned lid, bool base)
{
	uint32_t port = s->lids->port_of_lid[lid];

	return port != TOPO_NONE && is_host_port(s, port) &&
	       (!base || s->lids->lid_of_port[port] == lid);
}

/* any: stops at the first LID of a host that is not at the switch `but`, and returns that. */
static uint64_t pairs_of_switch(const struct link_use_scene *s, const struct topo_port *port,
				bool any, uint32_t but)
{
	const struct topo *t = s->topo;
	struct count c = { .s = s, .hosts = mem_array(c.hosts, t->nswitches + 1u) };
	const uint8_t *row = tables_row(s->tables, port->node);
	uint64_t pairs = 0;

	for (uint32_t p = t->nswitch_ports; p < t->nports; p++) {
		const struct topo_port *peer = topo_peer(t, &t->ports[p]);

		if (peer && peer->node < t->nswitches && peer->link_up && is_host_port(s, p))
			c.hosts[peer->node]++;
	}
	for (c.lid = 1; c.lid <= s->lids->top; c.lid++) {
		if (row[c.lid] != port->num || !is_lid_of_host(s, c.lid, !any))
			continue;

		const struct topo_port *to = &s->topo->ports[s->lids->port_of_lid[c.lid]];
		const struct topo_port *leaf = topo_peer(s->topo, to);

		if (leaf && leaf->node == but)
			continue;
		pairs += upstream(&c, port->node, DEPTH_MAX);
		if (leaf && leaf->node == port->node && leaf->link_up)
			pairs--; /* to itself */
		if (any && pairs)
			break;
	}
	free(c.hosts);
	return any && pairs ? c.lid : pairs;
}

/* What a host sends is all that its switch forwards. */
static uint64_t pairs_of_host(const struct link_use_scene *s, uint32_t at)
{
	const struct topo_port *peer = topo_peer(s->topo, &s->topo->ports[at]);
	uint64_t pairs = 0;

	if (!peer || !peer->link_up || peer->node >= s->topo->nswitches || !is_host_port(s, at))
		return 0;
	for (unsigned lid = 1; lid <= s->lids->top; lid++)
		pairs += is_lid_of_host(s, lid, true) && s->lids->port_of_lid[lid] != at &&
			 tables_row(s->tables, peer->node)[lid] != TABLES_NO_ROUTE;
	return pairs;
}

uint64_t link_use_pairs(const struct link_use_scene *s, uint32_t port)
{
	const struct topo_port *p = &s->topo->ports[port];

	if (p->peer == TOPO_NONE || !p->link_up)
		return 0;
	return p->node < s->topo->nswitches ? pairs_of_switch(s, p, false, TOPO_NONE)
					    : pairs_of_host(s, port);
}

uint16_t link_use_any(const struct link_use_scene *s, const struct topo_port *port, uint32_t but)
{
	return pairs_of_switch(s, port, true, but);
}

/*
 * congestion: counts flows (see congestion.h). Flows are followed through the tables hop by hop;
 * nothing is assumed of the engine. A pattern is a row of `patterns`: whom each host sends to, and
 * where the figures go. One random number makes a sample of every pattern. The all-to-all pattern
 * goes by destination in LID order, so that the part of the tables in use fits in the cache.
 */

#define MAX_HOPS 64

struct flow_host { /* a host port, in topological order */
	uint32_t sw, order, node;
	uint16_t lid;
	int16_t rail;
	uint32_t place; /* index within its rail */
	bool storage;	/* the storage pattern sends to it */
	uint32_t port;
};

struct flows {
	struct arena *arena; /* owns the arrays, those of an ebb_study too */
	const struct topo *t;
	const struct tables *tables;
	struct flow_host *hosts;
	uint32_t nhosts, nrails;
	uint32_t **rails; /* by rail: host indices */
	uint32_t *rail_count;
	uint32_t *next;	 /* by topo port of a switch: switch behind it, TOPO_NONE = none */
	double *cost;	 /* by topo port: what a flow takes of it, 1 = of the fastest */
	double *load;	 /* by topo port: costs of the flows in the pattern */
	uint64_t *total; /* by topo port: all-to-all */
	uint32_t *touched, ntouched; /* ports with load */
	uint32_t *targets, ntargets; /* of the storage pattern: host indices */
	uint32_t *permutation;	     /* of the random pattern */
	uint64_t sample;	     /* the random number that makes the present sample */
};

SORT_BY(by_order, struct flow_host, sort_order(a->order, b->order))

static void list_hosts(struct flows *f, const struct lid_map *lids)
{
	struct graph *g = graph_new(f->t, (struct graph_how){ .orientation = GRAPH_BY_LEVEL });

	f->hosts = arena_array(f->arena, f->hosts, g->nhosts + 1);
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		for (unsigned h = 0; h < g->switches[sw].nhosts; h++) {
			const struct graph_host *host = &g->hosts[g->switches[sw].first_host + h];
			const struct topo_node *node = &f->t->nodes[f->t->ports[host->port].node];
			uint16_t lid = lids->lid_of_port[host->port];

			if (host->live && lid)
				f->hosts[f->nhosts++] =
					(struct flow_host){ .sw = sw,
							    .order = host->order,
							    .node = f->t->ports[host->port].node,
							    .lid = lid,
							    .rail = node->rail,
							    .port = host->port };
		}
	}
	graph_free(g);
	qsort(f->hosts, f->nhosts, sizeof(*f->hosts), by_order);
}

static void add_target(struct flows *f, uint32_t host)
{
	f->hosts[host].storage = true;
	f->targets[f->ntargets++] = host;
}

/* The channel a packet for lid takes from sw, or TOPO_NONE when it ends here. */
static uint32_t channel_from(const struct flows *f, uint32_t sw, uint16_t lid)
{
	unsigned out = tables_row(f->tables, sw)[lid];
	uint32_t port = f->t->nodes[sw].port0 + out;

	return out <= f->t->nodes[sw].nports && f->next[port] != TOPO_NONE ? port : TOPO_NONE;
}

static void add_flow(struct flows *f, const struct flow_host *from, const struct flow_host *to,
		     double *worst)
{
	uint32_t sw = from->sw, port;

	for (unsigned hop = 0; hop < MAX_HOPS && (port = channel_from(f, sw, to->lid)) != TOPO_NONE;
	     hop++) {
		if (f->load[port] == 0)
			f->touched[f->ntouched++] = port;
		f->load[port] += f->cost[port];
		if (f->load[port] > *worst)
			*worst = f->load[port];
		sw = f->next[port];
	}
}

/* ---- Patterns -------------------------------------------------------------------------------- */

#define NOBODY UINT32_MAX

static uint32_t pick_shift(const struct flows *f, uint32_t i)
{
	uint64_t k = 1 + f->sample % (f->nhosts - 1);

	return (i + k) % f->nhosts;
}

static uint32_t pick_rail_shift(const struct flows *f, uint32_t i)
{
	const struct flow_host *host = &f->hosts[i];
	uint64_t k = 1 + (f->sample >> 20);

	if (!f->nrails)
		return pick_shift(f, i);
	return host->rail < 0 ? NOBODY
			      : f->rails[host->rail][(host->place + k) % f->rail_count[host->rail]];
}

static uint32_t pick_random(const struct flows *f, uint32_t i)
{
	return f->permutation[i];
}

static uint32_t pick_storage(const struct flows *f, uint32_t i)
{
	if (f->hosts[i].storage && f->ntargets < f->nhosts)
		return NOBODY;
	return f->targets[(i + (f->sample >> 10)) % f->ntargets];
}

static const struct pattern {
	uint32_t (*pick)(const struct flows *f, uint32_t from);
	size_t max, mean; /* offsets in struct congestion */
} patterns[] = {
	{ pick_shift, offsetof(struct congestion, shift_max),
	  offsetof(struct congestion, shift_mean) },
	{ pick_rail_shift, offsetof(struct congestion, rail_shift_max),
	  offsetof(struct congestion, rail_shift_mean) },
	{ pick_random, offsetof(struct congestion, random_max),
	  offsetof(struct congestion, random_mean) },
	{ pick_storage, offsetof(struct congestion, storage_max),
	  offsetof(struct congestion, storage_mean) },
};

/* ---- All to all ------------------------------------------------------------------------------ */

SORT_BY(by_lid, struct flow_host, a->lid - b->lid)

static void measure_all_to_all(struct flows *f, struct congestion *out)
{
	uint32_t *count = mem_array(count, f->t->nswitches + 1);
	uint32_t *sources = mem_array(sources, f->t->nswitches + 1), nsources = 0;
	double capacity = 0, sum = 0, worst = 0;

	for (uint32_t i = 0; i < f->nhosts; i++)
		if (count[f->hosts[i].sw]++ == 0)
			sources[nsources++] = f->hosts[i].sw;
	qsort(f->hosts, f->nhosts, sizeof(*f->hosts), by_lid);
	for (uint32_t i = 0; i < f->nhosts; i++) {
		const struct flow_host *to = &f->hosts[i];

		for (uint32_t s = 0; s < nsources; s++) {
			uint32_t sw = sources[s], port;
			uint32_t flows = count[sw] - (sw == to->sw);

			for (unsigned hop = 0;
			     hop < MAX_HOPS && (port = channel_from(f, sw, to->lid)) != TOPO_NONE;
			     hop++) {
				f->total[port] += flows;
				sw = f->next[port];
			}
		}
	}
	for (uint32_t i = 0; i < f->t->nports; i++) {
		if (f->next[i] == TOPO_NONE)
			continue;
		capacity += 1 / f->cost[i];
		sum += f->total[i];
		worst = fmax(worst, f->total[i] * f->cost[i]);
	}
	out->all_to_all_max = ceil(worst);
	out->all_to_all_ratio = sum > 0 ? worst * capacity / sum : 0;
	free(count);
	free(sources);
}

/* ---- The study ------------------------------------------------------------------------------- */

static void find_costs(struct flows *f)
{
	double fastest = 0;

	f->cost = arena_array(f->arena, f->cost, f->t->nports + 1);
	for (uint32_t i = 0; i < f->t->nports; i++) {
		f->cost[i] = topo_lane_mbps(f->t->ports[i].speed) * f->t->ports[i].width;
		if (f->next[i] != TOPO_NONE)
			fastest = fmax(fastest, f->cost[i]);
	}
	for (uint32_t i = 0; i < f->t->nports; i++)
		f->cost[i] = f->cost[i] > 0 ? fastest / f->cost[i] : 1;
}

static void flows_init(struct flows *f, const struct congestion_scene *scene)
{
	const struct topo *t = scene->t;

	*f = (struct flows){ .arena = arena_new(), .t = t, .tables = scene->tables };
	list_hosts(f, scene->lids);
	for (uint32_t i = 0; i < f->nhosts; i++)
		if (f->hosts[i].rail >= 0 && (uint32_t)f->hosts[i].rail >= f->nrails)
			f->nrails = f->hosts[i].rail + 1;
	f->rails = arena_array(f->arena, f->rails, f->nrails + 1);
	f->rail_count = arena_array(f->arena, f->rail_count, f->nrails + 1);
	for (uint32_t r = 0; r < f->nrails; r++)
		f->rails[r] = arena_array(f->arena, f->rails[r], f->nhosts + 1);
	for (uint32_t i = 0; i < f->nhosts; i++) {
		int rail = f->hosts[i].rail;

		if (rail < 0)
			continue;
		f->hosts[i].place = f->rail_count[rail];
		f->rails[rail][f->rail_count[rail]++] = i;
	}

	f->next = arena_array(f->arena, f->next, t->nports + 1);
	f->load = arena_array(f->arena, f->load, t->nports + 1);
	f->total = arena_array(f->arena, f->total, t->nports + 1);
	f->touched = arena_array(f->arena, f->touched, t->nports + 1);
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];
		bool channel = port->link_up && port->num && port->node < t->nswitches &&
			       t->ports[port->peer].node < t->nswitches;

		f->next[i] = channel ? t->ports[port->peer].node : TOPO_NONE;
	}
	find_costs(f);

	f->targets = arena_array(f->arena, f->targets, f->nhosts);
	for (uint32_t i = 0; i < f->nhosts; i++) {
		uint32_t node = f->hosts[i].node;

		if (scene->storage ? scene->storage[node]
				   : (strcasestr(t->nodes[node].desc, "storage") ||
				      strcasestr(t->nodes[node].label, "storage")))
			add_target(f, i);
	}
	if (!f->ntargets) {
		bool *seen = mem_array(seen, t->nswitches);

		for (uint32_t i = 0; i < f->nhosts; i++) {
			if (!seen[f->hosts[i].sw])
				add_target(f, i);
			seen[f->hosts[i].sw] = true;
		}
		free(seen);
	}
	f->permutation = arena_array(f->arena, f->permutation, f->nhosts);
}

/* Fisher and Yates. */
static void shuffle_hosts(struct flows *f, uint64_t *random)
{
	for (uint32_t i = 0; i < f->nhosts; i++)
		f->permutation[i] = i;
	for (uint32_t i = f->nhosts; i > 1; i--) {
		uint32_t k = random_next(random) % i, last = f->permutation[i - 1];

		f->permutation[i - 1] = f->permutation[k];
		f->permutation[k] = last;
	}
}

void congestion_study(const struct congestion_scene *scene, struct congestion *out,
		      uint64_t *by_port)
{
	struct flows f;
	uint64_t state = 1;

	flows_init(&f, scene);
	*out = (struct congestion){ .storage_ports = f.ntargets };
	for (unsigned n = 0; n < CONGESTION_SAMPLES && f.nhosts > 1; n++) {
		uint64_t shuffle = f.sample = random_next(&state);

		shuffle_hosts(&f, &shuffle);
		for (size_t p = 0; p < ARRAY_SIZE(patterns); p++) {
			unsigned *max = (void *)((char *)out + patterns[p].max);
			double *mean = (void *)((char *)out + patterns[p].mean);
			double worst = 0;

			for (uint32_t i = 0; i < f.nhosts; i++) {
				uint32_t to = patterns[p].pick(&f, i);

				if (to != NOBODY)
					add_flow(&f, &f.hosts[i], &f.hosts[to], &worst);
			}
			while (f.ntouched)
				f.load[f.touched[--f.ntouched]] = 0;
			*max = worst > *max ? ceil(worst) : *max;
			*mean += worst / CONGESTION_SAMPLES;
		}
	}

	measure_all_to_all(&f, out);
	if (by_port)
		mem_copy(by_port, f.total, f.t->nports);
	arena_free(f.arena);
}

/*
 * ---- Effective bisection bandwidth --------------------------------------------------------------
 * A flow is spread over its LIDs, and at each switch over the ports that may be taken there. First
 * all flows are laid on the channels, hop by hop; then each gets what the channels leave it.
 */

#define JOB_PERCENT 40
#define FLOWS_MEANT 65536 /* in all samples of a pattern, if that is not too many of them */
#define SAMPLES_MIN 4

struct ebb_study {
	struct flows f;
	const struct lid_map *lids;
	const struct ar_groups *groups; /* NULL = packets go by the tables alone */
	double *rate;			/* by port: Mb/s */
	uint32_t *to;			/* by host: whom it sends to */
	uint32_t *in;			/* by host: how many send to it */
	bool *is_chosen;		/* by machine, then by node without one */
	double *mass[2];       /* by switch: of the flows that are laid now; and at the next hop */
	double *share;	       /* by switch: of such flows from there on */
	uint32_t *stamp, now;  /* by switch: share is that of flow number `now` */
	uint32_t *here, *next; /* switches that the flow has come to, and comes to next */
	double *results;       /* of all samples */
	size_t nresults;
};

struct exits {
	uint8_t port[256];
	unsigned n;
	double rate; /* of all together */
};

static void add_exit(const struct ebb_study *e, uint32_t sw, unsigned num, struct exits *out)
{
	uint32_t port = e->f.t->nodes[sw].port0 + num;

	if (num > e->f.t->nodes[sw].nports || e->f.next[port] == TOPO_NONE)
		return;
	out->port[out->n++] = num;
	out->rate += e->rate[port];
}

/* The ports to other switches by which a packet may leave. */
static void find_exits(const struct ebb_study *e, uint32_t sw, uint16_t lid, struct exits *out)
{
	const struct ar_ports *members = ar_members(e->groups, sw, lid);

	out->n = 0;
	out->rate = 0;
	if (!members)
		add_exit(e, sw, tables_row(e->f.tables, sw)[lid], out);
	for (unsigned w = 0; members && w < ARRAY_SIZE(members->word); w++)
		for (uint64_t left = members->word[w]; left; left &= left - 1)
			add_exit(e, sw, w * 64 + __builtin_ctzll(left), out);
}

/* Puts what is at the `nhere` switches of `here` on channels, hop by hop. */
static void lay(struct ebb_study *e, uint32_t nhere, uint16_t lid)
{
	const struct topo_node *nodes = e->f.t->nodes;
	uint32_t nnext;
	struct exits exits;

	for (unsigned hop = 0; nhere && hop < MAX_HOPS; hop++, nhere = nnext) {
		nnext = 0;
		for (uint32_t i = 0; i < nhere; i++) {
			uint32_t sw = e->here[i];
			double mass = e->mass[0][sw];

			e->mass[0][sw] = 0;
			find_exits(e, sw, lid, &exits);
			for (unsigned x = 0; x < exits.n; x++) {
				uint32_t port = nodes[sw].port0 + exits.port[x];
				uint32_t next = e->f.next[port];
				double part = mass * e->rate[port] / exits.rate;

				e->f.load[port] += part;
				if (e->mass[1][next] == 0)
					e->next[nnext++] = next;
				e->mass[1][next] += part;
			}
		}
		uint32_t *list = e->here;
		double *mass = e->mass[0];

		e->here = e->next;
		e->next = list;
		e->mass[0] = e->mass[1];
		e->mass[1] = mass;
	}
	while (nhere)
		e->mass[0][e->here[--nhere]] = 0;
}

/* The part of what a flow asks for that it gets from this switch on; nothing if it is dropped. */
static double share_from(struct ebb_study *e, uint32_t sw, uint16_t lid, unsigned hops)
{
	const struct topo_node *node = &e->f.t->nodes[sw];
	struct exits exits;
	double share = 0;

	if (e->stamp[sw] == e->now)
		return e->share[sw];
	find_exits(e, sw, lid, &exits);
	for (unsigned x = 0; x < exits.n && hops < MAX_HOPS; x++) {
		uint32_t port = node->port0 + exits.port[x];
		double here = fmin(1, e->rate[port] / e->f.load[port]);

		share += fmin(here, share_from(e, e->f.next[port], lid, hops + 1)) * e->rate[port] /
			 exits.rate;
	}
	if (!exits.n) {
		unsigned num = tables_row(e->f.tables, sw)[lid];

		share = num <= node->nports &&
			e->f.t->ports[node->port0 + num].peer == e->lids->port_of_lid[lid];
	}
	e->stamp[sw] = e->now;
	return e->share[sw] = share;
}

/* Flows with the same key have the same groups at each switch, and are laid together. */
static uint32_t key_of(const struct ebb_study *e, uint32_t from)
{
	uint16_t lid = e->f.hosts[e->to[from]].lid;
	uint32_t dest = e->groups ? e->groups->dest[lid] : TOPO_NONE;

	return dest == TOPO_NONE ? lid : LID_SPACE + dest;
}

static int by_key(const void *a, const void *b, void *study)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t i = key_of(study, x), j = key_of(study, y);

	return sort_order(i, j) ?: sort_order(x, y);
}

/* A host's flow asks for all that its own port and the other one have for it. */
static void lay_together(struct ebb_study *e, const uint32_t *flows, uint32_t n, unsigned lids)
{
	uint16_t lid = e->f.hosts[e->to[flows[0]]].lid;

	for (unsigned l = 0; l < lids; l++) {
		uint32_t nhere = 0;

		for (uint32_t i = 0; i < n; i++) {
			const struct flow_host *from = &e->f.hosts[flows[i]];
			uint32_t to = e->to[flows[i]];

			if (e->mass[0][from->sw] == 0)
				e->here[nhere++] = from->sw;
			e->mass[0][from->sw] += fmin(e->rate[from->port],
						     e->rate[e->f.hosts[to].port] / e->in[to]) /
						lids;
		}
		lay(e, nhere, lid + l);
	}
}

static void take_shares(struct ebb_study *e, const uint32_t *flows, uint32_t n, unsigned lids)
{
	uint16_t lid = e->f.hosts[e->to[flows[0]]].lid;

	for (uint32_t i = 0; i < n; i++)
		e->results[e->nresults + i] = 0;
	for (unsigned l = 0; l < lids; l++) {
		e->now++;
		for (uint32_t i = 0; i < n; i++)
			e->results[e->nresults + i] +=
				share_from(e, e->f.hosts[flows[i]].sw, lid + l, 0) / lids;
	}
	e->nresults += n;
}

static void measure_sample(struct ebb_study *e, double *worst)
{
	const struct flows *f = &e->f;
	unsigned lids = e->groups ? 1 : 1u << e->lids->lmc;
	uint32_t *flows = f->permutation, count = 0, end;

	mem_zero(f->load, f->t->nports);
	mem_zero(e->in, f->nhosts);
	for (uint32_t i = 0; i < f->nhosts; i++)
		if (e->to[i] != NOBODY) {
			e->in[e->to[i]]++;
			flows[count++] = i;
		}
	qsort_r(flows, count, sizeof(*flows), by_key, e);
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t at = 0; at < count; at = end) {
			for (end = at + 1;
			     end < count && key_of(e, flows[end]) == key_of(e, flows[at]);)
				end++;
			(pass ? take_shares : lay_together)(e, flows + at, end - at, lids);
		}
	for (uint32_t i = 0; i < f->t->nports; i++)
		if (f->load[i] > 0)
			*worst = fmax(*worst, f->load[i] / e->rate[i]);
}

/* Random pairs, each of which sends both ways; of an odd number of hosts one is left out. */
static void choose_pairs(struct ebb_study *e)
{
	uint64_t shuffle = e->f.sample;

	shuffle_hosts(&e->f, &shuffle);
	for (uint32_t i = 0; i < e->f.nhosts; i++) {
		uint32_t mate = (i ^ 1) < e->f.nhosts ? e->f.permutation[i ^ 1] : NOBODY;

		e->to[e->f.permutation[i]] = mate;
	}
}

/* A round of an all-to-all among the ports of some machines: each sends to the k-th after it. */
static void choose_job(struct ebb_study *e)
{
	const struct flows *f = &e->f;
	uint32_t *ports = f->permutation, count = 0;
	uint64_t random = f->sample;

	for (uint32_t i = 0; i < f->t->nhosts + f->t->nnodes; i++)
		e->is_chosen[i] = random_next(&random) % 100 < JOB_PERCENT;
	for (uint32_t i = 0; i < f->nhosts; i++) {
		uint32_t node = f->hosts[i].node, host = f->t->nodes[node].host;

		e->to[i] = NOBODY;
		if (e->is_chosen[host == TOPO_NONE ? f->t->nhosts + node : host])
			ports[count++] = i;
	}
	for (uint32_t i = 0, k = count ? random_next(&random) % count : 0; i < count && k; i++)
		e->to[ports[i]] = ports[(i + k) % count];
}

static void choose_storage(struct ebb_study *e)
{
	for (uint32_t i = 0; i < e->f.nhosts; i++) {
		e->to[i] = pick_storage(&e->f, i);
		if (e->to[i] == i)
			e->to[i] = NOBODY;
	}
}

SORT_BY(by_value, double, sort_order(*a, *b))

/* Fills a zeroed study but for its LIDs and groups; returns how many samples a pattern has. */
static uint32_t study_init(struct ebb_study *e, const struct congestion_scene *scene)
{
	const struct topo *t = scene->t;

	flows_init(&e->f, scene);

	uint32_t nhosts = e->f.nhosts + 1, samples = FLOWS_MEANT / nhosts;

	samples = samples < SAMPLES_MIN	  ? SAMPLES_MIN
		  : samples > EBB_SAMPLES ? EBB_SAMPLES
					  : samples;
	e->rate = arena_array(e->f.arena, e->rate, t->nports + 1);
	for (uint32_t i = 0; i < t->nports; i++)
		e->rate[i] = topo_lane_mbps(t->ports[i].speed) * t->ports[i].width ?: 1;
	e->to = arena_array(e->f.arena, e->to, nhosts);
	e->in = arena_array(e->f.arena, e->in, nhosts);
	e->is_chosen = arena_array(e->f.arena, e->is_chosen, t->nhosts + t->nnodes);
	e->mass[0] = arena_array(e->f.arena, e->mass[0], t->nswitches + 1);
	e->mass[1] = arena_array(e->f.arena, e->mass[1], t->nswitches + 1);
	e->share = arena_array(e->f.arena, e->share, t->nswitches + 1);
	e->stamp = arena_array(e->f.arena, e->stamp, t->nswitches + 1);
	e->here = arena_array(e->f.arena, e->here, t->nswitches + 1);
	e->next = arena_array(e->f.arena, e->next, t->nswitches + 1);
	e->results = arena_array(e->f.arena, e->results, (size_t)samples * nhosts);
	return samples;
}

void ebb_measure(const struct congestion_scene *scene, const struct ar_groups *groups,
		 struct ebb *out)
{
	static void (*const choose[EBB_PATTERNS])(
		struct ebb_study *) = { [EBB_BISECTION] = choose_pairs,
					[EBB_JOB] = choose_job,
					[EBB_STORAGE] = choose_storage };
	struct ebb_study e = { .lids = scene->lids, .groups = groups };
	uint32_t samples = study_init(&e, scene);
	uint64_t state = 1;

	for (unsigned p = 0; p < EBB_PATTERNS; p++) {
		struct ebb_figures *figures = &out->of[p];

		*figures = (struct ebb_figures){ 0 };
		for (uint32_t n = 0; n < samples && e.f.nhosts > 1; n++) {
			e.f.sample = random_next(&state);
			choose[p](&e);
			measure_sample(&e, &figures->worst_link);
		}
		qsort(e.results, e.nresults, sizeof(*e.results), by_value);
		for (size_t i = 0; i < e.nresults; i++)
			figures->mean += e.results[i] / e.nresults;
		if (e.nresults)
			figures->slowest_tenth = e.results[e.nresults / 10];
		e.nresults = 0;
	}
	arena_free(e.f.arena);
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

struct job_ports {
	uint32_t *job;	 /* by host port in topological order; TOPO_NONE = of no job */
	uint32_t *first; /* by job: the place of its first port in `ports` */
	uint32_t *ports; /* by job, in topological order */
};

/*
 * Of the jobs first .. last - 1: adds to `share` of each its mean, and to `time`, of the samples'
 * slowest flows. A job's round depends on its number and the sample's.
 */
static void measure_jobs(struct ebb_study *e, const struct job_ports *all, uint32_t first,
			 uint32_t last, uint32_t samples, struct ebb_job *out)
{
	double *least = mem_array(least, last + 1);
	double worst = 0;

	for (uint32_t n = 0; n < samples; n++) {
		e->nresults = 0;
		for (uint32_t i = 0; i < e->f.nhosts; i++)
			e->to[i] = NOBODY;
		for (uint32_t job = first; job < last; job++) {
			uint32_t count = all->first[job + 1] - all->first[job];
			const uint32_t *ports = all->ports + all->first[job];
			uint64_t random = ((uint64_t)job << 32) + n + 1;
			uint64_t shift = count > 1 ? 1 + random_next(&random) % (count - 1) : 0;

			for (uint32_t i = 0; i < count && shift; i++)
				e->to[ports[i]] = ports[(i + shift) % count];
			least[job] = 0;
		}
		measure_sample(e, &worst);
		for (size_t i = 0; i < e->nresults; i++) {
			uint32_t job = all->job[e->f.permutation[i]];
			double share = e->results[i];

			out[job].share += share / samples / (all->first[job + 1] - all->first[job]);
			if (share > 0 && (least[job] == 0 || share < least[job]))
				least[job] = share;
		}
		for (uint32_t job = first; job < last; job++)
			if (least[job] > 0)
				out[job].time += 1 / least[job] / samples;
	}
	free(least);
}

void ebb_jobs(const struct congestion_scene *scene, const uint32_t *job_of, uint32_t njobs,
	      struct ebb_job *out)
{
	struct ebb_study e = { .lids = scene->lids };
	uint32_t samples = study_init(&e, scene);
	struct job_ports all = { .job = mem_array(all.job, e.f.nhosts + 1),
				 .first = mem_array(all.first, njobs + 2),
				 .ports = mem_array(all.ports, e.f.nhosts + 1) };
	struct ebb_job *alone = mem_array(alone, njobs + 1);

	/* A counting sort: first[job + 1] is the job's number of ports, then where they end. */
	for (uint32_t i = 0; i < e.f.nhosts; i++) {
		uint32_t host = scene->t->nodes[e.f.hosts[i].node].host;

		all.job[i] = host == TOPO_NONE ? TOPO_NONE : job_of[host];
		if (all.job[i] != TOPO_NONE)
			all.first[all.job[i] + 1]++;
	}
	for (uint32_t job = 0; job < njobs; job++)
		all.first[job + 1] += all.first[job];
	for (uint32_t i = e.f.nhosts; i-- > 0;)
		if (all.job[i] != TOPO_NONE)
			all.ports[--all.first[all.job[i] + 1]] = i;
	memmove(all.first, all.first + 1, njobs * sizeof(*all.first));
	all.first[njobs] = 0;
	for (uint32_t i = 0; i < e.f.nhosts; i++)
		all.first[njobs] += all.job[i] != TOPO_NONE;

	mem_zero(out, njobs);
	measure_jobs(&e, &all, 0, njobs, samples, out);
	for (uint32_t job = 0; job < njobs; job++) {
		measure_jobs(&e, &all, job, job + 1, samples, alone);
		out[job].alone = alone[job].share;
	}
	free(all.job);
	free(all.first);
	free(all.ports);
	free(alone);
	arena_free(e.f.arena);
}
