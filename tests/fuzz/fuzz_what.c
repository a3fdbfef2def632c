/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as what an operator writes for a part of the fabric: either there is a reason, or
 * something that is in the fabric and that its own name leads to again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(struct topo_builder *b, guid_t guid, const char *desc, enum topo_type type,
	       unsigned nports, uint16_t lid)
{
	unsigned end = type == TOPO_SWITCH ? 0 : 1;
	int node = topo_builder_node(
		b, &(struct topo_node){
			   .guid = guid, .desc = desc, .type = type, .nports = (uint8_t)nports });

	topo_builder_port(b, node, end,
			  &(struct topo_port){ .guid = guid + end, .lid = lid, .lmc = 1 });
	return node;
}

static const struct topo *fabric(void)
{
	static const struct topo *t;
	struct topo_builder *b;
	int leaf, spine;

	if (t)
		return t;
	b = topo_builder_new();
	leaf = add(b, 0x2c90300000100, "MF0;leaf-01:MQM9790/U1", TOPO_SWITCH, 4, 8);
	spine = add(b, 0x2c90300000200, "spine-01", TOPO_SWITCH, 4, 10);
	topo_builder_link(b, leaf, 4, spine, 1, true);
	topo_builder_link(b, leaf, 3, spine, 2, true);
	topo_builder_link(b, leaf, 1, add(b, 0x100, "dgx-1 mlx5_0", TOPO_CA, 1, 2), 1, true);
	topo_builder_link(b, spine, 3, add(b, 0x200, "dgx-1 mlx5_1", TOPO_CA, 1, 4), 1, true);
	topo_builder_link(b, leaf, 2, add(b, 0x300, "'dgx-2.local' HCA-1", TOPO_CA, 2, 6), 1, true);
	t = topo_freeze(b);
	return t;
}

static bool partition(const void *arg, const char *name, unsigned *pkey)
{
	*pkey = 0x21;
	return !strcmp(name, "storage");
}

static void check(const struct topo *t, const struct what *what)
{
	const uint32_t *nodes;
	unsigned count = what_nodes(t, what, &nodes);

	for (unsigned i = 0; i < count; i++)
		assert(nodes[i] < t->nnodes && what->port <= t->nodes[nodes[i]].nports);
	assert((what->kind == WHAT_PORT) == (what->port > 0));
	assert((what->kind & WHAT_PLACE) ? count > 0 : count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct what_scope scope = { .topo = fabric(), .partition = partition };
	char *text = mem_alloc(size + 1, 1), err[WHAT_ERROR_SIZE], name[256];
	struct what what, again;

	memcpy(text, data, size);
	scope.number_is_pkey = size && data[0] == '?';
	if (!what_find(&scope, text + scope.number_is_pkey, WHAT_ANY, &what, err, sizeof(err))) {
		assert(*err && strlen(err) < sizeof(err));
	} else {
		check(scope.topo, &what);
		assert(what_name(scope.topo, &what, name, sizeof(name)) > 0);
		if (what.kind & (WHAT_PLACE | WHAT_MGID)) {
			assert(what_find(&scope, name, what.kind, &again, err, sizeof(err)));
			assert(again.node == what.node && again.port == what.port);
		}
	}
	free(text);
	return 0;
}
