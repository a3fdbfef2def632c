/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fiber: a long computation, some milliseconds at a time. It runs on a stack of its own and stops
 * where it says how much it has done; whoever called goes on with something else and calls again.
 * Work is counted and not timed: routing knows no clock, and the same input stops at the same
 * places. One fiber runs at a time, in its caller's thread.
 */
#ifndef FMD_ROUTING_FIBER_H
#define FMD_ROUTING_FIBER_H

#include <stdbool.h>
#include <stdint.h>

struct fiber;
typedef void fiber_fn(void *arg);

struct fiber *fiber_new(void);
void fiber_free(struct fiber *fiber); /* after its end, or if it never began; NULL is fine */
/* What it ran before has ended. fn is first called by fiber_go(). */
void fiber_start(struct fiber *fiber, fiber_fn *fn, void *arg);
/* Runs until it stops. True: there is more to do. */
bool fiber_go(struct fiber *fiber);
bool fiber_has_more(const struct fiber *fiber); /* NULL: no */
/* From now on it stops no more, and fiber_hurries(): what it looks for is not wanted. */
void fiber_hurry(struct fiber *fiber);

/*
 * Called from within. So much was done, in nanoseconds, roughly; it may stop here. NULL: nobody
 * waits, nothing stops.
 */
void fiber_spend(struct fiber *fiber, uint32_t ns);
bool fiber_hurries(const struct fiber *fiber);

#endif
