/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is no answer to a request, what others start, and requests of other classes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include "fm/mad/wire_perf.h"
#include "tests/fabric/mad_world.h"

static void late_reply_is_ignored(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	loop_run(w.loop);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	mad_world_fini(&w);
}

static void doubled_reply_is_ignored(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	mad_world_answer(&w, 0);
	mad_world_ask(&w, (struct mad_request){ 0 }); /* takes the place of the first */
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	mad_world_fini(&w);
}

static void late_reply_to_an_earlier_try_is_an_answer(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 3 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	w.io->result = -EAGAIN;
	w.io->results = 3;
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 150); /* the retry waits in the queue */
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(mad_stats(w.mad).queued, 1);
	mad_world_answer(&w, 0);
	assert_int_equal(w.last.result, MAD_OK);
	loop_run(w.loop);
	assert_int_equal(w.io->nsent, 1);
	assert_int_equal(mad_stats(w.mad).queued, 0);
	assert_int_equal(w.done, 1);
	mad_world_fini(&w);
}

static void reply_to_what_was_not_sent_yet_is_dropped(void **state)
{
	struct mad_world w;
	struct wire_mad m, second;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	w.io->result = -EAGAIN;
	w.io->results = 1;
	mad_world_ask(&w, (struct mad_request){ 0 });
	m = mad_world_header(&w, 0);
	assert_int_equal(wire_mad_decode(w.io->refused, WIRE_MAD_SIZE, &second), 0);
	m.tid = second.tid;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	mad_world_fini(&w);
}

static void answer_from_another_lid_than_was_asked_is_dropped(void **state)
{
	struct mad_world w;
	struct wire_mad m;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ .lid = 9 });
	m = mad_world_header(&w, 0);
	mad_world_receive_from(&w, 0, 8, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_mismatch, 1);
	mad_world_receive_from(&w, 0, 9, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.last.result, MAD_OK);
	mad_world_fini(&w);
}

static int compare_tids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * What a host that is asked itself sees of them must not tell it the next: neither a count nor a
 * step that repeats.
 */
static void tids_can_not_be_foreseen(void **state)
{
	enum { ASKED = 1000 };
	uint32_t tids[ASKED], steps[ASKED - 1], high = 0;
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	for (unsigned i = 0; i < ASKED; i++) {
		mad_world_ask(&w, (struct mad_request){ 0 });
		tids[i] = (uint32_t)mad_world_header(&w, i).tid;
		high += tids[i] >> 31;
		mad_world_answer(&w, i);
	}
	for (unsigned i = 0; i + 1 < ASKED; i++)
		steps[i] = tids[i + 1] - tids[i];
	qsort(steps, ASKED - 1, sizeof(*steps), compare_tids);
	for (unsigned i = 0; i + 3 < ASKED; i++)
		assert_true(steps[i] != steps[i + 1] || steps[i] != steps[i + 2]);
	assert_true(high > ASKED / 4 && high < ASKED * 3 / 4);
	mad_world_fini(&w);
}

static void short_reply_is_dropped(void **state)
{
	struct mad_world w;
	struct wire_mad m;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ 0 });
	m = mad_world_header(&w, 0);
	mad_world_receive(&w, 0, &m, 100);
	mad_world_receive(&w, 0, &m, 0);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_short, 2);
	mad_world_answer(&w, 0);
	assert_int_equal(w.last.result, MAD_OK);
	mad_world_fini(&w);
}

static void reply_that_does_not_fit_its_request_is_dropped(void **state)
{
	struct mad_world w;
	struct wire_mad m;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ .attr_mod = 4 });
	m = mad_world_header(&w, 0);
	m.attr_id = WIRE_PORT_INFO;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	m = mad_world_header(&w, 0);
	m.attr_mod = 5;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	m = mad_world_header(&w, 0);
	m.returning = false; /* our own request, back from a loop */
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	m = mad_world_header(&w, 0);
	m.mgmt_class = WIRE_SMI_LID;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_mismatch, 4);
	mad_world_answer(&w, 0);
	assert_int_equal(w.done, 1);
	mad_world_fini(&w);
}

struct heard {
	unsigned count;
	struct wire_mad last;
	uint16_t lid;
};

static void heard_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		     const uint8_t *raw, size_t len)
{
	struct heard *heard = arg;

	heard->count++;
	heard->last = *mad;
	heard->lid = from->lid;
}

static void hear(struct mad_world *w, uint8_t mgmt_class, uint8_t method)
{
	const struct wire_mad m = { .mgmt_class = mgmt_class,
				    .class_version = 1,
				    .method = method };
	const struct io_addr from = { .lid = 33 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&m, mad);
	w->io->io.recv(w->io->io.arg, &from, mad, sizeof(mad));
}

static void what_others_start_goes_to_the_handler_of_its_class(void **state)
{
	struct heard smi = { 0 }, sa = { 0 };
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_handle(w.mad, WIRE_SMI_LID, heard_cb, &smi);
	mad_handle(w.mad, WIRE_SA, heard_cb, &sa);
	hear(&w, WIRE_SMI_LID, WIRE_TRAP);
	hear(&w, WIRE_SA, WIRE_GET_TABLE);
	hear(&w, WIRE_SA, WIRE_REPORT_RESP); /* to nothing that was sent */
	hear(&w, WIRE_SMI_DR, WIRE_GET);     /* nobody's */
	assert_int_equal(smi.count, 1);
	assert_int_equal(smi.last.method, WIRE_TRAP);
	assert_int_equal(smi.lid, 33);
	assert_int_equal(sa.count, 1);
	assert_int_equal(mad_stats(w.mad).unsolicited, 3);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	mad_world_fini(&w);
}

static void reply_awaits_nothing(void **state)
{
	const struct io_addr to = { .lid = 4, .qp = 1 };
	struct wire_mad m = { .mgmt_class = WIRE_SA, .class_version = 2, .method = WIRE_GET_RESP };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	wire_mad_encode(&m, mad);
	assert_int_equal(mad_reply(w.mad, &to, mad, sizeof(mad)), 0);
	assert_int_equal(w.io->sent[0].timeout_ms, 0);
	assert_int_equal(w.io->sent[0].to.lid, 4);
	assert_int_equal(mad_set_is_sm(w.mad, true), 0);
	assert_true(w.io->is_sm);
	mad_world_fini(&w);
}

static void one_key(void *arg, const struct mad_path *path, uint16_t lid, struct mad_keys *keys)
{
	*keys = (struct mad_keys){ .count = 1, .key = { 0x77 } };
}

static void request_of_another_class_goes_to_qp1_with_all_its_data(void **state)
{
	uint8_t data[WIRE_GMP_DATA];
	struct wire_mad m;
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_set_keys(w.mad, one_key, NULL);
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	mad_world_ask(&w, (struct mad_request){ .lid = 9,
						.mgmt_class = WIRE_PERF,
						.sl = 4,
						.pkey_index = 2,
						.attr_id = WIRE_PORT_COUNTERS,
						.data = data });
	assert_int_equal(wire_mad_decode(w.io->sent[0].mad, WIRE_MAD_SIZE, &m), 0);
	assert_int_equal(m.mgmt_class, WIRE_PERF);
	assert_int_equal(m.class_version, 1);
	assert_int_equal(m.method, WIRE_GET);
	assert_memory_equal(wire_gmp_data(w.io->sent[0].mad), data, sizeof(data)); /* no M_Key */
	assert_int_equal(w.io->sent[0].to.lid, 9);
	assert_int_equal(w.io->sent[0].to.qp, 1);
	assert_int_equal(w.io->sent[0].to.qkey, 0x80010000);
	assert_int_equal(w.io->sent[0].to.sl, 4);
	assert_int_equal(w.io->sent[0].to.pkey_index, 2);
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 1);
	assert_int_equal(w.io->nsent, 2); /* lost: again under the same TID */
	assert_memory_equal(w.io->sent[1].mad, w.io->sent[0].mad, WIRE_MAD_SIZE);
	mad_world_answer(&w, 1);
	assert_int_equal(w.last.result, MAD_OK);
	assert_int_equal(w.last_data[0], 1); /* behind the common header */
	assert_int_equal(mad_stats(w.mad).sent, 0);
	assert_int_equal(mad_stats(w.mad).sent_gmps, 2);
	mad_world_fini(&w);
}

static void answer_of_another_class_or_method_is_none(void **state)
{
	struct wire_mad m;
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ 0 });
	mad_world_ask(&w, (struct mad_request){ .lid = 9,
						.mgmt_class = WIRE_SA,
						.method = WIRE_REPORT,
						.attr_id = WIRE_NOTICE });
	m = mad_world_header(&w, 0);
	assert_int_equal(m.class_version, 2);
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE); /* GetResp */
	m.method = WIRE_REPORT_RESP;
	m.mgmt_class = WIRE_PERF;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 0);
	assert_int_equal(mad_stats(w.mad).dropped_mismatch, 2);
	m.mgmt_class = WIRE_SA;
	mad_world_receive(&w, 0, &m, WIRE_MAD_SIZE);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_OK);
	mad_world_fini(&w);
}

/* Of what is answered to the i-th MAD sent: a NodeInfo of that type. */
static void answer_node_type(struct mad_world *w, unsigned i, uint8_t type)
{
	struct wire_mad m = mad_world_header(w, i);
	const struct wire_node_info info = {
		.type = type, .nports = 1, .local_port = 1, .node_guid = 7, .port_guid = 8
	};

	wire_node_info_encode(&info, wire_smp_data(w->io->sent[i].mad));
	mad_world_receive(w, i, &m, WIRE_MAD_SIZE);
}

static void impossible_answer_is_dropped_counted_and_asked_again_at_once(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ .attr_id = WIRE_NODE_INFO });
	answer_node_type(&w, 0, 4);
	assert_int_equal(w.done, 0);
	assert_int_equal(w.io->nsent, 2);
	assert_int_equal(mad_stats(w.mad).dropped_malformed, 1);
	answer_node_type(&w, 1, TOPO_CA);
	assert_int_equal(w.last.result, MAD_OK);
	assert_null(w.last.flaw);
	mad_world_fini(&w);
}

static void device_that_goes_on_with_impossible_answers_ends_as_a_time_out_with_the_reason(
	void **state)
{
	struct mad_world w;
	unsigned window;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	window = mad_stats(w.mad).window;
	mad_world_ask(&w, (struct mad_request){ .attr_id = WIRE_NODE_INFO });
	answer_node_type(&w, 0, 4);
	answer_node_type(&w, 1, 0);
	assert_int_equal(w.done, 1);
	assert_int_equal(w.last.result, MAD_TIMEOUT);
	assert_string_equal(w.last.flaw, "NodeType");
	assert_int_equal(mad_stats(w.mad).dropped_malformed, 2);
	assert_int_equal(mad_stats(w.mad).window, window);
	loop_run(w.loop);
	assert_int_equal(w.done, 1);
	mad_world_fini(&w);
}

/* Its second try waits in the queue, and is sent all the same. */
static void impossible_answer_to_a_lost_try_changes_nothing(void **state)
{
	struct mad_world w;

	mad_world_init(&w, (struct mad_conf){ .retries = 1 });
	mad_world_ask(&w, (struct mad_request){ .attr_id = WIRE_NODE_INFO });
	w.io->result = -EAGAIN;
	w.io->results = 3;
	mad_world_pass(&w, TIMEOUT_MS * 1000 + 150);
	assert_int_equal(w.io->nsent, 1);
	answer_node_type(&w, 0, 4);
	assert_int_equal(mad_stats(w.mad).dropped_malformed, 1);
	assert_int_equal(mad_stats(w.mad).queued, 1);
	mad_world_pass(&w, 1000);
	assert_int_equal(w.io->nsent, 2);
	answer_node_type(&w, 1, TOPO_CA);
	assert_int_equal(w.last.result, MAD_OK);
	mad_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_reply_is_ignored),
		cmocka_unit_test(doubled_reply_is_ignored),
		cmocka_unit_test(late_reply_to_an_earlier_try_is_an_answer),
		cmocka_unit_test(reply_to_what_was_not_sent_yet_is_dropped),
		cmocka_unit_test(answer_from_another_lid_than_was_asked_is_dropped),
		cmocka_unit_test(tids_can_not_be_foreseen),
		cmocka_unit_test(short_reply_is_dropped),
		cmocka_unit_test(reply_that_does_not_fit_its_request_is_dropped),
		cmocka_unit_test(what_others_start_goes_to_the_handler_of_its_class),
		cmocka_unit_test(reply_awaits_nothing),
		cmocka_unit_test(request_of_another_class_goes_to_qp1_with_all_its_data),
		cmocka_unit_test(answer_of_another_class_or_method_is_none),
		cmocka_unit_test(impossible_answer_is_dropped_counted_and_asked_again_at_once),
		cmocka_unit_test(
			device_that_goes_on_with_impossible_answers_ends_as_a_time_out_with_the_reason),
		cmocka_unit_test(impossible_answer_to_a_lost_try_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
