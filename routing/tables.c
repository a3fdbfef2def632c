/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tables: the memory of forwarding tables (see tables.h). A block of 64 entries is what one SMP
 * carries. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "routing/tables.h"
#include "topology/mem.h"

void tables_resize(struct tables *t, uint32_t nswitches, uint16_t top)
{
	uint32_t stride = (top / TABLES_BLOCK + 1u) * TABLES_BLOCK;
	size_t bytes = (size_t)nswitches * stride;

	assert(top <= TABLES_MAX_LID);
	if (bytes > t->capacity) {
		free(t->lft);
		t->lft = mem_alloc(1, bytes);
		t->capacity = bytes;
	}
	t->nswitches = nswitches;
	t->stride = stride;
	t->top = top;
}

void tables_copy(struct tables *to, const struct tables *from)
{
	tables_resize(to, from->nswitches, from->top);
	if (from->nswitches)
		memcpy(to->lft, from->lft, (size_t)from->nswitches * from->stride);
}

void tables_fini(struct tables *t)
{
	free(t->lft);
	*t = (struct tables){ 0 };
}
