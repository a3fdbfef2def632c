/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Files of state_dir that can't be written: what was asked for is in force, whoever asked is told,
 * and it is written when it can be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include "fm/nvswitch/module.h"
#include "tests/lib/fabric_world.h"

#define PATIENCE 100000 /* looks at a child, a millisecond apart: far more than any takes */

/* The next write of it finds the disk full. */
static void fill_disk_for(const struct world *w, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s.new", w->state_dir, name);
	unlink(path);
	assert_int_equal(symlink("/dev/full", path), 0);
}

static bool file_has(const struct world *w, const char *name, const char *text)
{
	char path[128], line[256];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", w->state_dir, name);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		found |= strstr(line, text) != NULL;
	if (in)
		fclose(in);
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
	fill_disk_for(&w, "cordons");
	struct reply r = cordon(&w, "spine-01", true);
	assert_string_equal(not_saved(&r), "not saved: No space left on device");
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_trouble(&w, "state_dir/cordons", "not saved: No space left on device");
	assert_int_equal(count_logged(&w, "trouble", ""), 1);
	assert_false(file_has(&w, "cordons", "0x"));
	json_decref(r.result);
	run_for(&w, 11 * SECOND_US); /* there is room again, and it is tried again */
	assert_trouble(&w, "state_dir/cordons", "");
	assert_int_equal(count_logged(&w, "trouble-over", ""), 1);
	assert_true(file_has(&w, "cordons", "0x"));
	r = cordon(&w, "spine-01", false);
	assert_string_equal(not_saved(&r), "");
	json_decref(r.result);
	world_fini(&w);
}

/* In place of the world's: the C library's, counted. */
static unsigned forks;

pid_t fork(void)
{
	void *library = dlopen("libc.so.6", RTLD_LAZY);
	pid_t (*next)(void) = (pid_t(*)(void))dlsym(library, "fork");

	dlclose(library); /* it stays: the program needs it */
	forks++;
	return next();
}

/* Each file that waits, and the manifest, at most once in retry_interval. */
static void a_folder_that_is_gone_costs_a_few_processes(void **state)
{
	struct world w;
	char away[80];

	world_init(&w, pod(1));
	run_for(&w, 20 * SECOND_US);
	snprintf(away, sizeof(away), "%s-away", w.state_dir);
	assert_int_equal(rename(w.state_dir, away), 0);
	forks = 0;
	json_decref(cordon(&w, "spine-02", true).result);
	run_for(&w, 60 * SECOND_US);
	assert_in_range(forks, 6, 40);
	assert_int_equal(rename(away, w.state_dir), 0);
	run_for(&w, 11 * SECOND_US);
	assert_trouble(&w, "state_dir/cordons", "");
	assert_true(file_has(&w, "manifest", "cordons"));
	world_fini(&w);
}

static void every_answer_says_that_the_folder_is_gone_and_one_event_does(void **state)
{
	struct world w;
	char away[80];

	world_init(&w, pod(1));
	snprintf(away, sizeof(away), "%s-away", w.state_dir);
	assert_int_equal(rename(w.state_dir, away), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct reply r = cordon(&w, "spine-02", i == 0);

		assert_string_equal(not_saved(&r), "not saved: No such file or directory");
		json_decref(r.result);
	}
	struct reply r = { 0 };
	nvlink_set(w.fabric, "dgx-su01-05", "NO_P2P", -1, reply_cb, &r);
	run_for(&w, SECOND_US);
	assert_int_equal(r.count, 1);
	assert_string_equal(not_saved(&r), "not saved: No such file or directory");
	json_decref(r.result);
	run_for(&w, 60 * SECOND_US); /* tried again, to no avail */
	assert_trouble(&w, "state_dir/cordons", "not saved: No such file or directory");
	assert_trouble(&w, "state_dir/nvswitch", "not saved: No such file or directory");
	assert_int_equal(rename(away, w.state_dir), 0);
	run_for(&w, 11 * SECOND_US);
	assert_trouble(&w, "state_dir/cordons", "");
	assert_trouble(&w, "state_dir/nvswitch", "");
	assert_true(file_has(&w, "nvswitch", "dgx-su01-05"));
	world_fini(&w);
}

static void a_file_that_fails_often_does_not_put_off_the_others(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	fill_disk_for(&w, "cordons");
	json_decref(cordon(&w, "spine-02", true).result);
	assert_false(file_has(&w, "cordons", "0x"));
	for (unsigned i = 0; i < 6; i++) {
		struct reply r = { 0 };

		fill_disk_for(&w, "nvswitch");
		nvlink_set(w.fabric, "dgx-su01-05", i % 2 ? "FATAL" : "NO_P2P", -1, reply_cb, &r);
		run_for(&w, 3 * SECOND_US);
		json_decref(r.result);
	}
	assert_true(count_logged(&w, "trouble", "") >= 2);
	assert_true(file_has(&w, "cordons", "0x"));
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
	assert_true(file_has(&w, "quarantine", "0x"));
	fill_disk_for(&w, "quarantine");
	snprintf(what, sizeof(what), "%s:%u", w.design->nodes[leaf].desc, port);
	maintenance_release(w.fabric, what, reply_cb, &r);
	run_for(&w, SECOND_US);
	assert_int_equal(r.count, 1);
	assert_memory_equal(not_saved(&r), "not saved: ", strlen("not saved: "));
	json_decref(r.result);
	world_fini(&w);
}

/* Children are looked at again and again; the world's time goes on meanwhile. */
static void wait_trouble(struct world *w, const char *what, const char *error)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		char *found = trouble(w, what);
		bool there = !strcmp(found, error);

		free(found);
		if (there)
			return;
		run_for(w, SECOND_US / 5);
		usleep(1000);
	}
	fail_msg("%s: never \"%s\"", what, error);
}

static void what_a_child_could_not_write_is_reported_and_written_again(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	fill_disk_for(&w, "tables");
	json_decref(cordon(&w, "spine-01", true).result); /* tables are due after a while */
	wait_trouble(&w, "state_dir/tables", "not saved: No space left on device");
	wait_trouble(&w, "state_dir/tables", "");
	assert_true(count_logged(&w, "trouble-over", "") > 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cordon_on_a_full_disk_is_in_force_and_reported_as_not_saved),
		cmocka_unit_test(every_answer_says_that_the_folder_is_gone_and_one_event_does),
		cmocka_unit_test(a_folder_that_is_gone_costs_a_few_processes),
		cmocka_unit_test(a_file_that_fails_often_does_not_put_off_the_others),
		cmocka_unit_test(release_that_is_not_saved_is_reported),
		cmocka_unit_test(what_a_child_could_not_write_is_reported_and_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
