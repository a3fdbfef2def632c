/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* byteset: whatever way the processor takes, for sets of any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/byteset.h"
#include "topology/base/sort.h"

#define BLOCKS 4

static void fill(uint8_t *bytes, uint64_t *seed)
{
	for (unsigned i = 0; i < BLOCKS * BYTESET_BLOCK; i++)
		bytes[i] = random_next(seed);
}

static void what_is_in_the_set_is_found_and_nothing_else(void **state)
{
	uint64_t seed = 1, found[BLOCKS];
	uint8_t bytes[BLOCKS * BYTESET_BLOCK];

	for (unsigned size = 0; size < 256; size++) {
		struct byteset set = { 0 };
		bool in[256] = { false };

		for (unsigned n = 0; n < size; n++) {
			uint8_t byte = random_next(&seed);

			byteset_add(&set, byte);
			in[byte] = true;
		}
		fill(bytes, &seed);
		byteset_find(&set, bytes, BLOCKS, found);
		for (unsigned i = 0; i < sizeof(bytes); i++)
			assert_int_equal(found[i / 64] >> (i % 64) & 1, in[bytes[i]]);
		for (unsigned byte = 0; byte < 256; byte++)
			assert_int_equal(byteset_has(&set, byte), in[byte]);
	}
}

static void each_byte_differs_from_every_other(void **state)
{
	uint8_t bytes[BLOCKS * BYTESET_BLOCK]; /* all there are */
	uint64_t found[BLOCKS];

	for (unsigned i = 0; i < 256; i++)
		bytes[i] = i;
	for (unsigned byte = 0; byte < 256; byte++) {
		struct byteset set = { 0 };

		byteset_add(&set, byte);
		byteset_find(&set, bytes, BLOCKS, found);
		for (unsigned b = 0; b < BLOCKS; b++) {
			uint64_t expected = b == byte / 64 ? 1ull << (byte % 64) : 0;

			assert_true(found[b] == expected);
			assert_true(byteset_equal(bytes + b * BYTESET_BLOCK, byte) == expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_the_set_is_found_and_nothing_else),
		cmocka_unit_test(each_byte_differs_from_every_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
