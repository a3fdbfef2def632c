/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cabling_hosts: scalable units, their leaves and the ports of their hosts; inside of cabling. */
#ifndef FMD_TOPOLOGY_CABLING_CABLING_HOSTS_H
#define FMD_TOPOLOGY_CABLING_CABLING_HOSTS_H

#include "topology/cabling/cabling_own.h"

struct host_place {
	struct wiring_votes votes; /* HCAs at the port, of those with a rail and a cable */
	uint8_t port;
};

struct units {
	const struct topo *t;
	const struct wiring *w;
	uint32_t count, rails;
	uint32_t *leaf;		   /* [unit][rail]: TOPO_NONE = none, TOPO_NONE - 1 = several */
	struct host_place *places; /* by host */
	uint32_t *same, *all;	   /* by unit: HCAs at their host's port; all */
};

/* Finds leaves and ports of all units of w's snapshot. `w` must outlive `u`; units_fini() frees. */
void units_init(struct units *u, const struct wiring *w);
void units_fini(struct units *u);

/* The scalable unit of a host (an index in topo.hosts), -1 = none. */
int units_of_host(const struct units *u, uint32_t host);
/* The leaf switch of a rail in a unit; TOPO_NONE = there is none, or several. */
uint32_t units_leaf(const struct units *u, int su, int rail);
/* Whether the host has HCAs on more than half of its unit's rails. */
bool units_has_rails(const struct units *u, uint32_t host);
/* The port number at which the host's HCAs are expected on their leaves; 0 = not known. */
unsigned units_port(const struct units *u, uint32_t host);

#endif
