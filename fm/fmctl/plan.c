/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/fmctl/plan.h"
#include <errno.h>
#include <getopt.h>
#include "fm/control/option.h"
#include "fm/conf/lists.h"
#include "fm/nvswitch/state.h"
#include "topology/graph/cutoff.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/naming.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

/*
 * fmctl plan --nvswitch: hosts that are taken to be in some state of their NVLinks, and what their
 * cross-rail traffic gets and costs.
 */

/* Puts the assumed NVLink states into params. */
static enum fmctl_exit plan_assume(struct plan *p)
{
	char err[CONF_ERROR_SIZE];

	if (!p->args.nassumed)
		return FMCTL_DONE;
	p->states = mem_alloc(p->topo->nhosts + 1, 1); /* all are well */
	for (unsigned i = 0; i < p->args.nassumed; i++) {
		const char *text = p->args.assumed[i];
		bool sound = value_check("HOST=STATE", text, err, sizeof(err));

		if (sound && !nvswitch_policy_assume(p->topo, text, p->states, err))
			continue;
		fmctl_fail("plan", "--nvswitch %s: %s", text, err);
		return sound ? FMCTL_FAILED : FMCTL_USAGE;
	}
	return FMCTL_DONE;
}

/* ---- What is shown --------------------------------------------------------------------------- */

/*
 * What `fmctl plan` answers. The document's names are a contract; new ones may
 * come. The text says the same to people, and how the channels of each tier share all-to-all
 * traffic.
 */

SORT_BY(compare_ms, double, sort_order(*a, *b))

static double median(const double *ms, unsigned n)
{
	double *sorted = mem_array(sorted, n), middle;

	mem_copy(sorted, ms, n);
	qsort(sorted, n, sizeof(*sorted), compare_ms);
	middle = n ? sorted[n / 2] : 0;
	free(sorted);
	return middle;
}

/* ---- The document ---------------------------------------------------------------------------- */

static json_t *list_reals(const double *reals, unsigned count)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < count; i++)
		json_array_append_new(all, json_real(reals[i]));
	return all;
}

/* Prints the result, as a document or as text. */
static void plan_show(const struct fmctl *ctl, const struct plan *p)
{
	const struct nvswitch_trial trial = { .lids = p->lids,
					      .classes = p->by_name,
					      .now = { p->intact, &p->before, NULL },
					      .then = { p->topo, &p->tables, p->states } };
	json_t *tiers = json_array(), *doc;

	doc = json_pack(
		"{si si si si si si ss sf so sf sI si si so so so so so sO* sO* sO* ss* so* so* "
		"so* so*}",
		"switches", p->topo->nswitches, "hcas", p->topo->ncas, "aggregation_nodes",
		p->topo->nspecials, "links_special", p->topo->nlinks_special, "links",
		topo_links(p->topo), "levels", p->topo->nlevels, "engine", p->engine, "route_ms",
		median(p->ms, p->args.repeat), "route_ms_all", list_reals(p->ms, p->args.repeat),
		"check_ms", p->check_ms, "lft_bytes",
		(json_int_t)p->tables.nswitches * p->tables.stride, "lids", p->lids->top, "lmc",
		p->lids->lmc, "proof", report_proof(&p->proof), "congestion",
		report_congestion(&p->congestion), "ebb", report_ebb(&p->ebb), "tiers", tiers,
		"tier_edges", list_reals(load_bin_edges, LOAD_BINS - 1), "lost", p->lost,
		"adaptive", p->adaptive, "far", p->far, "engine_why", p->why[0] ? p->why : NULL,
		"delta", plan_changes(p) ? report_delta(&p->delta) : NULL, "nvswitch",
		p->states ? nvswitch_trial_json(&trial) : NULL, "rebalance",
		p->rebalance ? json_pack("{si sf so so}", "entries",
					 rebalance_result(p->rebalance)->count, "ms",
					 p->rebalance_ms, "before", report_congestion(&p->stable),
					 "after", report_congestion(&p->congestion))
			     : NULL,
		"switches_without_table", p->args.foreign ? json_integer(p->without_table) : NULL);
	for (unsigned i = 0; i < p->ntiers; i++)
		json_array_append_new(tiers, report_tier(&p->tiers[i]->tier));
	if (ctl->json) {
		json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
	} else {
		json_object_update_new(
			doc, json_pack("{si si ss*}", "links_down", topo_links_down(p->topo),
				       "samples", CONGESTION_SAMPLES, "tables", p->args.foreign));
		show_answer(ctl, doc);
	}
	json_decref(doc);
}

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
	"                  [--far ibdiagnet2.far] [--write-far FILE]\n"
	"                  [--heatmap FILE.svg|-] [--node-name-map FILE] [--repeat N]\n";

static enum fmctl_exit usage(void)
{
	fputs(usage_text, stderr);
	return FMCTL_USAGE;
}

#define TEXT_OPTIONS 256 /* beyond letters: where the text goes, in plan_args */
#define TEXT(member) TEXT_OPTIONS + offsetof(struct plan_args, member)

static bool take_option(struct plan_args *a, int option, const char *value)
{
	char *end;

	if (option >= TEXT_OPTIONS) {
		*(const char **)((char *)a + option - TEXT_OPTIONS) = value;
		return true;
	}
	switch (option) {
	case 'f':
		return a->nfails < PLAN_MAX_FAILS && (a->fails[a->nfails++] = value);
	case 'n':
		return a->nassumed < PLAN_MAX_FAILS && (a->assumed[a->nassumed++] = value);
	case 'k':
		return a->check = true;
	case 'b':
		a->limits.entries = value ? strtoul(value, &end, 10) : REBALANCE_ENTRIES;
		a->limits.gain = REBALANCE_GAIN;
		return a->limits.entries && a->limits.entries <= REBALANCE_MOST &&
		       (!value || !*end);
	case 'r':
		a->repeat = strtoul(value, &end, 10);
		return !*end && a->repeat >= 1 && a->repeat <= PLAN_MAX_REPEAT;
	}
	return false;
}

static enum fmctl_exit read_arguments(struct plan_args *a, const struct fmctl *ctl, int argc,
				      char **argv)
{
	static const struct option longs[] = {
		{ "check", no_argument, NULL, 'k' },
		{ "config", required_argument, NULL, TEXT(conf_path) },
		{ "engine", required_argument, NULL, TEXT(engine) },
		{ "fail", required_argument, NULL, 'f' },
		{ "far", required_argument, NULL, TEXT(far) },
		{ "heatmap", required_argument, NULL, TEXT(heatmap) },
		{ "lfts", required_argument, NULL, TEXT(lfts) },
		{ "node-name-map", required_argument, NULL, TEXT(name_map) },
		{ "nvswitch", required_argument, NULL, 'n' },
		{ "rebalance", optional_argument, NULL, 'b' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "storage", required_argument, NULL, TEXT(storage) },
		{ "tables", required_argument, NULL, TEXT(foreign) },
		{ "write-far", required_argument, NULL, TEXT(far_out) },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		if (!take_option(a, c, optarg))
			return usage();
	if (optind + 1 != argc ||
	    (a->foreign && (a->engine || a->limits.entries || a->nassumed || a->far || a->far_out)))
		return usage();
	if (ctl->json && a->heatmap && !strcmp(a->heatmap, "-")) {
		fmctl_fail("plan", "--json and --heatmap - both write to standard output");
		return FMCTL_USAGE;
	}
	a->netfile = argv[optind];
	return FMCTL_DONE;
}

/* ---- The fabric ------------------------------------------------------------------------------ */

/* Takes down one link, or all links of a node or a host. */
static enum fmctl_exit fail_one(const struct plan *p, const char *what)
{
	/* LIDs are those of the plan; with tables of another manager those of the file. */
	const struct what_scope scope = { .topo = p->intact,
					  .port_of_lid = p->lids ? p->lids->port_of_lid : NULL,
					  .top_lid = p->lids ? p->lids->top : 0 };
	const struct topo *t = p->intact;
	char err[WHAT_ERROR_SIZE];
	const uint32_t *nodes;
	struct what place;
	unsigned count;

	if (!what_find(&scope, what, WHAT_PLACE, &place, err, sizeof(err)))
		return fmctl_fail("plan", "--fail %s: %s", what, err);
	if (place.port && topo_port(t, place.node, place.port)->peer == TOPO_NONE)
		return fmctl_fail("plan", "--fail %s: there is no such link", what);
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

	if (!p->args.storage)
		return FMCTL_DONE;
	p->is_storage = mem_array(p->is_storage, t->nnodes);
	p->by_name = mem_alloc(t->nports, 1);
	patterns = node_patterns_new(p->args.storage);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		p->is_storage[n] = node_patterns_match(patterns, t, &t->nodes[n]);
		found += p->is_storage[n];
		memset(p->by_name + t->nodes[n].port0,
		       p->is_storage[n] ? ROUTE_STORAGE : ROUTE_COMPUTE, t->nodes[n].nports + 1u);
	}
	node_patterns_free(patterns);
	p->params.classes = p->by_name;
	return found ? FMCTL_DONE
		     : fmctl_fail("plan", "--storage %s: no such node", p->args.storage);
}

/* The file's fabric with the names that the map has for it. */
static struct topo *read_fabric(const struct plan *p, char *err, size_t err_size)
{
	struct node_names *names = NULL;
	struct topo *t;
	struct topo_builder *named;

	if (p->args.name_map && !(names = node_names_read(p->args.name_map, err, err_size)))
		return NULL;
	t = netfile_read(p->args.netfile, err, err_size);
	if (t)
		topo_hold_slow(t, 50);
	if (!t || !names) {
		node_names_free(names);
		return t;
	}
	named = topo_builder_from(t);
	topo_builder_name(named, names);
	topo_unref(t);
	node_names_free(names);
	return topo_freeze(named);
}

static enum fmctl_exit load(struct plan *p)
{
	char err[512];
	enum fmctl_exit status = FMCTL_DONE;

	conf_default(&p->conf);
	if ((p->args.conf_path && conf_load(p->args.conf_path, &p->conf, err, sizeof(err))) ||
	    !(p->intact = read_fabric(p, err, sizeof(err))))
		return fmctl_fail("plan", "%s", err);
	p->topo = topo_alike(p->intact);
	p->lids = p->args.foreign ? NULL : lid_plan(p->intact, NULL, p->conf.routing.lmc);
	for (unsigned i = 0; i < p->args.nfails && status == FMCTL_DONE; i++)
		status = fail_one(p, p->args.fails[i]);
	if (p->args.nfails)
		p->lost = lost_json(p->intact, p->topo, TOPO_NONE);
	if (status == FMCTL_DONE)
		status = find_storage(p);
	return status == FMCTL_DONE ? plan_assume(p) : status;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static enum fmctl_exit compute(struct plan *p)
{
	for (unsigned i = 0; i < p->args.repeat; i++) {
		double start = now_ms();

		if (route_compute(p->route, p->topo, p->lids, &p->params, &p->tables)) {
			fmctl_fail("plan",
				   "unknown engine %s: ftree, updn or updn-root is expected",
				   p->params.engine);
			return FMCTL_USAGE;
		}
		p->ms[i] = now_ms() - start;
	}
	p->engine = route_outcome(p->route)->engine;
	route_explain(p->route, p->topo, p->why, sizeof(p->why));
	if (!plan_changes(p))
		return FMCTL_DONE;
	if (route_compute(p->route, p->intact, p->lids, &p->params, &p->before) == 0) {
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

	if (osm_dump_read_lfts(p->topo, p->args.foreign, &foreign, err, sizeof(err)))
		return fmctl_fail("plan", "%s", err);
	p->params.engine = p->engine = "tables";
	p->args.repeat = 0;
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
	params.even = route_even(p->route);
	congestion_study(scene, &p->stable, NULL);
	start = now_ms();
	p->rebalance = rebalance_new(p->topo, p->lids, &params, &p->args.limits);
	rebalance_finish(p->rebalance);
	p->rebalance_ms = now_ms() - start;
	p->params.overrides = rebalance_result(p->rebalance)->overrides;
	p->params.noverrides = rebalance_result(p->rebalance)->count;
	/* The engine is known by now. */
	if (route_compute(p->route, p->topo, p->lids, &p->params, &p->tables))
		abort();
}

/* ---- Adaptive routing ------------------------------------------------------------------------ */

/* Proves and measures tables with groups. */
static json_t *judge_groups(const struct plan *p, const struct tables *tables,
			    const struct ar_groups *groups)
{
	const struct congestion_scene scene = { p->topo, p->lids, tables, p->is_storage };
	struct check_report proof;
	double start = now_ms();
	bool sound = check_groups(p->topo, p->lids, tables, groups, &proof);
	json_t *ms = json_real(now_ms() - start);
	json_t *row = report_groups(&scene, groups, sound, &proof);

	json_object_set_new(row, "proof_ms", ms);
	return row;
}

/* Entries of two tables that differ, in ports and in members; the second one's, with groups. */
static void add_differences(const struct plan *p, const struct tables *tables,
			    const struct ar_groups *groups)
{
	json_int_t ports = 0, members = 0, entries = 0;

	for (uint32_t sw = 0; sw < p->topo->nswitches; sw++)
		for (uint32_t lid = 1; lid <= p->lids->top; lid++) {
			static const struct ar_ports none;
			const struct ar_ports *theirs = ar_members(groups, sw, lid);
			const struct ar_ports *ours = ar_members(p->groups, sw, lid);
			uint8_t port = tables_row(tables, sw)[lid];

			entries += port != TABLES_NO_ROUTE;
			ports += port != tables_row(&p->tables, sw)[lid];
			members += memcmp(theirs ?: &none, ours ?: &none, sizeof(none)) != 0;
		}
	json_object_update_new(p->far, json_pack("{sI sI sI}", "entries", entries, "ports_differ",
						 ports, "members_differ", members));
}

static enum fmctl_exit compare_far(struct plan *p)
{
	FILE *in = p->args.far ? fopen(p->args.far, "re") : NULL;
	struct tables tables = { 0 };
	struct ar_groups *groups = NULL;
	char err[512];

	if (!p->args.far)
		return FMCTL_DONE;
	snprintf(err, sizeof(err), "%s: %s", p->args.far, strerror(errno));
	if (in) {
		groups = ar_far_read(p->topo, p->lids, p->args.far, in, &tables, err, sizeof(err));
		fclose(in);
	}
	if (groups) {
		p->far = judge_groups(p, &tables, groups);
		add_differences(p, &tables, groups);
	}
	ar_groups_free(groups);
	tables_fini(&tables);
	return p->far ? FMCTL_DONE : fmctl_fail("plan", "%s", err);
}

static void measure(struct plan *p)
{
	struct congestion_scene scene = { p->topo, p->lids, &p->tables, p->is_storage };
	double start;

	if (p->args.limits.entries)
		rebalance(p, &scene);
	start = now_ms();
	check_tables(p->topo, p->lids, &p->tables, &p->proof);
	p->check_ms = now_ms() - start;
	p->flows = mem_array(p->flows, p->topo->nports);
	congestion_study(&scene, &p->congestion, p->flows);
	ebb_measure(&scene, NULL, &p->ebb);
	if (!p->args.foreign && strcmp(p->engine, "updn-root")) {
		start = now_ms();
		p->groups = ar_groups_new(p->topo, p->lids,
					  &(struct ar_params){ .classes = p->by_name });
		start = now_ms() - start;
		p->adaptive = judge_groups(p, &p->tables, p->groups);
		json_object_set_new(p->adaptive, "groups_ms", json_real(start));
	}
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

static int write_far(const struct plan *p, FILE *out)
{
	return p->groups ? ar_far_write(p->topo, p->lids, &p->tables, p->groups, out) : -ENOTSUP;
}

static enum fmctl_exit write_file(const struct plan *p, const char *path, write_fn *write)
{
	FILE *out = fopen(path, "we");
	int status = out ? write(p, out) : -errno;

	if (out && fclose(out) && !status)
		status = -errno;
	return status ? fmctl_fail("plan", "%s: %s", path, strerror(-status)) : FMCTL_DONE;
}

static enum fmctl_exit run_plan(const struct fmctl *ctl, int argc, char **argv)
{
	struct plan *p = mem_new(p);
	enum fmctl_exit status;

	p->args.repeat = 1;
	p->route = route_new();
	status = read_arguments(&p->args, ctl, argc, argv);
	p->params.engine = p->args.engine ?: "ftree";
	if (status == FMCTL_DONE)
		status = load(p);
	if (status == FMCTL_DONE)
		status = p->args.foreign ? take_foreign(p) : compute(p);
	if (status == FMCTL_DONE) {
		measure(p);
		status = compare_far(p);
	}
	if (status == FMCTL_DONE) {
		plan_show(ctl, p);
		if (p->args.far_out)
			status = write_file(p, p->args.far_out, write_far);
		if (status == FMCTL_DONE && p->args.lfts)
			status = write_file(p, p->args.lfts, write_lfts);
		if (status == FMCTL_DONE && p->args.heatmap && strcmp(p->args.heatmap, "-"))
			status = write_file(p, p->args.heatmap, heatmap_write_svg);
		else if (status == FMCTL_DONE && p->args.heatmap && heatmap_write_text(p, stdout))
			status = FMCTL_FAILED;
		if (status == FMCTL_DONE && p->proof.unreachable)
			status = fmctl_fail("plan",
					    "%" PRIu64
					    " pairs of hosts that links connect have no path",
					    p->proof.unreachable);
		if (status == FMCTL_DONE && p->args.check && lost_any(p->lost))
			status = FMCTL_FAILED;
	}
	for (unsigned i = 0; i < p->ntiers; i++)
		load_map_free(p->tiers[i]);
	json_decref(p->lost);
	ar_groups_free(p->groups);
	json_decref(p->adaptive);
	json_decref(p->far);
	topo_unref(p->intact);
	topo_unref(p->topo);
	lid_map_free(p->lids);
	route_free(p->route);
	rebalance_free(p->rebalance);
	tables_fini(&p->before);
	tables_fini(&p->tables);
	free(p->is_storage);
	free(p->by_name);
	free(p->states);
	free(p->flows);
	free(p);
	return status;
}
const struct fmctl_view plan_view = { .run = run_plan, .usage = usage_text };
