/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RMPP between two kernels on the fabric double: whole messages, windows, what is lost, aborts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "tests/lib/kernel_world.h"

#define HEADER 56 /* of the SA's class */
#define ROOM   200
#define TID    9
#define ACK_US 2000000

struct pair {
	struct kernel_world w;
	struct kernel_end sa, host;
	int sa_agent, host_agent;
	uint8_t *message;
	size_t len;
	uint64_t random;
};

static void pair_init(struct pair *p)
{
	*p = (struct pair){ .random = 1 };
	kernel_world_init(&p->w);
	kernel_end_open(&p->w, &p->sa, H1);
	kernel_end_open(&p->w, &p->host, H2);
	p->sa_agent =
		kernel_end_register(&p->sa, WIRE_SA, 1u << WIRE_GET | 1u << WIRE_GET_TABLE, 1);
	p->host_agent = kernel_end_register(&p->host, WIRE_SA, 0, 1);
}

static void pair_fini(struct pair *p)
{
	kernel_end_close(&p->sa);
	kernel_end_close(&p->host);
	kernel_world_fini(&p->w);
	free(p->message);
}

static uint8_t random_byte(struct pair *p)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint8_t)(p->random >> 33);
}

/* Of the request's header, and random data. */
static void message_make(struct pair *p, size_t data)
{
	p->len = HEADER + data;
	p->message = mem_resize(p->message, p->len, 1);
	memset(p->message, 0, HEADER);
	memcpy(p->message, p->sa.mad, 24);
	p->message[3] |= 0x80;
	p->message[24] = 1; /* RMPP: version, data, active */
	p->message[25] = 1;
	p->message[26] = 1;
	for (size_t i = HEADER; i < p->len; i++)
		p->message[i] = random_byte(p);
}

static void sa_deliver(void *arg, const struct ib_user_mad *head, const uint8_t *mad, size_t len)
{
	end_deliver(arg, head, mad, len);
}

/* The host asks for a table. */
static void host_asks(struct pair *p, uint32_t tid, unsigned timeout_ms)
{
	assert_int_equal(
		kernel_ask_sa(&p->host, p->host_agent, LID_H1, WIRE_GET_TABLE, tid, timeout_ms), 0);
}

static int sa_sends(struct pair *p, unsigned timeout_ms, unsigned retries)
{
	struct ib_user_mad head = p->sa.head;

	head.timeout_ms = timeout_ms;
	head.retries = retries;
	return kfile_write(p->sa.f, &head, p->message, p->len);
}

/* The answer is written when the request is there: an SA that is quick. */
struct quick {
	struct pair *p;
	size_t data;
	unsigned timeout_ms, retries;
};

static struct quick quick; /* what sa_answers() does */

static void sa_answers(void *arg, const struct ib_user_mad *head, const uint8_t *mad, size_t len)
{
	sa_deliver(arg, head, mad, len);
	if (head->status || mad_is_response(mad))
		return;
	message_make(quick.p, quick.data);
	assert_int_equal(sa_sends(quick.p, quick.timeout_ms, quick.retries), 0);
}

static const struct kfile_ops quick_ops = { .deliver = sa_answers, .gone = end_gone };

static void sa_is_quick(struct pair *p, size_t data, unsigned timeout_ms, unsigned retries)
{
	quick = (struct quick){ p, data, timeout_ms, retries };
	p->sa.f->ops = &quick_ops;
}

static void assert_arrived(const struct pair *p)
{
	assert_int_equal(p->host.got, 1);
	assert_int_equal(p->host.head.status, 0);
	assert_int_equal(p->host.len, p->len);
	assert_int_equal(p->host.head.length, sizeof(p->host.head) + p->len);
	assert_memory_equal(p->host.mad + HEADER, p->message + HEADER, p->len - HEADER);
}

static void messages_of_any_length_arrive_whole(void **state)
{
	static const size_t lengths[] = { 0,	     1,		 ROOM - 1,
					  ROOM,	     ROOM + 1,	 2 * ROOM,
					  64 * ROOM, 65 * ROOM,	 65 * ROOM + 1,
					  66 * ROOM, 129 * ROOM, 130 * ROOM,
					  4096 * 112 };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct pair p;

		pair_init(&p);
		sa_is_quick(&p, lengths[i], 0, 3);
		host_asks(&p, TID, 1000);
		loop_run(p.w.base.loop);
		assert_arrived(&p);
		assert_int_equal(p.sa.got,
				 1); /* nothing is handed back of an answer that was sent */
		assert_int_equal(kernel_counts(p.w.k)->rmpp_resent, 0);
		pair_fini(&p);
	}
}

static void no_more_is_sent_than_the_window_allows(void **state)
{
	struct pair p;
	uint64_t before;

	pair_init(&p);
	host_asks(&p, TID, 10);
	loop_run(p.w.base.loop); /* by then the host does not wait any more */
	assert_int_equal(p.host.head.status, ETIMEDOUT);
	double_cut(p.w.base.d, H2, 1);
	message_make(&p, 1000 * ROOM);
	before = kernel_counts(p.w.k)->sent;
	assert_int_equal(sa_sends(&p, 0, 0), 0);
	assert_int_equal(kernel_counts(p.w.k)->sent - before,
			 1); /* the first waits for its acknowledgement */
	pair_fini(&p);
}

static void what_is_lost_either_way_is_sent_again(void **state)
{
	for (unsigned round = 0; round < 20; round++) {
		struct pair p;

		pair_init(&p);
		p.w.base.d->random = round + 1;
		sa_is_quick(&p, 4096 * 112, 200, 15);
		kernel_set_loss(p.w.k, 5); /* at both ends: 1% each way */
		host_asks(&p, TID, 30000);
		loop_run(p.w.base.loop);
		if (p.host.head.status) /* the request itself was lost */
			assert_int_equal(p.sa.got, 0);
		else
			assert_arrived(&p);
		pair_fini(&p);
	}
}

static void an_answer_that_nobody_acknowledges_is_handed_back(void **state)
{
	struct pair p;
	uint64_t begun;

	pair_init(&p);
	host_asks(&p, TID, 10);
	loop_run(p.w.base.loop);
	double_cut(p.w.base.d, H2, 1);
	message_make(&p, 3 * ROOM);
	begun = loop_now_us(p.w.base.loop);
	assert_int_equal(sa_sends(&p, 0, 2), 0);
	loop_run(p.w.base.loop);
	assert_int_equal(p.sa.got, 2);
	assert_int_equal(p.sa.head.status, ETIMEDOUT);
	assert_int_equal(p.sa.len, KERNEL_MAD_HEADER);
	assert_int_equal(loop_now_us(p.w.base.loop) - begun, 3 * ACK_US);
	pair_fini(&p);
}

static void an_answer_with_a_timeout_is_sent_again_sooner(void **state)
{
	struct pair p;
	uint64_t begun;

	pair_init(&p);
	host_asks(&p, TID, 10);
	loop_run(p.w.base.loop);
	double_cut(p.w.base.d, H2, 1);
	message_make(&p, 3 * ROOM);
	begun = loop_now_us(p.w.base.loop);
	assert_int_equal(sa_sends(&p, 100, 2), 0);
	loop_run(p.w.base.loop);
	assert_int_equal(p.sa.head.status, ETIMEDOUT);
	assert_int_equal(loop_now_us(p.w.base.loop) - begun, 3 * 100000);
	pair_fini(&p);
}

/* It acknowledges nothing any more. */
static void host_forgets(struct pair *p)
{
	assert_int_equal(kfile_unregister(p->host.f, (unsigned)p->host_agent), 0);
}

/* An RMPP segment of the host's own making. */
static void host_segment(struct pair *p, uint8_t type, uint8_t version, uint8_t status,
			 uint32_t segment, uint32_t window)
{
	struct io_addr to = { .lid = LID_H1, .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	memcpy(mad, p->sa.mad, 24);
	mad[24] = version;
	mad[25] = type;
	mad[26] = 1;
	mad[27] = status;
	put32(mad + 28, segment);
	put32(mad + 32, window);
	net_send(p->w.base.d, double_port(p->w.base.d, H2, 1), &to, mad, sizeof(mad));
}

static void an_abort_ends_the_answer(void **state)
{
	struct pair p;

	pair_init(&p);
	host_asks(&p, TID, 10);
	loop_run(p.w.base.loop);
	host_forgets(&p);
	message_make(&p, 30 * ROOM);
	assert_int_equal(sa_sends(&p, 0, 20), 0);
	host_segment(&p, 4, 1, 118, 0, 0);
	loop_run(p.w.base.loop);
	assert_int_equal(p.sa.got, 1); /* aborted is not handed back */
	assert_null(p.w.k->agents[0]->sends);
	assert_int_equal(kernel_counts(p.w.k)->rmpp_aborted, 1);
	pair_fini(&p);
}

static void acknowledgements_that_make_no_sense_abort_both_ends(void **state)
{
	static const struct {
		uint8_t version, type, status;
		uint32_t segment, window;
	} wrong[] = {
		{ 2, 2, 0, 1, 65 }, /* version */
		{ 1, 9, 0, 1, 65 }, /* type */
		{ 1, 2, 5, 1, 65 }, /* status */
		{ 1, 2, 0, 8, 7 },  /* a window that is behind */
		{ 1, 2, 0, 40, 65 } /* of a segment that was not sent */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct pair p;

		pair_init(&p);
		host_asks(&p, TID, 10);
		loop_run(p.w.base.loop);
		host_forgets(&p);
		message_make(&p, 30 * ROOM);
		assert_int_equal(sa_sends(&p, 0, 20), 0);
		host_segment(&p, wrong[i].type, wrong[i].version, wrong[i].status, wrong[i].segment,
			     wrong[i].window);
		loop_run(p.w.base.loop);
		assert_null(p.w.k->agents[0]->sends);
		assert_int_equal(kernel_counts(p.w.k)->rmpp_aborted, 2);
		pair_fini(&p);
	}
}

static void a_message_that_never_ends_is_aborted(void **state)
{
	struct pair p;

	pair_init(&p);
	sa_is_quick(&p, 4096 * 112, 0, 100);
	host_asks(&p, TID, 100);
	loop_run(p.w.base.loop);
	assert_arrived(&p);
	pair_fini(&p);

	pair_init(&p);
	sa_is_quick(&p, 4096 * 112, 0, 100);
	kernel_set_loss(p.w.k, 300);
	while (!p.sa.got) { /* the request may be lost too */
		host_asks(&p, TID, 100);
		loop_run(p.w.base.loop);
	}
	assert_true(kernel_counts(p.w.k)->rmpp_aborted > 0); /* 40 s are not enough for that */
	pair_fini(&p);
}

static void an_agent_with_rmpp_of_its_own_gets_segments(void **state)
{
	const struct kernel_reg reg = { .mgmt_class = WIRE_SA,
					.class_version = 2,
					.qpn = 1,
					.rmpp_version = 1,
					.user_rmpp = true };
	struct pair p;

	pair_init(&p);
	p.host_agent = kfile_register(p.host.f, &reg);
	sa_is_quick(&p, 3 * ROOM, 0, 0);
	host_asks(&p, TID, 1000);
	loop_run(p.w.base.loop);
	assert_int_equal(p.host.got, 1); /* the first: it is not acknowledged */
	assert_int_equal(p.host.len, WIRE_MAD_SIZE);
	assert_int_equal(get32(p.host.mad + 28), 1);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_any_length_arrive_whole),
		cmocka_unit_test(no_more_is_sent_than_the_window_allows),
		cmocka_unit_test(what_is_lost_either_way_is_sent_again),
		cmocka_unit_test(an_answer_that_nobody_acknowledges_is_handed_back),
		cmocka_unit_test(an_answer_with_a_timeout_is_sent_again_sooner),
		cmocka_unit_test(an_abort_ends_the_answer),
		cmocka_unit_test(acknowledgements_that_make_no_sense_abort_both_ends),
		cmocka_unit_test(a_message_that_never_ends_is_aborted),
		cmocka_unit_test(an_agent_with_rmpp_of_its_own_gets_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
