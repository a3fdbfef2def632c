/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_circle: random turns beside the graph of a tree, judged beside the whole graph of what is
 * in use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "routing/order/order_own.h"
#include "tests/fabric/damage.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

#define RUNS	  3000
#define TURNS_MAX 6

struct bench {
	struct topo *topo;
	struct cdg all;	 /* each turn but those that come down and rise */
	struct cdg used; /* of these, what is in use, and the turns that are tried */
	struct order_turn turns[TURNS_MAX];
	uint32_t nturns;
	uint64_t seed;
	unsigned asked;
	bool sure;
};

static bool is_down_up(const struct cdg *g, uint32_t channel, uint32_t next)
{
	return cdg_falls(g, channel) && !cdg_falls(g, next);
}

/* The channel behind a channel and a port, TOPO_NONE = there is none, or the same cable back. */
static uint32_t behind(const struct cdg *g, uint32_t channel, unsigned port)
{
	uint32_t next;

	if (!port || !cdg_leads_on(g, channel, (uint8_t)port))
		return TOPO_NONE;
	next = g->channel[g->head[channel] + port];
	return next == g->back[channel] ? TOPO_NONE : next;
}

static bool no_circle(const struct cdg *g)
{
	uint32_t cycle[4];
	unsigned length;

	return !cdg_cycles(g, cycle, 4, &length);
}

static void bench_init(struct bench *b, uint64_t seed, unsigned used_percent)
{
	static const unsigned m[] = { 2, 3, 3 }, w[] = { 1, 2, 2 }, p[] = { 1, 1, 2 };
	char err[256];

	*b = (struct bench){ .seed = seed };
	b->topo = generate_pgft(3, m, w, p, err, sizeof(err));
	assert_non_null(b->topo);
	cdg_init(&b->all, b->topo, false);
	cdg_init(&b->used, b->topo, false);
	for (uint32_t c = 0; c < b->all.nchannels; c++)
		for (unsigned port = 1; port <= b->all.head_ports[c]; port++) {
			uint32_t next = behind(&b->all, c, port);

			if (next == TOPO_NONE || is_down_up(&b->all, c, next))
				continue;
			cdg_add(&b->all, c, (uint8_t)port);
			if (damage_random(&b->seed) % 100 < used_percent)
				cdg_add(&b->used, c, (uint8_t)port);
		}
	assert_true(no_circle(&b->all)); /* and its order is made */
}

static void bench_fini(struct bench *b)
{
	cdg_fini(&b->all);
	cdg_fini(&b->used);
	topo_unref(b->topo);
}

/* Random valleys. */
static void choose_turns(struct bench *b, unsigned count)
{
	while (b->nturns < count) {
		uint32_t c = (uint32_t)(damage_random(&b->seed) % b->all.nchannels);
		unsigned port = 1 + (unsigned)(damage_random(&b->seed) % b->all.head_ports[c]);
		uint32_t next = behind(&b->all, c, port);

		if (next == TOPO_NONE || !is_down_up(&b->all, c, next))
			continue;
		b->turns[b->nturns++] =
			(struct order_turn){ .from = b->all.port_of[c], .out = (uint8_t)port };
		cdg_add(&b->used, c, (uint8_t)port);
	}
}

static bool in_use(void *arg, uint32_t channel, uint8_t out)
{
	struct bench *b = arg;

	b->asked++;
	return cdg_has(&b->used, channel, out);
}

static bool is_found(struct bench *b, uint32_t visits)
{
	struct order_circle *c = order_circle_new(&b->all, b->turns, b->nturns, in_use, b);
	bool found;

	while (order_circle_go(c, visits))
		;
	found = order_circle_found(c);

	const bool *members = order_circle_members(c);

	b->sure = members != NULL;
	for (uint32_t i = 0; b->sure && i < b->all.nchannels; i++) {
		bool goes_on = false;

		for (unsigned port = 1; port <= b->all.head_ports[i]; port++) {
			uint32_t next = behind(&b->all, i, port);

			goes_on |= next != TOPO_NONE && members[next] &&
				   cdg_has(&b->used, i, (uint8_t)port);
		}
		if (members[i] && !goes_on)
			fail_msg("channel %u is on no circle", i);
	}
	order_circle_free(c);
	return found;
}

static void circles_of_what_is_in_use_are_found_and_no_others(void **state)
{
	unsigned circles = 0, certain = 0, given_up = 0, fell_apart = 0;

	for (unsigned run = 0; run < RUNS; run++) {
		struct bench b;
		bool found, is;

		bench_init(&b, run + 1, 10 + run % 90);
		choose_turns(&b, 1 + run % TURNS_MAX);
		found = is_found(&b, 1 + run % 50);
		is = !no_circle(&b.used);
		if (is && !found)
			fail_msg("run %u: a circle was not found", run);
		if (b.sure && !(is && found))
			fail_msg("run %u: a circle that is none is held for certain", run);
		certain += b.sure;
		circles += is;
		given_up += found && !is;
		fell_apart += !found && b.asked;
		bench_fini(&b);
	}
	print_message("%u circles, %u given up, %u were none when looked at\n", circles, given_up,
		      fell_apart);
	assert_in_range(circles, RUNS / 20, RUNS);
	assert_in_range(certain, circles - circles / 20, circles);
	assert_in_range(fell_apart, RUNS / 20, RUNS);
	assert_in_range(given_up, 0, RUNS / 100);
}

static void turns_that_agree_with_the_order_need_no_search(void **state)
{
	struct bench b;

	bench_init(&b, 1, 100);
	for (uint32_t c = 0; c < b.all.nchannels && !b.nturns; c++)
		for (unsigned port = 1; port <= b.all.head_ports[c] && !b.nturns; port++)
			if (cdg_has(&b.all, c, (uint8_t)port))
				b.turns[b.nturns++] = (struct order_turn){ .from = b.all.port_of[c],
									   .out = (uint8_t)port };
	assert_int_equal(b.nturns, 1);
	assert_false(is_found(&b, 1));
	assert_int_equal(b.asked, 0);
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(circles_of_what_is_in_use_are_found_and_no_others),
		cmocka_unit_test(turns_that_agree_with_the_order_need_no_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
