/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pass: asks a SA once for its tables of members, services and subscriptions, one after the other,
 * and puts each that came whole into state_dir.
 */
#ifndef FMD_REGISTRATIONS_PASS_H
#define FMD_REGISTRATIONS_PASS_H

#include "fm/fabric/module.h"

enum registrations_table { TABLE_MEMBERS, TABLE_SERVICES, TABLE_SUBSCRIPTIONS, TABLES };

struct pass_figures { /* of a pass that came to its end */
	unsigned rows[TABLES], left_out;
	size_t bytes; /* of the answers */
	uint64_t took_us;
};

/*
 * From the loop. error NULL: all is in state_dir, or needless by now; else why not, in words, and
 * what came whole before is there. A pass may be begun or stopped in it.
 */
typedef void pass_done_fn(void *arg, const char *error, const struct pass_figures *figures);

struct pass;
struct pass *pass_new(pass_done_fn *fn, void *arg);
void pass_free(struct pass *pass); /* not from its callback */
/* services: of the present life; borrowed until the end. Stops the one before. */
void pass_begin(struct pass *pass, const struct fabric_services *services);
void pass_stop(struct pass *pass); /* without a callback */
/* Others have written those files since: the next pass puts them even if they are as before. */
void pass_forget(struct pass *pass);
bool pass_is_under_way(const struct pass *pass);

#endif
