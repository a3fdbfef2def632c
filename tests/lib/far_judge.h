/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * far_judge: an independent judge of a text in the form of ibdiagnet2.far: it reads the text and
 * the cables, and shares nothing with who made it.
 */
#pragma once

#include "topology/snapshot/topo.h"

struct far_verdict {
	unsigned bad_lines;
	unsigned long free_entries, pairs; /* (switch with hosts, LID of a host) that deliver */
	unsigned long lost;	/* such pairs of which some choice of members does not deliver */
	unsigned long loops;	/* LIDs for which some choice of members loops */
	unsigned long thin;	/* groups that one dead link empties */
	unsigned long circular; /* channels on or behind a cycle of dependencies */
};
/* port_of_lid: up to `top`, index in t->ports or TOPO_NONE. */
struct far_verdict far_judge(const struct topo *t, const uint32_t *port_of_lid, unsigned top,
			     char *text);
