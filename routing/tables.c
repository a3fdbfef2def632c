/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tables: the memory of forwarding tables (see tables.h). A block of 64 entries is what one SMP
 * carries.
 */
#include <assert.h>
#include "routing/tables.h"
#include "topology/base/mem.h"

#define RESERVE_AT_ONCE (2u << 20) /* bytes */
#define PAGE		4096	   /* the smallest there is */

void tables_forget(struct tables *t)
{
	free(t->made_from);
	t->made_from = NULL;
}

void tables_resize(struct tables *t, uint32_t nswitches, uint16_t top)
{
	uint32_t stride = (top / TABLES_BLOCK + 1u) * TABLES_BLOCK;
	size_t bytes = (size_t)nswitches * stride;

	assert(top <= TABLES_MAX_LID);
	if (nswitches != t->nswitches || top != t->top)
		tables_forget(t);
	if (bytes > t->capacity) {
		free(t->lft);
		t->lft = mem_alloc_aligned(TABLES_BLOCK, bytes);
		t->capacity = bytes;
	}
	t->nswitches = nswitches;
	t->stride = stride;
	t->top = top;
}

void tables_keep(struct tables *t, uint32_t nswitches, uint16_t top)
{
	tables_resize(t, nswitches, top);
	if (!t->made_from)
		t->made_from = mem_array(t->made_from, nswitches + 1);
}

bool tables_reserve(struct tables *t, size_t *reserved)
{
	size_t left = t->capacity - *reserved;

	left = left < RESERVE_AT_ONCE ? left : RESERVE_AT_ONCE;
	if (left)
		tables_forget(t);
	memset(t->lft + *reserved, TABLES_NO_ROUTE, left);
	*reserved += left;
	return *reserved < t->capacity;
}

#if defined(__SSE2__)
#include <emmintrin.h>

/* Plain stores would first read every line of the old table from memory. */
void tables_store_row(struct tables *t, uint32_t sw, const uint8_t *row)
{
	__m128i *to = (__m128i *)tables_row(t, sw), *end = to + t->stride / sizeof(*to);
	const __m128i *from = (const __m128i *)row;

	for (; to < end; to += 4, from += 4) { /* one line */
		_mm_stream_si128(to, _mm_loadu_si128(from));
		_mm_stream_si128(to + 1, _mm_loadu_si128(from + 1));
		_mm_stream_si128(to + 2, _mm_loadu_si128(from + 2));
		_mm_stream_si128(to + 3, _mm_loadu_si128(from + 3));
	}
	_mm_sfence();
}
#else
void tables_store_row(struct tables *t, uint32_t sw, const uint8_t *row)
{
	memcpy(tables_row(t, sw), row, t->stride);
}
#endif

void tables_copy(struct tables *to, const struct tables *from)
{
	tables_resize(to, from->nswitches, from->top);
	tables_forget(to);
	if (from->nswitches)
		memcpy(to->lft, from->lft, (size_t)from->nswitches * from->stride);
}

void tables_fini(struct tables *t)
{
	tables_forget(t);
	free(t->lft);
	*t = (struct tables){ 0 };
}
