/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * learn: makes multicast trees out of the tables that switches hold when fmd starts, so that right
 * trees stay unchanged. The tables were read before; a step of the job of trees.c takes one switch
 * at a time.
 *
 * Entries that lead to hosts without a known membership show that the file of groups is not
 * complete.
 */
#include "fm/multicast/room.h"
#include "topology/mem.h"

struct learn { /* a switch's entries on their way into trees */
	struct multicast *m;
	uint32_t sw;
	unsigned unknown_members; /* hosts' ports in tables that joined nothing that is known */
};

static struct mcast_tree *tree_of(struct mcast_plan *plan, uint16_t mlid)
{
	return (struct mcast_tree *)mcast_plan_tree(plan, mlid);
}

static bool has_alias_of(const struct multicast *m, const struct sa_group *group, guid_t port)
{
	for (uint32_t i = 0; sa_alias_next(m->services.sa, 0) && i < group->nmembers; i++)
		if (sa_alias_port(m->services.sa, group->members[i].port) == port)
			return true;
	return false;
}

/* The host's port there, if it is no member of a group with the MLID; 0 = it is, or is none. */
static guid_t unknown_at(const struct learn *learn, uint16_t mlid, unsigned num)
{
	const struct topo *t = learn->m->trees.topo;
	const struct topo_port *peer;
	const struct sa_group *group = sa_groups_by_mlid(learn->m->groups, mlid);

	if (num == 0 || num > t->nodes[learn->sw].nports)
		return 0;
	peer = topo_peer(t, topo_port(t, learn->sw, num));
	if (!peer || peer->node < t->nswitches)
		return 0;
	for (; group; group = group->next)
		if (sa_group_member(group, peer->guid) || has_alias_of(learn->m, group, peer->guid))
			return 0;
	return peer->guid;
}

/* A tree of a MLID that no group here has. */
static struct mcast_tree *add_tree(struct mcast_plan *plan, uint16_t mlid)
{
	uint32_t at = plan->ntrees;

	plan->trees = mem_resize(plan->trees, plan->ntrees + 1u, sizeof(*plan->trees));
	for (; at && plan->trees[at - 1].mlid > mlid; at--)
		plan->trees[at] = plan->trees[at - 1];
	plan->trees[at] = (struct mcast_tree){ .mlid = mlid, .root = TOPO_NONE };
	plan->ntrees++;
	return &plan->trees[at];
}

static void learn_unknown(struct learn *learn, uint16_t mlid, unsigned num)
{
	guid_t port = unknown_at(learn, mlid, num);

	learn->unknown_members += port != 0;
	if (port && fabric_took_over(learn->m->fabric))
		assumed_add(learn->m, mlid, port);
}

static void learn_entry(void *arg, uint16_t mlid, unsigned position, uint16_t mask)
{
	struct learn *learn = arg;
	struct mcast_tree *tree = tree_of(&learn->m->trees.plan, mlid);
	struct mcast_hop *hop;

	for (unsigned i = 0; i < MCAST_POSITION; i++)
		if (mask >> i & 1)
			learn_unknown(learn, mlid, position * MCAST_POSITION + i);
	if (!tree && !fabric_took_over(learn->m->fabric))
		return;
	if (!tree)
		tree = add_tree(&learn->m->trees.plan, mlid);
	hop = tree->nhops ? &tree->hops[tree->nhops - 1] : NULL;
	if (!hop || hop->sw != learn->sw) {
		tree->hops = mem_resize(tree->hops, tree->nhops + 1u, sizeof(*hop));
		hop = &tree->hops[tree->nhops++];
		*hop = (struct mcast_hop){ .guid = learn->m->trees.topo->nodes[learn->sw].guid,
					   .sw = learn->sw };
	}
	hop->ports[position] = mask;
}

static void plan_of_groups(struct mcast_plan *plan, const struct sa_groups *groups)
{
	plan->trees = mem_alloc(sa_groups_mlids(groups) + 1u, sizeof(*plan->trees));
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		if (sa_groups_by_mlid(groups, (uint16_t)mlid))
			plan->trees[plan->ntrees++] =
				(struct mcast_tree){ .mlid = (uint16_t)mlid, .root = TOPO_NONE };
}

/*
 * Tables that lead to hosts which by the file are no members: another manager was here meanwhile,
 * or fmd ended too suddenly to save the last joins. The hosts know, and do not say so unless asked.
 */
static void ask_anew(struct multicast *m)
{
	if (!m->trees.unknown_members || !m->known)
		return;
	event_log_add(m->services.events, LOG_NOTICE, "mcast-strangers", NULL,
		      "fabric: multicast tables have %u entries to hosts without a known join: all "
		      "hosts are asked to register anew",
		      m->trees.unknown_members);
	fabric_request_reregister(m->fabric, "members of multicast groups are not known");
	fabric_request_reroute(m->fabric, "multicast groups were read");
}

static void begin(struct multicast *m)
{
	struct trees *t = &m->trees;

	t->unknown_members = 0;
	mcast_plan_fini(&t->plan);
	plan_of_groups(&t->plan, m->groups);
}

static void end(struct multicast *m)
{
	struct trees *t = &m->trees;

	for (uint32_t i = 0; i < t->plan.ntrees; i++) {
		mcast_tree_describe(t->topo, &t->plan.trees[i]);
		mft_want_tree(m->services.mft, &t->plan.trees[i], true);
	}
	t->learned = true;
	t->at = 0;
	assumed_begin(m);
	ask_anew(m);
}

/* One switch after the other, in the order of their GUIDs, as hops are. */
enum job_result multicast_learn(void *arg)
{
	struct multicast *m = arg;
	struct trees *t = &m->trees;
	struct learn learn = { .m = m, .sw = t->at };

	if (t->learned)
		return JOB_NEXT;
	if (!t->at)
		begin(m);
	if (t->at++ < t->topo->nswitches) {
		mft_held(m->services.mft, t->topo->nodes[learn.sw].guid, learn_entry, &learn);
		t->unknown_members += learn.unknown_members;
		return JOB_MORE;
	}
	end(m);
	return JOB_NEXT;
}
