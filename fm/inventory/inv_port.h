/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_port: what is kept of a port (see inventory.h).
 */
#ifndef FMD_INVENTORY_INV_PORT_H
#define FMD_INVENTORY_INV_PORT_H

#include <complib/cl_qmap.h>
#include <stdbool.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

struct inv_node;

#define INV_NONSENSE UINT64_MAX /* inv_contest.refused */

enum inv_carries { /* whether a link that is up carries data, between switches by both ends */
		   INV_CARRIES_NOTHING,
		   INV_CARRIES_ONE_END, /* of whose ends one is known */
		   INV_CARRIES_BOTH,
		   /* it did carry data, went down, and is being brought up again */
		   INV_BOUNCED,
};

enum inv_mark { /* what rooms decide about a port before each snapshot, and what sm noted of it */
		INV_CORDONED = 1, /* these three: without transit traffic */
		INV_QUARANTINED = 2,
		INV_ISOLATED = 4,
		INV_KEPT = 8,  /* routed over although it is not Active */
		INV_SHUT = 16, /* of a CA: its link is to carry no data, and stays in Init */
		/* a manager here was looked for since the link came up */
		INV_SM_ASKED = 32,
};

struct inv_contest {	    /* answers behind a port that contradict the record */
	cl_map_item_t item; /* in inventory.contests, key = the port's number */
	/* claim*: private to contest.c. The sweep in which answers contradicted the record */
	uint32_t claimed_in;
	uint8_t claims; /* their number */
	uint64_t claim; /* the latest of them */
	/* GUID of a node that answers here and cannot be here, or INV_NONSENSE; 0 = none */
	guid_t refused;
};

/*
 * The first cache line holds what each snapshot and each walk over all ports reads. There are as
 * many of these as ports in the fabric, so flags are bits, and no member leaves a gap.
 */
struct inv_port {
	struct inv_node *peer; /* NULL = no link known */
	uint8_t peer_port;
	uint8_t state;	 /* enum topo_state, as in `info` or newer */
	uint8_t carries; /* enum inv_carries, alike at both ends */
	bool known : 1;	 /* `info` was read */
	bool link_up : 1;
	/* an end of the link answered that it is down; false: no path may lead there */
	bool said_down : 1;
	/* The link (both ends), and PortInfo, were answered twice alike; see sweep_verify(). */
	bool link_verified : 1, info_verified : 1;
	bool counts_violations : 1; /* of an M_Key that it does not show */
	uint32_t
		capmask; /* PortInfo's fields, decoded: this, lid, sm_lid, lmc, speed, lanes, mtu */
	uint16_t lid, sm_lid;
	uint8_t lmc, speed, lanes, mtu;
	uint8_t suspect; /* requests over this link that timed out since one was answered */
	uint32_t judged; /* inventory.clock when a request over its link last succeeded or failed */
	uint8_t info[64]; /* PortInfo as last answered */
};

#endif
