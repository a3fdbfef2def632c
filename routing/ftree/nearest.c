/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nearest: see nearest.h. As many destinations as fit into a register are compared over all rows at
 * a time, so that every row is read once and results are written once. Vectors are the compiler's;
 * it makes of them what the processor has: AVX2, chosen at run time, or what all of its kind have.
 */
#include <string.h>
#include "routing/ftree/engine.h"
#include "routing/ftree/nearest.h"

typedef uint8_t bytes_v __attribute__((vector_size(NEAREST_BYTES)));

_Static_assert(REACH_NEVER == UINT8_MAX, "one more than none is found by its overflow");

static inline __attribute__((always_inline)) void find_at(const uint8_t *const rows[], unsigned n,
							  uint32_t at, const struct nearest *out)
{
	bytes_v cost = (bytes_v){ 0 } - 1, count = { 0 }, last = { 0 };

	for (unsigned r = 0; r < n; r++) {
		bytes_v mine;

		memcpy(&mine, rows[r] + at, sizeof(mine));
		mine += 1;
		bytes_v never = (bytes_v)(mine == 0), nearer = (bytes_v)(mine < cost) & ~never;
		bytes_v leads = (bytes_v)(mine <= cost) & ~never;

		count = (count & ~nearer) - leads; /* true is -1 */
		last = (last & ~leads) | (leads & (uint8_t)r);
		cost = (cost & ~nearer) | (mine & nearer);
	}
	memcpy(out->cost + at, &cost, sizeof(cost));
	memcpy(out->count + at, &count, sizeof(count));
	memcpy(out->last + at, &last, sizeof(last));
}

static void find_plain(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		       const struct nearest *out)
{
	for (uint32_t at = 0; at < bytes; at += NEAREST_BYTES)
		find_at(rows, n, at, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void find_avx2(const uint8_t *const rows[], unsigned n,
						      uint32_t bytes, const struct nearest *out)
{
	for (uint32_t at = 0; at < bytes; at += NEAREST_BYTES)
		find_at(rows, n, at, out);
}

void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out)
{
	(__builtin_cpu_supports("avx2") ? find_avx2 : find_plain)(rows, n, bytes, out);
}
#else
void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out)
{
	find_plain(rows, n, bytes, out);
}
#endif
