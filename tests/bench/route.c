/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * route: what the routing layer takes on a reference fabric, next to what memory itself takes.
 *
 *   floor   storing as many bytes as the tables have past the cache: no engine can be faster
 *           than writing its result
 *   route   complete tables of the intact fabric
 *   fault   complete tables of the fabric with one leaf's cable upwards dead
 *   delta   which entries of the two differ
 *   check   the whole proof
 *   groups  groups of adaptive routing for these tables
 *   proven  the whole proof of tables and groups
 *
 * Each figure is the median of several rounds' processor time, and a round takes one of each, so
 * that whatever disturbs the machine disturbs all alike. Memory is touched before the first round.
 *
 *   route [--json] [--repeat N] superpod --su N | pgft H m1,.. w1,.. [p1,..]
 */
#include <emmintrin.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "routing/adaptive/groups.h"
#include "routing/proof/check.h"
#include "routing/report/report.h"
#include "routing/ftree/route.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

#define MAX_REPEAT     1000
#define DEFAULT_REPEAT 15

enum phase { FLOOR, ROUTE, FAULT, DELTA, CHECK, GROUPS, FAULT_GROUPS, PROVEN, PHASES };

struct bench {
	bool json;
	unsigned repeat;
	struct topo *intact, *broken;
	struct lid_map *lids;
	struct route *route;
	struct tables before, after, scratch;
	struct ar_maker *maker;
	struct ar_groups *groups;
	struct delta delta;
	struct check_report proof;
	double ms[PHASES][MAX_REPEAT];
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int compare_ms(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct bench *b, enum phase phase)
{
	qsort(b->ms[phase], b->repeat, sizeof(double), compare_ms);
	return b->ms[phase][b->repeat / 2];
}

static size_t table_bytes(const struct tables *t)
{
	return (size_t)t->nswitches * t->stride;
}

/* ---- Phases ---------------------------------------------------------------------------------- */

/* Rows are multiples of 64 bytes, and malloc aligns to 16. */
static void store_past_cache(struct tables *t)
{
	__m128i *at = (__m128i *)t->lft, *end = at + table_bytes(t) / sizeof(*at);
	const __m128i value = _mm_set1_epi8((char)TABLES_NO_ROUTE);

	for (; at < end; at++)
		_mm_stream_si128(at, value);
	_mm_sfence();
}

static void compute(struct bench *b, const struct topo *t, struct tables *out)
{
	const struct route_params params = { .engine = "ftree" };

	if (route_compute(b->route, t, b->lids, &params, out))
		abort();
}

static void phase_run(struct bench *b, enum phase phase)
{
	static const struct ar_params none;

	switch (phase) {
	case FLOOR:
		store_past_cache(&b->scratch);
		break;
	case ROUTE:
		compute(b, b->intact, &b->before);
		break;
	case FAULT:
		compute(b, b->broken, &b->after);
		break;
	case DELTA:
		delta_count(&b->before, &b->after, &b->delta);
		break;
	case CHECK:
		check_tables(b->intact, b->lids, &b->before, &b->proof);
		break;
	case GROUPS:
		ar_groups_free(b->groups);
		b->groups = ar_groups_make(&b->maker, b->intact, b->lids, &none);
		break;
	case FAULT_GROUPS:
		ar_groups_free(ar_groups_make(&b->maker, b->broken, b->lids, &none));
		break;
	case PROVEN:
		if (!check_groups(b->intact, b->lids, &b->before, b->groups, &b->proof))
			abort();
		break;
	default:
		abort();
	}
}

static void rounds_run(struct bench *b)
{
	for (unsigned i = 0; i < b->repeat; i++)
		for (enum phase phase = FLOOR; phase < PHASES; phase++) {
			double start = now_ms();

			phase_run(b, phase);
			b->ms[phase][i] = now_ms() - start;
		}
}

/* ---- Fabric ---------------------------------------------------------------------------------- */

static bool is_uplink(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return peer && port->link_up && t->nodes[peer->node].type == TOPO_SWITCH &&
	       t->nodes[peer->node].level > t->nodes[port->node].level;
}

/* The same fabric with the first uplink of the first leaf dead, and known. */
static struct topo *break_uplink(const struct topo *t)
{
	struct topo *broken = topo_alike(t);
	uint32_t port = 0;

	while (port < t->nswitch_ports && !is_uplink(t, &t->ports[port]))
		port++;
	if (port < t->nswitch_ports)
		topo_alike_cut(broken, port);
	return broken;
}

static void prepare(struct bench *b)
{
	b->broken = break_uplink(b->intact);
	b->lids = lid_plan(b->intact, NULL, 0);
	b->route = route_new();
	compute(b, b->intact, &b->before);
	compute(b, b->broken, &b->after);
	tables_copy(&b->scratch, &b->before);
}

static void finish(struct bench *b)
{
	ar_groups_free(b->groups);
	ar_maker_free(b->maker);
	tables_fini(&b->scratch);
	tables_fini(&b->after);
	tables_fini(&b->before);
	route_free(b->route);
	lid_map_free(b->lids);
	topo_unref(b->broken);
	topo_unref(b->intact);
	free(b);
}

static unsigned highest_group(const struct ar_groups *groups)
{
	unsigned highest = 0;

	for (uint32_t i = 0; i < groups->first[groups->nswitches]; i++)
		if (groups->list[i].id > highest)
			highest = groups->list[i].id;
	return highest;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void say_json(struct bench *b)
{
	uint64_t minimum = delta_minimum(b->broken, b->lids, "ftree", &b->before, &b->after);

	printf("{\"switches\": %u, \"hcas\": %u, \"lft_bytes\": %zu, \"repeat\": %u, ",
	       b->intact->nswitches, b->intact->ncas, table_bytes(&b->before), b->repeat);
	printf("\"floor_ms\": %.4f, \"route_ms\": %.4f, \"fault_ms\": %.4f, \"delta_ms\": %.4f, "
	       "\"check_ms\": %.4f, \"groups_ms\": %.4f, \"fault_groups_ms\": %.4f, "
	       "\"proven_ms\": %.4f, \"highest_group\": %u, ",
	       median(b, FLOOR), median(b, ROUTE), median(b, FAULT), median(b, DELTA),
	       median(b, CHECK), median(b, GROUPS), median(b, FAULT_GROUPS), median(b, PROVEN),
	       highest_group(b->groups));
	printf("\"delta\": {\"entries\": %llu, \"entries_minimum\": %llu, \"blocks\": %u, "
	       "\"switches\": %u}}\n",
	       (unsigned long long)b->delta.entries, (unsigned long long)minimum, b->delta.blocks,
	       b->delta.switches);
}

static void say_text(struct bench *b)
{
	static const char *const names[] = { "floor", "route",	"fault",  "delta",
					     "check", "groups", "lesser", "proven" };
	double floor_ms = median(b, FLOOR);

	printf("%u HCAs, %u switches, %.1f MB of tables; median of %u\n", b->intact->ncas,
	       b->intact->nswitches, table_bytes(&b->before) / 1e6, b->repeat);
	for (enum phase phase = FLOOR; phase < PHASES; phase++)
		printf("  %-6s %9.3f ms  %6.1f x floor\n", names[phase], median(b, phase),
		       median(b, phase) / floor_ms);
	printf("  one cable: %llu entries in %u blocks on %u switches\n",
	       (unsigned long long)b->delta.entries, b->delta.blocks, b->delta.switches);
}

static int usage(void)
{
	fputs("usage: route [--json] [--repeat N] superpod --su N | pgft H m1,.. w1,.. [p1,..]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' },
					       { "repeat", required_argument, NULL, 'r' },
					       { 0 } };
	struct bench *b = mem_alloc(1, sizeof(*b));
	char err[256] = "";
	int c;

	b->repeat = DEFAULT_REPEAT;
	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == 'j')
			b->json = true;
		else if (c == 'r')
			b->repeat = (unsigned)strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (optind == argc || !b->repeat || b->repeat > MAX_REPEAT)
		return usage();
	argc -= optind;
	argv += optind;
	optind = 1;
	b->intact = generate_parse(argc, argv, err, sizeof(err));
	if (!b->intact) {
		fprintf(stderr, "route: %s\n", err);
		return 2;
	}
	prepare(b);
	rounds_run(b);
	(b->json ? say_json : say_text)(b);
	finish(b);
	return 0;
}
