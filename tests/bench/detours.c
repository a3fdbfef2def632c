/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * detours: what each of the four detour mechanisms of ftree gains, alone and together.
 *
 *   P  pivots (pivot.h): aggregation nodes and switches, all at once
 *   F  detour_fill(): gaps one by one, by all turns that any table might use
 *   S  detour_search_tables(): gaps one by one, by the dependencies that the tables have
 *   A  the acyclic engine in place of a tree that leaves pairs of hosts open
 *
 * A row for each fabric and share of dead cables: pairs that links connect and tables do not, of
 * hosts; with an aggregation node; of a switch and a switch with hosts (LID-routed management),
 * summed over SEEDS fabrics. Mechanisms are turned off by the linker (--wrap), so no line of the
 * product knows of it.
 *
 *   detours SEEDS FABRIC..   a path (ibnetdiscover), "superpod --su 4" and all else of `fmctl
 *                            generate`, or random, tangle, crossed (tests/fabric/damage.h)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "routing/ftree/pivot.h"
#include "routing/ftree/route.h"
#include "routing/path.h"
#include "routing/proof/check.h"
#include "tests/fabric/damage.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/generate/generate.h"

enum { P = 1, F = 2, S = 4, A = 8, ALL = 15 };
static unsigned on;
static unsigned measured; /* by compute_tree(): the tree's burden first, then the other's */

bool __real_pivots_find(struct pivots *p, const struct dests *d, const struct reach *r,
			unsigned count);
uint64_t __real_detour_fill(const struct graph *g, const struct dests *d, const struct reach *r,
			    struct tables *out, struct gaps *gaps);
uint64_t __real_detour_search_tables(const struct topo *t, const struct lid_map *lids,
				     struct tables *tables, struct fiber *fiber);
void __real_burden_measure(const struct topo *t, const struct lid_map *lids,
			   const struct tables *tables, struct fiber *fiber, struct burden *out);
bool __wrap_pivots_find(struct pivots *p, const struct dests *d, const struct reach *r,
			unsigned count);
uint64_t __wrap_detour_fill(const struct graph *g, const struct dests *d, const struct reach *r,
			    struct tables *out, struct gaps *gaps);
uint64_t __wrap_detour_search_tables(const struct topo *t, const struct lid_map *lids,
				     struct tables *tables, struct fiber *fiber);
void __wrap_burden_measure(const struct topo *t, const struct lid_map *lids,
			   const struct tables *tables, struct fiber *fiber, struct burden *out);

bool __wrap_pivots_find(struct pivots *p, const struct dests *d, const struct reach *r,
			unsigned count)
{
	return on & P && __real_pivots_find(p, d, r, count);
}

uint64_t __wrap_detour_fill(const struct graph *g, const struct dests *d, const struct reach *r,
			    struct tables *out, struct gaps *gaps)
{
	return on & F ? __real_detour_fill(g, d, r, out, gaps) : gaps->host_pairs;
}

uint64_t __wrap_detour_search_tables(const struct topo *t, const struct lid_map *lids,
				     struct tables *tables, struct fiber *fiber)
{
	return on & S ? __real_detour_search_tables(t, lids, tables, fiber)
		      : detour_search_count(t, lids, tables, fiber);
}

void __wrap_burden_measure(const struct topo *t, const struct lid_map *lids,
			   const struct tables *tables, struct fiber *fiber, struct burden *out)
{
	__real_burden_measure(t, lids, tables, fiber, out);
	if (!(on & A) && measured++ % 2)
		out->open_pairs = UINT64_MAX;
}

/* Pairs of a switch and a switch with hosts, in either order, that have no path. */
static uint64_t management_open(const struct topo *t, const struct lid_map *lids,
				const struct tables *tables)
{
	bool *leaf = mem_array(leaf, t->nswitches);
	uint32_t *part = mem_array(part, t->nswitches), *queue = mem_array(queue, t->nswitches);
	uint64_t open = 0;

	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		for (unsigned p = 1; p <= t->nodes[n].nports; p++) {
			const struct topo_port *port = topo_port(t, n, p);

			if (port->link_up && topo_is_host(t, n) &&
			    t->ports[port->peer].node < t->nswitches)
				leaf[t->ports[port->peer].node] = true;
		}
	for (uint32_t first = 0; first < t->nswitches; first++) {
		uint32_t head = 0, tail = 0;

		if (part[first])
			continue;
		queue[tail++] = first;
		part[first] = first + 1;
		while (head < tail) {
			uint32_t sw = queue[head++];

			for (unsigned p = 1; p <= t->nodes[sw].nports; p++) {
				uint32_t next = path_switch_at(t, sw, p);

				if (next != TOPO_NONE && !part[next]) {
					part[next] = first + 1;
					queue[tail++] = next;
				}
			}
		}
	}
	for (uint32_t d = 0; d < t->nswitches; d++)
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			open += leaf[sw] != leaf[d] && part[sw] == part[d] &&
				tables_row(tables, sw)[lids->lid_of_port[t->nodes[d].port0]] ==
					TABLES_NO_ROUTE;
	free(leaf);
	free(part);
	free(queue);
	return open;
}

struct sums { /* over the fabrics of a row */
	uint64_t open[3];
	unsigned acyclic, refused;
	double ms;
};

static const unsigned subsets[] = { 0, P, F, S, A, ALL, ALL - P, ALL - F, ALL - S, ALL - A };
#define SUBSETS ARRAY_SIZE(subsets)
static const char *const kinds[] = { "hosts", "aggregation", "management" };

static void measure(const struct topo *t, const struct lid_map *lids, unsigned which,
		    struct sums *sums)
{
	struct route *route = route_new();
	struct tables tables = { 0 };
	struct check_report report;
	struct timespec from, to;

	on = which;
	measured = 0;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	if (route_compute(route, t, lids, NULL, &tables))
		exit(1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	sums->ms += (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
	sums->refused += !check_tables(t, lids, &tables, &report);
	sums->open[0] += report.unreachable;
	sums->open[1] += report.unreachable_special;
	sums->open[2] += management_open(t, lids, &tables);
	sums->acyclic += route_outcome(route)->why == ROUTE_PAIRS_OPEN;
	tables_fini(&tables);
	route_free(route);
}

static void print(const char *name, const char *damage, const char *kind, const uint64_t *values)
{
	printf("%-34.34s %7s %-12s", name, damage, kind);
	for (unsigned s = 0; s < SUBSETS; s++)
		printf(" %9lu", values[s]);
	printf("\n");
}

static struct sums total[2][SUBSETS]; /* up to MUCH percent dead, and more */
#define MUCH 20

static void row(const char *name, const struct topo *design, int percent, unsigned seeds)
{
	struct sums sums[SUBSETS] = { 0 };
	uint64_t values[SUBSETS];
	char damage[16];

	for (unsigned seed = 1; seed <= (percent ? seeds : 1); seed++) {
		struct topo *t;

		if (percent < 0) { /* one cable, of the switches that have any */
			uint64_t random = seed;
			uint32_t sw, p;

			do {
				sw = damage_random(&random) % design->nswitches;
				p = 1 + damage_random(&random) % design->nodes[sw].nports;
			} while (path_switch_at(design, sw, p) == TOPO_NONE);
			t = damage_cut(design, sw, p);
		} else {
			t = damage_links(design, percent, seed * 7919);
		}
		struct lid_map *lids = lid_plan(t, NULL, 0);

		for (unsigned s = 0; s < SUBSETS; s++)
			measure(t, lids, subsets[s], &sums[s]);
		lid_map_free(lids);
		topo_unref(t);
	}
	snprintf(damage, sizeof(damage), percent < 0 ? "1 cable" : "%d %%", percent);
	for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
		uint64_t any = 0;

		for (unsigned s = 0; s < SUBSETS; s++) {
			any += values[s] = sums[s].open[k];
			total[percent > MUCH][s].open[k] += values[s];
		}
		if (any)
			print(name, damage, kinds[k], values);
	}
	for (unsigned s = 0; s < SUBSETS; s++)
		values[s] = sums[s].acyclic;
	if (values[4]) /* with the acyclic engine alone */
		print(name, damage, "updn-root", values);
	for (unsigned s = 0; s < SUBSETS; s++)
		values[s] = sums[s].ms;
	if (values[4])
		print(name, damage, "cpu ms", values);
	for (unsigned s = 0; s < SUBSETS; s++) {
		struct sums *all = &total[percent > MUCH][s];

		all->ms += sums[s].ms;
		all->acyclic += sums[s].acyclic;
		all->refused += sums[s].refused;
	}
	fflush(stdout);
}

static void rows(const char *name, struct topo *t, unsigned seeds)
{
	static const int percents[] = { 0, -1, 1, 5, 20, 40, 60, 75 };

	for (unsigned i = 0; t && i < ARRAY_SIZE(percents); i++)
		row(name, t, percents[i], seeds);
	topo_unref(t);
}

static struct topo *generated(char *words)
{
	char *argv[16], err[256];
	int argc = 0;

	for (char *word = strtok(words, " "); word && argc < 16; word = strtok(NULL, " "))
		argv[argc++] = word;
	return generate_parse(argc, argv, err, sizeof(err));
}

int main(int argc, char **argv)
{
	unsigned seeds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t values[SUBSETS];

	printf("%-54s", "pairs that links connect, without a path");
	for (unsigned s = 0; s < SUBSETS; s++)
		printf("      %c%c%c%c", subsets[s] & P ? 'P' : '-', subsets[s] & F ? 'F' : '-',
		       subsets[s] & S ? 'S' : '-', subsets[s] & A ? 'A' : '-');
	printf("\n");
	for (int i = 2; i < argc; i++) {
		char words[128], err[256];

		snprintf(words, sizeof(words), "%s", argv[i]);
		if (strchr(argv[i], '/'))
			rows(strrchr(argv[i], '/') + 1, netfile_read(argv[i], err, sizeof(err)),
			     seeds);
		else if (!strcmp(argv[i], "random"))
			for (unsigned seed = 1; seed <= 20 * seeds; seed++)
				rows(argv[i], damage_random_pgft(seed), 1);
		else if (!strcmp(argv[i], "tangle"))
			for (unsigned seed = 1; seed <= 20 * seeds; seed++)
				rows(argv[i], damage_tangle(seed), 1);
		else if (!strcmp(argv[i], "crossed"))
			rows(argv[i], damage_crossed_pods(4, 6), seeds);
		else
			rows(argv[i], generated(words), seeds);
	}
	for (unsigned much = 0; much < 2; much++) {
		const char *damage = much ? "> 20 %" : "<= 20 %";

		for (unsigned k = 0; k < ARRAY_SIZE(kinds); k++) {
			for (unsigned s = 0; s < SUBSETS; s++)
				values[s] = total[much][s].open[k];
			print("all", damage, kinds[k], values);
		}
		for (unsigned s = 0; s < SUBSETS; s++)
			values[s] = total[much][s].acyclic;
		print("all", damage, "updn-root", values);
		for (unsigned s = 0; s < SUBSETS; s++)
			values[s] = total[much][s].refused;
		print("all", damage, "refused", values);
		for (unsigned s = 0; s < SUBSETS; s++)
			values[s] = total[much][s].ms;
		print("all", damage, "cpu ms", values);
	}
	return 0;
}
