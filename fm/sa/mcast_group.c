/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/mcast_group.h"
#include <assert.h>
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"

void mcast_group_line(const struct sa_group *g, char line[MCAST_LINE])
{
	const struct wire_mcmember *a = &g->attr;

	snprintf(line, MCAST_LINE,
		 "group 0x%016" PRIx64 " 0x%016" PRIx64 " 0x%x 0x%x 0x%x %u %u %u %u 0x%x %u %u",
		 a->mgid.prefix, a->mgid.guid, g->mlid, a->pkey, a->qkey, a->mtu, a->rate, a->life,
		 a->sl, a->flow_label, a->hop_limit, a->tclass);
}

void mcast_member_line(const struct sa_group *g, const struct sa_member *m, char line[MCAST_LINE])
{
	snprintf(line, MCAST_LINE,
		 "joined 0x%016" PRIx64 " 0x%016" PRIx64 " 0x%016" PRIx64 " %u %u",
		 g->attr.mgid.prefix, g->attr.mgid.guid, m->port, m->state, m->proxy);
}

unsigned mcast_group_write(const struct sa_groups *groups, unsigned mlid, FILE *out)
{
	unsigned lines = 0;

	for (const struct sa_group *g = sa_groups_by_mlid(groups, mlid); g; g = g->next) {
		char line[MCAST_LINE];

		lines += 1 + g->nmembers;
		mcast_group_line(g, line);
		fprintf(out, "%s\n", line);
		for (uint32_t i = 0; i < g->nmembers; i++) {
			mcast_member_line(g, &g->members[i], line);
			fprintf(out, "%s\n", line);
		}
	}
	return lines;
}

const char *sa_member_joined(const struct sa_member *member)
{
	if (member->state & WIRE_JOIN_FULL)
		return "full";
	if (member->state & WIRE_JOIN_NON)
		return "non-member";
	return member->state & WIRE_JOIN_SEND_ONLY_FULL ? "send-only full" : "send-only";
}

bool mcast_group_is_plain(const struct wire_mcmember *a, unsigned mlid)
{
	return mlid >= MCAST_FIRST_MLID && mlid <= SA_LAST_MLID && a->mtu >= 1 && a->mtu <= 5 &&
	       a->rate <= 63 && a->life <= 63 && a->sl <= 15 && a->flow_label <= 0xfffff &&
	       a->mgid.prefix >> 56 == 0xff;
}

bool mcast_group_read(struct sa_groups *groups, const char *line, uint64_t now_us)
{
	unsigned mlid, pkey, mtu, rate, life, sl, hop, tclass, state, proxy;
	struct wire_mcmember a = { .qkey = 0 };
	struct sa_group *group;
	guid_t port;
	char rest;

	if (sscanf(line, "joined 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " %u %u %c",
		   &a.mgid.prefix, &a.mgid.guid, &port, &state, &proxy, &rest) == 5) {
		group = sa_groups_find(groups, &a.mgid);
		if (!group || !state || state > WIRE_JOIN_BITS || proxy > 1 ||
		    sa_group_member(group, port))
			return false;
		sa_groups_join(groups, group, port, state, proxy);
		return true;
	}
	if (sscanf(line,
		   "group 0x%" SCNx64 " 0x%" SCNx64 " 0x%x 0x%x 0x%" SCNx32
		   " %u %u %u %u 0x%" SCNx32 " %u %u %c",
		   &a.mgid.prefix, &a.mgid.guid, &mlid, &pkey, &a.qkey, &mtu, &rate, &life, &sl,
		   &a.flow_label, &hop, &tclass, &rest) != 12)
		return false;
	if (pkey > 0xffff || (mtu | rate | life | sl | hop | tclass) > 255)
		return false;
	a.pkey = pkey;
	a.mtu = mtu;
	a.rate = rate;
	a.life = life;
	a.sl = sl;
	a.hop_limit = hop;
	a.tclass = tclass;
	return mcast_group_is_plain(&a, mlid) && sa_groups_create(groups, &a, mlid, now_us);
}

/*
 * The store of multicast groups (see mcast_group.h).
 *
 * The store keeps groups in a map by MGID and in chains by MLID. The members of a group are an
 * array sorted by port GUID, 16 bytes each: hosts join the broadcast group once, and it is read
 * often.
 *
 * A new group gets the lowest free MLID, so that tables stay short. MLIDs that were freed recently
 * are avoided; if no other is left, the group gets the one that was freed first.
 */

#define REST_US	     60000000 /* from a MLID's end to its next use, if others are free */
#define SA_SIGNATURE 0xA01Bull

/* IPv6 solicited-node addresses of a P_Key and scope: all but the last 24 bits are the same. */
#define SNM_PREFIX_MASK 0xFFF0FFFF0000FFFFull
#define SNM_PREFIX	0xFF10601B00000000ull
#define SNM_ID_MASK	0xFFFFFFFFFF000000ull
#define SNM_ID		0x00000001FF000000ull

struct slot { /* a MLID */
	struct sa_group *first;
	uint64_t freed_us; /* 0 = never used */
};

struct sa_groups {
	struct listener {			 /* the owner, and who follows */
		const struct sa_groups_ops *ops; /* NULL = nobody */
		void *arg;
	} listeners[2];
	cl_fmap_t by_mgid;
	cl_qmap_t ports;    /* struct sa_group_port by GUID */
	struct slot *slots; /* [SA_MLIDS] */
	struct sa_groups_use use;
	unsigned end;  /* of the slots in use */
	uint32_t made; /* MGIDs of our making */
	bool share_snm;
};

/* ---- Looking up ------------------------------------------------------------------------------ */

SORT_BY(compare_mgid, struct wire_gid,
	sort_order(a->prefix, b->prefix) ?: sort_order(a->guid, b->guid))

struct sa_group *sa_groups_find(const struct sa_groups *g, const struct wire_gid *mgid)
{
	cl_fmap_item_t *item = cl_fmap_get(&g->by_mgid, mgid);

	return item == cl_fmap_end(&g->by_mgid) ? NULL : (struct sa_group *)item;
}

struct sa_group *sa_groups_by_mlid(const struct sa_groups *g, uint16_t mlid)
{
	return mlid >= MCAST_FIRST_MLID && mlid <= SA_LAST_MLID
		       ? g->slots[mlid - MCAST_FIRST_MLID].first
		       : NULL;
}

const struct sa_groups_use *sa_groups_use(const struct sa_groups *g)
{
	return &g->use;
}

uint16_t sa_groups_top(const struct sa_groups *g)
{
	return MCAST_FIRST_MLID + g->end - 1;
}

/* ---- MLIDs ----------------------------------------------------------------------------------- */

static bool is_snm(const struct wire_gid *mgid)
{
	return (mgid->prefix & SNM_PREFIX_MASK) == SNM_PREFIX &&
	       (mgid->guid & SNM_ID_MASK) == SNM_ID;
}

/* Groups of two solicited nodes of one partition and scope. */
static bool may_share(const struct sa_groups *g, const struct wire_gid *a, const struct wire_gid *b)
{
	return is_snm(a) && is_snm(b) && a->prefix == b->prefix &&
	       (g->share_snm || g->use.mlids >= g->use.capacity / 2);
}

/* The group whose MLID one of that MGID shares, a neighbour in the map; NULL = none. */
const struct sa_group *sa_groups_sharing(const struct sa_groups *g, const struct wire_gid *mgid)
{
	struct wire_gid first = { mgid->prefix, mgid->guid & SNM_ID_MASK };

	if (!is_snm(mgid))
		return NULL;

	const struct sa_group *near = sa_groups_find(g, &first);

	if (!near) {
		cl_fmap_item_t *item = cl_fmap_get_next(&g->by_mgid, &first);

		near = item == cl_fmap_end(&g->by_mgid) ? NULL : (struct sa_group *)item;
	}
	return near && may_share(g, &near->attr.mgid, mgid) ? near : NULL;
}

/* One to share with, whose MGID is a neighbour in the map; else a free one; 0 = there is none. */
static uint16_t mlid_choose(const struct sa_groups *g, const struct wire_gid *mgid, uint64_t now_us)
{
	const struct sa_group *near = sa_groups_sharing(g, mgid);
	unsigned capacity = g->use.capacity, oldest = capacity;

	if (near)
		return near->mlid;
	for (unsigned i = 0; i < capacity; i++) {
		const struct slot *slot = &g->slots[i];

		if (slot->first)
			continue;
		if (!slot->freed_us || now_us - slot->freed_us >= REST_US)
			return MCAST_FIRST_MLID + i;
		if (oldest == capacity || slot->freed_us < g->slots[oldest].freed_us)
			oldest = i;
	}
	return oldest < capacity ? (uint16_t)(MCAST_FIRST_MLID + oldest) : 0;
}

void sa_groups_set_capacity(struct sa_groups *g, unsigned mlids)
{
	g->use.capacity = mlids < SA_MLIDS ? mlids : SA_MLIDS;
}

void sa_groups_share_snm(struct sa_groups *g, bool share)
{
	g->share_snm = share;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void notify_changed(const struct sa_groups *g, uint16_t mlid)
{
	for (const struct listener *l = g->listeners; l < g->listeners + 2; l++)
		if (l->ops && l->ops->changed)
			l->ops->changed(l->arg, mlid);
}

static void notify_record(const struct sa_groups *g, const struct sa_group *group,
			  const struct sa_member *member, bool gone)
{
	for (const struct listener *l = g->listeners; l < g->listeners + 2; l++)
		if (l->ops && l->ops->record)
			l->ops->record(l->arg, group, member, gone);
}

struct sa_group *sa_groups_create(struct sa_groups *g, const struct wire_mcmember *attr,
				  uint16_t mlid, uint64_t now_us)
{
	if (sa_groups_find(g, &attr->mgid))
		return NULL;
	if (!mlid)
		mlid = mlid_choose(g, &attr->mgid, now_us);
	if (mlid < MCAST_FIRST_MLID || mlid > SA_LAST_MLID)
		return NULL;

	struct slot *slot = &g->slots[mlid - MCAST_FIRST_MLID];

	if (slot->first && !may_share(g, &slot->first->attr.mgid, &attr->mgid))
		return NULL;

	struct sa_group *group = mem_new(group);

	group->attr = *attr;
	group->mlid = mlid;
	group->next = slot->first;
	g->use.groups++;
	g->use.mlids += !group->next;
	slot->first = group;
	if (g->end <= (unsigned)(mlid - MCAST_FIRST_MLID))
		g->end = mlid - MCAST_FIRST_MLID + 1u;
	cl_fmap_insert(&g->by_mgid, &group->attr.mgid, &group->item);
	notify_record(g, group, NULL, false);
	notify_changed(g, mlid);
	return group;
}

struct sa_group_port *sa_groups_port(const struct sa_groups *g, guid_t port)
{
	return sa_map_find(&g->ports, port);
}

struct sa_group_port *sa_groups_next_port(const struct sa_groups *g, guid_t after)
{
	return sa_map_next(&g->ports, after);
}

static void port_leaves(struct sa_groups *g, guid_t guid)
{
	struct sa_group_port *port = sa_groups_port(g, guid);

	g->use.members--;
	if (--port->groups)
		return;
	cl_qmap_remove_item(&g->ports, &port->item);
	free(port);
}

/* That port holds it from now on; 0 = nobody does. */
static void hold(const struct sa_groups *g, struct sa_group *group, guid_t port)
{
	struct sa_group_port *was = group->holder ? sa_groups_port(g, group->holder) : NULL;
	struct sa_group_port *is = port ? sa_groups_port(g, port) : NULL;

	if (was)
		was->held--;
	if (is)
		is->held++;
	group->holder = port;
}

static void group_free(struct sa_groups *g, struct sa_group *group)
{
	hold(g, group, 0);
	for (uint32_t i = 0; i < group->nmembers; i++)
		port_leaves(g, group->members[i].port);
	g->use.groups--;
	cl_fmap_remove_item(&g->by_mgid, &group->item);
	free(group->members);
	free(group);
}

static void group_end(struct sa_groups *g, struct sa_group *group, uint64_t now_us)
{
	uint16_t mlid = group->mlid;
	struct slot *slot = &g->slots[mlid - MCAST_FIRST_MLID];
	struct sa_group **link = &slot->first;

	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	if (!slot->first) {
		sa_groups_rest(g, mlid, now_us);
		g->use.mlids--;
	}
	while (g->end && !g->slots[g->end - 1].first)
		g->end--;
	notify_record(g, group, NULL, true);
	group_free(g, group);
	notify_changed(g, mlid);
}

void sa_groups_rest(struct sa_groups *g, uint16_t mlid, uint64_t now_us)
{
	g->slots[mlid - MCAST_FIRST_MLID].freed_us = now_us ? now_us : 1;
}

bool sa_groups_end_if_unkept(struct sa_groups *g, struct sa_group *group, uint64_t now_us)
{
	if (group->nkeepers || group->preset)
		return false;
	group_end(g, group, now_us);
	return true;
}

void sa_groups_preset(struct sa_groups *g, struct sa_group *group, bool preset, uint64_t now_us)
{
	group->preset = preset;
	if (preset)
		hold(g, group, 0);
	for (uint32_t i = 0; !preset && !group->holder && i < group->nmembers; i++)
		if (group->members[i].state & SA_JOIN_KEEPS)
			hold(g, group, group->members[i].port);
	sa_groups_end_if_unkept(g, group, now_us);
}

struct wire_gid sa_groups_new_mgid(struct sa_groups *g, uint64_t subnet_prefix, uint8_t scope)
{
	const uint64_t head = 0xFF10ull << 48 | (uint64_t)scope << 48 | SA_SIGNATURE << 32;
	struct wire_gid mgid = { .prefix = head | subnet_prefix >> 32 };

	do
		mgid.guid = subnet_prefix << 32 | g->made++;
	while (sa_groups_find(g, &mgid));
	return mgid;
}

/* ---- Members --------------------------------------------------------------------------------- */

struct sa_member *sa_group_member(const struct sa_group *group, guid_t port)
{
	uint32_t at = sort_place(0, group->nmembers, i, group->members[i].port < port);

	return at < group->nmembers && group->members[at].port == port ? &group->members[at] : NULL;
}

static void keepers_count(struct sa_groups *g, struct sa_group *group, guid_t port, uint8_t was,
			  uint8_t is)
{
	bool before = was & SA_JOIN_KEEPS, after = is & SA_JOIN_KEEPS;

	if (before == after)
		return;
	group->nkeepers += after ? 1 : -1;
	if (after && !group->holder && !group->preset)
		hold(g, group, port);
	for (uint32_t i = 0; !after && group->holder == port && i < group->nmembers; i++)
		if (group->members[i].state & SA_JOIN_KEEPS)
			hold(g, group, group->members[i].port);
	if (group->nkeepers == (after ? 1u : 0u) && g->listeners->ops->kept)
		g->listeners->ops->kept(g->listeners->arg, group, after);
}

uint8_t sa_groups_join(struct sa_groups *g, struct sa_group *group, guid_t port, uint8_t state,
		       bool proxy)
{
	struct sa_member *member = sa_group_member(group, port);

	assert(state && !(state & ~WIRE_JOIN_BITS));
	if (!member) {
		struct sa_group_port *in = sa_groups_port(g, port);
		uint32_t at = sort_place(0, group->nmembers, i, group->members[i].port < port);
		if (group->nmembers == group->size) {
			group->size = group->size ? group->size * 2 : 4;
			group->members = mem_resize(group->members, group->size, sizeof(*member));
		}
		member = &group->members[at];
		memmove(member + 1, member, (group->nmembers - at) * sizeof(*member));
		*member = (struct sa_member){ .port = port };
		group->nmembers++;
		if (!in) {
			in = mem_new(in);
			cl_qmap_insert(&g->ports, port, &in->item);
		}
		in->groups++;
		g->use.members++;

		member->proxy = proxy;
	}

	uint8_t was = member->state;
	uint8_t is = member->state = was | state;

	if (was != is)
		notify_record(g, group, member, false);
	keepers_count(g, group, port, was, is);
	if (was != is)
		notify_changed(g, group->mlid);
	return is;
}

uint8_t sa_groups_leave(struct sa_groups *g, struct sa_group *group, guid_t port, uint8_t state,
			uint64_t now_us)
{
	struct sa_member *member = sa_group_member(group, port);

	if (!member)
		return 0;

	uint8_t was = member->state;
	uint8_t is = member->state = was & (uint8_t)~state;

	if (was != is)
		notify_record(g, group, member, false);
	keepers_count(g, group, port, was, is);
	if (!is) {
		if (group->holder == port)
			hold(g, group, 0);
		port_leaves(g, port);
		memmove(member, member + 1,
			(group->members + --group->nmembers - member) * sizeof(*member));
	}
	if (sa_groups_end_if_unkept(g, group, now_us))
		return 0;
	if (was != is)
		notify_changed(g, group->mlid);
	return is;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sa_groups *sa_groups_new(const struct sa_groups_ops *ops, void *arg)
{
	struct sa_groups *g = mem_new(g);

	g->listeners[0] = (struct listener){ ops, arg };
	g->use.capacity = SA_MLIDS;
	g->slots = mem_array(g->slots, SA_MLIDS);
	cl_fmap_init(&g->by_mgid, compare_mgid);
	cl_qmap_init(&g->ports);
	return g;
}

void sa_groups_follow(struct sa_groups *g, const struct sa_groups_ops *ops, void *arg)
{
	g->listeners[1] = (struct listener){ ops, arg };
}

void sa_groups_clear(struct sa_groups *g)
{
	while (g->use.groups)
		group_end(g, (struct sa_group *)cl_fmap_head(&g->by_mgid), 0);
}

void sa_groups_free(struct sa_groups *g)
{
	if (!g)
		return;
	while (g->use.groups)
		group_free(g, (struct sa_group *)cl_fmap_head(&g->by_mgid));
	free(g->slots);
	free(g);
}
