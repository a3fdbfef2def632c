/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sweep on a fabric double that misbehaves: silent, late and double nodes, dying ways, nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include "fm/loop/log.h"
#include "tests/lib/sweep_bench.h"

static void silent_host_is_kept_and_delays_no_other(void **state)
{
	struct bench b;
	guid_t host, leaf;

	bench_init(&b, design_pgft2(), NULL);
	host = b.design->nodes[b.design->nswitches + 7].guid;
	leaf = b.design->nodes[bench_leaf_port(b.design, b.design->nswitches + 7)->node].guid;
	double_set_silent(b.d, host, true);
	bench_discover(&b); /* never met: only the port is known */
	assert_int_equal(b.result.silent, 1);
	assert_int_equal(b.found->nnodes, b.design->nnodes - 1);

	bench_poll(&b);
	assert_int_equal(b.result.nchanged, 0);
	double_set_silent(b.d, host, false);
	bench_poll(&b);
	assert_int_equal(b.result.nchanged, 1);
	assert_int_equal(b.changed[0], leaf);
	bench_refresh(&b, b.changed, 1);
	assert_int_equal(b.result.silent, 0);
	assert_same_fabric(b.design, b.found);

	double_set_silent(b.d, host, true);
	bench_discover(&b); /* met before: it stays, with its cable */
	assert_int_equal(b.result.silent, 1);
	assert_int_equal(b.result.gone, 0);
	assert_true(inv(&b, host)->silent);
	assert_same_fabric(b.design, b.found);
	double_set_silent(b.d, host, false);
	bench_discover(&b);
	assert_int_equal(b.result.silent, 0);
	bench_fini(&b);
}

static void what_is_behind_a_silent_switch_is_left_as_it_was(void **state)
{
	struct bench b;
	guid_t leaf;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	leaf = b.design->nodes[bench_leaf_port(b.design, b.design->nnodes - 1)->node].guid;
	double_set_silent(b.d, leaf, true);
	bench_poll(&b);
	assert_int_equal(b.result.nchanged, 1);
	assert_int_equal(b.changed[0], leaf);
	bench_discover(&b);
	assert_int_equal(b.result.silent, 1);
	assert_int_equal(b.result.gone, 0);
	assert_same_fabric(b.design, b.found);
	bench_poll(&b); /* known by now */
	assert_int_equal(b.result.nchanged, 0);
	double_set_silent(b.d, leaf, false);
	bench_poll(&b);
	assert_int_equal(b.result.nchanged, 1);
	bench_refresh(&b, b.changed, 1);
	assert_int_equal(b.result.silent, 0);
	bench_fini(&b);
}

static void local_port_that_does_not_answer_is_an_error(void **state)
{
	struct bench b;

	bench_init(&b, design_pgft2(), NULL);
	double_set_silent(b.d, design_sm(b.design)->guid, true);
	bench_discover(&b);
	assert_int_equal(b.result.error, -EIO);
	bench_fini(&b);
}

static void node_that_answers_late_is_found(void **state)
{
	struct bench b;

	bench_init(&b, design_pgft2(), NULL);
	double_set_fault(b.d, b.design->nodes[2].guid, DOUBLE_DELAY, 1000, 120000);
	bench_discover(&b);
	assert_int_equal(b.result.silent, 0);
	assert_same_fabric(b.design, b.found);
	bench_fini(&b);
}

static void guid_met_twice_is_named_and_the_first_stays(void **state)
{
	struct bench b;
	guid_t first, twin;

	bench_init(&b, design_pgft2(), NULL);
	first = b.design->nodes[b.design->nswitches + 1].guid;
	twin = b.design->nodes[b.design->nnodes - 1].guid;
	double_set_guid(b.d, twin, first);
	bench_discover(&b);
	assert_int_equal(b.result.duplicates, 1);
	assert_int_equal(b.result.silent, 0);
	assert_int_equal(b.found->nnodes, b.design->nnodes - 1);
	assert_int_equal(b.found->nlinks, b.design->nlinks - 1);
	assert_non_null(inv(&b, first)->ports[1].peer);
	bench_poll(&b); /* nothing new */
	assert_int_equal(b.result.nchanged, 0);
	double_set_guid(b.d, twin, twin);
	bench_discover(&b);
	assert_int_equal(b.result.duplicates, 0);
	assert_same_fabric(b.design, b.found);
	bench_fini(&b);
}

static void switch_with_the_guid_of_another_is_named(void **state)
{
	struct bench b;

	bench_init(&b, design_pgft3(), NULL);
	double_set_guid(b.d, b.design->nodes[1].guid, b.design->nodes[0].guid);
	bench_discover(&b);
	assert_true(b.result.duplicates > 0);
	bench_fini(&b);
}

struct cutter {
	struct bench *b;
	struct bench_cable cable;
};

static void cut_cb(void *arg)
{
	struct cutter *c = arg;

	double_cut(c->b->d, c->cable.a, c->cable.port_a);
}

/* Each cable between switches in turn dies at each of several moments of the first discovery. */
static void path_that_dies_in_the_middle_is_gone_around(void **state)
{
	uint32_t from, delay;

	for (from = 0, delay = 50; delay < 700; delay += 50) {
		struct bench b;
		struct cutter cutter = { .b = &b };
		struct loop_timer *timer;

		bench_init(&b, design_pgft3(), NULL);
		cutter.cable = bench_cable(b.design, from);
		from = cutter.cable.next;
		timer = loop_timer_new(b.loop, cut_cb, &cutter);
		loop_timer_set(timer, delay);
		bench_discover(&b);
		assert_int_equal(b.result.error, 0);
		assert_int_equal(b.found->nnodes, b.design->nnodes);
		bench_poll(&b);
		bench_refresh(&b, b.changed, b.result.nchanged);
		assert_int_equal(b.result.silent, 0);
		assert_int_equal(b.result.gone, 0);
		/* Known as down if it was seen before, else not at all. */
		assert_int_equal(b.found->nlinks - b.found->nlinks_down, b.design->nlinks - 1);
		loop_timer_free(timer);
		bench_fini(&b);
	}
}

static void all_cables_lose(struct bench *b, unsigned per_mille)
{
	for (uint32_t i = 0; i < b->design->nports; i++)
		if (b->design->ports[i].link_up)
			double_set_loss(b->d, b->design->nodes[b->design->ports[i].node].guid,
					b->design->ports[i].num, per_mille);
}

static void assert_all_known(const struct bench *b)
{
	struct inventory *inv = sweep_inventory(b->sweep);

	for (struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		for (unsigned p = 0; p <= n->nports; p++)
			assert_true(!n->ports[p].link_up || n->ports[p].known);
}

static void lossy_cables_hide_nothing(void **state)
{
	struct double_conf conf = { .seed = 7 };
	struct bench b;

	bench_init(&b, design_pgft3(), &conf);
	all_cables_lose(&b, 20);
	bench_discover(&b);
	assert_true(double_drops(b.d)->lost > 20);
	assert_int_equal(b.result.silent, 0);
	assert_same_fabric(b.design, b.found);
	bench_fini(&b);
}

/* A port whose PortInfo never came must not stay unknown for ever. */
static void what_was_lost_in_a_sweep_is_asked_for_after_the_next_poll(void **state)
{
	unsigned asked = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct double_conf conf = { .seed = seed };
		struct bench b;

		bench_init(&b, design_pgft3(), &conf);
		all_cables_lose(&b, 250);
		bench_discover(&b);
		if (b.result.error) { /* the SM's own port was lost: nothing to see here */
			bench_fini(&b);
			continue;
		}
		all_cables_lose(&b, 0);
		for (unsigned round = 0; round < 8; round++) {
			bench_poll(&b);
			if (!b.result.nchanged)
				break;
			asked++;
			bench_refresh(&b, b.changed, b.result.nchanged);
		}
		assert_same_fabric(b.design, b.found);
		assert_all_known(&b);
		bench_fini(&b);
	}
	assert_in_range(asked, 10, 200);
}

/* The NodeInfo of one node becomes nonsense. */
struct corrupter {
	guid_t guid;
	void (*corrupt)(struct wire_node_info *info);
};

static void corrupt_answer(void *arg, const struct wire_mad *header, uint8_t data[64])
{
	struct corrupter *s = arg;
	struct wire_node_info info;

	if (header->attr_id != WIRE_NODE_INFO)
		return;
	wire_node_info_decode(data, &info);
	if (info.node_guid != s->guid)
		return;
	s->corrupt(&info);
	wire_node_info_encode(&info, data);
}

static void corrupt_type(struct wire_node_info *info)
{
	info->type = 0;
}
static void corrupt_nports(struct wire_node_info *info)
{
	info->nports = 255;
}
static void corrupt_local_port(struct wire_node_info *info)
{
	info->local_port = (uint8_t)(info->nports + 1);
}
static void corrupt_guid(struct wire_node_info *info)
{
	info->node_guid = 0;
}

static void node_info_that_makes_no_sense_is_dropped(void **state)
{
	static void (*const corruptions[])(struct wire_node_info *) = {
		corrupt_type, corrupt_nports, corrupt_local_port, corrupt_guid
	};
	unsigned i;

	for (i = 0; i < 4; i++) {
		struct bench b;
		struct corrupter corrupter = { .corrupt = corruptions[i] };
		struct bench_tamper tamper;

		bench_init(&b, design_pgft2(), NULL);
		corrupter.guid = b.design->nodes[b.design->nnodes - 1].guid;
		bench_tamper(&b, &tamper, corrupt_answer, &corrupter);
		bench_discover(&b);
		assert_int_equal(b.result.error, 0);
		assert_int_equal(b.found->nnodes, b.design->nnodes - 1);
		assert_int_equal(b.found->nlinks, b.design->nlinks - 1);
		bench_fini(&b);
	}
}

static void answers_doubled_cut_and_mislabelled_do_no_harm(void **state)
{
	struct double_conf conf = { .seed = 3 };
	struct bench b;

	bench_init(&b, design_pgft2(), &conf);
	double_set_fault(b.d, 0, DOUBLE_DUPLICATE, 100, 0);
	double_set_fault(b.d, 0, DOUBLE_TRUNCATE, 20, 60);
	double_set_fault(b.d, 0, DOUBLE_WRONG_ATTR, 20, 0);
	bench_discover(&b);
	assert_int_equal(b.result.silent, 0);
	assert_same_fabric(b.design, b.found);
	bench_fini(&b);
}

static const struct CMUnitTest tests_list[] = {
	cmocka_unit_test(silent_host_is_kept_and_delays_no_other),
	cmocka_unit_test(what_is_behind_a_silent_switch_is_left_as_it_was),
	cmocka_unit_test(local_port_that_does_not_answer_is_an_error),
	cmocka_unit_test(node_that_answers_late_is_found),
	cmocka_unit_test(guid_met_twice_is_named_and_the_first_stays),
	cmocka_unit_test(switch_with_the_guid_of_another_is_named),
	cmocka_unit_test(path_that_dies_in_the_middle_is_gone_around),
	cmocka_unit_test(lossy_cables_hide_nothing),
	cmocka_unit_test(what_was_lost_in_a_sweep_is_asked_for_after_the_next_poll),
	cmocka_unit_test(node_info_that_makes_no_sense_is_dropped),
	cmocka_unit_test(answers_doubled_cut_and_mislabelled_do_no_harm),
};

int main(void)
{
	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests_list, NULL, NULL);
}
