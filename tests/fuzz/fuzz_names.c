/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a node-name-map and as HierarchyInfo: either there is a reason, or names that are
 * safe to show; labels that fit.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "topology/snapshot/naming.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_map(const char *text, size_t size)
{
	char err[256] = "";
	struct node_names *names = node_names_parse("map", text, size, err, sizeof(err));

	assert(names ? !*err : !strncmp(err, "map:", 4));
	for (uint32_t i = 0; i < node_names_count(names); i++) {
		const char *name = node_names_find(names, node_names_guid(names, i));

		assert(name && *name && strlen(name) <= NODE_NAME_MAX && !strpbrk(name, "\x1b\n"));
	}
	node_names_free(names);
}

static void as_hierarchy(const uint8_t *data, size_t size)
{
	struct wire_hierarchy h;
	char label[WIRE_HIERARCHY_LABEL];

	if (size < 64 || !wire_hierarchy_decode(data, &h))
		return;
	for (int is_switch = 0; is_switch < 2; is_switch++)
		if (wire_hierarchy_label(&h, is_switch, label))
			assert(strnlen(label, sizeof(label)) < sizeof(label));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_map((const char *)data, size);
	as_hierarchy(data, size);
	return 0;
}
