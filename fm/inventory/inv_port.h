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

enum sweep_probe { /* inv_port.probe */
		   PROBE_NONE,
		   PROBE_OUT,	 /* asked, from one end or the other */
		   PROBE_MET,	 /* the link was confirmed in this sweep */
		   PROBE_FAILED, /* up, and nobody answers */
		   /* what answers can't be there: a GUID met twice, a loop, nonsense */
		   PROBE_REFUSED,
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
	uint8_t state;	/* enum topo_state, as in `info` or newer */
	bool known : 1; /* `info` was read */
	bool link_up : 1;
	bool bounced : 1; /* it did carry data, went down, and is being brought up again */
	/* an end of the link answered that it is down; false: no path may lead there */
	bool said_down : 1;
	/* The link is up, and data may go over it: between switches, both ends are Active. */
	uint8_t carries;
	uint32_t capmask; /* PortInfo's fields, decoded: this, lid, lmc, speed, lanes, mtu */
	uint16_t lid;
	uint8_t lmc, speed, lanes, mtu;
	uint8_t suspect; /* requests over this link that timed out since one was answered */
	uint8_t probe;	 /* private to sweep.c */
	/* The link (both ends), and PortInfo, were answered twice alike; see sweep_verify(). */
	bool link_verified : 1, info_verified : 1;
	bool ever_up : 1;     /* it was up in this life, or the file of known links has it */
	bool must_probe : 1;  /* the node behind it is asked even if a record of it exists */
	bool refuted : 1;     /* PortInfo was asked to decide about the link, and did not come */
	uint8_t verify_tries; /* verification requests in a row without an answer */
	uint16_t sm_lid;      /* of PortInfo */
	uint32_t judged; /* inventory.clock when a request over its link last succeeded or failed */
	uint32_t seen;	 /* the sweep that last read it */

	bool counts_violations : 1; /* of an M_Key that it does not show */
	uint8_t info[64];	    /* PortInfo as last answered */
};

#endif
