/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl_plan_show: what `fmctl plan` answers. The document's names are a contract; new ones may
 * come. The text says the same to people, and how the channels of each tier share all-to-all
 * traffic.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fmctl/plan.h"
#include "fm/fmctl/table.h"
#include "routing/report/report.h"
#include "topology/mem.h"

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
	middle = n ? sorted[n / 2] : 0;
	free(sorted);
	return middle;
}

/* ---- The document ---------------------------------------------------------------------------- */

static json_t *list_ms(const struct plan *p)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < p->repeat; i++)
		json_array_append_new(all, json_real(p->ms[i]));
	return all;
}

static json_t *list_tiers(const struct plan *p)
{
	json_t *tiers = json_array();

	for (unsigned i = 0; i < p->ntiers; i++)
		json_array_append_new(tiers, report_tier(&p->tiers[i]->tier));
	return tiers;
}

static json_t *list_edges(void)
{
	json_t *edges = json_array();

	for (unsigned i = 0; i < LOAD_BINS - 1; i++)
		json_array_append_new(edges, json_real(load_bin_edges[i]));
	return edges;
}

static json_t *rebalance_doc(const struct plan *p)
{
	return json_pack("{si sf so so}", "entries", (int)rebalance_result(p->rebalance)->count,
			 "ms", p->rebalance_ms, "before", report_congestion(&p->stable), "after",
			 report_congestion(&p->congestion));
}

static json_t *document(const struct plan *p)
{
	json_t *doc = json_pack(
		"{si si si si si si ss sf so sf sI si so so so so}", "switches",
		(int)p->topo->nswitches, "hcas", (int)p->topo->ncas, "aggregation_nodes",
		(int)p->topo->nspecials, "links_special", (int)p->topo->nlinks_special, "links",
		(int)topo_links(p->topo), "levels", (int)p->topo->nlevels, "engine", p->engine,
		"route_ms", median(p->ms, p->repeat), "route_ms_all", list_ms(p), "check_ms",
		p->check_ms, "lft_bytes", (json_int_t)p->tables.nswitches * p->tables.stride,
		"lids", (int)p->lids->top, "proof", report_proof(&p->proof), "congestion",
		report_congestion(&p->congestion), "tiers", list_tiers(p), "tier_edges",
		list_edges());

	if (p->lost)
		json_object_set(doc, "lost", p->lost);
	if (p->why[0])
		json_object_set_new(doc, "engine_why", json_string(p->why));
	if (plan_changes(p))
		json_object_set_new(doc, "delta", report_delta(&p->delta));
	if (p->states) {
		json_object_set_new(doc, "nvswitch", plan_trial(p));
		json_object_set_new(doc, "pays", plan_affected(p));
	}
	if (p->rebalance)
		json_object_set_new(doc, "rebalance", rebalance_doc(p));
	if (p->foreign)
		json_object_set_new(doc, "switches_without_table", json_integer(p->without_table));
	return doc;
}

/* ---- The text -------------------------------------------------------------------------------- */

static void print_fabric(const struct plan *p)
{
	printf("fabric      %u %s in %u %s, %u %s, %u %s", p->topo->nswitches,
	       words_plural(p->topo->nswitches, "switch", "switches"), p->topo->nlevels,
	       words_plural(p->topo->nlevels, "tier", "tiers"), p->topo->ncas,
	       words_plural(p->topo->ncas, "HCA", "HCAs"), topo_links(p->topo),
	       words_plural(topo_links(p->topo), "link", "links"));
	if (p->topo->nlinks_down)
		printf(" (%u of them down)", topo_links_down(p->topo));
	if (p->topo->nspecials)
		printf(", %u %s", p->topo->nspecials,
		       words_plural(p->topo->nspecials, "aggregation node", "aggregation nodes"));
	putchar('\n');
	printf("tables      %s, %u %s, %.1f MB", p->foreign ? p->foreign : p->engine, p->lids->top,
	       words_plural(p->lids->top, "LID", "LIDs"),
	       (double)p->tables.nswitches * p->tables.stride / 1e6);
	if (p->without_table)
		printf(", none of %u switches", p->without_table);
	if (p->repeat)
		printf(", %.2f ms (median of %u)", median(p->ms, p->repeat), p->repeat);
	putchar('\n');
	if (p->why[0])
		printf("            %s\n", p->why);
}

static void print_proof(const struct plan *p)
{
	const struct check_report *r = &p->proof;

	printf("verified    %llu %s routed, %llu unreachable, %llu %s, %llu %s, %.1f ms\n",
	       (unsigned long long)r->reachable, words_plural(r->reachable, "pair", "pairs"),
	       (unsigned long long)r->unreachable, (unsigned long long)r->loops,
	       words_plural(r->loops, "loop", "loops"), (unsigned long long)r->credit_cycles,
	       words_plural(r->credit_cycles, "credit loop", "credit loops"), p->check_ms);
	if (r->disconnected || r->unreachable_special)
		printf("            %llu %s not connected by links, %llu with an aggregation "
		       "node unreachable\n",
		       (unsigned long long)r->disconnected,
		       words_plural(r->disconnected, "pair", "pairs"),
		       (unsigned long long)r->unreachable_special);
	if (r->first[0])
		printf("            first finding: %s\n", r->first);
	printf("hops        %.2f switches on average, %u at most\n", r->mean_hops, r->max_hops);
}

static void print_congestion(const struct plan *p)
{
	const struct congestion *c = &p->congestion;
	const struct {
		const char *name;
		unsigned max;
		double mean;
	} rows[] = {
		{ "shift", c->shift_max, c->shift_mean },
		{ "rail shift", c->rail_shift_max, c->rail_shift_mean },
		{ "random", c->random_max, c->random_mean },
		{ "to storage", c->storage_max, c->storage_mean },
	};

	printf("congestion  flows on the worst link, mean and worst of %u:", CONGESTION_SAMPLES);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%s %s %.2f (%u)", i ? "," : "", rows[i].name, rows[i].mean, rows[i].max);
	printf(" %u ports\n            all-to-all: worst link %.2f of the mean\n", c->storage_ports,
	       c->all_to_all_ratio);
}

static void print_direction(const struct load_tier *tier, enum load_direction d)
{
	char name[24];

	snprintf(name, sizeof(name), "tier %u %s", tier->level + 1, d == LOAD_UP ? "up" : "down");
	printf("  %-12s %8u %9.1f %6.2f ", name, tier->channels[d], tier->mean[d],
	       tier->mean[d] > 0 ? tier->max[d] / tier->mean[d] : 0);
	for (unsigned i = 0; i < LOAD_BINS; i++)
		printf(" %6u", tier->bins[d][i]);
	putchar('\n');
}

/* How many links carry how much of the mean of their tier and direction. */
static void print_tiers(const struct plan *p)
{
	if (!p->ntiers)
		return;
	printf("all-to-all      links     flows  worst       0");
	for (unsigned i = 1; i < LOAD_BINS - 1; i++)
		printf(" <=%4.2f", load_bin_edges[i]);
	printf("   more  of the mean\n");
	for (unsigned i = 0; i < p->ntiers; i++) {
		print_direction(&p->tiers[i]->tier, LOAD_UP);
		print_direction(&p->tiers[i]->tier, LOAD_DOWN);
	}
}

static void print_change(const struct plan *p)
{
	if (plan_changes(p))
		table_print_change(p->delta.entries, p->delta.entries_minimum, p->delta.blocks,
				   p->delta.switches);
}

static void print_trial(const struct plan *p)
{
	json_t *rows, *pays;

	if (!p->states)
		return;
	rows = plan_trial(p);
	pays = plan_affected(p);
	show_trial(rows);
	show_affected(pays);
	json_decref(rows);
	json_decref(pays);
}

static void print_spread(const char *when, const struct congestion *c)
{
	printf("            %s shift %.2f (%u), rail shift %.2f (%u), random %.2f (%u), all-to-all "
	       "%.2f\n",
	       when, c->shift_mean, c->shift_max, c->rail_shift_mean, c->rail_shift_max,
	       c->random_mean, c->random_max, c->all_to_all_ratio);
}

static void print_rebalance(const struct plan *p)
{
	if (!p->rebalance)
		return;
	printf("rebalance   %u %s moved, %.1f ms\n", rebalance_result(p->rebalance)->count,
	       words_plural(rebalance_result(p->rebalance)->count, "entry", "entries"),
	       p->rebalance_ms);
	print_spread("before:", &p->stable);
	print_spread("after: ", &p->congestion);
}

void plan_show(const struct fmctl *ctl, const struct plan *p)
{
	json_t *doc;

	if (!ctl->json) {
		show_lost(ctl, p->lost);
		print_fabric(p);
		print_proof(p);
		print_congestion(p);
		print_tiers(p);
		print_change(p);
		print_trial(p);
		print_rebalance(p);
		return;
	}
	doc = document(p);
	json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(doc);
}
