/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling: cables in the wrong place: HCAs on the leaf of another rail, and what differs from a
 * plan. A plan is a snapshot too; its nodes are those of the same description, for GUIDs are not
 * planned.
 */
#ifndef FMD_TOPOLOGY_CABLING_H
#define FMD_TOPOLOGY_CABLING_H

#include "topology/topo.h"

enum cabling_kind {
	CABLING_RAIL, /* a: the HCA, b: the leaf it is on, a_found: the leaf of its rail (port 0) */
	CABLING_ABSENT,	   /* a: a planned node that is not there; its cables are not told */
	CABLING_ELSEWHERE, /* a, b: a planned cable; one of its ports leads elsewhere */
	CABLING_MISSING,   /* a, b: a planned cable; both its ports lead nowhere */
	CABLING_DOWN,	   /* a, b: as planned, and down */
	CABLING_EXTRA,	   /* a, b: a cable that is in no plan */
	CABLING_UNKNOWN,   /* a: a node that is in no plan; its cables are not told */
};

struct cabling_end {
	const char *name; /* in a snapshot; NULL = nothing */
	uint8_t port;
};

struct cabling_item {
	enum cabling_kind kind;
	struct cabling_end a, b;
	struct cabling_end a_found, b_found; /* where they lead */
	int16_t rail, leaf_rail;
};

struct cabling {
	uint32_t count;
	struct cabling_item *items;
	uint32_t compared;   /* HCAs with a rail, or planned cables */
	uint32_t not_unique; /* nodes left out, as others have their description */
};

/* Items refer to the snapshots' texts. */
struct cabling *cabling_rails(const struct topo *t);
struct cabling *cabling_compare(const struct topo *plan, const struct topo *t);
void cabling_free(struct cabling *c); /* NULL is fine */

const char *cabling_kind_name(enum cabling_kind kind);
int cabling_describe(const struct cabling_item *item, char *buf, size_t size); /* as snprintf */

#endif
