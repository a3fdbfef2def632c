/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_mcast: from the SA's groups and the published snapshot to the switches' multicast tables.
 *
 * A join is answered at once; here it only leaves a mark on its MLID. When no more come for a few
 * milliseconds, or another snapshot was published and its unicast tables are in place, a job does the
 * rest in short steps (fm/core/job.h):
 *
 *   learn    the first time: what switches hold from an earlier life (mcast_learn.c)
 *   gather   the members of MLIDs with a mark, or of all on a new snapshot, become ports of the snapshot
 *   plan     trees: those of MLIDs without a mark stay as they are, on a new snapshot those that still prove right; all of them
 *            proven beside the unicast tables in force
 *   judge    each tree that is new
 *   tell     what switches are to hold of those, and of groups that ended
 *   write    blocks that differ                                                    (fm/program/mft)
 *
 * What happens meanwhile leaves its mark for the next round, which begins when the switches have
 * answered: so a storm of joins costs a few rounds, however many joins it has. A snapshot published
 * meanwhile starts the job anew, unless it has begun to tell: what was told is to be written.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/mcast.h"
#include "topology/mem.h"

#define FOLD_US	    3000  /* from the last change.. */
#define FOLD_MAX_US 50000 /* ..but no longer than this from the first */
#define NAMES_SIZE  320	  /* of a list of hosts in an event.. */
#define NAME_ROOM   68	  /* ..and of one more */

static void see(struct fabric_mcast *m, const struct topo *t)
{
	topo_unref(m->seen);
	m->seen = t ? topo_ref(t) : NULL;
}

void fabric_mcast_want(struct fabric_mcast *m, const struct mcast_tree *tree, bool wanted)
{
	for (uint32_t h = 0; h < tree->nhops; h++)
		mft_want(m->mft, tree->hops[h].guid, tree->mlid,
			 wanted ? tree->hops[h].ports : NULL);
}

/* ---- Gather -------------------------------------------------------------------------------------- */

static bool receives(uint8_t join_state)
{
	return join_state & (WIRE_JOIN_FULL | WIRE_JOIN_NON);
}

/* A member that lost its P_Key stays one, in case it gets that again, but no tree leads there meanwhile. */
static bool in_partition(const struct fabric *f, guid_t guid, uint16_t pkey)
{
	uint32_t port = topo_find_port(f->topo, guid); /* the map is of that snapshot */

	return port == TOPO_NONE || pkey_map_member(f->pkeys, port, pkey);
}

static void gather_group(const struct fabric *f, struct fabric_gathered *to,
			 const struct sa_group *group)
{
	const struct fabric_mcast *m = f->mcast;

	to->list = mem_resize(to->list, to->count + group->nmembers + 1u, sizeof(*to->list));
	for (uint32_t i = 0; i < group->nmembers; i++) {
		const struct sa_member *member = &group->members[i];
		guid_t guid = sa_own_port(f->sa, member->port);
		uint32_t port = topo_find_port(m->topo, guid);

		if (port != TOPO_NONE && in_partition(f, guid, group->attr.pkey))
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

/* Of groups that share a MLID, and of aliases of one port: a port is in once, and gets what any of its groups gets. */
static void merge_members(struct fabric_gathered *g)
{
	uint32_t kept = 0;

	qsort(g->list, g->count, sizeof(*g->list), compare_members);
	for (uint32_t i = 0; i < g->count; i++)
		if (!kept || g->list[kept - 1].port != g->list[i].port)
			g->list[kept++] = g->list[i];
	g->count = kept;
}

static void gather_mlid(struct fabric *f, uint32_t i, const struct sa_group *first)
{
	struct fabric_mcast *m = f->mcast;
	struct fabric_gathered *to = &m->gathered[i];

	m->changed[i] = false;
	to->count = 0;
	for (const struct sa_group *group = first; group; group = group->next)
		gather_group(f, to, group);
	if (first && (first->next || sa_alias_next(f->sa, 0)))
		merge_members(to);
}

static enum job_said gather(void *arg)
{
	struct fabric *f = arg;
	struct fabric_mcast *m = f->mcast;
	struct sa_groups *groups = sa_mcast_groups(f->sa);
	uint32_t i = m->at++;
	uint16_t mlid = (uint16_t)(MCAST_FIRST_MLID + i);
	const struct sa_group *first = sa_groups_by_mlid(groups, mlid);
	bool anew;

	if (i == SA_MLIDS || (!first && mlid > sa_groups_top(groups))) {
		m->at = 0;
		mcast_planner_begin(m->planner, m->groups, m->ngroups, &m->plan);
		return JOB_NEXT;
	}
	anew = m->changed[i] || m->topo != m->seen;
	if (anew)
		gather_mlid(f, i, first);
	if (first)
		m->groups[m->ngroups++] = (struct mcast_group){ .mlid = mlid,
								.nmembers = m->gathered[i].count,
								.members = m->gathered[i].list,
								.as_before = !anew };
	return JOB_MORE;
}

/* ---- Plan, judge --------------------------------------------------------------------------------- */

static enum job_said plan(void *arg)
{
	struct fabric_mcast *m = ((struct fabric *)arg)->mcast;

	if (!mcast_planner_step(m->planner))
		return JOB_MORE;
	mcast_plan_fini(&m->next);
	mcast_planner_take(m->planner, &m->next);
	return JOB_NEXT;
}

/* A tree that is refused is not programmed: nobody hears the group until it changes. */
static void refuse(struct fabric *f, struct mcast_tree *tree, const char *why)
{
	event_log_add(f->events, LOG_ERR, "mcast-refused", NULL,
		      "fabric: the tree of multicast LID 0x%x was refused: %s", tree->mlid, why);
	free(tree->hops);
	*tree = (struct mcast_tree){ .mlid = tree->mlid, .root = TOPO_NONE };
}

/* The switch that a member sits at, by its index; TOPO_NONE: its cable is down. */
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

/* Members that cables would connect, and no tree that is proven. */
static void tell_narrow(struct fabric *f, const struct mcast_group *group,
			const struct mcast_tree *tree)
{
	const struct topo *t = f->mcast->topo;
	char names[NAMES_SIZE] = "";
	size_t used = 0;

	for (uint32_t i = 0; i < group->nmembers && used < sizeof(names) - NAME_ROOM; i++) {
		uint32_t sw = seat_of(t, &group->members[i]);

		if (sw != TOPO_NONE && !is_on(tree, sw))
			used += (size_t)snprintf(
				names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				t->nodes[t->ports[group->members[i].port].node].desc);
	}
	event_log_add(
		f->events, LOG_WARNING, "mcast-narrow",
		json_pack("{si si}", "mlid", (int)tree->mlid, "left_out", (int)tree->left_out),
		"fabric: %u members of multicast LID 0x%x get nothing of it, for any tree to "
		"them would close a credit loop: %s",
		tree->left_out, tree->mlid, names);
}

static enum job_said judge(void *arg)
{
	struct fabric *f = arg;
	struct fabric_mcast *m = f->mcast;
	uint32_t i = m->at++;
	struct mcast_tree *tree = &m->next.trees[i];
	char err[256];

	if (i == m->next.ntrees) {
		m->at = 0;
		m->telling = true;
		return JOB_NEXT;
	}
	if (!tree->kept && !mcast_tree_check(m->topo, &m->groups[i], tree, err, sizeof(err)))
		refuse(f, tree, err);
	else if (!tree->kept && tree->narrow)
		tell_narrow(f, &m->groups[i], tree);
	return JOB_MORE;
}

/* ---- Tell ---------------------------------------------------------------------------------------- */

static enum job_said tell_gone(void *arg)
{
	struct fabric_mcast *m = ((struct fabric *)arg)->mcast;
	const struct mcast_tree *tree = &m->plan.trees[m->at], *next;

	if (m->at++ == m->plan.ntrees) {
		m->at = 0;
		return JOB_NEXT;
	}
	next = mcast_plan_tree(&m->next, tree->mlid);
	if (!next || !next->kept)
		fabric_mcast_want(m, tree, false);
	return JOB_MORE;
}

static enum job_said tell_new(void *arg)
{
	struct fabric_mcast *m = ((struct fabric *)arg)->mcast;
	const struct mcast_tree *tree = &m->next.trees[m->at];

	if (m->at++ == m->next.ntrees)
		return JOB_NEXT;
	if (!tree->kept)
		fabric_mcast_want(m, tree, true);
	return JOB_MORE;
}

/* ---- Write --------------------------------------------------------------------------------------- */

static void tell_turns(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;
	unsigned n = 0;

	for (uint32_t i = 0; i < m->plan.ntrees; i++)
		n += m->plan.trees[i].turns > 0;
	if (n == m->with_turns)
		return;
	m->with_turns = n;
	event_log_add(f->events, LOG_NOTICE, "mcast-turns",
		      json_pack("{si si}", "trees", (int)n, "of", (int)m->plan.ntrees),
		      "fabric: packets of %u of %u multicast trees go down, then up: no switch "
		      "has all of the members below it",
		      n, m->plan.ntrees);
}

static void written(void *arg, const struct mft_result *result)
{
	struct fabric *f = arg;
	struct fabric_mcast *m = f->mcast;

	m->result = *result;
	if (result->cleared)
		event_log_add(f->events, LOG_NOTICE, "mcast-cleared", NULL,
			      "fabric: %u multicast entries of an earlier manager were cleared",
			      result->cleared);
	if (result->failed)
		fabric_request_retry(f, "multicast blocks not acknowledged");
	if (result->failed && !m->told_failed)
		event_log_add(f->events, LOG_WARNING, "mcast-failed", NULL,
			      "fabric: %u multicast blocks were not acknowledged, %u groups wait "
			      "for that; tried again, less and less",
			      result->failed, result->held);
	m->told_failed = result->failed > 0;
	fabric_report_mft_written(f, result);
	fabric_mcast_wake(f);
}

static enum job_said write_tables(void *arg)
{
	struct fabric *f = arg;
	struct fabric_mcast *m = f->mcast;
	bool again = m->again;

	mcast_plan_fini(&m->plan);
	m->plan = m->next;
	m->next = (struct mcast_plan){ 0 };
	see(m, m->topo);
	m->again = m->telling = false;
	m->rounds++;
	tell_turns(f);
	job_stop(m->job);
	mft_apply(m->mft, m->topo,
		  m->plan.ntrees ? m->plan.trees[m->plan.ntrees - 1].mlid : MCAST_FIRST_MLID - 1,
		  again, written, f);
	return JOB_END;
}

/* ---- When ---------------------------------------------------------------------------------------- */

static const struct job_step steps[] = {
	{ "mcast-learn", fabric_mcast_learn },
	{ "mcast-gather", gather },
	{ "mcast-plan", plan },
	{ "mcast-judge", judge },
	{ "mcast-tell-gone", tell_gone },
	{ "mcast-tell-new", tell_new },
	{ "mcast-write", write_tables },
	{ NULL, NULL },
};

static bool is_due(const struct fabric *f)
{
	return f->topo && (f->mcast->pending || f->topo != f->mcast->seen);
}

/* The copy takes its time: when it is needed, or before the next proof changes what it is of. */
void fabric_mcast_keep_proof(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;
	const struct cdg *unicast;

	if (!m->proof_due)
		return;
	m->proof_due = false;
	unicast = check_proof_graph(f->proof_base, check_proof_serial(f->proof_base));
	mcast_proof_free(m->published);
	m->published = unicast ? mcast_proof_new(f->topo, unicast) : NULL;
	if (m->published && f->spanning && !mcast_proof_span(m->published, &f->tables, f->spanning))
		event_log_add(
			f->events, LOG_WARNING, "mcast-spanning", NULL,
			"fabric: the spanning tree of the routing engine closes a credit loop: "
			"each group has a tree of its own");
}

static void take_snapshot(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;

	if (m->topo == f->topo)
		return;
	fabric_mcast_keep_proof(f);
	mcast_planner_free(m->planner);
	topo_unref(m->topo);
	m->topo = topo_ref(f->topo);
	if (m->published) {
		mcast_proof_free(m->proof);
		m->proof = m->published;
		m->published = NULL;
	}
	m->planner = mcast_planner_new(m->topo, m->proof);
	m->again = true;
}

static void was_read(void *arg, const struct mft_result *result)
{
	struct fabric *f = arg;

	f->mcast->read = true;
	fabric_mcast_wake(f);
}

/* Unicast tables come first: their packets are what everything else is made of. */
static void begin(void *arg)
{
	struct fabric *f = arg;
	struct fabric_mcast *m = f->mcast;

	if (!is_due(f) || f->programming || mft_busy(m->mft))
		return;
	take_snapshot(f);
	if (!m->read) {
		mft_read(m->mft, m->topo, sa_groups_top(sa_mcast_groups(f->sa)), was_read, f);
		return;
	}
	m->pending = false;
	m->ngroups = m->at = 0;
	job_start(m->job, steps, NULL);
}

void fabric_mcast_wake(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;
	bool stale = job_steps(m->job) && !m->telling && f->topo != m->topo;

	if (stale) { /* what was gathered is of use no more */
		job_stop(m->job);
		see(m, NULL);
	}
	if (!is_due(f) || job_steps(m->job) || mft_busy(m->mft))
		return;
	if (!loop_timer_armed(m->fold))
		m->folds_since_us = loop_now_us(f->loop);
	if (loop_now_us(f->loop) - m->folds_since_us < FOLD_MAX_US - FOLD_US)
		loop_timer_set(m->fold, FOLD_US);
}

static void group_changed(void *arg, uint16_t mlid)
{
	struct fabric *f = arg;

	f->mcast->changed[mlid - MCAST_FIRST_MLID] = true;
	f->mcast->pending = true;
	fabric_mlids_check(f);
	fabric_groups_changed(f);
	fabric_mcast_wake(f);
}

void fabric_mcast_again(struct fabric *f)
{
	f->mcast->pending = true;
	fabric_mcast_wake(f);
}

bool fabric_mcast_busy(const struct fabric *f)
{
	return job_steps(f->mcast->job) != NULL;
}

/* ---- Snapshots ----------------------------------------------------------------------------------- */

void fabric_mcast_published(struct fabric *f, const struct topo *older)
{
	f->mcast->proof_due = true;
	fabric_mlids_published(f);
	fabric_absent_published(f, older);
}

void fabric_mcast_shown(struct fabric *f, const struct topo *older)
{
	struct fabric_mcast *m = f->mcast;

	if (m->seen == older)
		see(m, f->topo);
}

const struct mcast_plan *fabric_trees(const struct fabric *f)
{
	return &f->mcast->plan;
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_mcast_init(struct fabric *f)
{
	struct fabric_mcast *m = mem_alloc(1, sizeof(*m));

	f->mcast = m;
	m->mft = f->mft;
	m->job = job_new(f->loop, f);
	m->fold = loop_timer_new(f->loop, begin, f);
	m->groups = mem_alloc(SA_MLIDS, sizeof(*m->groups));
	fabric_groups_init(f);
	sa_mcast_set_trees(f->sa, &m->plan);
	sa_mcast_follow(f->sa, group_changed, f);
}

void fabric_mcast_fini(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;

	fabric_groups_fini(f);
	sa_mcast_follow(f->sa, NULL, NULL);
	sa_mcast_set_trees(f->sa, NULL);
	loop_timer_free(m->fold);
	job_free(m->job);
	mcast_planner_free(m->planner);
	mcast_proof_free(m->published);
	mcast_proof_free(m->proof);
	mcast_plan_fini(&m->next);
	mcast_plan_fini(&m->plan);
	for (uint32_t i = 0; i < SA_MLIDS; i++)
		free(m->gathered[i].list);
	topo_unref(m->topo);
	topo_unref(m->seen);
	free(m->groups);
	free(m);
	f->mcast = NULL;
}
