/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Hundreds of packings are tried. */
/*
 * What is learned, by Gets alone, of how switches select blocks of their tables for adaptive
 * routing: each double packs its modifiers by a seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/sm_pair.h"

#define SEEDS	200
#define GARBAGE 50
#define ASKED	12 /* 8 leaves and the spines */

struct probed {
	struct reply reply;
	json_t *device; /* the first */
};

static struct probed probe(struct world *w, uint32_t sw)
{
	struct probed out = { .reply.count = 0 };

	adaptive_probe(w->fabric, sw, reply_cb, &out.reply);
	for (unsigned i = 0; i < 60 && !out.reply.count; i++)
		run_for(w, SECOND_US);
	assert_int_equal(out.reply.count, 1);
	out.device = json_array_get(out.reply.result, 0);
	return out;
}

static const char *result_of(const struct probed *probed)
{
	return json_string_value(json_object_get(probed->device, "result"));
}

/* The lowest bit of a field; -1 = it was not found. */
static int bit(const struct probed *probed, const char *field)
{
	const json_t *found = json_object_get(probed->device, field);

	return found ? (int)json_integer_value(json_object_get(found, "bit")) : -1;
}

/* Switches that agree about the entries' block, or do not. */
static unsigned lft_agree(const struct probed *probed, bool agree)
{
	const json_t *found = json_object_get(probed->device, "lft");
	unsigned right, all;

	assert_int_equal(
		sscanf(json_string_value(json_object_get(found, "agree")), "%u/%u", &right, &all),
		2);
	return agree ? right : all - right;
}

static uint16_t top_lid(const struct world *w)
{
	return fabric_lids(w->fabric)->top;
}

/* All switches have it on, as another manager left it; fmd, which is up, does not know. */
static void set_up(struct world *w, uint64_t seed, const struct double_ar_caps *caps)
{
	const struct double_packing packing = double_packing_draw(seed, top_lid(w));
	const struct double_ar_plan plan = double_ar_plan_draw(seed);

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		double_adaptive_able(w->hw, w->design->nodes[sw].guid, &packing, caps);
	double_adaptive_run(w->hw, &plan);
}

/* Twelve leaves with four hosts, and two links to each of four spines. */
static struct topo *design(void)
{
	static const unsigned m[] = { 4, 12 }, up[] = { 1, 4 }, links[] = { 1, 2 };
	char err[256];

	return generate_pgft(2, m, up, links, err, sizeof(err));
}

static void begin(struct world *w)
{
	world_init(w, design());
	run_for(w, 120 * SECOND_US); /* all switches were asked what they can */
	assert_true(is_up(w));
}

/* Fails unless what was found is what the double has, as far as the plan uses it. */
static void assert_found(const struct world *w, const struct probed *probed, uint64_t seed)
{
	const struct double_packing packing = double_packing_draw(seed, top_lid(w));
	const struct double_ar_plan plan = double_ar_plan_draw(seed);
	const char *subgroups = json_string_value(json_object_get(probed->device, "subgroups"));

	if (strcmp(result_of(probed), "found"))
		fail_msg("seed %u: %s", (unsigned)seed, json_dumps(probed->device, JSON_COMPACT));
	assert_int_equal(bit(probed, "lft"), packing.lft_block);
	assert_int_equal(bit(probed, "group"), packing.group_block);
	assert_int_equal(lft_agree(probed, false), 0);
	assert_string_equal(subgroups ? subgroups : "", plan.subgroups < 2 ? ""
							: packing.stacked  ? "stacked"
									   : "interleaved");
	assert_int_equal(bit(probed, "table"), plan.tables > 1 ? packing.group_table : -1);
	assert_int_equal(bit(probed, "lft_plft"), plan.plfts > 1 ? packing.lft_plft : -1);
	assert_int_equal(bit(probed, "plft"), plan.plfts > 1 ? packing.group_plft : -1);
}

static void each_of_200_packings_is_found_without_a_set(void **state)
{
	struct world w;
	uint64_t sets;

	begin(&w);
	sets = double_sent(w.hw, WIRE_SET, 0);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct probed probed;

		set_up(&w, seed, NULL);
		probed = probe(&w, TOPO_NONE);
		assert_found(&w, &probed, seed);
		json_decref(probed.reply.result);
	}
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), sets);
	world_fini(&w);
}

static void nothing_is_found_on_50_switches_that_answer_garbage(void **state)
{
	struct world w;

	begin(&w);
	for (uint64_t seed = 1; seed <= GARBAGE; seed++) {
		enum double_ar_answers how = 1 + seed % (DOUBLE_AR_ANSWERS - 1);
		uint32_t one = seed % fabric_topo(w.fabric)->nswitches;
		struct probed probed;

		set_up(&w, seed, NULL);
		for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
			double_adaptive_answers(w.hw, w.design->nodes[sw].guid, how);
		probed = probe(&w, seed % 2 ? TOPO_NONE : one);
		if (strcmp(result_of(&probed), "not found"))
			fail_msg("seed %u: %s", (unsigned)seed,
				 json_dumps(probed.device, JSON_COMPACT));
		json_decref(probed.reply.result);
	}
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_LFT), 0);
	world_fini(&w);
}

/* Of many switches some may answer anything. */
static void a_few_that_are_wrong_do_not_hide_the_others(void **state)
{
	struct probed probed;
	struct world w;

	begin(&w);
	set_up(&w, 11, NULL);
	double_adaptive_answers(w.hw, w.design->nodes[6].guid, DOUBLE_AR_GARBAGE);
	double_adaptive_answers(w.hw, w.design->nodes[5].guid, DOUBLE_AR_REFUSES);
	probed = probe(&w, TOPO_NONE);
	assert_string_equal(result_of(&probed), "found");
	assert_int_equal(bit(&probed, "lft"), double_packing_draw(11, top_lid(&w)).lft_block);
	assert_int_equal(lft_agree(&probed, false), 2);
	json_decref(probed.reply.result);
	world_fini(&w);
}

static void off_and_caps_that_cannot_be_are_shown(void **state)
{
	const struct double_ar_caps few = { .groups = 6, .subgroups = 1, .tables = 1 };
	struct probed probed;
	struct world w;

	begin(&w);
	probed = probe(&w, 0);
	assert_string_equal(result_of(&probed), "off");
	json_decref(probed.reply.result);
	set_up(&w, 4, &few);
	probed = probe(&w, TOPO_NONE);
	assert_int_equal(bit(&probed, "lft"), double_packing_draw(4, top_lid(&w)).lft_block);
	json_decref(probed.reply.result);
	set_up(&w, 4, NULL);
	probed = probe(&w, TOPO_NONE);
	assert_found(&w, &probed, 4);
	json_decref(probed.reply.result);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		double_node(w.hw, w.design->nodes[sw].guid)->adaptive[2] = 0x1f; /* sub-groups */
	probed = probe(&w, TOPO_NONE);
	assert_string_equal(result_of(&probed), "found earlier");
	assert_int_equal(json_integer_value(json_object_get(probed.device, "odd")), ASKED);
	json_decref(probed.reply.result);
	world_fini(&w);
}

/* Half of the leaves were updated: the first ones, and more than are asked of a kind of device. */
static void each_firmware_has_a_packing_of_its_own(void **state)
{
	const struct double_ar_plan plan = { .subgroups = 1 };
	struct world w;
	json_t *rows;

	begin(&w);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		struct dnode *node = double_node(w.hw, w.design->nodes[sw].guid);
		const struct double_packing packing =
			double_packing_draw(sw < 9 ? 31 : 32, top_lid(&w));

		node->firmware[0] = sw < 9 ? 31 : 35;
		double_adaptive_able(w.hw, node->guid, &packing, NULL);
	}
	double_adaptive_run(w.hw, &plan);
	rows = probe(&w, TOPO_NONE).reply.result;
	assert_int_equal(json_array_size(rows), 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct probed kind = { .device = json_array_get(rows, i) };

		assert_string_equal(result_of(&kind), "found");
		assert_int_equal(bit(&kind, "lft"),
				 double_packing_draw(31 + i, top_lid(&w)).lft_block);
		assert_int_equal(lft_agree(&kind, false), 0);
		assert_string_equal(json_string_value(json_object_get(kind.device, "firmware")),
				    i ? "35.0.0000" : "31.0.0000");
	}
	json_decref(rows);
	world_fini(&w);
}

static void what_was_found_of_a_firmware_that_is_not_known_is_not_kept(void **state)
{
	struct probed probed;
	struct world w;
	char *rows;

	begin(&w);
	set_up(&w, 21, NULL);
	w.hw->vs_key = 5; /* their agents do not answer without it */
	probed = probe(&w, TOPO_NONE);
	assert_string_equal(result_of(&probed), "no firmware");
	assert_int_equal(bit(&probed, "lft"), double_packing_draw(21, top_lid(&w)).lft_block);
	json_decref(probed.reply.result);
	rows = state_lines(&w, "ar_packing");
	assert_string_equal(rows, "");
	free(rows);
	world_fini(&w);
}

/* It is another manager's to turn off, and a probe's result is the observer's own. */
static void an_observer_leaves_it_on_and_keeps_what_it_learned(void **state)
{
	struct probed probed;
	struct pair p;
	char *rows;

	pair_init(&p, design(), 0, 0);
	start_fabric(&p.a);
	run_for(&p.a, 120 * SECOND_US);
	assert_true(is_master_and_up(&p.a));
	set_up(&p.a, 21, NULL);
	p.b.conf.sm.observe = true;
	pair_start_b(&p);
	run_for(&p.a, 30 * SECOND_US);
	probed = probe(&p.b, TOPO_NONE);
	assert_found(&p.a, &probed, 21);
	json_decref(probed.reply.result);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, 0), 0);
	assert_int_equal(mad_stats(p.b.mad).refused, 0);
	assert_int_equal(count_alerts(&p.b, "adaptive-routing", ""), 0);
	for (uint32_t sw = 0; sw < p.a.design->nswitches; sw++)
		assert_true(wire_adaptive_on(double_adaptive(p.a.hw, p.a.design->nodes[sw].guid)));
	rows = state_lines(&p.b, "ar_packing");
	assert_int_equal(strncmp(rows, "0x", 2), 0);
	free(rows);
	pair_fini(&p);
}

static void what_was_found_outlives_a_restart_and_a_row_that_cannot_be_is_refused(void **state)
{
#define ROW(firmware, bits)                                                                        \
	"0xd2f0 31.1.0001 {\"device\":\"0xd2f0\",\"firmware\":\"" firmware "\"," bits "}\n"
	static const char *const wrong[] = {
		/* The private LFT's byte lies over the block. */
		ROW("31.1.0001",
		    "\"lft\":{\"bit\":8},\"lft_plft\":{\"bit\":8},\"group\":{\"bit\":0}"),
		ROW("31.1.0001", "\"lft\":{\"bit\":8}"),
		ROW("31.1.0001", "\"lft\":{\"bit\":\"8\"},\"group\":{\"bit\":0}"),
		ROW("31.1.0001", "\"lft\":{\"bit\":4294967296},\"group\":{\"bit\":0}"),
		ROW("31.1.0001",
		    "\"lft\":{\"bit\":8},\"group\":{\"bit\":0},\"subgroups\":\"both\""),
		ROW("31.1.0002", "\"lft\":{\"bit\":8},\"group\":{\"bit\":0}"),
	};
#undef ROW
	struct probed probed;
	struct world w;
	char *rows;

	begin(&w);
	set_up(&w, 21, NULL);
	probed = probe(&w, TOPO_NONE);
	assert_string_equal(result_of(&probed), "found");
	json_decref(probed.reply.result);
	rows = state_lines(&w, "ar_packing");
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	probed = probe(&w, TOPO_NONE); /* fmd has turned it off */
	assert_string_equal(result_of(&probed), "found earlier");
	json_decref(probed.reply.result);
	assert_true(restart_with(&w, "ar_packing", rows));
	free(rows);
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++)
		restart_with_corrupted(&w, "ar_packing", wrong[i]);
	world_fini(&w);
}

static void who_probes_hears_of_a_change_of_role_and_not_of_the_end(void **state)
{
	struct reply answered = { 0 };
	struct world w;

	begin(&w);
	set_up(&w, 21, NULL);
	adaptive_probe(w.fabric, TOPO_NONE, reply_cb, &answered);
	stop_fabric(&w);
	assert_int_equal(answered.count, 0);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	adaptive_probe(w.fabric, TOPO_NONE, reply_cb, &answered);
	adaptive_module.role(fabric_room(w.fabric, &adaptive_module), FABRIC_ROLE_MASTER,
			     FABRIC_ROLE_LEFT);
	assert_int_equal(answered.count, 1);
	assert_string_equal(answered.error, FABRIC_ROLE_CHANGED);
	world_fini(&w);
	assert_int_equal(answered.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_of_200_packings_is_found_without_a_set),
		cmocka_unit_test(nothing_is_found_on_50_switches_that_answer_garbage),
		cmocka_unit_test(a_few_that_are_wrong_do_not_hide_the_others),
		cmocka_unit_test(off_and_caps_that_cannot_be_are_shown),
		cmocka_unit_test(each_firmware_has_a_packing_of_its_own),
		cmocka_unit_test(what_was_found_of_a_firmware_that_is_not_known_is_not_kept),
		cmocka_unit_test(an_observer_leaves_it_on_and_keeps_what_it_learned),
		cmocka_unit_test(
			what_was_found_outlives_a_restart_and_a_row_that_cannot_be_is_refused),
		cmocka_unit_test(who_probes_hears_of_a_change_of_role_and_not_of_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
