/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cuts: what routing costs when one cable between switches is cut, and when it is back, over all
 * cables or N of them: processor time of tables, proof, comparison and order, the longest of their
 * steps (a call of route_go(), check_change_go(), order_go()), entries that change, and pairs that
 * are lost though cables join them.
 *
 *   cuts [--cables N | --of SWITCH] superpod --su N | pgft .. | FILE
 *
 * With --first: the processor time of the first tables and the longest of their steps alone.
 *
 *   cuts --first superpod --su N | torus .. | FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "routing/ftree/route.h"
#include "routing/order/order.h"
#include "routing/proof/check_change.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

enum phase { ROUTE, PROOF, ORDER, SUM, STEP, ENTRIES = STEP + SUM, FIGURES };
static const char *const names[] = { "route ms",   "proof ms",	 "order ms",   "sum ms",
				     "route step", "proof step", "order step", "entries" };

struct sample {
	uint32_t port;
	double figure[FIGURES];
};

static struct lid_map *lids;
static struct route *route;
static struct check_base *base;
static struct tables tables, next;
static struct even *even;
static uint64_t lost;

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static double passed(struct sample *s, enum phase phase, double since)
{
	double took = cpu_ms() - since;

	s->figure[phase] += took;
	s->figure[SUM] += took;
	if (took > s->figure[STEP + phase])
		s->figure[STEP + phase] = took;
	return cpu_ms();
}

static struct order_block *changed_blocks(uint32_t *count)
{
	struct order_block *blocks = NULL;

	*count = 0;
	for (uint32_t sw = 0; sw < next.nswitches; sw++)
		for (uint32_t b = 0; b * TABLES_BLOCK <= next.top; b++) {
			const uint8_t *old = tables_row(&tables, sw) + b * TABLES_BLOCK;

			if (memcmp(old, tables_row(&next, sw) + b * TABLES_BLOCK, TABLES_BLOCK)) {
				blocks = mem_grow(blocks, *count);
				blocks[(*count)++] = (struct order_block){ sw, b, old };
			}
		}
	return blocks;
}

/* From the present tables to those of a snapshot. */
static void change(const struct topo *t, struct sample *s)
{
	struct route_params params = { .engine = "ftree", .even = even };
	struct order_block *blocks;
	struct check_report report;
	struct order order = { 0 };
	uint32_t count;
	struct delta delta;
	double at = cpu_ms();
	bool more = true;

	for (route_begin(route, t, lids, &params, &next); more;) {
		more = route_go(route);
		at = passed(s, ROUTE, at);
	}
	if (route_end(route))
		abort();
	check_change_begin(base, t, lids, &next);
	at = passed(s, PROOF, at);
	for (more = true; more;) {
		more = check_change_go(base);
		at = passed(s, PROOF, at);
	}
	if (!check_change_end(base, &report)) {
		fprintf(stderr, "refused: %s\n", report.first);
		exit(1);
	}
	lost += report.unreachable + report.unreachable_special;
	blocks = changed_blocks(&count);
	at = cpu_ms(); /* the daemon compares by fingerprints */

	struct order_making *making = order_begin(
		t, &next, blocks, count,
		&(struct order_proof){
			.base = base, .serial = check_proof_serial(base), .older = true });

	for (more = true; more;) {
		more = order_go(making);
		at = passed(s, ORDER, at);
	}
	order_end(making, &order);
	passed(s, ORDER, at);
	if (order.drained)
		printf("drained %u LIDs\n", order.drained);
	order_fini(&order);
	delta_count(&tables, &next, &delta);
	s->figure[ENTRIES] = delta.entries;
	free(blocks);

	check_change_tidy(base, t, &next); /* as the daemon does while it is idle */

	struct tables were = tables;

	tables = next;
	next = were;
}

static enum phase by;

static int by_figure(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->figure[by] > y->figure[by]) - (x->figure[by] < y->figure[by]);
}

static void print(const struct topo *t, const char *what, struct sample *samples, uint32_t n)
{
	printf("%s of %u cables%22s%10s%10s%10s\n", what, n, "median", "99 %", "worst", "ratio");
	for (by = 0; by < FIGURES; by++) {
		qsort(samples, n, sizeof(*samples), by_figure);

		double median = samples[n / 2].figure[by], worst = samples[n - 1].figure[by];
		const struct topo_port *port = &t->ports[samples[n - 1].port];

		printf("  %-12s %26.3f%10.3f%10.3f%10.2f  %s p%u\n", names[by], median,
		       samples[n - 1 - n / 100].figure[by], worst, worst / median,
		       t->nodes[port->node].desc, port->num);
	}
	printf("  pairs lost that cables join: %lu\n", lost);
	lost = 0;
}

/* Between switches, of one of them or all. */
static struct sample *cables(const struct topo *t, const char *only, uint32_t *n)
{
	struct sample *list = NULL;

	*n = 0;
	for (uint32_t p = 0; p < t->nswitch_ports; p++) {
		uint32_t peer = t->ports[p].peer;

		if (peer == TOPO_NONE || peer < p || peer >= t->nswitch_ports)
			continue;
		if (only && strcmp(t->nodes[t->ports[p].node].desc, only))
			continue;
		list = mem_grow(list, *n);
		list[(*n)++] = (struct sample){ .port = p };
	}
	return list;
}

/* Memory is touched before, as the daemon does. */
static int first_tables(const struct topo *t)
{
	const struct route_params params = { .engine = "ftree" };
	struct sample s = { 0 };
	size_t reserved = 0;
	double at;

	tables_resize(&next, t->nswitches, lids->top);
	while (tables_reserve(&next, &reserved))
		;
	at = cpu_ms();
	route_begin(route, t, lids, &params, &next);
	for (bool more = true; more;) {
		more = route_go(route);
		at = passed(&s, ROUTE, at);
	}
	if (route_end(route))
		return 1;
	printf("first tables by %s: %.1f ms, longest step %.2f ms\n", route_outcome(route)->engine,
	       s.figure[ROUTE], s.figure[STEP + ROUTE]);
	return 0;
}

int main(int argc, char **argv)
{
	struct sample *cuts, *repairs, warm = { 0 };
	uint32_t n, most = UINT32_MAX, every;
	struct topo *t, *broken;
	bool first = argc > 1 && !strcmp(argv[1], "--first");
	const char *only = NULL;
	char err[256] = "";

	argc -= first;
	argv += first;
	if (argc > 2 && (!strcmp(argv[1], "--cables") || !strcmp(argv[1], "--of"))) {
		if (argv[1][2] == 'o')
			only = argv[2];
		else
			most = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	t = argc == 2 ? netfile_read(argv[1], err, sizeof(err))
		      : generate_parse(argc - 1, argv + 1, err, sizeof(err));
	if (!t) {
		fprintf(stderr, "cuts: %s\n", err);
		return 2;
	}
	lids = lid_plan(t, NULL, 0);
	route = route_new();
	if (first)
		return first_tables(t);
	cuts = cables(t, only, &n);
	every = most < n ? n / most : 1;
	n /= every;
	for (uint32_t i = 0; i < n; i++)
		cuts[i] = cuts[i * every];
	repairs = memcpy(mem_array(repairs, n), cuts, n * sizeof(*cuts));
	base = check_base_new(1);
	tables_resize(&tables, t->nswitches, lids->top);
	/* Memory is touched, and the first link counts as any other. */
	for (int i = 0; i < 4; i++) {
		broken = topo_alike(t);
		if (i % 2)
			topo_alike_cut(broken, cuts[0].port);
		change(broken, &warm);
		topo_unref(broken);
	}
	change(t, &warm);
	lost = 0;
	for (uint32_t i = 0; i < n; i++) {
		broken = topo_alike(t);
		topo_alike_cut(broken, cuts[i].port);
		change(broken, &cuts[i]);
		uint64_t were = lost;
		change(t, &repairs[i]);
		lost = were;
		topo_unref(broken);
	}
	print(t, "cuts", cuts, n);
	print(t, "repairs", repairs, n);
	return 0;
}
