/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: M_Keys of ports while this manager is master (IBA 14.2.4), as a room
 * (fm/fabric/module.h): leases are renewed, ports with a key of somebody else are named.
 * Whether the whole fabric is somebody else's is judged before that, by fm/sm/sm.h.
 */
#ifndef FMD_KEYS_MODULE_H
#define FMD_KEYS_MODULE_H

#include "fm/fabric/module.h"
#include "fm/fabric/view.h"

/*
 * foreign: ports with an M_Key of somebody else (port_setup.foreign_key): an alert each, counted,
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

struct asked;

/* The room's; services are borrowed. */
struct asking {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct loop_timer *tick;
	struct asked *open;	 /* on their way */
	guid_t next;		 /* of the node with which the pass goes on; 0 = it begins */
	uint32_t ports, counted; /* with a key: in the last pass, and so far in this one */
	double owed;		 /* ports that are due, less those that were asked */
	guid_t soon[ASKING_SOON];
	unsigned nsoon;
	guid_t foreign;		 /* the same of ports with a key of somebody else.. */
	uint64_t foreign_due_us; /* ..and when they are asked again */
	uint64_t renewed, expired;
};

extern const struct fabric_module port_keys_module;

/* Appends a row for each port with a key of somebody else's; something is published. */
void port_keys_unhealthy(const struct fabric *fabric, json_t *rows);

#endif
