/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Facts that outlive the process: who may write them, who waits for them, and what is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/state/event_rows.h"
#include "fm/state/state.h"
#include "topology/base/mem.h"

#define SECOND_US 1000000ull

struct world {
	char folder[40];
	struct loop *loop;
	struct loop_timer *stop;
	struct event_log *events;
	struct alerts *alerts;
	struct state *state;
	char text[256], read[256]; /* all lines of the kind; and those that were read */
	unsigned kept, told;
	struct bytes changes;
	struct loop_timer *turn; /* runs in each turn of the loop */
	unsigned begin, end;	 /* GUIDs of an owner of many rows */
	unsigned lines, most;	 /* it wrote in this turn, and in one turn */
};

static void stop(void *arg)
{
	loop_stop(arg);
}

static void count_kept(void *arg)
{
	((struct world *)arg)->kept++;
}

static void run_for(struct world *w, uint64_t us)
{
	loop_timer_set(w->stop, us);
	assert_int_equal(loop_run(w->loop), 0);
}

static void begin(struct world *w)
{
	w->events = event_log_new(100);
	w->alerts = alerts_new(w->loop, w->events);
	w->state = state_open(w->loop, w->folder, w->alerts, w->events);
	state_configure(w->state, SECOND_US, false);
}

static void end(struct world *w)
{
	state_close(w->state);
	alerts_free(w->alerts);
	event_log_free(w->events);
}

/* As after kill -9: nothing that is due is written. */
static void again(struct world *w)
{
	end(w);
	begin(w);
}

static int set_up_on(void **state, struct loop *loop)
{
	struct world *w = mem_new(w);

	log_set_level(-1, -1);
	strcpy(w->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	w->loop = loop;
	w->stop = loop_timer_new(w->loop, stop, w->loop);
	begin(w);
	*state = w;
	return 0;
}

static int set_up(void **state)
{
	return set_up_on(state, loop_new_simulated());
}

static int set_up_real(void **state)
{
	return set_up_on(state, loop_new());
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[64];

	end(w);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	free(w->changes.data);
	array_printf(command, "rm -rf %s", w->folder);
	free(w);
	return system(command);
}

static bool take(void *owner, const char *line)
{
	struct world *w = owner;

	if (strstr(line, "bad"))
		return false;
	snprintf(w->read + strlen(w->read), sizeof(w->read) - strlen(w->read), "%s|", line);
	return true;
}

static uint64_t write_text(const void *owner, uint64_t from, FILE *out)
{
	fputs(((const struct world *)owner)->text, out);
	return 0;
}

static void sum_up(const void *owner, FILE *out)
{
	fputs("two spines", out);
}

static const struct state_kind lids = {
	.name = "lids", .form = "a LID", .line = take, .write = write_text
};
static const struct state_kind slow = { .name = "nvswitch",
					.form = "a state",
					.line = take,
					.write = write_text,
					.gather_us = SECOND_US,
					.gather_max_us = 3 * SECOND_US };
static const struct state_kind cordons = {
	.name = "cordons", .form = "a cordon", .line = take, .write = write_text, .summary = sum_up
};

static void change(struct world *w, const struct state_kind *kind, const char *text)
{
	array_printf(w->text, "%s", text);
	state_changed(w->state, kind, w);
}

/* What is read of the kind; the state_read()'s status. */
static int read_kind(struct world *w, const struct state_kind *kind, const char *expected)
{
	int status;

	w->read[0] = '\0';
	status = state_read(w->state, kind, w);
	assert_string_equal(w->read, expected);
	return status;
}

static char *path_of(const struct world *w, const char *name)
{
	return mem_printf("%s/%s", w->folder, name);
}

/* Of a state that is not open. */
static void edit(const struct world *w, const char *sql)
{
	char *path = path_of(w, "state.db");
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	free(path);
}

static const char *lost(const struct world *w, const char *subject)
{
	return alert_text(w->alerts, "state-lost", &(struct event_subject){ .name = subject });
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void what_has_changed_is_there_behind_a_kill(void **state)
{
	struct world *w = *state;

	change(w, &lids, "0x2 5 0\n0x1 17 0\n0x10 3 0\n");
	run_for(w, 1000);
	assert_true(state_is_kept(w->state));
	again(w);
	assert_int_equal(read_kind(w, &lids, "0x1 17 0|0x2 5 0|0x10 3 0|"), 0);
}

static void only_rows_that_differ_are_changes(void **state)
{
	struct world *w = *state;
	uint64_t number;

	change(w, &lids, "0x1 1 0\n0x2 2 0\n0x3 3 0\n");
	run_for(w, 1000);
	number = state_number(w->state);
	change(w, &lids, "0x1 1 0\n0x3 4 0\n"); /* one has gone, one is another */
	run_for(w, 1000);
	assert_int_equal(state_number(w->state), number + 2);
	change(w, &lids, "0x3 4 0\n0x1 1 0\n");
	run_for(w, 1000);
	assert_int_equal(state_number(w->state), number + 2);
	again(w);
	read_kind(w, &lids, "0x1 1 0|0x3 4 0|");
}

static void rows_are_put_and_removed_one_by_one(void **state)
{
	struct world *w = *state;

	state_put(w->state, &lids, w, "0x1 1 0");
	state_put(w->state, &lids, w, "0x2 2 0");
	state_put(w->state, &lids, w, "0x1 7 0");
	state_remove(w->state, &lids, w, "0x2");
	run_for(w, 1000);
	again(w);
	read_kind(w, &lids, "0x1 7 0|");
}

static void lines_of_one_key_are_all_kept_in_their_order(void **state)
{
	static const struct state_kind nvlink = {
		.name = "nvlink", .form = "a line", .line = take, .write = write_text
	};
	struct world *w = *state;

	change(w, &nvlink, "gpu h1 b=2\ngpu h1 a=1\ngpu h2 c=3\n");
	run_for(w, 1000);
	again(w);
	read_kind(w, &nvlink, "gpu h1 b=2|gpu h1 a=1|gpu h2 c=3|");
	change(w, &nvlink, "gpu h1 a=1\n");
	run_for(w, 1000);
	again(w);
	read_kind(w, &nvlink, "gpu h1 a=1|");
}

static void a_text_is_kept_as_it_is(void **state)
{
	static const struct state_kind plan = { .name = "plan", .write = write_text };
	struct world *w = *state;
	char *text;

	assert_null(state_text(w->state, "plan"));
	change(w, &plan, "# a plan\n\nleaf-1 spine-1\n");
	run_for(w, 1000);
	again(w);
	text = state_text(w->state, "plan");
	assert_string_equal(text, "# a plan\n\nleaf-1 spine-1\n");
	free(text);
}

static void changes_gather_as_long_as_the_kind_says(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < 5; i++) { /* each puts it off, up to three seconds */
		change(w, &slow, "h1 FATAL -\n");
		run_for(w, SECOND_US / 2);
		assert_int_equal(state_number(w->state), 0);
	}
	change(w, &slow, "h1 FATAL -\n");
	run_for(w, SECOND_US * 6 / 10);
	assert_int_not_equal(state_number(w->state), 0);
	change(w, &slow, "h1 HEALTHY -\n");
	assert_true(state_when_settled(w->state, count_kept, w));
	run_for(w, 1000);
	assert_int_equal(w->kept, 1);
	assert_false(state_when_settled(w->state, count_kept, w));
	again(w);
	read_kind(w, &slow, "h1 HEALTHY -|");
}

static void a_kind_that_is_empty_is_another_thing_than_one_that_never_was(void **state)
{
	struct world *w = *state;

	assert_int_equal(read_kind(w, &lids, ""), -ENOENT);
	change(w, &lids, "");
	run_for(w, 1000);
	again(w);
	assert_int_equal(read_kind(w, &lids, ""), 0);
}

/* ---- Owners of many rows --------------------------------------------------------------------- */

#define MANY 5000

static uint64_t write_many(const void *owner, uint64_t from, FILE *out)
{
	struct world *w = (struct world *)owner;
	unsigned guid = from > w->begin ? from : w->begin;

	for (unsigned left = STATE_LINES; guid < w->end; guid++) {
		if (!left--)
			return guid;
		fprintf(out, "0x%x %u\n", guid, guid + 1);
		w->lines++;
	}
	return 0;
}

static const struct state_kind many = {
	.name = "nodes", .form = "a node", .line = take, .write = write_many
};

static void turn(void *arg)
{
	struct world *w = arg;

	w->most = w->lines > w->most ? w->lines : w->most;
	w->lines = 0;
	loop_timer_set(w->turn, 0);
}

static size_t rows_of_many(const struct world *w)
{
	return rows_kind((struct rowset *)state_rows(w->state), "nodes", true)->count;
}

static const char *value_of(const struct world *w, const char *guid)
{
	const struct row *row =
		rows_find(rows_kind((struct rowset *)state_rows(w->state), "nodes", true), guid);

	return row ? row->value : NULL;
}

/* One that has rows is asked for all of them. */
static void ask_for_many(struct world *w, unsigned end)
{
	w->begin = 1;
	w->end = end;
	state_changed(w->state, &many, w);
}

/* The loop turns until a part of them are rows. */
static void take_some(struct world *w, size_t some)
{
	while (rows_of_many(w) < some)
		run_for(w, 0);
	assert_true(rows_of_many(w) < MANY);
}

static void an_owner_of_many_rows_writes_some_in_each_turn_of_the_loop(void **state)
{
	struct world *w = *state;

	w->turn = loop_timer_new(w->loop, turn, w);
	loop_timer_set(w->turn, 0);
	ask_for_many(w, MANY);
	assert_true(state_when_settled(w->state, count_kept, w));
	while (!w->kept)
		run_for(w, 0);
	loop_timer_free(w->turn);
	assert_int_equal(rows_of_many(w), MANY - 1);
	assert_int_equal(w->most, STATE_LINES);
}

static void rows_that_are_put_while_an_owner_is_asked_stay(void **state)
{
	struct world *w = *state;

	ask_for_many(w, MANY);
	take_some(w, 2000);
	state_put(w->state, &many, w, "0x7 new"); /* one of those that were asked for */
	w->end++;
	state_put(w->state, &many, w, "0x1388 5001"); /* one that is to come */
	w->begin = 3;
	state_remove(w->state, &many, w, "0x1");
	state_remove(w->state, &many, w, "0x2");
	run_for(w, SECOND_US);
	assert_int_equal(rows_of_many(w), MANY - 2);
	assert_string_equal(value_of(w, "0x7"), "new");
	assert_string_equal(value_of(w, "0x1388"), "5001");
	assert_null(value_of(w, "0x1"));
}

static void no_row_goes_while_its_owner_changes_as_it_is_asked(void **state)
{
	struct world *w = *state;

	ask_for_many(w, MANY);
	run_for(w, SECOND_US);
	ask_for_many(w, MANY - 1);
	run_for(w, 0);
	w->begin = 2000; /* the rows of 0x1 and the last one are to go */
	for (unsigned i = 0; i < 4; i++) {
		state_changed(w->state, &many, w);
		run_for(w, 0);
	}
	assert_int_equal(rows_of_many(w), MANY - 1);
	run_for(w, SECOND_US);
	assert_int_equal(rows_of_many(w), MANY - 1 - 2000);
	assert_null(value_of(w, "0x1"));
	again(w);
	assert_int_equal(rows_of_many(w), MANY - 1 - 2000);
}

/* ---- Who may write --------------------------------------------------------------------------- */

static void who_is_not_master_changes_nothing(void **state)
{
	struct world *w = *state;

	state_set_writable(w->state, false);
	change(w, &lids, "0x1 1 0\n");
	state_put(w->state, &cordons, w, "0x1 0 now");
	run_for(w, SECOND_US);
	assert_int_equal(state_number(w->state), 0);
	state_set_writable(w->state, true); /* what was due is due still */
	run_for(w, 1000);
	again(w);
	read_kind(w, &lids, "0x1 1 0|");
	assert_int_equal(read_kind(w, &cordons, ""), -ENOENT);
}

static void what_a_standby_had_due_ends_with_its_owner(void **state)
{
	struct world *w = *state;

	state_set_writable(w->state, false);
	change(w, &lids, "0x1 1 0\n");
	state_detach(w->state);
	state_set_writable(w->state, true);
	run_for(w, SECOND_US);
	assert_int_equal(read_kind(w, &lids, ""), -ENOENT);
}

static void what_a_master_had_due_is_kept_where_its_owner_ends(void **state)
{
	struct world *w = *state;

	change(w, &slow, "h1 FATAL -\n");
	state_detach(w->state);
	state_set_writable(w->state, false);
	read_kind(w, &slow, "h1 FATAL -|");
	run_for(w, 1000);
	again(w);
	read_kind(w, &slow, "h1 FATAL -|");
}

static void the_end_writes_what_is_due(void **state)
{
	struct world *w = *state;

	change(w, &slow, "h1 FATAL -\n");
	state_flush(w->state);
	again(w);
	read_kind(w, &slow, "h1 FATAL -|");
}

/* ---- Who waits ------------------------------------------------------------------------------- */

static void who_waits_is_called_once_the_disk_has_it(void **state)
{
	struct world *w = *state;

	assert_false(state_when_kept(w->state, count_kept, w));
	state_put(w->state, &lids, w, "0x1 1 0");
	assert_true(state_when_kept(w->state, count_kept, w));
	assert_int_equal(w->kept, 0);
	run_for(w, SECOND_US);
	assert_int_equal(w->kept, 1);
	state_put(w->state, &lids, w, "0x1 2 0");
	assert_true(state_when_kept(w->state, count_kept, w));
	state_forget(w->state, w);
	run_for(w, SECOND_US);
	assert_int_equal(w->kept, 1);
}

static void the_thread_writes_in_the_order_of_changes(void **state)
{
	struct world *w = *state;
	char line[32];

	for (unsigned i = 0; i < 2000; i++) {
		array_printf(line, "0x%x %u 0", i % 7, i);
		state_put(w->state, &lids, w, line);
		if (i % 100 == 0)
			run_for(w, 0);
	}
	state_sync(w->state, &lids, 10 * SECOND_US);
	while (!state_is_kept(w->state))
		run_for(w, 1000);
	again(w);
	read_kind(w, &lids,
		  "0x0 1995 0|0x1 1996 0|0x2 1997 0|0x3 1998 0|0x4 1999 0|0x5 1993 0|0x6 1994 0|");
}

/* A batch that was waited for has ended once; what follows it is still being written. */
static void what_follows_a_write_that_was_waited_for_is_written_too(void **state)
{
	struct world *w = *state;
	char line[32];

	state_put(w->state, &lids, w, "0x1 1 0");
	state_sync(w->state, &lids, 10 * SECOND_US);
	for (unsigned i = 2; i < 20000; i++) {
		array_printf(line, "0x%x 2 0", i);
		state_put(w->state, &lids, w, line);
	}
	while (!state_is_kept(w->state))
		run_for(w, 1000);
	state_put(w->state, &lids, w, "0xffffff 3 0");
	while (!state_is_kept(w->state))
		run_for(w, 1000);
	again(w);
	assert_string_equal(state_value(w->state, "lids", "0xffffff"), "3 0");
}

/* ---- Troubles -------------------------------------------------------------------------------- */

static void what_cannot_be_written_is_told_and_written_when_it_can(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "state.db"), *away = path_of(w, "away");
	json_t *answer = json_object();
	struct rlimit was, none;

	getrlimit(RLIMIT_FSIZE, &was);
	none = was;
	none.rlim_cur = 0; /* as a disk that is full */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	state_put(w->state, &lids, w, "0x1 1 0");
	assert_true(state_when_kept(w->state, count_kept, w));
	run_for(w, SECOND_US / 2);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(w->kept, 1); /* nobody waits for that */
	assert_non_null(trouble_error(w->alerts, "state_dir/state.db"));
	state_report(w->state, answer);
	assert_non_null(json_object_get(answer, "not_saved"));
	state_put(w->state, &lids, w, "0x2 2 0"); /* while it waits */
	run_for(w, 2 * SECOND_US);
	assert_null(trouble_error(w->alerts, "state_dir/state.db"));
	again(w);
	read_kind(w, &lids, "0x1 1 0|0x2 2 0|");
	json_decref(answer);
	free(path);
	free(away);
}

static void a_database_that_somebody_deletes_is_written_anew(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "state.db");

	state_put(w->state, &lids, w, "0x1 1 0");
	run_for(w, 1000);
	assert_int_equal(unlink(path), 0);
	state_put(w->state, &lids, w, "0x2 2 0");
	run_for(w, SECOND_US);
	assert_true(state_is_kept(w->state));
	again(w);
	read_kind(w, &lids, "0x1 1 0|0x2 2 0|");
	free(path);
}

/* ---- What is not what was written ------------------------------------------------------------ */

static void a_row_that_is_not_what_was_written_is_told_and_the_others_stay(void **state)
{
	struct world *w = *state;

	change(w, &lids, "0x1 1 0\n0x2 2 0\n0x3 3 0\n");
	run_for(w, 1000);
	end(w);
	edit(w, "UPDATE state SET value='9 0' WHERE kind='lids' AND key='0x2'");
	begin(w);
	assert_non_null(strstr(lost(w, "lids"), "`0x2 9 0` is not what was written"));
	assert_int_equal(read_kind(w, &lids, "0x1 1 0|0x3 3 0|"), -EINVAL);
	run_for(w, 1000);
	again(w); /* it is told once */
	assert_null(lost(w, "lids"));
	assert_int_equal(read_kind(w, &lids, "0x1 1 0|0x3 3 0|"), 0);
}

static void a_row_that_its_owner_refuses_is_told_and_the_others_stay(void **state)
{
	struct world *w = *state;

	change(w, &lids, "0x1 1 0\n0x2 bad\n");
	run_for(w, 1000);
	again(w);
	assert_int_equal(read_kind(w, &lids, "0x1 1 0|"), -EINVAL);
	assert_non_null(strstr(lost(w, "lids"), "`0x2 bad` is not a LID"));
}

static void a_row_of_a_person_is_taken(void **state)
{
	struct world *w = *state;

	change(w, &lids, "0x1 1 0\n");
	run_for(w, 1000);
	end(w);
	edit(w, "INSERT INTO state(kind, key, value) VALUES('lids', '0x2', '2 0');"
		"UPDATE state SET value='5 0', sum=NULL WHERE kind='lids' AND key='0x1'");
	begin(w);
	assert_int_equal(read_kind(w, &lids, "0x1 5 0|0x2 2 0|"), 0);
	assert_int_equal(event_log_next(w->events), 2);
	run_for(w, 1000);
	again(w);
	assert_int_equal(event_log_next(w->events), 0); /* it has sums by now */
	read_kind(w, &lids, "0x1 5 0|0x2 2 0|");
}

static void a_database_that_is_missing_is_told(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "state.db");

	assert_null(lost(w, "state.db"));
	change(w, &lids, "0x1 1 0\n");
	run_for(w, 1000);
	end(w);
	assert_int_equal(unlink(path), 0);
	begin(w);
	assert_non_null(strstr(lost(w, "state.db"), "the file is missing"));
	assert_int_equal(read_kind(w, &lids, ""), -EINVAL);
	free(path);
}

/* Any page, by a flipped bit in each of its bytes: what is read was written, or it is told. */
static void damaged_pages_are_told_and_what_can_be_read_is(void **state)
{
	struct world *w = *state;
	char *path = path_of(w, "state.db"), *bad = path_of(w, "state.db.bad");
	unsigned pages, told = 0, whole = 0;
	struct stat st;

	for (unsigned i = 0; i < 400; i++) {
		char line[64];

		array_printf(line, "0x%x %u 0 and a text that fills the page", i, i);
		state_put(w->state, &lids, w, line);
	}
	change(w, &cordons, "0x1 0 now\n");
	run_for(w, 1000);
	end(w);
	assert_int_equal(stat(path, &st), 0);
	pages = st.st_size / 4096;
	assert_true(pages > 5);
	for (unsigned page = 0; page < pages; page++) {
		int fd = open(path, O_RDWR);
		uint8_t had[4096], damaged[4096];
		const struct rows_kind *kind;

		assert_int_equal(pread(fd, had, 4096, page * 4096), 4096);
		for (unsigned b = 0; b < 4096; b++)
			damaged[b] = had[b] ^ 1 << b % 8;
		assert_int_equal(pwrite(fd, damaged, 4096, page * 4096), 4096);
		begin(w);
		told += lost(w, "state.db") || lost(w, "lids");
		kind = rows_kind((struct rowset *)state_rows(w->state), "lids", true);
		whole += kind->count == 400;
		for (size_t i = 0; i < kind->nbuckets; i++)
			for (const struct row *row = kind->buckets[i]; row; row = row->next) {
				char value[64];

				array_printf(value, "%lu 0 and a text that fills the page",
					     strtoul(row->key, NULL, 16));
				assert_string_equal(row->value, value);
			}
		if (page > 1)
			assert_true(kind->count > 200);
		end(w);
		if (access(bad, F_OK) == 0)
			assert_int_equal(rename(bad, path), 0);
		assert_int_equal(pwrite(fd, had, 4096, page * 4096), 4096);
		close(fd);
		fd = open(path, O_RDWR); /* it was made anew, or not */
		assert_int_equal(pwrite(fd, had, 4096, page * 4096), 4096);
		close(fd);
	}
	assert_int_equal(told, pages);
	assert_true(whole < pages);
	begin(w);
	free(path);
	free(bad);
}

/* ---- Other managers -------------------------------------------------------------------------- */

static void note_change(void *arg, const struct row_change *it)
{
	struct world *w = arg;

	w->told++;
	row_bytes_add(&w->changes, it);
}

static void who_follows_hears_each_change_of_an_owner_and_no_other(void **state)
{
	struct world *w = *state;
	struct row_change it;
	size_t at = 0;

	state_follow(w->state, note_change, w);
	state_put(w->state, &lids, w, "0x1 1 0");
	state_put(w->state, &lids, w, "0x1 1 0");
	state_remove(w->state, &lids, w, "0x1");
	state_remove(w->state, &lids, w, "0x1");
	assert_int_equal(w->told, 3); /* the kind itself is a row, too */
	assert_true(row_bytes_next(w->changes.data, w->changes.end, &at, &it));
	assert_string_equal(it.value, "1 0");
	state_take(w->state, "lids", "0x2", "2 0");
	assert_int_equal(w->told, 3);
}

static void what_another_manager_sends_is_kept_whoever_is_master(void **state)
{
	struct world *w = *state;

	state_set_writable(w->state, false);
	assert_true(state_take(w->state, "lids", "0x2", "2 0"));
	assert_true(state_take(w->state, "of tomorrow", "a", "b c"));
	assert_true(state_when_kept(w->state, count_kept, w)); /* they gather */
	while (!w->kept)
		run_for(w, 1000);
	again(w);
	read_kind(w, &lids, "0x2 2 0|");
	assert_string_equal(
		rows_find(rows_kind((struct rowset *)state_rows(w->state), "of tomorrow", true),
			  "a")
			->value,
		"b c");
}

static void a_text_of_another_manager_takes_the_place_of_all_rows(void **state)
{
	struct world *w = *state;
	char text[] = "0x2 2 0\n0x3 3 0\n", *rest = text;

	change(w, &lids, "0x1 1 0\n0x2 5 0\n");
	run_for(w, 1000);
	state_take_begin(w->state, "lids");
	assert_false(state_take_lines(w->state, "lids", &rest));
	read_kind(w, &lids, "0x2 2 0|0x3 3 0|");
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void events_are_there_behind_a_restart_and_the_oldest_go(void **state)
{
	struct world *w = *state;
	struct event_log *log = event_log_new(EVENTS_KEPT);
	struct event_rows *rows = event_rows_new(w->loop, w->state, log, w->alerts);
	const struct rows_kind *kind;

	for (unsigned i = 0; i < EVENTS_KEPT + 100; i++) {
		event_log_add(log, LOG_NOTICE, "test", NULL, NULL, "event %u", i);
		event_rows_added(rows);
	}
	run_for(w, 1000);
	kind = rows_kind((struct rowset *)state_rows(w->state), "events", true);
	assert_int_equal(kind->count, EVENTS_KEPT);
	event_rows_free(rows);
	event_log_free(log);
	again(w);
	log = event_log_new(EVENTS_KEPT);
	rows = event_rows_new(w->loop, w->state, log, w->alerts);
	assert_int_equal(event_log_next(log), EVENTS_KEPT + 100);
	assert_string_equal(
		json_string_value(json_object_get(event_log_at(log, EVENTS_KEPT + 99), "text")),
		"event 4195");
	event_rows_free(rows);
	event_log_free(log);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_has_changed_is_there_behind_a_kill),
		TEST(only_rows_that_differ_are_changes),
		TEST(rows_are_put_and_removed_one_by_one),
		TEST(lines_of_one_key_are_all_kept_in_their_order),
		TEST(a_text_is_kept_as_it_is),
		TEST(changes_gather_as_long_as_the_kind_says),
		TEST(a_kind_that_is_empty_is_another_thing_than_one_that_never_was),
		TEST(an_owner_of_many_rows_writes_some_in_each_turn_of_the_loop),
		TEST(rows_that_are_put_while_an_owner_is_asked_stay),
		TEST(no_row_goes_while_its_owner_changes_as_it_is_asked),
		TEST(who_is_not_master_changes_nothing),
		TEST(what_a_standby_had_due_ends_with_its_owner),
		TEST(what_a_master_had_due_is_kept_where_its_owner_ends),
		TEST(the_end_writes_what_is_due),
		TEST(who_waits_is_called_once_the_disk_has_it),
		cmocka_unit_test_setup_teardown(the_thread_writes_in_the_order_of_changes,
						set_up_real, tear_down),
		cmocka_unit_test_setup_teardown(
			what_follows_a_write_that_was_waited_for_is_written_too, set_up_real,
			tear_down),
		TEST(what_cannot_be_written_is_told_and_written_when_it_can),
		TEST(a_database_that_somebody_deletes_is_written_anew),
		TEST(a_row_that_is_not_what_was_written_is_told_and_the_others_stay),
		TEST(a_row_that_its_owner_refuses_is_told_and_the_others_stay),
		TEST(a_row_of_a_person_is_taken),
		TEST(a_database_that_is_missing_is_told),
		TEST(damaged_pages_are_told_and_what_can_be_read_is),
		TEST(who_follows_hears_each_change_of_an_owner_and_no_other),
		TEST(what_another_manager_sends_is_kept_whoever_is_master),
		TEST(a_text_of_another_manager_takes_the_place_of_all_rows),
		TEST(events_are_there_behind_a_restart_and_the_oldest_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
