/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Compares a block that a switch holds with what it should hold.
 */
#include <string.h>
#include "fm/program/program_priv.h"

bool program_same(const struct store_switch *sw, uint32_t block, const uint8_t *data)
{
	uint32_t first = block * TABLES_BLOCK, count = TABLES_BLOCK;
	uint32_t top = sw->node ? inv_wanted(sw->node)->top : 0;

	if (top && top < first + count)
		count = top < first ? 0 : top - first + 1;
	return !memcmp(data, store_block(sw, block), count);
}

bool program_differs(const struct program *p, const struct store_switch *sw, uint32_t block)
{
	return (!store_has(&sw->known, block) && !store_has(&sw->cached, block)) ||
	       (store_has(&sw->own, block) &&
		memcmp(store_block(sw, block), program_wanted(p, sw, block), TABLES_BLOCK) != 0);
}
