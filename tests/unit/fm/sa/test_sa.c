/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SA by its requests and answers: statuses, long walks, subscriptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "routing/path.h"
#include "tests/lib/sa_pod.h"

/* Numbers of components. */
enum { PORT_OPTIONS = 2, NODE_GUID = 7 };

/* Clients repeat what is not answered; a status ends their query. */
static void without_a_view_nothing_is_answered(void **state)
{
	struct world *w = world_new();
	const struct world_request get = { .method = WIRE_GET, .attr = WIRE_SA_PATH, .from = 1 };
	const struct world_request table = { .method = WIRE_GET_TABLE,
					     .attr = WIRE_SA_NODE,
					     .from = 1 };

	assert_int_equal(world_ask(w, &get), 0);
	assert_int_equal(world_ask(w, &table), 0);
	assert_int_equal(sa_stats(w->sa).busy, 2);
	world_publish(w);
	assert_int_equal(ask_status(w, &table), WIRE_SA_OK);
	sa_publish(w->sa, &(struct sa_view){ 0 });
	assert_int_equal(world_ask(w, &table), 0);
	world_free(w);
}

static void unknown_attributes_and_methods_are_refused_as_unsupported(void **state)
{
	static const struct {
		uint16_t attr;
		uint8_t method, response;
	} cases[] = {
		{ WIRE_SA_MCMEMBER, 0x14, 0x94 },
		{ WIRE_SA_MULTI_PATH, WIRE_GET, WIRE_GET_RESP },
		{ WIRE_SA_NODE, WIRE_GET_MULTI, WIRE_GET_MULTI_RESP },
		{ 0x7777, WIRE_GET, WIRE_GET_RESP },
		{ WIRE_SA_NODE, WIRE_SET, WIRE_GET_RESP },
		{ WIRE_SA_PATH, WIRE_DELETE, WIRE_DELETE_RESP },
		{ WIRE_SA_CLASS_PORT_INFO, WIRE_GET_TABLE, WIRE_GET_TABLE_RESP },
		{ WIRE_SA_INFORM_INFO, WIRE_GET, WIRE_GET_RESP },
		{ WIRE_SA_NODE, 0x7f, 0xff },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world_request r = { .method = cases[i].method, .attr = cases[i].attr };

		assert_int_equal(ask_status(w, &r), WIRE_SA_UNSUPPORTED);
		assert_int_equal(w->sent[3], cases[i].response);
		assert_int_equal(w->sent_len, WIRE_MAD_SIZE);
		assert_int_equal(w->sent[24], 0); /* no RMPP in an error */
	}
	assert_int_equal(sa_stats(w->sa).unsupported, sizeof(cases) / sizeof(cases[0]));
}

static void requests_from_no_ports_lid_are_dropped(void **state)
{
	static const uint16_t lids[] = { 0, 0xc000, 0xfffe, 0xffff };
	const uint8_t mad[WIRE_MAD_SIZE] = { 1, WIRE_SA, 2, WIRE_GET, [17] = 1 };
	struct world *w = *state;

	for (unsigned i = 0; i < 4; i++) {
		const struct io_addr from = { .lid = lids[i], .qp = 1 };

		w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	}
	assert_int_equal(w->nsent, 0);
	assert_int_equal(sa_stats(w->sa).bad, 4);
	w->io.recv(w->io.arg, &(struct io_addr){ .lid = 0xbfff, .qp = 1 }, mad, sizeof(mad));
	assert_int_equal(w->nsent, 1);
}

static void malformed_requests_are_dropped_and_counted(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET, .attr = WIRE_SA_CLASS_PORT_INFO };
	uint8_t mad[WIRE_MAD_SIZE] = { 1, WIRE_SA, 1, WIRE_GET };
	struct io_addr from = { .lid = 1 };

	for (r.cut = 1; r.cut < WIRE_MAD_SIZE; r.cut += 51)
		assert_int_equal(world_ask(w, &r), 0);
	mad[17] = 1;
	w->io.recv(w->io.arg, &from, mad, sizeof(mad)); /* class version 1 */
	mad[2] = 2;
	mad[3] = WIRE_GET_RESP;
	w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	mad[3] = WIRE_TRAP_REPRESS;
	w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	assert_int_equal(w->nsent, 0);
	assert_int_equal(sa_stats(w->sa).bad, 2); /* short ones and answers end in mad */
	mad[3] = WIRE_GET;
	w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	assert_int_equal(w->nsent, 1);
}

static void a_wrong_sm_key_is_not_answered(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET,
				   .attr = WIRE_SA_CLASS_PORT_INFO,
				   .sm_key = 1 };

	assert_int_equal(world_ask(w, &r), 0);
	assert_int_equal(sa_stats(w->sa).bad, 1);
	r.sm_key = WORLD_SM_KEY;
	assert_int_equal(world_ask(w, &r), 1);
	for (unsigned i = 36; i < 44; i++)
		assert_int_equal(w->sent[i], 0); /* the key is not given back */
}

static void the_sa_key_of_before_is_as_good_while_it_is_changed(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET,
				   .attr = WIRE_SA_CLASS_PORT_INFO,
				   .sm_key = 1 };

	assert_int_equal(world_ask(w, &r), 0);
	sa_configure(w->sa, &(struct sa_conf){ .sa_key = WORLD_SM_KEY, .old_sa_key = 1 });
	assert_int_equal(world_ask(w, &r), 1);
	r.sm_key = 2;
	assert_int_equal(world_ask(w, &r), 0);
}

static void an_answer_goes_where_the_request_came_from(void **state)
{
	struct world *w = *state;
	struct world_request r = { .method = WIRE_GET,
				   .attr = WIRE_SA_CLASS_PORT_INFO,
				   .from = 77 };

	assert_int_equal(world_ask(w, &r), 1);
	assert_int_equal(w->sent_to.lid, 77);
	assert_int_equal(w->sent_to.qp, 1);
	assert_int_equal(w->sent_to.sl, 3);
}

static void get_wants_exactly_one_record(void **state)
{
	struct world *w = *state;
	const unsigned at = 16; /* NodeGUID */
	uint8_t row[112] = { 0 };
	struct world_request r = {
		.method = WIRE_GET, .attr = WIRE_SA_NODE, .data = row, .len = 112
	};

	wire_put(row, 2, 0xbff0);
	wire_put(row + at, 8, 0x9999);
	assert_int_equal(ask_status(w, &r), WIRE_SA_TOO_MANY_RECORDS);
	r.mask = WIRE_BIT(NODE_GUID);
	assert_int_equal(ask_status(w, &r), WIRE_SA_NO_RECORDS);
	r.mask = WIRE_BIT(WIRE_SA_LID);
	assert_int_equal(ask_status(w, &r), WIRE_SA_NO_RECORDS);
	wire_put(row + at, 8, WORLD_CA(5)); /* two ports */
	r.mask = WIRE_BIT(NODE_GUID);
	assert_int_equal(ask_status(w, &r), WIRE_SA_TOO_MANY_RECORDS);
	wire_put(row + at, 8, WORLD_CA(4));
	assert_int_equal(ask_rows(w, &r), 1);
}

static void a_table_without_rows_is_an_empty_answer(void **state)
{
	struct world *w = *state;

	assert_int_equal(table_rows(w, WIRE_SA_MFT), 0);
	assert_int_equal(w->sent_len, WIRE_SA_HEADER);
	assert_int_equal(w->sent[26] & 1, 1); /* RMPP active all the same */
}

static void get_of_a_record_that_never_has_rows_is_no_records(void **state)
{
	struct world_request r = { .method = WIRE_GET, .attr = WIRE_SA_MFT };

	assert_int_equal(ask_status(*state, &r), WIRE_SA_NO_RECORDS);
}

static void a_long_walk_yields_and_still_answers_whole(void **state)
{
	struct world *w = *state;
	uint64_t reachable = 0;
	struct path path;

	publish_pod(w, 1);
	for (unsigned s = 1; s <= w->lids->top; s++)
		for (uint16_t d = 1; d <= w->lids->top; d++)
			reachable += !path_trace(w->topo, w->lids, &w->tables,
						 w->lids->port_of_lid[s], d, &path);
	post(w, &all_pairs);
	assert_int_equal(w->nsent, 0);
	loop_run(w->loop);
	assert_int_equal(w->nsent, 1);
	assert_int_equal(world_rows(w), reachable);
}

static void short_queries_are_answered_while_a_long_one_runs(void **state)
{
	struct world *w = *state;
	const struct world_request get = { .method = WIRE_GET, .attr = WIRE_SA_CLASS_PORT_INFO };

	publish_pod(w, 1);
	post(w, &all_pairs);
	post(w, &get);
	assert_int_equal(w->nsent, 1);
	assert_int_equal(w->sent[3], WIRE_GET_RESP);
	loop_run(w->loop);
	assert_int_equal(w->nsent, 2);
	assert_int_equal(w->sent[3], WIRE_GET_TABLE_RESP);
}

static void an_answer_too_long_to_send_is_refused(void **state)
{
	struct world *w = *state;

	publish_pod(w, 5); /* 1,280 ports: 100 MB of pairs */
	post(w, &all_pairs);
	loop_run(w->loop);
	assert_int_equal(w->nsent, 1);
	assert_int_equal(world_status(w), WIRE_SA_NO_RESOURCES);
}

static void freeing_with_a_walk_under_way_leaves_nothing_behind(void **state)
{
	publish_pod(*state, 1);
	post(*state, &all_pairs);
}

static struct wire_inform_info inform_of(uint16_t trap, uint8_t subscribe)
{
	return (struct wire_inform_info){
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = subscribe,
		.type = 0xffff,
		.trap = trap,
		.qpn = 1,
		.resp_time = 19,
		.producer = 0xffffff,
	};
}

static uint16_t inform_set(struct world *w, const struct wire_inform_info *info, uint16_t from,
			   uint64_t sm_key)
{
	uint8_t data[36];
	struct world_request r = { .method = WIRE_SET,
				   .attr = WIRE_SA_INFORM_INFO,
				   .data = data,
				   .len = 36,
				   .from = from,
				   .sm_key = sm_key };

	wire_inform_info_encode(info, data);
	return ask_status(w, &r);
}

static uint8_t answered_subscribe(const struct world *w)
{
	return w->sent[WIRE_SA_HEADER + 23];
}

static void subscriptions_are_kept_once_and_ended_once(void **state)
{
	struct world *w = *state;
	struct wire_inform_info on = inform_of(64, 1), off = inform_of(64, 0);

	assert_int_equal(inform_set(w, &on, 0, 0), WIRE_SA_OK);
	assert_int_equal(w->sent[3], WIRE_GET_RESP);
	assert_int_equal(answered_subscribe(w), 1);
	assert_int_equal(inform_set(w, &on, 0, 0), WIRE_SA_OK);
	assert_int_equal(table_rows(w, WIRE_SA_INFORM_INFO_RECORD), 1);
	on.trap = 144;
	assert_int_equal(inform_set(w, &on, 0, 0), WIRE_SA_OK);
	assert_int_equal(table_rows(w, WIRE_SA_INFORM_INFO_RECORD), 2);
	assert_int_equal(inform_set(w, &off, world_lid(w, HOST(1)), 0), WIRE_SA_REQ_INVALID);
	assert_int_equal(inform_set(w, &off, 0, 0), WIRE_SA_OK);
	assert_int_equal(inform_set(w, &off, 0, 0), WIRE_SA_REQ_INVALID);
	assert_int_equal(answered_subscribe(w), 0);
	assert_int_equal(table_rows(w, WIRE_SA_INFORM_INFO_RECORD), 1);
}

static void a_subscriber_must_be_known_and_make_sense(void **state)
{
	struct world *w = *state;
	struct wire_inform_info on = inform_of(64, 1);

	assert_int_equal(inform_set(w, &on, 0x7000, 0), WIRE_SA_REQ_INVALID);
	assert_int_equal(answered_subscribe(w), 0);
	on.subscribe = 2;
	assert_int_equal(inform_set(w, &on, 0, 0), WIRE_SA_REQ_INVALID);
	on = inform_of(257, 1);
	assert_int_equal(inform_set(w, &on, 0, 0), WIRE_SA_REQ_INVALID);
	assert_int_equal(inform_set(w, &on, 0, WORLD_SM_KEY), WIRE_SA_OK);
}

static void a_port_cannot_fill_the_memory_with_subscriptions(void **state)
{
	struct world *w = *state;
	unsigned taken = 0;

	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = 0xfe80000000000000,
					       .sa_key = WORLD_SM_KEY,
					       .subscriptions_limit = 64 });
	for (uint16_t trap = 1000; trap < 1200; trap++) {
		struct wire_inform_info on = inform_of(trap, 1);
		uint16_t status = inform_set(w, &on, 0, 0);

		assert_true(status == WIRE_SA_OK || status == WIRE_SA_NO_RESOURCES);
		taken += status == WIRE_SA_OK;
	}
	assert_int_equal(taken, 64);
}

static void a_subscribers_qp_is_for_trusted_askers(void **state)
{
	struct world *w = *state;
	struct wire_inform_info on = inform_of(64, 1), info;
	struct world_request r = { .method = WIRE_GET, .attr = WIRE_SA_INFORM_INFO_RECORD };

	assert_int_equal(inform_set(w, &on, 0, 0), WIRE_SA_OK);
	assert_int_equal(ask_rows(w, &r), 1);
	wire_inform_info_decode(world_row(w, 0) + 24, &info);
	assert_int_equal(info.qpn, 0);
	r.sm_key = WORLD_SM_KEY;
	assert_int_equal(ask_rows(w, &r), 1);
	wire_inform_info_decode(world_row(w, 0) + 24, &info);
	assert_int_equal(info.qpn, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_view_nothing_is_answered),
		cmocka_unit_test_setup_teardown(
			unknown_attributes_and_methods_are_refused_as_unsupported, sa_setup,
			sa_teardown),
		cmocka_unit_test_setup_teardown(requests_from_no_ports_lid_are_dropped, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(malformed_requests_are_dropped_and_counted,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(the_sa_key_of_before_is_as_good_while_it_is_changed,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(a_wrong_sm_key_is_not_answered, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(an_answer_goes_where_the_request_came_from,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(get_wants_exactly_one_record, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(a_table_without_rows_is_an_empty_answer, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(get_of_a_record_that_never_has_rows_is_no_records,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(a_long_walk_yields_and_still_answers_whole,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(short_queries_are_answered_while_a_long_one_runs,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(an_answer_too_long_to_send_is_refused, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(freeing_with_a_walk_under_way_leaves_nothing_behind,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(subscriptions_are_kept_once_and_ended_once,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(a_subscriber_must_be_known_and_make_sense, sa_setup,
						sa_teardown),
		cmocka_unit_test_setup_teardown(a_port_cannot_fill_the_memory_with_subscriptions,
						sa_setup, sa_teardown),
		cmocka_unit_test_setup_teardown(a_subscribers_qp_is_for_trusted_askers, sa_setup,
						sa_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
