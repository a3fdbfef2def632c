/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dump_slurm: what Slurm places jobs by: topology.conf for topology/tree, and topology.yaml, which
 * Slurm 25.05 and later read instead of it, with a tree and blocks side by side
 * (slurm.schedmd.com/topology.conf.html, slurm.schedmd.com/topology.yaml.html).
 *
 * Blocks are NVLink domains where these are known, else the lowest groups of the tree: scalable
 * units. As each block needs as many nodes as the base block size, that is the smallest block's.
 */
#include "topology/dump.h"
#include "topology/hostlist.h"
#include "topology/mem.h"
#include "topology/names.h"
#include "topology/nearness.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_left_out(const struct nearness *near, FILE *out)
{
	for (uint32_t h = 0; h < near->t->nhosts; h++) {
		if (!near->left_out[h])
			continue;
		fprintf(out, "# left out, %s: ", near->left_out[h]);
		for (const char *at = near->t->hosts[h].name; *at; at++)
			fputc(isprint((unsigned char)*at) ? *at : '?', out);
		fputc('\n', out);
	}
}

/* A group's members in Slurm's short form; the caller frees it. */
static char *member_list(const struct nearness *near, const struct near_group *group)
{
	const char **members = mem_alloc(group->count + 1, sizeof(*members));
	char *list;

	for (uint32_t i = 0; i < group->count; i++) {
		uint32_t member = near->members[group->first + i];

		members[i] =
			group->lowest ? near->t->hosts[member].name : near->groups[member].name;
	}
	list = hostlist_format(members, group->count);
	free(members);
	return list;
}

static int result_of(FILE *out)
{
	return ferror(out) || fflush(out) ? -(errno ? errno : EIO) : 0;
}

int dump_slurm(const struct topo *t, FILE *out)
{
	struct nearness *near = nearness_new(t);

	fprintf(out, "# topology.conf for TopologyPlugin=topology/tree: %" PRIu32 " hosts\n",
		near->nhosts);
	write_left_out(near, out);
	for (uint32_t g = 0; g < near->ngroups; g++) {
		char *list = member_list(near, &near->groups[g]);

		fprintf(out, "SwitchName=%s %s=%s\n", near->groups[g].name,
			near->groups[g].lowest ? "Nodes" : "Switches", list);
		free(list);
	}
	nearness_free(near);
	return result_of(out);
}

/* ---- topology.yaml --------------------------------------------------------------------------- */

static void write_tree(const struct nearness *near, FILE *out)
{
	fputs("- topology: tree\n  cluster_default: true\n  tree:\n    switches:", out);
	fputs(near->ngroups ? "\n" : " []\n", out);
	for (uint32_t g = 0; g < near->ngroups; g++) {
		char *list = member_list(near, &near->groups[g]);

		fprintf(out, "      - switch: \"%s\"\n        %s: \"%s\"\n", near->groups[g].name,
			near->groups[g].lowest ? "nodes" : "children", list);
		free(list);
	}
}

struct block {
	const char *name;
	uint32_t count;
	const char **hosts;
};

struct blocks {
	struct names names;
	uint32_t count;
	struct block *list;
};

/* Of a host: its NVLink domain, else its lowest group. */
static struct block *block_of(struct blocks *blocks, const struct nearness *near, uint32_t h,
			      const char *const *domains)
{
	const char *name = domains && domains[h] ? domains[h] : near->groups[near->group[h]].name;
	uint32_t id = names_id(&blocks->names, name, strlen(name));

	if (id == blocks->count)
		blocks->list[blocks->count++].name = name;
	return &blocks->list[id];
}

static void fill_blocks(struct blocks *blocks, const struct nearness *near,
			const char *const *domains)
{
	uint32_t nhosts = near->t->nhosts;

	blocks->list = mem_alloc(nhosts + 1, sizeof(*blocks->list));
	for (uint32_t h = 0; h < nhosts; h++)
		if (near->group[h] != TOPO_NONE) {
			struct block *block = block_of(blocks, near, h, domains);

			if ((block->count & (block->count - 1)) == 0)
				block->hosts = mem_resize(block->hosts,
							  block->count ? block->count * 2 : 1,
							  sizeof(*block->hosts));
			block->hosts[block->count++] = near->t->hosts[h].name;
		}
}

static void write_blocks(const struct nearness *near, const char *const *domains, FILE *out)
{
	struct blocks blocks = { 0 };
	uint32_t smallest = UINT32_MAX;

	fill_blocks(&blocks, near, domains);
	for (uint32_t b = 0; b < blocks.count; b++)
		if (blocks.list[b].count < smallest)
			smallest = blocks.list[b].count;
	if (blocks.count)
		fprintf(out,
			"- topology: block\n  cluster_default: false\n  block:\n    block_sizes:\n"
			"      - %" PRIu32 "\n    blocks:\n",
			smallest);
	for (uint32_t b = 0; b < blocks.count; b++) {
		char *list = hostlist_format(blocks.list[b].hosts, blocks.list[b].count);

		fprintf(out, "      - block: \"%s\"\n        nodes: \"%s\"\n", blocks.list[b].name,
			list);
		free(list);
		free(blocks.list[b].hosts);
	}
	names_fini(&blocks.names);
	free(blocks.list);
}

int dump_slurm_yaml(const struct topo *t, const char *const *domains, FILE *out)
{
	struct nearness *near = nearness_new(t);

	fprintf(out, "# topology.yaml for Slurm 25.05 and later: %" PRIu32 " hosts\n",
		near->nhosts);
	write_left_out(near, out);
	fputs("---\n", out);
	write_tree(near, out);
	write_blocks(near, domains, out);
	nearness_free(near);
	return result_of(out);
}
