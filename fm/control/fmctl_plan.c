/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl plan: a fabric from a file, without a daemon: LIDs, tables, proof, congestion, and what a failure would change.
 *
 * The LID map is that of the whole fabric also when something fails: hosts that are cut off keep their LIDs, as they
 * do under fmd. route_ms is the computation alone, from the frozen snapshot and its LIDs to complete tables.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/control/fmctl.h"
#include "fm/control/osm_dump.h"
#include "routing/report.h"
#include "routing/route.h"
#include "topology/mem.h"
#include "topology/netfile.h"

#define MAX_FAILS  65536
#define MAX_REPEAT 1000

struct plan {
	struct route_params params;
	const char *netfile, *lfts;
	const char *fails[MAX_FAILS];
	unsigned nfails, repeat;
	struct topo *intact, *topo; /* as in the file; with the failures */
	struct lid_map *lids;
	struct route *route;
	struct tables before, tables;
	double ms[MAX_REPEAT], check_ms;
	struct check_report proof;
	struct congestion congestion;
	struct delta delta;
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static enum fmctl_exit usage(void)
{
	fputs("usage: fmctl plan NETFILE [--engine ftree|updn] [--fail WHAT]... [--lfts FILE] "
	      "[--repeat N]\n",
	      stderr);
	return FMCTL_USAGE;
}

static enum fmctl_exit read_arguments(struct plan *p, int argc, char **argv)
{
	static const struct option longs[] = { { "engine", required_argument, NULL, 'e' },
					       { "fail", required_argument, NULL, 'f' },
					       { "lfts", required_argument, NULL, 'l' },
					       { "repeat", required_argument, NULL, 'r' },
					       { 0 } };
	int c;
	char *end;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'e')
			p->params.engine = optarg;
		else if (c == 'l')
			p->lfts = optarg;
		else if (c == 'f' && p->nfails < MAX_FAILS)
			p->fails[p->nfails++] = optarg;
		else if (c == 'r' && (p->repeat = strtoul(optarg, &end, 10), !*end) &&
			 p->repeat >= 1 && p->repeat <= MAX_REPEAT)
			continue;
		else
			return usage();
	}
	if (optind + 1 != argc)
		return usage();
	p->netfile = argv[optind];
	return FMCTL_DONE;
}

/* Takes down one cable (port given) or all cables of a node. Handles of topo_builder_from() are node indices. */
static enum fmctl_exit fail_one(const struct topo *t, struct topo_builder *b, const char *what)
{
	char err[256];
	unsigned port;
	uint32_t node = topo_resolve(t, what, &port, err, sizeof(err));

	if (node == TOPO_NONE) {
		fprintf(stderr, "fmctl: plan: --fail %s: %s\n", what, err);
		return FMCTL_USAGE;
	}
	if (port > t->nodes[node].nports || (port && topo_builder_link_down(b, node, port))) {
		fprintf(stderr, "fmctl: plan: --fail %s: no cable there\n", what);
		return FMCTL_USAGE;
	}
	for (unsigned num = 1; !port && num <= t->nodes[node].nports; num++)
		if (topo_port(t, node, num)->link_up)
			topo_builder_link_down(b, node, num);
	return FMCTL_DONE;
}

static enum fmctl_exit load(struct plan *p)
{
	char err[512];
	enum fmctl_exit status = FMCTL_DONE;

	p->intact = netfile_read(p->netfile, err, sizeof(err));
	if (!p->intact) {
		fprintf(stderr, "fmctl: plan: %s\n", err);
		return FMCTL_USAGE;
	}
	struct topo_builder *b = topo_builder_from(p->intact);
	for (unsigned i = 0; i < p->nfails && status == FMCTL_DONE; i++)
		status = fail_one(p->intact, b, p->fails[i]);
	p->topo = topo_freeze(b);
	p->lids = lid_plan(p->intact, NULL);
	return status;
}

static int compare_ms(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *ms, unsigned n)
{
	double *sorted = mem_alloc(n, sizeof(*sorted)), middle;

	memcpy(sorted, ms, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_ms);
	middle = sorted[n / 2];
	free(sorted);
	return middle;
}

static enum fmctl_exit compute(struct plan *p)
{
	for (unsigned i = 0; i < p->repeat; i++) {
		double start = now_ms();

		if (route_compute(p->route, p->topo, p->lids, &p->params, &p->tables)) {
			fprintf(stderr, "fmctl: plan: no engine %s; there are ftree and updn\n",
				p->params.engine);
			return FMCTL_USAGE;
		}
		p->ms[i] = now_ms() - start;
	}
	double start = now_ms();
	check_tables(p->topo, p->lids, &p->tables, &p->proof);
	p->check_ms = now_ms() - start;
	congestion_measure(p->topo, p->lids, &p->tables, &p->congestion);
	if (p->nfails && route_compute(p->route, p->intact, p->lids, &p->params, &p->before) == 0) {
		delta_count(&p->before, &p->tables, &p->delta);
		p->delta.entries_minimum = delta_minimum(p->topo, p->lids, &p->before);
	}
	return FMCTL_DONE;
}

/* ---- What it says ------------------------------------------------------------------------------ */

static json_t *document(const struct plan *p)
{
	json_t *all = json_array();
	json_t *doc;

	for (unsigned i = 0; i < p->repeat; i++)
		json_array_append_new(all, json_real(p->ms[i]));
	doc = json_pack(
		"{si si si si ss sf so sf sI si so so}", "switches", (int)p->topo->nswitches,
		"hcas", (int)p->topo->ncas, "links", (int)p->topo->nlinks, "levels",
		(int)p->topo->nlevels, "engine", p->params.engine, "route_ms",
		median(p->ms, p->repeat), "route_ms_all", all, "check_ms", p->check_ms, "lft_bytes",
		(json_int_t)p->tables.nswitches * p->tables.stride, "lids", (int)p->lids->top,
		"proof", report_proof(&p->proof), "congestion", report_congestion(&p->congestion));
	if (p->nfails)
		json_object_set_new(doc, "delta", report_delta(&p->delta));
	return doc;
}

static void print_plan(const struct plan *p)
{
	const struct check_report *r = &p->proof;

	printf("fabric      %u switches in %u tiers, %u HCAs, %u links", p->topo->nswitches,
	       p->topo->nlevels, p->topo->ncas, p->topo->nlinks);
	printf(p->topo->nlinks_down ? " (%u of them down)\n" : "\n", p->topo->nlinks_down);
	printf("tables      %s, %u LIDs, %.1f MB, %.2f ms (median of %u)\n", p->params.engine,
	       p->lids->top, (double)p->tables.nswitches * p->tables.stride / 1e6,
	       median(p->ms, p->repeat), p->repeat);
	printf("proof       %llu pairs reachable, %llu unreachable, %llu loops, %llu credit "
	       "cycles, %.1f ms\n",
	       (unsigned long long)r->reachable, (unsigned long long)r->unreachable,
	       (unsigned long long)r->loops, (unsigned long long)r->credit_cycles, p->check_ms);
	if (r->disconnected || r->unreachable_special)
		printf("            %llu pairs without a cable path, %llu with a SHARP node "
		       "unreachable\n",
		       (unsigned long long)r->disconnected,
		       (unsigned long long)r->unreachable_special);
	if (r->first[0])
		printf("            first finding: %s\n", r->first);
	printf("hops        %.2f switches on average, %u at most\n", r->mean_hops, r->max_hops);
	printf("congestion  shift %u, rail shift %u flows on the worst link; all-to-all %.2f of "
	       "the mean\n",
	       p->congestion.shift_max, p->congestion.rail_shift_max,
	       p->congestion.all_to_all_ratio);
	if (p->nfails)
		printf("change      %llu entries (least possible %llu) in %u blocks on %u "
		       "switches\n",
		       (unsigned long long)p->delta.entries,
		       (unsigned long long)p->delta.entries_minimum, p->delta.blocks,
		       p->delta.switches);
}

static enum fmctl_exit write_lfts(const struct plan *p)
{
	const struct osm_dump_view view = { p->topo, p->lids, &p->tables };
	FILE *out = fopen(p->lfts, "w");

	if (!out || osm_dump_find("opensm-lfts.dump")->write(&view, out) || fclose(out)) {
		fprintf(stderr, "fmctl: plan: %s: %s\n", p->lfts, strerror(errno));
		return FMCTL_FAILED;
	}
	return FMCTL_DONE;
}

static enum fmctl_exit show(const struct fmctl *ctl, const struct plan *p)
{
	if (ctl->json) {
		json_t *doc = document(p);

		json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
		putchar('\n');
		json_decref(doc);
	} else {
		print_plan(p);
	}
	return p->lfts ? write_lfts(p) : FMCTL_DONE;
}

enum fmctl_exit fmctl_plan(const struct fmctl *ctl, int argc, char **argv)
{
	struct plan *p = mem_alloc(1, sizeof(*p));
	enum fmctl_exit status;

	p->params.engine = "ftree";
	p->repeat = 1;
	p->route = route_new();
	status = read_arguments(p, argc, argv);
	if (status == FMCTL_DONE)
		status = load(p);
	if (status == FMCTL_DONE)
		status = compute(p);
	if (status == FMCTL_DONE)
		status = show(ctl, p);
	topo_unref(p->intact);
	topo_unref(p->topo);
	lid_map_free(p->lids);
	route_free(p->route);
	tables_fini(&p->before);
	tables_fini(&p->tables);
	free(p);
	return status;
}
