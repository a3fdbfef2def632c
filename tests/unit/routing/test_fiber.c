/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fiber: long work in short calls, and routing by it: the same tables, whoever else runs in
 * between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "routing/fiber.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"

#define MS 1000000

struct count {
	struct fiber *fiber;
	unsigned to, at;
};

static void count_up(void *arg)
{
	struct count *c = arg;

	while (c->at < c->to && !fiber_hurries(c->fiber)) {
		c->at++;
		fiber_spend(c->fiber, MS);
	}
}

static void work_stops_now_and_then_and_ends(void **state)
{
	struct count c = { .fiber = fiber_new(), .to = 100 };
	unsigned calls = 1;

	fiber_start(c.fiber, count_up, &c);
	assert_int_equal(c.at, 0);
	while (fiber_go(c.fiber)) {
		assert_in_range(c.at, calls, 10 * calls);
		calls++;
	}
	assert_int_equal(c.at, 100);
	assert_true(calls >= 10);
	assert_false(fiber_go(c.fiber));
	c.at = 0; /* the same fiber again */
	fiber_start(c.fiber, count_up, &c);
	while (fiber_go(c.fiber))
		;
	assert_int_equal(c.at, 100);
	fiber_free(c.fiber);
}

static void who_hurries_ends_with_the_next_call(void **state)
{
	struct count c = { .fiber = fiber_new(), .to = 1000 };

	fiber_start(c.fiber, count_up, &c);
	assert_true(fiber_go(c.fiber));
	fiber_hurry(c.fiber);
	assert_false(fiber_go(c.fiber));
	assert_true(c.at < 1000);
	fiber_free(c.fiber);
}

static void two_fibers_do_not_know_of_each_other(void **state)
{
	struct count a = { .fiber = fiber_new(), .to = 50 }, b = { .fiber = fiber_new(), .to = 70 };
	bool more = true;

	fiber_start(a.fiber, count_up, &a);
	fiber_start(b.fiber, count_up, &b);
	while (more) {
		more = fiber_go(a.fiber);
		more |= fiber_go(b.fiber);
	}
	assert_int_equal(a.at, 50);
	assert_int_equal(b.at, 70);
	fiber_free(a.fiber);
	fiber_free(b.fiber);
}

static unsigned deeper(volatile char *above, unsigned levels)
{
	volatile char here[1024];

	here[0] = *above;
	return levels ? deeper(here, levels - 1) + (unsigned)here[0] : 0;
}

static void go_too_deep(void *arg)
{
	volatile char top = 0;

	*(unsigned *)arg = deeper(&top, 1100); /* a little more than the stack has */
}

/* Other memory of the process lies below the stack where the allocator makes both. */
static void a_stack_that_overflows_ends_the_process_before_it_writes_elsewhere(void **state)
{
	void *volatile below = malloc(8 << 20);
	int status;
	pid_t child;

	free(below);
	below = malloc(4 << 20);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct fiber *fiber = fiber_new();
		unsigned sum;

		(void)!freopen("/dev/null", "w", stderr);
		fiber_start(fiber, go_too_deep, &sum);
		fiber_go(fiber);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	free(below);
}

/*
 * Two tiers with few spines and much of their cables dead: legal paths, detours, and other ones
 * when these don't do.
 */
static struct topo *ruin(uint64_t seed)
{
	static const unsigned m[] = { 8, 120 }, w[] = { 1, 6 }, one[] = { 1, 1 };
	char err[256];
	struct topo *whole = generate_pgft(2, m, w, one, err, sizeof(err)), *t;

	t = damage_links(whole, 40, seed);
	topo_unref(whole);
	return t;
}

static unsigned route_in_steps(struct route *route, const struct topo *t,
			       const struct lid_map *lids, struct tables *out)
{
	unsigned calls = 1;

	route_begin(route, t, lids, NULL, out);
	while (route_go(route))
		calls++;
	assert_int_equal(route_end(route), 0);
	return calls;
}

static void routing_in_steps_gives_the_same_tables(void **state)
{
	struct tables at_once = { 0 }, in_steps = { 0 };
	unsigned most = 0;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct topo *t = ruin(seed);
		struct lid_map *lids = lid_plan(t, NULL, 0);
		struct route *a = route_new(), *b = route_new();
		unsigned calls;

		assert_int_equal(route_compute(a, t, lids, NULL, &at_once), 0);
		calls = route_in_steps(b, t, lids, &in_steps);
		most = calls > most ? calls : most;
		assert_memory_equal(at_once.lft, in_steps.lft,
				    (size_t)at_once.nswitches * at_once.stride);
		route_free(a);
		route_free(b);
		lid_map_free(lids);
		topo_unref(t);
	}
	assert_true(most > 3);
	tables_fini(&at_once);
	tables_fini(&in_steps);
}

static void what_is_abandoned_leaves_the_router_as_good_as_new(void **state)
{
	struct tables wanted = { 0 }, out = { 0 };
	struct topo *t = ruin(1), *pod16 = pod(4);
	struct lid_map *lids = lid_plan(t, NULL, 0), *others = lid_plan(pod16, NULL, 0);
	struct route *route = route_new(), *fresh = route_new();

	for (unsigned steps = 0; steps < 4; steps++) {
		route_begin(route, t, lids, NULL, &out);
		for (unsigned i = 0; i < steps; i++)
			route_go(route);
		route_begin(route, pod16, others, NULL, &out);
		while (route_go(route))
			;
		assert_int_equal(route_end(route), 0);
		assert_int_equal(route_compute(fresh, pod16, others, NULL, &wanted), 0);
		assert_memory_equal(wanted.lft, out.lft, (size_t)out.nswitches * out.stride);
	}
	route_begin(route, t, lids, NULL, &out);
	route_go(route);
	route_free(route); /* in the middle of it */
	route_free(fresh);
	tables_fini(&wanted);
	tables_fini(&out);
	lid_map_free(lids);
	lid_map_free(others);
	topo_unref(t);
	topo_unref(pod16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_stops_now_and_then_and_ends),
		cmocka_unit_test(who_hurries_ends_with_the_next_call),
		cmocka_unit_test(two_fibers_do_not_know_of_each_other),
		cmocka_unit_test(
			a_stack_that_overflows_ends_the_process_before_it_writes_elsewhere),
		cmocka_unit_test(routing_in_steps_gives_the_same_tables),
		cmocka_unit_test(what_is_abandoned_leaves_the_router_as_good_as_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
