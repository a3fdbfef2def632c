/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_mlids: how much room for multicast groups is left. Every switch has to have an entry for every MLID in use, so the one with
 * the smallest multicast table says how many there may be. Events tell when four fifths of these are in use, and when all are,
 * with the port that is in most groups.
 */
#include "fm/fabric/mcast.h"

#define LATE_PART 5 /* the last part of the room.. */
#define CALM_PART 3 /* ..and the part that is to be free before that is told again */

enum { TOLD_NOTHING, TOLD_LATE, TOLD_FULL };

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

	return i == TOPO_NONE ? "a port that is not here" : t->nodes[t->ports[i].node].desc;
}

static void tell(const struct fabric *f, unsigned used, unsigned capacity)
{
	const struct fabric_mcast *m = f->mcast;
	uint32_t sw = topo_find(f->topo, m->mlids.smallest);
	unsigned groups;
	guid_t port = sa_mcast_largest(f->sa, &groups);

	event_log_add(f->events, used < capacity ? LOG_WARNING : LOG_ERR, "mlids",
		      json_pack("{si si}", "used", (int)used, "room", (int)capacity),
		      "fabric: %u of %u multicast LIDs are in use%s; %s has room for no more; %s "
		      "(port GUID 0x%016llx) is in most groups: %u",
		      used, capacity, used < capacity ? "" : ": no group can be made",
		      sw == TOPO_NONE ? "a switch" : f->topo->nodes[sw].desc,
		      name_of(f->topo, port), (unsigned long long)port, groups);
}

void fabric_mlids_check(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;
	unsigned used = sa_groups_mlids(sa_mcast_groups(f->sa));
	unsigned capacity = sa_groups_capacity(sa_mcast_groups(f->sa));
	unsigned now = used >= capacity				 ? TOLD_FULL
		       : used >= capacity - capacity / LATE_PART ? TOLD_LATE
								 : TOLD_NOTHING;

	if (!f->topo)
		return;
	if (now > m->mlids.told)
		tell(f, used, capacity);
	if (now > m->mlids.told || used < capacity - capacity / CALM_PART)
		m->mlids.told = now;
}

void fabric_mlids_published(struct fabric *f)
{
	struct fabric_mcast *m = f->mcast;
	uint32_t sw = smallest(f->topo);

	m->mlids.smallest = sw == TOPO_NONE ? 0 : f->topo->nodes[sw].guid;
	sa_groups_set_capacity(sa_mcast_groups(f->sa), sw != TOPO_NONE ? f->topo->nodes[sw].mft_cap
						       : f->topo->nswitches ? 0
									    : SA_MLIDS);
	if (sw != TOPO_NONE)
		fabric_mlids_check(f);
}
