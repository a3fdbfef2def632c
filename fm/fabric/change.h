/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* change: what differs between two snapshots, as events (see change.c). */
#ifndef FMD_FABRIC_CHANGE_H
#define FMD_FABRIC_CHANGE_H

#include "topology/snapshot/topo.h"

struct fabric;

enum fabric_change {
	FABRIC_SAME, /* down to the last bit of a port */
	/* what ports say of themselves: tables are the same, and there may be links to bring up */
	FABRIC_STATES,
	FABRIC_CHANGED,
};

/* Logs what differs, names the open fault by it, and calls the rooms' changed(). */
enum fabric_change fabric_log_changes(struct fabric *f, const struct topo *older,
				      const struct topo *newer);
void fabric_log_silent(struct fabric *f); /* nodes that ceased to answer, or do again */

#endif
