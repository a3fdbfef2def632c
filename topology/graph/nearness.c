/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nearness: a fat tree as schedulers know trees: a host is in one group, a group in one other.
 *
 * A rail-optimised host is on eight leaves at once, and a leaf below many spines. What matters to
 * placement is nearness:
 *   - the hosts of a scalable unit are equally near to each other: one group suNN for the unit's
 *     leaves;
 *   - any other host is in the group of the switch of its first CA with a link;
 *   - then tier by tier: what the switches up to level L connect is one group, and where that
 *     joins several groups of the tier below, they get a parent tierL-N. Spines side by side thus
 *     come out as the one switch they are to a job, and tiers that join nothing new do not appear.
 * Parts that no link joins stay separate trees: no job can span them.
 *
 * Compute hosts only: where most hosts are in scalable units, with an HCA on more than half of the
 * unit's rails, all others are storage, management or login. So are those of units with clearly
 * fewer rails than most hosts have: two where these have more, or fewer than half.
 */
#include "topology/graph/nearness.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"
#include "topology/base/text.h"

#include <ctype.h>
#include <inttypes.h>

struct set_of {		     /* a group that has no parent yet */
	uint32_t group, set; /* the connected set it is in, by union-find root switch */
};

struct near_work {
	const struct topo *t;
	struct nearness *near;
	uint32_t *parent; /* by switch: union-find over links of the tiers so far */
	uint32_t *home;	  /* by host: the switch it is listed at, TOPO_NONE = without a link */
	struct set_of *tops;
	uint32_t ntops, nmembers;
};

/*
 * Whether Slurm reads a name as one node: not as a list, a range or a keyword. Machines without a
 * name have their GUID ("0x..") as name.
 */
static bool is_node_name(const char *name)
{
	if (!strncmp(name, "0x", 2))
		return name[2 + strspn(name + 2, "0123456789abcdefABCDEF")] == '\0';
	return text_is_host_name(name);
}

/* ---- Who computes ---------------------------------------------------------------------------- */

static bool is_compute(const struct topo *t, uint32_t h, const unsigned *rails, unsigned usual)
{
	const struct topo_host *host = &t->hosts[h];
	unsigned own = 0;
	int su = t->nodes[t->host_cas[t->hosts[h].first]].su;

	for (uint32_t i = 0; i < host->ncas; i++)
		own += t->nodes[t->host_cas[host->first + i]].rail >= 0;
	return su >= 0 && own * 2 > rails[su] && rails[su] * 2 >= usual &&
	       (rails[su] > 2 || usual <= 2);
}

static void leave_out_others(struct near_work *w)
{
	const struct topo *t = w->t;
	unsigned *rails = mem_array(rails, INT16_MAX + 1); /* by unit: its leaves serve */
	uint32_t *hosts = mem_array(hosts, INT16_MAX + 2); /* by that number */
	unsigned usual = 0;
	uint32_t count = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *leaf = &t->nodes[sw];

		if (leaf->su >= 0 && leaf->rail >= (int)rails[leaf->su])
			rails[leaf->su] = leaf->rail + 1u;
	}
	for (uint32_t h = 0; h < t->nhosts; h++) {
		int su = t->nodes[t->host_cas[t->hosts[h].first]].su;

		if (su >= 0 && ++hosts[rails[su]] > hosts[usual])
			usual = rails[su];
	}
	for (uint32_t h = 0; h < t->nhosts; h++)
		count += is_compute(t, h, rails, usual);
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (!is_node_name(t->hosts[h].name))
			w->near->left_out[h] = "no node name for Slurm";
		else if (count * 2 > t->nhosts && !is_compute(t, h, rails, usual))
			w->near->left_out[h] = "no compute node";
	free(rails);
	free(hosts);
}

/* ---- The lowest groups ----------------------------------------------------------------------- */

/* First the leaves of each unit are one: their hosts are listed at the union's root. */
static void find_homes(struct near_work *w)
{
	const struct topo *t = w->t;
	uint32_t *unit_leaf = mem_array(unit_leaf, INT16_MAX + 1);

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		w->parent[sw] = sw;
		if (t->nodes[sw].su < 0)
			continue;
		if (unit_leaf[t->nodes[sw].su])
			w->parent[sw] = unit_leaf[t->nodes[sw].su] - 1;
		else
			unit_leaf[t->nodes[sw].su] = sw + 1;
	}
	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *host = &t->hosts[h];
		uint32_t first = t->host_cas[host->first];

		w->home[h] = TOPO_NONE;
		if (w->near->left_out[h])
			continue;
		for (uint32_t i = 0; i < host->ncas && w->home[h] == TOPO_NONE; i++)
			w->home[h] = topo_leaf_of(t, t->host_cas[host->first + i]);
		if (t->nodes[first].su >= 0)
			w->home[h] = unit_leaf[t->nodes[first].su] - 1;
		else if (w->home[h] != TOPO_NONE)
			w->home[h] = sort_root(w->parent, w->home[h]);
	}
	free(unit_leaf);
}

/* "MF0;SLG04-16:MQM8700/U1" -> "SLG04-16"; what is no word, or generic, goes by GUID. */
static char *switch_name(const struct topo_node *node)
{
	const char *text = node->label, *semicolon = strchr(text, ';');

	if (node->su >= 0)
		return mem_printf("su%02d", node->su + 1);
	if (semicolon)
		text = semicolon + 1;

	size_t len = strcspn(text, ":/");

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
			len = 0;
	return len ? mem_printf("%.*s", (int)len, text) : mem_printf("S-%016" PRIx64, node->guid);
}

struct listed { /* a host or group */
	/* the first member of the set it is in: sets come in their members' order */
	uint32_t under, order;
};

/* Remembers the first member met of each set; `first` is by root switch, + 1. */
static uint32_t first_of_set(uint32_t *first, uint32_t root, uint32_t member)
{
	if (!first[root])
		first[root] = member + 1;
	return first[root] - 1;
}

SORT_BY(compare_listed, struct listed,
	sort_order(a->under, b->under) ?: sort_order(a->order, b->order))

static uint32_t add_group(struct near_work *w, char *name, bool lowest, uint32_t set)
{
	struct nearness *near = w->near;
	uint32_t g = near->ngroups++;

	near->groups[g] = (struct near_group){
		.name = name, .parent = TOPO_NONE, .first = w->nmembers, .lowest = lowest
	};
	w->tops[w->ntops++] = (struct set_of){ g, set };
	return g;
}

static void add_member(struct near_work *w, uint32_t group, uint32_t member)
{
	w->near->members[w->nmembers++] = member;
	w->near->groups[group].count++;
}

static void make_lowest(struct near_work *w)
{
	const struct topo *t = w->t;
	struct listed *listed = mem_array(listed, t->nhosts);
	uint32_t *first = mem_array(first, t->nswitches), n = 0, group = 0;

	/* Names that several switches have say nothing: those go by GUID as well. */
	char **all = mem_array(all, t->nswitches);
	uint32_t *uses = mem_array(uses, t->nswitches), *id = mem_array(id, t->nswitches);
	struct names ids = { 0 };

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		all[sw] = switch_name(&t->nodes[sw]);
		id[sw] = names_id(&ids, all[sw], strlen(all[sw]));
		uses[id[sw]]++;
	}
	names_fini(&ids);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (uses[id[sw]] > 1 && t->nodes[sw].su < 0) {
			free(all[sw]);
			all[sw] = mem_printf("S-%016" PRIx64, t->nodes[sw].guid);
		}
	free(uses);
	free(id);
	char **names = all;

	for (uint32_t h = 0; h < t->nhosts; h++)
		if (w->home[h] != TOPO_NONE)
			listed[n++] = (struct listed){ first_of_set(first, w->home[h], h), h };
	qsort(listed, n, sizeof(*listed), compare_listed);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t home = w->home[listed[i].order];

		if (!i || listed[i].under != listed[i - 1].under)
			group = add_group(w, mem_strdup(names[home]), true, home);
		add_member(w, group, listed[i].order);
		w->near->group[listed[i].order] = group;
	}
	w->near->nhosts = n;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		free(names[sw]);
	free(names);
	free(first);
	free(listed);
}

/* ---- Tiers ----------------------------------------------------------------------------------- */

/* Gathers the groups that are in one set now; a set of one stays as it is. */
static void make_tier(struct near_work *w, unsigned level)
{
	struct set_of *tops = w->tops;
	struct listed *listed = mem_array(listed, w->ntops);
	uint32_t *first = mem_array(first, w->t->nswitches), n = w->ntops, made = 0;

	for (uint32_t g = 0; g < n; g++)
		listed[g] =
			(struct listed){ first_of_set(first, sort_root(w->parent, tops[g].set), g),
					 g };
	qsort(listed, n, sizeof(*listed), compare_listed);
	w->tops = mem_array(w->tops, n + 1);
	w->ntops = 0;
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && listed[end].under == listed[i].under;)
			end++;
		if (end - i == 1) {
			w->tops[w->ntops++] = tops[listed[i].order];
			continue;
		}

		uint32_t group = add_group(w, mem_printf("tier%u-%" PRIu32, level, ++made), false,
					   tops[listed[i].order].set);

		for (uint32_t j = i; j < end; j++) {
			add_member(w, group, tops[listed[j].order].group);
			w->near->groups[tops[listed[j].order].group].parent = group;
		}
	}
	free(tops);
	free(listed);
	free(first);
}

struct nearness *nearness_new(const struct topo *t, bool shortened)
{
	struct nearness *near = mem_new(near);
	struct near_work w = {
		.t = t,
		.near = near,
		.parent = mem_array(w.parent, t->nswitches),
		.home = mem_array(w.home, t->nhosts),
		.tops = mem_array(w.tops, t->nhosts + 1),
	};

	/* All groups but the lowest have two members at least: fewer than twice as many. */
	near->t = t;
	near->groups = mem_array(near->groups, 2 * t->nhosts + 1);
	near->members = mem_array(near->members, 3 * t->nhosts + 1);
	near->group = mem_array(near->group, t->nhosts + 1);
	near->left_out = mem_array(near->left_out, t->nhosts + 1);
	memset(near->group, 0xff, (t->nhosts + 1) * sizeof(*near->group));
	near->nodes = mem_array(near->nodes, t->nhosts + 1);
	for (uint32_t h = 0; h < t->nhosts; h++)
		text_node_name(t->hosts[h].name, shortened, near->nodes[h]);

	leave_out_others(&w);
	find_homes(&w);
	make_lowest(&w);
	for (unsigned level = 0; level < t->nlevels; level++) {
		/* Links between switches up to this level join their sets. */
		for (uint32_t p = 0; p < t->nswitch_ports; p++) {
			uint32_t sw = t->ports[p].node, to = t->ends[p].to;

			if (to < t->nswitches && t->nodes[sw].level <= level &&
			    t->nodes[to].level <= level)
				w.parent[sort_root(w.parent, sw)] = sort_root(w.parent, to);
		}
		make_tier(&w, level);
	}
	free(w.parent);
	free(w.home);
	free(w.tops);
	return near;
}

void nearness_free(struct nearness *near)
{
	if (!near)
		return;
	for (uint32_t g = 0; g < near->ngroups; g++)
		free(near->groups[g].name);
	free(near->groups);
	free(near->members);
	free(near->group);
	free(near->left_out);
	free(near->nodes);
	free(near);
}
