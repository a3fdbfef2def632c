/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: which subnet manager is master, as a room (fm/fabric/module.h): this manager's own port,
 * the election, M_Keys of another manager. It alone sets the role of this manager
 * (fm/fabric/role.h).
 */
#ifndef FMD_SM_MODULE_H
#define FMD_SM_MODULE_H

#include "fm/core/loop.h"
#include "fm/fabric/module.h"

extern const struct fabric_module sm_module;

/*
 * An operator's wish: the highest standby is made master. False: this manager is not master, or no
 * other is known. Else done comes once, whether the other took the fabric over or not.
 */
bool sm_hand_over(struct fabric *fabric, loop_fn *done, void *arg);

/*
 * Why this process can't go on, though another may (exit code 1); the loop was stopped for it. NULL
 * = it can.
 */
const char *sm_failed(const struct fabric *fabric);

#endif
