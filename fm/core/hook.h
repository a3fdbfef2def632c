/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hook: the operators' program, run when a host's state changes. It gets its facts by environment
 * variables: FMD_HOST, FMD_STATE, FMD_OLD_STATE, PATH, and what the caller adds.
 *
 * A few run at a time, the others wait in line, a host once: its newest change stands for those
 * that nobody saw. One that takes too long is killed with all it started. The loop never waits for
 * one.
 */
#ifndef FMD_CORE_HOOK_H
#define FMD_CORE_HOOK_H

#include <stddef.h>
#include "fm/core/helper.h"
#include "fm/core/loop.h"

struct hook;

struct hook_variable {
	const char *name, *value;
};
struct hook_call { /* all of it is copied */
	const char *host, *state, *old_state;
	const struct hook_variable *more;
	unsigned count; /* of these */
};
/* error NULL = it ended with 0. */
typedef void hook_done_fn(void *arg, const char *host, const char *error);

/* By the helper that the loop has (fm/core/helper.h); without one each call is an error. */
struct hook *hook_new(struct loop *loop, enum helper_program which, hook_done_fn *fn, void *arg);
void hook_free(struct hook *hook); /* those running are killed; NULL is fine */
/* "" = none. Which program it is the helper reads from the configuration by itself. */
void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms);
void hook_run(struct hook *hook, const struct hook_call *call);
/* Whether that key's program can be run ("" = none): 0, or -1 with the reason in err. */
int hook_check(const char *key, const char *program, char *err, size_t err_size);

#endif
