/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mft_store: one record a switch, by GUID, for as long as the daemon lives; of its blocks those
 * that hold something or are to.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/program/mft_store.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

struct mft_switch *mft_switch_get(struct mft_store *store, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&store->switches, guid);
	struct mft_switch *sw = (struct mft_switch *)item;

	if (item != cl_qmap_end(&store->switches))
		return sw;
	sw = mem_alloc(1, sizeof(*sw));
	sw->guid = guid;
	cl_qmap_insert(&store->switches, guid, &sw->item);
	return sw;
}

struct mft_switch *mft_switch_first(const struct mft_store *store)
{
	cl_map_item_t *item = cl_qmap_head(&store->switches);

	return item == cl_qmap_end(&store->switches) ? NULL : (struct mft_switch *)item;
}

struct mft_switch *mft_switch_next(const struct mft_store *store, const struct mft_switch *sw)
{
	cl_map_item_t *item = cl_qmap_next(&sw->item);

	return item == cl_qmap_end(&store->switches) ? NULL : (struct mft_switch *)item;
}

static uint32_t block_place(const struct mft_switch *sw, uint16_t key)
{
	return sort_place(0, sw->nblocks, at, sw->blocks[at]->key < key);
}

struct mft_block *mft_block_find(const struct mft_switch *sw, uint16_t key)
{
	uint32_t at = block_place(sw, key);

	return at < sw->nblocks && sw->blocks[at]->key == key ? sw->blocks[at] : NULL;
}

struct mft_block *mft_block_get(struct mft_switch *sw, uint16_t key)
{
	uint32_t at = block_place(sw, key);
	struct mft_block *block;

	if (at < sw->nblocks && sw->blocks[at]->key == key)
		return sw->blocks[at];
	if (sw->nblocks == sw->size) {
		sw->size = sw->size ? sw->size * 2 : 4;
		sw->blocks = mem_resize(sw->blocks, sw->size, sizeof(struct mft_block *));
	}
	block = mem_alloc(1, sizeof(*block));
	block->sw = sw;
	block->key = key;
	memmove(sw->blocks + at + 1, sw->blocks + at,
		(sw->nblocks - at) * sizeof(struct mft_block *));
	sw->blocks[at] = block;
	sw->nblocks++;
	return block;
}

void mft_store_init(struct mft_store *store)
{
	cl_qmap_init(&store->switches);
}

void mft_store_fini(struct mft_store *store)
{
	struct mft_switch *sw;

	while ((sw = mft_switch_first(store))) {
		cl_qmap_remove_item(&store->switches, &sw->item);
		for (uint32_t i = 0; i < sw->nblocks; i++)
			free(sw->blocks[i]);
		free(sw->blocks);
		free(sw);
	}
}
