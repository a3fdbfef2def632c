/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_tables: what is kept of a port's SL2VL, VL arbitration and P_Key tables (see inventory.h).
 */
#ifndef FMD_INVENTORY_INV_TABLES_H
#define FMD_INVENTORY_INV_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/conf/qos.h"
#include "topology/snapshot/topo.h"

#define PKEYS_A_BLOCK 32 /* entries of P_KeyTable that a MAD carries */

/*
 * SL2VL and VL arbitration (lanes.c's; the SA shows them): what a port holds is what qos_arb() and
 * qos_sl2vl() make of the configuration for its kind and `vls`, where `held` says so; nothing is
 * known of it otherwise.
 */
#define INV_SL2VL QOS_ARB_BLOCKS /* the step behind the arbitration blocks, and its bit in `held` */
struct inv_qos {
	uint8_t in;	  /* of SL2VL: the next input port */
	uint8_t vls;	  /* lanes that this is for; 0 = not begun */
	uint8_t written;  /* SL2VL by wildcard: for so many lanes, 0 = not yet */
	uint8_t job;	  /* on its way: 0, WIRE_GET or WIRE_SET */
	uint8_t held;	  /* a bit a step */
	uint8_t step : 4; /* arbitration blocks 0 to 3, SL2VL, none */
	bool differs : 1; /* the table was read: it is to be set */
	bool failed : 1;  /* until the next apply */
	bool wrote : 1;	  /* since it was read last */
	bool reading : 1; /* what was acknowledged, once more */
};

/* Which keys of the configuration a port goes by. */
static inline enum qos_kind inv_qos_kind(uint8_t type, unsigned num)
{
	if (type == TOPO_SWITCH)
		return num ? QOS_SWITCH_PORT : QOS_SWITCH_PORT0;
	return type == TOPO_ROUTER ? QOS_ROUTER : QOS_CA;
}

struct inv_pkeys {	/* a P_Key table; pkeys.c's, but for `have`, which the SA shows */
	uint16_t *have; /* as last answered, whole blocks of 32; unknown ones are zero */
	uint16_t *want; /* behind it */
	uint16_t *keys; /* what it is to hold */
	unsigned nkeys;
	unsigned without; /* keys that find no room */
	uint64_t known;	  /* blocks, a bit each */
	uint16_t index0, cap;
	uint8_t nblocks;
	uint8_t job, block; /* on its way: 0, WIRE_GET or WIRE_SET */
	bool planned;	    /* want holds */
	uint64_t unread;    /* blocks that were acknowledged, and not read since */
	uint64_t reread;    /* unread blocks that are to be read now */
	bool wrote;	    /* in this apply */
};

#endif
