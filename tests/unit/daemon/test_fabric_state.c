/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A state_dir that can't be written: what was asked for is in force, whoever asked is told, and it
 * is written when it can be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/resource.h>
#include "fm/nvswitch/module.h"
#include "tests/lib/fabric_world.h"

#define DATABASE "state_dir/state.db"
#define FULL	 "not saved: File too large"
#define GONE	 "not saved: No such file or directory"

/* No file takes a byte, or each as before. */
static void fill_disk(bool full)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = full ? 0 : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static bool disk_has(const struct world *w, const char *kind, const char *text)
{
	char *rows = disk_lines(w, kind);
	bool found = strstr(rows, text) != NULL;

	free(rows);
	return found;
}

/* The error of a trouble, "" = there is none; the caller frees it. */
static char *trouble(const struct world *w, const char *what)
{
	json_t *status = fabric_status(w->fabric), *it;
	const char *error = "";
	char *copy;
	size_t i;

	json_array_foreach (json_object_get(status, "troubles"), i, it)
		if (!strcmp(json_string_value(json_object_get(it, "what")), what))
			error = json_string_value(json_object_get(it, "error"));
	copy = mem_strdup(error);
	json_decref(status);
	return copy;
}

static void assert_trouble(const struct world *w, const char *what, const char *error)
{
	char *found = trouble(w, what);

	assert_string_equal(found, error);
	free(found);
}

static const char *not_saved(const struct reply *r)
{
	const char *why = json_string_value(json_object_get(r->result, "not_saved"));

	assert_string_equal(r->error, "");
	return why ? why : "";
}

static void cordon_on_a_full_disk_is_in_force_and_reported_as_not_saved(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	fill_disk(true);
	struct reply r = cordon(&w, "spine-01", true);
	assert_string_equal(not_saved(&r), FULL);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_trouble(&w, DATABASE, FULL);
	fill_disk(false); /* there is room again.. */
	assert_int_equal(count_logged(&w, "trouble", ""), 1);
	assert_false(disk_has(&w, "cordons", "0x"));
	json_decref(r.result);
	run_for(&w, 11 * SECOND_US); /* ..and it is tried again */
	assert_trouble(&w, DATABASE, "");
	assert_int_equal(count_logged(&w, "trouble-over", ""), 1);
	assert_true(disk_has(&w, "cordons", "0x"));
	r = cordon(&w, "spine-01", false);
	assert_string_equal(not_saved(&r), "");
	assert_false(disk_has(&w, "cordons", "0x"));
	json_decref(r.result);
	world_fini(&w);
}

static void every_answer_says_that_the_folder_is_gone_and_one_event_does(void **state)
{
	struct world w;
	char away[80];

	world_init(&w, pod(1));
	run_for(&w, 20 * SECOND_US);
	snprintf(away, sizeof(away), "%s-away", w.state_dir);
	assert_int_equal(rename(w.state_dir, away), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct reply r = cordon(&w, "spine-02", i != 1);

		assert_string_equal(not_saved(&r), GONE);
		json_decref(r.result);
	}
	struct reply r = { 0 };
	nvlink_set(w.fabric, "dgx-su01-05", "NO_P2P", -1, reply_cb, &r);
	run_for(&w, SECOND_US);
	assert_int_equal(r.count, 1);
	assert_string_equal(not_saved(&r), GONE);
	json_decref(r.result);
	run_for(&w, 60 * SECOND_US); /* tried again, to no avail */
	assert_trouble(&w, DATABASE, GONE);
	assert_int_equal(count_logged(&w, "trouble", ""), 1);
	assert_int_equal(rename(away, w.state_dir), 0);
	run_for(&w, 11 * SECOND_US);
	assert_trouble(&w, DATABASE, "");
	assert_true(disk_has(&w, "nvswitch", "dgx-su01-05"));
	assert_true(disk_has(&w, "cordons", "0x"));
	assert_true(disk_has(&w, "lids", "0x"));
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	world_fini(&w);
}

/* Not each change tries a disk that has just refused one. */
static void a_disk_that_refuses_is_tried_once_in_retry_interval(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	run_for(&w, 20 * SECOND_US);
	fill_disk(true);
	json_decref(cordon(&w, "spine-02", true).result);
	fill_disk(false);
	for (unsigned i = 0; i < 5; i++) {
		struct reply r = cordon(&w, "spine-01", i % 2);

		assert_string_equal(not_saved(&r), FULL);
		json_decref(r.result);
	}
	assert_false(disk_has(&w, "cordons", "0x"));
	run_for(&w, 5 * SECOND_US);
	assert_true(disk_has(&w, "cordons", "0x"));
	assert_trouble(&w, DATABASE, "");
	world_fini(&w);
}

/* A person or a tool has cleared the folder. */
static void a_database_that_is_deleted_is_written_anew(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	run_for(&w, 20 * SECOND_US);
	json_decref(cordon(&w, "spine-02", true).result);
	remove_all_state(&w);
	for (unsigned i = 0; i < 2; i++) {
		json_decref(cordon(&w, "spine-01", i == 0).result);
		run_for(&w, 11 * SECOND_US);
		assert_trouble(&w, DATABASE, "");
		assert_true(disk_has(&w, "cordons", "0x"));
		assert_true(disk_has(&w, "lids", "0x"));
	}
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	world_fini(&w);
}

static void release_that_is_not_saved_is_reported(void **state)
{
	struct reply r = { 0 };
	struct world w;
	char what[128];
	uint32_t leaf;
	unsigned port;

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	port = uplink_of(w.design, leaf);
	for (unsigned i = 0; i < 6; i++) {
		double_cut(w.hw, w.design->nodes[leaf].guid, port);
		run_for(&w, SECOND_US);
		double_join(w.hw, w.design->nodes[leaf].guid, port);
		run_for(&w, SECOND_US);
	}
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 1);
	assert_true(disk_has(&w, "quarantine", "0x"));
	fill_disk(true);
	snprintf(what, sizeof(what), "%s:%u", w.design->nodes[leaf].desc, port);
	links_out_release(w.fabric, what, reply_cb, &r);
	run_for(&w, SECOND_US);
	fill_disk(false);
	assert_int_equal(r.count, 1);
	assert_string_equal(not_saved(&r), FULL);
	json_decref(r.result);
	world_fini(&w);
}

static void tables_that_could_not_be_written_are_written_later(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	fill_disk(true);
	json_decref(cordon(&w, "spine-01", true).result); /* tables are due after a while */
	run_for(&w, 20 * SECOND_US);
	assert_trouble(&w, DATABASE, FULL);
	fill_disk(false);
	assert_false(disk_has(&w, "tables", "0x"));
	run_for(&w, 11 * SECOND_US);
	assert_trouble(&w, DATABASE, "");
	assert_true(disk_has(&w, "tables", "0x"));
	world_fini(&w);
}

/* One that failed leaves no full disk to the next. */
static int make_room(void **state)
{
	fill_disk(false);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, make_room)
	const struct CMUnitTest tests[] = {
		TEST(cordon_on_a_full_disk_is_in_force_and_reported_as_not_saved),
		TEST(every_answer_says_that_the_folder_is_gone_and_one_event_does),
		TEST(a_disk_that_refuses_is_tried_once_in_retry_interval),
		TEST(a_database_that_is_deleted_is_written_anew),
		TEST(release_that_is_not_saved_is_reported),
		TEST(tables_that_could_not_be_written_are_written_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
