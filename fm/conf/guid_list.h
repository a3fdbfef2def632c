/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * guid_list: a short list of GUIDs, each of them once. All zero = empty; the owner frees `guids`.
 */
#ifndef FMD_CONF_GUID_LIST_H
#define FMD_CONF_GUID_LIST_H

#include "topology/snapshot/topo.h"

struct guid_list {
	guid_t *guids;
	unsigned count, size; /* used; room */
};

/* Adds it unless it is there; compares it with the whole list. */
void guid_list_add(struct guid_list *list, guid_t guid);

#endif
