/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The kernel's side of a umad file, on the fabric double: agents, TIDs, who gets what, time-outs,
 * IsSM, devices that go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "tests/lib/kernel_world.h"

/* ---- Requests -------------------------------------------------------------------------------- */

static void an_answer_comes_back_under_the_agents_number(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int first, agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &end, H1);
	first = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(first, 0);
	assert_int_equal(agent, 1);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 0xabcd1234, 100, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 1);
	assert_int_equal(end.head.agent_id, agent);
	assert_int_equal(end.head.status, 0);
	assert_int_equal(end.head.length, sizeof(end.head) + WIRE_MAD_SIZE);
	assert_int_equal(end.len, WIRE_MAD_SIZE);
	assert_int_equal(end.mad[3], WIRE_GET_RESP);
	assert_int_equal(get32(end.mad + 12), 0xabcd1234);
	assert_int_not_equal(get32(end.mad + 8), 0);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void what_nobody_answers_is_repeated_and_handed_back(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	uint64_t begun;
	int agent;

	kernel_world_init(&w);
	double_set_silent(w.base.d, LEAF1, true);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	begun = loop_now_us(w.base.loop);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 50, 2), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 1);
	assert_int_equal(end.head.status, ETIMEDOUT);
	assert_int_equal(end.len, KERNEL_MAD_HEADER);
	assert_int_equal(get32(end.mad + 12), 7);
	assert_int_equal(end.mad[3], WIRE_GET);
	assert_int_equal(loop_now_us(w.base.loop) - begun, 3 * 50000);
	assert_int_equal(double_drops(w.base.d)->silent, 3);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void an_answer_that_comes_after_that_is_nobodys(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int agent;

	kernel_world_init(&w);
	double_set_fault(w.base.d, LEAF1, DOUBLE_DELAY, 1000, 60000);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 50, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 1);
	assert_int_equal(end.head.status, ETIMEDOUT);
	assert_int_equal(kernel_counts(w.k)->unmatched, 1);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void one_that_awaits_no_answer_gets_none(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 0, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 0);
	assert_int_equal(kernel_counts(w.k)->unmatched, 1);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void a_tid_is_taken_until_its_answer_is_there(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int agent, other;

	kernel_world_init(&w);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	other = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 0), 0);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 0), -EINVAL);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 8, 100, 0), 0);
	assert_int_equal(kernel_ask_node(&end, other, 1, 7, 100, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 3);
	assert_int_equal(end.finished, 3);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 4);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void files_of_one_port_do_not_get_each_others_answers(void **state)
{
	struct kernel_world w;
	struct kernel_end a, b;
	int agent_a, agent_b;

	kernel_world_init(&w);
	kernel_end_open(&w, &a, H1);
	kernel_end_open(&w, &b, H1);
	agent_a = kernel_end_register(&a, WIRE_SMI_DR, 0, 0);
	agent_b = kernel_end_register(&b, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&a, agent_a, 1, 7, 100, 0), 0);
	assert_int_equal(kernel_ask_node(&b, agent_b, 0, 7, 100, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(a.got, 1);
	assert_int_equal(b.got, 1);
	assert_int_equal(a.mad[7], 1); /* hop count */
	assert_int_equal(b.mad[7], 0);
	kernel_end_close(&a);
	kernel_end_close(&b);
	kernel_world_fini(&w);
}

static void what_is_asked_of_the_own_port_needs_no_link(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int agent;

	kernel_world_init(&w);
	double_cut(w.base.d, H1, 1);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&end, agent, 0, 7, 100, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 1);
	assert_int_equal(end.head.status, 0);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void an_agent_that_goes_takes_its_requests_along(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 3), 0);
	assert_int_equal(kfile_unregister(end.f, (unsigned)agent), 0);
	assert_int_equal(kfile_unregister(end.f, (unsigned)agent), -EINVAL);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 3), -EINVAL);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 0);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

/* ---- Agents ---------------------------------------------------------------------------------- */

static void methods_of_a_class_are_one_agents(void **state)
{
	struct kernel_world w;
	struct kernel_end a, b;

	kernel_world_init(&w);
	kernel_end_open(&w, &a, H1);
	kernel_end_open(&w, &b, H1);
	assert_int_equal(kernel_end_register(&a, WIRE_SA, 1u << WIRE_GET | 1u << WIRE_SET, 1), 0);
	assert_int_equal(kernel_end_register(&b, WIRE_SA, 1u << WIRE_GET, 1), -EINVAL);
	assert_int_equal(kernel_end_register(&b, WIRE_SA, 1u << WIRE_REPORT, 1), 0);
	assert_int_equal(kernel_end_register(&b, WIRE_PERF, 1u << WIRE_GET, 0), 1);
	assert_int_equal(kernel_end_register(&b, WIRE_SA, 0, 1), 2); /* it only asks */
	kernel_end_close(&a);
	assert_int_equal(kernel_end_register(&b, WIRE_SA, 1u << WIRE_GET, 1), 3);
	kernel_end_close(&b);
	kernel_world_fini(&w);
}

static void agents_that_make_no_sense_are_refused(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	const struct kernel_reg wrong[] = {
		{ .mgmt_class = WIRE_SMI_DR, .class_version = 1, .qpn = 1 },
		{ .mgmt_class = WIRE_SA, .class_version = 2, .qpn = 0 },
		{ .mgmt_class = WIRE_SMI_LID, .class_version = 1, .rmpp_version = 1 },
		{ .mgmt_class = WIRE_SA, .class_version = 2, .qpn = 1, .rmpp_version = 2 },
		{ .mgmt_class = 0x30, .class_version = 1, .qpn = 1 }, /* no OUI */
		{ .mgmt_class = 0x90, .class_version = 1, .qpn = 1 },
		{ .mgmt_class = WIRE_SA, .class_version = 2, .qpn = 2 },
	};

	kernel_world_init(&w);
	kernel_end_open(&w, &end, H1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(kfile_register(end.f, &wrong[i]), -EINVAL);
	for (int i = 0; i < KERNEL_AGENTS; i++)
		assert_int_equal(kernel_end_register(&end, WIRE_SA, 0, 0), i);
	assert_int_equal(kernel_end_register(&end, WIRE_SA, 0, 0), -ENOMEM);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

/* ---- Requests of others ---------------------------------------------------------------------- */

static void a_request_reaches_the_agent_registered_for_it(void **state)
{
	struct kernel_world w;
	struct kernel_end sa, host;
	int agent, other;

	kernel_world_init(&w);
	kernel_end_open(&w, &sa, H1);
	kernel_end_open(&w, &host, H2);
	agent = kernel_end_register(&sa, WIRE_SA, 1u << WIRE_GET, 1);
	other = kernel_end_register(&host, WIRE_SA, 0, 1);
	sa.answers = true;
	assert_int_equal(kernel_ask_sa(&host, other, LID_H1, WIRE_GET, 9, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(sa.got, 1);
	assert_int_equal(sa.head.agent_id, agent);
	assert_int_equal(ntohs(sa.head.addr.lid), LID_H2);
	assert_int_equal(ntohl(sa.head.addr.qpn), 1);
	assert_int_equal(host.got, 1);
	assert_int_equal(host.head.status, 0);
	assert_int_equal(host.mad[3], WIRE_GET_RESP);
	assert_int_equal(ntohs(host.head.addr.lid), LID_H1);
	kernel_end_close(&sa);
	kernel_end_close(&host);
	kernel_world_fini(&w);
}

static void a_received_mad_has_the_index_of_its_p_key_in_the_receivers_table(void **state)
{
	struct kernel_world w;
	struct kernel_end sa, host;
	uint16_t *keys;
	int other;

	kernel_world_init(&w);
	keys = double_change_pkeys(w.base.d, H1, 1);
	keys[0] = 0x8001;
	keys[1] = 0;
	keys[2] = 0x7fff;
	kernel_end_open(&w, &sa, H1);
	kernel_end_open(&w, &host, H2);
	kernel_end_register(&sa, WIRE_SA, 1u << WIRE_GET, 1);
	other = kernel_end_register(&host, WIRE_SA, 0, 1);
	sa.answers = true;
	assert_int_equal(kernel_ask_sa(&host, other, LID_H1, WIRE_GET, 9, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(sa.got, 1);
	assert_int_equal(sa.head.addr.pkey_index, 2);
	assert_int_equal(host.got, 1);
	assert_int_equal(host.head.status, 0);
	assert_int_equal(host.head.addr.pkey_index, 0);
	kernel_end_close(&sa);
	kernel_end_close(&host);
	kernel_world_fini(&w);
}

static void a_request_for_no_agent_is_answered_all_the_same(void **state)
{
	struct kernel_world w;
	struct kernel_end none, host;
	int agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &none, H1);
	kernel_end_open(&w, &host, H2);
	agent = kernel_end_register(&host, WIRE_SA, 0, 1);
	assert_int_equal(kernel_ask_sa(&host, agent, LID_H1, WIRE_GET, 9, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(host.got, 1);
	assert_int_equal(host.head.status, 0);
	assert_int_equal(host.mad[3], WIRE_GET_RESP);
	assert_int_equal(host.mad[5], 0x0c);
	assert_int_equal(kernel_ask_sa(&host, agent, LID_H1, WIRE_GET_TABLE, 9, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(host.got, 2);
	assert_int_equal(host.head.status, ETIMEDOUT);
	assert_int_equal(none.got, 0);
	kernel_end_close(&none);
	kernel_end_close(&host);
	kernel_world_fini(&w);
}

/* Linux has each port to itself from when the driver is there. */
static void so_it_is_where_nothing_runs(void **state)
{
	struct kernel_world w;
	struct kernel_end host;
	int agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &host, H1);
	agent = kernel_end_register(&host, WIRE_SA, 0, 1);
	assert_int_equal(kernel_ask_sa(&host, agent, LID_H2, WIRE_GET, 9, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(host.got, 1);
	assert_int_equal(host.head.status, 0);
	assert_int_equal(host.mad[5], 0x0c);
	kernel_device(w.k, H2, false);
	assert_int_equal(kernel_ask_sa(&host, agent, LID_H2, WIRE_GET, 9, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(host.got, 2);
	assert_int_equal(host.head.status, ETIMEDOUT);
	kernel_end_close(&host);
	kernel_world_fini(&w);
}

static void sm_info_is_asked_of_the_manager_if_there_is_one(void **state)
{
	struct kernel_world w;
	struct kernel_end sm, host;
	int agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &sm, H1);
	kernel_end_open(&w, &host, H2);
	agent = kernel_end_register(&host, WIRE_SMI_LID, 0, 0);
	assert_int_equal(kernel_ask_sm(&host, agent, LID_H1, 1, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(host.got, 1);
	assert_int_equal(host.mad[5], 0x0c);
	kernel_end_register(&sm, WIRE_SMI_LID, 1u << WIRE_GET, 0);
	assert_int_equal(kernel_ask_sm(&host, agent, LID_H1, 2, 100), 0);
	loop_run(w.base.loop);
	assert_int_equal(sm.got, 1);
	assert_int_equal(host.got, 2);
	assert_int_equal(host.head.status, ETIMEDOUT); /* that one did not answer */
	kernel_end_close(&sm);
	kernel_end_close(&host);
	kernel_world_fini(&w);
}

/* ---- IsSM, devices --------------------------------------------------------------------------- */

static bool is_sm(const struct kernel_world *w)
{
	return double_port_info(w->base.d, H1, 1)->capmask & WIRE_CAP_IS_SM;
}

static void is_sm_is_one_openers_at_a_time(void **state)
{
	struct kernel_world w;
	struct kissm *issm;

	kernel_world_init(&w);
	assert_false(is_sm(&w));
	issm = kernel_issm_open(w.k, H1, 1);
	assert_non_null(issm);
	assert_true(is_sm(&w));
	assert_null(kernel_issm_open(w.k, H1, 1));
	assert_int_equal(errno, EAGAIN);
	kissm_close(issm);
	assert_false(is_sm(&w));
	issm = kernel_issm_open(w.k, H1, 1);
	assert_non_null(issm);
	kissm_close(issm);
	kernel_world_fini(&w);
}

/* Trap 144 with the new mask, to the manager that the port was told of. */
static void a_manager_that_comes_or_goes_is_announced_by_trap_144(void **state)
{
	struct kernel_world w;
	struct kernel_end sm;
	struct kissm *issm;
	struct wire_notice notice;

	kernel_world_init(&w);
	kernel_end_open(&w, &sm, H1);
	kernel_end_register(&sm, WIRE_SMI_LID, 1u << WIRE_TRAP, 0);
	issm = kernel_issm_open(w.k, H2, 1);
	loop_run(w.base.loop);
	assert_int_equal(sm.got, 1);
	wire_notice_decode(wire_smp_data(sm.mad), &notice);
	assert_int_equal(notice.trap, 144);
	assert_int_equal(notice.lid, LID_H2);
	assert_true(notice.capmask & WIRE_CAP_IS_SM);
	kissm_close(issm);
	loop_run(w.base.loop);
	assert_int_equal(sm.got, 2);
	wire_notice_decode(wire_smp_data(sm.mad), &notice);
	assert_int_equal(notice.trap, 144);
	assert_false(notice.capmask & WIRE_CAP_IS_SM);
	kernel_end_close(&sm);
	kernel_world_fini(&w);
}

static void a_device_that_goes_leaves_dead_files(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	struct kissm *issm;
	int agent;

	kernel_world_init(&w);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	issm = kernel_issm_open(w.k, H1, 1);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 0), 0);
	kernel_device(w.k, H1, false);
	assert_true(end.gone);
	assert_false(is_sm(&w));
	assert_int_equal(kernel_ask_node(&end, agent, 1, 8, 100, 0), -EIO);
	assert_int_equal(kernel_end_register(&end, WIRE_SMI_DR, 0, 0), -EPIPE);
	assert_null(kernel_open(w.k, H1, 1, &kernel_end_ops, &end));
	assert_int_equal(errno, ENXIO);
	assert_null(kernel_issm_open(w.k, H1, 1));
	loop_run(w.base.loop);
	assert_int_equal(end.got, 0);
	kissm_close(issm);
	kernel_end_close(&end);

	kernel_device(w.k, H1, true);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	assert_int_equal(kernel_ask_node(&end, agent, 1, 7, 100, 0), 0);
	loop_run(w.base.loop);
	assert_int_equal(end.got, 1);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

static void ports_that_are_not_there_do_not_open(void **state)
{
	struct kernel_world w;

	kernel_world_init(&w);
	assert_null(kernel_open(w.k, H1, 2, &kernel_end_ops, NULL));
	assert_null(kernel_open(w.k, H1, 0, &kernel_end_ops, NULL));
	assert_null(kernel_open(w.k, 0xdead, 1, &kernel_end_ops, NULL));
	kernel_world_fini(&w);
}

static void an_agent_has_so_many_requests_in_flight_under_limits(void **state)
{
	struct kernel_world w;
	struct kernel_end end;
	int agent;

	kernel_world_init(&w);
	kernel_set_limits(w.k, true);
	kernel_end_open(&w, &end, H1);
	agent = kernel_end_register(&end, WIRE_SMI_DR, 0, 0);
	for (uint32_t tid = 1; tid <= 200; tid++)
		assert_int_equal(kernel_ask_node(&end, agent, 1, tid, 100, 0), 0);
	assert_int_equal(kernel_counts(w.k)->sent, 128);
	loop_run(w.base.loop);
	assert_int_equal(kernel_counts(w.k)->sent, 200);
	assert_int_equal(end.got, 200);
	double_set_silent(w.base.d, LEAF1, true);
	for (uint32_t tid = 1; tid <= 200; tid++)
		assert_int_equal(kernel_ask_node(&end, agent, 1, tid, 100, 0), 0);
	kfile_unregister(end.f, (unsigned)agent);
	loop_run(w.base.loop);
	assert_int_equal(kernel_counts(w.k)->sent, 328);
	kernel_end_close(&end);
	kernel_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_comes_back_under_the_agents_number),
		cmocka_unit_test(what_nobody_answers_is_repeated_and_handed_back),
		cmocka_unit_test(an_answer_that_comes_after_that_is_nobodys),
		cmocka_unit_test(one_that_awaits_no_answer_gets_none),
		cmocka_unit_test(a_tid_is_taken_until_its_answer_is_there),
		cmocka_unit_test(files_of_one_port_do_not_get_each_others_answers),
		cmocka_unit_test(what_is_asked_of_the_own_port_needs_no_link),
		cmocka_unit_test(an_agent_has_so_many_requests_in_flight_under_limits),
		cmocka_unit_test(an_agent_that_goes_takes_its_requests_along),
		cmocka_unit_test(methods_of_a_class_are_one_agents),
		cmocka_unit_test(agents_that_make_no_sense_are_refused),
		cmocka_unit_test(a_request_reaches_the_agent_registered_for_it),
		cmocka_unit_test(a_received_mad_has_the_index_of_its_p_key_in_the_receivers_table),
		cmocka_unit_test(a_request_for_no_agent_is_answered_all_the_same),
		cmocka_unit_test(so_it_is_where_nothing_runs),
		cmocka_unit_test(sm_info_is_asked_of_the_manager_if_there_is_one),
		cmocka_unit_test(is_sm_is_one_openers_at_a_time),
		cmocka_unit_test(a_manager_that_comes_or_goes_is_announced_by_trap_144),
		cmocka_unit_test(a_device_that_goes_leaves_dead_files),
		cmocka_unit_test(ports_that_are_not_there_do_not_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
