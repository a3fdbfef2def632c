/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#include <stdlib.h>
#include <string.h>
#include "topology/base/text.h"
#include "fm/multicast/room.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

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
static bool is_said_down(const struct multicast *m, const struct topo *t, guid_t guid)
{
	uint32_t port = topo_find_port(t, guid);
	const struct inv_node *node =
		port == TOPO_NONE
			? NULL
			: inventory_find(m->services.inventory, t->nodes[t->ports[port].node].guid);

	return !node || node->ports[t->ports[port].num].said_down;
}

static int compare_guids(const void *a, const void *b)
{
	guid_t x = *(const guid_t *)a,
	       y = *(const guid_t *)b; /* the first of struct awaited_port */

	return x < y ? -1 : x > y;
}

static struct awaited_port *find_awaited(const struct multicast *m, guid_t port)
{
	if (!m->absent.nawaited)
		return NULL;
	return bsearch(&port, m->absent.awaited, m->absent.nawaited, sizeof(*m->absent.awaited),
		       compare_guids);
}

bool absent_is_awaited(const struct multicast *m, guid_t port)
{
	return find_awaited(m, port) != NULL;
}

/* ---- Memberships ----------------------------------------------------------------------------- */

static void leave_all(struct multicast *m, struct sa_group *group, guid_t port)
{
	sa_groups_leave(m->groups, group, port, WIRE_JOIN_BITS, loop_now_us(m->services.loop));
}

/* Searches the shorter list in the longer one. The group may be deleted meanwhile. */
static void group_loses(struct multicast *m, struct sa_group *group, void *arg)
{
	struct sa_groups *groups = m->groups;
	const struct change *c = arg;
	struct wire_gid mgid = group->attr.mgid;

	if (c->nleft < group->nmembers && !sa_alias_next(m->services.sa, 0)) {
		for (uint32_t i = 0; i < c->nleft && sa_groups_find(groups, &mgid); i++)
			leave_all(m, group, c->left[i]);
		return;
	}
	for (uint32_t i = group->nmembers; i-- > 0;) {
		guid_t port = group->members[i].port, own = sa_own_port(m->services.sa, port);

		if (!bsearch(&own, c->left, c->nleft, sizeof(own), compare_guids))
			continue;
		leave_all(m, group, port);
		if (!sa_groups_find(groups, &mgid))
			return;
	}
}

static void mark_members(struct multicast *m, struct sa_group *group, void *arg)
{
	for (uint32_t i = 0; i < group->nmembers; i++) {
		struct awaited_port *a =
			find_awaited(m, sa_own_port(m->services.sa, group->members[i].port));

		if (a)
			a->member = true;
	}
}

/* ---- From one snapshot to the next ----------------------------------------------------------- */

/* Room for one more behind so many; it grows by powers of two. */
static void *more_room(void *list, uint32_t count, size_t size)
{
	return count & (count + 1) ? list : mem_resize(list, 2u * count + 2, size);
}

static void keep(struct change *c, const struct awaited_port *port)
{
	c->awaited = more_room(c->awaited, c->nawaited, sizeof(*port));
	c->awaited[c->nawaited++] = *port;
	c->stayed += port->member;
}

static void await(const struct multicast *m, struct change *c, guid_t guid, bool rebooting)
{
	keep(c, &(struct awaited_port){ .guid = guid,
					.until_us = loop_now_us(m->services.loop) + PATIENCE_US,
					.rebooting = rebooting });
	c->added++;
}

static void leave(struct change *c, guid_t guid)
{
	c->left = more_room(c->left, c->nleft, sizeof(*c->left));
	c->left[c->nleft++] = guid;
}

static void review_awaited(const struct multicast *m, struct change *c)
{

	for (uint32_t i = 0; i < m->absent.nawaited; i++) {
		const struct awaited_port *a = &m->absent.awaited[i];
		bool over = a->until_us <= loop_now_us(m->services.loop);

		if (in_service(c->newer, a->guid)) {
			c->returned += a->member;
		} else if (over || (!a->rebooting && is_said_down(m, c->newer, a->guid))) {
			leave(c, a->guid);
			c->dropped += a->member && over;
		} else {
			keep(c, a);
		}
	}
}

static void note_gone(const struct multicast *m, struct change *c)
{
	const struct topo *older = c->older, *newer = c->newer;

	for (uint32_t i = 0; i < older->nports; i++) {
		guid_t guid = older->ports[i].guid;

		if (!guid || !serves(older, i) || serves_too(older, i, newer))
			continue;
		if (is_said_down(m, newer, guid))
			leave(c, guid);
		else
			await(m, c, guid, false);
	}
}

/* Lists the ports that came into service without being awaited. */
static void ask_new(struct multicast *m, const struct change *c)
{
	const struct topo *older = c->older, *newer = c->newer;

	for (uint32_t i = newer->nswitch_ports; i < newer->nports; i++) {
		const struct topo_port *port = &newer->ports[i];

		if (port->guid && serves(newer, i) && !serves_too(newer, i, older) &&
		    !absent_is_awaited(m, port->guid))
			fabric_request_reregister_port(m->fabric, newer->nodes[port->node].guid,
						       port->num);
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

static void sort_unique(struct change *c)
{
	uint32_t kept = 0;

	sort_if_needed(c->left, c->nleft, sizeof(*c->left), compare_guids);
	sort_if_needed(c->awaited, c->nawaited, sizeof(*c->awaited), compare_guids);
	for (uint32_t i = 0; i < c->nawaited; i++)
		if (!kept || c->awaited[kept - 1].guid != c->awaited[i].guid)
			c->awaited[kept++] = c->awaited[i];
	c->nawaited = kept;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void log_ports(const struct multicast *m, const char *kind, unsigned ports, const char *what)
{
	if (ports)
		event_log_add(m->services.events, LOG_NOTICE, kind, NULL,
			      json_pack("{si}", "ports", (int)ports),
			      "fabric: %u %s in multicast groups %s", ports,
			      words_plural(ports, "port", "ports"), what);
}

static unsigned count_members(const struct multicast *m)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < m->absent.nawaited; i++)
		count += m->absent.awaited[i].member;
	return count;
}

static void log_change(struct multicast *m, const struct change *c)
{
	log_ports(m, "mcast-waiting", m->absent.waiting - c->stayed,
		  "are unreachable, and stay members for ten minutes");
	log_ports(m, "mcast-returned", c->returned, "are reachable again, and are still members");
	log_ports(m, "mcast-dropped", c->dropped,
		  "were unreachable for ten minutes, and were removed");
}

/* ---- Patience -------------------------------------------------------------------------------- */

static void arm(struct multicast *m)
{
	uint64_t now = loop_now_us(m->services.loop), first = UINT64_MAX;

	for (uint32_t i = 0; i < m->absent.nawaited; i++)
		if (m->absent.awaited[i].until_us < first)
			first = m->absent.awaited[i].until_us;
	if (first == UINT64_MAX)
		loop_timer_stop(m->absent.patience);
	else
		loop_timer_set(m->absent.patience, first > now ? first - now : 0);
}

static void take_over(struct multicast *m, struct change *c)
{

	sort_unique(c);
	free(m->absent.awaited);
	m->absent.awaited = c->awaited;
	m->absent.nawaited = c->nawaited;
	if (c->nleft)
		multicast_each_group(m, group_loses, c);
	if (c->added)
		multicast_each_group(m, mark_members, NULL);
	m->absent.waiting = count_members(m);
	log_change(m, c);
	arm(m);
	free(c->left);
}

void absent_published(struct multicast *m, const struct topo *older)
{
	struct change c = { .older = older, .newer = fabric_view(m->fabric).topo };
	bool waited = m->absent.nawaited > 0;

	review_awaited(m, &c);
	if (older) {
		ask_new(m, &c);
		note_gone(m, &c);
	} else {
		multicast_each_group(m, await_group, &c);
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

/* ---- Life ------------------------------------------------------------------------------------ */

void absent_init(struct multicast *m)
{
	m->absent.patience = loop_timer_new(m->services.loop, patience_over, m);
}

void absent_fini(struct multicast *m)
{
	loop_timer_free(m->absent.patience);
	free(m->absent.awaited);
}
