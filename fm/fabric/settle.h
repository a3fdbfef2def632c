/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* settle: what follows when all that was published is programmed and brought up (see settle.c). */
#ifndef FMD_FABRIC_SETTLE_H
#define FMD_FABRIC_SETTLE_H

#include <jansson.h>
#include "fm/loop/loop.h"

struct fabric;

/* f->settle; ended: called with f behind the last step. */
void fabric_settle_init(struct fabric *f, loop_fn *ended);
void fabric_settle_fini(struct fabric *f);
/*
 * Begins, if it is due, all that was begun has ended, and no update is in the making or needed for
 * links.
 */
void fabric_settle(struct fabric *f);
void fabric_settle_stop(struct fabric *f); /* it stays due */

const char *fabric_settle_step(const struct fabric *f); /* that is due, a literal; NULL = none */
json_t *fabric_settle_stages(const struct fabric *f);	/* ms by step; the caller owns it */

#endif
