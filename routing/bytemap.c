/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bytemap: the inner loop of routing. A forwarding row is its family's row of slots with each slot
 * replaced by a port; slots are few (an up-degree, mostly 64 or less), so the table fits into
 * registers and a shuffle translates 32 entries at a time. The AVX2 version is chosen at run time;
 * elsewhere a plain loop does.
 */
#include "routing/bytemap.h"

static void map_plain(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		      const uint8_t *map)
{
	for (size_t i = 0; i < count; i++)
		out[i] = map[in[i]];
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Each 16-entry part answers for the inputs with its number in the high nibble; 255 stays 255. */
__attribute__((target("avx2"))) static size_t map_avx2(uint8_t *restrict out,
						       const uint8_t *restrict in, size_t count,
						       const uint8_t *map, unsigned parts)
{
	__m256i part[BYTEMAP_TABLE / 16], nibble = _mm256_set1_epi8(0x0f),
					  none = _mm256_set1_epi8((char)0xff);
	size_t i;

	for (unsigned p = 0; p < parts; p++)
		part[p] = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)(map + p * 16)));
	for (i = 0; i + 32 <= count; i += 32) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(in + i));
		__m256i low = _mm256_and_si256(x, nibble);
		__m256i high = _mm256_andnot_si256(nibble, x);
		__m256i y = _mm256_cmpeq_epi8(x, none);

		for (unsigned p = 0; p < parts; p++) {
			__m256i mine = _mm256_cmpeq_epi8(high, _mm256_set1_epi8((char)(p << 4)));
			y = _mm256_or_si256(
				y, _mm256_and_si256(mine, _mm256_shuffle_epi8(part[p], low)));
		}
		_mm256_storeu_si256((__m256i *)(out + i), y);
	}
	return i;
}
#endif

void bytemap(uint8_t *restrict out, const uint8_t *restrict in, size_t count, const uint8_t *map,
	     unsigned used)
{
	size_t done = 0;

#if defined(__x86_64__)
	if (used <= BYTEMAP_TABLE && count >= 32 && __builtin_cpu_supports("avx2"))
		done = map_avx2(out, in, count, map, (used + 15) / 16);
#endif
	map_plain(out + done, in + done, count - done, map);
}
