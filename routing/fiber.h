/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fiber: a long computation, some milliseconds at a time. It runs on a stack of its own and returns
 * to the caller of fiber_go() at some of the places where it reports its work (fiber_spend).
 * Work is counted and not timed: routing knows no clock, and the same input stops at the same
 * places. One fiber runs at a time, in its caller's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fiber;
typedef void fiber_fn(void *arg);

/*
 * A fiber with its stack (1 MB); the caller owns it. Aborts if there is no memory. fiber_free() is
 * for a fiber whose computation has ended or never began; NULL is fine.
 */
struct fiber *fiber_new(void);
void fiber_free(struct fiber *fiber);
/* Sets the next computation; the one before must have ended. fiber_go() makes the call of fn. */
void fiber_start(struct fiber *fiber, fiber_fn *fn, void *arg);
/* Runs until the computation stops or ends. True: there is more to do. */
bool fiber_go(struct fiber *fiber);
/* Ends the stops: the result is not wanted, and the computation may leave work out. */
void fiber_hurry(struct fiber *fiber);

/*
 * Called by the computation. fiber_spend() counts work, roughly in nanoseconds, and may stop there;
 * fiber_hurries() says whether fiber_hurry() was called. With a NULL fiber: no stop, and false.
 */
void fiber_spend(struct fiber *fiber, uint32_t ns);
bool fiber_hurries(const struct fiber *fiber);
