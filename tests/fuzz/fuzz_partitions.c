/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as partitions.conf: either there is a reason with file and line, or a set that keeps
 * its promises, in all modes, and that comes to a map in which nobody holds a key twice and the
 * subnet manager is a full member of the default partition.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "fm/conf/partition.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct topo *make_topo(void)
{
	static const unsigned m[] = { 2, 3 }, w[] = { 1, 2 }, p[] = { 1, 1 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

static void check_set(const struct partition_set *set)
{
	assert(set->count && set->list[set->count - 1].base == PKEY_BASE(PKEY_DEFAULT));
	for (uint32_t i = 0; i < set->count; i++) {
		assert(set->list[i].base && (!i || set->list[i - 1].base < set->list[i].base));
		assert(partition_find(set, set->list[i].base) == &set->list[i]);
		assert(set->list[i].sl < 16);
	}
	for (uint32_t i = 0; i < set->ngroups; i++) {
		const struct partition_group *g = &set->groups[i];

		assert(g->mgid[0] == 0xff && (g->mgid[1] & 0xf) == g->scope);
		assert(g->pkey & PKEY_FULL && partition_find(set, g->pkey));
		assert(g->mtu >= 1 && g->mtu <= 5 && g->rate >= 2 && g->sl < 16);
	}
}

static void check_map(const struct partition_set *set, const struct topo *t)
{
	uint32_t sm_port = t->nodes[t->nnodes - 1].port0 + 1;
	struct pkey_map *map = partition_resolve(set, t, sm_port);
	const uint16_t *keys;

	for (uint32_t port = 0; port < t->nports; port++) {
		unsigned n = pkey_map_keys(map, port, &keys);

		for (unsigned i = 0; i + 1 < n; i++)
			assert(PKEY_BASE(keys[i]) < PKEY_BASE(keys[i + 1]) ||
			       (set->both && keys[i] == (keys[i + 1] | PKEY_FULL) &&
				keys[i] != keys[i + 1]));
		if (map && map->index0[port])
			assert(pkey_map_member(map, port, map->index0[port]));
	}
	assert(pkey_map_member(map, sm_port, PKEY_DEFAULT) == PKEY_DEFAULT);
	pkey_map_free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct partition_options options = { .qos = size & 1, .both = size & 2 };
	char *text = mem_alloc(size + 1, 1), err[256] = "";
	struct partition_set *set;

	memcpy(text, data, size);
	set = partition_parse("fuzz", text, &options, err, sizeof(err));
	if (set) {
		struct topo *t = make_topo();

		check_set(set);
		check_map(set, t);
		topo_unref(t);
	} else {
		assert(!strncmp(err, "fuzz:", 5) && isdigit((unsigned char)err[5]));
		assert(strstr(err + 5, ": "));
	}
	partition_free(set);
	free(text);
	return 0;
}
