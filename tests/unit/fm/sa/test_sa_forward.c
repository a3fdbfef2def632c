/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a manager that is not master does with requests: it asks the master, for who asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_mcast_ask.h"

#define MASTER_LID 77

static uint8_t forwarded[WIRE_MAD_SIZE];
static unsigned times;

static void keep(struct world *w, const struct io_addr *to, const uint8_t *mad)
{
	if (to->lid != MASTER_LID)
		return;
	memcpy(forwarded, mad, sizeof(forwarded));
	times++;
}

/* A manager without a view; what it asks of MASTER_LID is in `forwarded`. */
static struct world *standby_new(void)
{
	struct world *s = world_new();

	times = 0;
	s->hook = keep;
	return s;
}

/* A host's request to create a group with a port as its member. */
static void ask_join(struct world *s, uint16_t lid, guid_t member, uint64_t key)
{
	const struct wire_mcmember record = member_record(member);
	const struct io_addr from = { .lid = lid, .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&(struct wire_mad){ .mgmt_class = WIRE_SA,
					    .class_version = 2,
					    .method = WIRE_SET,
					    .tid = key + member,
					    .attr_id = WIRE_SA_MCMEMBER,
					    .key = key },
			mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)(MASK_NEW >> (56 - 8 * i));
	wire_mcmember_encode(&record, mad + WIRE_SA_HEADER);
	s->io.recv(s->io.arg, &from, mad, sizeof(mad));
}

/* The master gets what was forwarded; the status of its answer, or -1 for none. */
static int serve(struct world *m)
{
	const struct io_addr from = { .lid = world_lid(m, HOST(3)), .qp = 1 };
	unsigned before = m->nsent;

	m->io.recv(m->io.arg, &from, forwarded, sizeof(forwarded));
	return m->nsent == before ? -1 : world_status(m);
}

/* Runs the standby's loop until it has asked. */
static void run_shortly(struct world *s)
{
	struct loop_timer *stop = loop_timer_new(s->loop, (loop_fn *)loop_stop, s->loop);

	loop_timer_set(stop, 1000);
	loop_run(s->loop);
	loop_timer_free(stop);
}

static void a_standby_asks_its_master_and_hands_the_answer_back(void **state)
{
	struct world *m = *state, *s = standby_new();
	const struct io_addr master = { .lid = MASTER_LID, .qp = 1 };
	uint16_t host = world_lid(m, HOST(1));
	uint8_t tid[8];
	unsigned before;

	sa_forward(s->sa, MASTER_LID, 0);
	ask_join(s, host, HOST(1), 0);
	run_shortly(s);
	assert_int_equal(times, 1);
	assert_int_equal(sa_stats(s->sa).waiting, 1);
	assert_int_equal(serve(m), WIRE_SA_OK);
	before = s->nsent;
	s->io.recv(s->io.arg, &master, m->sent, m->sent_len);
	run_shortly(s);
	assert_int_equal(s->nsent, before + 1);
	assert_int_equal(s->sent_to.lid, host);
	assert_int_equal(s->sent[3], WIRE_GET_RESP);
	assert_int_equal(world_status(s), WIRE_SA_OK);
	memset(tid, 0, sizeof(tid));
	assert_memory_equal(s->sent + 28, tid, 4); /* nothing of the forwarding is left */
	assert_memory_equal(s->sent + WIRE_SA_HEADER, m->sent + WIRE_SA_HEADER, WIRE_MCMEMBER_SIZE);
	assert_int_equal(sa_stats(s->sa).waiting, 0);
	world_free(s);
}

static void a_master_that_does_not_answer_yet_is_asked_again_and_a_repeated_request_is_one(
	void **state)
{
	struct world *m = *state, *s = standby_new();

	sa_forward(s->sa, MASTER_LID, 0);
	ask_join(s, world_lid(m, HOST(1)), HOST(1), 0);
	ask_join(s, world_lid(m, HOST(1)), HOST(1), 0);
	assert_int_equal(sa_stats(s->sa).waiting, 1);
	loop_run(s->loop);
	assert_in_range(times, 30, 50);
	assert_int_equal(sa_stats(s->sa).waiting, 0); /* who asked has given up, too */
	assert_int_equal(sa_stats(s->sa).ignored, 1);
	world_free(s);
}

static void what_changes_something_waits_while_the_fabric_is_handed_over(void **state)
{
	struct world *w = *state;
	uint16_t host = world_lid(w, HOST(1));

	times = 0;
	w->hook = keep;
	sa_freeze(w->sa, true);
	ask_join(w, host, HOST(1), 0);
	run_shortly(w);
	assert_int_equal(times, 0);
	sa_forward(w->sa, MASTER_LID, 0);
	run_shortly(w);
	assert_int_equal(times, 1);
	sa_forward(w->sa, 0, 0);
	sa_freeze(w->sa, false); /* the other did not take it */
	assert_int_equal(sa_stats(w->sa).waiting, 0);
	assert_int_equal(world_ask(w, &(struct world_request){ .method = WIRE_GET_TABLE,
							       .attr = WIRE_SA_NODE }),
			 1);
}

static void a_forwarded_request_may_what_the_port_may_that_asked(void **state)
{
	struct world *m = *state, *s = standby_new();

	sa_forward(s->sa, MASTER_LID, 0);
	ask_join(s, world_lid(m, HOST(1)), HOST(2), 0); /* another port's */
	run_shortly(s);
	assert_int_equal(serve(m), WIRE_SA_REQ_INVALID);
	ask_join(s, world_lid(m, HOST(1)), HOST(2), WORLD_SM_KEY); /* by who has the key */
	run_shortly(s);
	assert_int_equal(times, 2);
	assert_int_equal(serve(m), WIRE_SA_OK);
	world_free(s);
}

static void nobody_speaks_for_another_port_without_the_key(void **state)
{
	struct world *m = *state, *s = standby_new();
	uint64_t bad = sa_stats(m->sa).bad;

	sa_forward(s->sa, MASTER_LID, 0);
	ask_join(s, world_lid(m, HOST(1)), HOST(1), 0);
	run_shortly(s);
	forwarded[31] ^= 1; /* the LID */
	assert_int_equal(serve(m), -1);
	forwarded[31] ^= 1;
	forwarded[36] ^= 1; /* the key */
	assert_int_equal(serve(m), -1);
	assert_int_equal(sa_stats(m->sa).bad, bad + 2);
	memset(forwarded + 36, 0, 8);
	assert_int_equal(serve(m), WIRE_SA_REQ_INVALID); /* as the sender's own */
	world_free(s);
}

static void what_was_forwarded_is_not_forwarded_again(void **state)
{
	struct world *m = *state, *s = standby_new(), *t = standby_new();

	sa_forward(s->sa, MASTER_LID, 0);
	sa_forward(t->sa, MASTER_LID, 0);
	ask_join(s, world_lid(m, HOST(1)), HOST(1), 0);
	run_shortly(s);
	times = 0;
	t->io.recv(t->io.arg, &(struct io_addr){ .lid = 9, .qp = 1 }, forwarded, sizeof(forwarded));
	loop_run(t->loop);
	assert_int_equal(times, 0);
	world_free(s);
	world_free(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_standby_asks_its_master_and_hands_the_answer_back),
		TEST(a_master_that_does_not_answer_yet_is_asked_again_and_a_repeated_request_is_one),
		TEST(what_changes_something_waits_while_the_fabric_is_handed_over),
		TEST(a_forwarded_request_may_what_the_port_may_that_asked),
		TEST(nobody_speaks_for_another_port_without_the_key),
		TEST(what_was_forwarded_is_not_forwarded_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
