/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hook: the operators' program, run when a host's state changes. It gets its facts by environment
 * variables:
 *
 *   FMD_HOST  FMD_STATE  FMD_OLD_STATE  FMD_REASON  FMD_SYSTEM  PATH
 *   FMD_GPU FMD_PCI     the GPU that the reason is about: its index, its PCI address; empty where
 *                       it is about none, or that is not known
 *   FMD_ACTION          what mends it: "none", "restart job", "reset GPU", "reboot", "contact
 *                       support"
 *   FMD_JOBS            whether jobs of several GPUs can still run: "yes", "no", "unknown"
 *   FMD_EVIDENCE        all that is known, a line a finding: STATE: words (source)
 *
 * A few run at a time, the others wait in line, a host once: its newest change stands for those
 * that nobody saw. One that takes too long is killed with all it started. The loop never waits for
 * one.
 */
#ifndef FMD_NVSWITCH_HOOK_H
#define FMD_NVSWITCH_HOOK_H

#include "fm/core/loop.h"

struct hook;

struct hook_call {
	const char *host, *state, *old_state, *reason, *system;
	const char *gpu, *pci, *action, *jobs, *evidence;
};
/* error NULL = it ended with 0. */
typedef void hook_done_fn(void *arg, const char *host, const char *error);

struct hook *hook_new(struct loop *loop, hook_done_fn *fn, void *arg);
void hook_free(struct hook *hook); /* those running are killed; NULL is fine */
void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms); /* "" = none */
void hook_run(struct hook *hook, const struct hook_call *call);

#endif
