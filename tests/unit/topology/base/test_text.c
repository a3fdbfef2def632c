/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Names from the fabric are cleaned where they enter, and only a host's name reaches a scheduler.
 */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fm/mad/wire.h"
#include "topology/files/dump.h"
#include "topology/files/netfile.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

static void assert_clean(const char *from, const char *expected)
{
	char to[128];

	text_clean(from, strlen(from), to);
	assert_string_equal(to, expected);
}

static void what_people_write_stays(void **state)
{
	assert_clean("dgx-su01-07 mlx5_0", "dgx-su01-07 mlx5_0");
	assert_clean("Zürich ノード €", "Zürich ノード €");
	assert_clean("\xf0\x9f\x9a\x80 rack", "\xf0\x9f\x9a\x80 rack");
}

static void each_byte_that_is_no_utf8_is_a_dot(void **state)
{
	assert_clean("caf\xe9 \xff", "caf. .");
	assert_clean("cut \xe2\x82", "cut ..");
	assert_clean("\xc0\xaf", "..");		  /* '/' in two bytes */
	assert_clean("\xe0\x80\xaf", "...");	  /* '/' in three */
	assert_clean("\xed\xa0\x80", "...");	  /* half of a surrogate pair */
	assert_clean("\xf4\x90\x80\x80", "...."); /* above U+10FFFF */
	assert_clean("\x80\xbf", "..");		  /* begun by nothing */
}

static void controls_and_bidirectional_marks_are_dots(void **state)
{
	assert_clean("a\tb\x1b[31mc\x7f", "a.b.[31mc.");
	assert_clean("\xc2\x9b"
		     "31m",
		     ".31m"); /* CSI of C1 */
	assert_clean("node\xe2\x80\xae"
		     "drow",
		     "node.drow");				   /* right-to-left override */
	assert_clean("\xe2\x81\xa6x\xe2\x81\xa9\xd8\x9c", ".x.."); /* isolates, Arabic mark */
	assert_clean("a\xe2\x80\xa8"
		     "b\xef\xbb\xbf",
		     "a.b."); /* line separator, BOM */
}

static void cleaning_may_be_done_in_place_and_ends_at_the_zero_byte(void **state)
{
	char text[] = "ab\xe2\x80\xae"
		      "c\0hidden";

	text_clean(text, sizeof(text), text);
	assert_string_equal(text, "ab.c");
	text_clean(text, 2, text);
	assert_string_equal(text, "ab");
}

/* As its hosts are called. */
static int slurm(const struct topo *t, FILE *out)
{
	return dump_slurm(t, NULL, false, out);
}

static void assert_written_as_text(const struct topo *t, int (*write)(const struct topo *, FILE *))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	json_t *json;

	assert_int_equal(write(t, out), 0);
	fclose(out);
	json = json_stringn(text, len);
	assert_non_null(json);
	json_decref(json);
	free(text);
}

/* Whatever 64 bytes a port says: each document has a row for it, and no writer fails. */
static void any_description_is_a_row_in_every_document(void **state)
{
	uint64_t seed = 4711;

	for (unsigned round = 0; round < 2000; round++) {
		struct topo_builder *b = topo_builder_new();
		uint8_t data[64];
		char desc[65];
		struct topo *t;
		json_t *rows;

		for (unsigned i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)(random_next(&seed) >> 24 | (round % 3 ? 0x80 : 0));
		wire_node_desc_decode(data, desc);
		assert_true(topo_builder_node(b, &(struct topo_node){ .guid = 1,
								      .type = TOPO_CA,
								      .nports = 1,
								      .desc = desc }) >= 0);
		t = topo_freeze(b);
		assert_non_null(t);
		rows = dump_json_nodes(t, false);
		assert_int_equal(json_array_size(rows), 1);
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(rows, 0), "name")), desc);
		json_decref(rows);
		assert_written_as_text(t, dump_text);
		assert_written_as_text(t, dump_dot);
		assert_written_as_text(t, dump_svg);
		assert_written_as_text(t, slurm);
		assert_written_as_text(t, netfile_write);
		topo_unref(t);
	}
}

static void only_a_hosts_name_is_one(void **state)
{
	static const char *const good[] = { "dgx-su01-07", "n1.cluster.example", "a_b", "7up",
					    "allan" };
	static const char *const bad[] = { "",	      "ALL",	     "all",    "Default", "0x123",
					   "-rf",     "a,b",	     "n[1-9]", "x y",	  "x#y",
					   "x=y",     "caf\xc3\xa9", "a;b",    "$(id)",	  "a/b",
					   ".hidden", "x\n" };
	char longest[256];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(text_is_host_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(text_is_host_name(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[254] = '\0';
	assert_false(text_is_host_name(longest));
	longest[253] = '\0';
	assert_true(text_is_host_name(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_people_write_stays),
		cmocka_unit_test(each_byte_that_is_no_utf8_is_a_dot),
		cmocka_unit_test(controls_and_bidirectional_marks_are_dots),
		cmocka_unit_test(cleaning_may_be_done_in_place_and_ends_at_the_zero_byte),
		cmocka_unit_test(any_description_is_a_row_in_every_document),
		cmocka_unit_test(only_a_hosts_name_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
