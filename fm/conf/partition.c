/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition: the set as it stands, and what it comes to on a snapshot.
 *
 * Resolving goes partition by partition, in the order of their P_Keys: the rules mark ports one
 * after the other, so the last one holds, and what is marked in the end is appended to one list of
 * (port, key). A stable counting sort by port makes the map of it, each port's keys in ascending
 * order. That is linear in the memberships, whatever the mixture of ALL and single GUIDs.
 *
 * Where two partitions want index 0 of a port's table, the one that the file names last has it.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/conf/partition_own.h"
#include "topology/base/mem.h"

#define BASES 0x8000

/* ---- The set --------------------------------------------------------------------------------- */

/* Room for one more in an array that grows by doubling. */
static void *grown(void *array, uint32_t count, size_t size)
{
	return count & (count - 1) ? array : mem_resize(array, count ? 2 * (size_t)count : 1, size);
}

struct partition *partition_add(struct partition_set *set, const char *name, uint16_t base)
{
	struct partition *part;

	set->list = grown(set->list, set->count, sizeof(*set->list));
	part = &set->list[set->count++];
	*part = (struct partition){ .name = mem_strdup(name), .base = base };
	set->place[base] = (uint16_t)set->count;
	return part;
}

void partition_add_rule(struct partition_set *set, struct partition *part,
			const struct partition_rule *rule)
{
	part->rules = grown(part->rules, part->nrules, sizeof(*rule));
	part->rules[part->nrules++] = *rule;
}

void partition_add_group(struct partition_set *set, const struct partition_group *group)
{
	set->groups = grown(set->groups, set->ngroups, sizeof(*group));
	set->groups[set->ngroups++] = *group;
}

struct partition_set *partition_new(bool built_in)
{
	struct partition_set *set = mem_alloc(1, sizeof(*set));
	struct partition *part;

	set->place = mem_alloc(BASES, sizeof(*set->place));
	set->built_in = built_in;
	part = partition_add(set, "Default", PKEY_BASE(PKEY_DEFAULT));
	partition_add_rule(set, part,
			   &(struct partition_rule){
				   .who = PARTITION_ALL,
				   .membership = built_in ? PARTITION_FULL : PARTITION_LIMITED,
			   });
	partition_add_rule(set, part,
			   &(struct partition_rule){
				   .who = PARTITION_SELF,
				   .membership = PARTITION_FULL,
				   .order = 1,
			   });
	return set;
}

static int compare_bases(const void *a, const void *b)
{
	const struct partition *x = a, *y = b;

	return (int)x->base - (int)y->base;
}

void partition_finish(struct partition_set *set, const struct partition_options *options)
{
	set->both = options->both;
	qsort(set->list, set->count, sizeof(*set->list), compare_bases);
	for (uint32_t i = 0; i < set->count; i++)
		set->place[set->list[i].base] = (uint16_t)(i + 1);
}

void partition_free(struct partition_set *set)
{
	if (!set)
		return;
	for (uint32_t i = 0; i < set->count; i++) {
		free((char *)set->list[i].name);
		free(set->list[i].rules);
	}
	free(set->list);
	free(set->groups);
	free(set->place);
	free(set);
}

const struct partition *partition_find(const struct partition_set *set, uint16_t pkey)
{
	uint16_t place = set->place[PKEY_BASE(pkey)];

	return place ? &set->list[place - 1] : NULL;
}

const struct partition *partition_find_name(const struct partition_set *set, const char *name)
{
	for (uint32_t i = 0; *name && i < set->count; i++)
		if (!strcmp(set->list[i].name, name))
			return &set->list[i];
	return NULL;
}

/* ---- On a snapshot --------------------------------------------------------------------------- */

struct member {
	uint32_t port;
	uint16_t key;
};

struct resolver {
	const struct partition_set *set;
	const struct topo *t;
	uint32_t sm_port;
	/* by port: the one that holds, in the partition at hand */
	const struct partition_rule **rule;
	uint32_t *touched, ntouched;
	const struct partition_rule **first; /* by port: which rule has index 0 */
	uint16_t *index0;
	struct member *members;
	size_t count, size;
};

static bool is_end_port(const struct topo *t, uint32_t port)
{
	const struct topo_port *p = &t->ports[port];

	return p->guid && (p->num == 0) == (t->nodes[p->node].type == TOPO_SWITCH);
}

static void touch(struct resolver *r, uint32_t port, const struct partition_rule *rule)
{
	if (port == TOPO_NONE || !is_end_port(r->t, port))
		return;
	if (!r->rule[port])
		r->touched[r->ntouched++] = port;
	r->rule[port] = rule;
}

static void touch_all(struct resolver *r, const struct partition_rule *rule)
{
	static const uint8_t types[] = { [PARTITION_CAS] = TOPO_CA,
					 [PARTITION_SWITCHES] = TOPO_SWITCH,
					 [PARTITION_ROUTERS] = TOPO_ROUTER };
	const struct topo *t = r->t;

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		bool is_switch = node->type == TOPO_SWITCH;

		if (rule->who != PARTITION_ALL && node->type != types[rule->who])
			continue;
		for (unsigned num = !is_switch; num <= (is_switch ? 0 : node->nports); num++)
			touch(r, node->port0 + num, rule);
	}
}

static void apply_rule(struct resolver *r, const struct partition_rule *rule)
{
	if (rule->who == PARTITION_SELF)
		touch(r, r->sm_port, rule);
	else if (rule->who == PARTITION_PORT)
		touch(r, topo_find_port(r->t, rule->guid), rule);
	else
		touch_all(r, rule);
}

static void member_add(struct resolver *r, uint32_t port, uint16_t key)
{
	if (r->count == r->size) {
		r->size = r->size ? 2 * r->size : 1024;
		r->members = mem_resize(r->members, r->size, sizeof(*r->members));
	}
	r->members[r->count++] = (struct member){ port, key };
}

/*
 * Without the default partition nobody could ask the subnet administration anything: its port is in
 * it as a full member.
 */
static enum partition_membership membership_of(const struct resolver *r,
					       const struct partition *part, uint32_t port)
{
	enum partition_membership m = r->rule[port]->membership;

	if (m == PARTITION_BOTH && !r->set->both)
		return PARTITION_FULL;
	if (m == PARTITION_LIMITED && port == r->sm_port && part->base == PKEY_BASE(PKEY_DEFAULT))
		return PARTITION_FULL;
	return m;
}

static void emit(struct resolver *r, const struct partition *part, uint32_t port)
{
	enum partition_membership m = membership_of(r, part, port);
	const struct partition_rule *rule = r->rule[port];

	if (m != PARTITION_LIMITED)
		member_add(r, port, part->base | PKEY_FULL);
	if (m != PARTITION_FULL)
		member_add(r, port, part->base);
	if (rule->first && (!r->first[port] || rule->order > r->first[port]->order)) {
		r->first[port] = rule;
		r->index0[port] = part->base | (m == PARTITION_LIMITED ? 0 : PKEY_FULL);
	}
	r->rule[port] = NULL;
}

static void resolve_one(struct resolver *r, const struct partition *part)
{
	r->ntouched = 0;
	for (uint32_t i = 0; i < part->nrules; i++)
		apply_rule(r, &part->rules[i]);
	for (uint32_t i = 0; i < r->ntouched; i++)
		emit(r, part, r->touched[i]);
}

static struct pkey_map *map_make(struct resolver *r)
{
	struct pkey_map *map = mem_alloc(1, sizeof(*map));
	uint32_t nports = r->t->nports, *next = mem_alloc(nports + 1, sizeof(*next));

	map->nports = nports;
	map->first = mem_alloc(nports + 1, sizeof(*map->first));
	map->keys = mem_alloc(r->count, sizeof(*map->keys));
	map->index0 = r->index0;
	for (size_t i = 0; i < r->count; i++)
		map->first[r->members[i].port + 1]++;
	for (uint32_t p = 0; p < nports; p++)
		map->first[p + 1] += map->first[p];
	memcpy(next, map->first, (nports + 1) * sizeof(*next));
	for (size_t i = 0; i < r->count; i++)
		map->keys[next[r->members[i].port]++] = r->members[i].key;
	free(next);
	return map;
}

struct pkey_map *partition_resolve(const struct partition_set *set, const struct topo *t,
				   uint32_t sm_port)
{
	struct resolver r = { .set = set, .t = t, .sm_port = sm_port };
	struct pkey_map *map;

	if (set->built_in)
		return NULL;
	r.rule = mem_alloc(t->nports, sizeof(*r.rule));
	r.first = mem_alloc(t->nports, sizeof(*r.first));
	r.touched = mem_alloc(t->nports, sizeof(*r.touched));
	r.index0 = mem_alloc(t->nports, sizeof(*r.index0));
	for (uint32_t i = 0; i < set->count; i++)
		resolve_one(&r, &set->list[i]);
	map = map_make(&r);
	free(r.members);
	free(r.touched);
	free(r.first);
	free(r.rule);
	return map;
}
