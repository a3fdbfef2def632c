/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/inventory/port_setup.h"
#include "fm/multicast/room.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/snapshot/topo_builder.h"

void multicast_each_group(struct multicast *m, group_fn *fn, void *arg)
{
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(m->groups); mlid++) {
		struct sa_group *next = sa_groups_by_mlid(m->groups, mlid), *group;

		while ((group = next)) {
			next = group->next;
			fn(m, group, arg);
		}
	}
}

/*
 * assumed: members that another manager knew. A manager that takes over without a copy of the
 * groups finds trees in the switches, but not which host joined which group. Hosts are asked to
 * register anew, which takes them a while. So each host that a table leads to, and that has not
 * joined a group of that MLID here, counts as a member for takeover_grace: trees stay, by the same
 * proof as all others, and hosts that register again are in them already. Groups made meanwhile get
 * other MLIDs.
 */

SORT_BY(compare, struct assumed_member,
	sort_order(a->mlid, b->mlid) ?: sort_order(a->port, b->port))

void assumed_add(struct multicast *m, uint16_t mlid, guid_t port)
{
	struct assumed *a = &m->assumed;

	a->list = mem_grow(a->list, a->count);
	a->list[a->count++] = (struct assumed_member){ mlid, port };
}

bool assumed_has(const struct multicast *m, uint16_t mlid)
{
	const struct assumed *a = &m->assumed;
	uint32_t at = sort_place(0, a->count, i, a->list[i].mlid < mlid);

	return at < a->count && a->list[at].mlid == mlid;
}

void assumed_gather(const struct multicast *m, uint16_t mlid, struct gathered *to)
{
	const struct assumed *a = &m->assumed;

	for (uint32_t at = sort_place(0, a->count, i, a->list[i].mlid < mlid);
	     at < a->count && a->list[at].mlid == mlid; at++) {
		uint32_t port = topo_find_port(m->trees.topo, a->list[at].port);

		if (port == TOPO_NONE)
			continue;
		to->list = mem_array_resize(to->list, to->count + 1u);
		to->list[to->count++] = (struct mcast_member){ port, false };
	}
}

void assumed_begin(struct multicast *m)
{
	struct assumed *a = &m->assumed;
	uint64_t grace_us = m->services.conf->sa.takeover_grace_ms * 1000ull;

	if (!a->count)
		return;
	qsort(a->list, a->count, sizeof(*a->list), compare);
	a->mlids = 0;
	for (uint32_t i = 0; i < a->count; i++)
		if (!i || a->list[i].mlid != a->list[i - 1].mlid) {
			sa_groups_rest(m->groups, a->list[i].mlid, multicast_now(m));
			a->mlids++;
		}
	a->until_us = multicast_now(m) + grace_us;
	loop_timer_set(a->end, grace_us);
	event_log_add(m->services.events, LOG_NOTICE, "mcast-kept", NULL,
		      json_pack("{si}", "mlids", a->mlids),
		      "fabric: trees of %u multicast LIDs of the previous manager are kept for %u "
		      "s while their members join",
		      a->mlids, (unsigned)(grace_us / 1000000));
}

void assumed_end(struct multicast *m, void (*changed)(struct multicast *m, uint16_t mlid))
{
	struct assumed *a = &m->assumed;

	for (uint32_t i = 0; i < a->count; i++)
		if (!i || a->list[i].mlid != a->list[i - 1].mlid)
			changed(m, a->list[i].mlid);
	a->count = a->mlids = 0;
	event_log_add(
		m->services.events, LOG_NOTICE, "mcast-cleared", NULL, NULL,
		"fabric: multicast entries of the previous manager without a new join are cleared");
}

/*
 * absent: members of multicast groups whose ports are out of service, and which hosts are asked to
 * register anew.
 *
 *   a live end of its link reports Down      the port leaves its groups: when the link comes up
 *                                            again it goes through Init, and bring-up asks the host
 *                                            to register
 *   no path leads to either end              the port is awaited: its link may be Active all the
 *                                            time, so its host notices nothing and would never join
 *                                            again by itself
 *   out of service when fmd started          awaited, whatever its leaf reports: the host may be
 *                                            rebooting as the manager is
 *   awaited for longer than PATIENCE_US      the port leaves its groups
 *   comes into service, was not awaited      the host is asked to register, as its memberships are
 *                                            not known here
 *
 * An awaited port is a member in all respects. Trees lead to it again as soon as the snapshot has a
 * path.
 */

#define PATIENCE_US 600000000ull

struct change { /* from one snapshot to the next */
	const struct topo *older, *newer;
	struct awaited_port *awaited; /* from then on */
	uint32_t nawaited;
	guid_t *left;
	uint32_t nleft;
	unsigned added;			    /* to those waited for */
	unsigned stayed, returned, dropped; /* members, of those that were waited for before */
};

/* ---- Ports ----------------------------------------------------------------------------------- */

static bool serves(const struct topo *t, uint32_t port)
{
	return t->ports[port].node < t->nswitches || t->ports[port].link_up;
}

static bool in_service(const struct topo *t, guid_t guid)
{
	uint32_t port = topo_find_port(t, guid);

	return port != TOPO_NONE && serves(t, port);
}

/* Port `i` of one snapshot, in the other. */
static bool serves_too(const struct topo *t, uint32_t i, const struct topo *other)
{
	return topo_is_again(t, other) ? serves(other, i) : in_service(other, t->ports[i].guid);
}

/* Whether a port is reported Down in the inventory, which may be newer than the snapshot. */
static bool is_reported_down(const struct multicast *m, const struct topo *t, guid_t guid)
{
	uint32_t port = topo_find_port(t, guid);
	const struct inv_node *node =
		port == TOPO_NONE
			? NULL
			: inventory_find(m->services.inventory, t->nodes[t->ports[port].node].guid);

	return !node || node->ports[t->ports[port].num].reported_down;
}

/* A GUID is the first member of struct awaited_port. */
SORT_BY(compare_guids, guid_t, sort_order(*a, *b))

/* ---- Memberships ----------------------------------------------------------------------------- */

struct awaited_port *absent_awaited(const struct multicast *m, guid_t port)
{
	if (!m->absent.nawaited)
		return NULL;
	return bsearch(&port, m->absent.awaited, m->absent.nawaited, sizeof(*m->absent.awaited),
		       compare_guids);
}

/* Searches the shorter list in the longer one. The group may be deleted meanwhile. */
static void group_loses(struct multicast *m, struct sa_group *group, void *arg)
{
	struct sa_groups *groups = m->groups;
	const struct change *c = arg;
	struct wire_gid mgid = group->attr.mgid;
	uint64_t now_us = multicast_now(m);

	if (c->nleft < group->nmembers && !sa_alias_next(m->services.sa, 0)) {
		for (uint32_t i = 0; i < c->nleft && sa_groups_find(groups, &mgid); i++)
			sa_groups_leave(groups, group, c->left[i], WIRE_JOIN_BITS, now_us);
		return;
	}
	for (uint32_t i = group->nmembers; i-- > 0;) {
		guid_t port = group->members[i].port, own = sa_own_port(m->services.sa, port);

		if (!bsearch(&own, c->left, c->nleft, sizeof(own), compare_guids))
			continue;
		sa_groups_leave(groups, group, port, WIRE_JOIN_BITS, now_us);
		if (!sa_groups_find(groups, &mgid))
			return;
	}
}

static void mark_members(struct multicast *m, struct sa_group *group, void *arg)
{
	for (uint32_t i = 0; i < group->nmembers; i++) {
		struct awaited_port *a =
			absent_awaited(m, sa_own_port(m->services.sa, group->members[i].port));

		if (a)
			a->member = true;
	}
}

/* ---- From one snapshot to the next ----------------------------------------------------------- */

static void keep(struct change *c, const struct awaited_port *port)
{
	c->awaited = mem_grow(c->awaited, c->nawaited);
	c->awaited[c->nawaited++] = *port;
	c->stayed += port->member;
}

static void await(const struct multicast *m, struct change *c, guid_t guid, bool rebooting)
{
	keep(c, &(struct awaited_port){ .guid = guid,
					.until_us = multicast_now(m) + PATIENCE_US,
					.rebooting = rebooting });
	c->added++;
}

static void leave(struct change *c, guid_t guid)
{
	c->left = mem_grow(c->left, c->nleft);
	c->left[c->nleft++] = guid;
}

static void review_awaited(const struct multicast *m, struct change *c)
{
	for (uint32_t i = 0; i < m->absent.nawaited; i++) {
		const struct awaited_port *a = &m->absent.awaited[i];
		bool over = a->until_us <= multicast_now(m);

		if (in_service(c->newer, a->guid)) {
			c->returned += a->member;
		} else if (over || (!a->rebooting && is_reported_down(m, c->newer, a->guid))) {
			leave(c, a->guid);
			c->dropped += a->member && over;
		} else {
			keep(c, a);
		}
	}
}

static void await_group(struct multicast *m, struct sa_group *group, void *arg)
{
	struct change *c = arg;

	for (uint32_t i = 0; i < group->nmembers; i++) {
		guid_t own = sa_own_port(m->services.sa, group->members[i].port);

		if (!in_service(c->newer, own))
			await(m, c, own, true);
	}
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void log_ports(const struct multicast *m, const char *kind, unsigned ports, const char *what)
{
	if (ports)
		event_log_add(m->services.events, LOG_NOTICE, kind, NULL,
			      json_pack("{si}", "ports", ports),
			      "fabric: %u %s in multicast groups %s", ports,
			      words_plural(ports, "port", "ports"), what);
}

static void take_over(struct multicast *m, struct change *c)
{
	uint64_t now = multicast_now(m), first = UINT64_MAX;
	struct absent *a = &m->absent;
	uint32_t kept = 0;

	sort_if_needed(c->left, c->nleft, sizeof(*c->left), compare_guids);
	sort_if_needed(c->awaited, c->nawaited, sizeof(*c->awaited), compare_guids);
	for (uint32_t i = 0; i < c->nawaited; i++)
		if (!kept || c->awaited[kept - 1].guid != c->awaited[i].guid)
			c->awaited[kept++] = c->awaited[i];
	free(a->awaited);
	a->awaited = c->awaited;
	a->nawaited = kept;
	if (c->nleft)
		multicast_each_group(m, group_loses, c);
	if (c->added)
		multicast_each_group(m, mark_members, NULL);
	a->waiting = 0;
	for (uint32_t i = 0; i < a->nawaited; i++) {
		a->waiting += a->awaited[i].member;
		if (a->awaited[i].until_us < first)
			first = a->awaited[i].until_us;
	}
	log_ports(m, "mcast-waiting", a->waiting - c->stayed,
		  "are unreachable, and stay members for ten minutes");
	log_ports(m, "mcast-returned", c->returned, "are reachable again, and are still members");
	log_ports(m, "mcast-dropped", c->dropped,
		  "were unreachable for ten minutes, and were removed");
	if (first == UINT64_MAX)
		loop_timer_stop(a->patience);
	else
		loop_timer_set(a->patience, first > now ? first - now : 0);
	free(c->left);
}

void absent_published(struct multicast *m, const struct topo *older)
{
	const struct topo *newer = fabric_view(m->fabric).topo;
	struct change c = { .older = older, .newer = newer };
	bool waited = m->absent.nawaited;

	review_awaited(m, &c);
	if (!older)
		multicast_each_group(m, await_group, &c);
	/* Those that came into service without being awaited. */
	for (uint32_t i = newer->nswitch_ports; older && i < newer->nports; i++) {
		const struct topo_port *port = &newer->ports[i];

		if (port->guid && serves(newer, i) && !serves_too(newer, i, older) &&
		    !absent_awaited(m, port->guid))
			fabric_request_reregister_port(m->fabric, newer->nodes[port->node].guid,
						       port->num);
	}
	for (uint32_t i = 0; older && i < older->nports; i++) { /* those that are gone now */
		guid_t guid = older->ports[i].guid;

		if (!guid || !serves(older, i) || serves_too(older, i, newer))
			continue;
		if (is_reported_down(m, newer, guid))
			leave(&c, guid);
		else
			await(m, &c, guid, false);
	}
	if (waited || c.nawaited || c.nleft)
		take_over(m, &c);
}

static void patience_over(void *arg)
{
	struct multicast *m = arg;
	struct change c = { .newer = fabric_view(m->fabric).topo };

	review_awaited(m, &c);
	take_over(m, &c);
}

/*
 * lost keys: a membership ends when its port was acknowledged to hold the group's P_Key no more: by
 * what the port answered, not by the configuration alone. With the last member the group goes, and
 * its MLID. Groups are walked when partitions have changed, and again behind each settling while a
 * port has still to answer.
 */

#define LOOKED_AT 8192 /* members, before the loop gets its turn */

static bool may_hold(const struct inv_node *node, unsigned num, uint16_t pkey)
{
	const struct port_setup *setup = port_setup(node, num);
	const struct inv_pkeys *table = setup->pkeys;

	if (setup->pkey_state != INV_PKEYS_DONE)
		return true;
	if (!table)
		return PKEY_BASE(pkey) == PKEY_BASE(PKEY_DEFAULT);
	return any_of(i, 0, table->nblocks * PKEYS_A_BLOCK,
		      !(table->known >> i / PKEYS_A_BLOCK & 1) ||
			      PKEY_BASE(table->have[i]) == PKEY_BASE(pkey));
}

/* The group may be gone then. */
static void end_without_key(struct multicast *m, struct sa_group *group)
{
	const struct fabric_view view = fabric_view(m->fabric);
	const struct wire_gid mgid = group->attr.mgid;

	for (uint32_t i = group->nmembers; i-- > 0 && sa_groups_find(m->groups, &mgid);) {
		guid_t member = group->members[i].port;
		uint32_t port = topo_find_port(view.topo, sa_own_port(m->services.sa, member));
		const struct topo_port *at = port == TOPO_NONE ? NULL : &view.topo->ports[port];

		if (!at || pkey_map_member(view.pkeys, port, group->attr.pkey))
			continue;

		const struct inv_node *node =
			inventory_find(m->services.inventory, view.topo->nodes[at->node].guid);

		if (!node || may_hold(node, at->num, group->attr.pkey))
			m->lost_keys.waiting = true;
		else
			sa_groups_leave(m->groups, group, member, WIRE_JOIN_BITS, multicast_now(m));
	}
}

static void lost_keys_walk(void *arg)
{
	struct multicast *m = arg;
	struct lost_keys *l = &m->lost_keys;

	for (unsigned members = 0; l->next <= sa_groups_top(m->groups); l->next++) {
		struct sa_group *next = sa_groups_by_mlid(m->groups, l->next), *group;

		if (members >= LOOKED_AT) {
			loop_timer_set(l->walk, 0);
			return;
		}
		while ((group = next)) {
			next = group->next;
			members += group->nmembers;
			end_without_key(m, group);
		}
	}
}

void lost_keys_settled(struct multicast *m)
{
	struct lost_keys *l = &m->lost_keys;
	const struct fabric_view view = fabric_view(m->fabric);

	if (!view.topo || (l->walked && !l->waiting && l->of == view.partitions))
		return;
	l->walked = true;
	l->waiting = false;
	l->of = view.partitions;
	l->next = MCAST_FIRST_MLID;
	loop_timer_set(l->walk, 0);
}

void members_init(struct multicast *m, loop_fn *grace_over)
{
	m->lost_keys.walk = loop_timer_new(m->services.loop, lost_keys_walk, m);
	m->assumed.end = loop_timer_new(m->services.loop, grace_over, m);
	m->absent.patience = loop_timer_new(m->services.loop, patience_over, m);
}
