/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sandbox_own: what the sandbox's files have in common; nobody else includes it. */
#ifndef FMD_CORE_SANDBOX_OWN_H
#define FMD_CORE_SANDBOX_OWN_H

#include <stdbool.h>

/*
 * All capabilities of this thread, of what it executes, and the way to others. keeps_ports: but the
 * one to bind ports below 1024, for itself alone. 0, or -errno: the rest is given up all the same.
 */
int capabilities_drop(bool keeps_ports);

#endif
