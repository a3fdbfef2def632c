/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * seen: which key each port was seen to hold last, in `guid2mkey` of state_dir, in OpenSM's form: a
 * port GUID (a switch: its node GUID) and a key a line. A port that was off while keys were changed
 * is asked with what it held. A guid2mkey of OpenSM that is put there is read as well. Keys of
 * somebody else are not kept. No copy goes to other managers.
 */
#ifndef FMD_KEYS_SEEN_H
#define FMD_KEYS_SEEN_H

#include "fm/fabric/services.h"

/* Takes note of what all ports hold now; has the file written where that is news. */
void seen_review(const struct fabric_services *services);

#endif
