/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sandbox_own: what the sandbox's files and their test share; nobody else includes it. */
#ifndef FMD_OS_SANDBOX_OWN_H
#define FMD_OS_SANDBOX_OWN_H

#include <stdbool.h>

/* Sanitizers do more than the daemon: at its end they stop all its threads and look at them. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/*
 * Gives up all capabilities of this thread and of programs that it executes, and the means to gain
 * any. keeps_ports: it keeps the one to bind ports below 1024, for itself alone. 0; or -errno of
 * the first step that failed, the others are done all the same.
 */
int capabilities_drop(bool keeps_ports);

#endif
