/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What subnet administration keeps, and what it asks of the pipe: the room alone, with a pipe that
 * only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/sa/module.h"
#include "tests/lib/sa_ask.h"
#include "tests/lib/fake_pipe.h"

/* The room beside the SA of a small fabric; nothing is published by it yet. */
struct room {
	struct world *w;
	struct fabric f;
};

static void begin(struct room *r, struct world *w)
{
	r->w = w;
	fake_pipe_init_sa(&r->f, &sa_module, NULL, w->mad, w->sa);
}

static void hosts_register_anew_where_subscriptions_are_not_known_and_only_there(void **state)
{
	struct room r;

	begin(&r, *state);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	assert_int_equal(r.f.asked.reregisters, 1);
	fake_pipe_restart(&r.f);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	assert_int_equal(r.f.asked.reregisters, 1);
	assert_int_equal(r.f.lost, 0);
	fake_pipe_fini(&r.f);
}

static void spoilt_subscriptions_have_hosts_register_anew(void **state)
{
	struct room r;

	begin(&r, *state);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	state_flush(r.f.services.state);
	fake_pipe_end(&r.f);
	rows_replace(r.f.folder, "subscriptions", "nothing of the kind\n");
	fake_pipe_begin(&r.f);
	r.f.asked.reregisters = 0;
	r.f.module->load(r.f.room, FABRIC_LOAD);
	assert_int_equal(r.f.lost, 1);
	assert_int_equal(r.f.asked.reregisters, 1);
	fake_pipe_fini(&r.f);
}

/* A request with the key of another is not answered. */
static bool is_key(struct room *r, uint64_t key)
{
	const struct world_request ask = { .method = WIRE_GET,
					   .attr = WIRE_SA_CLASS_PORT_INFO,
					   .sm_key = key };

	return world_ask(r->w, &ask) == 1;
}

static void a_key_is_made_where_the_known_one_would_not_do_and_is_kept(void **state)
{
	struct room r;
	char *before, *after;

	begin(&r, *state);
	assert_true(is_key(&r, 1));
	r.f.conf.sm.mkey = 0x1234;
	r.f.module->configure(r.f.room);
	assert_false(is_key(&r, 1));
	state_flush(r.f.services.state);
	before = rows_known(r.f.services.state, "sa_key");
	assert_string_not_equal(before, "");
	fake_pipe_restart(&r.f);
	after = rows_known(r.f.services.state, "sa_key");
	assert_string_equal(after, before);
	r.f.module->configure(r.f.room);
	assert_false(is_key(&r, 1));
	r.f.conf.sa.key = 77;
	r.f.module->configure(r.f.room);
	assert_true(is_key(&r, 77));
	free(before);
	free(after);
	fake_pipe_fini(&r.f);
}

/* As a standby has it whose master needed none. */
static void a_kind_of_keys_without_any_is_no_loss(void **state)
{
	struct room r;

	begin(&r, *state);
	fake_take(&r.f, "sa_key", "");
	r.f.conf.sm.mkey = 0x1234;
	r.f.module->configure(r.f.room);
	assert_false(is_key(&r, 1));
	assert_int_equal(r.f.lost, 0);
	fake_pipe_fini(&r.f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sa_setup, sa_teardown)
	const struct CMUnitTest tests[] = {
		TEST(hosts_register_anew_where_subscriptions_are_not_known_and_only_there),
		TEST(spoilt_subscriptions_have_hosts_register_anew),
		TEST(a_kind_of_keys_without_any_is_no_loss),
		TEST(a_key_is_made_where_the_known_one_would_not_do_and_is_kept),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
