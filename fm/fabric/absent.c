/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_absent: members of multicast groups whose ports are out of service, and who is asked to register anew.
 *
 *   a live end of its cable says it is down    the port has left its groups: when the link comes up again it goes through Init, and
 *                                              bring-up asks the host to register
 *   no way leads to either end                 the port waits: its link may be Active all the time, so its host hears of nothing and
 *                                              would never join again by itself
 *   out of service when fmd began              waits likewise, whatever its leaf says: it may be rebooting as fmd is
 *   waited for longer than PATIENCE_US         has left its groups
 *   comes into service, was not waited for     is asked to register: what it has joined is not known here
 *
 * The port that waits is a member in all respects. Trees lead to it again as soon as the snapshot has a way.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fabric/mcast.h"
#include "topology/mem.h"
#include "topology/sort.h"

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

/* ---- Ports --------------------------------------------------------------------------------------- */

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

/* As it answers by now, which may be later than the snapshot. */
static bool is_said_down(const struct fabric *f, guid_t guid)
{
	const struct topo *t = f->topo;
	uint32_t port = topo_find_port(t, guid);
	const struct inv_node *node = port == TOPO_NONE
					      ? NULL
					      : inventory_find(sweep_inventory(f->sweep),
							       t->nodes[t->ports[port].node].guid);

	return !node || node->ports[t->ports[port].num].said_down;
}

static int compare_guids(const void *a, const void *b)
{
	guid_t x = *(const guid_t *)a,
	       y = *(const guid_t *)b; /* the first of struct awaited_port */

	return x < y ? -1 : x > y;
}

static struct awaited_port *find_awaited(const struct fabric_mcast *m, guid_t port)
{
	if (!m->nawaited)
		return NULL;
	return bsearch(&port, m->awaited, m->nawaited, sizeof(*m->awaited), compare_guids);
}

bool fabric_is_awaited(const struct fabric *f, guid_t port)
{
	return find_awaited(f->mcast, port) != NULL;
}

/* ---- Memberships --------------------------------------------------------------------------------- */

static void leave_all(struct fabric *f, struct sa_group *group, guid_t port)
{
	sa_groups_leave(sa_mcast_groups(f->sa), group, port, WIRE_JOIN_BITS, loop_now_us(f->loop));
}

/* Whichever are fewer are looked up among the others. The group may end in the course of it. */
static void group_loses(struct fabric *f, struct sa_group *group, void *arg)
{
	struct sa_groups *groups = sa_mcast_groups(f->sa);
	const struct change *c = arg;
	struct wire_gid mgid = group->attr.mgid;

	if (c->nleft < group->nmembers && !sa_alias_next(f->sa, 0)) {
		for (uint32_t i = 0; i < c->nleft && sa_groups_find(groups, &mgid); i++)
			leave_all(f, group, c->left[i]);
		return;
	}
	for (uint32_t i = group->nmembers; i-- > 0;) {
		guid_t port = group->members[i].port, own = sa_own_port(f->sa, port);

		if (!bsearch(&own, c->left, c->nleft, sizeof(own), compare_guids))
			continue;
		leave_all(f, group, port);
		if (!sa_groups_find(groups, &mgid))
			return;
	}
}

static void mark_members(struct fabric *f, struct sa_group *group, void *arg)
{
	for (uint32_t i = 0; i < group->nmembers; i++) {
		struct awaited_port *a =
			find_awaited(f->mcast, sa_own_port(f->sa, group->members[i].port));

		if (a)
			a->member = true;
	}
}

/* ---- From one snapshot to the next --------------------------------------------------------------- */

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

static void await(const struct fabric *f, struct change *c, guid_t guid, bool rebooting)
{
	keep(c, &(struct awaited_port){ .guid = guid,
					.until_us = loop_now_us(f->loop) + PATIENCE_US,
					.rebooting = rebooting });
	c->added++;
}

static void leave(struct change *c, guid_t guid)
{
	c->left = more_room(c->left, c->nleft, sizeof(*c->left));
	c->left[c->nleft++] = guid;
}

static void review_awaited(const struct fabric *f, struct change *c)
{
	const struct fabric_mcast *m = f->mcast;

	for (uint32_t i = 0; i < m->nawaited; i++) {
		const struct awaited_port *a = &m->awaited[i];
		bool over = a->until_us <= loop_now_us(f->loop);

		if (in_service(f->topo, a->guid)) {
			c->returned += a->member;
		} else if (over || (!a->rebooting && is_said_down(f, a->guid))) {
			leave(c, a->guid);
			c->dropped += a->member && over;
		} else {
			keep(c, a);
		}
	}
}

static void note_gone(const struct fabric *f, struct change *c)
{
	const struct topo *older = c->older, *newer = c->newer;

	for (uint32_t i = 0; i < older->nports; i++) {
		guid_t guid = older->ports[i].guid;

		if (!guid || !serves(older, i) || serves_too(older, i, newer))
			continue;
		if (is_said_down(f, guid))
			leave(c, guid);
		else
			await(f, c, guid, false);
	}
}

/* Of the ports that have come, those that nobody waits for. */
static void ask_new(struct fabric *f, const struct change *c)
{
	const struct topo *older = c->older, *newer = c->newer;

	for (uint32_t i = newer->nswitch_ports; i < newer->nports; i++) {
		const struct topo_port *port = &newer->ports[i];

		if (port->guid && serves(newer, i) && !serves_too(newer, i, older) &&
		    !fabric_is_awaited(f, port->guid))
			bringup_reregister_port(f->bringup, newer->nodes[port->node].guid,
						port->num);
	}
}

static void await_group(struct fabric *f, struct sa_group *group, void *arg)
{
	struct change *c = arg;

	for (uint32_t i = 0; i < group->nmembers; i++) {
		guid_t own = sa_own_port(f->sa, group->members[i].port);

		if (!in_service(f->topo, own))
			await(f, c, own, true);
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

/* ---- What is told of it -------------------------------------------------------------------------- */

static void tell(const struct fabric *f, const char *kind, unsigned ports, const char *what)
{
	if (ports)
		event_log_add(f->events, LOG_NOTICE, kind, json_pack("{si}", "ports", (int)ports),
			      "fabric: %u %s in multicast groups %s", ports,
			      words_plural(ports, "port", "ports"), what);
}

static unsigned count_members(const struct fabric_mcast *m)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < m->nawaited; i++)
		count += m->awaited[i].member;
	return count;
}

static void tell_change(struct fabric *f, const struct change *c)
{
	tell(f, "mcast-waiting", f->mcast->waiting - c->stayed,
	     "can not be reached, and stay members for ten minutes");
	tell(f, "mcast-returned", c->returned, "can be reached again, and were members all along");
	tell(f, "mcast-dropped", c->dropped,
	     "could not be reached for ten minutes, and are no members any more");
}

/* ---- Patience ------------------------------------------------------------------------------------ */

static void arm(struct fabric *f)
{
	const struct fabric_mcast *m = f->mcast;
	uint64_t now = loop_now_us(f->loop), first = UINT64_MAX;

	for (uint32_t i = 0; i < m->nawaited; i++)
		if (m->awaited[i].until_us < first)
			first = m->awaited[i].until_us;
	if (first == UINT64_MAX)
		loop_timer_stop(m->patience);
	else
		loop_timer_set(m->patience, first > now ? first - now : 0);
}

static void take_over(struct fabric *f, struct change *c)
{
	struct fabric_mcast *m = f->mcast;

	sort_unique(c);
	free(m->awaited);
	m->awaited = c->awaited;
	m->nawaited = c->nawaited;
	if (c->nleft)
		fabric_groups_each(f, group_loses, c);
	if (c->added)
		fabric_groups_each(f, mark_members, NULL);
	m->waiting = count_members(m);
	tell_change(f, c);
	arm(f);
	free(c->left);
}

void fabric_absent_published(struct fabric *f, const struct topo *older)
{
	struct change c = { .older = older, .newer = f->topo };
	bool waited = f->mcast->nawaited > 0;

	review_awaited(f, &c);
	if (older) {
		ask_new(f, &c);
		note_gone(f, &c);
	} else {
		fabric_groups_each(f, await_group, &c);
	}
	if (waited || c.nawaited || c.nleft)
		take_over(f, &c);
}

static void patience_over(void *arg)
{
	struct fabric *f = arg;
	struct change c = { .newer = f->topo };

	review_awaited(f, &c);
	take_over(f, &c);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_absent_init(struct fabric *f)
{
	f->mcast->patience = loop_timer_new(f->loop, patience_over, f);
}

void fabric_absent_fini(struct fabric *f)
{
	loop_timer_free(f->mcast->patience);
	free(f->mcast->awaited);
}
