/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* role: what the room that elects the master subnet manager (IBA 14.4.1) tells the pipe. */
#ifndef FMD_FABRIC_ROLE_H
#define FMD_FABRIC_ROLE_H

#include <stdbool.h>

struct fabric;

/* Whether this manager may change the fabric; said at once when it changes. fabric_renew() keeps it. */
void fabric_set_master(struct fabric *fabric, bool master);

#endif
