/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/conf/guid_list.h"
#include "topology/base/mem.h"

void guid_list_add(struct guid_list *list, guid_t guid)
{
	for (unsigned i = 0; i < list->count; i++)
		if (list->guids[i] == guid)
			return;
	if (list->count == list->size) {
		list->size = list->size ? list->size * 2 : 16;
		list->guids = mem_resize(list->guids, list->size, sizeof(*list->guids));
	}
	list->guids[list->count++] = guid;
}
