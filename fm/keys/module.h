/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: M_Keys of ports while this manager is master (IBA 14.2.4), as a room
 * (fm/fabric/module.h): leases are renewed, ports with a key of somebody else are named.
 * Whether the whole fabric is somebody else's is judged before that, by lookup.h.
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/mad/batch.h"

/*
 * foreign: ports with an M_Key of somebody else (INV_OBSTACLE_KEY): an alert each, counted,
 * and among what is unhealthy. They are used as they are, and no Set is sent to them.
 */

/*
 * asking: PortInfo of ports that have an M_Key, read by Gets that carry the key: who has a lease
 * under way then stops it (IBA 14.2.4.2), and what a port shows is compared with what it is to
 * hold.
 *
 *   all ports                    one after the other, each within a third of the lease
 *   ports that report trap 256   at once: somebody used another key there, so the lease runs
 *   ports with a foreign M_Key   once a minute: the key may be gone
 *
 * A port whose answer differs from what is known of it is swept again, and bring-up sets its key.
 */

#define ASKING_SOON 64

/* The room's; services are borrowed. */
struct asking {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct loop_timer *tick;
	struct batch *batch;
	guid_t next;		 /* of the node with which the pass goes on; 0 = it begins */
	uint32_t ports, counted; /* with a key: in the last pass, and so far in this one */
	double owed;		 /* ports that are due, less those that were asked */
	guid_t soon[ASKING_SOON];
	unsigned nsoon;
	guid_t foreign;		 /* the same of ports with a key of somebody else */
	uint64_t foreign_due_us; /* when these are asked again */
	uint64_t renewed, expired;
};

/*
 * hidden: devices that answer no SMP behind links that are up. Each is one fault, at whatever
 * number of ports it shows, so it is named once, and its ports are members of the alert:
 *
 *   m-key-probable                 it was met before, and is alive: see below
 *   switches-silent, hcas-silent   all others, each kind in one alert. An HCA whose link fell is
 *                                  gone: it is cut off, which is an alert of its own
 *
 * A device that nobody ever met, as one that a new manager finds silent, is named by its ports. It
 * is a switch if one that is known has the same place in the fabric, seen from below or from above:
 * at least half of the links of that one lead to switches there that have a silent port each for
 * them. These ports are one device, with those on its other side. A port between ports of hosts
 * leads to a host, and so does one that is left.
 *
 * A device is named as soon as it is known not to be slow, and not to have a key: all
 * tries of the probes of half of its ports are over; and one that was met has answered PerfMgt, or
 * not, or, where it has no LID, had LATE_US to answer the sweep.
 *
 * With protection level 2 or 3 a port drops every SMP without its key (IBA 14.2.4.1), so it looks
 * like one whose agent hangs. It can be distinguished from that by what M_Keys do not protect:
 *
 *   it sends trap 256        it has dropped an SMP for its M_Key, and its agent is alive
 *   it answers PerfMgt       GMPs have no M_Key: its port is alive, and answers no SMP
 *
 * Neither is proof, so the text says "probably" and names the reason. A device that nobody met has
 * no LID by which to ask it; if its links are Armed or Active somebody else brought them up, and
 * the text says that it may hold a key. No Set is sent to any of them. Light sweeps go on to ask
 * who they are, with the keys that they may hold (fm/sweep/sweep.c).
 */

struct hidden;

struct silent_device { /* that was met before */
	struct silent_device *next;
	struct hidden *list;
	guid_t guid;
	bool seen, answers_gmp;
	bool judged;	   /* PerfMgt was asked, and has answered or not */
	uint64_t since_us; /* it is silent */
	uint64_t trap_us;  /* when trap 256 came from it; 0 = none came */
	uint64_t asked_us; /* when PerfMgt was asked last; 0 = not yet */
	mad_token asked;
};

struct hidden_port { /* leads to a device that probably holds an M_Key */
	guid_t node;
	uint8_t num;
	bool first;	 /* of that device's */
	const char *why; /* a literal */
};

enum silent_kind { SILENT_SWITCHES, SILENT_HCAS, SILENT_KINDS };

/* The room's; services are borrowed. */
struct hidden {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct loop_timer *again;
	struct silent_device *devices;
	struct hidden_port *ports;
	unsigned count, size, probable; /* used; room; devices */
};

/* ---- Keys that were seen --------------------------------------------------------------------- */

/*
 * Which key each port was seen to hold last, in `guid2mkey` of state_dir, in OpenSM's form: a
 * port GUID (a switch: its node GUID) and a key a line. A port that was off while keys were changed
 * is asked with what it held. A guid2mkey of OpenSM that is put there is read as well. Keys of
 * somebody else are not kept. No copy goes to other managers.
 */

/* Takes note of what all ports hold now; has the file written where that is news. */
void seen_review(const struct fabric_services *services);

/* ---- For others ------------------------------------------------------------------------------ */

extern const struct fabric_module port_keys_module;

/* Appends a row for each port with a key of somebody else's; something is published. */
void port_keys_unhealthy(const struct fabric *fabric, json_t *rows);
