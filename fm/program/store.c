/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One record a switch, by GUID, for as long as the daemon lives: a switch that is away keeps its
 * tables, and so does its record. The table has room for the highest top there was; at 1,620
 * switches and 13,300 LIDs that is 21 MB, the largest piece of memory of the daemon, so there is
 * one copy and no more.
 */
#include <stdlib.h>
#include "fm/program/store.h"
#include "topology/mem.h"

void store_init(struct store *store)
{
	cl_qmap_init(&store->switches);
}

void store_fini(struct store *store)
{
	cl_map_item_t *item, *next;

	for (item = cl_qmap_head(&store->switches); item != cl_qmap_end(&store->switches);
	     item = next) {
		struct store_switch *sw = (struct store_switch *)item;

		next = cl_qmap_next(item);
		free(sw->lft);
		free(sw);
	}
	store_init(store);
}

struct store_switch *store_find(const struct store *store, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&store->switches, guid);

	return item == cl_qmap_end(&store->switches) ? NULL : (struct store_switch *)item;
}

struct store_switch *store_get(struct store *store, guid_t guid, uint32_t nblocks)
{
	struct store_switch *sw = store_find(store, guid);

	if (!sw) {
		sw = mem_alloc(1, sizeof(*sw));
		sw->guid = guid;
		cl_qmap_insert(&store->switches, guid, &sw->item);
	}
	if (sw->nblocks < nblocks) {
		sw->lft = mem_resize(sw->lft, nblocks, TABLES_BLOCK);
		sw->nblocks = nblocks;
	}
	return sw;
}

uint32_t store_next(const struct store_set *set, uint32_t from)
{
	uint32_t word = from / 64;
	uint64_t left;

	if (word >= STORE_WORDS)
		return STORE_BLOCKS;
	left = set->words[word] & ~(uint64_t)0 << from % 64;
	while (!left && ++word < STORE_WORDS)
		left = set->words[word];
	return left ? word * 64 + (uint32_t)__builtin_ctzll(left) : STORE_BLOCKS;
}
