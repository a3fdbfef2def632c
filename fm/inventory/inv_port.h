/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_port: what is kept of a port (see inventory.h).
 */
#ifndef FMD_INVENTORY_INV_PORT_H
#define FMD_INVENTORY_INV_PORT_H

#include "fm/inventory/inv_tables.h"

struct inv_node;

#define INV_NONSENSE UINT64_MAX /* inv_port.refused */

enum inv_pkey_state {
	INV_PKEYS_OPEN,
	INV_PKEYS_DONE,
	INV_PKEYS_FAILED, /* until the next apply */
};

/*
 * What a Set wrote and the device acknowledged: bits of inv_port.unread, .doubted, .at_once and
 * .unheld, which follow whether the device holds it.
 */
enum inv_set {
	INV_SET_INFO = 1, /* PortInfo */
	INV_SET_PKEYS = 2,
	INV_SET_LANES = 4, /* SL2VL, VL arbitration */
};

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

struct inv_trouble { /* of a port that was given up, or behind which answers contradict */
	/* claim*: private to contest.c. The sweep in which answers contradicted the record */
	uint32_t claimed_in;
	uint8_t claims; /* their number */
	uint64_t claim; /* the latest of them */
	/* GUID of a node that answers here and cannot be here, or INV_NONSENSE; 0 = none */
	guid_t refused;
	uint64_t retry_at_us; /* when a port that was given up is asked again; 0 = it was not */
	uint64_t trial_at_us; /* when one that does not hold a Set is tried again */
	const char *refusal;  /* how it refused, a literal */
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
	bool ever_up : 1;	/* it was up in this life, or the file of known links has it */
	bool must_probe : 1;	/* the node behind it is asked even if a record of it exists */
	bool refuted : 1;	/* PortInfo was asked to decide about the link, and did not come */
	uint8_t pkey_state : 2; /* enum inv_pkey_state; bringup.c's too */
	uint8_t verify_tries;	/* verification requests in a row without an answer */
	uint16_t sm_lid;	/* of PortInfo */
	uint32_t judged; /* inventory.clock when a request over its link last succeeded or failed */
	uint32_t seen;	 /* the sweep that last read it */

	/* From here to `enforced`: private to bringup.c. */
	uint8_t want_lmc;
	uint16_t want_lid;
	uint8_t job;	      /* the request on its way, 0 = none */
	uint8_t sets, errors; /* in this apply */
	uint8_t given_up;     /* Sets refused in a row, 0 = the port accepts them */
	uint8_t lost;	      /* tries without an answer since it was given up */
	bool reread : 1;      /* PortInfo is read before anything else */
	/* a Set got no answer, and the port was not read since: it may have taken it */
	bool unsure : 1;
	bool settled : 1;
	bool reregister : 1; /* its host is to be asked to register with the SA anew */
	/*
	 * It holds an M_Key of somebody else (a switch: its port 0 does): it is sent no Set. That
	 * is known by what it shows; or it hides one, and counts violations of that.
	 */
	bool foreign_key : 1, counts_violations : 1;
	bool enforced : 1; /* switches: its P_Key table is such that it may be enforced */

	/* Whether the port holds what it acknowledged; bits of enum inv_set. */
	uint8_t unread;	 /* acknowledged, and not read since */
	uint8_t doubted; /* was read otherwise: is read behind each Set from now on */
	uint8_t at_once; /* is being read behind a Set now */
	uint8_t unheld;	 /* was read otherwise then, too: bringup.c tries again now and then */
	struct inv_qos qos;
	struct inv_trouble *trouble; /* NULL: it never had any; see inv_trouble() */
	struct inv_pkeys *pkeys;     /* NULL: the default partition at index 0 */
	uint8_t info[64];	     /* PortInfo as last answered */
};

/*
 * The port's own record, good as long as the port, never NULL. For reading: all zero where it has
 * none. To be written to: made where it has none.
 */
const struct inv_trouble *inv_trouble(const struct inv_port *port);
struct inv_trouble *inventory_trouble(struct inv_port *port);
/* When the port is asked again; 0 = it is not given up. */
void inventory_retry_at(struct inv_port *port, uint64_t us);

#endif
