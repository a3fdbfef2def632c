/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_plan: the trees of all groups, and the MFT blocks in which two plans differ (see
 * mcast_tree.h).
 *
 * What is kept is decided by the judge, not by guessing what a fault may have touched: an older
 * tree stays when it is right for the group's members on the new snapshot and crosses no cordoned
 * cable. All that stay load their cables first; then the others are built in MLID order. So a dead
 * cable moves the groups that used it, a join moves its own group, and nothing else is written.
 *
 * Snapshots number switches anew, so a tree is carried over by GUIDs.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/mcast_tree.h"
#include "topology/mem.h"

/* ---- Trees that stay --------------------------------------------------------------------------- */

/* The first tree from this MLID on, or plan->ntrees. */
static uint32_t tree_place(const struct mcast_plan *plan, uint16_t mlid)
{
	uint32_t low = 0, high = plan->ntrees;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (plan->trees[mid].mlid < mlid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct mcast_tree *find_tree(const struct mcast_plan *plan, uint16_t mlid)
{
	uint32_t at = plan ? tree_place(plan, mlid) : 0;

	return plan && at < plan->ntrees && plan->trees[at].mlid == mlid ? &plan->trees[at] : NULL;
}

static int compare_hops(const void *a, const void *b)
{
	const struct mcast_hop *x = a, *y = b;

	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* The same tree in the numbers of another snapshot; what is gone there becomes TOPO_NONE. */
static void renumber(const struct topo *t, const struct mcast_tree *from, struct mcast_tree *out)
{
	*out = *from;
	out->root = TOPO_NONE;
	out->hops = mem_alloc(from->nhops, sizeof(*out->hops));
	for (uint32_t i = 0; i < from->nhops; i++) {
		out->hops[i] = from->hops[i];
		out->hops[i].sw = topo_find(t, from->hops[i].guid);
		if (from->hops[i].sw == from->root)
			out->root = out->hops[i].sw;
	}
	qsort(out->hops, out->nhops, sizeof(*out->hops), compare_hops);
}

static bool is_cordoned(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *hop = &tree->hops[i];

		for (unsigned num = 1; num <= t->nodes[hop->sw].nports; num++) {
			const struct topo_port *port = topo_port(t, hop->sw, num);
			const struct topo_port *peer = topo_peer(t, port);

			if (mcast_forwards(hop, num) && peer && peer->node < t->nswitches &&
			    (port->cordoned || peer->cordoned))
				return true;
		}
	}
	return false;
}

static bool keep_tree(struct mcast *m, const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out)
{
	char err[128];

	if (!older)
		return false;
	renumber(t, older, out);
	if (mcast_tree_check(t, group, out, err, sizeof(err)) && !is_cordoned(t, out)) {
		mcast_tree_add_load(m, out);
		return true;
	}
	mcast_tree_fini(out);
	return false;
}

/* ---- The plan ---------------------------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
	const struct mcast_group *x = *(const struct mcast_group *const *)a;
	const struct mcast_group *y = *(const struct mcast_group *const *)b;

	return x->mlid < y->mlid ? -1 : x->mlid > y->mlid;
}

void mcast_plan(const struct topo *t, const struct mcast_group *groups, uint32_t ngroups,
		const struct mcast_plan *older, struct mcast_plan *out)
{
	const struct mcast_group **sorted = mem_alloc(ngroups, sizeof(*sorted));
	bool *kept = mem_alloc(ngroups, sizeof(*kept));
	struct mcast *m = mcast_new(t);

	*out = (struct mcast_plan){ .ntrees = ngroups };
	out->trees = mem_alloc(ngroups, sizeof(*out->trees));
	for (uint32_t i = 0; i < ngroups; i++)
		sorted[i] = &groups[i];
	qsort(sorted, ngroups, sizeof(*sorted), compare_groups);
	for (uint32_t i = 0; i < ngroups; i++)
		kept[i] = keep_tree(m, t, sorted[i], find_tree(older, sorted[i]->mlid),
				    &out->trees[i]);
	for (uint32_t i = 0; i < ngroups; i++) {
		if (kept[i])
			continue;
		mcast_tree_build(m, sorted[i], find_tree(older, sorted[i]->mlid), &out->trees[i]);
		out->built++;
	}
	mcast_free(m);
	free(kept);
	free(sorted);
}

/* Hops are in the order of switches, which is that of their GUIDs. */
static const struct mcast_hop *find_hop(const struct mcast_tree *tree, guid_t sw)
{
	uint32_t low = 0, high = tree->nhops;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (tree->hops[mid].guid < sw)
			low = mid + 1;
		else
			high = mid;
	}
	return low < tree->nhops && tree->hops[low].guid == sw ? &tree->hops[low] : NULL;
}

bool mcast_plan_masks(const struct mcast_plan *plan, guid_t sw, uint16_t block, uint8_t position,
		      uint16_t masks[MCAST_BLOCK])
{
	uint32_t first = MCAST_FIRST_MLID + block * MCAST_BLOCK;
	bool any = false;

	memset(masks, 0, MCAST_BLOCK * sizeof(*masks));
	for (uint32_t i = tree_place(plan, (uint16_t)first);
	     i < plan->ntrees && plan->trees[i].mlid < first + MCAST_BLOCK; i++) {
		const struct mcast_hop *hop = find_hop(&plan->trees[i], sw);

		if (!hop || !hop->ports[position])
			continue;
		masks[plan->trees[i].mlid - first] = hop->ports[position];
		any = true;
	}
	return any;
}

void mcast_plan_fini(struct mcast_plan *plan)
{
	for (uint32_t i = 0; i < plan->ntrees; i++)
		mcast_tree_fini(&plan->trees[i]);
	free(plan->trees);
	*plan = (struct mcast_plan){ 0 };
}

/* ---- Blocks ------------------------------------------------------------------------------------ */

/* One switch's ports for one MLID, on their way into blocks. */
struct entry {
	guid_t guid;
	uint16_t mlid, mask;
	uint8_t position;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	uint16_t xb = (x->mlid - MCAST_FIRST_MLID) / MCAST_BLOCK;
	uint16_t yb = (y->mlid - MCAST_FIRST_MLID) / MCAST_BLOCK;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (xb != yb)
		return xb < yb ? -1 : 1;
	if (x->position != y->position)
		return x->position < y->position ? -1 : 1;
	return x->mlid < y->mlid ? -1 : x->mlid > y->mlid;
}

static uint32_t list_entries(const struct mcast_tree *tree, struct entry *list)
{
	uint32_t n = 0;

	for (uint32_t h = 0; h < tree->nhops; h++)
		for (unsigned p = 0; p < MCAST_POSITIONS; p++)
			if (tree->hops[h].ports[p])
				list[n++] = (struct entry){ tree->hops[h].guid, tree->mlid,
							    tree->hops[h].ports[p], p };
	return n;
}

/* Blocks of a plan, without those that are all zero. */
static struct mcast_blocks list_blocks(const struct mcast_plan *plan)
{
	struct mcast_blocks blocks = { 0 };
	struct entry *entries = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; plan && i < plan->ntrees; i++) {
		entries = mem_resize(entries, n + plan->trees[i].nhops * MCAST_POSITIONS,
				     sizeof(*entries));
		n += list_entries(&plan->trees[i], entries + n);
	}
	if (n)
		qsort(entries, n, sizeof(*entries), compare_entries);
	blocks.list = mem_alloc(n, sizeof(*blocks.list));
	for (uint32_t i = 0; i < n; i++) {
		const struct entry *e = &entries[i];
		struct mcast_block *last = blocks.count ? &blocks.list[blocks.count - 1] : NULL;
		uint16_t number = (e->mlid - MCAST_FIRST_MLID) / MCAST_BLOCK;

		if (!last || last->guid != e->guid || last->block != number ||
		    last->position != e->position) {
			last = &blocks.list[blocks.count++];
			*last = (struct mcast_block){ .guid = e->guid,
						      .block = number,
						      .position = e->position };
		}
		last->masks[(e->mlid - MCAST_FIRST_MLID) % MCAST_BLOCK] = e->mask;
	}
	free(entries);
	return blocks;
}

static int compare_blocks(const struct mcast_block *a, const struct mcast_block *b)
{
	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return (int)a->position - (int)b->position;
}

void mcast_blocks_differing(const struct mcast_plan *older, const struct mcast_plan *newer,
			    struct mcast_blocks *out)
{
	struct mcast_blocks was = list_blocks(older), is = list_blocks(newer);
	uint32_t i = 0, k = 0;

	out->count = 0;
	out->list = mem_alloc(was.count + is.count, sizeof(*out->list));
	while (i < was.count || k < is.count) {
		int order = i == was.count  ? 1
			    : k == is.count ? -1
					    : compare_blocks(&was.list[i], &is.list[k]);
		struct mcast_block *block = &out->list[out->count];

		*block = order < 0 ? was.list[i] : is.list[k];
		if (order < 0)
			memset(block->masks, 0, sizeof(block->masks));
		out->count += order != 0 ||
			      memcmp(was.list[i].masks, is.list[k].masks, sizeof(block->masks));
		i += order <= 0;
		k += order >= 0;
	}
	mcast_blocks_fini(&was);
	mcast_blocks_fini(&is);
}

void mcast_blocks_fini(struct mcast_blocks *blocks)
{
	free(blocks->list);
	*blocks = (struct mcast_blocks){ 0 };
}
