/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hook: the operators' program, run when a host's state changes. It gets its facts by environment
 * variables: FMD_HOST, FMD_STATE, FMD_OLD_STATE, PATH, and what the caller adds.
 *
 * A few run at a time, the others wait in line. A host waits once: a newer change replaces the one
 * that waits. One that takes too long is killed with all it started. The loop never waits for one.
 */
#ifndef FMD_OS_HOOK_H
#define FMD_OS_HOOK_H

#include <stddef.h>
#include "fm/os/helper.h"
#include "fm/loop/loop.h"

struct hook;

struct hook_variable {
	const char *name, *value;
};
struct hook_call { /* all of it is copied */
	const char *host, *state, *old_state;
	const struct hook_variable *more;
	unsigned count; /* of `more` */
};
/* The program has ended, error NULL = with status 0. host and error are valid during the call. */
typedef void hook_done_fn(void *arg, const char *host, const char *error);

/*
 * The caller's, never NULL. Programs are started by the loop's helper (fm/os/helper.h); without
 * one each run ends with an error.
 */
struct hook *hook_new(struct loop *loop, enum helper_program which, hook_done_fn *fn, void *arg);
void hook_free(struct hook *hook); /* those running are killed; NULL is fine */
/*
 * program "" = hook_run() does nothing. The name is for messages: the helper reads which program it
 * starts from the configuration.
 */
void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms);
/* Queues a run; fn is called from the loop when it has ended. */
void hook_run(struct hook *hook, const struct hook_call *call);
/* Whether that key's program can be run ("" = none): 0, or -1 with the reason in err. */
int hook_check(const char *key, const char *program, char *err, size_t err_size);

#endif
