/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* poll: light sweeps, once an interval and sooner while something is unfinished (see poll.c). */
#ifndef FMD_FABRIC_POLL_H
#define FMD_FABRIC_POLL_H

#include "fm/loop/loop.h"

struct fabric;

/* serve: called with f when a light sweep has ended, or something is requested in place of one. */
void fabric_poll_init(struct fabric *f, loop_fn *serve);
void fabric_poll_fini(struct fabric *f);
void fabric_poll_schedule(struct fabric *f); /* the next one; the interval may be another */
/* What is unfinished may be more than before: then light sweeps come sooner. */
void fabric_poll_recheck(struct fabric *f);

#endif
