/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/multicast/room.h"
#include "routing/proof/check_change.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

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

/* A host's port there may be that of no member of a group with the MLID. */
static void learn_port(struct learn *learn, uint16_t mlid, unsigned num)
{
	struct multicast *m = learn->m;
	const struct topo *t = m->trees.topo;

	if (!num || num > t->nodes[learn->sw].nports)
		return;

	const struct topo_port *peer = topo_peer(t, topo_port(t, learn->sw, num));

	if (!peer || peer->node < t->nswitches)
		return;
	for (const struct sa_group *group = sa_groups_by_mlid(m->groups, mlid); group;
	     group = group->next) {
		if (sa_group_member(group, peer->guid))
			return;
		for (uint32_t i = 0; sa_alias_next(m->services.sa, 0) && i < group->nmembers; i++)
			if (sa_alias_port(m->services.sa, group->members[i].port) == peer->guid)
				return;
	}
	learn->unknown_members += peer->guid != 0;
	if (peer->guid && fabric_took_over(m->fabric))
		assumed_add(m, mlid, peer->guid);
}

static void learn_entry(void *arg, uint16_t mlid, unsigned position, uint16_t mask)
{
	struct learn *learn = arg;
	struct mcast_plan *plan = &learn->m->trees.plan;
	struct mcast_tree *tree = (struct mcast_tree *)mcast_plan_tree(plan, mlid);

	for (unsigned i = 0; i < MCAST_POSITION; i++)
		if (mask >> i & 1)
			learn_port(learn, mlid, position * MCAST_POSITION + i);
	if (!tree && !fabric_took_over(learn->m->fabric))
		return;
	if (!tree) { /* no group here has that MLID */
		uint32_t at = plan->ntrees++;

		plan->trees = mem_array_resize(plan->trees, plan->ntrees);
		for (; at && plan->trees[at - 1].mlid > mlid; at--)
			plan->trees[at] = plan->trees[at - 1];
		tree = &plan->trees[at];
		*tree = (struct mcast_tree){ .mlid = mlid, .root = TOPO_NONE };
	}

	struct mcast_hop *hop = tree->nhops ? &tree->hops[tree->nhops - 1] : NULL;

	if (!hop || hop->sw != learn->sw) {
		tree->hops = mem_resize(tree->hops, tree->nhops + 1u, sizeof(*hop));
		hop = &tree->hops[tree->nhops++];
		*hop = (struct mcast_hop){ .guid = learn->m->trees.topo->nodes[learn->sw].guid,
					   .sw = learn->sw };
	}
	hop->ports[position] = mask;
}

/*
 * One switch after the other, in the order of their GUIDs, as hops are.
 *
 * Tables that lead to hosts which by the file are no members: another manager was here meanwhile,
 * or fmd ended too suddenly to save the last joins. The hosts know, and do not say so unless asked.
 */
static enum job_result multicast_learn(void *arg)
{
	struct multicast *m = arg;
	struct trees *t = &m->trees;
	struct learn learn = { .m = m, .sw = t->at };

	if (t->tables == TABLES_LEARNED)
		return JOB_NEXT;
	if (!t->at) {
		t->unknown_members = 0;
		mcast_plan_fini(&t->plan);
		t->plan.trees = mem_array(t->plan.trees, sa_groups_use(m->groups)->mlids + 1u);
		for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(m->groups); mlid++)
			if (sa_groups_by_mlid(m->groups, mlid))
				t->plan.trees[t->plan.ntrees++] =
					(struct mcast_tree){ .mlid = mlid, .root = TOPO_NONE };
	}
	if (t->at++ < t->topo->nswitches) {
		mft_held(m->services.mft, t->topo->nodes[learn.sw].guid, learn_entry, &learn);
		t->unknown_members += learn.unknown_members;
		return JOB_MORE;
	}
	for (uint32_t i = 0; i < t->plan.ntrees; i++) {
		mcast_tree_describe(t->topo, &t->plan.trees[i]);
		mft_want_tree(m->services.mft, &t->plan.trees[i], true);
	}
	t->tables = TABLES_LEARNED;
	t->at = 0;
	assumed_begin(m);
	if (!t->unknown_members || !m->known)
		return JOB_NEXT;
	event_log_add(m->services.events, LOG_NOTICE, "mcast-strangers", NULL, NULL,
		      "fabric: multicast tables have %u entries to hosts without a known join: all "
		      "hosts are asked to register anew",
		      t->unknown_members);
	fabric_request_reregister(m->fabric, "members of multicast groups are not known");
	fabric_request_reroute(m->fabric, "multicast groups were read");
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

#define COALESCE_US	3000  /* from the last change */
#define COALESCE_MAX_US 50000 /* from the first change, at most */
#define NAMES_SIZE	320   /* of a list of hosts in an event */
#define NAME_ROOM	68    /* of one more host */

static void see(struct multicast *m, const struct topo *t)
{
	topo_unref(m->trees.seen);
	m->trees.seen = t ? topo_ref(t) : NULL;
}

/* ---- Gather ---------------------------------------------------------------------------------- */

SORT_BY(compare_members, struct mcast_member,
	sort_order(a->port, b->port) ?: sort_order(a->send_only, b->send_only))

/*
 * Merges the members of groups that share an MLID, and aliases of a port: each port is a member
 * once, and receives if it does in any of its groups.
 */
static void gather_mlid(struct multicast *m, uint32_t i, const struct sa_group *first)
{
	const struct fabric_view view = fabric_view(m->fabric);
	struct gathered *to = &m->trees.gathered[i];
	uint32_t kept = 0;

	m->trees.changed[i] = false;
	to->count = 0;
	for (const struct sa_group *group = first; group; group = group->next) {
		to->list = mem_array_resize(to->list, to->count + group->nmembers + 1u);
		for (uint32_t n = 0; n < group->nmembers; n++) {
			const struct sa_member *member = &group->members[n];
			guid_t guid = sa_own_port(m->services.sa, member->port);
			uint32_t port = topo_find_port(m->trees.topo, guid);
			uint32_t keyed = topo_find_port(view.topo, guid); /* as view.pkeys has it */
			bool sends_only = !(member->state & (WIRE_JOIN_FULL | WIRE_JOIN_NON));

			/* Without the P_Key it stays a member, and no tree leads there. */
			if (port != TOPO_NONE &&
			    (keyed == TOPO_NONE ||
			     pkey_map_member(view.pkeys, keyed, group->attr.pkey)))
				to->list[to->count++] = (struct mcast_member){ port, sends_only };
		}
	}
	assumed_gather(m, MCAST_FIRST_MLID + i, to);
	if (!first || (!assumed_has(m, MCAST_FIRST_MLID + i) && !first->next &&
		       !sa_alias_next(m->services.sa, 0)))
		return;
	qsort(to->list, to->count, sizeof(*to->list), compare_members);
	for (uint32_t n = 0; n < to->count; n++)
		if (!kept || to->list[kept - 1].port != to->list[n].port)
			to->list[kept++] = to->list[n];
	to->count = kept;
}

static enum job_result gather(void *arg)
{
	struct multicast *m = arg;
	struct sa_groups *groups = m->groups;
	uint32_t i = m->trees.at++;
	uint16_t mlid = MCAST_FIRST_MLID + i;
	const struct sa_group *first = sa_groups_by_mlid(groups, mlid);
	const struct assumed *a = &m->assumed;
	uint16_t last = a->count ? a->list[a->count - 1].mlid : 0;
	bool kept = assumed_has(m, mlid), anew;

	if (i == SA_MLIDS || (!first && mlid > sa_groups_top(groups) && mlid > last)) {
		/*
		 * Planner and proof cost memory as the fabric has links: they are made for the
		 * first member. When other tables were published meanwhile, all members are
		 * collected again, and their trees are made when those tables are programmed.
		 */
		struct trees *t = &m->trees;

		t->at = 0;
		t->nobody = true;
		for (uint32_t k = 0; k < t->ngroups && t->nobody; k++)
			t->nobody = !t->groups[k].nmembers;
		if (t->nobody)
			return JOB_NEXT;
		if (!t->planner && fabric_view(m->fabric).topo != t->topo) {
			job_stop(t->job);
			see(m, NULL);
			trees_start(m);
			return JOB_END;
		}
		if (!t->planner) {
			trees_keep_proof(m);
			if (t->published) {
				mcast_proof_free(t->proof);
				t->proof = t->published;
				t->published = NULL;
			}
			t->planner = mcast_planner_new(t->topo, t->proof);
		}
		mcast_planner_begin(t->planner, t->groups, t->ngroups, &t->plan);
		return JOB_NEXT;
	}
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

static enum job_result plan(void *arg)
{
	struct trees *t = &((struct multicast *)arg)->trees;

	mcast_plan_fini(&t->next);
	if (t->nobody) {
		t->next.trees = mem_array(t->next.trees, t->ngroups + 1u);
		for (uint32_t i = 0; i < t->ngroups; i++)
			t->next.trees[t->next.ntrees++] =
				(struct mcast_tree){ .mlid = t->groups[i].mlid, .root = TOPO_NONE };
		return JOB_NEXT;
	}
	if (!mcast_planner_step(t->planner))
		return JOB_MORE;
	mcast_planner_take(t->planner, &t->next);
	return JOB_NEXT;
}

/* A tree that the check refuses is not programmed: its group has no traffic until it changes. */
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
	if (tree->kept)
		return JOB_MORE;
	if (!mcast_tree_check(m->trees.topo, &m->trees.groups[i], tree, err, sizeof(err))) {
		event_log_add(m->services.events, LOG_ERR, "mcast-refused",
			      &(struct event_subject){ .mlid = tree->mlid }, NULL,
			      "fabric: the tree of multicast LID 0x%x failed verification: %s",
			      tree->mlid, err);
		free(tree->hops);
		*tree = (struct mcast_tree){ .mlid = tree->mlid, .root = TOPO_NONE };
	} else if (tree->narrow) {
		/* Counts the members that links connect but no proven tree does. */
		const struct mcast_group *group = &m->trees.groups[i];
		const struct topo *t = m->trees.topo;
		char names[NAMES_SIZE] = "";
		size_t used = 0;

		for (uint32_t k = 0; k < group->nmembers && used < sizeof(names) - NAME_ROOM; k++) {
			const struct topo_port *port = &t->ports[group->members[k].port];
			uint32_t sw = TOPO_NONE /* its link is down */, h = 0;

			if (port->node < t->nswitches)
				sw = port->node;
			else if (port->link_up)
				sw = topo_peer(t, port)->node;
			while (h < tree->nhops && tree->hops[h].sw != sw)
				h++;
			if (sw != TOPO_NONE && h == tree->nhops)
				used += snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", t->nodes[port->node].name);
		}
		event_log_add(
			m->services.events, LOG_WARNING, "mcast-narrow", NULL,
			json_pack("{si si}", "mlid", tree->mlid, "left_out", tree->left_out),
			"fabric: %u %s of multicast LID 0x%x %s not served, as any tree to them "
			"would close a credit loop: %s",
			tree->left_out, words_plural(tree->left_out, "member", "members"),
			tree->mlid, words_plural(tree->left_out, "is", "are"), names);
	}
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

static void written(void *arg, const struct mft_result *result)
{
	struct multicast *m = arg;
	bool logged = m->trees.result.failed;

	m->trees.result = *result;
	if (result->cleared)
		event_log_add(m->services.events, LOG_NOTICE, "mcast-cleared", NULL, NULL,
			      "fabric: %u multicast entries of the previous manager were cleared",
			      result->cleared);
	if (result->failed)
		fabric_request_retry(m->fabric, "multicast blocks not acknowledged");
	if (result->failed && !logged)
		event_log_add(m->services.events, LOG_WARNING, "mcast-failed", NULL, NULL,
			      "fabric: %u multicast blocks were not acknowledged, %u groups wait "
			      "for them; retried at growing intervals",
			      result->failed, result->held);
	fabric_report_mft_written(m->fabric, result);
	trees_start(m);
}

static enum job_result write_tables(void *arg)
{
	struct multicast *m = arg;
	struct trees *t = &m->trees;
	bool again = t->again;
	unsigned turns = 0;

	mcast_plan_fini(&t->plan);
	t->plan = t->next;
	t->next = (struct mcast_plan){ 0 };
	see(m, t->topo);
	t->again = t->reporting = false;
	t->rounds++;
	for (uint32_t i = 0; i < t->plan.ntrees; i++)
		turns += t->plan.trees[i].turns > 0;
	if (turns != t->with_turns)
		event_log_add(m->services.events, LOG_NOTICE, "mcast-turns", NULL,
			      json_pack("{si si}", "trees", turns, "of", t->plan.ntrees),
			      "fabric: %u of %u multicast trees have a down-up turn: no switch has "
			      "all of the members below it",
			      turns, t->plan.ntrees);
	t->with_turns = turns;
	job_stop(t->job);
	mft_apply(m->services.mft, t->topo,
		  t->plan.ntrees ? t->plan.trees[t->plan.ntrees - 1].mlid : MCAST_FIRST_MLID - 1,
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
	struct check_base *anew = NULL;
	struct check_report report;
	struct trees *t = &m->trees;

	if (!t->proof_due)
		return;
	t->proof_due = false;

	const struct cdg *unicast =
		check_proof_graph(m->services.proofs, check_proof_serial(m->services.proofs));

	if (!unicast && view.tables) { /* other tables were tried since, and refused */
		anew = check_base_new(0);
		check_change(anew, view.topo, view.lids, view.tables, &report);
		unicast = check_proof_graph(anew, check_proof_serial(anew));
	}
	mcast_proof_free(t->published);
	t->published = unicast ? mcast_proof_new(view.topo, unicast) : NULL;
	check_base_free(anew);
	if (t->published && view.spanning &&
	    !mcast_proof_span(t->published, view.tables, view.spanning))
		event_log_add(
			m->services.events, LOG_WARNING, "mcast-spanning", NULL, NULL,
			"fabric: the spanning tree of the routing engine closes a credit loop: "
			"each group has a tree of its own");
}

static void was_read(void *arg, const struct mft_result *result)
{
	struct multicast *m = arg;

	m->trees.tables = TABLES_READ;
	trees_start(m);
}

/* Waits until unicast tables are programmed: joins and SA replies travel by them. */
static void begin(void *arg)
{
	struct multicast *m = arg;
	const struct topo *topo = fabric_view(m->fabric).topo;
	struct trees *t = &m->trees;

	if (!is_due(m) || fabric_programming(m->fabric) || mft_busy(m->services.mft))
		return;
	if (t->topo != topo) {
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
	if (t->tables == TABLES_UNREAD) {
		mft_read(m->services.mft, t->topo, sa_groups_top(m->groups), was_read, m);
		return;
	}
	t->pending = false;
	t->ngroups = t->at = 0;
	job_start(t->job, steps, NULL);
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
		m->trees.coalesce_since_us = multicast_now(m);
	if (multicast_now(m) - m->trees.coalesce_since_us < COALESCE_MAX_US - COALESCE_US)
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
	t->groups = mem_array(t->groups, SA_MLIDS);
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
