/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* topo_codes: kinds of nodes, states and speeds of links; states and types as IBA codes them. */
#ifndef FMD_TOPOLOGY_SNAPSHOT_TOPO_CODES_H
#define FMD_TOPOLOGY_SNAPSHOT_TOPO_CODES_H

enum topo_type { TOPO_CA = 1, TOPO_SWITCH = 2, TOPO_ROUTER = 3 }; /* NodeInfo:NodeType */

enum topo_state {
	TOPO_NO_STATE = 0,
	TOPO_DOWN = 1,
	TOPO_INIT = 2,
	TOPO_ARMED = 3,
	TOPO_ACTIVE = 4
};

/* Lane speed, slowest first, so that they compare. */
enum topo_speed {
	TOPO_SPEED_NONE,
	TOPO_SDR,
	TOPO_DDR,
	TOPO_QDR,
	TOPO_FDR10,
	TOPO_FDR,
	TOPO_EDR,
	TOPO_HDR,
	TOPO_NDR,
	TOPO_XDR,
};

enum topo_role { TOPO_ROLE_NONE, TOPO_HOST, TOPO_LEAF, TOPO_SPINE, TOPO_CORE, TOPO_SHARP };

#endif
