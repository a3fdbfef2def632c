/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests of one host above sa_rate_limit are not answered; the others never notice, and one event
 * an hour says who it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/conf/conf.h"
#include "fm/loop/log.h"
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

static void one_host_that_floods_is_not_answered_and_others_are(void **state)
{
	struct world *w = *state;
	struct sa_conf conf = { .gid_prefix = WORLD_PREFIX,
				.sa_key = WORLD_SM_KEY,
				.rate_limit = 1000 };

	sa_configure(w->sa, &conf);
	assert_int_equal(flood(w, HOST(1), 5000), 100); /* a tenth of a second's worth */
	assert_int_equal(sa_stats(w->sa).busy, 4900);
	assert_int_equal(flood(w, HOST(2), 100), 100);
	conf.rate_limit = 0;
	sa_configure(w->sa, &conf);
	assert_int_equal(flood(w, HOST(1), 5000), 5000);
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
	assert_in_range(flood(w, HOST(1), 10000), 1, (unsigned)conf.sa.rate_limit);
	assert_int_equal(heard.count, 1);
	assert_non_null(strstr(heard.latest, "sa_rate_limit"));
	for (unsigned i = 0; i < 59; i++) {
		wait_us(w, tick, 60 * SECOND_US);
		flood(w, HOST(1), 10000);
	}
	assert_int_equal(heard.count, 1);
	flood(w, HOST(2), 10000);
	assert_int_equal(heard.count, 2);
	wait_us(w, tick, 61 * SECOND_US);
	flood(w, HOST(1), 10000);
	assert_int_equal(heard.count, 3);
	sa_listen(w->sa, &(struct sa_listener){ 0 });
	loop_timer_free(tick);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_host_that_floods_is_not_answered_and_others_are),
		TEST(who_keeps_to_the_rate_is_always_served),
		TEST(the_default_limit_holds_and_is_logged_once_an_hour_for_each_host),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
