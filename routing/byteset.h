/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * byteset: a set of byte values, and which bytes of a forwarding row are in it, one bit each. Used
 * by the proof (check.c) and the order of writes, not by the engines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BYTESET_BLOCK 64 /* bytes to a word of bits, the first byte's lowest */

/* For each bit of a mask. */
#define FOR_BITS(bit, mask)                                                                        \
	for (uint64_t left_ = (mask); left_ && ((bit) = (unsigned)__builtin_ctzll(left_), true);   \
	     left_ &= left_ - 1)

/*
 * Byte h * 16 + l is in the set when bit h of low[l] is set; from h = 8 on it is bit h - 8 of
 * high[l].
 */
struct byteset {
	uint8_t low[16], high[16];
};

/* Adds a value, and says whether a value is in the set. A zeroed set is empty. */
void byteset_add(struct byteset *set, uint8_t byte);
bool byteset_has(const struct byteset *set, uint8_t byte);
/* Sets found[i], for each block of BYTESET_BLOCK bytes, to a mask of its bytes in the set. */
void byteset_find(const struct byteset *set, const uint8_t *bytes, size_t blocks, uint64_t *found);

#if defined(__SSE2__)
#include <emmintrin.h>

/* A mask of the bytes of a block that have this value. */
static inline uint64_t byteset_equal(const uint8_t *block, uint8_t value)
{
	const __m128i all = _mm_set1_epi8(value);
	uint64_t equal = 0;

	for (unsigned i = 0; i < BYTESET_BLOCK / 16; i++) {
		__m128i part = _mm_loadu_si128((const __m128i *)(block + i * 16));
		uint64_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(part, all));

		equal |= bits << (i * 16);
	}
	return equal;
}
#else
static inline uint64_t byteset_equal(const uint8_t *block, uint8_t value)
{
	uint64_t equal = 0;

	for (unsigned i = 0; i < BYTESET_BLOCK; i++)
		equal |= (uint64_t)(block[i] == value) << i;
	return equal;
}
#endif
