/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo: reading a snapshot: by GUID, and the names of its codes.
 *
 * Nodes lie in two parts (switches, then the rest), each by ascending GUID: a node is found by
 * bisection. Ports are found by bisection in the index of end ports that topo_freeze() leaves
 * behind the public part.
 */
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct topo *topo_ref(const struct topo *topo)
{
	struct topo_own *own = (struct topo_own *)topo;

	own->refs++;
	return &own->pub;
}

void topo_unref(const struct topo *topo)
{
	struct topo_own *own = (struct topo_own *)topo;

	if (!own || --own->refs)
		return;
	topo_unref(own->base);
	arena_free(own->arena); /* the snapshot itself lies in it */
}

static uint32_t bisect_nodes(const struct topo *t, uint32_t low, uint32_t high, guid_t guid)
{
	uint32_t place = sort_place(low, high, at, t->nodes[at].guid < guid);

	return place < high && t->nodes[place].guid == guid ? place : TOPO_NONE;
}

uint32_t topo_find(const struct topo *t, guid_t node_guid)
{
	uint32_t found = bisect_nodes(t, 0, t->nswitches, node_guid);

	return found != TOPO_NONE ? found : bisect_nodes(t, t->nswitches, t->nnodes, node_guid);
}

uint32_t topo_port_of(const struct topo *t, guid_t node_guid, unsigned num)
{
	uint32_t node = topo_find(t, node_guid);

	return node == TOPO_NONE || num > t->nodes[node].nports ? TOPO_NONE
								: t->nodes[node].port0 + num;
}

uint32_t topo_find_port(const struct topo *t, guid_t port_guid)
{
	const struct topo_own *own = (const struct topo_own *)t;
	uint32_t place = sort_place(0, own->nguids, at, own->guids[at].guid < port_guid);

	return place < own->nguids && own->guids[place].guid == port_guid ? own->guids[place].port
									  : TOPO_NONE;
}

/* ---- Names of codes -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned lane_mbps;
} speeds[] = {
	[TOPO_SPEED_NONE] = { "-", 0 },	   [TOPO_SDR] = { "SDR", 2500 },
	[TOPO_DDR] = { "DDR", 5000 },	   [TOPO_QDR] = { "QDR", 10000 },
	[TOPO_FDR10] = { "FDR10", 10312 }, [TOPO_FDR] = { "FDR", 14062 },
	[TOPO_EDR] = { "EDR", 25781 },	   [TOPO_HDR] = { "HDR", 53125 },
	[TOPO_NDR] = { "NDR", 106250 },	   [TOPO_XDR] = { "XDR", 212500 },
};

#define NSPEEDS (sizeof(speeds) / sizeof(speeds[0]))

const char *topo_role_name(enum topo_role role)
{
	static const char *const names[] = { "-", "host", "leaf", "spine", "core", "sharp" };

	return (unsigned)role < sizeof(names) / sizeof(names[0]) ? names[role] : "?";
}

bool topo_named_sharp(const char *desc)
{
	return strstr(desc, "Aggregation Node") != NULL;
}

const char *topo_state_name(enum topo_state state)
{
	static const char *const names[] = { "-", "Down", "Init", "Armed", "Active" };

	return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *topo_speed_name(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].name : "?";
}

enum topo_speed topo_speed_parse(const char *text)
{
	for (unsigned i = TOPO_SDR; i < NSPEEDS; i++)
		if (strcasecmp(text, speeds[i].name) == 0)
			return (enum topo_speed)i;
	return TOPO_SPEED_NONE;
}

unsigned topo_lane_mbps(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].lane_mbps : 0;
}
