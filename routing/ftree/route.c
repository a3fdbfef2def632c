/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include <errno.h>
#include "routing/acyclic/acyclic.h"
#include "routing/ftree/choice.h"
#include "routing/ftree/engine.h"
#include "routing/ftree/even.h"
#include "routing/ftree/legal.h"
#include "routing/ftree/pivot.h"
#include "routing/ftree/route.h"
#include "routing/ftree/tiers.h"
#include "routing/path.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

/* ---- Entries of other tables ----------------------------------------------------------------- */

static uint32_t home_of(const struct topo *t, uint32_t port)
{
	const struct topo_port *p = &t->ports[port];

	if (p->node < t->nswitches)
		return p->node;
	return p->peer == TOPO_NONE ? TOPO_NONE : t->ports[p->peer].node;
}

/* By switch: some host's port hangs on it, which aggregation nodes are not. */
static bool *find_hosts(const struct topo *t)
{
	bool *hosts = mem_array(hosts, t->nswitches + 1);

	for (uint32_t i = 0; i < t->nports; i++) {
		uint32_t home = topo_is_host(t, t->ports[i].node) ? home_of(t, i) : TOPO_NONE;

		if (home < t->nswitches)
			hosts[home] = true;
	}
	return hosts;
}

/*
 * A drained switch's own way to hosts, which nobody else uses: taken when from the next switch on
 * both tables agree.
 */
static void copy_entry(const struct topo *t, uint32_t sw, uint32_t lid, const struct tables *from,
		       struct tables *to)
{
	uint8_t out = tables_row(from, sw)[lid];

	if (out == TABLES_NO_ROUTE || tables_row(to, sw)[lid] != TABLES_NO_ROUTE)
		return;

	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, out));

	if (peer && peer->node < t->nswitches &&
	    tables_row(to, peer->node)[lid] == tables_row(from, peer->node)[lid])
		tables_set(to, sw, lid, out);
}

/* Whether the tables lead from the gap's switch to its destination, or to a host there. */
static bool is_closed_by(const struct topo *t, const struct lid_map *lids, const struct gap *gap,
			 const struct tables *from)
{
	const uint8_t *row = tables_row(from, gap->sw);

	for (unsigned num = 0; num <= t->nodes[gap->d].nports; num++) {
		uint32_t self = t->nodes[gap->d].port0 + num;
		uint32_t port = num ? t->ports[self].peer : self;
		uint32_t lid = port == TOPO_NONE ? 0 : lids->lid_of_port[port];

		if (lid && home_of(t, port) == gap->d && row[lid] != TABLES_NO_ROUTE)
			return true;
	}
	return false;
}

/*
 * Fills the gaps of `to` from tables of the same switches and LIDs. A destination to which some
 * switch with hosts has a path in `from` alone: all its entries. Any other: those of the gap's own
 * switch, as far as both tables agree at the next one. What `from` has no path for either stays
 * open, and lifts no cordon of others.
 */
static void cordons_fill(const struct topo *t, const struct lid_map *lids, const struct gaps *gaps,
			 const struct tables *from, struct tables *to)
{
	bool *hosts = find_hosts(t);
	bool *columns = mem_array(columns, t->nswitches + 1);

	for (uint32_t i = 0; i < gaps->count; i++)
		columns[gaps->list[i].d] |=
			hosts[gaps->list[i].sw] && is_closed_by(t, lids, &gaps->list[i], from);

	/* All switches' entries for the LIDs behind the chosen destinations. */
	for (uint32_t lid = 1; lid <= to->top; lid++) {
		uint32_t port = lids->port_of_lid[lid];
		uint32_t home = port == TOPO_NONE ? TOPO_NONE : home_of(t, port);

		if (home >= t->nswitches || !columns[home])
			continue;
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			tables_set(to, sw, lid, tables_row(from, sw)[lid]);
	}

	for (uint32_t i = 0; i < gaps->count; i++)
		if (!columns[gaps->list[i].d]) {
			const struct gap *gap = &gaps->list[i];

			for (unsigned num = 1; num <= t->nodes[gap->d].nports; num++) {
				uint32_t host = topo_port(t, gap->d, num)->peer;
				uint32_t lid = host == TOPO_NONE ? 0 : lids->lid_of_port[host];

				for (uint32_t n = 0; lid && n < 1u << lids->lmc; n++)
					copy_entry(t, gap->sw, lid + n, from, to);
			}
		}
	free(hosts);
	free(columns);
}

/* ---- Cordons that are exempt ----------------------------------------------------------------- */

/*
 * By port: links of switches whose hosts cordons shut off, but for those to switches that are
 * themselves drained and those in quarantine. NULL = there are none. The caller's to free.
 */
static bool *cordons_find_exempt(const struct topo *t)
{
	bool *hosts = find_hosts(t), *exempt = mem_array(exempt, t->nports + 1);
	bool *drained = mem_array(drained, t->nswitches + 1);
	bool *shut = mem_array(shut, t->nswitches + 1);
	unsigned count = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		/* All its links cordoned at its own end; none without any cordon and up. */
		drained[sw] = shut[sw] = true;
		for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
			const struct topo_port *port = topo_port(t, sw, num),
					       *peer = topo_peer(t, port);

			if (!(peer && peer->node < t->nswitches && peer->node != sw))
				continue;
			drained[sw] &= port->cordoned;
			shut[sw] &= !port->link_up || port->cordoned || peer->cordoned;
		}
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (hosts[sw] && shut[sw]) {
			for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
				const struct topo_port *port = topo_port(t, sw, num),
						       *peer = topo_peer(t, port);

				if (!(peer && peer->node < t->nswitches && peer->node != sw) ||
				    drained[peer->node] || !port->link_up || port->quarantined ||
				    peer->quarantined)
					continue;
				exempt[port - t->ports] = true;
				count++;
			}
		}
	free(hosts);
	free(drained);
	free(shut);
	if (count)
		return exempt;
	free(exempt);
	return NULL;
}

/*
 * route: the routing engine's front: graph, destinations, reach, rows.
 *
 * Reading: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations on real
 * life fat trees" (2010); Gliksberg et al., "High-Quality Fault-Resiliency in Fat Trees" (arXiv
 * 2211.13101). Beyond these papers, choice.h chooses ports where links have failed, and every
 * fabric is routed: levels orient it as a tree, and pairs without a legal path get detours
 * (detour.c). If pairs of hosts remain without a path, detour_search.c replaces detours that are
 * in each other's way. If pairs remain even then, or if the known links form no tree (tiers.h),
 * the fabric is routed by an acyclic set of turns instead (acyclic.h).
 */

struct route {
	struct graph *graph;	  /* of the previous computation */
	const struct topo *shape; /* snapshot that `graph` was made of; NULL = make a new one */
	struct design design;	  /* of `graph`, as far as it has been computed */
	struct pivots pivots;	  /* switches of `graph` at which detours turn down */
	struct even *even;	  /* entries of an irregular design; NULL = none */
	bool pivoting;		  /* the latest computation used `pivots` */
	struct tables spare;	  /* tables of a second computation, where one is needed */
	size_t room;		  /* bytes of the memory of `spare` that have been touched */
	bool overridden;	  /* some pairs of hosts are reached by cordoned links only */
	struct run *run;	  /* the computation that runs; NULL = none */
	struct acyclic *acyclic;
	const struct topo *judged; /* snapshot that `tiers` was computed of; NULL = none */
	struct tiers tiers;
	bool is_tree;
	struct route_outcome outcome; /* of the latest computation */
};

#define LANE_NS 40 /* estimated time for each link end to make a graph or its reach */

struct run { /* arguments of a computation that runs in a fiber */
	struct fiber *fiber;
	struct route *route;
	const struct topo *t;
	const struct lid_map *lids;
	struct route_params params;
	struct tables *out;
	int status;
};

struct job { /* one computation */
	struct route *route;
	const struct topo *t;
	const struct lid_map *lids;
	const struct route_params *params;
	struct graph_how how;
};

struct route *route_new(void)
{
	struct route *route = mem_new(route);

	route->acyclic = acyclic_new();
	route->outcome.engine = "ftree";
	return route;
}

static void drop_graph(struct route *route)
{
	if (route->graph) {
		design_fini(&route->design);
		pivots_fini(&route->pivots);
	}
	graph_free(route->graph);
	topo_unref(route->shape);
}

void route_free(struct route *route)
{
	if (!route)
		return;
	route_abandon(route);
	drop_graph(route);
	tables_fini(&route->spare);
	even_unref(route->even);
	topo_unref(route->judged);
	acyclic_free(route->acyclic);
	free(route);
}

bool route_reserve(struct route *route, uint32_t nswitches, uint16_t top)
{
	size_t bytes = route->spare.capacity;

	tables_resize(&route->spare, nswitches, top);
	if (route->spare.capacity != bytes)
		route->room = 0;
	return route->room < route->spare.capacity && tables_reserve(&route->spare, &route->room);
}

/* NULL: the computation runs without interruption. */
static struct fiber *fiber_of(const struct route *route)
{
	return route->run ? route->run->fiber : NULL;
}

/*
 * Levels and families follow from which links exist: they are kept while only the links' state
 * changes.
 */
static const struct graph *take_graph(const struct job *job)
{
	struct route *r = job->route;

	if (r->shape && topo_is_again(r->shape, job->t) && job->how.orientation == GRAPH_BY_LEVEL) {
		graph_refresh(r->graph, job->t, job->how);
		return r->graph;
	}
	drop_graph(r);
	r->graph = graph_new(job->t, job->how);
	r->design = (struct design){ .g = r->graph };
	pivots_init(&r->pivots, r->graph);
	r->shape = job->how.orientation == GRAPH_BY_LEVEL ? topo_ref_frozen(job->t) : NULL;
	return r->graph;
}

/*
 * Fills `out` with legal paths, and with detours where `wanted` is NULL; else the gaps go to
 * *wanted, for the caller to gaps_fini(). Returns how many pairs of hosts remain without a path.
 */
static uint64_t compute(const struct job *job, struct tables *out, struct gaps *wanted)
{
	const struct graph *g = take_graph(job);
	struct route *route = job->route;
	bool plain = job->how.orientation == GRAPH_BY_LEVEL && !job->how.through_cordons &&
		     !job->how.exempt;
	struct dests d;
	struct reach r;
	struct gaps gaps;

	fiber_spend(fiber_of(route), g->nlanes * LANE_NS);
	dests_init(&d, g, job->t, job->lids, job->params);
	pivots_spread(&route->pivots, &d);
	reach_init(&r, g);
	r.design = &route->design;
	r.fiber = fiber_of(route);
	tables_keep(out, job->t->nswitches, job->lids->top);
	fiber_spend(r.fiber, g->nlanes * LANE_NS);
	/*
	 * Pivots are right only where every pair of hosts that links connect has a legal path: all
	 * is computed again without them where one has none, or where they leave what detours
	 * might close. With cordons, some entries take cordoned links in the end: what is proven of
	 * the first pivot remains true then, of further pivots it may not, so one is used.
	 */
	if (plain && pivots_find(&route->pivots, &d, &r, job->t->ncordoned ? 1 : PIVOTS_MAX))
		r.pivots = &route->pivots;
	rows_fill(g, &d, &r, out, &gaps);
	if (r.pivots && gaps_may_close(&gaps, g, job->t, r.pivots->optional)) {
		gaps_fini(&gaps);
		r.pivots = NULL;
		rows_fill(g, &d, &r, out, &gaps);
	}
	route->pivoting = r.pivots;
	route->even = route->even ?: even_ref(job->params->even);
	if (job->how.orientation == GRAPH_BY_LEVEL)
		route->even = even_find(route->even, g, job->t, job->lids, job->params, r.fiber);
	if (route->even)
		legal_override(g, &r, &d, NULL, route->even->list, route->even->count, out);
	if (plain && job->params->noverrides) {
		bool *open = legal_find_open(job->t, g, &gaps);

		legal_override(g, &r, &d, open, job->params->overrides, job->params->noverrides,
			       out);
		free(open);
	}

	uint64_t open_pairs =
		wanted || r.pivots ? gaps.host_pairs : detour_fill(g, &d, &r, out, &gaps);

	/* Pivots leave a switch apart from hosts where its spine has no link to a pivot. */
	if (!wanted && r.pivots && gaps_may_close(&gaps, g, job->t, true))
		detour_search_tables(job->t, job->lids, out, r.fiber);
	if (wanted)
		*wanted = gaps;
	else
		gaps_fini(&gaps);
	reach_fini(&r);
	dests_fini(&d);
	return open_pairs;
}

/*
 * Cordoned links carry no transit, except to destinations that no other link reaches. Tables are
 * computed without cordoned links; then with those of leaves that the cordons cut off; then with
 * all, for destinations that still have gaps. A destination's entries on the way from any host
 * come from the same of these three computations, and all three obey the same orientation.
 */
static uint64_t compute_around_cordons(struct route *route, const struct job *job,
				       struct tables *out)
{
	struct job through = *job;
	struct gaps gaps, left;

	if (!job->t->ncordoned)
		return compute(job, out, NULL);
	compute(job, out, &gaps);

	bool pivoting = route->pivoting;
	uint64_t cut_off = gaps.host_pairs;

	/* A cordoned leaf's hosts are reached by its own links, with all other cordons kept. */
	bool *exempt = gaps.count ? cordons_find_exempt(job->t) : NULL;

	if (exempt) {
		through.how.exempt = exempt;
		compute(&through, &route->spare, &left);
		cordons_fill(job->t, job->lids, &gaps, &route->spare, out);
		gaps_fini(&gaps);
		gaps = left;
		free(exempt);
	}
	through.how.exempt = job->how.exempt;
	through.how.through_cordons = true;

	/* detour_fill() would not know the detours that pivots made. */
	uint64_t open_pairs = compute(&through, &route->spare, pivoting ? &left : NULL);

	if (pivoting)
		gaps_fini(&left);
	route->overridden = open_pairs < cut_off;
	if (gaps.count == GAPS_MAX && !open_pairs)
		open_pairs = 1; /* not all are listed; some may be left: the caller counts them */
	cordons_fill(job->t, job->lids, &gaps, &route->spare, out);
	gaps_fini(&gaps);
	return open_pairs;
}

struct even *route_even(const struct route *route)
{
	return route->even;
}

bool route_is_irregular(const struct route *route)
{
	return route->shape && even_is_due(route->graph, route->shape);
}

bool route_is_uneven(const struct route *route)
{
	return route->shape && strcmp(route->outcome.engine, "updn-root") &&
	       uneven_is(route->graph, route->shape);
}

bool route_cordons_overridden(const struct route *route)
{
	return route->overridden;
}

/* ---- Fabrics without tree -------------------------------------------------------------------- */

static void run_acyclic(struct job *job, struct tables *out)
{
	acyclic_compute(job->route->acyclic, job->t, job->lids, out, fiber_of(job->route));
}

static void compute_acyclic(struct job *job, struct tables *out)
{
	run_acyclic(job, out);
	job->route->overridden = acyclic_cordons_overridden(job->route->acyclic);
}

static void compute_tree(struct job *job, struct tables *out)
{
	uint64_t open_pairs = compute_around_cordons(job->route, job, out);
	struct route *route = job->route;
	struct fiber *fiber = fiber_of(route);
	struct burden tree, other;
	struct gaps gaps;

	if (!open_pairs || !detour_search_count(job->t, job->lids, out, fiber))
		return;
	/*
	 * Detours that were chosen one by one may exclude each other: without cordons they are
	 * removed, and the search starts from legal paths alone. With cordons, it starts from the
	 * present tables.
	 */
	if (!job->t->ncordoned) {
		compute(job, out, &gaps);
		gaps_fini(&gaps);
	}
	if (!detour_search_tables(job->t, job->lids, out, fiber))
		return;
	/*
	 * Some pairs of hosts have no path in the tree. The tables with fewer such pairs are taken,
	 * those of the tree where both have as many.
	 */
	burden_measure(job->t, job->lids, out, fiber, &tree);
	run_acyclic(job, &route->spare);
	burden_measure(job->t, job->lids, &route->spare, fiber, &other);
	if (other.open_pairs >= tree.open_pairs)
		return;
	route->outcome = (struct route_outcome){ .engine = "updn-root",
						 .why = ROUTE_PAIRS_OPEN,
						 .open_pairs = tree.open_pairs,
						 .open_from = tree.open_from,
						 .open_to = tree.open_to,
						 .tree_load = tree.load,
						 .load = other.load,
						 .tree_hops = tree.hops,
						 .hops = other.hops };
	route->overridden |= acyclic_cordons_overridden(route->acyclic);

	struct tables were = *out;

	*out = route->spare;
	route->spare = were;
}

static void compute_by_design(struct job *job, struct tables *out)
{
	/*
	 * Whether the fabric is routed as a tree. Known links that are down count too, so that
	 * neither a fault nor a repair changes the engine.
	 */
	struct route *route = job->route;

	if (!route->judged || !topo_is_again(route->judged, job->t)) {
		topo_unref(route->judged);
		route->is_tree = tiers_are_tree(job->t, &route->tiers, fiber_of(route));
		route->judged = topo_ref_frozen(job->t);
	}
	if (route->is_tree) {
		compute_tree(job, out);
		return;
	}
	compute_acyclic(job, out);
	job->route->outcome.engine = "updn-root";
	job->route->outcome.why = ROUTE_NO_TREE;
}

/* ---- Engines --------------------------------------------------------------------------------- */

static const struct engine {
	const char *name;
	void (*compute)(struct job *job, struct tables *out);
} engines[] = {
	{ "ftree", compute_by_design },
	{ "updn", compute_tree },
	{ "updn-root", compute_acyclic },
};

const char *route_engine_name(int number)
{
	const int count = ARRAY_SIZE(engines);

	return number >= 0 && number < count ? engines[number].name : NULL;
}

int route_compute(struct route *route, const struct topo *t, const struct lid_map *lids,
		  const struct route_params *params, struct tables *out)
{
	static const struct route_params defaults;
	const char *name = params && params->engine ? params->engine : "ftree";
	const struct engine *engine = NULL;
	struct job job = {
		.route = route, .t = t, .lids = lids, .params = params ? params : &defaults
	};

	for (size_t i = 0; i < ARRAY_SIZE(engines) && !engine; i++)
		engine = !strcmp(engines[i].name, name) ? &engines[i] : NULL;
	if (!engine)
		return -EINVAL;
	route->overridden = false;
	route->outcome = (struct route_outcome){ .engine = engine->name,
						 .open_from = TOPO_NONE,
						 .open_to = TOPO_NONE };
	engine->compute(&job, out);
	return 0;
}

const bool *route_spanning(const struct route *route)
{
	bool tiers = strcmp(route->outcome.engine, "updn-root") != 0;

	return tiers ? NULL : acyclic_spanning(route->acyclic);
}

const struct route_outcome *route_outcome(const struct route *route)
{
	return &route->outcome;
}

void route_explain(const struct route *route, const struct topo *t, char *text, size_t size)
{
	const struct route_outcome *o = &route->outcome;
	size_t used = 0;

	text[0] = '\0';
	if (o->why == ROUTE_NO_TREE)
		snprintf(text, size,
			 "the known links are not a tree: %u of %u connect switches of the same "
			 "tier, and %" PRIu64 " of %" PRIu64 " pairs of leaves %s no up/down path",
			 route->tiers.level_links, route->tiers.links, route->tiers.open_pairs,
			 route->tiers.pairs, route->tiers.open_pairs == 1 ? "has" : "have");
	if (o->why != ROUTE_PAIRS_OPEN)
		return;
	if (o->open_pairs && o->open_from < t->nswitches && o->open_to < t->nswitches)
		used = snprintf(text, size,
				"the tree leaves %llu pair%s of leaves without a path, "
				"first \"%s\" to \"%s\"; ",
				(unsigned long long)o->open_pairs, o->open_pairs == 1 ? "" : "s",
				t->nodes[o->open_from].name, t->nodes[o->open_to].name);
	if (used < size)
		snprintf(text + used, size - used,
			 "%" PRIu64 " flows on the busiest link instead of the tree's %" PRIu64
			 ", %.2f links on "
			 "a path instead of %.2f",
			 o->load, o->tree_load, o->hops, o->tree_hops);
}

/* ---- In steps -------------------------------------------------------------------------------- */

static void run_all(void *arg)
{
	struct run *run = arg;

	run->status = route_compute(run->route, run->t, run->lids, &run->params, run->out);
}

void route_begin(struct route *route, const struct topo *t, const struct lid_map *lids,
		 const struct route_params *params, struct tables *out)
{
	route_abandon(route);

	struct run *run = mem_new(run);

	*run = (struct run){ .fiber = fiber_new(),
			     .route = route,
			     .t = t,
			     .lids = lids,
			     .params = params ? *params : (struct route_params){ 0 },
			     .out = out };
	fiber_start(run->fiber, run_all, run);
	route->run = run;
}

bool route_go(struct route *route)
{
	return fiber_go(route->run->fiber);
}

int route_end(struct route *route)
{
	struct run *run = route->run;
	int status = run->status;

	fiber_free(run->fiber);
	free(run);
	route->run = NULL;
	return status;
}

void route_hasten(struct route *route)
{
	route->run->params.hasty = true;
}

void route_abandon(struct route *route)
{
	if (!route->run)
		return;
	fiber_hurry(route->run->fiber);
	while (route_go(route))
		;
	(void)!route_end(route);
}
