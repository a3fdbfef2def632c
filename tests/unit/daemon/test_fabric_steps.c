/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What happens between two steps of an update. The loop's pace is one step at a time with a gap
 * behind it, in which the double delivers; a timer of the test's own looks which step is due and
 * does something there, once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/fabric/pipe.h"
#include "fm/fabric/view.h"
#include "fm/mad/wire_sa.h"
#include "tests/lib/fabric_world.h"

#define GAP_US	200
#define LOOK_US 50

static const struct loop_pace one_step = { .slice_us = 0, .gap_us = GAP_US };

/* The first step follows at once upon what begins it. */
static const char *const update_steps[] = { "snapshot",	  "changes", "lids",	  "room",   "route",
					    "proof-base", "proof",   "judgement", "publish" };
static const char *const settle_steps[] = { "settle-snapshot", "settle-compare", "settle-show",
					    "settle-answer", "settle-tidy" };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct between {
	struct world w;
	struct loop_timer *timer;
	const char *step; /* NULL: it was met */
	void (*act)(struct between *b);
	struct answer answer;
	unsigned answered; /* when that was looked at */
	unsigned heard;	   /* answers of the SA */
	uint8_t block[TABLES_BLOCK];
};

static const char *step_due(const struct fabric *f)
{
	const char *update = fabric_update_step(f);

	return update ? update : fabric_settle_step(f);
}

static void look_cb(void *arg)
{
	struct between *b = arg;
	const char *due = step_due(b->w.fabric);

	if (b->step && due && strcmp(due, b->step) == 0) {
		b->step = NULL;
		b->act(b);
	}
	if (b->step && !loop_timer_armed(b->timer))
		loop_timer_set(b->timer, LOOK_US);
}

static void begin(struct between *b, struct topo *design)
{
	*b = (struct between){ 0 };
	world_init(&b->w, design);
	loop_set_pace(b->w.loop, one_step);
	b->timer = loop_timer_new(b->w.loop, look_cb, b);
}

static void end(struct between *b)
{
	loop_timer_free(b->timer);
	world_fini(&b->w);
}

/* The next time that the step is due. */
static void when_due(struct between *b, const char *step, void (*act)(struct between *b))
{
	b->step = step;
	b->act = act;
	loop_timer_set(b->timer, 0);
}

static void stop_there(struct between *b)
{
	loop_stop(b->w.loop);
}

/* Up to that step of what goes on, or begins within ten seconds. */
static void run_to(struct between *b, const char *step)
{
	when_due(b, step, stop_there);
	run_for(&b->w, 10 * SECOND_US);
	assert_null(b->step);
}

static guid_t switch_guid(const struct between *b, uint32_t sw)
{
	return b->w.design->nodes[sw].guid;
}

static uint32_t first_leaf(const struct between *b)
{
	for (uint32_t sw = 0; sw < b->w.design->nswitches; sw++)
		if (b->w.design->nodes[sw].level == 0)
			return sw;
	fail();
	return 0;
}

static void cut(struct between *b, uint32_t leaf)
{
	double_cut(b->w.hw, switch_guid(b, leaf), uplink_of(b->w.design, leaf));
}

static void join(struct between *b, uint32_t leaf)
{
	double_join(b->w.hw, switch_guid(b, leaf), uplink_of(b->w.design, leaf));
}

static void assert_settled(struct between *b)
{
	assert_true(is_up(&b->w));
	assert_int_equal(status_number(&b->w, "proof", "unreachable"), 0);
	assert_hardware_holds_the_tables(&b->w);
	assert_hardware_delivers(&b->w, 7);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static void cut_first_leaf(struct between *b)
{
	cut(b, first_leaf(b));
}

static void a_fault_between_any_two_steps_is_answered(void **state)
{
	struct between b;

	begin(&b, small_tree());
	for (unsigned i = 0; i < COUNT(update_steps) + COUNT(settle_steps); i++) {
		const char *step = i < COUNT(update_steps) ? update_steps[i]
							   : settle_steps[i - COUNT(update_steps)];

		when_due(&b, step, cut_first_leaf);
		cut(&b, far_leaf(&b.w));
		run_for(&b.w, SECOND_US);
		assert_null(b.step);
		assert_settled(&b);
		assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, 2);
		join(&b, far_leaf(&b.w));
		join(&b, first_leaf(&b));
		run_for(&b.w, SECOND_US);
		assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, 0);
	}
	end(&b);
}

/* Nothing is published yet that could say whose trap it is. */
static void a_fault_in_the_first_update_is_answered(void **state)
{
	struct between b;

	begin(&b, small_tree());
	b.w.conf.sweep.interval_ms = 3600000; /* no poll helps */
	for (unsigned i = 0; i < COUNT(update_steps); i++) {
		stop_fabric(&b.w);
		start_fabric(&b.w);
		when_due(&b, update_steps[i], cut_first_leaf);
		run_for(&b.w, 2 * SECOND_US);
		assert_null(b.step);
		assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, 1);
		assert_settled(&b);
		join(&b, first_leaf(&b));
		run_for(&b.w, SECOND_US);
	}
	end(&b);
}

/*
 * Settled is twice after a restart: when all is written, and when all that was remembered is read.
 */
static void cut_while_reading(struct between *b)
{
	assert_true(status_number(&b->w, NULL, "lft_blocks_unread") > 0);
	assert_false(is_up(&b->w));
	cut_first_leaf(b);
}

static void a_fault_between_settling_and_the_end_of_reading_is_answered(void **state)
{
	struct between b;

	begin(&b, small_tree());
	b.w.conf.routing.lmc = 4; /* so that there is much to read */
	stop_fabric(&b.w);
	start_fabric(&b.w);
	run_for(&b.w, 2 * SECOND_US);
	double_set_fault(b.w.hw, 0, DOUBLE_DELAY, 1000, 1000);
	for (unsigned i = 0; i < COUNT(settle_steps); i++) {
		stop_fabric(&b.w);
		start_fabric(&b.w);
		when_due(&b, settle_steps[i], cut_while_reading);
		run_for(&b.w, 2 * SECOND_US);
		assert_null(b.step);
		assert_settled(&b);
		assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, 1);
		assert_int_equal(status_number(&b.w, NULL, "lft_blocks_unread"), 0);
		join(&b, first_leaf(&b));
		run_for(&b.w, 2 * SECOND_US);
		assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, 0);
	}
	end(&b);
}

/* ---- What others see meanwhile --------------------------------------------------------------- */

static void what_is_published_stays_whole_until_the_next_is(void **state)
{
	struct between b;
	const struct topo *before;

	begin(&b, small_tree());
	before = fabric_topo(b.w.fabric);
	cut(&b, far_leaf(&b.w));
	for (unsigned i = 0; i < COUNT(update_steps); i++) {
		run_to(&b, update_steps[i]);
		assert_ptr_equal(fabric_topo(b.w.fabric), before);
		assert_hardware_holds_the_tables(&b.w); /* of before */
		assert_true(fabric_check(b.w.fabric, &(struct check_report){ 0 }));
		assert_true(is_up(&b.w));
	}
	run_for(&b.w, SECOND_US);
	assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, 1);
	assert_settled(&b);
	end(&b);
}

static void hear_block(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct between *b = arg;

	if (mad[1] != WIRE_SA)
		return;
	assert_int_equal(mad[4] << 8 | mad[5], 0); /* no error */
	memcpy(b->block, mad + WIRE_SA_HEADER + 8, TABLES_BLOCK);
	b->heard++;
}

/* A host asks the SA for the first block of a switch's table. */
static void ask_block(struct between *b, uint32_t sw)
{
	const struct topo *t = fabric_topo(b->w.fabric);
	uint16_t lid = fabric_lids(b->w.fabric)->lid_of_port[t->nodes[sw].port0];
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET,
					 .tid = 99,
					 .attr_id = WIRE_SA_LFT };
	const struct io_addr to = { .lid = fabric_view(b->w.fabric).sm_lid, .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	mad[55] = 3; /* by LID and block */
	mad[WIRE_SA_HEADER] = (uint8_t)(lid >> 8);
	mad[WIRE_SA_HEADER + 1] = (uint8_t)lid;
	b->heard = 0;
	double_inject(b->w.hw, b->w.design->nodes[b->w.design->nswitches + 1].guid, 1, &to, mad,
		      sizeof(mad), hear_block, b);
}

static void the_sa_answers_of_what_is_published_all_along(void **state)
{
	struct between b;
	uint8_t old[TABLES_BLOCK];
	uint32_t sw;

	begin(&b, small_tree());
	sw = topo_find(fabric_topo(b.w.fabric), switch_guid(&b, far_leaf(&b.w)));
	memcpy(old, tables_row(fabric_tables(b.w.fabric), sw), TABLES_BLOCK);
	cut(&b, far_leaf(&b.w));
	for (unsigned i = 0; i + 1 < COUNT(update_steps); i++) {
		run_to(&b, update_steps[i]);
		ask_block(&b, sw);
		run_to(&b, update_steps[i + 1]);
		assert_int_equal(b.heard, 1);
		assert_memory_equal(b.block, old, TABLES_BLOCK);
	}
	run_for(&b.w, SECOND_US);
	ask_block(&b, sw);
	run_for(&b.w, SECOND_US);
	assert_memory_equal(b.block, tables_row(fabric_tables(b.w.fabric), sw), TABLES_BLOCK);
	assert_memory_not_equal(b.block, old, TABLES_BLOCK);
	end(&b);
}

static void corrupt_tables(struct between *b)
{
	struct tables *tables = fabric_update_tables(b->w.fabric);

	for (uint32_t sw = 0; sw < tables->nswitches; sw++)
		tables_row(tables, sw)[1] = 1;
}

static void refused_tables_leave_the_old_ones_in_force(void **state)
{
	struct between b;
	const struct topo *before;
	json_t *status;

	begin(&b, small_tree());
	before = fabric_topo(b.w.fabric);
	when_due(&b, "proof-base", corrupt_tables);
	fabric_reroute(b.w.fabric, operation_cb, &b.answer);
	run_for(&b.w, SECOND_US / 2);
	assert_int_equal(b.answer.count, 1);
	assert_true(b.answer.failed);
	status = fabric_status(b.w.fabric);
	assert_string_equal(json_string_value(json_object_get(status, "state")), "refused");
	json_decref(status);
	assert_ptr_equal(fabric_topo(b.w.fabric), before);
	assert_hardware_holds_the_tables(&b.w);
	cut(&b, far_leaf(&b.w)); /* the next ones are sound */
	run_for(&b.w, SECOND_US);
	assert_settled(&b);
	end(&b);
}

/* ---- Re-balancing ---------------------------------------------------------------------------- */

static void assert_tables(const struct between *b, const struct tables *expected)
{
	const struct tables *now = fabric_tables(b->w.fabric);

	assert_int_equal(now->stride, expected->stride);
	assert_memory_equal(now->lft, expected->lft, (size_t)now->nswitches * now->stride);
}

/* The fault is answered; what re-balancing then asks for is refused, and would be again. */
static void cut_and_refuse_to_balance(struct between *b, uint32_t leaf, struct tables *tables)
{
	cut(b, leaf);
	run_for(&b->w, SECOND_US);
	assert_settled(b);
	tables_copy(tables, fabric_tables(b->w.fabric));
	when_due(b, "proof-base", corrupt_tables);
	run_for(&b->w, 30 * SECOND_US);
	assert_null(b->step);
	assert_settled(b);
	assert_tables(b, tables);
}

static void a_refused_rebalancing_leaves_what_was_in_force(void **state)
{
	struct between b;
	struct tables at_once = { 0 };

	begin(&b, pod(2));
	cut_and_refuse_to_balance(&b, first_leaf(&b), &at_once);
	assert_int_equal(count_logged(&b.w, "refused", ""), 1);
	assert_int_equal(count_logged(&b.w, "rebalanced", ""), 0);
	cut(&b, far_leaf(&b.w));
	run_for(&b.w, 10 * SECOND_US);
	assert_int_equal(count_logged(&b.w, "rebalanced", ""), 1);
	assert_settled(&b);
	tables_fini(&at_once);
	end(&b);
}

static void a_refused_rebalancing_leaves_the_one_before_in_force(void **state)
{
	struct between b;
	struct tables with_first = { 0 };
	double overrides;

	begin(&b, pod(2));
	cut(&b, first_leaf(&b));
	run_for(&b.w, 10 * SECOND_US);
	assert_int_equal(count_logged(&b.w, "rebalanced", ""), 1);
	overrides = status_number(&b.w, "rebalance", "overrides");
	assert_true(overrides > 0);
	cut_and_refuse_to_balance(&b, far_leaf(&b.w), &with_first);
	assert_int_equal(count_logged(&b.w, "refused", ""), 1);
	assert_int_equal(status_number(&b.w, "rebalance", "overrides"), overrides);
	join(&b, far_leaf(&b.w));
	join(&b, first_leaf(&b));
	run_for(&b.w, 10 * SECOND_US);
	assert_int_equal(status_number(&b.w, "rebalance", "overrides"), 0);
	assert_settled(&b);
	tables_fini(&with_first);
	end(&b);
}

/* ---- Acts and configurations ----------------------------------------------------------------- */

static void note_answers(struct between *b)
{
	b->answered = b->answer.count;
}

/* The step before this one is met again in the next update alone. */
static void ask_reroute(struct between *b)
{
	const char *due = step_due(b->w.fabric);
	unsigned i = 0;

	while (strcmp(update_steps[i], due) != 0)
		i++;
	fabric_reroute(b->w.fabric, operation_cb, &b->answer);
	when_due(b, update_steps[(i + COUNT(update_steps) - 1) % COUNT(update_steps)],
		 note_answers);
}

static void a_command_given_meanwhile_is_answered_by_the_next_update(void **state)
{
	struct between b;

	begin(&b, small_tree());
	for (unsigned i = 0; i < COUNT(update_steps); i++) {
		b.answer.count = 0;
		b.answered = 1;
		when_due(&b, update_steps[i], ask_reroute);
		fabric_sweep(b.w.fabric, NULL, NULL);
		run_for(&b.w, SECOND_US);
		assert_null(b.step);
		assert_int_equal(b.answered, 0);
		assert_int_equal(b.answer.count, 1);
		assert_false(b.answer.failed);
		assert_true(is_up(&b.w));
	}
	end(&b);
}

static void ask_while_settling(struct between *b)
{
	fabric_reroute(b->w.fabric, operation_cb, &b->answer);
	when_due(b, "publish", note_answers);
}

static void a_command_given_while_an_older_one_settles_waits_for_its_own_update(void **state)
{
	struct between b;

	begin(&b, small_tree());
	for (unsigned i = 0; i < COUNT(settle_steps); i++) {
		b.answer.count = 0;
		b.answered = 1;
		when_due(&b, settle_steps[i], ask_while_settling);
		fabric_sweep(b.w.fabric, NULL, NULL);
		run_for(&b.w, SECOND_US);
		assert_null(b.step);
		assert_int_equal(b.answered, 0);
		assert_int_equal(b.answer.count, 1);
		assert_true(is_up(&b.w));
	}
	end(&b);
}

static void reload(struct between *b)
{
	b->w.conf.ports.packet_life_time =
		(uint8_t)(b->w.conf.ports.packet_life_time == 12 ? 13 : 12);
	b->w.conf.routing.engine = b->w.conf.routing.engine == CONF_UPDN ? CONF_FTREE : CONF_UPDN;
	fabric_configure(b->w.fabric, &b->w.conf);
}

static void assert_tables_are_of_the_configured_engine(struct between *b)
{
	struct tables fresh = { 0 };
	const struct tables *tables = fabric_tables(b->w.fabric);

	try_present(b->w.fabric, &fresh);
	for (uint32_t sw = 0; sw < tables->nswitches; sw++)
		assert_memory_equal(tables_row(tables, sw), tables_row(&fresh, sw),
				    tables->top + 1u);
	tables_fini(&fresh);
}

static void a_reload_between_any_two_steps_is_obeyed(void **state)
{
	struct between b;

	begin(&b, small_tree());
	for (unsigned i = 0; i < COUNT(update_steps); i++) {
		when_due(&b, update_steps[i], reload);
		fabric_sweep(b.w.fabric, NULL, NULL);
		run_for(&b.w, SECOND_US);
		assert_null(b.step);
		assert_settled(&b);
		assert_tables_are_of_the_configured_engine(&b);
		assert_int_equal(double_switch_info(b.w.hw, switch_guid(&b, 0))->life_time,
				 b.w.conf.ports.packet_life_time);
	}
	end(&b);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void the_end_may_come_between_any_two_steps(void **state)
{
	struct between b;

	begin(&b, small_tree());
	fabric_sweep(b.w.fabric, NULL, NULL);
	for (unsigned i = 0; i < COUNT(update_steps) + COUNT(settle_steps); i++) {
		run_to(&b, i < COUNT(update_steps) ? update_steps[i]
						   : settle_steps[i - COUNT(update_steps)]);
		stop_fabric(&b.w);
		start_fabric(&b.w);
	}
	run_for(&b.w, 2 * SECOND_US);
	assert_settled(&b);
	/* .. and while what was published is being planned. */
	for (unsigned us = 0; us < 4000; us += 150) {
		cut(&b, far_leaf(&b.w));
		run_to(&b, "publish");
		run_for(&b.w, us);
		stop_fabric(&b.w);
		join(&b, far_leaf(&b.w));
		start_fabric(&b.w);
		run_for(&b.w, SECOND_US);
		assert_settled(&b);
	}
	end(&b);
}

/* Faults and repairs at any time, whatever is under way. */
static void random_faults_at_random_moments_end_programmed(void **state)
{
	struct between b;
	uint64_t seed = 20261;
	bool down[2] = { false, false };

	begin(&b, small_tree());
	for (unsigned i = 0; i < 200; i++) {
		unsigned which = damage_random(&seed) % 2;
		uint32_t leaf = which ? far_leaf(&b.w) : first_leaf(&b);

		(down[which] ? join : cut)(&b, leaf);
		down[which] = !down[which];
		if (damage_random(&seed) % 8 == 0)
			fabric_reroute(b.w.fabric, NULL, NULL);
		run_for(&b.w, damage_random(&seed) % 8000);
	}
	run_for(&b.w, 12 * SECOND_US);
	assert_settled(&b);
	assert_int_equal(fabric_topo(b.w.fabric)->nlinks_down, down[0] + down[1]);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_between_any_two_steps_is_answered),
		cmocka_unit_test(a_fault_in_the_first_update_is_answered),
		cmocka_unit_test(a_fault_between_settling_and_the_end_of_reading_is_answered),
		cmocka_unit_test(what_is_published_stays_whole_until_the_next_is),
		cmocka_unit_test(the_sa_answers_of_what_is_published_all_along),
		cmocka_unit_test(refused_tables_leave_the_old_ones_in_force),
		cmocka_unit_test(a_refused_rebalancing_leaves_what_was_in_force),
		cmocka_unit_test(a_refused_rebalancing_leaves_the_one_before_in_force),
		cmocka_unit_test(a_command_given_meanwhile_is_answered_by_the_next_update),
		cmocka_unit_test(
			a_command_given_while_an_older_one_settles_waits_for_its_own_update),
		cmocka_unit_test(a_reload_between_any_two_steps_is_obeyed),
		cmocka_unit_test(the_end_may_come_between_any_two_steps),
		cmocka_unit_test(random_faults_at_random_moments_end_programmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
