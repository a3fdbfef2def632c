/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mlids: the room left for multicast groups. Every switch needs an entry for every MLID in use, so
 * the switch with the smallest multicast table limits their number. Events report when four fifths
 * of the MLIDs are in use, and when all are, with the port that is in most groups.
 */
#include "fm/multicast/room.h"

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

	event_log_add(m->services.events, used < capacity ? LOG_WARNING : LOG_ERR, "mlids",
		      json_pack("{si si}", "used", (int)used, "room", (int)capacity),
		      "fabric: %u of %u multicast LIDs are in use%s; the multicast table of %s is "
		      "full; %s (port GUID 0x%016llx) is in most groups: %u",
		      used, capacity, used < capacity ? "" : ": no group can be created",
		      sw == TOPO_NONE ? "a switch" : t->nodes[sw].name, name_of(t, port),
		      (unsigned long long)port, groups);
}

void mlids_check(struct multicast *m)
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

void mlids_published(struct multicast *m)
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
