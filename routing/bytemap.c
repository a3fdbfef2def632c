/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bytemap: the inner loop of routing. A forwarding row is its family's row of slots with each slot
 * replaced by a port; slots are few (an up-degree, mostly 64 or less), so the table fits into
 * registers and a shuffle translates 32 entries at a time. The AVX2 version is chosen at run time;
 * elsewhere a plain loop does.
 */
#include <stdbool.h>
#include "routing/bytemap.h"

static void map_plain(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		      const uint8_t *map)
{
	for (size_t i = 0; i < count; i++)
		out[i] = map[in[i]];
}

static void map_plain_over(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
			   const uint8_t *map)
{
	for (size_t i = 0; i < count; i++)
		if (in[i] != BYTEMAP_KEEP)
			out[i] = map[in[i]];
}

#if defined(__x86_64__)
#include <immintrin.h>

#define PARTS	     (BYTEMAP_TABLE / 16)
#define AVX2	     __attribute__((target("avx2")))
#define AVX2_INLINED __attribute__((target("avx2"), always_inline)) static inline

/* Each part of 16 entries answers for the inputs with its number in the high nibble; for the others `rest` does. */
AVX2_INLINED __m256i map_32(const __m256i part[PARTS], unsigned parts, __m256i x, __m256i rest)
{
	__m256i nibble = _mm256_set1_epi8(0x0f);
	__m256i low = _mm256_and_si256(x, nibble), high = _mm256_andnot_si256(nibble, x);

	for (unsigned i = 0; i < parts; i++) {
		__m256i mine = _mm256_cmpeq_epi8(high, _mm256_set1_epi8((char)(i << 4)));

		rest = _mm256_or_si256(rest,
				       _mm256_and_si256(mine, _mm256_shuffle_epi8(part[i], low)));
	}
	return rest;
}

/* With the number of parts and `over` known to the compiler, table and loop are registers and straight code. */
AVX2_INLINED size_t map_parts(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
			      const uint8_t *map, unsigned parts, bool over)
{
	__m256i part[PARTS], none = _mm256_set1_epi8((char)BYTEMAP_KEEP);
	size_t i;

	for (unsigned p = 0; p < parts; p++)
		part[p] = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)(map + p * 16)));
	for (i = 0; i + 32 <= count; i += 32) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(in + i));
		__m256i rest = _mm256_cmpeq_epi8(x, none);

		if (over)
			rest = _mm256_and_si256(rest,
						_mm256_loadu_si256((const __m256i *)(out + i)));
		_mm256_storeu_si256((__m256i *)(out + i), map_32(part, parts, x, rest));
	}
	return i;
}

AVX2 static size_t map_avx2(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
			    const uint8_t *map, unsigned used)
{
	switch ((used + 15) / 16) {
	case 0:
	case 1:
		return map_parts(out, in, count, map, 1, false);
	case 2:
		return map_parts(out, in, count, map, 2, false);
	case 3:
		return map_parts(out, in, count, map, 3, false);
	default:
		return map_parts(out, in, count, map, 4, false);
	}
}

AVX2 static size_t map_avx2_over(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
				 const uint8_t *map, unsigned used)
{
	switch ((used + 15) / 16) {
	case 0:
	case 1:
		return map_parts(out, in, count, map, 1, true);
	case 2:
		return map_parts(out, in, count, map, 2, true);
	case 3:
		return map_parts(out, in, count, map, 3, true);
	default:
		return map_parts(out, in, count, map, 4, true);
	}
}

static bool fast_way(size_t count, unsigned used)
{
	return used <= BYTEMAP_TABLE && count >= 32 && __builtin_cpu_supports("avx2");
}
#endif

void bytemap(uint8_t *restrict out, const uint8_t *restrict in, size_t count, const uint8_t *map,
	     unsigned used)
{
	size_t done = 0;

#if defined(__x86_64__)
	if (fast_way(count, used))
		done = map_avx2(out, in, count, map, used);
#endif
	map_plain(out + done, in + done, count - done, map);
}

void bytemap_over(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		  const uint8_t *map, unsigned used)
{
	size_t done = 0;

#if defined(__x86_64__)
	if (fast_way(count, used))
		done = map_avx2_over(out, in, count, map, used);
#endif
	map_plain_over(out + done, in + done, count - done, map);
}
