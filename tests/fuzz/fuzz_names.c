/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a node-name-map, as HierarchyInfo and as files that OpenSM left: either there is a
 * reason, or names that are safe to show; labels that fit; LIDs that no two ports share.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "fm/mad/wire_optional.h"
#include "fm/opensm/osm_options.h"
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

static void as_lids(const char *path)
{
	struct osm_lids lids;

	assert(!osm_lids_read(path, &lids));
	for (uint32_t i = 0; i < lids.count; i++)
		for (uint32_t k = 0; k < i; k++)
			assert(lids.list[k].last < lids.list[i].first ||
			       lids.list[i].last < lids.list[k].first);
	free(lids.list);
}

static void as_files(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	struct osm_conf conf;
	struct osm_guids guids;
	struct osm_levels levels;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size) {
		as_lids(path);
		assert(!osm_conf_read(path, &conf) && !osm_guids_read(path, true, &guids) &&
		       !osm_levels_read(path, &levels));
		osm_conf_fini(&conf);
		free(guids.list);
		free(levels.list);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_map((const char *)data, size);
	as_hierarchy(data, size);
	if (size < 4096)
		as_files(data, size);
	return 0;
}
