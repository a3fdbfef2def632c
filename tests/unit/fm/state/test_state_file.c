/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The form of files of state_dir: whatever happens to one is told from what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/state/state_file.h"

#define CONTENT "0x0002c90300000100 34 64\n0x0002c90300000200 35 64\n"

static char folder[64], path[128];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/fmd-state-XXXXXX");
	snprintf(path, sizeof(path), "%s/cordons", mkdtemp(folder));
	return 0;
}

static int drop_folder(void **state)
{
	unlink(path);
	return rmdir(folder);
}

static void write_text(void *arg, FILE *out)
{
	fputs(arg, out);
}

static void put(const char *bytes, size_t length)
{
	FILE *out = fopen(path, "w");

	assert_int_equal(fwrite(bytes, 1, length, out), length);
	fclose(out);
}

static size_t get(char *bytes, size_t size)
{
	FILE *in = fopen(path, "r");
	size_t length = fread(bytes, 1, size, in);

	fclose(in);
	return length;
}

static enum state_result load_as(const char *name)
{
	struct state_content content;
	enum state_result said = state_file_load(path, name, &content);

	assert_int_equal(said == STATE_DAMAGED, content.why != NULL);
	assert_int_equal(said == STATE_WHOLE || said == STATE_OLD, content.bytes != NULL);
	free(content.bytes);
	return said;
}

static void what_was_written_comes_back(void **state)
{
	static const char *const texts[] = { "", "\n", CONTENT, "no end", "# end 7\n" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct state_content content;

		assert_int_equal(state_file_save(path, "cordons", write_text, (void *)texts[i]), 0);
		assert_int_equal(state_file_load(path, "cordons", &content), STATE_WHOLE);
		assert_int_equal(content.length, strlen(texts[i]));
		assert_memory_equal(content.bytes, texts[i], content.length);
		free(content.bytes);
	}
}

static void every_flipped_bit_is_found(void **state)
{
	char whole[512], bytes[512];
	size_t length;

	assert_int_equal(state_file_save(path, "cordons", write_text, CONTENT), 0);
	length = get(whole, sizeof(whole));
	for (size_t bit = 0; bit < 8 * length; bit++) {
		memcpy(bytes, whole, length);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		put(bytes, length);
		if (load_as("cordons") != STATE_DAMAGED)
			fail_msg("bit %zu of %zu", bit, 8 * length);
	}
}

static void every_cut_is_found(void **state)
{
	char whole[512];
	size_t length;

	assert_int_equal(state_file_save(path, "cordons", write_text, CONTENT), 0);
	length = get(whole, sizeof(whole));
	for (size_t left = 12; left < length; left++) { /* below that it is nobody's */
		put(whole, left);
		assert_int_equal(load_as("cordons"), STATE_DAMAGED);
	}
	for (size_t gone = 1; gone < length - 44; gone++) {
		put(whole + gone, length - gone);
		assert_int_equal(load_as("cordons"), STATE_DAMAGED);
	}
	memcpy(whole + length, "more\n", 5);
	put(whole, length + 5);
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
}

static void file_under_anothers_name_is_not_taken(void **state)
{
	assert_int_equal(state_file_save(path, "quarantine", write_text, CONTENT), 0);
	assert_int_equal(load_as("quarantine"), STATE_WHOLE);
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
}

static void file_of_a_later_version_is_not_taken(void **state)
{
	static const char later[] = "# fmd state 3: cordons\nwhatever\n";

	put(later, sizeof(later) - 1);
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
}

static void content_alone_is_of_the_version_before(void **state)
{
	put(CONTENT, sizeof(CONTENT) - 1);
	assert_int_equal(load_as("cordons"), STATE_OLD);
	put("", 0);
	assert_int_equal(load_as("cordons"), STATE_OLD);
	unlink(path);
	assert_int_equal(load_as("cordons"), STATE_ABSENT);
}

static void what_is_no_file_keeps_nobody_waiting(void **state)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
	unlink(path);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
	rmdir(path);
	put("", 0);
	assert_int_equal(truncate(path, (off_t)8 << 40), 0); /* sparse */
	assert_int_equal(load_as("cordons"), STATE_DAMAGED);
}

static void failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
	char beside[160];

	assert_int_equal(state_file_save(path, "cordons", write_text, CONTENT), 0);
	snprintf(beside, sizeof(beside), "%s.new", path);
	assert_int_equal(symlink("/dev/full", beside), 0);
	assert_int_equal(state_file_save(path, "cordons", write_text, "other\n"), -28); /* ENOSPC */
	assert_int_equal(access(beside, F_OK), -1);
	assert_int_equal(load_as("cordons"), STATE_WHOLE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_comes_back),
		TEST(every_flipped_bit_is_found),
		TEST(every_cut_is_found),
		TEST(file_under_anothers_name_is_not_taken),
		TEST(file_of_a_later_version_is_not_taken),
		TEST(content_alone_is_of_the_version_before),
		TEST(what_is_no_file_keeps_nobody_waiting),
		TEST(failed_write_leaves_the_old_file_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
