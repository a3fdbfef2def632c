/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what hosts have registered with another manager's SA (members of multicast groups,
 * services, subscriptions), as a room (fm/fabric/module.h). A standby without a copy of its
 * master's state (fm/mirror/module.h) queries the master's SA, as any client may, and uses the
 * answers when it takes over.
 */
#ifndef FMD_REGISTRATIONS_MODULE_H
#define FMD_REGISTRATIONS_MODULE_H

#include "fm/fabric/module.h"

/*
 * pass: queries an SA once for its tables of members, services and subscriptions, one after the
 * other, and writes each that came complete into state_dir.
 */

enum registrations_table { TABLE_MEMBERS, TABLE_SERVICES, TABLE_SUBSCRIPTIONS, TABLES };

struct pass_figures { /* of a pass that has ended */
	unsigned rows[TABLES], left_out;
	size_t bytes; /* of the answers */
	uint64_t took_us;
};

/*
 * Called from the loop when a pass has ended. error NULL: all is in state_dir, or no longer needed;
 * else the reason in words, and state_dir has the tables that came complete before. It may begin or
 * stop a pass.
 */
typedef void pass_done_fn(void *arg, const char *error, const struct pass_figures *figures);

struct pass;
/* Begins a pass; one under way is stopped. services: borrowed until its end. */
void pass_begin(struct pass *pass, const struct fabric_services *services);

extern const struct fabric_module registrations_module;

#endif
