/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * byteset: a set of bytes as 16 columns of 16 bits fits into two registers: one shuffle by the low
 * nibble fetches the columns of 32 entries, another by the high nibble the bits to test there. That
 * is for AVX2, chosen at run time; elsewhere a plain loop does.
 */
#include "routing/byteset.h"

void byteset_add(struct byteset *set, uint8_t byte)
{
	uint8_t *column = byte < 128 ? set->low : set->high;

	column[byte & 15] |= 1u << (byte >> 4 & 7);
}

bool byteset_has(const struct byteset *set, uint8_t byte)
{
	const uint8_t *column = byte < 128 ? set->low : set->high;

	return column[byte & 15] >> (byte >> 4 & 7) & 1;
}

static void find_plain(const struct byteset *set, const uint8_t *bytes, size_t blocks,
		       uint64_t *found)
{
	uint8_t has[256];

	for (unsigned byte = 0; byte < 256; byte++)
		has[byte] = byteset_has(set, byte);
	for (size_t i = 0; i < blocks; i++, bytes += BYTESET_BLOCK) {
		found[i] = 0;
		for (unsigned n = 0; n < BYTESET_BLOCK; n++)
			found[i] |= (uint64_t)has[bytes[n]] << n;
	}
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2	     __attribute__((target("avx2")))
#define AVX2_INLINED __attribute__((target("avx2"), always_inline)) static inline

struct columns {
	__m256i low, high, bit; /* bit: by high nibble */
};

/* A shuffle gives 0 where the index has its top bit set: so one of low and high answers. */
AVX2_INLINED uint64_t find_32(const struct columns *c, const uint8_t *bytes)
{
	const __m256i nibble = _mm256_set1_epi8(0x0f), top = _mm256_set1_epi8(0x80);
	__m256i x = _mm256_loadu_si256((const __m256i *)bytes);
	__m256i index = _mm256_and_si256(x, _mm256_or_si256(nibble, top));
	__m256i column =
		_mm256_or_si256(_mm256_shuffle_epi8(c->low, index),
				_mm256_shuffle_epi8(c->high, _mm256_xor_si256(index, top)));
	__m256i bit =
		_mm256_shuffle_epi8(c->bit, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
	__m256i in = _mm256_cmpeq_epi8(_mm256_and_si256(column, bit), bit);

	return (uint32_t)_mm256_movemask_epi8(in);
}

AVX2 static void find_avx2(const struct byteset *set, const uint8_t *bytes, size_t blocks,
			   uint64_t *found)
{
	const struct columns c = {
		_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->low)),
		_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set->high)),
		_mm256_broadcastsi128_si256(_mm_set1_epi64x(0x8040201008040201)),
	};

	for (size_t i = 0; i < blocks; i++, bytes += BYTESET_BLOCK)
		found[i] = find_32(&c, bytes) | find_32(&c, bytes + 32) << 32;
}

void byteset_find(const struct byteset *set, const uint8_t *bytes, size_t blocks, uint64_t *found)
{
	(__builtin_cpu_supports("avx2") ? find_avx2 : find_plain)(set, bytes, blocks, found);
}
#else
void byteset_find(const struct byteset *set, const uint8_t *bytes, size_t blocks, uint64_t *found)
{
	find_plain(set, bytes, blocks, found);
}
#endif
