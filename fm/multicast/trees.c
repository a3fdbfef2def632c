/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/multicast/trees.h"
#include <stdio.h>
#include <stdlib.h>
#include "topology/base/text.h"
#include "fm/multicast/room.h"
#include "routing/proof/check_change.h"
#include "topology/base/mem.h"

static enum job_result plan(void *arg);

/*
 * learn: makes multicast trees out of the tables that switches hold when fmd starts, so that right
 * trees stay unchanged. The tables were read before; a step of the job of trees.c takes one switch
 * at a time.
 *
 * Entries that lead to hosts without a known membership show that the file of groups is not
 * complete.
 */

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
	event_log_add(m->services.events, LOG_NOTICE, "mcast-strangers", NULL, NULL,
		      "fabric: multicast tables have %u entries to hosts without a known join: all "
		      "hosts are asked to register anew",
		      m->trees.unknown_members);
	fabric_request_reregister(m->fabric, "members of multicast groups are not known");
	fabric_request_reroute(m->fabric, "multicast groups were read");
}

static void learn_begin(struct multicast *m)
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
static enum job_result multicast_learn(void *arg)
{
	struct multicast *m = arg;
	struct trees *t = &m->trees;
	struct learn learn = { .m = m, .sw = t->at };

	if (t->learned)
		return JOB_NEXT;
	if (!t->at)
		learn_begin(m);
	if (t->at++ < t->topo->nswitches) {
		mft_held(m->services.mft, t->topo->nodes[learn.sw].guid, learn_entry, &learn);
		t->unknown_members += learn.unknown_members;
		return JOB_MORE;
	}
	end(m);
	return JOB_NEXT;
}

/*
 * trees: makes the switches' multicast tables out of the SA's groups and the published snapshot.
 *
 * A join is answered at once; here it only marks its MLID as changed. When no more joins come for a
 * few milliseconds, or another snapshot was published and its unicast tables are programmed, a job
 * does the rest in short steps (fm/loop/job.h):
 *
 *   learn    the first time: the tables that switches hold from an earlier run (trees.c)
 *   gather   collects the members of changed MLIDs, or of all on a new snapshot, as its ports
 *   plan     makes trees: those of unchanged MLIDs stay, on a new snapshot if they still pass the
 *            check; all are proven beside the unicast tables in force
 *   judge    checks each new tree
 *   tell     hands what switches are to hold of these, and of groups that ended, to mft
 *   write    writes the blocks that differ                                (fm/program/mft.h)
 *
 * A change meanwhile is left for the next round, which begins when the switches have answered: so a
 * storm of joins costs a few rounds, however many joins it has. A snapshot published meanwhile
 * starts the job anew, unless it has begun to hand out blocks: these are to be written.
 */

#define COALESCE_US	3000  /* from the last change.. */
#define COALESCE_MAX_US 50000 /* ..but no longer than this from the first */
#define NAMES_SIZE	320   /* of a list of hosts in an event.. */
#define NAME_ROOM	68    /* ..and of one more */

static void see(struct multicast *m, const struct topo *t)
{
	topo_unref(m->trees.seen);
	m->trees.seen = t ? topo_ref(t) : NULL;
}

/* ---- Gather ---------------------------------------------------------------------------------- */

static bool receives(uint8_t join_state)
{
	return join_state & (WIRE_JOIN_FULL | WIRE_JOIN_NON);
}

/* Whether a member still has the P_Key. Without it no tree leads there; it stays a member. */
static bool in_partition(const struct fabric_view *view, guid_t guid, uint16_t pkey)
{
	uint32_t port = topo_find_port(view->topo, guid); /* the map is of that snapshot */

	return port == TOPO_NONE || pkey_map_member(view->pkeys, port, pkey);
}

static void gather_group(const struct multicast *m, struct gathered *to,
			 const struct sa_group *group)
{
	const struct fabric_view view = fabric_view(m->fabric);

	to->list = mem_resize(to->list, to->count + group->nmembers + 1u, sizeof(*to->list));
	for (uint32_t i = 0; i < group->nmembers; i++) {
		const struct sa_member *member = &group->members[i];
		guid_t guid = sa_own_port(m->services.sa, member->port);
		uint32_t port = topo_find_port(m->trees.topo, guid);

		if (port != TOPO_NONE && in_partition(&view, guid, group->attr.pkey))
			to->list[to->count++] =
				(struct mcast_member){ port, !receives(member->state) };
	}
}

static int compare_members(const void *a, const void *b)
{
	const struct mcast_member *x = a, *y = b;

	if (x->port != y->port)
		return x->port < y->port ? -1 : 1;
	return (int)x->send_only - (int)y->send_only;
}

/*
 * Merges the members of groups that share an MLID, and aliases of a port: each port is a member
 * once, and receives if it does in any of its groups.
 */
static void merge_members(struct gathered *g)
{
	uint32_t kept = 0;

	qsort(g->list, g->count, sizeof(*g->list), compare_members);
	for (uint32_t i = 0; i < g->count; i++)
		if (!kept || g->list[kept - 1].port != g->list[i].port)
			g->list[kept++] = g->list[i];
	g->count = kept;
}

static void gather_mlid(struct multicast *m, uint32_t i, const struct sa_group *first)
{
	struct gathered *to = &m->trees.gathered[i];

	m->trees.changed[i] = false;
	to->count = 0;
	for (const struct sa_group *group = first; group; group = group->next)
		gather_group(m, to, group);
	assumed_gather(m, (uint16_t)(MCAST_FIRST_MLID + i), to);
	if (first && (assumed_has(m, (uint16_t)(MCAST_FIRST_MLID + i)) || first->next ||
		      sa_alias_next(m->services.sa, 0)))
		merge_members(to);
}

static void new_planner(struct multicast *m)
{
	struct trees *t = &m->trees;

	trees_keep_proof(m);
	if (t->published) {
		mcast_proof_free(t->proof);
		t->proof = t->published;
		t->published = NULL;
	}
	t->planner = mcast_planner_new(t->topo, t->proof);
}

static bool any_member(const struct trees *t)
{
	for (uint32_t i = 0; i < t->ngroups; i++)
		if (t->groups[i].nmembers)
			return true;
	return false;
}

/*
 * Planner and proof cost memory as the fabric has links: they are made for the first member. False:
 * other tables were published meanwhile; their trees are made when they are programmed.
 */
static bool begin_planner(struct multicast *m)
{
	struct trees *t = &m->trees;

	t->nobody = !any_member(t);
	if (t->nobody)
		return true;
	if (!t->planner && fabric_view(m->fabric).topo != t->topo)
		return false;
	if (!t->planner)
		new_planner(m);
	mcast_planner_begin(t->planner, t->groups, t->ngroups, &t->plan);
	return true;
}

static enum job_result end_gather(struct multicast *m)
{
	m->trees.at = 0;
	if (begin_planner(m))
		return JOB_NEXT;
	job_stop(m->trees.job);
	see(m, NULL); /* all members are collected again */
	trees_start(m);
	return JOB_END;
}

static enum job_result gather(void *arg)
{
	struct multicast *m = arg;
	struct sa_groups *groups = m->groups;
	uint32_t i = m->trees.at++;
	uint16_t mlid = (uint16_t)(MCAST_FIRST_MLID + i);
	const struct sa_group *first = sa_groups_by_mlid(groups, mlid);
	bool kept = assumed_has(m, mlid), anew;

	if (i == SA_MLIDS || (!first && mlid > sa_groups_top(groups) && mlid > assumed_top(m)))
		return end_gather(m);
	anew = m->trees.changed[i] || m->trees.topo != m->trees.seen;
	if (anew)
		gather_mlid(m, i, first);
	if (first || kept)
		m->trees.groups[m->trees.ngroups++] =
			(struct mcast_group){ .mlid = mlid,
					      .nmembers = m->trees.gathered[i].count,
					      .members = m->trees.gathered[i].list,
					      .as_before = !anew };
	return JOB_MORE;
}

/* ---- Plan, judge ----------------------------------------------------------------------------- */

static void plan_of_nobody(struct trees *t)
{
	t->next.trees = mem_alloc(t->ngroups + 1u, sizeof(*t->next.trees));
	for (uint32_t i = 0; i < t->ngroups; i++)
		t->next.trees[t->next.ntrees++] =
			(struct mcast_tree){ .mlid = t->groups[i].mlid, .root = TOPO_NONE };
}

static enum job_result plan(void *arg)
{
	struct multicast *m = arg;

	mcast_plan_fini(&m->trees.next);
	if (m->trees.nobody) {
		plan_of_nobody(&m->trees);
		return JOB_NEXT;
	}
	if (!mcast_planner_step(m->trees.planner))
		return JOB_MORE;
	mcast_planner_take(m->trees.planner, &m->trees.next);
	return JOB_NEXT;
}

/* A tree that the check refuses is not programmed: its group has no traffic until it changes. */
static void refuse(struct multicast *m, struct mcast_tree *tree, const char *why)
{
	event_log_add(m->services.events, LOG_ERR, "mcast-refused", NULL, NULL,
		      "fabric: the tree of multicast LID 0x%x failed verification: %s", tree->mlid,
		      why);
	free(tree->hops);
	*tree = (struct mcast_tree){ .mlid = tree->mlid, .root = TOPO_NONE };
}

/* The index of a member's switch; TOPO_NONE = its link is down. */
static uint32_t seat_of(const struct topo *t, const struct mcast_member *member)
{
	const struct topo_port *port = &t->ports[member->port];

	if (port->node < t->nswitches)
		return port->node;
	return port->link_up ? topo_peer(t, port)->node : TOPO_NONE;
}

static bool is_on(const struct mcast_tree *tree, uint32_t sw)
{
	for (uint32_t i = 0; i < tree->nhops; i++)
		if (tree->hops[i].sw == sw)
			return true;
	return false;
}

/* Counts the members that links connect but no proven tree does. */
static void report_narrow(struct multicast *m, const struct mcast_group *group,
			  const struct mcast_tree *tree)
{
	const struct topo *t = m->trees.topo;
	char names[NAMES_SIZE] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < group->nmembers && used < sizeof(names) - NAME_ROOM; i++) {
		uint32_t sw = seat_of(t, &group->members[i]);

		if (sw != TOPO_NONE && !is_on(tree, sw))
			used += (size_t)snprintf(
				names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				t->nodes[t->ports[group->members[i].port].node].name);
	}
	event_log_add(
		m->services.events, LOG_WARNING, "mcast-narrow", NULL,
		json_pack("{si si}", "mlid", (int)tree->mlid, "left_out", (int)tree->left_out),
		"fabric: %u %s of multicast LID 0x%x %s not served, as any tree to them "
		"would close a credit loop: %s",
		tree->left_out, words_plural(tree->left_out, "member", "members"), tree->mlid,
		words_plural(tree->left_out, "is", "are"), names);
}

static enum job_result judge(void *arg)
{
	struct multicast *m = arg;
	uint32_t i = m->trees.at++;
	struct mcast_tree *tree = &m->trees.next.trees[i];
	char err[256];

	if (i == m->trees.next.ntrees) {
		m->trees.at = 0;
		m->trees.reporting = true;
		return JOB_NEXT;
	}
	if (!tree->kept &&
	    !mcast_tree_check(m->trees.topo, &m->trees.groups[i], tree, err, sizeof(err)))
		refuse(m, tree, err);
	else if (!tree->kept && tree->narrow)
		report_narrow(m, &m->trees.groups[i], tree);
	return JOB_MORE;
}

/* ---- Tell ------------------------------------------------------------------------------------ */

static enum job_result report_gone(void *arg)
{
	struct multicast *m = arg;
	const struct mcast_tree *tree = &m->trees.plan.trees[m->trees.at], *next;

	if (m->trees.at++ == m->trees.plan.ntrees) {
		m->trees.at = 0;
		return JOB_NEXT;
	}
	next = mcast_plan_tree(&m->trees.next, tree->mlid);
	if (!next || !next->kept)
		mft_want_tree(m->services.mft, tree, false);
	return JOB_MORE;
}

static enum job_result report_new(void *arg)
{
	struct multicast *m = arg;
	const struct mcast_tree *tree = &m->trees.next.trees[m->trees.at];

	if (m->trees.at++ == m->trees.next.ntrees)
		return JOB_NEXT;
	if (!tree->kept)
		mft_want_tree(m->services.mft, tree, true);
	return JOB_MORE;
}

/* ---- Write ----------------------------------------------------------------------------------- */

static void report_turns(struct multicast *m)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < m->trees.plan.ntrees; i++)
		n += m->trees.plan.trees[i].turns > 0;
	if (n == m->trees.with_turns)
		return;
	m->trees.with_turns = n;
	event_log_add(m->services.events, LOG_NOTICE, "mcast-turns", NULL,
		      json_pack("{si si}", "trees", (int)n, "of", (int)m->trees.plan.ntrees),
		      "fabric: %u of %u multicast trees have a down-up turn: no switch has all of "
		      "the members below it",
		      n, m->trees.plan.ntrees);
}

static void written(void *arg, const struct mft_result *result)
{
	struct multicast *m = arg;

	m->trees.result = *result;
	if (result->cleared)
		event_log_add(m->services.events, LOG_NOTICE, "mcast-cleared", NULL, NULL,
			      "fabric: %u multicast entries of the previous manager were cleared",
			      result->cleared);
	if (result->failed)
		fabric_request_retry(m->fabric, "multicast blocks not acknowledged");
	if (result->failed && !m->trees.logged_failed)
		event_log_add(m->services.events, LOG_WARNING, "mcast-failed", NULL, NULL,
			      "fabric: %u multicast blocks were not acknowledged, %u groups wait "
			      "for them; retried at growing intervals",
			      result->failed, result->held);
	m->trees.logged_failed = result->failed > 0;
	fabric_report_mft_written(m->fabric, result);
	trees_start(m);
}

static enum job_result write_tables(void *arg)
{
	struct multicast *m = arg;
	bool again = m->trees.again;

	mcast_plan_fini(&m->trees.plan);
	m->trees.plan = m->trees.next;
	m->trees.next = (struct mcast_plan){ 0 };
	see(m, m->trees.topo);
	m->trees.again = m->trees.reporting = false;
	m->trees.rounds++;
	report_turns(m);
	job_stop(m->trees.job);
	mft_apply(m->services.mft, m->trees.topo,
		  m->trees.plan.ntrees ? m->trees.plan.trees[m->trees.plan.ntrees - 1].mlid
				       : MCAST_FIRST_MLID - 1,
		  again, written, m);
	return JOB_END;
}

/* ---- When ------------------------------------------------------------------------------------ */

static const struct job_step steps[] = {
	{ "mcast-learn", multicast_learn },
	{ "mcast-gather", gather },
	{ "mcast-plan", plan },
	{ "mcast-judge", judge },
	{ "mcast-report-gone", report_gone },
	{ "mcast-report-new", report_new },
	{ "mcast-write", write_tables },
	{ NULL, NULL },
};

static bool is_due(const struct multicast *m)
{
	const struct topo *topo = fabric_view(m->fabric).topo;

	return topo && (m->trees.pending || topo != m->trees.seen);
}

void trees_keep_proof(struct multicast *m)
{
	const struct fabric_view view = fabric_view(m->fabric);
	struct trees *t = &m->trees;
	const struct cdg *unicast;

	if (!t->proof_due)
		return;
	t->proof_due = false;
	unicast = check_proof_graph(m->services.proofs, check_proof_serial(m->services.proofs));
	mcast_proof_free(t->published);
	t->published = unicast ? mcast_proof_new(view.topo, unicast) : NULL;
	if (t->published && view.spanning &&
	    !mcast_proof_span(t->published, view.tables, view.spanning))
		event_log_add(
			m->services.events, LOG_WARNING, "mcast-spanning", NULL, NULL,
			"fabric: the spanning tree of the routing engine closes a credit loop: "
			"each group has a tree of its own");
}

static void take_snapshot(struct multicast *m)
{
	const struct topo *topo = fabric_view(m->fabric).topo;
	struct trees *t = &m->trees;

	if (t->topo == topo)
		return;
	mcast_planner_free(t->planner);
	t->planner = NULL;
	topo_unref(t->topo);
	t->topo = topo_ref(topo);
	if (t->proof_due || t->published) { /* of earlier tables */
		mcast_proof_free(t->proof);
		t->proof = NULL;
	}
	t->again = true;
}

static void was_read(void *arg, const struct mft_result *result)
{
	struct multicast *m = arg;

	m->trees.read = true;
	trees_start(m);
}

/* Waits until unicast tables are programmed: joins and SA replies travel by them. */
static void begin(void *arg)
{
	struct multicast *m = arg;

	if (!is_due(m) || fabric_programming(m->fabric) || mft_busy(m->services.mft))
		return;
	take_snapshot(m);
	if (!m->trees.read) {
		mft_read(m->services.mft, m->trees.topo, sa_groups_top(m->groups), was_read, m);
		return;
	}
	m->trees.pending = false;
	m->trees.ngroups = m->trees.at = 0;
	job_start(m->trees.job, steps, NULL);
}

void trees_start(struct multicast *m)
{
	bool stale = job_steps(m->trees.job) && !m->trees.reporting &&
		     fabric_view(m->fabric).topo != m->trees.topo;

	if (stale) { /* the collected ports are of another snapshot */
		job_stop(m->trees.job);
		see(m, NULL);
	}
	if (!is_due(m) || job_steps(m->trees.job) || mft_busy(m->services.mft))
		return;
	if (!loop_timer_armed(m->trees.coalesce))
		m->trees.coalesce_since_us = loop_now_us(m->services.loop);
	if (loop_now_us(m->services.loop) - m->trees.coalesce_since_us <
	    COALESCE_MAX_US - COALESCE_US)
		loop_timer_set(m->trees.coalesce, COALESCE_US);
}

void trees_changed(struct multicast *m, uint16_t mlid)
{
	m->trees.changed[mlid - MCAST_FIRST_MLID] = true;
	m->trees.pending = true;
	trees_start(m);
}

void trees_rewrite(struct multicast *m)
{
	m->trees.pending = true;
	trees_start(m);
}

/* ---- Snapshots ------------------------------------------------------------------------------- */

void trees_published(struct multicast *m)
{
	m->trees.proof_due = true;
	mcast_proof_free(m->trees.published); /* of the tables before */
	m->trees.published = NULL;
}

void trees_same_links(struct multicast *m, const struct topo *before)
{
	if (m->trees.seen == before)
		see(m, fabric_view(m->fabric).topo);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void trees_init(struct multicast *m)
{
	struct trees *t = &m->trees;

	t->job = job_new(m->services.loop, m);
	t->coalesce = loop_timer_new(m->services.loop, begin, m);
	t->groups = mem_alloc(SA_MLIDS, sizeof(*t->groups));
	sa_mcast_set_trees(m->services.sa, &t->plan);
}

void trees_fini(struct multicast *m)
{
	struct trees *t = &m->trees;

	sa_mcast_set_trees(m->services.sa, NULL);
	loop_timer_free(t->coalesce);
	job_free(t->job);
	mcast_planner_free(t->planner);
	mcast_proof_free(t->published);
	mcast_proof_free(t->proof);
	mcast_plan_fini(&t->next);
	mcast_plan_fini(&t->plan);
	for (uint32_t i = 0; i < SA_MLIDS; i++)
		free(t->gathered[i].list);
	topo_unref(t->topo);
	topo_unref(t->seen);
	free(t->groups);
}
