/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Files of state_dir: who may write them, what is said of those that can't be, and what becomes of
 * those that were lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/lib/store_world.h"
#include "topology/base/mem.h"

static void write_summary(const void *owner, FILE *out)
{
	fputs("a number", out);
}

static const struct state_file file = { .name = "value",
					.form = "a number",
					.read = value_file_read,
					.forget = value_file_forget,
					.write = value_file_write,
					.summary = write_summary };

static void set(struct world *w, unsigned value)
{
	w->value = value;
	state_store_changed(w->store, &file, w);
}

/* What is on disk; 0 = nothing that can be used. */
static unsigned on_disk(struct world *w)
{
	w->value_read = 0;
	store_world_reopen(w);
	state_store_read(w->store, &file, w);
	return w->value_read;
}

static char *path_of(const struct world *w, const char *suffix)
{
	return mem_printf("%s/value%s", w->folder, suffix);
}

static int set_up(void **state)
{
	*state = store_world_new();
	store_world_open(*state, 100);
	return 0;
}

static int tear_down(void **state)
{
	store_world_close(*state);
	return store_world_free(*state);
}

/* ---- Who may write --------------------------------------------------------------------------- */

static void what_changes_is_written(void **state)
{
	struct world *w = *state;

	set(w, 7);
	assert_true(state_store_waits(w->store, "value"));
	store_world_run(w, SECOND_US);
	assert_false(state_store_waits(w->store, "value"));
	assert_int_equal(w->writes, 1);
	assert_int_equal(on_disk(w), 7);
}

static void a_store_that_is_not_writable_writes_when_it_is(void **state)
{
	struct world *w = *state;

	state_store_set_writable(w->store, false);
	set(w, 7);
	store_world_run(w, 60 * SECOND_US);
	assert_int_equal(w->writes, 0);
	state_store_set_writable(w->store, true);
	store_world_run(w, SECOND_US / 10);
	assert_int_equal(w->writes, 1);
	assert_int_equal(on_disk(w), 7);
}

static void an_owner_that_ends_while_it_is_not_writable_changes_nothing_on_disk(void **state)
{
	struct world *w = *state;

	set(w, 7);
	store_world_run(w, SECOND_US);
	state_store_set_writable(w->store, false);
	set(w, 8);
	state_store_detach(w->store);
	state_store_set_writable(w->store, true);
	store_world_run(w, 60 * SECOND_US);
	assert_int_equal(on_disk(w), 7);
	state_store_set_writable(w->store, false);
	set(w, 9);
	state_store_flush(w->store);
	assert_int_equal(on_disk(w), 7);
}

static void what_a_master_had_is_written_behind_it_whoever_is_master_then(void **state)
{
	struct world *w = *state;

	set(w, 8);
	state_store_detach(w->store);
	w->value = 9; /* of the next owner, which says nothing of it */
	state_store_set_writable(w->store, false);
	store_world_run(w, SECOND_US);
	assert_int_equal(on_disk(w), 8);
}

static void what_is_not_on_disk_yet_is_read_from_memory(void **state)
{
	struct world *w = *state;

	set(w, 8);
	state_store_detach(w->store);
	assert_int_equal(state_store_read(w->store, &file, w), 0);
	assert_int_equal(w->value_read, 8);
}

static void the_end_writes_what_is_due(void **state)
{
	struct world *w = *state;

	set(w, 7);
	state_store_flush(w->store);
	assert_int_equal(on_disk(w), 7);
}

/* ---- What operators hear --------------------------------------------------------------------- */

static void what_cannot_be_written_is_a_trouble_until_it_can(void **state)
{
	struct world *w = *state;
	json_t *answer = json_object();

	state_store_retry(w->store, 5 * SECOND_US);
	assert_int_equal(rmdir(w->folder), 0);
	set(w, 7);
	store_world_run(w, SECOND_US);
	assert_non_null(trouble_error(w->alerts, "state_dir/value"));
	state_store_report(w->store, "value", answer);
	assert_string_equal(json_string_value(json_object_get(answer, "not_saved")),
			    "not saved: No such file or directory");
	assert_false(state_store_waits(w->store, "value")); /* nobody is to wait for that */
	assert_int_equal(mkdir(w->folder, 0700), 0);
	store_world_run(w, 5 * SECOND_US);
	assert_null(trouble_error(w->alerts, "state_dir/value"));
	json_object_clear(answer);
	state_store_report(w->store, "value", answer);
	assert_int_equal(json_object_size(answer), 0);
	json_decref(answer);
	assert_int_equal(on_disk(w), 7);
}

static void a_file_that_was_lost_is_an_alert_until_what_is_left_of_it_is_taken_away(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, ""), *bad = path_of(w, ".bad");
	const char *text;

	set(w, 7);
	state_store_flush(w->store);
	assert_int_equal(truncate(path, 30), 0);
	assert_int_equal(on_disk(w), 0);
	text = alert_text(w->alerts, "state-lost",
			  &(struct event_subject){ .name = "state_dir/value" });
	assert_non_null(text);
	assert_non_null(strstr(text, bad));
	assert_non_null(strstr(text, "; it had: a number"));
	store_world_run(w, 60 * SECOND_US);
	assert_non_null(alert_text(w->alerts, "state-lost",
				   &(struct event_subject){ .name = "state_dir/value" }));
	assert_int_equal(unlink(bad), 0);
	store_world_run(w, 20 * SECOND_US);
	assert_null(alert_text(w->alerts, "state-lost",
			       &(struct event_subject){ .name = "state_dir/value" }));
	free(path);
	free(bad);
}

static void a_file_that_the_manifest_has_and_that_is_not_there_was_lost(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "");

	assert_int_equal(on_disk(w), 0); /* the first start: there never was one */
	assert_null(alert_text(w->alerts, "state-lost",
			       &(struct event_subject){ .name = "state_dir/value" }));
	set(w, 7);
	state_store_flush(w->store);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(on_disk(w), 0);
	assert_non_null(alert_text(w->alerts, "state-lost",
				   &(struct event_subject){ .name = "state_dir/value" }));
	free(path);
}

static void a_line_that_is_none_loses_the_file(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "");
	FILE *out = fopen(path, "w");

	fputs("seven\n", out);
	fclose(out);
	assert_int_equal(on_disk(w), 0);
	assert_non_null(strstr(alert_text(w->alerts, "state-lost",
					  &(struct event_subject){ .name = "state_dir/value" }),
			       "line 1 is not a number"));
	free(path);
}

/* 1 in the file: the descriptor `value` is closed where the file is written. 2: it is open. */
static void write_whether_open(const void *world, FILE *out)
{
	const struct world *w = world;

	fprintf(out, "%d\n", fcntl(w->value, F_GETFD) < 0 ? 1 : 2);
}

static void who_writes_holds_no_socket_of_the_daemon(void **state)
{
	const struct state_file asking = { .name = "value",
					   .form = "a number",
					   .read = value_file_read,
					   .forget = value_file_forget,
					   .write = write_whether_open };
	struct world *w = *state;
	int at = socket(AF_UNIX, SOCK_STREAM, 0), far = fcntl(at, F_DUPFD, 100);

	assert_true(far >= 100); /* a number that no file of the child's own gets */
	w->value = far;
	state_store_changed(w->store, &asking, w);
	store_world_run(w, SECOND_US);
	assert_int_equal(on_disk(w), 1);
	close(far);
	close(at);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_changes_is_written),
		TEST(a_store_that_is_not_writable_writes_when_it_is),
		TEST(an_owner_that_ends_while_it_is_not_writable_changes_nothing_on_disk),
		TEST(what_a_master_had_is_written_behind_it_whoever_is_master_then),
		TEST(what_is_not_on_disk_yet_is_read_from_memory),
		TEST(the_end_writes_what_is_due),
		TEST(what_cannot_be_written_is_a_trouble_until_it_can),
		TEST(a_file_that_was_lost_is_an_alert_until_what_is_left_of_it_is_taken_away),
		TEST(a_file_that_the_manifest_has_and_that_is_not_there_was_lost),
		TEST(a_line_that_is_none_loses_the_file),
		TEST(who_writes_holds_no_socket_of_the_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
