/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sort: for arrays that mostly are in order already, as what comes port by port from a regular fabric is. */
#ifndef FMD_TOPOLOGY_SORT_H
#define FMD_TOPOLOGY_SORT_H

#include <stdlib.h>

/* qsort(3), but a look is enough where nothing is out of order. */
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

#endif
