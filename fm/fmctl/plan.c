/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl plan: a fabric from a file, without a daemon: LIDs, tables, proof, congestion, and what a
 * failure would change. With --tables, others' tables are proven and measured instead. With
 * --rebalance, the tables are those that fmd comes to when the fabric has been quiet for a while.
 *
 * The LID map is that of the whole fabric also when something fails: hosts that are cut off keep
 * their LIDs, as they do under fmd. route_ms is the computation alone, from the frozen snapshot and
 * its LIDs to complete tables. --storage is what storage_nodes is in fmd.conf: these ports are a
 * class of their own for routing, and the storage pattern's destinations.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/core/node_patterns.h"
#include "fm/fmctl/plan.h"
#include "fm/opensm/osm_dump.h"
#include "topology/lost.h"
#include "topology/mem.h"
#include "topology/netfile.h"
#include "topology/node_names.h"
#include "topology/topo_builder.h"
#include "topology/what.h"

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static const char usage_text[] =
	"usage: fmctl plan NETFILE [--engine ftree|updn|updn-root | --tables "
	"opensm-lfts.dump]\n"
	"                  [--fail WHAT]... [--check] [--storage PATTERNS] [--lfts FILE]\n"
	"                  [--nvswitch HOST=STATE]... [--config FILE] "
	"[--rebalance[=ENTRIES]]\n"
	"                  [--heatmap FILE.svg|-] [--node-name-map FILE] [--repeat N]\n";

static enum fmctl_exit usage(void)
{
	fputs(usage_text, stderr);
	return FMCTL_USAGE;
}

static bool take_option(struct plan *p, int option, const char *value)
{
	char *end;

	switch (option) {
	case 'e':
		p->params.engine = value;
		p->engine_chosen = true;
		return true;
	case 'f':
		if (p->nfails == PLAN_MAX_FAILS)
			return false;
		p->fails[p->nfails++] = value;
		return true;
	case 'n':
		if (p->nassumed == PLAN_MAX_FAILS)
			return false;
		p->assumed[p->nassumed++] = value;
		return true;
	case 'c':
		p->conf_path = value;
		return true;
	case 'k':
		return p->check = true;
	case 'h':
		p->heatmap = value;
		return true;
	case 'l':
		p->lfts = value;
		return true;
	case 'b':
		p->limits.entries = value ? strtoul(value, &end, 10) : REBALANCE_ENTRIES;
		p->limits.gain = REBALANCE_GAIN;
		return p->limits.entries && p->limits.entries <= REBALANCE_MOST &&
		       (!value || !*end);
	case 'm':
		p->name_map = value;
		return true;
	case 'r':
		p->repeat = strtoul(value, &end, 10);
		return !*end && p->repeat >= 1 && p->repeat <= PLAN_MAX_REPEAT;
	case 's':
		p->storage = value;
		return true;
	case 't':
		p->foreign = value;
		return true;
	}
	return false;
}

static enum fmctl_exit read_arguments(struct plan *p, const struct fmctl *ctl, int argc,
				      char **argv)
{
	static const struct option longs[] = {
		{ "check", no_argument, NULL, 'k' },
		{ "config", required_argument, NULL, 'c' },
		{ "engine", required_argument, NULL, 'e' },
		{ "fail", required_argument, NULL, 'f' },
		{ "heatmap", required_argument, NULL, 'h' },
		{ "lfts", required_argument, NULL, 'l' },
		{ "node-name-map", required_argument, NULL, 'm' },
		{ "nvswitch", required_argument, NULL, 'n' },
		{ "rebalance", optional_argument, NULL, 'b' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "storage", required_argument, NULL, 's' },
		{ "tables", required_argument, NULL, 't' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (!take_option(p, c, optarg))
			return usage();
	if (optind + 1 != argc ||
	    (p->foreign && (p->engine_chosen || p->limits.entries || p->nassumed)))
		return usage();
	if (ctl->json && p->heatmap && !strcmp(p->heatmap, "-")) {
		fputs("fmctl: plan: --json and --heatmap - both write to standard output\n",
		      stderr);
		return FMCTL_USAGE;
	}
	p->netfile = argv[optind];
	return FMCTL_DONE;
}

/* ---- The fabric ------------------------------------------------------------------------------ */

/* LIDs are those of the plan; with tables of another manager those of the file. */
static struct what_scope scope_of(const struct plan *p)
{
	return (struct what_scope){ .topo = p->intact,
				    .port_of_lid = p->lids ? p->lids->port_of_lid : NULL,
				    .top_lid = p->lids ? p->lids->top : 0 };
}

/* Takes down one link, or all links of a node or a host. */
static enum fmctl_exit fail_one(const struct plan *p, const char *what)
{
	const struct what_scope scope = scope_of(p);
	const struct topo *t = p->intact;
	char err[WHAT_ERROR_SIZE];
	const uint32_t *nodes;
	struct what place;
	unsigned count;

	if (!what_find(&scope, what, WHAT_PLACE, &place, err, sizeof(err))) {
		fprintf(stderr, "fmctl: plan: --fail %s: %s\n", what, err);
		return FMCTL_FAILED;
	}
	if (place.port && topo_port(t, place.node, place.port)->peer == TOPO_NONE) {
		fprintf(stderr, "fmctl: plan: --fail %s: there is no such link\n", what);
		return FMCTL_FAILED;
	}
	count = what_nodes(t, &place, &nodes);
	for (unsigned i = 0; i < count; i++)
		for (unsigned num = 1; num <= t->nodes[nodes[i]].nports; num++)
			if (!place.port || num == place.port)
				topo_alike_cut(p->topo, t->nodes[nodes[i]].port0 + num);
	return FMCTL_DONE;
}

static enum fmctl_exit find_storage(struct plan *p)
{
	const struct topo *t = p->topo;
	struct node_patterns *patterns;
	uint32_t found = 0;

	if (!p->storage)
		return FMCTL_DONE;
	p->is_storage = mem_alloc(t->nnodes, sizeof(*p->is_storage));
	p->by_name = mem_alloc(t->nports, 1);
	patterns = node_patterns_new(p->storage);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		p->is_storage[n] = node_patterns_match(patterns, t, &t->nodes[n]);
		found += p->is_storage[n];
		memset(p->by_name + t->nodes[n].port0,
		       p->is_storage[n] ? ROUTE_STORAGE : ROUTE_COMPUTE, t->nodes[n].nports + 1u);
	}
	node_patterns_free(patterns);
	p->params.classes = p->by_name;
	if (found)
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: plan: --storage %s: no such node\n", p->storage);
	return FMCTL_FAILED;
}

/* The file's fabric with the names that the map has for it. */
static struct topo *read_fabric(const struct plan *p, char *err, size_t err_size)
{
	struct node_names *names = NULL;
	struct topo *t;
	struct topo_builder *named;

	if (p->name_map && !(names = node_names_read(p->name_map, err, err_size)))
		return NULL;
	t = netfile_read(p->netfile, err, err_size);
	if (!t || !names) {
		node_names_unref(names);
		return t;
	}
	named = topo_builder_from(t);
	topo_builder_name(named, names);
	topo_unref(t);
	node_names_unref(names);
	return topo_freeze(named);
}

static enum fmctl_exit load(struct plan *p)
{
	char err[512];
	enum fmctl_exit status = FMCTL_DONE;

	p->intact = read_fabric(p, err, sizeof(err));
	if (!p->intact) {
		fprintf(stderr, "fmctl: plan: %s\n", err);
		return FMCTL_FAILED;
	}
	p->topo = topo_alike(p->intact);
	p->lids = p->foreign ? NULL : lid_plan(p->intact, NULL);
	for (unsigned i = 0; i < p->nfails && status == FMCTL_DONE; i++)
		status = fail_one(p, p->fails[i]);
	if (p->nfails)
		p->lost = lost_json(p->intact, p->topo);
	if (status == FMCTL_DONE)
		status = find_storage(p);
	return status == FMCTL_DONE ? plan_assume(p) : status;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static enum fmctl_exit compute(struct plan *p)
{
	struct route_params without = p->params;

	for (unsigned i = 0; i < p->repeat; i++) {
		double start = now_ms();

		if (route_compute(p->route, p->topo, p->lids, &p->params, &p->tables)) {
			fprintf(stderr,
				"fmctl: plan: unknown engine %s: ftree, updn or updn-root is "
				"expected\n",
				p->params.engine);
			return FMCTL_USAGE;
		}
		p->ms[i] = now_ms() - start;
	}
	p->engine = route_outcome(p->route)->engine;
	route_explain(p->route, p->topo, p->why, sizeof(p->why));
	if (!plan_changes(p))
		return FMCTL_DONE;
	without.classes = p->by_name;
	without.weights = NULL;
	if (route_compute(p->route, p->intact, p->lids, &without, &p->before) == 0) {
		delta_count(&p->before, &p->tables, &p->delta);
		p->delta.entries_minimum =
			delta_minimum(p->topo, p->lids, p->engine, &p->before, &p->tables);
	}
	return FMCTL_DONE;
}

static enum fmctl_exit take_foreign(struct plan *p)
{
	struct osm_tables foreign;
	char err[512];

	if (osm_dump_read_lfts(p->topo, p->foreign, &foreign, err, sizeof(err))) {
		fprintf(stderr, "fmctl: plan: %s\n", err);
		return FMCTL_FAILED;
	}
	p->params.engine = p->engine = "tables";
	p->repeat = 0;
	p->lids = foreign.lids;
	p->tables = foreign.tables;
	p->without_table = foreign.without_table;
	return FMCTL_DONE;
}

/* Measures the tables as they are, then goes on to those that re-balancing makes of them. */
static void rebalance(struct plan *p, const struct congestion_scene *scene)
{
	struct route_params params = p->params;
	double start;

	params.engine = p->engine;
	congestion_study(scene, &p->stable, NULL);
	start = now_ms();
	p->rebalance = rebalance_new(p->topo, p->lids, &params, &p->limits);
	rebalance_finish(p->rebalance);
	p->rebalance_ms = now_ms() - start;
	p->params.overrides = rebalance_result(p->rebalance)->overrides;
	p->params.noverrides = rebalance_result(p->rebalance)->count;
	/* The engine is known by now. */
	if (route_compute(p->route, p->topo, p->lids, &p->params, &p->tables))
		abort();
}

static void measure(struct plan *p)
{
	struct congestion_scene scene = { p->topo, p->lids, &p->tables, p->is_storage };
	double start;

	if (p->limits.entries)
		rebalance(p, &scene);
	start = now_ms();
	check_tables(p->topo, p->lids, &p->tables, &p->proof);
	p->check_ms = now_ms() - start;
	p->flows = mem_alloc(p->topo->nports, sizeof(*p->flows));
	congestion_study(&scene, &p->congestion, p->flows);
	for (unsigned level = 0; level < p->topo->nlevels; level++) {
		struct load_map *tier = load_map_new(p->topo, p->flows, level);

		if (tier->ncells)
			p->tiers[p->ntiers++] = tier;
		else
			load_map_free(tier);
	}
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef int write_fn(const struct plan *p, FILE *out);

static int write_lfts(const struct plan *p, FILE *out)
{
	const struct osm_dump_view view = { p->topo, p->lids, &p->tables, NULL };

	return osm_dump_find("opensm-lfts.dump")->write(&view, out);
}

static enum fmctl_exit write_file(const struct plan *p, const char *path, write_fn *write)
{
	FILE *out = fopen(path, "we");
	int status = out ? write(p, out) : -errno;

	if (out && fclose(out) && !status)
		status = -errno;
	if (!status)
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: plan: %s: %s\n", path, strerror(-status));
	return FMCTL_FAILED;
}

static enum fmctl_exit write_files(const struct plan *p)
{
	enum fmctl_exit status = FMCTL_DONE;

	if (p->lfts)
		status = write_file(p, p->lfts, write_lfts);
	if (status != FMCTL_DONE || !p->heatmap)
		return status;
	if (strcmp(p->heatmap, "-"))
		return write_file(p, p->heatmap, heatmap_write_svg);
	return heatmap_write_text(p, stdout) ? FMCTL_FAILED : FMCTL_DONE;
}

static void plan_free(struct plan *p)
{
	for (unsigned i = 0; i < p->ntiers; i++)
		load_map_free(p->tiers[i]);
	json_decref(p->lost);
	topo_unref(p->intact);
	topo_unref(p->topo);
	lid_map_free(p->lids);
	route_free(p->route);
	rebalance_free(p->rebalance);
	tables_fini(&p->before);
	tables_fini(&p->tables);
	free(p->is_storage);
	free(p->by_name);
	free(p->classes);
	free(p->weights);
	free(p->states);
	free(p->flows);
	free(p);
}

static enum fmctl_exit run_plan(const struct fmctl *ctl, int argc, char **argv)
{
	struct plan *p = mem_alloc(1, sizeof(*p));
	enum fmctl_exit status;

	p->params.engine = "ftree";
	p->repeat = 1;
	p->route = route_new();
	status = read_arguments(p, ctl, argc, argv);
	if (status == FMCTL_DONE)
		status = load(p);
	if (status == FMCTL_DONE)
		status = p->foreign ? take_foreign(p) : compute(p);
	if (status == FMCTL_DONE) {
		measure(p);
		plan_show(ctl, p);
		status = write_files(p);
		if (status == FMCTL_DONE && p->proof.unreachable) {
			fprintf(stderr,
				"fmctl: plan: %llu pairs of hosts that links connect have no "
				"path\n",
				(unsigned long long)p->proof.unreachable);
			status = FMCTL_FAILED;
		}
		if (status == FMCTL_DONE && p->check && lost_any(p->lost))
			status = FMCTL_FAILED;
	}
	plan_free(p);
	return status;
}
const struct fmctl_view plan_view = { .run = run_plan, .usage = usage_text };
