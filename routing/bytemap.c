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

#define PARTS (BYTEMAP_TABLE / 16)

struct parts { /* the table in registers, 16 entries each */
	__m256i part[PARTS];
	unsigned count;
};

__attribute__((target("avx2"))) static void load_parts(struct parts *p, const uint8_t *map,
						       unsigned used)
{
	p->count = (used + 15) / 16;
	for (unsigned i = 0; i < p->count; i++)
		p->part[i] = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)(map + i * 16)));
}

/* Each part answers for the inputs with its number in the high nibble; the others' answers are `rest`. */
__attribute__((target("avx2"))) static __m256i map_32(const struct parts *p, __m256i x,
						      __m256i rest)
{
	__m256i nibble = _mm256_set1_epi8(0x0f);
	__m256i low = _mm256_and_si256(x, nibble), high = _mm256_andnot_si256(nibble, x);

	for (unsigned i = 0; i < p->count; i++) {
		__m256i mine = _mm256_cmpeq_epi8(high, _mm256_set1_epi8((char)(i << 4)));

		rest = _mm256_or_si256(
			rest, _mm256_and_si256(mine, _mm256_shuffle_epi8(p->part[i], low)));
	}
	return rest;
}

__attribute__((target("avx2"))) static size_t map_avx2(uint8_t *restrict out,
						       const uint8_t *restrict in, size_t count,
						       const uint8_t *map, unsigned used)
{
	__m256i none = _mm256_set1_epi8((char)BYTEMAP_KEEP);
	struct parts parts;
	size_t i;

	load_parts(&parts, map, used);
	for (i = 0; i + 32 <= count; i += 32) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(in + i));

		_mm256_storeu_si256((__m256i *)(out + i),
				    map_32(&parts, x, _mm256_cmpeq_epi8(x, none)));
	}
	return i;
}

__attribute__((target("avx2"))) static size_t map_avx2_over(uint8_t *restrict out,
							    const uint8_t *restrict in,
							    size_t count, const uint8_t *map,
							    unsigned used)
{
	__m256i none = _mm256_set1_epi8((char)BYTEMAP_KEEP);
	struct parts parts;
	size_t i;

	load_parts(&parts, map, used);
	for (i = 0; i + 32 <= count; i += 32) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(in + i));
		__m256i was = _mm256_loadu_si256((const __m256i *)(out + i));
		__m256i kept = _mm256_and_si256(was, _mm256_cmpeq_epi8(x, none));

		_mm256_storeu_si256((__m256i *)(out + i), map_32(&parts, x, kept));
	}
	return i;
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
