/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* port_plan: what a port's PortInfo should be, from the configuration and both its ends. */
#ifndef FMD_SWEEP_PORT_PLAN_H
#define FMD_SWEEP_PORT_PLAN_H

#include "fm/sweep/bringup.h"
#include "fm/inventory/inventory.h"

enum port_plan {
	PORT_PLAN_SAME,
	/* time-outs, MTU and the like differ: set once, what a device ignores is left */
	PORT_PLAN_TUNE,
	PORT_PLAN_MUST, /* the address differs: LID, LMC, SM LID or GID prefix */
	/* past Init, and the ends disagree on MTU or VLs: the link has to be bounced */
	PORT_PLAN_CLASH,
};

/* How the port differs from what it should be; *want: all of PortInfo for a Set, the state kept. */
enum port_plan port_plan(const struct bringup_conf *conf, uint16_t sm_lid,
			 const struct inv_node *node, uint8_t num, struct wire_port_info *want);

/* True: an Active link whose ends have different OperationalVLs, which is left as it is. */
bool port_plan_tolerates(const struct inv_port *port);

#endif
