/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mft_store: what mft knows of each switch. */
#ifndef FMD_PROGRAM_MFT_STORE_H
#define FMD_PROGRAM_MFT_STORE_H

#include <complib/cl_qmap.h>
#include "fm/inventory/inventory.h"
#include "routing/multicast/mcast_tree.h"

struct mft_switch {
	cl_map_item_t item; /* key = GUID */
	guid_t guid;
	struct inv_node *node;	   /* NULL: not in the inventory */
	struct mft_block **blocks; /* by key */
	uint32_t nblocks, size;
	uint8_t reboots; /* the node's, when its tables were read */
	bool known;	 /* its tables were read */
	bool fresh;	 /* read since the last apply */
	bool reading;	 /* in this apply */
	bool here;	 /* in this apply's snapshot, with a path to it */
	bool failed;	 /* sent nothing until an apply is to try again */
	bool written;	 /* in this apply */
};

struct mft_block {
	struct mft_switch *sw;
	uint16_t key; /* block << 4 | position */
	bool listed;  /* among the dirty ones */
	uint16_t want[MCAST_BLOCK], must[MCAST_BLOCK], may[MCAST_BLOCK], sent[MCAST_BLOCK];
};

struct mft_store {
	cl_qmap_t switches;
};

/* The store is the caller's memory, and owns its switches and blocks until mft_store_fini(). */
void mft_store_init(struct mft_store *store);
void mft_store_fini(struct mft_store *store);
/* The switch of that GUID, made if there is none. first, next: by GUID, NULL past the last. */
struct mft_switch *mft_switch_get(struct mft_store *store, guid_t guid);
struct mft_switch *mft_switch_first(const struct mft_store *store);
struct mft_switch *mft_switch_next(const struct mft_store *store, const struct mft_switch *sw);
/* The block of that key, NULL where there is none; mft_block_get() makes it. */
struct mft_block *mft_block_find(const struct mft_switch *sw, uint16_t key);
struct mft_block *mft_block_get(struct mft_switch *sw, uint16_t key);

#endif
