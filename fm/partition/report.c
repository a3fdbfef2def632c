/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: membership is that of the configuration; the index of a P_Key is its place in the table
 * that the port last reported. The table of a port that is in the default partition only is not
 * read.
 */
#include "fm/partition/report.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"

static bool is_end_port(const struct topo *t, uint32_t port)
{
	const struct topo_port *p = &t->ports[port];

	return p->guid && (p->num == 0) == (t->nodes[p->node].type == TOPO_SWITCH);
}

/* Where the port holds the key, -1 = it does not. */
static int held_at(const struct partition_report *r, uint32_t port, uint16_t key)
{
	const struct topo_port *p = &r->topo->ports[port];
	const struct inv_node *node = inventory_find(r->inventory, r->topo->nodes[p->node].guid);
	const struct inv_pkeys *table =
		node && p->num <= node->nports ? node->ports[p->num].pkeys : NULL;

	if (!table)
		return key == PKEY_DEFAULT ? 0 : -1;
	for (unsigned i = 0; i < table->cap; i++)
		if (table->have[i] == key)
			return (int)i;
	return -1;
}

static bool is_enforced(const struct partition_report *r, uint32_t port)
{
	const struct topo_port *peer = topo_peer(r->topo, &r->topo->ports[port]);
	const struct inv_node *node =
		peer ? inventory_find(r->inventory, r->topo->nodes[peer->node].guid) : NULL;

	return node && peer->num <= node->nports && node->ports[peer->num].enforced;
}

static json_t *json_member(const struct partition_report *r, uint32_t port, uint16_t key)
{
	const struct topo_port *p = &r->topo->ports[port];
	const struct topo_node *node = &r->topo->nodes[p->node];
	int index = held_at(r, port, key);

	return json_pack("{ss so si si ss so sb}", "name", node->name, "guid",
			 json_sprintf("0x%016" PRIx64, p->guid), "port", (int)p->num, "lid",
			 (int)r->lids->lid_of_port[port], "membership",
			 key & PKEY_FULL ? "full" : "limited", "index",
			 index < 0 ? json_null() : json_integer(index), "enforced",
			 is_enforced(r, port));
}

struct census {
	unsigned full, limited;
};

/* Each P_Key of each end port. */
typedef void member_fn(void *arg, uint32_t port, uint16_t key);
static void each_member(const struct partition_report *r, member_fn *fn, void *arg)
{
	const uint16_t *keys;

	for (uint32_t port = 0; r->topo && port < r->topo->nports; port++) {
		unsigned n = is_end_port(r->topo, port) ? pkey_map_keys(r->pkeys, port, &keys) : 0;

		for (unsigned i = 0; i < n; i++)
			fn(arg, port, keys[i]);
	}
}

struct count {
	const struct partition_set *set;
	struct census *of; /* by place in the set */
};

static void count_member(void *arg, uint32_t port, uint16_t key)
{
	struct count *count = arg;
	struct census *census = &count->of[partition_find(count->set, key) - count->set->list];

	if (key & PKEY_FULL)
		census->full++;
	else
		census->limited++;
}

static json_t *json_partition(const struct partition *part, const struct census *census)
{
	return json_pack("{ss so si sb si si}", "name", part->name, "pkey",
			 json_sprintf("0x%04x", part->base), "sl", (int)part->sl, "ipoib",
			 part->ipoib, "full", (int)census->full, "limited", (int)census->limited);
}

static json_t *json_all(const struct partition_report *r)
{
	const struct partition_set *set = r->set;
	struct count count = { .set = set, .of = mem_alloc(set->count, sizeof(*count.of)) };
	json_t *list = json_array();

	each_member(r, count_member, &count);
	for (uint32_t i = 0; i < set->count; i++)
		json_array_append_new(list, json_partition(&set->list[i], &count.of[i]));
	free(count.of);
	return list;
}

struct members {
	const struct partition_report *r;
	uint16_t base;
	json_t *list;
};

static void add_member(void *arg, uint32_t port, uint16_t key)
{
	struct members *m = arg;

	if (PKEY_BASE(key) == m->base)
		json_array_append_new(m->list, json_member(m->r, port, key));
}

/* By name, or by P_Key in either membership. */
static const struct partition *find(const struct partition_set *set, const char *which)
{
	char *end;
	unsigned long pkey = strtoul(which, &end, 0);

	const struct partition *named = partition_find_name(set, which);

	if (named)
		return named;
	return *which >= '0' && *which <= '9' && !*end && pkey <= UINT16_MAX
		       ? partition_find(set, (uint16_t)pkey)
		       : NULL;
}

json_t *partition_report(const struct partition_report *r, const char *which)
{
	const struct partition *part = which ? find(r->set, which) : NULL;
	struct members members = { .r = r, .list = json_array() };
	json_t *all, *one;

	if (which && !part) {
		json_decref(members.list);
		return NULL;
	}
	all = json_all(r);
	if (!which) {
		json_decref(members.list);
		return all;
	}
	members.base = part->base;
	each_member(r, add_member, &members);
	one = json_array_get(all, (size_t)(part - r->set->list));
	json_object_set_new(one, "members", members.list);
	one = json_pack("[O]", one);
	json_decref(all);
	return one;
}
