/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/multicast/module.h"
#include <inttypes.h>
#include "fm/multicast/room.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/*
 * mlids: the room left for multicast groups. Every switch needs an entry for every MLID in use, so
 * the switch with the smallest multicast table limits their number. Events report when four fifths
 * of the MLIDs are in use, and when all are, with the port that is in most groups.
 */

#define LATE_PART 5 /* the last part of the MLIDs */
#define CALM_PART 3 /* the part that is to be free before that is logged again */

enum { LOGGED_NOTHING, LOGGED_LATE, LOGGED_FULL };

static void mlids_check(struct multicast *m)
{
	const struct topo *t = fabric_view(m->fabric).topo;
	const struct sa_groups_use *use = sa_groups_use(m->groups);
	unsigned used = use->mlids, capacity = use->capacity, groups;
	unsigned now = used >= capacity				 ? LOGGED_FULL
		       : used >= capacity - capacity / LATE_PART ? LOGGED_LATE
								 : LOGGED_NOTHING;

	if (!t)
		return;
	if (now <= m->mlids.logged) {
		if (used < capacity - capacity / CALM_PART)
			m->mlids.logged = now;
		return;
	}
	m->mlids.logged = now;

	uint32_t sw = topo_find(t, m->mlids.smallest);
	guid_t guid = sa_mcast_largest(m->services.sa, &groups);
	uint32_t port = topo_find_port(t, guid);

	event_log_add(m->services.events, used < capacity ? LOG_WARNING : LOG_ERR, "mlids", NULL,
		      json_pack("{si si}", "used", used, "room", capacity),
		      "fabric: %u of %u multicast LIDs are in use%s; the multicast table of %s is "
		      "full; %s (port GUID 0x%016" PRIx64 ") is in most groups: %u",
		      used, capacity, used < capacity ? "" : ": no group can be created",
		      sw == TOPO_NONE ? "a switch" : t->nodes[sw].name,
		      port == TOPO_NONE ? "an absent port" : t->nodes[t->ports[port].node].name,
		      guid, groups);
}

/*
 * What operators see of multicast: groups with their members and trees, and figures for the status.
 */

/* The tree may be of another snapshot. */
static json_t *json_tree(const struct multicast *m, const struct topo *t, uint16_t mlid)
{
	const struct mcast_tree *tree = mcast_plan_tree(&m->trees.plan, mlid);
	const char *root = NULL;

	if (!tree || tree->root == TOPO_NONE)
		return json_null();
	for (uint32_t h = 0; t && !root && h < tree->nhops; h++)
		if (tree->hops[h].sw == tree->root) {
			uint32_t sw = topo_find(t, tree->hops[h].guid);

			root = sw == TOPO_NONE ? NULL : t->nodes[sw].name;
		}
	return json_pack("{ss? si si si}", "root", root, "switches", tree->nhops, "turns",
			 tree->turns, "left_out", tree->left_out);
}

static json_t *json_group(const struct multicast *m, const struct topo *t,
			  const struct sa_group *group)
{
	const struct wire_mcmember *a = &group->attr;
	json_t *members = json_array();
	int full = 0, waiting = 0;

	for (uint32_t i = 0; i < group->nmembers; i++) {
		const struct sa_member *member = &group->members[i];
		guid_t own = sa_own_port(m->services.sa, member->port);
		uint32_t port = t ? topo_find_port(t, own) : TOPO_NONE;
		bool waits = absent_awaited(m, own);

		full += member->state & WIRE_JOIN_FULL;
		waiting += waits;
		json_add(members, "{so ss ss si sb sb}", "guid", json_guid(member->port), "name",
			 port == TOPO_NONE ? "" : t->nodes[t->ports[port].node].name, "joined",
			 sa_member_joined(member), "state", member->state, "proxy", member->proxy,
			 "waits", waits);
	}
	return json_pack("{so so so sI si si si sb si si si so so}", "mgid", sa_gid_json(&a->mgid),
			 "mlid", json_sprintf("0x%x", group->mlid), "pkey",
			 json_sprintf("0x%x", a->pkey), "qkey", (json_int_t)a->qkey, "mtu",
			 128 << a->mtu, "rate", a->rate, "sl", a->sl, "preset", group->preset,
			 "full", full, "senders", group->nmembers - full, "waiting", waiting,
			 "tree", json_tree(m, t, group->mlid), "members", members);
}

/*
 * Multicast groups over a restart: rows of the kind `groups`, `group MGID: MLID ..` and
 * `joined MGID PORT_GUID: JoinState proxy` (fm/sa/mcast_group.h). Members whose ports are out of
 * service: members.c.
 */

/* A place is an MLID. */
static uint64_t write_groups(const void *arg, uint64_t from, FILE *out)
{
	const struct multicast *m = arg;
	unsigned mlid = from ? from : MCAST_FIRST_MLID, written = 0;

	for (; mlid <= sa_groups_top(m->groups) && written < STATE_LINES; mlid++)
		written += mcast_group_write(m->groups, mlid, out);
	return mlid <= sa_groups_top(m->groups) ? mlid : 0;
}

static bool read_group(void *arg, const char *line)
{
	struct multicast *m = arg;

	sa_groups_share_snm(m->groups, true); /* as they were then */
	return mcast_group_read(m->groups, line, multicast_now(m));
}

static const struct state_kind groups_kind = {
	.name = "groups",
	.form = "a group or a member of one",
	.line = read_group,
	.write = write_groups,
};

/* A hook of struct sa_groups_ops; arg: the room. */
static void group_row(void *arg, const struct sa_group *group, const struct sa_member *member,
		      bool gone)
{
	struct multicast *m = arg;
	char line[MCAST_LINE];

	if (member)
		mcast_member_line(group, member, line);
	else
		mcast_group_line(group, line);
	if (gone || (member && !member->state))
		state_remove(m->services.state, &groups_kind, m, line);
	else
		state_put(m->services.state, &groups_kind, m, line);
	for (uint32_t i = 0; gone && !member && i < group->nmembers; i++)
		group_row(m, group, &group->members[i], true);
}

/* It was made in advance. Partitions, which say so anew behind this, end it if it no longer is. */
static void mark_preset(struct multicast *m, struct sa_group *group, void *arg)
{
	if (!group->nkeepers)
		sa_groups_preset(m->groups, group, true, multicast_now(m));
}

/*
 * Multicast: the SA answers a join at once and keeps the groups; what follows is here: trees and
 * the switches' tables (trees.c), members whose ports are out of service (members.c), how many
 * groups there may be, and the groups over a restart.
 */

static void group_changed(void *arg, uint16_t mlid)
{
	struct multicast *m = arg;

	mlids_check(m);
	trees_changed(m, mlid);
}

static void configure(void *room)
{
	struct multicast *m = room;

	sa_groups_share_snm(m->groups, m->services.conf->sa.consolidate_ipv6_snm);
}

/* Ahead of subscriptions, which are loaded: groups of an earlier life are no news. */
static void load(void *room, enum fabric_load_step step)
{
	struct multicast *m = room;
	struct state *state = m->services.state;

	if (step != FABRIC_RESTORE)
		return;

	m->known = !state_read(state, &groups_kind, m);
	multicast_each_group(m, mark_preset, NULL);
	if (!m->known)
		state_changed(state, &groups_kind, m);
	configure(m);
	if (!m->known)
		fabric_request_reregister(m->fabric, "multicast groups are not known");
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct multicast *m = room;
	const struct topo *t = fabric_view(m->fabric).topo;
	uint32_t sw = TOPO_NONE; /* with the smallest table, of those that have one */

	/* The graph of the tables in force goes with it; it is copied where there are members. */
	if (step == FABRIC_PROVING && !m->trees.nobody)
		trees_keep_proof(m);
	if (step == FABRIC_SHOWN)
		trees_same_links(m, before);
	if (step != FABRIC_PUBLISHED || fabric_observes(m->fabric))
		return;
	trees_published(m);
	for (uint32_t i = 0; i < t->nswitches; i++) {
		unsigned cap = t->nodes[i].mft_cap;

		if (cap && (sw == TOPO_NONE || cap < t->nodes[sw].mft_cap))
			sw = i;
	}
	m->mlids.smallest = sw == TOPO_NONE ? 0 : t->nodes[sw].guid;
	sa_groups_set_capacity(m->groups, sw != TOPO_NONE ? t->nodes[sw].mft_cap
					  : t->nswitches  ? 0
							  : SA_MLIDS);
	if (sw != TOPO_NONE)
		mlids_check(m);
	absent_published(m, before);
}

/* Unicast's blocks come first; what they carry is part of any tree. */
static void programmed(void *room, const struct fabric_programmed *programmed)
{
	if (programmed->tables)
		trees_start(room);
}

static void settled(void *room, enum fabric_settle_step step)
{
	if (step == FABRIC_SETTLED || step == FABRIC_REVIEWED)
		lost_keys_settled(room);
}

void multicast_rewrite(struct fabric *fabric)
{
	trees_rewrite(fabric_room(fabric, &multicast_module));
}

bool multicast_busy(const struct fabric *fabric)
{
	const struct multicast *m = fabric_room(fabric, &multicast_module);

	return job_steps(m->trees.job);
}

static void status(const void *room, json_t *doc)
{
	const struct multicast *m = room;
	const struct sa_groups_use *use = sa_groups_use(m->groups);
	const struct topo *t = fabric_view(m->fabric).topo;
	uint32_t sw = t ? topo_find(t, m->mlids.smallest) : TOPO_NONE;
	uint64_t now = multicast_now(m), until = m->assumed.until_us;
	int left_s = m->assumed.count && until > now ? ((until - now + 999999) / 1000000) : 0;

	json_object_set_new(
		doc, "multicast",
		json_pack("{si si si si si ss? si si si sI sI si}", "groups", use->groups,
			  "members", use->members, "waiting", m->absent.waiting, "mlids",
			  use->mlids, "mlids_room", use->capacity, "smallest_switch",
			  sw == TOPO_NONE ? NULL : t->nodes[sw].name, "with_turns",
			  m->trees.with_turns, "mlids_kept", m->assumed.mlids, "mlids_kept_s",
			  left_s, "mft_blocks_written",
			  (json_int_t)mft_blocks_written(m->services.mft), "rounds",
			  (json_int_t)m->trees.rounds, "failed", m->trees.result.failed));
}

const struct mcast_plan *multicast_trees(const struct fabric *fabric)
{
	const struct multicast *m = fabric_room(fabric, &multicast_module);

	return &m->trees.plan;
}

json_t *multicast_groups(const struct fabric *fabric)
{
	return multicast_groups_of(fabric, 0, NULL);
}

json_t *multicast_groups_of(const struct fabric *fabric, unsigned only, const uint8_t mgid[16])
{
	const struct multicast *m = fabric_room(fabric, &multicast_module);
	const struct topo *t = fabric_view(fabric).topo;
	struct wire_gid wanted = mgid ? wire_gid_decode(mgid) : (struct wire_gid){ 0 };
	unsigned last = only ? only : sa_groups_top(m->groups);
	json_t *list = json_array();

	for (unsigned mlid = only ? only : MCAST_FIRST_MLID; mlid <= last; mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(m->groups, mlid); g; g = g->next)
			if (!mgid || wire_gid_equal(&g->attr.mgid, &wanted))
				json_array_append_new(list, json_group(m, t, g));
	return list;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void grace_over(void *arg)
{
	assumed_end(arg, trees_changed);
}

static void *init(struct fabric *fabric)
{
	static const struct sa_groups_ops ops = { .changed = group_changed, .record = group_row };
	struct multicast *m = ROOM_NEW(m, fabric);

	m->groups = sa_mcast_groups(m->services.sa);
	trees_init(m);
	members_init(m, grace_over);
	sa_groups_follow(m->groups, &ops, m);
	return m;
}

static void fini(void *room)
{
	struct multicast *m = room;

	sa_groups_follow(m->groups, NULL, NULL);
	loop_timer_free(m->assumed.end);
	loop_timer_free(m->absent.patience);
	loop_timer_free(m->lost_keys.walk);
	free(m->assumed.list);
	free(m->absent.awaited);
	trees_fini(m);
	free(m);
}

const struct fabric_module multicast_module = { .name = "multicast",
						.init = init,
						.fini = fini,
						.configure = configure,
						.published = published,
						.programmed = programmed,
						.settled = settled,
						.status = status,
						.load = load };
