/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests that take long: they wait for each other, in turn, and a new view ends none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sa/sa_query.h"
#include "tests/lib/sa_pod.h"
#include "topology/snapshot/topo_builder.h"

#define ANSWERS_MAX 4096

struct heard { /* answers in their order */
	unsigned count, refused;
	uint16_t lid[ANSWERS_MAX];
	uint64_t tid[ANSWERS_MAX];
	uint32_t rows[ANSWERS_MAX];
};

static void hook(struct world *w, const struct io_addr *to, const uint8_t *mad)
{
	struct heard *h = w->hook_arg;
	unsigned i = h->count++;
	struct wire_mad m;

	assert_true(i < ANSWERS_MAX);
	assert_int_equal(wire_mad_decode(mad, WIRE_MAD_SIZE, &m), 0);
	h->lid[i] = to->lid;
	h->tid[i] = m.tid;
	h->rows[i] = world_rows(w);
	h->refused += mad[4] || mad[5];
}

static struct heard *listen(struct world *w)
{
	w->hook = hook;
	w->hook_arg = mem_alloc(1, sizeof(struct heard));
	return w->hook_arg;
}

static void unlisten(struct world *w)
{
	free(w->hook_arg);
	w->hook = NULL;
}

static const struct world_request all_lfts = { .method = WIRE_GET_TABLE, .attr = WIRE_SA_LFT };

/* ---- Waiting --------------------------------------------------------------------------------- */

static void all_who_ask_for_long_are_answered_with_the_same(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	publish_pod(w, 1);
	for (uint16_t lid = 1; lid <= 200; lid++)
		post_from(w, &all_pairs, lid, 1000u + lid);
	assert_int_equal(h->count, 0);
	assert_in_range(sa_stats(w->sa).waiting, 150, 199);
	loop_run(w->loop);
	assert_int_equal(h->count, 200);
	assert_int_equal(h->refused, 0);
	assert_int_equal(sa_stats(w->sa).waiting, 0);
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(h->tid[i], 1000u + h->lid[i]);
		assert_int_equal(h->rows[i], h->rows[0]);
	}
	unlisten(w);
}

static void a_request_that_is_repeated_is_answered_once(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	publish_pod(w, 1);
	for (unsigned round = 0; round < 3; round++)
		for (uint16_t lid = 1; lid <= 50; lid++)
			post_from(w, &all_pairs, lid, lid);
	loop_run(w->loop);
	assert_int_equal(h->count, 50);
	unlisten(w);
}

/* Which answer of how many is the first to that LID. */
static unsigned first_to(const struct heard *h, uint16_t lid)
{
	unsigned i = 0;

	while (i < h->count && h->lid[i] != lid)
		i++;
	return i;
}

static void who_asks_once_does_not_wait_for_all_of_who_asks_often(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	publish_pod(w, 1);
	for (unsigned i = 0; i < 20; i++)
		for (uint16_t lid = 1; lid <= 5; lid++)
			post_from(w, &all_pairs, lid, i);
	post_from(w, &all_lfts, 9, 1);
	loop_run(w->loop);
	assert_int_equal(h->count, 5 * 20 + 1);
	assert_in_range(first_to(h, 9), 0, 30);
	unlisten(w);
}

static void what_the_queue_has_no_room_for_stays_unanswered(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	publish_pod(w, 1);
	for (unsigned i = 0; i < 100; i++)
		post_from(w, &all_pairs, 1, i);
	post_from(w, &all_pairs, 2, 1);
	assert_int_equal(sa_stats(w->sa).busy, 100 - SA_JOBS_EACH - SA_QUEUE_EACH);
	loop_run(w->loop);
	assert_int_equal(h->count, SA_JOBS_EACH + SA_QUEUE_EACH + 1);
	assert_int_equal(h->refused, 0);
	unlisten(w);
}

static void what_waits_is_forgotten_with_the_role(void **state)
{
	struct world *w = *state;

	publish_pod(w, 1);
	for (uint16_t lid = 1; lid <= 50; lid++)
		post_from(w, &all_pairs, lid, lid);
	sa_publish(w->sa, &(struct sa_view){ 0 });
	loop_run(w->loop);
	assert_int_equal(w->nsent, 0);
	assert_int_equal(sa_stats(w->sa).waiting, 0);
}

/* ---- Another view ---------------------------------------------------------------------------- */

/* Lets the loop do a few slices. */
static void work_a_little(struct world *w)
{
	for (unsigned i = 0; i < 3; i++)
		sa_query_step(w->sa);
}

static void a_walk_goes_on_when_only_ports_differ(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);
	struct topo *again;
	uint64_t slices = 0;

	publish_pod(w, 1);
	post_from(w, &all_pairs, 1, 1);
	loop_run(w->loop);
	post_from(w, &all_pairs, 1, 2);
	while (h->count == 1 && slices < 100) { /* a view for each slice */
		sa_query_step(w->sa);
		again = topo_alike(w->topo);
		topo_unref(w->topo);
		w->topo = again;
		w->view.topo = again;
		sa_publish(w->sa, &w->view);
		slices++;
	}
	assert_true(slices < 100);
	assert_int_equal(h->count, 2);
	assert_int_equal(h->rows[1], h->rows[0]);
	assert_int_equal(h->refused, 0);
	unlisten(w);
}

static void a_walk_begins_again_when_nodes_have_moved(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);
	uint32_t rows;

	publish_pod(w, 1);
	post_from(w, &all_pairs, 1, 1);
	loop_run(w->loop);
	rows = h->rows[0];
	publish_pod(w, 2);
	post_from(w, &all_pairs, 1, 2);
	for (uint16_t lid = 2; lid < 40; lid++)
		post_from(w, &all_pairs, lid, 2);
	work_a_little(w);
	publish_pod(w, 1);
	loop_run(w->loop);
	assert_int_equal(h->count, 40);
	for (unsigned i = 1; i < 40; i++)
		assert_int_equal(h->rows[i], rows);
	unlisten(w);
}

/* ---- Long answers that are written later ----------------------------------------------------- */

#define KEPT_MAX 64

static struct kept {
	struct io_addr to;
	uint8_t head[WIRE_SA_HEADER];
	struct io_body *body;
	size_t len;
} kept[KEPT_MAX];
static unsigned nkept;

static int keep_long(struct io *io, const struct io_addr *to, const uint8_t *head, size_t head_len,
		     struct io_body *body, size_t len)
{
	assert_true(nkept < KEPT_MAX && head_len == WIRE_SA_HEADER && len >= SA_LONG);
	kept[nkept] = (struct kept){ .to = *to, .body = body, .len = len };
	memcpy(kept[nkept++].head, head, head_len);
	body->refs++;
	return 0;
}

static const struct io_ops slow_io_ops = {
	.send = world_send,
	.send_long = keep_long,
	.set_is_sm = world_set_is_sm,
	.free = world_io_free,
};

/* As the writer does, when the fabric is another one already. */
static void write_kept(struct world *w)
{
	for (unsigned i = 0; i < nkept; i++) {
		uint8_t *mad = mem_alloc_unset(kept[i].len, 1);

		memcpy(mad, kept[i].head, WIRE_SA_HEADER);
		memcpy(mad + WIRE_SA_HEADER, kept[i].body->data + WIRE_SA_HEADER,
		       kept[i].len - WIRE_SA_HEADER);
		world_send(&w->io, &kept[i].to, mad, kept[i].len, 0);
		free(mad);
		io_body_unref(kept[i].body);
	}
}

static void a_long_answer_stays_as_it_was_until_it_is_written(void **state)
{
	struct world *w = *state;
	struct heard *h = listen(w);

	publish_pod(w, 1);
	w->io.ops = &slow_io_ops;
	nkept = 0;
	for (uint16_t lid = 1; lid <= 20; lid++)
		post_from(w, &all_pairs, lid, 1000u + lid);
	loop_run(w->loop);
	assert_int_equal(nkept, 20);
	assert_int_equal(h->count, 0);
	assert_true(kept[19].body->refs > 1 && kept[19].body == kept[18].body); /* not copied */
	publish_pod(w, 2);
	post_from(w, &all_lfts, 9, 1);
	loop_run(w->loop);
	assert_int_equal(h->count, 1);
	write_kept(w);
	for (unsigned i = 1; i < h->count; i++) {
		assert_int_equal(h->tid[i], 1000u + h->lid[i]);
		assert_int_equal(h->rows[i], h->rows[1]);
	}
	assert_int_equal(h->refused, 0);
	w->io.ops = &world_io_ops;
	unlisten(w);
}

/* ---- The queue by itself --------------------------------------------------------------------- */

static bool not_two(void *arg, uint16_t lid)
{
	return lid != 2;
}

static void the_same_is_taken_by_what_is_asked_and_who_may_know(void **state)
{
	uint8_t mad[WIRE_MAD_SIZE] = { [3] = WIRE_GET_TABLE }, other[WIRE_MAD_SIZE];
	struct sa_queue queue;
	cl_qlist_t *list = mem_alloc(1, sizeof(*list));

	sa_queue_init(&queue, SA_QUEUE_EACH);
	cl_qlist_init(list);
	for (uint16_t lid = 1; lid <= 4; lid++) {
		mad[8] = (uint8_t)lid; /* transaction ID */
		assert_true(sa_queue_add(&queue, &(struct io_addr){ .lid = lid }, mad));
		assert_false(sa_queue_add(&queue, &(struct io_addr){ .lid = lid }, mad));
	}
	for (unsigned at = 0; at < 4; at++) { /* method, attribute, SM_Key, record */
		static const unsigned places[] = { 3, 16, 40, 255 };

		memcpy(other, mad, sizeof(other));
		other[8] = 9;
		other[places[at]] ^= 1;
		other[9] = (uint8_t)at;
		assert_true(sa_queue_add(&queue, &(struct io_addr){ .lid = 1 }, other));
	}
	sa_queue_take_same(&queue, mad, list, not_two, NULL);
	assert_int_equal(cl_qlist_count(list), 3);
	assert_int_equal(queue.count, 1 + 4);
	while (cl_qlist_count(list))
		free(cl_qlist_remove_head(list));
	free(list);
	sa_queue_clear(&queue);
	assert_int_equal(queue.count, 0);
}

/* One asks for whole tables, the other for one row each. */
static void turns_go_by_the_work_that_requests_make(void **state)
{
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	unsigned served[3] = { 0 };
	struct sa_queue queue;

	sa_queue_init(&queue, SA_LATE_EACH);
	for (unsigned i = 0; i < SA_LATE_EACH; i++) {
		mad[8] = (uint8_t)i;
		for (uint16_t lid = 1; lid <= 2; lid++)
			assert_true(sa_queue_add(&queue, &(struct io_addr){ .lid = lid }, mad));
	}
	assert_false(sa_queue_add(&queue, &(struct io_addr){ .lid = 1 }, mad));
	assert_true(sa_queue_is_full(&queue, 2));
	for (unsigned i = 0; i < 110; i++) {
		struct sa_waiting *request = sa_queue_take(&queue, NULL, NULL);
		uint16_t lid = request->from.lid;

		served[lid]++;
		sa_queue_charge(&queue, lid, lid == 1 ? 10 * SA_QUANTUM : 1);
		free(request);
	}
	assert_in_range(served[1], 9, 12);
	sa_queue_clear(&queue);
}

static void the_queue_is_bounded(void **state)
{
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct sa_queue queue;
	unsigned taken = 0;

	sa_queue_init(&queue, SA_QUEUE_EACH);
	for (unsigned lid = 1; lid <= 2000; lid++)
		for (unsigned i = 0; i < 40; i++) {
			mad[8] = (uint8_t)i;
			taken += sa_queue_add(&queue, &(struct io_addr){ .lid = (uint16_t)lid },
					      mad);
		}
	assert_int_equal(taken, SA_QUEUE_MAX);
	sa_queue_clear(&queue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_who_ask_for_long_are_answered_with_the_same),
		TEST(a_request_that_is_repeated_is_answered_once),
		TEST(who_asks_once_does_not_wait_for_all_of_who_asks_often),
		TEST(what_the_queue_has_no_room_for_stays_unanswered),
		TEST(a_long_answer_stays_as_it_was_until_it_is_written),
		TEST(what_waits_is_forgotten_with_the_role),
		TEST(a_walk_goes_on_when_only_ports_differ),
		TEST(a_walk_begins_again_when_nodes_have_moved),
		cmocka_unit_test(the_same_is_taken_by_what_is_asked_and_who_may_know),
		cmocka_unit_test(turns_go_by_the_work_that_requests_make),
		cmocka_unit_test(the_queue_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
