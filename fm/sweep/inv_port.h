/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_port: what is kept of a port (see inventory.h).
 */
#ifndef FMD_SWEEP_INV_PORT_H
#define FMD_SWEEP_INV_PORT_H

#include "fm/sweep/inv_tables.h"

struct inv_node;

#define INV_NONSENSE UINT64_MAX /* inv_port.refused */

enum inv_pkey_state {
	INV_PKEYS_OPEN,
	INV_PKEYS_DONE,
	INV_PKEYS_FAILED, /* until the next apply */
};

/*
 * What a device acknowledged by the answer of a Set, and may not hold: bits of inv_port.unread and
 * its like.
 */
enum inv_set {
	INV_SET_INFO = 1, /* PortInfo */
	INV_SET_PKEYS = 2,
	INV_SET_LANES = 4, /* SL2VL, VL arbitration */
};

/* What each snapshot and each walk reads of a port is in its first cache line. */
struct inv_port {
	struct inv_node *peer; /* NULL = no link known */
	uint8_t peer_port;
	uint8_t state; /* enum topo_state, of info or newer */
	bool known;    /* info was read */
	bool link_up;
	/*
	 * .. and data may go over it: of a link between switches, ends that are known to be
	 * Active..
	 */
	uint8_t carries;
	bool bounced;	  /* ..or were: it fell, is up again, and is brought up right now */
	uint32_t capmask; /* of info, from here.. */
	uint16_t lid;
	uint8_t lmc, speed, lanes, mtu; /* ..to here */
	uint8_t suspect; /* requests over this link that timed out since one passed */
	uint8_t probe;	 /* sweep.c's */
	bool cordoned, quarantined,
		isolated; /* carries no transit; set by the pipe before each snapshot, as.. */
	bool kept;	  /* ..this: routed over although it is not Active */
	/* an end of the link answered that it is down; else no path may lead there */
	bool said_down;
	/*
	 * What is known was answered twice: of the link (both ends), of PortInfo. See
	 * sweep_verify().
	 */
	bool link_verified, info_verified;
	uint8_t verify_tries; /* in a row without an answer */
	bool ever_up;	      /* it said so, or the file of known links does */
	bool must_probe;      /* who is behind is to be asked, whatever the record says.. */
	bool refuted;	      /* PortInfo was asked to decide about the link, and did not come */
	uint8_t claims;	      /* contest.c's: answers that contradict the record.. */
	uint32_t claimed_in;  /* ..in that sweep.. */
	uint64_t claim;	      /* ..the latest of them */
	/* what answers behind it and can't be there: its GUID, or INV_NONSENSE; 0 = nobody */
	guid_t refused;
	uint32_t judged; /* inventory.clock when a request last passed, or failed, over its link */
	uint32_t seen;	 /* the sweep that last read it */
	uint16_t sm_lid; /* of info */
	/* the pipe's: whether a manager there is known, since the link is up */
	bool sm_asked;
	uint16_t want_lid; /* bringup.c's, from here on */
	uint8_t want_lmc;
	uint8_t job;	      /* on its way: 0 nothing, else bringup.c's code for it */
	uint8_t sets, errors; /* in this apply */
	uint8_t given_up;     /* so often in a row, 0 = it accepts what is set.. */
	uint8_t lost;	      /* ..tries since then that got no answer, and are no refusal yet.. */
	uint64_t retry_at_us; /* ..when it is asked again.. */
	const char *refusal;  /* ..and how it refused, a literal */
	bool reread;	      /* is to be read before anything else */
	/* a Set got no answer, and the port was not read since: it may have taken it */
	bool unsure;
	bool settled;
	bool reregister; /* its host is to be asked to register with the SA anew */
	uint8_t unread;	 /* was acknowledged, and not read since; enum inv_set.. */
	/* ..and what was read otherwise then: from now on it is read behind each Set.. */
	uint8_t doubted;
	uint8_t at_once; /* ..as it is being now.. */
	/* ..and was read otherwise there too: bringup.c asks again now and then.. */
	uint8_t unheld;
	uint64_t trial_at_us; /* ..at that time */
	bool enforced;	      /* switches: its P_Key table is such that it may be enforced */
	uint8_t pkey_state;   /* enum inv_pkey_state */
	struct inv_qos qos;
	struct inv_pkeys *pkeys; /* NULL: the default partition at index 0 */
	uint8_t info[64];	 /* PortInfo as last answered */
};

#endif
