/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The file of names: what is taken, what is refused and by which line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "topology/snapshot/naming.h"

static struct node_names *parse(const char *text, char err[256])
{
	*err = '\0';
	return node_names_parse("map", text, strlen(text), err, 256);
}

static void assert_refused(const char *text, const char *why)
{
	char err[256];

	assert_null(parse(text, err));
	assert_string_equal(err, why);
}

static void names_are_found_by_guid(void **state)
{
	char err[256];
	struct node_names *names = parse("# rack 12\n"
					 "\n"
					 "0x0002c9030000a3c8 \"leaf 2 # left\"  # the second\n"
					 "0002c9030000a3c0\tleaf-1   # no quotes\r\n"
					 "0X10\t\"  blanks around  \"",
					 err);

	assert_string_equal(err, "");
	assert_int_equal(node_names_count(names), 3);
	assert_string_equal(node_names_find(names, 0x0002c9030000a3c8), "leaf 2 # left");
	assert_string_equal(node_names_find(names, 0x0002c9030000a3c0), "leaf-1");
	assert_string_equal(node_names_find(names, 0x10), "blanks around");
	assert_null(node_names_find(names, 0x11));
	assert_null(node_names_find(NULL, 0x10));
	assert_int_equal(node_names_guid(names, 0), 0x10);
	node_names_free(names);
}

static void an_empty_file_has_no_names(void **state)
{
	char err[256];
	struct node_names *names = parse("# nothing\n\n", err);

	assert_non_null(names);
	assert_int_equal(node_names_count(names), 0);
	assert_true(node_names_equal(names, NULL));
	node_names_free(names);
}

static void a_bad_line_is_named(void **state)
{
	assert_refused("# a\nleaf-1 0x10\n", "map:2: a node GUID and its name are expected");
	assert_refused("0x0 \"zero\"\n", "map:1: a node GUID and its name are expected");
	assert_refused("0x10\n", "map:1: a name is expected behind the GUID");
	assert_refused("0x10 \"  \"\n", "map:1: a name is expected behind the GUID");
	assert_refused("0x10 # \"remark\"\n", "map:1: a name is expected behind the GUID");
	assert_refused("0x10\"leaf\"\n", "map:1: a blank is expected between GUID and name");
	assert_refused("0x10 \"leaf\n", "map:1: the name's closing quote is missing");
	assert_refused("0x10 \"leaf\" 1\n", "map:1: nothing but a remark may follow the name");
	assert_refused("0x10 \"a\"\n\n0x11 \"b\"\n0x10 \"a\"\n",
		       "map:4: 0x0000000000000010 has a name already, by line 1");
}

static void a_name_has_64_bytes_at_most(void **state)
{
	char text[128], err[256];
	struct node_names *names;

	snprintf(text, sizeof(text), "0x10 \"%064d\"", 0);
	names = parse(text, err);
	assert_int_equal(strlen(node_names_find(names, 0x10)), 64);
	node_names_free(names);
	snprintf(text, sizeof(text), "0x10 \"%065d\"", 0);
	assert_refused(text, "map:1: the name has more than 64 bytes");
}

static void controls_do_not_reach_terminals(void **state)
{
	char err[256];
	struct node_names *names = parse("0x10 \"a\x1b[2Jb\"", err);

	assert_string_equal(node_names_find(names, 0x10), "a.[2Jb");
	node_names_free(names);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	char err[256];

	assert_null(node_names_read("/nonexistent/map", err, sizeof(err)));
	assert_string_equal(err, "/nonexistent/map: No such file or directory");
	assert_null(node_names_read("/tmp", err, sizeof(err)));
	assert_string_equal(err, "/tmp: Is a directory");
}

static void maps_are_compared_by_what_they_say(void **state)
{
	char err[256];
	struct node_names *a = parse("0x10 a\n0x11 b\n", err),
			  *b = parse("0x11 b\n0x10 \"a\"", err),
			  *c = parse("0x10 a\n0x11 c\n", err);

	assert_true(node_names_equal(a, b));
	assert_false(node_names_equal(a, c));
	assert_false(node_names_equal(a, NULL));
	node_names_free(a);
	node_names_free(b);
	node_names_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_by_guid),
		cmocka_unit_test(an_empty_file_has_no_names),
		cmocka_unit_test(a_bad_line_is_named),
		cmocka_unit_test(a_name_has_64_bytes_at_most),
		cmocka_unit_test(controls_do_not_reach_terminals),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
		cmocka_unit_test(maps_are_compared_by_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
