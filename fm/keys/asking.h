/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#ifndef FMD_KEYS_ASKING_H
#define FMD_KEYS_ASKING_H

#include "fm/fabric/services.h"

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

/* Asks nobody until asking_configure() says so. */
void asking_init(struct asking *a, struct fabric *fabric, const struct fabric_services *services);
void asking_fini(struct asking *a);
/* The role or the configuration may be another: begins, or ends. */
void asking_configure(struct asking *a);
/* A trap says that somebody used another key at the port of that node. */
void asking_soon(struct asking *a, guid_t node);

#endif
