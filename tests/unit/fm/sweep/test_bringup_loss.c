/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Bring-up where MADs get lost: a port whose tries were lost is not one that refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/loop/log.h"
#include "tests/lib/sweep_bench.h"

#define SECOND_US 1000000ull
#define SEEDS	  12
#define PER_MILLE 100 /* of each crossing of a cable: up to 12 of these there and back */

struct lossy { /* a host whose answers get lost from that state on */
	struct bench *b;
	guid_t host;
	enum topo_state from;
};

static guid_t last_host(const struct bench *b)
{
	return b->design->nodes[b->design->nnodes - 1].guid;
}

static void lose_everywhere(struct bench *b, unsigned per_mille)
{
	const struct topo *t = b->design;

	for (uint32_t i = 0; i < t->nports; i++)
		if (t->ports[i].link_up)
			double_set_loss(b->d, t->nodes[t->ports[i].node].guid, t->ports[i].num,
					per_mille);
}

/* Simulated time, behind the first apply, until no link is left that is not Active. */
static uint64_t retried_for_us(struct bench *b)
{
	uint64_t began = loop_now_us(b->loop);

	while (b->up.retry_at_us && loop_now_us(b->loop) - began < 100 * SECOND_US) {
		bench_wait(b);
		bench_retry(b);
	}
	return loop_now_us(b->loop) - began;
}

static void ports_whose_tries_were_lost_are_active_within_seconds(void **state)
{
	unsigned given_up = 0;
	uint64_t longest = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct double_conf conf = { .seed = seed };
		struct bench b;
		uint64_t us;

		bench_init(&b, design_pgft3(), &conf);
		bench_discover(&b);
		lose_everywhere(&b, PER_MILLE);
		bench_bringup(&b);
		given_up += b.up.links_failed;
		us = retried_for_us(&b);
		longest = us > longest ? us : longest;
		assert_int_equal(double_ports_not_active(b.d), 0);
		assert_int_equal(b.up.links_failed, 0);
		bench_fini(&b);
	}
	print_message("%u seeds, %u links: the last was Active after %.1f s\n", SEEDS, given_up,
		      longest / 1e6);
	assert_true(given_up >= SEEDS); /* else nothing was tried here */
	assert_true(longest < 15 * SECOND_US);
}

static void begin_to_lose_answers(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct lossy *lossy = arg;

	if (node == lossy->host && attr_id == WIRE_PORT_INFO &&
	    double_link_state(lossy->b->d, node, 1) == lossy->from)
		double_set_direction_fault(lossy->b->d, node, 1, DOUBLE_LOSE, 1000, 0);
}

static void begin_with_lost_answers(struct bench *b, struct lossy *lossy, enum topo_state from)
{
	bench_init(b, design_pgft2(), NULL);
	bench_discover(b);
	*lossy = (struct lossy){ .b = b, .host = last_host(b), .from = from };
	double_on_set(b->d, begin_to_lose_answers, lossy);
	bench_bringup(b);
	assert_int_equal(b->up.links_failed, 1);
	assert_int_equal(double_link_state(b->d, lossy->host, 1), from);
	double_on_set(b->d, NULL, NULL);
}

/* A port that is Active by the first packet that it gets refuses to be Armed. */
static void port_that_moved_on_unheard_is_read_when_it_refuses(void **state)
{
	struct lossy lossy;
	struct bench b;

	begin_with_lost_answers(&b, &lossy, TOPO_ARMED);
	double_activate(b.d, lossy.host, 1);
	double_set_direction_fault(b.d, lossy.host, 1, DOUBLE_LOSE, 0, 0);
	for (unsigned tries = 0; tries < 2 && b.up.retry_at_us; tries++) {
		bench_wait(&b);
		bench_retry(&b);
	}
	assert_int_equal(b.up.links_failed, 0);
	assert_int_equal(double_ports_not_active(b.d), 0);
	assert_int_equal(inv(&b, lossy.host)->ports[1].state, TOPO_ACTIVE);
	bench_fini(&b);
}

/* It refused in the first round, and the read behind that was lost: it would refuse again. */
static void port_that_refused_and_whose_read_was_lost_is_read_until_it_answers(void **state)
{
	struct bench b;
	guid_t host;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	host = last_host(&b);
	double_activate(b.d, host, 1);
	double_set_mute(b.d, host, WIRE_GET, WIRE_PORT_INFO);
	bench_bringup(&b);
	assert_int_equal(b.up.links_failed, 1);
	for (unsigned tries = 0; tries < 3; tries++) {
		bench_wait(&b);
		double_sent_reset(b.d);
		bench_retry(&b);
		assert_int_equal(double_sent(b.d, WIRE_GET, WIRE_PORT_INFO), 1);
		assert_int_equal(double_sent(b.d, WIRE_SET, WIRE_PORT_INFO), 0);
	}
	double_set_mute(b.d, host, 0, 0);
	bench_wait(&b);
	bench_retry(&b);
	assert_int_equal(b.up.links_failed, 0);
	assert_int_equal(inv(&b, host)->ports[1].state, TOPO_ACTIVE);
	bench_fini(&b);
}

/* A look finds another state: what was given up is tried at its time all the same. */
static void port_whose_new_state_a_sweep_finds_is_not_forgotten(void **state)
{
	struct lossy lossy;
	struct bench b;

	begin_with_lost_answers(&b, &lossy, TOPO_ARMED);
	double_set_direction_fault(b.d, lossy.host, 1, DOUBLE_LOSE, 0, 0);
	bench_refresh(&b, &lossy.host, 1);
	assert_int_equal(inv(&b, lossy.host)->ports[1].state, TOPO_ARMED);
	for (unsigned tries = 0; tries < 2 && b.up.retry_at_us; tries++) {
		bench_wait(&b);
		bench_retry(&b);
	}
	assert_int_equal(b.up.links_failed, 0);
	assert_int_equal(double_ports_not_active(b.d), 0);
	bench_fini(&b);
}

/* One packet a try all the same. */
static void port_that_is_not_heard_is_tried_some_times_a_second_at_first(void **state)
{
	struct bench b;
	uint64_t began;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	double_set_direction_fault(b.d, last_host(&b), 1, DOUBLE_LOSE, 1000, 0);
	bench_bringup(&b);
	assert_int_equal(b.up.links_failed, 1);
	began = loop_now_us(b.loop);
	for (unsigned tries = 0; tries < 12; tries++) {
		bench_wait(&b);
		double_sent_reset(b.d);
		bench_retry(&b);
		assert_true(double_sent(b.d, 0, 0) <= 1);
	}
	assert_true(loop_now_us(b.loop) - began < 8 * SECOND_US);
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_whose_tries_were_lost_are_active_within_seconds),
		cmocka_unit_test(
			port_that_refused_and_whose_read_was_lost_is_read_until_it_answers),
		cmocka_unit_test(port_that_moved_on_unheard_is_read_when_it_refuses),
		cmocka_unit_test(port_whose_new_state_a_sweep_finds_is_not_forgotten),
		cmocka_unit_test(port_that_is_not_heard_is_tried_some_times_a_second_at_first),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
