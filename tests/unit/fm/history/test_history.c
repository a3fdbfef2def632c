/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. Processor time is judged. */
/* The history of ports in its file: rows, restarts, torn writes, files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "fm/history/history.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define LEAF	0x100
#define SPINE	0x200
#define BEGIN	1700000100u /* a multiple of 300 */
#define PASS	60u
#define PERCENT (400e9 / 8 / 100) /* of 4x NDR, in bytes a second */

struct place {
	char folder[64], file[80], bad[90];
	struct history *h;
};

static int setup(void **state)
{
	struct place *p = mem_new(p);

	strcpy(p->folder, "/tmp/test-history-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	array_printf(p->file, "%s/history", p->folder);
	array_printf(p->bad, "%s.bad", p->file);
	p->h = history_open(p->folder, false);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	history_close(p->h);
	unlink(p->file);
	unlink(p->bad);
	rmdir(p->folder);
	free(p);
	return 0;
}

static void reopen(struct place *p)
{
	history_close(p->h);
	p->h = history_open(p->folder, false);
}

/* A pass in which port 1 of the leaf was read: it sends so much, and the spine half of that. */
static void pass(struct place *p, uint32_t now_s, double percent, uint32_t errors)
{
	struct history_reading r = { .node = LEAF,
				     .port = 1,
				     .peer = SPINE,
				     .peer_port = 7,
				     .speed = TOPO_NDR,
				     .lanes = 4,
				     .bytes_s = { percent * PERCENT, percent / 2 * PERCENT } };

	r.added[PERF_SYMBOL] = errors;
	history_take(p->h, &r);
	history_passed(p->h, now_s);
}

static json_t *rows(struct place *p, uint32_t step_s, uint32_t now_s)
{
	return history_rows(p->h, LEAF, 1, SPINE, 7, step_s, now_s);
}

static double figure(json_t *list, size_t row, const char *key)
{
	return json_number_value(json_object_get(json_array_get(list, row), key));
}

static void five_minutes_are_a_row_of_means_in_both_directions(void **state)
{
	struct place *p = *state;
	json_t *list;

	for (unsigned i = 0; i < 5; i++)
		pass(p, BEGIN + i * PASS, 10 * i, i == 2 ? 3 : 0);
	pass(p, BEGIN + 300, 100, 0);
	list = rows(p, 300, BEGIN + 301);
	assert_int_equal(json_array_size(list), 1);
	assert_true(fabs(figure(list, 0, "sent_percent") - 20) < 0.6);
	assert_true(fabs(figure(list, 0, "received_percent") - 10) < 0.6);
	assert_int_equal(figure(list, 0, "errors"), 3);
	assert_string_equal(json_text(json_array_get(list, 0), "changes"), "symbol_errors +3");
	json_decref(list);
	list = rows(p, 60, BEGIN + 301); /* the last hour, pass by pass */
	assert_int_equal(json_array_size(list), 6);
	assert_true(figure(list, 5, "sent_percent") == 100);
	json_decref(list);
}

/* A reading of that port between two passes. */
static void watch(struct place *p, uint32_t now_s, double percent)
{
	const struct history_reading r = { .node = LEAF,
					   .port = 1,
					   .peer = SPINE,
					   .peer_port = 7,
					   .watched_s = now_s,
					   .speed = TOPO_NDR,
					   .lanes = 4,
					   .bytes_s = { percent * PERCENT, percent / 2 * PERCENT },
					   .added = { [PERF_SYMBOL] = 9 } };

	history_take(p->h, &r);
}

static void a_port_that_is_watched_has_rows_between_passes_and_its_week_those_of_passes(
	void **state)
{
	struct place *p = *state;
	json_t *list;

	pass(p, BEGIN, 20, 0);
	for (unsigned i = 10; i < 70; i += 10)
		watch(p, BEGIN + i, i);
	pass(p, BEGIN + 60, 20, 0);
	watch(p, BEGIN + 61, 90); /* the pass has that row */
	list = rows(p, 10, BEGIN + 70);
	assert_int_equal(json_array_size(list), 7);
	assert_true(figure(list, 0, "sent_percent") == 20);
	assert_true(figure(list, 5, "sent_percent") == 50);
	assert_true(figure(list, 5, "received_percent") == 25);
	assert_true(figure(list, 6, "sent_percent") == 20);
	json_decref(list);
	pass(p, BEGIN + 300, 20, 0);
	reopen(p);
	list = rows(p, 300, BEGIN + 301);
	assert_true(figure(list, 0, "sent_most_percent") == 20);
	assert_int_equal(figure(list, 0, "errors"), 0);
	json_decref(list);
}

static void what_was_not_read_is_null_and_a_port_that_nobody_met_has_no_rows(void **state)
{
	struct place *p = *state;
	json_t *list;

	pass(p, BEGIN, NAN, 0);
	pass(p, BEGIN + 300, 0, 0);
	pass(p, BEGIN + 600, 50, 0);
	list = rows(p, 300, BEGIN + 600);
	assert_int_equal(json_array_size(list), 1); /* of the first nothing is known, 0 is */
	assert_true(figure(list, 0, "sent_percent") == 0);
	json_decref(list);
	list = history_rows(p->h, 0x999, 1, SPINE, 7, 300, BEGIN + 600);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
}

static void a_week_later_the_ring_has_wrapped_and_keeps_a_week(void **state)
{
	struct place *p = *state;
	json_t *list;
	uint32_t end = BEGIN + HISTORY_WEEK_S + 7200;

	for (uint32_t now = BEGIN; now <= end; now += 300)
		pass(p, now, now < BEGIN + 7200 ? 100 : 25, 1);
	list = rows(p, 300, end);
	assert_int_equal(json_array_size(list), HISTORY_WEEK_S / HISTORY_STEP_S);
	for (size_t i = 0; i < json_array_size(list); i++) {
		assert_true(figure(list, i, "sent_percent") == 25);
		assert_int_equal(figure(list, i, "errors"), 1);
	}
	json_decref(list);
}

static void a_restart_keeps_it_and_ends_the_row_that_was_begun(void **state)
{
	struct place *p = *state;
	json_t *before, *after;

	pass(p, BEGIN, 40, 2);
	pass(p, BEGIN + 300, 60, 0);
	reopen(p);
	assert_null(history_alert(p->h));
	before = rows(p, 300, BEGIN + 400);
	assert_int_equal(json_array_size(before), 2);
	assert_true(figure(before, 0, "sent_percent") == 40);
	assert_true(figure(before, 1, "sent_percent") == 60);
	pass(p, BEGIN + 900, 80, 5);
	reopen(p);
	after = rows(p, 300, BEGIN + 900);
	assert_int_equal(json_array_size(after), 3);
	assert_int_equal(figure(after, 0, "errors"), 2);
	assert_int_equal(figure(after, 2, "errors"), 5);
	json_decref(before);
	json_decref(after);
}

static void a_change_of_width_or_peer_is_shown_and_the_old_peer_is_not_taken_for_the_new(
	void **state)
{
	struct place *p = *state;
	struct history_reading r = { .node = LEAF,
				     .port = 1,
				     .peer = 0x300,
				     .peer_port = 9,
				     .speed = TOPO_HDR,
				     .lanes = 2,
				     .bytes_s = { 10 * PERCENT / 4, 90 * PERCENT / 4 } };
	json_t *list;

	pass(p, BEGIN, 40, 0);
	history_take(p->h, &r);
	history_passed(p->h, BEGIN + 300);
	history_passed(p->h, BEGIN + 600);
	list = history_rows(p->h, LEAF, 1, 0x300, 9, 300, BEGIN + 600);
	assert_int_equal(json_array_size(list), 2);
	assert_true(json_is_null(json_object_get(json_array_get(list, 0), "received_percent")));
	assert_true(figure(list, 1, "received_percent") == 90);
	assert_string_equal(json_text(json_array_get(list, 1), "changes"), "2x HDR, another peer");
	json_decref(list);
}

/* The bytes of the file as they would be after a cut behind each of the writes of a row. */
static void a_row_that_was_cut_anywhere_is_no_row_and_harms_no_other(void **state)
{
	struct place *p = *state;
	const uint64_t rows_at = 4096;
	uint32_t slot = (BEGIN + 300) / 300 % (HISTORY_WEEK_S / 300);
	uint8_t head[16], zero[16] = { 0 };
	json_t *list;
	int fd;

	pass(p, BEGIN, 40, 1);
	pass(p, BEGIN + 300, 60, 0);
	pass(p, BEGIN + 600, 80, 0);
	history_close(p->h);
	p->h = NULL;
	fd = open(p->file, O_RDWR);
	assert_int_equal(pread(fd, head, 16, rows_at + slot * 16), 16);
	/* Each prefix of the time that is written last, ahead of all of it; then whole. */
	for (unsigned cut = 0; cut <= 16; cut++) {
		assert_int_equal(pwrite(fd, zero, 16, rows_at + slot * 16), 16);
		assert_int_equal(pwrite(fd, head, cut, rows_at + slot * 16), cut);
		p->h = history_open(p->folder, false);
		assert_null(history_alert(p->h));
		list = rows(p, 300, BEGIN + 700);
		assert_int_equal(json_array_size(list), cut == 16 ? 3 : 2);
		assert_true(figure(list, 0, "sent_percent") == 40);
		assert_true(figure(list, cut == 16 ? 2 : 1, "sent_percent") == 80);
		json_decref(list);
		history_close(p->h);
		p->h = NULL;
	}
	close(fd);
}

static void refused(struct place *p, const char *why)
{
	json_t *list;

	p->h = history_open(p->folder, false);
	assert_non_null(history_alert(p->h));
	if (!strstr(history_alert(p->h), why))
		fail_msg("%s", history_alert(p->h));
	assert_int_equal(access(p->bad, F_OK), 0);
	pass(p, BEGIN, 40, 0);
	pass(p, BEGIN + 300, 40, 0);
	list = rows(p, 300, BEGIN + 300);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	history_close(p->h);
	p->h = NULL;
}

static void a_file_that_is_damaged_or_foreign_is_refused_in_words_and_put_aside(void **state)
{
	struct place *p = *state;
	uint32_t more = HISTORY_ROWS + 1;
	int fd;

	history_close(p->h);
	p->h = NULL;
	fd = open(p->file, O_RDWR);
	assert_int_equal(pwrite(fd, "x", 1, 3), 1);
	close(fd);
	refused(p, "its head is not that of a history");
	fd = open(p->file, O_RDWR);
	assert_int_equal(pwrite(fd, "\1\2\3\4", 4, 16), 4);
	close(fd);
	refused(p, "another byte order");
	fd = open(p->file, O_RDWR);
	assert_int_equal(pwrite(fd, &more, 4, 24), 4);
	close(fd);
	refused(p, "another shape");
	assert_int_equal(truncate(p->file, 5000), 0);
	refused(p, "another shape");
	unlink(p->file);
	assert_int_equal(mkdir(p->file, 0700), 0);
	unlink(p->bad);
	refused(p, "directory");
	rmdir(p->bad);
}

static void a_folder_that_is_gone_is_an_alert_and_no_more(void **state)
{
	struct place *p = *state;

	history_close(p->h);
	p->h = history_open("/nonexistent/folder", false);
	pass(p, BEGIN, 40, 0);
	assert_non_null(strstr(history_alert(p->h), "can't be written"));
}

static void all_ports_of_16384_hcas_are_at_most_300_mb(void **state)
{
	struct place *p = *state;
	struct history_reading r = { .speed = TOPO_NDR, .lanes = 4, .bytes_s = { 50 * PERCENT } };
	struct stat st;

	assert_true(HISTORY_BYTES <= 300000000);
	for (uint32_t i = 0; i < HISTORY_PORTS + 1; i++) {
		r.node = 1 + i / 64;
		r.port = 1 + i % 64;
		history_take(p->h, &r);
		if (i == HISTORY_PORTS - 1)
			assert_null(history_alert(p->h));
	}
	assert_non_null(strstr(history_alert(p->h), "keeps 120000 ports"));
	history_passed(p->h, BEGIN);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_size, HISTORY_BYTES);
}

/* In microseconds, of all threads of the process. */
static uint64_t processor_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

/* A pass each ten seconds, the shortest that has a row of its own, and rows of five minutes. */
static void passes_over_all_ports_take_less_than_a_hundredth_of_a_core(void **state)
{
	struct place *p = *state;
	struct history_reading r = { .speed = TOPO_NDR, .lanes = 4 };
	uint64_t began = processor_us(), spent;

	for (uint32_t now_s = BEGIN; now_s < BEGIN + 600; now_s += 10) {
		for (uint32_t i = 0; i < 98304; i++) {
			uint32_t peer = i ^ 1;

			r.node = 1 + i / 64;
			r.port = 1 + i % 64;
			r.peer = 1 + peer / 64;
			r.peer_port = 1 + peer % 64;
			r.bytes_s[0] = r.bytes_s[1] = (i + now_s) % 100 * PERCENT;
			r.added[PERF_SYMBOL] = !((i + now_s) % 1000);
			history_take(p->h, &r);
		}
		history_passed(p->h, now_s);
	}
	spent = processor_us() - began;
	print_message("%.3f %% of a core\n", spent / 600e6 * 100);
	assert_null(history_alert(p->h));
#ifndef __SANITIZE_ADDRESS__
	assert_true(spent < 600000000 / 100);
#endif
}

static void a_thread_writes_what_the_loop_hands_over(void **state)
{
	struct place *p = *state;
	json_t *list;

	history_close(p->h);
	p->h = history_open(p->folder, true);
	/* Nothing is taken until the file is read: it is asked for until a row is there. */
	for (unsigned i = 0; i < 100000; i++) {
		pass(p, BEGIN, 40, 0);
		list = rows(p, 60, BEGIN + 1);
		bool there = json_array_size(list);

		json_decref(list);
		if (there)
			break;
		usleep(1000);
	}
	pass(p, BEGIN + 300, 40, 0);
	reopen(p);
	list = rows(p, 300, BEGIN + 300);
	assert_int_equal(json_array_size(list), 2);
	json_decref(list);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(five_minutes_are_a_row_of_means_in_both_directions),
		T(a_port_that_is_watched_has_rows_between_passes_and_its_week_those_of_passes),
		T(what_was_not_read_is_null_and_a_port_that_nobody_met_has_no_rows),
		T(a_week_later_the_ring_has_wrapped_and_keeps_a_week),
		T(a_restart_keeps_it_and_ends_the_row_that_was_begun),
		T(a_change_of_width_or_peer_is_shown_and_the_old_peer_is_not_taken_for_the_new),
		T(a_row_that_was_cut_anywhere_is_no_row_and_harms_no_other),
		T(a_file_that_is_damaged_or_foreign_is_refused_in_words_and_put_aside),
		T(a_folder_that_is_gone_is_an_alert_and_no_more),
		T(all_ports_of_16384_hcas_are_at_most_300_mb),
		T(passes_over_all_ports_take_less_than_a_hundredth_of_a_core),
		T(a_thread_writes_what_the_loop_hands_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
