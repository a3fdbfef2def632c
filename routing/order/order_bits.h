/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* order_bits: blocks of entries as 64-bit masks, one bit each. Private to routing/order/. */
#ifndef FMD_ROUTING_ORDER_BITS_H
#define FMD_ROUTING_ORDER_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include "routing/tables.h"

/* For each bit of a mask. */
#define FOR_BITS(bit, mask)                                                                        \
	for (uint64_t left_ = (mask); left_ && ((bit) = (unsigned)__builtin_ctzll(left_), true);   \
	     left_ &= left_ - 1)

#if defined(__SSE2__)
#include <emmintrin.h>

static inline uint64_t bits_equal16(__m128i a, __m128i b)
{
	return (uint16_t)_mm_movemask_epi8(_mm_cmpeq_epi8(a, b));
}

/* A mask of the entries in which two blocks are the same. */
static inline uint64_t bits_same(const uint8_t *a, const uint8_t *b)
{
	const __m128i *x = (const __m128i *)a, *y = (const __m128i *)b;
	uint64_t mask = 0;

	for (unsigned i = 0; i < TABLES_BLOCK / 16; i++)
		mask |= bits_equal16(_mm_loadu_si128(x + i), _mm_loadu_si128(y + i)) << 16 * i;
	return mask;
}
#else
static inline uint64_t bits_same(const uint8_t *a, const uint8_t *b)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < TABLES_BLOCK; i++)
		mask |= (uint64_t)(a[i] == b[i]) << i;
	return mask;
}
#endif

#endif
