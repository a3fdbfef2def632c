/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * assumed: members that another manager knew. A manager that takes over without a copy of the
 * groups finds trees in the switches, but not which host joined which group. Hosts are asked to
 * register anew, which takes them a while. So each host that a table leads to, and that has not
 * joined a group of that MLID here, counts as a member for takeover_grace: trees stay, by the same
 * proof as all others, and hosts that register again are in them already. Groups made meanwhile get
 * other MLIDs.
 */
#include <stdlib.h>
#include "fm/multicast/room.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

static int compare(const void *a, const void *b)
{
	const struct assumed_member *x = a, *y = b;

	if (x->mlid != y->mlid)
		return x->mlid < y->mlid ? -1 : 1;
	return x->port < y->port ? -1 : x->port > y->port;
}

static uint32_t first_of(const struct assumed *a, uint16_t mlid)
{
	return sort_place(0, a->count, at, a->list[at].mlid < mlid);
}

void assumed_add(struct multicast *m, uint16_t mlid, guid_t port)
{
	struct assumed *a = &m->assumed;

	if (a->count == a->size) {
		a->size = a->size ? a->size * 2 : 64;
		a->list = mem_resize(a->list, a->size, sizeof(*a->list));
	}
	a->list[a->count++] = (struct assumed_member){ mlid, port };
}

bool assumed_has(const struct multicast *m, uint16_t mlid)
{
	uint32_t at = first_of(&m->assumed, mlid);

	return at < m->assumed.count && m->assumed.list[at].mlid == mlid;
}

uint16_t assumed_top(const struct multicast *m)
{
	return m->assumed.count ? m->assumed.list[m->assumed.count - 1].mlid : 0;
}

void assumed_gather(const struct multicast *m, uint16_t mlid, struct gathered *to)
{
	const struct assumed *a = &m->assumed;

	for (uint32_t at = first_of(a, mlid); at < a->count && a->list[at].mlid == mlid; at++) {
		uint32_t port = topo_find_port(m->trees.topo, a->list[at].port);

		if (port == TOPO_NONE)
			continue;
		to->list = mem_resize(to->list, to->count + 1u, sizeof(*to->list));
		to->list[to->count++] = (struct mcast_member){ port, false };
	}
}

/* All MLIDs of the list, each once. */
static unsigned each_mlid(struct multicast *m, void (*fn)(struct multicast *m, uint16_t mlid))
{
	struct assumed *a = &m->assumed;
	unsigned mlids = 0;

	for (uint32_t i = 0; i < a->count; i++)
		if (!i || a->list[i].mlid != a->list[i - 1].mlid) {
			fn(m, a->list[i].mlid);
			mlids++;
		}
	return mlids;
}

static void reserve(struct multicast *m, uint16_t mlid)
{
	sa_groups_rest(m->groups, mlid, loop_now_us(m->services.loop));
}

void assumed_begin(struct multicast *m)
{
	struct assumed *a = &m->assumed;
	uint64_t grace_us = m->services.conf->sa.takeover_grace_ms * 1000ull;

	if (!a->count)
		return;
	qsort(a->list, a->count, sizeof(*a->list), compare);
	a->mlids = each_mlid(m, reserve);
	a->until_us = loop_now_us(m->services.loop) + grace_us;
	loop_timer_set(a->end, grace_us);
	event_log_add(m->services.events, LOG_NOTICE, "mcast-kept", NULL,
		      json_pack("{si}", "mlids", (int)a->mlids),
		      "fabric: trees of %u multicast LIDs of the previous manager are kept for %u "
		      "s while their members join",
		      a->mlids, (unsigned)(grace_us / 1000000));
}

void assumed_end(struct multicast *m, void (*changed)(struct multicast *m, uint16_t mlid))
{
	each_mlid(m, changed);
	m->assumed.count = m->assumed.mlids = 0;
	event_log_add(
		m->services.events, LOG_NOTICE, "mcast-cleared", NULL, NULL,
		"fabric: multicast entries of the previous manager without a new join are cleared");
}

unsigned assumed_left_s(const struct multicast *m)
{
	uint64_t now = loop_now_us(m->services.loop);

	return m->assumed.count && m->assumed.until_us > now
		       ? (unsigned)((m->assumed.until_us - now + 999999) / 1000000)
		       : 0;
}

void assumed_init(struct multicast *m, loop_fn *due)
{
	m->assumed.end = loop_timer_new(m->services.loop, due, m);
}

void assumed_fini(struct multicast *m)
{
	loop_timer_free(m->assumed.end);
	free(m->assumed.list);
}
