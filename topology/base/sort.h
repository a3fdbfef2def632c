/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sort: comparing numbers, sorting of arrays that are mostly in order already (data that is listed
 * port by port from a regular fabric), counting sort, binary search, sets that are joined, a hash
 * of words, and random numbers.
 */
#pragma once

#include <stdint.h>
#include "topology/base/mem.h"

/* How two numbers compare: < 0, 0 or > 0. Further keys follow behind `?:`. */
#define sort_order(a, b) (((a) > (b)) - ((a) < (b)))

/*
 * Defines a comparison for qsort(3) and bsearch(3): how two items of a type, *a and *b, are
 * ordered. Of an array of pointers the type is `struct x *const`.
 */
#define SORT_BY(name, type, order)                                                                 \
	static int name(const void *va, const void *vb)                                            \
	{                                                                                          \
		const type *a = va;                                                                \
		const type *b = vb;                                                                \
                                                                                                   \
		return order;                                                                      \
	}

/* qsort(3) that returns after one pass if the array is in order. */
static inline void sort_if_needed(void *base, size_t count, size_t size,
				  int (*compare)(const void *, const void *))
{
	const char *at = base;

	for (size_t i = 1; i < count; i++)
		if (compare(at + (i - 1) * size, at + i * size) > 0) {
			qsort(base, count, size, compare);
			return;
		}
}

/* Counting sort: by key[item], which is below nkeys; equals keep their order. */
static inline void sort_by_key(uint32_t *items, uint32_t count, const uint32_t *key, uint32_t nkeys)
{
	uint32_t *next = mem_array(next, nkeys + 1u);
	uint32_t *sorted = mem_array_unset(sorted, count);

	for (uint32_t i = 0; i < count; i++)
		next[key[items[i]] + 1]++;
	for (uint32_t k = 1; k < nkeys; k++)
		next[k] += next[k - 1];
	for (uint32_t i = 0; i < count; i++)
		sorted[next[key[items[i]]]++] = items[i];
	mem_copy(items, sorted, count);
	free(sorted);
	free(next);
}

/*
 * Where something belongs in what is sorted: the first index of [low, high) for which `before` is
 * false. `before` is an expression of `at`, true for all up to there.
 */
#define sort_place(low, high, at, before)                                                          \
	({                                                                                         \
		uint32_t sort_low = (low), sort_high = (high);                                     \
                                                                                                   \
		while (sort_low < sort_high) {                                                     \
			uint32_t at = sort_low + (sort_high - sort_low) / 2;                       \
                                                                                                   \
			if (before)                                                                \
				sort_low = at + 1;                                                 \
			else                                                                       \
				sort_high = at;                                                    \
		}                                                                                  \
		sort_low;                                                                          \
	})

/* Whether `condition`, an expression of `i`, is true for one of [from, end) at least. */
#define any_of(i, from, end, condition)                                                            \
	({                                                                                         \
		typeof(+(end)) i = (from);                                                         \
                                                                                                   \
		while (i < (end) && !(condition))                                                  \
			i++;                                                                       \
		i < (end);                                                                         \
	})

/* The item that stands for the set of an item: parent[], by item, leads there from all of a set. */
static inline uint32_t sort_root(uint32_t *parent, uint32_t item)
{
	while (parent[item] != item)
		item = parent[item] = parent[parent[item]];
	return item;
}

/* The sum of the hashes of its words is a hash of a set; callers compare sets of equal hashes. */
static inline uint64_t hash_word(uint64_t word)
{
	uint64_t mixed = (word + 1) * 0x9e3779b97f4a7c15ull;

	return mixed ^ mixed >> 32;
}

/*
 * Random numbers by splitmix64 (Steele, Lea and Flood, 2014): small, seedable, the same everywhere.
 * Not for secrets.
 */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}
