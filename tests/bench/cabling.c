/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling: seeded miswirings of all kinds in SuperPODs of all systems, found without and with a
 * plan; and what is found where nothing is wrong.
 *
 *   cabling [--each N] [--seed N] [--su N]... [FABRIC.net]...
 *
 * Prints JSON: {"mistakes": [{"name", "planted", "found", "named", "plan_planted", ..}],
 * "intact": [{"fabric", "findings"}], "strange", "ms"}. What is not as it should be goes to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jansson.h>
#include "tests/lib/miswiring.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

struct bench {
	unsigned each; /* mistakes at once, and as many rounds as it takes */
	uint64_t seed;
	struct verdict pattern[MISTAKES], plan[MISTAKES];
	unsigned strange;
	double longest_ms;
	json_t *intact;
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static struct cabling *look(struct bench *b, const struct topo *t)
{
	double begin = now_ms();
	struct cabling *c = cabling_pattern(t);
	double ms = now_ms() - begin;

	b->longest_ms = ms > b->longest_ms ? ms : b->longest_ms;
	return c;
}

static struct topo *make(enum generate_system system, unsigned su)
{
	char err[256];

	return generate_superpod(system, su, true, err, sizeof(err));
}

/* One fabric with a few mistakes of kinds in turn. */
static void one_round(struct bench *b, const char *name, const struct topo *t, unsigned *kind)
{
	struct miswiring *m = miswiring_new(t, b->seed++);
	struct cabling *c;
	struct topo *wrong;

	for (unsigned i = 0; i < b->each; i++)
		for (unsigned tries = 0; tries < MISTAKES; tries++)
			if (miswiring_add(m, (enum mistake)((*kind)++ % MISTAKES)))
				break;
	wrong = miswiring_freeze(m);
	fprintf(stderr, "# %s, seed %llu\n", name, (unsigned long long)b->seed - 1);
	c = look(b, wrong);
	b->strange += miswiring_judge(m, c, false, b->pattern, stderr);
	cabling_free(c);
	c = cabling_compare(t, wrong);
	b->strange += miswiring_judge(m, c, true, b->plan, stderr);
	cabling_free(c);
	topo_unref(wrong);
	miswiring_free(m);
}

/* Nothing is wrong here, or all that is found has been looked at. */
static void intact(struct bench *b, const char *name, const struct topo *t)
{
	struct cabling *c = look(b, t);
	json_t *lines = json_array();

	for (uint32_t i = 0; i < c->count; i++) {
		char text[1024];

		cabling_describe(&c->items[i], text, sizeof(text));
		json_array_append_new(lines, json_string(text));
	}
	json_array_append_new(b->intact,
			      json_pack("{ss si si so}", "fabric", name, "cables", (int)c->cables,
					"compared", (int)c->compared, "findings", lines));
	cabling_free(c);
}

static void dead_links(struct bench *b, const char *name, const struct topo *t)
{
	struct topo *dead = topo_alike(t);
	uint64_t random = b->seed++;
	char text[96];

	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p &&
		    random_next(&random) % 100 < 2)
			topo_alike_cut(dead, p);
	snprintf(text, sizeof(text), "%s, 2%% dead", name);
	intact(b, text, dead);
	topo_unref(dead);
}

/* Units that are not full yet: the last hosts of each, and some in between, are not there. */
static void partly_populated(struct bench *b, const char *name, const struct topo *t,
			     unsigned rounds, unsigned *kind)
{
	struct miswiring *m = miswiring_new(t, 1);
	uint64_t random = b->seed++;
	struct topo *part;
	char text[96];

	for (uint32_t h = 0; h < t->nhosts; h++)
		if (h % 32 > 20 || random_next(&random) % 10 == 0)
			miswiring_take_out_host(m, h);
	part = miswiring_freeze(m);
	snprintf(text, sizeof(text), "%s, partly populated", name);
	intact(b, text, part);
	for (unsigned i = 0; i < rounds; i++)
		one_round(b, text, part, kind);
	topo_unref(part);
	miswiring_free(m);
}

static void one_pod(struct bench *b, const char *system, unsigned su, unsigned rounds,
		    unsigned *kind)
{
	enum generate_system which = !strcmp(system, "a100")   ? GENERATE_A100
				     : !strcmp(system, "b200") ? GENERATE_B200
							       : GENERATE_H100;
	struct topo *t = make(which, su);
	char name[64];

	if (!t)
		return;
	snprintf(name, sizeof(name), "%s %u SU", system, su);
	intact(b, name, t);
	dead_links(b, name, t);
	partly_populated(b, name, t, rounds / 2, kind);
	for (unsigned i = 0; i < rounds; i++)
		one_round(b, name, t, kind);
	topo_unref(t);
}

static json_t *mistakes_json(const struct bench *b)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < MISTAKES; i++)
		json_array_append_new(
			rows,
			json_pack("{ss ss? si si si si si si}", "name", mistake_words[i].name,
				  "untold", mistake_words[i].hidden, "planted",
				  (int)b->pattern[i].planted, "found", (int)b->pattern[i].found,
				  "named", (int)b->pattern[i].named, "plan_planted",
				  (int)b->plan[i].planted, "plan_found", (int)b->plan[i].found,
				  "plan_named", (int)b->plan[i].named));
	return rows;
}

int main(int argc, char **argv)
{
	static const char *const systems[] = { "h100", "a100", "b200" };
	static const unsigned sizes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16 };
	struct bench b = { .each = 4, .seed = 1, .intact = json_array() };
	unsigned kind = 0, rounds = 4;
	json_t *document;
	char err[512];

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--each") && i + 1 < argc) {
			b.each = (unsigned)atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) {
			rounds = (unsigned)atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--seed") && i + 1 < argc) {
			b.seed = (uint64_t)atoll(argv[++i]);
		} else {
			struct topo *t = netfile_read(argv[i], err, sizeof(err));

			if (!t) {
				fprintf(stderr, "%s\n", err);
				return 1;
			}
			intact(&b, argv[i], t);
			topo_unref(t);
		}
	}
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned s = 0; s < 3; s++)
			one_pod(&b, systems[s], sizes[i], rounds, &kind);
	document = json_pack("{so so si sf}", "mistakes", mistakes_json(&b), "intact", b.intact,
			     "strange", (int)b.strange, "ms", b.longest_ms);
	json_dumpf(document, stdout, JSON_INDENT(1));
	puts("");
	json_decref(document);
	return 0;
}
