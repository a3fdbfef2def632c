/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which error correction ports use: who is asked, how often, and what becomes of bad answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/lib/sweep_bench.h"
#include "fm/perf/fec_modes.h"

#define SECOND 1000000ull

struct asker {
	struct bench b;
	struct fec_modes *modes;
	struct loop_timer *stop;
	unsigned ends; /* of links, that is ports that are asked */
	bool may;
};

static bool may_cb(void *arg)
{
	return ((struct asker *)arg)->may;
}

static void stop_cb(void *arg)
{
	loop_stop(((struct asker *)arg)->b.loop);
}

static void run_for(struct asker *a, uint64_t us)
{
	loop_timer_set(a->stop, us);
	loop_run(a->b.loop);
}

static void begin(struct asker *a)
{
	*a = (struct asker){ .may = true };
	bench_init(&a->b, design_pgft2(), NULL);
	bench_discover(&a->b);
	bench_bringup(&a->b);
	bench_poll(&a->b);
	bench_refresh(&a->b, &a->b.found->nodes[0].guid, 1);
	a->ends = 2 * a->b.found->nlinks;
	a->modes = fec_modes_new(a->b.loop, a->b.mad, sweep_inventory(a->b.sweep), may_cb, a);
	a->stop = loop_timer_new(a->b.loop, stop_cb, a);
}

static void end(struct asker *a)
{
	loop_timer_free(a->stop);
	fec_modes_free(a->modes);
	bench_fini(&a->b);
}

static void ask(struct asker *a)
{
	fec_modes_ask(a->modes);
	run_for(a, 10 * SECOND);
}

static const struct fec_mode *mode_of(const struct asker *a, guid_t guid, unsigned num)
{
	uint8_t nports;
	const struct fec_mode *modes = fec_modes_of(a->modes, guid, &nports);

	return modes && num <= nports ? &modes[num] : NULL;
}

static unsigned count_known(const struct asker *a)
{
	unsigned known = 0;

	for (uint32_t p = 0; p < a->b.found->nports; p++) {
		const struct topo_port *port = &a->b.found->ports[p];
		const struct fec_mode *mode =
			mode_of(a, a->b.found->nodes[port->node].guid, port->num);

		known += mode && mode->state == FEC_KNOWN;
	}
	return known;
}

static uint64_t sent(const struct asker *a)
{
	return gets(&a->b, WIRE_PORT_INFO_EXT);
}

static void each_end_of_a_link_is_asked_once(void **state)
{
	struct asker a;
	struct bench_cable cable;
	const struct fec_mode *mode;

	begin(&a);
	cable = bench_cable(a.b.found, 0);
	double_set_fec_mode(a.b.d, cable.a, cable.port_a, 3);
	ask(&a);
	assert_int_equal(count_known(&a), a.ends);
	assert_int_equal(sent(&a), a.ends);
	mode = mode_of(&a, cable.a, cable.port_a);
	assert_int_equal(mode->active, 3);
	assert_int_equal(mode->supported, 1 << 0 | 1 << 4);
	assert_int_equal(mode->enabled, 1 << 4);
	assert_int_equal(mode_of(&a, cable.b, cable.port_b)->active, 4);
	ask(&a);
	ask(&a);
	assert_int_equal(sent(&a), a.ends);
	end(&a);
}

static void a_link_that_fell_is_asked_again_at_both_ends(void **state)
{
	struct asker a;
	struct bench_cable cable;

	begin(&a);
	cable = bench_cable(a.b.found, 0);
	ask(&a);
	double_set_fec_mode(a.b.d, cable.b, cable.port_b, 2);
	fec_modes_forget(a.modes, cable.a, (uint8_t)cable.port_a);
	assert_int_equal(count_known(&a), a.ends - 2);
	ask(&a);
	assert_int_equal(sent(&a), a.ends + 2);
	assert_int_equal(mode_of(&a, cable.b, cable.port_b)->active, 2);
	end(&a);
}

/* Nobody said that it fell: it runs at another width now. */
static void a_link_that_is_another_is_asked_again(void **state)
{
	struct asker a;
	struct bench_cable cable;

	begin(&a);
	cable = bench_cable(a.b.found, 0);
	ask(&a);
	inv(&a.b, cable.a)->ports[cable.port_a].lanes = 2;
	ask(&a);
	assert_int_equal(sent(&a), a.ends + 1);
	end(&a);
}

static void links_that_are_not_active_are_not_asked(void **state)
{
	struct asker a;
	struct bench_cable cable;

	begin(&a);
	cable = bench_cable(a.b.found, 0);
	inv(&a.b, cable.a)->ports[cable.port_a].state = TOPO_ARMED;
	ask(&a);
	assert_int_equal(sent(&a), a.ends - 1);
	end(&a);
}

static void forget_claim(struct inv_node *node)
{
	for (unsigned num = 0; num <= node->nports; num++) {
		struct wire_port_info info;

		if (!node->ports[num].known)
			continue;
		wire_port_info_decode(node->ports[num].info, &info);
		info.capmask2 &= (uint16_t)~WIRE_CAP2_PORT_INFO_EXT;
		wire_port_info_encode(&info, node->ports[num].info);
	}
}

static void who_does_not_claim_the_attribute_costs_nothing(void **state)
{
	struct asker a;

	begin(&a);
	for (uint32_t n = 0; n < a.b.found->nnodes; n++)
		forget_claim(inv(&a.b, a.b.found->nodes[n].guid));
	ask(&a);
	assert_int_equal(sent(&a), 0);
	assert_int_equal(fec_modes_counts(a.modes).asked, 0);
	end(&a);
}

/* The first port that is asked alone is the first with a link. */
static void one_request_is_lost_on_who_refuses_or_answers_nonsense(void **state)
{
	static const enum double_fec how[] = { DOUBLE_FEC_REFUSED, DOUBLE_FEC_WRONG,
					       DOUBLE_FEC_NONE };

	for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		struct ask_counts counts;
		const struct topo_node *leaf;
		unsigned cables = 0;
		struct asker a;

		begin(&a);
		leaf = &a.b.found->nodes[0];
		for (unsigned num = 1; num <= leaf->nports; num++) {
			cables += topo_port(a.b.found, 0, num)->peer != TOPO_NONE;
			double_set_fec_mode(a.b.d, leaf->guid, num, how[i]);
		}
		assert_true(cables > 1);
		ask(&a);
		ask(&a);
		counts = fec_modes_counts(a.modes);
		assert_int_equal(sent(&a), a.ends - cables + 1);
		assert_int_equal(count_known(&a), a.ends - cables);
		assert_int_equal(counts.refused, how[i] != DOUBLE_FEC_WRONG);
		assert_int_equal(counts.malformed, how[i] == DOUBLE_FEC_WRONG);
		assert_int_equal(counts.read, a.ends - cables);
		end(&a);
	}
}

/* Nonsense behind a good answer: what was good stays. */
static void what_was_told_stays_when_a_later_answer_is_nonsense(void **state)
{
	struct asker a;
	struct bench_cable cable;

	begin(&a);
	cable = bench_cable(a.b.found, 0);
	double_set_fec_mode(a.b.d, cable.a, cable.port_a, DOUBLE_FEC_WRONG);
	ask(&a);
	assert_int_equal(fec_modes_counts(a.modes).malformed, 1);
	assert_int_equal(mode_of(&a, cable.a, cable.port_a)->state, FEC_UNKNOWN);
	assert_true(count_known(&a) >= a.ends - inv(&a.b, cable.a)->nports);
	end(&a);
}

static void who_is_silent_is_tried_three_times(void **state)
{
	struct asker a;
	guid_t leaf;
	uint64_t before;

	begin(&a);
	leaf = a.b.found->nodes[0].guid;
	double_set_mute(a.b.d, leaf, WIRE_GET, WIRE_PORT_INFO_EXT);
	ask(&a);
	assert_int_equal(fec_modes_counts(a.modes).unanswered, 1);
	run_for(&a, 300 * SECOND);
	assert_int_equal(fec_modes_counts(a.modes).unanswered, 3);
	before = sent(&a);
	ask(&a);
	run_for(&a, 300 * SECOND);
	assert_int_equal(sent(&a), before);
	double_set_mute(a.b.d, leaf, 0, 0);
	fec_modes_forget(a.modes, leaf, 1);
	ask(&a);
	assert_int_equal(count_known(&a), a.ends);
	end(&a);
}

static void nobody_is_asked_while_there_is_other_work(void **state)
{
	struct asker a;

	begin(&a);
	a.may = false;
	ask(&a);
	assert_int_equal(sent(&a), 0);
	a.may = true;
	run_for(&a, 10 * SECOND);
	assert_int_equal(count_known(&a), a.ends);
	end(&a);
}

static void many_ports_are_asked_at_a_steady_rate(void **state)
{
	unsigned m[] = { 24, 24 }, w[] = { 1, 12 }, p[] = { 1, 2 };
	struct asker a = { .may = true };
	char err[128];

	bench_init(&a.b, generate_pgft(2, m, w, p, err, sizeof(err)), NULL);
	bench_discover(&a.b);
	bench_bringup(&a.b);
	bench_poll(&a.b);
	bench_refresh(&a.b, &a.b.found->nodes[0].guid, 1);
	a.ends = 2 * a.b.found->nlinks;
	a.modes = fec_modes_new(a.b.loop, a.b.mad, sweep_inventory(a.b.sweep), may_cb, &a);
	a.stop = loop_timer_new(a.b.loop, stop_cb, &a);
	fec_modes_ask(a.modes);
	run_for(&a, SECOND / 2);
	assert_in_range(sent(&a), 100, 1000);
	run_for(&a, SECOND / 2);
	assert_in_range(sent(&a), 1000, 2000);
	assert_true(a.ends > 2000);
	run_for(&a, 10 * SECOND);
	assert_int_equal(sent(&a), a.ends);
	assert_int_equal(count_known(&a), a.ends);
	end(&a);
}

static void a_node_that_went_is_forgotten(void **state)
{
	struct asker a;
	uint8_t nports;
	struct inv_node *leaf;

	begin(&a);
	leaf = inv(&a.b, a.b.found->nodes[1].guid);
	ask(&a);
	assert_non_null(fec_modes_of(a.modes, leaf->guid, &nports));
	inventory_remove(sweep_inventory(a.b.sweep), leaf);
	ask(&a);
	assert_null(fec_modes_of(a.modes, leaf->guid, &nports));
	end(&a);
}

/* The answer that is on its way is of the link that fell. */
static void an_answer_of_a_link_that_fell_meanwhile_is_not_taken(void **state)
{
	struct asker a;
	guid_t leaf;
	uint8_t num;

	begin(&a);
	leaf = a.b.found->nodes[0].guid;
	double_set_time(a.b.d, leaf, 150000);
	fec_modes_ask(a.modes);
	run_for(&a, 100000);
	for (num = 1; mode_of(&a, leaf, num)->state != FEC_ASKED; num++)
		assert_true(num < a.b.found->nodes[0].nports);
	fec_modes_forget(a.modes, leaf, num);
	inv(&a.b, leaf)->ports[num].state = TOPO_ARMED;
	run_for(&a, 10 * SECOND);
	assert_int_equal(mode_of(&a, leaf, num)->state, FEC_UNASKED);
	end(&a);
}

/* Another device has come by that GUID, with fewer ports, while others are being asked. */
static void a_node_of_another_size_is_forgotten_and_asked_anew(void **state)
{
	struct asker a;
	struct inv_node *leaf;
	uint8_t nports;

	begin(&a);
	leaf = inv(&a.b, a.b.found->nodes[0].guid);
	ask(&a);
	leaf->nports--;
	ask(&a);
	assert_non_null(fec_modes_of(a.modes, leaf->guid, &nports));
	assert_int_equal(nports, leaf->nports);
	leaf->nports++;
	end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_of_a_link_is_asked_once),
		cmocka_unit_test(a_link_that_fell_is_asked_again_at_both_ends),
		cmocka_unit_test(a_link_that_is_another_is_asked_again),
		cmocka_unit_test(links_that_are_not_active_are_not_asked),
		cmocka_unit_test(who_does_not_claim_the_attribute_costs_nothing),
		cmocka_unit_test(one_request_is_lost_on_who_refuses_or_answers_nonsense),
		cmocka_unit_test(what_was_told_stays_when_a_later_answer_is_nonsense),
		cmocka_unit_test(who_is_silent_is_tried_three_times),
		cmocka_unit_test(nobody_is_asked_while_there_is_other_work),
		cmocka_unit_test(many_ports_are_asked_at_a_steady_rate),
		cmocka_unit_test(a_node_that_went_is_forgotten),
		cmocka_unit_test(an_answer_of_a_link_that_fell_meanwhile_is_not_taken),
		cmocka_unit_test(a_node_of_another_size_is_forgotten_and_asked_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
