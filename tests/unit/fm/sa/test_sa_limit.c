/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests of one host above sa_rate_limit are served when there is time; the others never notice,
 * and one event an hour says whose requests were dropped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/conf/conf.h"
#include "fm/loop/log.h"
#include "fm/sa/sa_query.h"
#include "tests/lib/sa_ask.h"

#define SECOND_US 1000000ull

/* How many of so many requests are answered. */
static unsigned flood(struct world *w, guid_t host, unsigned requests)
{
	const struct world_request r = { .method = WIRE_GET,
					 .attr = WIRE_SA_CLASS_PORT_INFO,
					 .from = world_lid(w, host) };

	unsigned answered = 0;

	for (unsigned i = 0; i < requests; i++)
		answered += world_ask(w, &r);
	return answered;
}

/* All at once: what is answered before the loop has its turn. */
static unsigned burst(struct world *w, guid_t host, unsigned requests)
{
	static uint64_t tid;
	struct wire_mad header = { .mgmt_class = WIRE_SA,
				   .class_version = 2,
				   .method = WIRE_GET,
				   .attr_id = WIRE_SA_CLASS_PORT_INFO };
	const struct io_addr from = { .lid = world_lid(w, host), .qp = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	unsigned before = w->nsent;

	for (unsigned i = 0; i < requests; i++) {
		header.tid = ++tid;
		wire_mad_encode(&header, mad);
		w->io.recv(w->io.arg, &from, mad, sizeof(mad));
	}
	return w->nsent - before;
}

static void an_idle_sa_serves_a_lone_client_at_full_speed(void **state)
{
	struct world *w = *state;

	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX, .rate_limit = 1000 });
	assert_int_equal(flood(w, HOST(1), 5000), 5000);
	for (unsigned i = 0; i < 100; i++) { /* with 64 in flight, without a turn of the loop */
		assert_int_equal(burst(w, HOST(1), 64), 64);
		loop_run(w->loop);
	}
	assert_int_equal(sa_stats(w->sa).busy, 0);
}

static void who_floods_waits_for_time_and_others_do_not(void **state)
{
	struct world *w = *state;
	unsigned before, served;

	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX, .rate_limit = 1000 });
	served = burst(w, HOST(1), 5000);
	assert_in_range(served, 100, 600); /* a tenth of a second's worth, and what time there is */
	assert_int_equal(sa_stats(w->sa).waiting, SA_LATE_EACH);
	assert_int_equal(sa_stats(w->sa).busy, 5000 - served - SA_LATE_EACH);
	assert_int_equal(burst(w, HOST(1), 64), 0); /* while it waits */
	for (unsigned host = 2; host < 6; host++)
		assert_int_equal(burst(w, HOST(host), 100), 100);
	before = w->nsent;
	loop_run(w->loop);
	assert_int_equal(w->nsent - before, SA_LATE_EACH);
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX });
	assert_int_equal(burst(w, HOST(1), 5000), 5000); /* without a limit */
}

static void tick_cb(void *arg)
{
	loop_stop(arg);
}

static void who_keeps_to_the_rate_is_always_served(void **state)
{
	struct world *w = *state;
	const struct sa_conf conf = { .gid_prefix = WORLD_PREFIX, .rate_limit = 1000 };
	struct loop_timer *tick = loop_timer_new(w->loop, tick_cb, w->loop);
	unsigned served = 0;

	sa_configure(w->sa, &conf);
	flood(w, HOST(1), 500); /* its burst is spent */
	for (unsigned i = 0; i < 300; i++) {
		loop_timer_set(tick, 1000);
		loop_run(w->loop);
		served += flood(w, HOST(1), 1);
	}
	assert_int_equal(served, 300);
	loop_timer_free(tick);
}

static void wait_us(struct world *w, struct loop_timer *tick, uint64_t us)
{
	loop_timer_set(tick, us);
	loop_run(w->loop);
}

struct reports_seen {
	unsigned count;
	char latest[256];
};

static void reported(void *arg, const struct event_subject *subject, const char *text)
{
	struct reports_seen *t = arg;

	t->count++;
	snprintf(t->latest, sizeof(t->latest), "%s", text);
}

static void the_default_limit_holds_and_is_logged_once_an_hour_for_each_host(void **state)
{
	struct world *w = *state;
	struct loop_timer *tick = loop_timer_new(w->loop, tick_cb, w->loop);
	struct reports_seen heard = { 0 };
	struct conf conf;

	conf_default(&conf);
	assert_in_range(conf.sa.rate_limit, 1, 50000); /* below what the SA serves in all */
	sa_configure(w->sa, &(struct sa_conf){ .gid_prefix = WORLD_PREFIX,
					       .rate_limit = (unsigned)conf.sa.rate_limit });
	sa_listen(w->sa, &(struct sa_listener){ .reported = reported, .arg = &heard });
	assert_in_range(burst(w, HOST(1), 10000), 1, (unsigned)conf.sa.rate_limit);
	loop_run(w->loop);
	assert_int_equal(heard.count, 1);
	assert_non_null(strstr(heard.latest, "sa_rate_limit"));
	for (unsigned i = 0; i < 59; i++) {
		wait_us(w, tick, 60 * SECOND_US);
		burst(w, HOST(1), 10000);
		loop_run(w->loop);
	}
	assert_int_equal(heard.count, 1);
	burst(w, HOST(2), 10000);
	assert_int_equal(heard.count, 2);
	wait_us(w, tick, 61 * SECOND_US);
	burst(w, HOST(1), 10000);
	assert_int_equal(heard.count, 3);
	sa_listen(w->sa, &(struct sa_listener){ 0 });
	loop_timer_free(tick);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_idle_sa_serves_a_lone_client_at_full_speed),
		TEST(who_floods_waits_for_time_and_others_do_not),
		TEST(who_keeps_to_the_rate_is_always_served),
		TEST(the_default_limit_holds_and_is_logged_once_an_hour_for_each_host),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
