/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* place: what an operator names, for lists: a host with all its HCAs, a node, or a port. */
#ifndef FMD_CONTROL_PLACE_H
#define FMD_CONTROL_PLACE_H

#include "topology/snapshot/topo.h"

struct command_env;

struct place {		     /* both TOPO_NONE = anywhere */
	uint32_t node, host; /* indices of the snapshot */
	unsigned port;	     /* of the node, 0 = all of them */
};

/* False: there is no such, the reason is in err[COMMAND_ERROR_SIZE]. */
bool place_read(const struct command_env *env, const char *text, struct place *place, char *err);
/* By its whole name; TOPO_NONE = none. */
uint32_t place_host(const struct topo *t, const char *name);

#endif
