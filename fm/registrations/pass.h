/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pass: queries an SA once for its tables of members, services and subscriptions, one after the
 * other, and writes each that came complete into state_dir.
 */
#ifndef FMD_REGISTRATIONS_PASS_H
#define FMD_REGISTRATIONS_PASS_H

#include "fm/fabric/module.h"

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
/* The caller owns it. pass_free() stops a pass without a callback; not from within the callback. */
struct pass *pass_new(pass_done_fn *fn, void *arg);
void pass_free(struct pass *pass);
/* Begins a pass; one under way is stopped. services: borrowed until its end. */
void pass_begin(struct pass *pass, const struct fabric_services *services);
/* Stops a pass without a callback. */
void pass_stop(struct pass *pass);
/* The files may have been changed by others: the next pass writes them even if it got the same. */
void pass_forget(struct pass *pass);
/* Whether a pass is under way. */
bool pass_is_under_way(const struct pass *pass);

#endif
