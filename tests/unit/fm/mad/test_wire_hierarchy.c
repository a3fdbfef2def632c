/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where a port sits, as devices tell it: both layouts of a level, and what contradicts itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_answers.h"
#include "topology/base/sort.h"

struct record {
	unsigned number;
	uint32_t value;
};

static void make(uint64_t template, const struct record *records, unsigned count, uint8_t data[64])
{
	struct wire_hierarchy h = { .template = template };

	for (unsigned i = 0; i < count; i++) {
		h.has |= (uint16_t)(1u << records[i].number);
		h.value[records[i].number] = records[i].value;
	}
	wire_hierarchy_encode(&h, data);
}

static void assert_label(const uint8_t data[64], bool is_switch, const char *expected)
{
	struct wire_hierarchy h;
	char label[WIRE_HIERARCHY_LABEL] = "";

	assert_true(wire_hierarchy_decode(data, &h));
	if (!wire_hierarchy_label(&h, is_switch, label))
		label[0] = '\0';
	assert_string_equal(label, expected);
}

static const struct record cage_9_1[] = { { 1, 1 }, { 2, 9 }, { 3, 1 } };

static void cages_of_switches_are_read(void **state)
{
	static const struct record split[] = { { 0, 2 }, { 1, 1 }, { 2, 9 }, { 3, 2 } };
	static const struct record xdr[] = { { 3, 17 }, { 4, 2 }, { 6, 1 }, { 10, 3 }, { 11, 4 } };
	uint8_t data[64];

	make(WIRE_HIERARCHY_PORT, cage_9_1, 3, data);
	assert_label(data, true, "cage 9/1");
	make(WIRE_HIERARCHY_PORT, split, 4, data);
	assert_label(data, true, "ASIC 2 cage 9/1/2");
	make(WIRE_HIERARCHY_XDR_SWITCH, xdr, 5, data);
	assert_label(data, true, "cage 17/2 plane 3");
}

static void adapters_are_identified_by_their_place_on_the_bus(void **state)
{
	static const struct record bdf[] = { { 6, 0x0500 | 1 << 3 | 1 }, { 2, 1 }, { 1, 1 } };
	uint8_t data[64];

	make(WIRE_HIERARCHY_PORT, bdf, 3, data);
	assert_label(data, false, "PCI 05:01.1");
}

static void a_record_number_in_the_upper_half_of_its_byte_is_the_same(void **state)
{
	uint8_t data[64];

	make(WIRE_HIERARCHY_PORT, cage_9_1, 3, data);
	for (unsigned i = 0; i < 3; i++)
		data[12 + 4 * i] = (uint8_t)(data[12 + 4 * i] << 4);
	assert_label(data, true, "cage 9/1");
}

static void what_contradicts_itself_is_no_answer(void **state)
{
	struct wire_hierarchy h;
	uint8_t data[64];

	make(WIRE_HIERARCHY_PORT, cage_9_1, 3, data);
	data[16] = data[12]; /* one record twice */
	assert_false(wire_hierarchy_decode(data, &h));
	make(WIRE_HIERARCHY_PORT, cage_9_1, 3, data);
	data[12] = 0x21; /* neither layout */
	assert_false(wire_hierarchy_decode(data, &h));
	make(WIRE_HIERARCHY_PORT, cage_9_1, 3, data);
	data[10] = 0xe0; /* 14 levels */
	assert_false(wire_hierarchy_decode(data, &h));
}

static void templates_and_values_that_say_nothing_have_no_label(void **state)
{
	static const struct record absent[] = { { 1, 0xffffff }, { 2, 0xffffff } };
	uint8_t data[64];

	make(6, cage_9_1, 3, data);
	assert_label(data, true, "");
	make(WIRE_HIERARCHY_PORT, absent, 2, data);
	assert_label(data, true, "");
	memset(data, 0, sizeof(data));
	assert_label(data, true, "");
}

static void random_bytes_make_no_long_label(void **state)
{
	uint64_t seed = 7;

	for (unsigned i = 0; i < 100000; i++) {
		struct wire_hierarchy h;
		uint8_t data[64];
		char label[WIRE_HIERARCHY_LABEL];

		for (unsigned b = 0; b < sizeof(data); b++)
			data[b] = (uint8_t)random_next(&seed);
		memset(data, 0, 8);
		data[7] = (uint8_t)(3 + i % 3);
		data[10] = (uint8_t)((i % 14) << 4);
		for (unsigned l = 0; l < 13; l++)
			data[12 + 4 * l] = (uint8_t)l;
		if (wire_hierarchy_decode(data, &h) && wire_hierarchy_label(&h, i % 2, label))
			assert_true(strnlen(label, sizeof(label)) < sizeof(label));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cages_of_switches_are_read),
		cmocka_unit_test(adapters_are_identified_by_their_place_on_the_bus),
		cmocka_unit_test(a_record_number_in_the_upper_half_of_its_byte_is_the_same),
		cmocka_unit_test(what_contradicts_itself_is_no_answer),
		cmocka_unit_test(templates_and_values_that_say_nothing_have_no_label),
		cmocka_unit_test(random_bytes_make_no_long_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
