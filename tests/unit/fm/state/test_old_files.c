/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A state_dir of files and a journal becomes rows, once; what of it is damaged is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/state/state_own.h"
#include "topology/base/mem.h"

struct world {
	char folder[40];
	struct old_files old;
	uint64_t seq;
};

static int set_up(void **state)
{
	struct world *w = mem_new(w);

	strcpy(w->folder, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->folder));
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	char command[64];

	old_files_fini(&w->old);
	array_printf(command, "rm -rf %s", w->folder);
	free(w);
	return system(command);
}

/* As that version summed bytes. */
static uint64_t sum_of(const char *bytes)
{
	size_t length = strlen(bytes);
	uint64_t sum = (length + 1) * 0x9e3779b97f4a7c15ull;

	sum ^= sum >> 32;
	for (size_t at = 0; at < length; at += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + at, length - at < 8 ? length - at : 8);
		sum = (sum + word + 1) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 32;
	}
	return sum;
}

static void write_file(const struct world *w, const char *name, const char *content)
{
	char *path = mem_printf("%s/%s", w->folder, name);
	FILE *out = fopen(path, "w");

	fprintf(out, "# fmd state 2: %s\n%s# end %020zu %016" PRIx64 "\n", name, content,
		strlen(content), sum_of(content));
	fclose(out);
	free(path);
}

static void journal(struct world *w, unsigned segment, const char *word, const char *name,
		    const char *text)
{
	char *path = mem_printf("%s/journal-%u", w->folder, segment);
	char *body = mem_printf("%" PRIu64 " %s %s %s", ++w->seq, word, name, text);
	FILE *out = fopen(path, "a");

	fprintf(out, "%016" PRIx64 " %s\n", sum_of(body), body);
	fclose(out);
	free(body);
	free(path);
}

static void read_all(struct world *w)
{
	assert_true(old_files_read(w->folder, &w->old));
}

static const char *value(struct world *w, const char *kind, const char *key)
{
	struct rows_kind *rows = rows_kind(&w->old.rows, kind, false);
	const struct row *row = rows ? rows_find(rows, key) : NULL;

	return row ? row->value : NULL;
}

static void files_become_rows(void **state)
{
	struct world *w = *state;

	write_file(w, "lids", "0x01 5 0\n0x02 6 0 1700000000\n");
	write_file(w, "cordons", "0x05 0 2026-11-29T00:00:00Z\n");
	write_file(w, "groups",
		   "group 0xff 0x1 0xc000 0xffff\nmember 0x9 1 0\nmember 0xa 4 1\ngroup 0xff 0x2 "
		   "0xc001 0xffff\nmember 0x9 1 0\n");
	write_file(w, "cables",
		   "switch 0x05 64 0x05 713 leaf one\nport 0x06 1 0x07\ncable 0x05 1 0x06 2 0\n");
	write_file(w, "subscriptions", "0x9 1 2 3 1 66 0 1 4 0 0 0xfe 0x8\n");
	write_file(w, "plan", "# a plan\nA B\n");
	write_file(w, "events-1", "{\"seq\": 513, \"text\": \"x\"}\n");
	read_all(w);
	assert_int_equal(w->old.count, 7);
	assert_null(w->old.lost);
	assert_string_equal(value(w, "lids", "0x02"), "6 0 1700000000");
	assert_string_equal(value(w, "cordons", "0x05 0"), "2026-11-29T00:00:00Z");
	assert_string_equal(value(w, "groups", "group 0xff 0x2"), "0xc001 0xffff");
	assert_string_equal(value(w, "groups", "joined 0xff 0x1 0xa"), "4 1");
	assert_string_equal(value(w, "groups", "joined 0xff 0x2 0x9"), "1 0");
	assert_string_equal(value(w, "nodes", "0x05"), "switch 64 0x05 713 leaf one");
	assert_string_equal(value(w, "ports", "0x06 1"), "0x07");
	assert_string_equal(value(w, "cables", "0x05 1"), "0x06 2 0");
	assert_string_equal(value(w, "subscriptions", "0x9 1 66 0 1 4 0 0 0xfe 0x8"), "2 3 1");
	assert_string_equal(value(w, "plan", "text"), "# a plan\nA B\n");
	assert_string_equal(value(w, "events", "513"), "{\"seq\": 513, \"text\": \"x\"}");
}

static void what_the_journal_has_behind_the_files_comes_on_top(void **state)
{
	struct world *w = *state;

	write_file(w, "groups", "group 0xff 0x1 0xc000 0xffff\nmember 0x9 1 0\n");
	write_file(w, "cables",
		   "switch 0x05 64 a\nswitch 0x06 64 b\ncable 0x05 1 0x06 2 0\ncable 0x05 3 0x06 4 "
		   "0\n");
	w->seq = 10; /* the other segment is the older one */
	journal(w, 1, "journal", "1", "");
	journal(w, 1, "record", "groups", "joined 0xff 0x1 0x9 0 0"); /* 12: saved below */
	journal(w, 1, "record", "cables", "down 0x05 1 1700000000");
	journal(w, 0, "journal", "1", "");
	journal(w, 0, "record", "groups", "group 0xff 0x3 0xc001 0xffff");
	journal(w, 0, "record", "groups", "joined 0xff 0x3 0xb 1 0");
	journal(w, 0, "saved", "groups", "12");
	journal(w, 0, "record", "cables", "cable 0x05 3 0x06 9 0"); /* moved */
	journal(w, 0, "record", "services", "gone 0 00");
	journal(w, 0, "record", "of-tomorrow", "what is this");
	read_all(w);
	assert_null(w->old.lost);
	assert_string_equal(value(w, "groups", "joined 0xff 0x1 0x9"), "1 0");
	assert_string_equal(value(w, "groups", "joined 0xff 0x3 0xb"), "1 0");
	assert_string_equal(value(w, "cables", "0x05 1"), "0x06 2 1700000000");
	assert_string_equal(value(w, "cables", "0x05 3"), "0x06 9 0");
}

static void a_group_that_ended_and_a_node_that_was_forgotten_are_gone(void **state)
{
	struct world *w = *state;

	write_file(w, "groups", "group 0xff 0x1 0xc000 0xffff\nmember 0x9 1 0\n");
	write_file(w, "cables",
		   "switch 0x05 64 a\nca 0x06 2 b\nport 0x06 1 0x07\ncable 0x05 1 0x06 1 0\n");
	journal(w, 0, "journal", "1", "");
	journal(w, 0, "record", "groups", "end 0xff 0x1");
	journal(w, 0, "record", "cables", "no-node 0x06");
	read_all(w);
	assert_null(value(w, "groups", "group 0xff 0x1"));
	assert_null(value(w, "groups", "joined 0xff 0x1 0x9"));
	assert_null(value(w, "nodes", "0x06"));
	assert_null(value(w, "ports", "0x06 1"));
	assert_null(value(w, "cables", "0x05 1"));
	assert_non_null(value(w, "nodes", "0x05"));
}

static void a_service_is_named_by_its_first_digits(void **state)
{
	struct world *w = *state;
	char hex[353], line[400], key[53];

	memset(hex, 'a', 352);
	hex[352] = '\0';
	memset(key, 'a', 52);
	key[52] = '\0';
	array_printf(line, "1800000000 %s\n", hex);
	write_file(w, "services", line);
	read_all(w);
	assert_non_null(strstr(value(w, "services", key), "aa 1800000000"));
}

static void what_is_damaged_or_missing_is_told_with_what_it_had(void **state)
{
	struct world *w = *state;
	char *path = mem_printf("%s/lids", w->folder);
	struct rows_kind *kind;

	write_file(w, "lids", "0x01 5 0\n");
	write_file(w, "hosts", "DEGRADED h1\n");
	write_file(w, "manifest", "cordons spine-01, leaf-02\nlids\nhosts\n");
	assert_int_equal(truncate(path, 20), 0);
	read_all(w);
	assert_non_null(
		strstr(w->old.lost, "cordons: the file is missing; it had: spine-01, leaf-02"));
	assert_non_null(strstr(w->old.lost, "lids: its first or last line"));
	kind = rows_kind(&w->old.rows, "lids", false);
	assert_true(w->old.lost_kinds[kind - w->old.rows.kinds]);
	assert_string_equal(value(w, "hosts", "DEGRADED h1"), "");
	free(path);
}

static void files_that_were_read_are_put_away(void **state)
{
	struct world *w = *state;
	char *path = mem_printf("%s/before-state.db/lids", w->folder);

	write_file(w, "lids", "0x01 5 0\n");
	old_files_put_away(w->folder);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(old_files_read(w->folder, &w->old));
	free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(files_become_rows),
		TEST(what_the_journal_has_behind_the_files_comes_on_top),
		TEST(a_group_that_ended_and_a_node_that_was_forgotten_are_gone),
		TEST(a_service_is_named_by_its_first_digits),
		TEST(what_is_damaged_or_missing_is_told_with_what_it_had),
		TEST(files_that_were_read_are_put_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
