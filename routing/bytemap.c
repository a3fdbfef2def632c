/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bytemap: the inner loop of routing. A forwarding row is its family's row of slots with each slot
 * replaced by a port; slots are few (an up-degree, mostly 64 or less), so the table fits into
 * registers and a shuffle translates 32 or 64 entries at a time. AVX-512 with byte shuffles takes
 * any table, AVX2 those of up to AVX2_TABLE entries: chosen at run time; elsewhere a plain loop
 * does.
 */
#include <stdbool.h>
#include "routing/bytemap.h"

#if defined(__x86_64__)
#include <immintrin.h>

/*
 * ---- AVX-512: a shuffle of 64 entries, or two of 128 chosen by the input's top bit ------------
 */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))
#define AVX512_INLINED                                                                             \
	__attribute__((target("avx512f,avx512bw,avx512vbmi"), always_inline)) static inline

AVX512_INLINED __m512i look_up(const __m512i part[4], __m512i x, bool small)
{
	if (small)
		return _mm512_permutexvar_epi8(x, part[0]);
	__m512i low = _mm512_permutex2var_epi8(part[0], x, part[1]);
	__m512i high = _mm512_permutex2var_epi8(part[2], x, part[3]);

	return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(x), high);
}

AVX512_INLINED size_t map_lines(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
				const uint8_t *map, bool small, bool over)
{
	const __m512i none = _mm512_set1_epi8((char)BYTEMAP_KEEP);
	__m512i part[4];
	size_t i;

	for (unsigned p = 0; p < 4; p++)
		part[p] = _mm512_loadu_si512(map + p * 64);
	for (i = 0; i + 64 <= count; i += 64) {
		__m512i x = _mm512_loadu_si512(in + i), y = look_up(part, x, small);
		__mmask64 kept = _mm512_cmpeq_epi8_mask(x, none);

		if (over)
			_mm512_mask_storeu_epi8(out + i, ~kept, y);
		else
			_mm512_storeu_si512(out + i, _mm512_mask_mov_epi8(y, kept, none));
	}
	return i;
}

AVX512 static size_t map_avx512(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
				const uint8_t *map, unsigned used, bool over)
{
	if (used <= 64)
		return over ? map_lines(out, in, count, map, true, true)
			    : map_lines(out, in, count, map, true, false);
	return map_lines(out, in, count, map, false, over);
}

/* ---- AVX2: shuffles of 16 entries ------------------------------------------------------------ */

#define AVX2_TABLE   128
#define PARTS	     (AVX2_TABLE / 16)
#define AVX2	     __attribute__((target("avx2")))
#define AVX2_INLINED __attribute__((target("avx2"), always_inline)) static inline

/*
 * Each part of 16 entries answers for the inputs with its number in the high nibble; for the others
 * `rest` does.
 */
AVX2_INLINED __m256i map_32(const __m256i part[PARTS], unsigned parts, __m256i x, __m256i rest)
{
	__m256i nibble = _mm256_set1_epi8(0x0f);
	__m256i low = _mm256_and_si256(x, nibble), high = _mm256_andnot_si256(nibble, x);

	for (unsigned i = 0; i < parts; i++) {
		__m256i mine = _mm256_cmpeq_epi8(high, _mm256_set1_epi8(i << 4));

		rest = _mm256_or_si256(rest,
				       _mm256_and_si256(mine, _mm256_shuffle_epi8(part[i], low)));
	}
	return rest;
}

/*
 * With the number of parts known to the compiler, table and loop are registers and straight code.
 */
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
			    const uint8_t *map, unsigned used, bool over)
{
	if (used <= 16)
		return map_parts(out, in, count, map, 1, over);
	if (used <= 32)
		return map_parts(out, in, count, map, 2, over);
	return used <= 64 ? map_parts(out, in, count, map, 4, over)
			  : map_parts(out, in, count, map, PARTS, over);
}

static size_t map_fast(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		       const uint8_t *map, unsigned used, bool over)
{
	if (count >= 64 && __builtin_cpu_supports("avx512vbmi"))
		return map_avx512(out, in, count, map, used, over);
	if (count >= 32 && used <= AVX2_TABLE && __builtin_cpu_supports("avx2"))
		return map_avx2(out, in, count, map, used, over);
	return 0;
}
#else
static size_t map_fast(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		       const uint8_t *map, unsigned used, bool over)
{
	return 0;
}
#endif

static void map_all(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		    const uint8_t *map, unsigned used, bool over)
{
	size_t done = map_fast(out, in, count, map, used, over), step = count < 64 ? 32 : 64;
	size_t last = count - step;

	if (done && done < count) /* the end once more with what is before it: no change there */
		done = last + map_fast(out + last, in + last, step, map, used, over);
	for (size_t i = done; i < count; i++)
		out[i] = in[i] != BYTEMAP_KEEP ? map[in[i]] : over ? out[i] : BYTEMAP_KEEP;
}

void bytemap(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
	     const uint8_t map[256], unsigned used)
{
	map_all(out, in, count, map, used, false);
}

void bytemap_over(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		  const uint8_t map[256], unsigned used)
{
	map_all(out, in, count, map, used, true);
}
