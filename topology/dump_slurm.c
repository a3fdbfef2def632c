/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dump_slurm: topology.conf for Slurm's topology/tree, which places a job on as few and as near
 * switches as it can.
 *
 * topology/tree knows trees only: a node is on one leaf, a switch has one parent. A fat tree is
 * not one, and a rail-optimised host is on eight leaves at once. What matters to placement is
 * nearness, so this writes nearness as a tree:
 *   - the hosts of a scalable unit are equally near to each other: one virtual switch suNN for
 *     the unit's leaves;
 *   - any other host is on the switch of its first cabled CA, each such switch a leaf of the
 *     tree;
 *   - then tier by tier: what the switches up to level L connect is one group, and where that
 *     joins several groups of the tier below, they get a virtual parent tierL-N. Spines side by
 *     side thus come out as the one switch they are to a job, and tiers that join nothing new do
 *     not appear.
 * Parts that no cable joins stay separate trees: no job can span them.
 */
#include "topology/dump.h"
#include "topology/hostlist.h"
#include "topology/mem.h"
#include "topology/names.h"
#include "topology/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct group {
	char *name;
	uint32_t set; /* the connected set it is in, by union-find root switch */
};

struct slurm {
	const struct topo *t;
	FILE *out;
	uint32_t *parent; /* by switch: union-find over cables of the tiers so far */
	uint32_t *home;	  /* by host: the switch it is listed at, TOPO_NONE = not cabled */
	struct group *groups;
	uint32_t ngroups;
};

static uint32_t root_of(uint32_t *parent, uint32_t sw)
{
	while (parent[sw] != sw)
		sw = parent[sw] = parent[parent[sw]];
	return sw;
}

static uint32_t switch_of(const struct topo *t, uint32_t ca)
{
	for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, ca, num));

		if (peer && t->nodes[peer->node].type == TOPO_SWITCH)
			return peer->node;
	}
	return TOPO_NONE;
}

/*
 * What else there is Slurm would read as a list, a range or a word of its own. Machines that told
 * no name go by GUID.
 */
static bool is_node_name(const char *name)
{
	if (strncmp(name, "0x", 2) == 0)
		return name[2 + strspn(name + 2, "0123456789abcdefABCDEF")] == '\0';
	return text_is_host_name(name);
}

static void leave_out(const struct slurm *s, const struct topo_host *host)
{
	fputs("# left out, no node name for Slurm: ", s->out);
	for (const char *at = host->name; *at; at++)
		fputc(isprint((unsigned char)*at) ? *at : '?', s->out);
	fputc('\n', s->out);
}

/* First the leaves of each unit are one: their hosts are listed at the union's root. */
static void find_homes(struct slurm *s)
{
	const struct topo *t = s->t;
	uint32_t *unit_leaf = mem_alloc(INT16_MAX + 1, sizeof(*unit_leaf));

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		s->parent[sw] = sw;
		if (t->nodes[sw].su < 0)
			continue;
		if (unit_leaf[t->nodes[sw].su])
			s->parent[sw] = unit_leaf[t->nodes[sw].su] - 1;
		else
			unit_leaf[t->nodes[sw].su] = sw + 1;
	}
	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *host = &t->hosts[h];
		uint32_t first = t->host_cas[host->first];

		s->home[h] = TOPO_NONE;
		if (!is_node_name(host->name)) {
			leave_out(s, host);
			continue;
		}
		for (uint32_t i = 0; i < host->ncas && s->home[h] == TOPO_NONE; i++)
			s->home[h] = switch_of(t, t->host_cas[host->first + i]);
		if (t->nodes[first].su >= 0)
			s->home[h] = unit_leaf[t->nodes[first].su] - 1;
		else if (s->home[h] != TOPO_NONE)
			s->home[h] = root_of(s->parent, s->home[h]);
	}
	free(unit_leaf);
}

/* "MF0;SLG04-16:MQM8700/U1" -> "SLG04-16"; what is no word, or generic, goes by GUID. */
static char *switch_name(const struct topo_node *node)
{
	const char *text = node->label, *semicolon = strchr(text, ';');
	size_t len;

	if (node->su >= 0)
		return mem_printf("su%02d", node->su + 1);
	if (semicolon)
		text = semicolon + 1;
	len = strcspn(text, ":/");
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr("-_.", text[i]))
			len = 0;
	return len ? mem_printf("%.*s", (int)len, text) : mem_printf("S-%016" PRIx64, node->guid);
}

/* Names that several switches have say nothing: those go by GUID as well. */
static char **name_switches(const struct topo *t)
{
	char **all = mem_alloc(t->nswitches, sizeof(*all));
	uint32_t *uses = mem_alloc(t->nswitches, sizeof(*uses)),
		 *id = mem_alloc(t->nswitches, sizeof(*id));
	struct names names = { 0 };

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		all[sw] = switch_name(&t->nodes[sw]);
		id[sw] = names_id(&names, all[sw], strlen(all[sw]));
		uses[id[sw]]++;
	}
	names_fini(&names);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (uses[id[sw]] > 1 && t->nodes[sw].su < 0) {
			free(all[sw]);
			all[sw] = mem_printf("S-%016" PRIx64, t->nodes[sw].guid);
		}
	free(uses);
	free(id);
	return all;
}

struct listed { /* a host or group */
	/* the first member of the set it is in: sets come in their members' order */
	uint32_t under;
	uint32_t order;
};

/* Remembers the first member met of each set; `first` is by root switch, + 1. */
static uint32_t first_of_set(uint32_t *first, uint32_t root, uint32_t member)
{
	if (!first[root])
		first[root] = member + 1;
	return first[root] - 1;
}

static int compare_listed(const void *va, const void *vb)
{
	const struct listed *a = va, *b = vb;

	if (a->under != b->under)
		return a->under < b->under ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void write_line(const struct slurm *s, const char *name, const char *what,
		       const char *const *members, uint32_t count)
{
	char *list = hostlist_format(members, count);

	fprintf(s->out, "SwitchName=%s %s=%s\n", name, what, list);
	free(list);
}

static void write_leaves(struct slurm *s)
{
	const struct topo *t = s->t;
	struct listed *listed = mem_alloc(t->nhosts, sizeof(*listed));
	const char **members = mem_alloc(t->nhosts, sizeof(*members));
	uint32_t *first = mem_alloc(t->nswitches, sizeof(*first)), n = 0;
	char **names = name_switches(t);

	for (uint32_t h = 0; h < t->nhosts; h++)
		if (s->home[h] != TOPO_NONE)
			listed[n++] = (struct listed){ first_of_set(first, s->home[h], h), h };
	free(first);
	qsort(listed, n, sizeof(*listed), compare_listed);
	s->groups = mem_alloc(n, sizeof(*s->groups));
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && listed[end].under == listed[i].under; end++)
			members[end - i] = t->hosts[listed[end].order].name;
		uint32_t home = s->home[listed[i].under];

		s->groups[s->ngroups++] = (struct group){ mem_strdup(names[home]), home };
		write_line(s, names[home], "Nodes", members, end - i);
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		free(names[sw]);
	free(names);
	free(members);
	free(listed);
}

static void join_level(struct slurm *s, unsigned level)
{
	for (uint32_t sw = 0; sw < s->t->nswitches; sw++) {
		for (unsigned num = 1;
		     num <= s->t->nodes[sw].nports && s->t->nodes[sw].level <= level; num++) {
			const struct topo_port *peer = topo_peer(s->t, topo_port(s->t, sw, num));

			if (peer && peer->node < s->t->nswitches &&
			    s->t->nodes[peer->node].level <= level)
				s->parent[root_of(s->parent, sw)] = root_of(s->parent, peer->node);
		}
	}
}

/* Gathers the groups that are in one set now; a set of one stays as it is. */
static void write_tier(struct slurm *s, unsigned level)
{
	struct listed *listed = mem_alloc(s->ngroups, sizeof(*listed));
	const char **members = mem_alloc(s->ngroups, sizeof(*members));
	struct group *groups = mem_alloc(s->ngroups, sizeof(*groups));
	uint32_t *first = mem_alloc(s->t->nswitches, sizeof(*first)), n = 0, made = 0;

	for (uint32_t g = 0; g < s->ngroups; g++)
		listed[g] = (struct listed){
			first_of_set(first, root_of(s->parent, s->groups[g].set), g), g
		};
	free(first);
	qsort(listed, s->ngroups, sizeof(*listed), compare_listed);
	for (uint32_t i = 0, end; i < s->ngroups; i = end) {
		for (end = i; end < s->ngroups && listed[end].under == listed[i].under; end++)
			members[end - i] = s->groups[listed[end].order].name;
		if (end - i == 1) {
			groups[n++] = s->groups[listed[i].order];
			continue;
		}
		groups[n] = (struct group){ mem_printf("tier%u-%" PRIu32, level, ++made),
					    s->groups[listed[i].order].set };
		write_line(s, groups[n++].name, "Switches", members, end - i);
		for (uint32_t j = i; j < end; j++)
			free(s->groups[listed[j].order].name);
	}
	free(s->groups);
	free(members);
	free(listed);
	s->groups = groups;
	s->ngroups = n;
}

int dump_slurm(const struct topo *t, FILE *out)
{
	struct slurm s = {
		.t = t,
		.out = out,
		.parent = mem_alloc(t->nswitches, sizeof(*s.parent)),
		.home = mem_alloc(t->nhosts, sizeof(*s.home)),
	};

	fprintf(out, "# topology.conf for TopologyPlugin=topology/tree: %" PRIu32 " hosts\n",
		t->nhosts);
	find_homes(&s);
	write_leaves(&s);
	for (unsigned level = 0; level < t->nlevels; level++) {
		join_level(&s, level);
		write_tier(&s, level);
	}
	for (uint32_t g = 0; g < s.ngroups; g++)
		free(s.groups[g].name);
	free(s.groups);
	free(s.parent);
	free(s.home);
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}
