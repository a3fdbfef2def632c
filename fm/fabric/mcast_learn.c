/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_mcast_learn: multicast trees from the tables that switches hold when fmd begins, so that those that are right stay as
 * they are. The tables were read before; a step of the job of mcast.c takes a switch at a time.
 *
 * Entries that lead to hosts which joined nothing we know of tell that our file of groups is not the whole truth.
 */
#include "fm/fabric/mcast.h"
#include "topology/mem.h"

struct learn { /* a switch's entries on their way into trees */
	struct fabric *f;
	uint32_t sw;
	unsigned strangers; /* hosts' ports in tables that joined nothing we know of */
};

static struct mcast_tree *tree_of(struct mcast_plan *plan, uint16_t mlid)
{
	return (struct mcast_tree *)mcast_plan_tree(plan, mlid);
}

static bool has_alias_of(const struct fabric *f, const struct sa_group *group, guid_t port)
{
	for (uint32_t i = 0; sa_alias_next(f->sa, 0) && i < group->nmembers; i++)
		if (sa_alias_port(f->sa, group->members[i].port) == port)
			return true;
	return false;
}

/* Is that host's port a member of a group with the MLID? Ports to switches count as such. */
static bool is_known(const struct learn *learn, uint16_t mlid, unsigned num)
{
	const struct topo *t = learn->f->mcast->topo;
	const struct topo_port *peer;
	const struct sa_group *group = sa_groups_by_mlid(sa_mcast_groups(learn->f->sa), mlid);

	if (num == 0 || num > t->nodes[learn->sw].nports)
		return true;
	peer = topo_peer(t, topo_port(t, learn->sw, num));
	if (!peer || peer->node < t->nswitches)
		return true;
	for (; group; group = group->next)
		if (sa_group_member(group, peer->guid) || has_alias_of(learn->f, group, peer->guid))
			return true;
	return false;
}

static void learn_entry(void *arg, uint16_t mlid, unsigned position, uint16_t mask)
{
	struct learn *learn = arg;
	struct mcast_tree *tree = tree_of(&learn->f->mcast->plan, mlid);
	struct mcast_hop *hop;

	for (unsigned i = 0; i < MCAST_POSITION; i++)
		if (mask >> i & 1 && !is_known(learn, mlid, position * MCAST_POSITION + i))
			learn->strangers++;
	if (!tree)
		return;
	hop = tree->nhops ? &tree->hops[tree->nhops - 1] : NULL;
	if (!hop || hop->sw != learn->sw) {
		tree->hops = mem_resize(tree->hops, tree->nhops + 1u, sizeof(*hop));
		hop = &tree->hops[tree->nhops++];
		*hop = (struct mcast_hop){ .guid = learn->f->mcast->topo->nodes[learn->sw].guid,
					   .sw = learn->sw };
	}
	hop->ports[position] = mask;
}

static void plan_of_groups(struct fabric_mcast *m, const struct sa_groups *groups)
{
	m->plan.trees = mem_alloc(sa_groups_mlids(groups), sizeof(*m->plan.trees));
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		if (sa_groups_by_mlid(groups, (uint16_t)mlid))
			m->plan.trees[m->plan.ntrees++] =
				(struct mcast_tree){ .mlid = (uint16_t)mlid, .root = TOPO_NONE };
}

/*
 * Tables that lead to hosts which by our file are no members: another manager was here meanwhile, or fmd ended too suddenly to
 * save the last joins. The hosts know, and won't tell unless asked.
 */
static void ask_anew(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;

	if (!m->strangers || !m->known)
		return;
	event_log_add(f->events, LOG_NOTICE, "mcast-strangers", NULL,
		      "fabric: multicast tables lead to hosts %u times that joined nothing known "
		      "here: all hosts are asked to register anew",
		      m->strangers);
	fabric_request_reregister(f, "members of multicast groups are not known");
	fabric_request_reroute(f, "multicast groups were read");
}

/* One switch after the other, in the order of their GUIDs, as hops are. */
enum job_said fabric_mcast_learn(void *arg)
{
	struct fabric *f = arg;
	struct fabric_mcast *m = f->mcast;
	struct learn learn = { .f = f, .sw = m->at };

	if (m->learned)
		return JOB_NEXT;
	if (!m->at) {
		m->strangers = 0;
		mcast_plan_fini(&m->plan);
		plan_of_groups(m, sa_mcast_groups(f->sa));
	}
	if (m->at++ < m->topo->nswitches) {
		mft_held(m->mft, m->topo->nodes[learn.sw].guid, learn_entry, &learn);
		m->strangers += learn.strangers;
		return JOB_MORE;
	}
	for (uint32_t i = 0; i < m->plan.ntrees; i++) {
		mcast_tree_describe(m->topo, &m->plan.trees[i]);
		fabric_mcast_want(m, &m->plan.trees[i], true);
	}
	m->learned = true;
	m->at = 0;
	ask_anew(f);
	return JOB_NEXT;
}
