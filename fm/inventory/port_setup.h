/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_setup: what bring-up keeps of each port (fm/sweep): what was written to it, and how that
 * went. Private to bring-up, but for what others show of it: P_Key tables, SL2VL and VL arbitration
 * tables, `given_up`, `obstacle`, `enforced`, `unheld`.
 */
#pragma once

#include "fm/conf/qos.h"
#include "fm/inventory/inv_node.h"

#define PKEYS_A_BLOCK 32 /* entries of P_KeyTable that a MAD carries */

/*
 * SL2VL and VL arbitration (bringup.c's; the SA shows them): what a port holds is what qos_arb()
 * and qos_sl2vl() make of the configuration for its kind and `vls`, where `held` says so; nothing
 * is known of it otherwise.
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
	unsigned without; /* keys for which the table has no free entry */
	uint64_t known;	  /* blocks, a bit each */
	uint16_t index0, cap;
	uint8_t nblocks;
	uint8_t job, block; /* on its way: 0, WIRE_GET or WIRE_SET */
	bool planned;	    /* want holds */
	bool wrote;	    /* in this apply */
};

enum inv_pkey_state {
	INV_PKEYS_OPEN,
	INV_PKEYS_DONE,
	INV_PKEYS_FAILED, /* until the next apply */
};

/*
 * What a Set wrote and the device acknowledged: bits of port_setup.unread, .doubted, .at_once and
 * .unheld, which follow whether the device holds it.
 */
enum inv_set {
	INV_SET_INFO = 1, /* PortInfo */
	INV_SET_PKEYS = 2,
	INV_SET_LANES = 4, /* SL2VL, VL arbitration */
	INV_SET_GUIDS = 8, /* GUID tables: fm/sa's, none of these bits */
};

/*
 * Why a port takes no Set. DEAF: Sets got no answer, and Gets between them did. KEY: it holds an
 * M_Key of somebody else (a switch: its port 0 does), and is sent no Set. That is known by what it
 * shows; or it hides one, and counts violations of that.
 */
enum inv_obstacle { INV_OBSTACLE_NONE, INV_OBSTACLE_DEAF = 1, INV_OBSTACLE_KEY };

struct setback { /* of a port that was given up, or does not hold what it acknowledges */
	uint64_t retry_at_us; /* when a port that was given up is asked again; 0 = it was not */
	uint64_t trial_at_us; /* when one that does not hold a Set is tried again */
	const char *refusal;  /* how it refused, a literal */
	uint8_t mtu,
		vls; /* that its running link had before another changed them; 0 = nobody did */
};

struct port_setup {		 /* 32 bytes: there are as many as ports */
	struct inv_pkeys *pkeys; /* NULL: the default partition at index 0 */
	struct setback *setback; /* NULL: it never had any; see setback_of() */
	struct inv_qos qos;
	uint16_t want_lid;
	uint8_t sets, errors; /* in this apply */
	uint8_t given_up;     /* Sets refused in a row, 0 = the port accepts them */
	uint8_t lost;	      /* tries without an answer; before it was given up: Sets */
	uint8_t job : 4;      /* the request on its way, 0 = none */
	uint8_t want_lmc : 3;
	uint8_t obstacle : 2;	/* enum inv_obstacle */
	uint8_t pkey_state : 2; /* enum inv_pkey_state */
	bool reread : 1;	/* PortInfo is read before anything else */
	/* a Set got no answer, and the port was not read since: it may have taken it */
	bool unsure : 1;
	bool settled : 1;
	bool reregister : 1; /* its host is to be asked to register with the SA again */
	bool enforced : 1;   /* switches: its P_Key table is such that it may be enforced */
	/* Whether the port holds what it acknowledged; bits of enum inv_set. */
	uint8_t unread : 4;  /* acknowledged, and not read since */
	uint8_t doubted : 4; /* was read otherwise: is read behind each Set from now on */
	uint8_t at_once : 4; /* was set behind that, and is to be read */
	uint8_t unheld : 4;  /* was read otherwise then, too: bring-up tries again now and then */
};

static inline struct port_setup *port_setup(const struct inv_node *node, unsigned num)
{
	return inv_port_cell(node, num, INV_SETUP, sizeof(struct port_setup));
}

/* The port's, as long as that, never NULL. For reading: all zero where it has none. */
const struct setback *setback_of(const struct port_setup *setup);
