/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tier: long. A forger sends traps by the thousand. */
/*
 * Any host with a port can send a trap about any other port: which traps fmd accepts, and what a
 * forger can cause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/trap_world.h"

#define LIAR	   30 /* hosts */
#define OTHER_LIAR 31
#define MS_US	   1000

static const struct topo_node *host_node(const struct world *w, uint32_t host)
{
	return &w->design->nodes[w->design->nswitches + host];
}

/* Each switch is named once by the host. */
static void forge_round(struct world *w, uint32_t host, uint16_t trap, uint64_t *tid)
{
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++) {
		const struct wire_notice notice =
			switch_notice(w, w->design->nodes[sw].guid, trap, 1);

		send_trap(w, host_node(w, host)->guid, 1, &notice, ++*tid);
	}
}

/*
 * Simulated milliseconds from the cut of a cable to its being published; forged traps come before
 * and meanwhile, if any.
 */
static unsigned detection_ms(bool forged, unsigned warm_ms)
{
	uint64_t tid = 1000;
	struct world w;
	unsigned ms = 0;

	world_init(&w, small_tree());
	run_for(&w, 5 * SECOND_US);
	for (unsigned i = 0; forged && i < warm_ms; i += 20) {
		forge_round(&w, LIAR, 128, &tid);
		run_for(&w, 10 * MS_US);
		forge_round(&w, OTHER_LIAR, 128, &tid);
		run_for(&w, 10 * MS_US);
	}
	double_cut(w.hw, far_leaf_guid(&w), uplink_of(w.design, far_leaf(&w)));
	for (; ms < 30000 && status_number(&w, NULL, "links_down") < 1; ms++) {
		if (forged && ms % 20 == 0)
			forge_round(&w, LIAR, 128, &tid);
		run_for(&w, MS_US);
	}
	world_fini(&w);
	return ms;
}

static void forged_traps_do_not_suppress_true_ones(void **state)
{
	unsigned quiet = detection_ms(false, 0);

	assert_true(quiet < 100);
	assert_true(detection_ms(true, 10000) <= quiet + quiet / 10 + 1);
}

#define FLOOD_S	  600
#define FORGED_US 20000 /* between two of one host: 50 a second */

struct flood {
	struct world *w;
	struct loop_timer *timer;
	uint64_t sent;
};

/* Two hosts by turns, each time about another switch. */
static void forge_cb(void *arg)
{
	struct flood *flood = arg;
	struct world *w = flood->w;
	uint32_t host = flood->sent % 2 ? LIAR : OTHER_LIAR;
	uint32_t sw = (uint32_t)(flood->sent++ / 2 % w->design->nswitches);
	const struct wire_notice notice = switch_notice(w, w->design->nodes[sw].guid, 128, 1);

	send_trap(w, host_node(w, host)->guid, 1, &notice, 1000 + flood->sent);
	loop_timer_set(flood->timer, FORGED_US / 2);
}

/*
 * Of a cable that is cut now; simulated microseconds, to a quarter of a millisecond. It is whole
 * and quiet again behind it.
 */
static uint64_t detected_after_us(struct world *w)
{
	unsigned uplink = uplink_of(w->design, far_leaf(w));
	uint64_t us = 0;

	double_cut(w->hw, far_leaf_guid(w), uplink);
	for (; us < 30 * SECOND_US && status_number(w, NULL, "links_down") < 1; us += 250)
		run_for(w, 250);
	run_for(w, SECOND_US);
	double_join(w->hw, far_leaf_guid(w), uplink);
	run_for(w, 9 * SECOND_US);
	assert_int_equal(status_number(w, NULL, "links_down"), 0);
	return us;
}

static void ten_minutes_of_forged_traps_leave_detection_as_fast_as_ever(void **state)
{
	struct flood flood = { 0 };
	uint64_t usual, middle, end;
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 5 * SECOND_US);
	usual = detected_after_us(&w);
	flood = (struct flood){ .w = &w, .timer = loop_timer_new(w.loop, forge_cb, &flood) };
	loop_timer_set(flood.timer, 0);
	run_for(&w, FLOOD_S / 2 * SECOND_US);
	middle = detected_after_us(&w);
	run_for(&w, (FLOOD_S / 2 - 10) * SECOND_US);
	end = detected_after_us(&w);
	assert_true(flood.sent >= FLOOD_S * 100);
	assert_in_range(usual, 1, 100 * MS_US);
	assert_in_range(middle, 1, usual + usual / 10);
	assert_in_range(end, 1, usual + usual / 10);
	assert_int_equal(status_number(&w, "traps", "forged"), flood.sent);
	assert_true(count_logged(&w, "forged-traps", "") <=
		    2 * (FLOOD_S / 60 + 2)); /* no flood of events */
	loop_timer_free(flood.timer);
	world_fini(&w);
}

static void the_forger_is_named_and_not_the_switch_he_named(void **state)
{
	struct world w;
	uint64_t tid = 1;
	double smps;

	world_init(&w, small_tree());
	run_for(&w, SECOND_US);
	smps = status_number(&w, NULL, "smps_sent");
	for (unsigned i = 0; i < 100; i++) {
		forge_round(&w, LIAR, 128, &tid);
		run_for(&w, 20 * MS_US);
	}
	assert_int_equal(count_logged(&w, "forged-traps", host_node(&w, LIAR)->desc), 1);
	assert_int_equal(count_logged(&w, "forged-traps", ""), 1);
	assert_true(status_number(&w, "traps", "forged") >= 100);
	assert_true(status_number(&w, NULL, "smps_sent") - smps <=
		    2 * w.design->nswitches); /* polls */
	world_fini(&w);
}

/* 129 about a port of a switch, 144 and 145 about another host. */
static void traps_that_name_another_port_are_rejected(void **state)
{
	static const uint16_t traps[] = { 129, 130, 131, 144, 145 };
	struct world w;
	uint64_t tid = 1;

	world_init(&w, small_tree());
	for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++)
		forge_round(&w, LIAR, traps[i], &tid);
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, "traps", "forged"), 5 * w.design->nswitches);
	assert_int_equal(status_number(&w, "traps", "errors"), 5 * w.design->nswitches);
	assert_int_equal(count_logged(&w, "port-errors", ""), 0);
	world_fini(&w);
}

/* ---- What subscribers hear ------------------------------------------------------------------- */

struct subscriber {
	struct world *w;
	guid_t node;
	unsigned reports;
};

static void report_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct subscriber *s = arg;
	const struct io_addr to = { .lid = lid_of(s->w, 0), .qp = 1 };
	uint8_t answer[WIRE_MAD_SIZE];

	if (mad[3] != WIRE_REPORT)
		return;
	s->reports++;
	memcpy(answer, mad, sizeof(answer));
	answer[3] = WIRE_REPORT_RESP;
	double_inject(s->w->hw, s->node, 1, &to, answer, sizeof(answer), report_cb, s);
}

static void subscribe_to_all(struct subscriber *s)
{
	const struct io_addr to = { .lid = lid_of(s->w, 0), .qp = 1 };
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_SET,
					 .tid = 1,
					 .attr_id = WIRE_SA_INFORM_INFO };
	const struct wire_inform_info info = { .lid_begin = 0xffff,
					       .generic = true,
					       .subscribe = 1,
					       .type = 0xffff,
					       .trap = 0xffff,
					       .producer = 0xffffff };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	wire_inform_info_encode(&info, mad + WIRE_SA_HEADER);
	double_inject(s->w->hw, s->node, 1, &to, mad, sizeof(mad), report_cb, s);
	run_for(s->w, SECOND_US);
	s->reports = 0;
}

static void subscribers_hear_nothing_of_forged_traps(void **state)
{
	struct wire_notice notice;
	struct subscriber s;
	struct world w;

	world_init(&w, small_tree());
	s = (struct subscriber){ .w = &w, .node = host_node(&w, 1)->guid };
	subscribe_to_all(&s);
	notice = (struct wire_notice){ .generic = true, .type = 3, .producer = 4, .trap = 65 };
	for (notice.trap = 64; notice.trap <= 67; notice.trap++)
		send_trap(&w, host_node(&w, LIAR)->guid, 1, &notice, notice.trap);
	notice = switch_notice(&w, far_leaf_guid(&w), 128, 0);
	send_trap(&w, host_node(&w, LIAR)->guid, 1, &notice, 99);
	run_for(&w, SECOND_US);
	assert_int_equal(s.reports, 0);
	send_trap(&w, far_leaf_guid(&w), 0, &notice, 100); /* the switch itself */
	run_for(&w, SECOND_US);
	assert_int_equal(s.reports, 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forged_traps_do_not_suppress_true_ones),
		cmocka_unit_test(ten_minutes_of_forged_traps_leave_detection_as_fast_as_ever),
		cmocka_unit_test(the_forger_is_named_and_not_the_switch_he_named),
		cmocka_unit_test(traps_that_name_another_port_are_rejected),
		cmocka_unit_test(subscribers_hear_nothing_of_forged_traps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
