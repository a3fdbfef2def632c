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
#include "fm/state/state_copy.h"
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

static void a_spoilt_file_of_subscriptions_has_hosts_register_anew(void **state)
{
	struct room r;
	char path[64];
	FILE *out;

	begin(&r, *state);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	fake_pipe_restart(&r.f);
	snprintf(path, sizeof(path), "%s/subscriptions", r.f.folder);
	out = fopen(path, "w");
	fputs("nothing of the kind\n", out);
	fclose(out);
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
	char path[64];

	begin(&r, *state);
	snprintf(path, sizeof(path), "%s/sa_key", r.f.folder);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_true(is_key(&r, 1));
	r.f.conf.sm.mkey = 0x1234;
	r.f.module->configure(r.f.room);
	assert_false(is_key(&r, 1));
	fake_pipe_restart(&r.f);
	assert_int_equal(access(path, F_OK), 0);
	r.f.conf.sa.key = 77;
	r.f.module->configure(r.f.room);
	assert_true(is_key(&r, 77));
	fake_pipe_fini(&r.f);
}

/* As a standby has it whose master needed none. */
static void an_empty_file_of_a_key_is_none(void **state)
{
	struct room r;

	begin(&r, *state);
	state_store_put(r.f.services.state, "sa_key", "", 0);
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
		TEST(a_spoilt_file_of_subscriptions_has_hosts_register_anew),
		TEST(an_empty_file_of_a_key_is_none),
		TEST(a_key_is_made_where_the_known_one_would_not_do_and_is_kept),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
