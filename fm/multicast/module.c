/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/multicast/module.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/multicast/room.h"
#include "fm/sa/mcast_group_text.h"
#include "topology/base/mem.h"

/*
 * mlids: the room left for multicast groups. Every switch needs an entry for every MLID in use, so
 * the switch with the smallest multicast table limits their number. Events report when four fifths
 * of the MLIDs are in use, and when all are, with the port that is in most groups.
 */

#define LATE_PART 5 /* the last part of the room.. */
#define CALM_PART 3 /* ..and the part that is to be free before that is logged again */

enum { LOGGED_NOTHING, LOGGED_LATE, LOGGED_FULL };

/* Switches without multicast tables take no part. TOPO_NONE: none has one. */
static uint32_t smallest(const struct topo *t)
{
	uint32_t least = TOPO_NONE;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		unsigned cap = t->nodes[sw].mft_cap;

		if (cap && (least == TOPO_NONE || cap < t->nodes[least].mft_cap))
			least = sw;
	}
	return least;
}

static const char *name_of(const struct topo *t, guid_t port)
{
	uint32_t i = topo_find_port(t, port);

	return i == TOPO_NONE ? "an absent port" : t->nodes[t->ports[i].node].name;
}

static void log_use(const struct multicast *m, const struct topo *t, unsigned used,
		    unsigned capacity)
{
	uint32_t sw = topo_find(t, m->mlids.smallest);
	unsigned groups;
	guid_t port = sa_mcast_largest(m->services.sa, &groups);

	event_log_add(m->services.events, used < capacity ? LOG_WARNING : LOG_ERR, "mlids", NULL,
		      json_pack("{si si}", "used", (int)used, "room", (int)capacity),
		      "fabric: %u of %u multicast LIDs are in use%s; the multicast table of %s is "
		      "full; %s (port GUID 0x%016llx) is in most groups: %u",
		      used, capacity, used < capacity ? "" : ": no group can be created",
		      sw == TOPO_NONE ? "a switch" : t->nodes[sw].name, name_of(t, port),
		      (unsigned long long)port, groups);
}

static void mlids_check(struct multicast *m)
{
	const struct topo *t = fabric_view(m->fabric).topo;
	unsigned used = sa_groups_mlids(m->groups);
	unsigned capacity = sa_groups_capacity(m->groups);
	unsigned now = used >= capacity				 ? LOGGED_FULL
		       : used >= capacity - capacity / LATE_PART ? LOGGED_LATE
								 : LOGGED_NOTHING;

	if (!t)
		return;
	if (now > m->mlids.logged)
		log_use(m, t, used, capacity);
	if (now > m->mlids.logged || used < capacity - capacity / CALM_PART)
		m->mlids.logged = now;
}

/* module.c: room for groups: finds the smallest table; checks it after groups have changed. */
static void mlids_published(struct multicast *m)
{
	const struct topo *t = fabric_view(m->fabric).topo;
	uint32_t sw = smallest(t);

	m->mlids.smallest = sw == TOPO_NONE ? 0 : t->nodes[sw].guid;
	sa_groups_set_capacity(m->groups, sw != TOPO_NONE ? t->nodes[sw].mft_cap
					  : t->nswitches  ? 0
							  : SA_MLIDS);
	if (sw != TOPO_NONE)
		mlids_check(m);
}

/*
 * What operators see of multicast: groups with their members and trees, and figures for the status.
 */

static const char *joined(const struct sa_member *member)
{
	if (member->state & WIRE_JOIN_FULL)
		return "full";
	if (member->state & WIRE_JOIN_NON)
		return "non-member";
	return member->state & WIRE_JOIN_SEND_ONLY_FULL ? "send-only full" : "send-only";
}

static json_t *json_member(const struct multicast *m, const struct topo *t,
			   const struct sa_member *member)
{
	guid_t own = sa_own_port(m->services.sa, member->port);
	uint32_t port = t ? topo_find_port(t, own) : TOPO_NONE;

	return json_pack("{so ss ss si sb sb}", "guid", json_sprintf("0x%016" PRIx64, member->port),
			 "name", port == TOPO_NONE ? "" : t->nodes[t->ports[port].node].name,
			 "joined", joined(member), "state", (int)member->state, "proxy",
			 member->proxy, "waits", absent_is_awaited(m, own));
}

static int count_full(const struct sa_group *group)
{
	int n = 0;

	for (uint32_t i = 0; i < group->nmembers; i++)
		n += group->members[i].state & WIRE_JOIN_FULL;
	return n;
}

static int count_waiting(const struct multicast *m, const struct sa_group *group)
{
	int n = 0;

	for (uint32_t i = 0; m->absent.nawaited && i < group->nmembers; i++)
		n += absent_is_awaited(m, sa_own_port(m->services.sa, group->members[i].port));
	return n;
}

static json_t *json_members(const struct multicast *m, const struct topo *t,
			    const struct sa_group *group)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < group->nmembers; i++)
		json_array_append_new(list, json_member(m, t, &group->members[i]));
	return list;
}

/* Of a tree in whatever snapshot's numbers. */
static const char *root_name(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t h = 0; h < tree->nhops; h++) {
		uint32_t sw = t ? topo_find(t, tree->hops[h].guid) : TOPO_NONE;

		if (tree->hops[h].sw == tree->root && sw != TOPO_NONE)
			return t->nodes[sw].name;
	}
	return NULL;
}

static json_t *json_tree(const struct multicast *m, const struct topo *t, uint16_t mlid)
{
	const struct mcast_tree *tree = mcast_plan_tree(&m->trees.plan, mlid);

	if (!tree || tree->root == TOPO_NONE)
		return json_null();
	return json_pack("{ss? si si si}", "root", root_name(t, tree), "switches", (int)tree->nhops,
			 "turns", (int)tree->turns, "left_out", (int)tree->left_out);
}

static json_t *json_group(const struct multicast *m, const struct topo *t,
			  const struct sa_group *group)
{
	const struct sa_group_attr *a = &group->attr;
	char mgid[INET6_ADDRSTRLEN];
	uint8_t raw[16];

	wire_gid_encode(&a->mgid, raw);
	inet_ntop(AF_INET6, raw, mgid, sizeof(mgid));
	return json_pack("{ss so so sI si si si sb si si si so so}", "mgid", mgid, "mlid",
			 json_sprintf("0x%x", group->mlid), "pkey", json_sprintf("0x%x", a->pkey),
			 "qkey", (json_int_t)a->qkey, "mtu", 128 << a->mtu, "rate", (int)a->rate,
			 "sl", (int)a->sl, "preset", group->preset, "full", count_full(group),
			 "senders", (int)group->nmembers - count_full(group), "waiting",
			 count_waiting(m, group), "tree", json_tree(m, t, group->mlid), "members",
			 json_members(m, t, group));
}

static bool has_mgid(const struct sa_group *group, const uint8_t mgid[16])
{
	uint8_t raw[16];

	wire_gid_encode(&group->attr.mgid, raw);
	return !memcmp(raw, mgid, sizeof(raw));
}

/* module.c: new documents, which the caller owns. mlid 0 and mgid NULL = any. */
static json_t *multicast_groups_json(const struct multicast *m, unsigned only,
				     const uint8_t mgid[16])
{
	const struct topo *t = fabric_view(m->fabric).topo;
	const struct sa_groups *groups = m->groups;
	json_t *list = json_array();

	for (unsigned mlid = only ? only : MCAST_FIRST_MLID;
	     mlid <= (only ? only : sa_groups_top(groups)); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g;
		     g = g->next)
			if (!mgid || has_mgid(g, mgid))
				json_array_append_new(list, json_group(m, t, g));
	return list;
}

static json_t *multicast_figures_json(const struct multicast *m)
{
	const struct topo *t = fabric_view(m->fabric).topo;
	uint32_t sw = t ? topo_find(t, m->mlids.smallest) : TOPO_NONE;

	return json_pack(
		"{si si si si si ss? si si si sI sI si}", "groups", (int)sa_groups_count(m->groups),
		"members", (int)sa_groups_members(m->groups), "waiting", (int)m->absent.waiting,
		"mlids", (int)sa_groups_mlids(m->groups), "mlids_room",
		(int)sa_groups_capacity(m->groups), "smallest_switch",
		sw == TOPO_NONE ? NULL : t->nodes[sw].name, "with_turns", (int)m->trees.with_turns,
		"mlids_kept", (int)m->assumed.mlids, "mlids_kept_s", (int)assumed_left_s(m),
		"mft_blocks_written", (json_int_t)mft_blocks_written(m->services.mft), "rounds",
		(json_int_t)m->trees.rounds, "failed", (int)m->trees.result.failed);
}

/*
 * Multicast groups over a restart: the file `groups` (fm/sa/mcast_group_text.h).
 *
 * Of what changes, a record says how it is then: a `group` line as above; `end MGID`;
 * `joined MGID PORT_GUID JoinState proxy`, JoinState 0 for who has left.
 *
 * It is written once changes have gathered for some seconds, by a child, for a fabric's file has a
 * hundred thousand lines; and at the end. Members whose ports are out of service: absent.c.
 */

#define GATHER_US 3000000

static void write_groups(const void *arg, FILE *out)
{
	const struct multicast *m = arg;
	const struct sa_groups *groups = m->groups;

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		mcast_group_write(groups, mlid, out);
}

static unsigned read_groups(void *arg, FILE *in)
{
	struct multicast *m = arg;
	struct sa_group *group = NULL;
	char line[MCAST_LINE];

	m->known = true;
	sa_groups_share_snm(m->groups, true); /* as they were then */
	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (!mcast_group_read(m->groups, &group, line, loop_now_us(m->services.loop)))
			return number;
	}
	return 0;
}

static void forget_groups(void *arg)
{
	struct multicast *m = arg;

	m->known = false;
	sa_groups_clear(m->groups);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Takes all members away, or one, or what of its JoinState is not in `keep`. */
static void leave(struct multicast *m, struct sa_group *group, guid_t port, uint8_t keep)
{
	uint64_t now = loop_now_us(m->services.loop);
	uint8_t bits = WIRE_JOIN_BITS & (uint8_t)~keep;

	sa_groups_preset(m->groups, group, true, now); /* whether it ends is another record */
	sa_groups_leave(m->groups, group, port, bits, now);
	if (group->nkeepers)
		sa_groups_preset(m->groups, group, false, now);
}

static bool take_member(struct multicast *m, const char *line)
{
	unsigned state, proxy;
	struct sa_group *group;
	struct wire_gid mgid;
	guid_t port;
	char rest;

	if (sscanf(line, "joined 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " %u %u %c", &mgid.prefix,
		   &mgid.guid, &port, &state, &proxy, &rest) != 5 ||
	    state > WIRE_JOIN_BITS || proxy > 1)
		return false;
	group = sa_groups_find(m->groups, &mgid);
	if (!group)
		return !state;
	if (state)
		sa_groups_join(m->groups, group, port, (uint8_t)state, proxy);
	leave(m, group, port, (uint8_t)state);
	return true;
}

static bool take_end(struct multicast *m, const char *line)
{
	uint64_t now = loop_now_us(m->services.loop);
	struct sa_group *group;
	struct wire_gid mgid;
	char rest;

	if (sscanf(line, "end 0x%" SCNx64 " 0x%" SCNx64 " %c", &mgid.prefix, &mgid.guid, &rest) !=
	    2)
		return false;
	group = sa_groups_find(m->groups, &mgid);
	while (group && group->nmembers)
		leave(m, group, group->members[0].port, 0);
	if (group)
		sa_groups_preset(m->groups, group, false, now);
	return true;
}

static bool take_group(struct multicast *m, const char *line)
{
	struct sa_group *group = NULL;
	struct wire_gid mgid;

	if (sscanf(line, "group 0x%" SCNx64 " 0x%" SCNx64, &mgid.prefix, &mgid.guid) != 2)
		return false;
	return sa_groups_find(m->groups, &mgid) ||
	       mcast_group_read(m->groups, &group, line, loop_now_us(m->services.loop));
}

static bool take_record(void *arg, const char *line)
{
	struct multicast *m = arg;

	m->known = true;
	if (line[0] == 'j')
		return take_member(m, line);
	return line[0] == 'e' ? take_end(m, line) : take_group(m, line);
}

static const struct state_file groups_file = {
	.name = "groups",
	.form = "a group or a member of one",
	.read = read_groups,
	.forget = forget_groups,
	.write = write_groups,
	.record = take_record,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

/* A hook of struct sa_groups_ops; arg: the room. */
static void group_file_record(void *arg, const struct sa_group *group,
			      const struct sa_member *member, bool gone)
{
	const struct wire_gid *mgid = &group->attr.mgid;
	struct multicast *m = arg;
	char line[MCAST_LINE];

	if (member)
		snprintf(line, sizeof(line),
			 "joined 0x%016" PRIx64 " 0x%016" PRIx64 " 0x%016" PRIx64 " %u %u",
			 mgid->prefix, mgid->guid, member->port, member->state, member->proxy);
	else if (gone)
		snprintf(line, sizeof(line), "end 0x%016" PRIx64 " 0x%016" PRIx64, mgid->prefix,
			 mgid->guid);
	else
		mcast_group_line(group, line);
	state_store_record(m->services.state, &groups_file, m, line);
}

static void group_file_changed(struct multicast *m)
{
	state_store_changed(m->services.state, &groups_file, m);
}

/* It was made in advance. Partitions, which say so anew behind this, end it if it no longer is. */
static void mark_preset(struct multicast *m, struct sa_group *group, void *arg)
{
	if (!group->nkeepers)
		sa_groups_preset(m->groups, group, true, loop_now_us(m->services.loop));
}

/* module.c: reads the groups from state_dir; marks their file as changed. */
static void group_file_read(struct multicast *m)
{
	state_store_read(m->services.state, &groups_file, m);
	multicast_each_group(m, mark_preset, NULL);
	state_store_unchanged(m->services.state,
			      &groups_file); /* what was just read is no change */
	if (!m->known)
		group_file_changed(m);
}

/*
 * Multicast: the SA answers a join at once and keeps the groups; what follows is here: trees and
 * the switches' tables (trees.c), members whose ports are out of service (absent.c), how many
 * groups there may be (module.c), and the groups over a restart (module.c).
 */

static void group_changed(void *arg, uint16_t mlid)
{
	struct multicast *m = arg;

	mlids_check(m);
	group_file_changed(m);
	trees_changed(m, mlid);
}

static void share_mlids(struct multicast *m)
{
	sa_groups_share_snm(m->groups, m->services.conf->sa.consolidate_ipv6_snm);
}

/* Ahead of subscriptions, which are loaded: groups of an earlier life are no news. */
static void load(void *room, enum fabric_load_step step)
{
	struct multicast *m = room;

	if (step != FABRIC_RESTORE)
		return;
	group_file_read(m);
	share_mlids(m);
	if (!m->known)
		fabric_request_reregister(m->fabric, "multicast groups are not known");
}

static void configure(void *room)
{
	share_mlids(room);
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct multicast *m = room;

	if (step == FABRIC_PROVING) { /* the graph of the tables in force goes with it */
		trees_keep_proof(m);
	} else if (step == FABRIC_PUBLISHED) {
		trees_published(m);
		mlids_published(m);
		absent_published(m, before);
	} else if (step == FABRIC_SHOWN) {
		trees_same_links(m, before);
	}
}

/* Unicast's blocks come first; what they carry is part of any tree. */
static void programmed(void *room, const struct program_result *result)
{
	trees_start(room);
}

static void mft_mismatch(void *room)
{
	trees_rewrite(room);
}

static bool busy(const void *room)
{
	const struct multicast *m = room;

	return job_steps(m->trees.job) != NULL;
}

static void status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "multicast", multicast_figures_json(room));
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

json_t *multicast_groups_of(const struct fabric *fabric, unsigned mlid, const uint8_t mgid[16])
{
	return multicast_groups_json(fabric_room(fabric, &multicast_module), mlid, mgid);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void grace_over(void *arg)
{
	assumed_end(arg, trees_changed);
}

static void *init(struct fabric *fabric)
{
	static const struct sa_groups_ops ops = { .changed = group_changed,
						  .record = group_file_record };
	struct multicast *m = mem_alloc(1, sizeof(*m));

	m->fabric = fabric;
	m->services = fabric_services(fabric);
	m->groups = sa_mcast_groups(m->services.sa);
	trees_init(m);
	absent_init(m);
	assumed_init(m, grace_over);
	sa_mcast_follow(m->services.sa, &ops, m);
	return m;
}

static void fini(void *room)
{
	struct multicast *m = room;

	sa_mcast_follow(m->services.sa, NULL, NULL);
	assumed_fini(m);
	absent_fini(m);
	trees_fini(m);
	free(m);
}

const struct fabric_module multicast_module = { .name = "multicast",
						.init = init,
						.fini = fini,
						.configure = configure,
						.published = published,
						.programmed = programmed,
						.mft_mismatch = mft_mismatch,
						.busy = busy,
						.status = status,
						.load = load };
