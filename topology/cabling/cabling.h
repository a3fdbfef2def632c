/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling: cables that are not where they should be, each as an instruction: where to go, what is
 * there, what is expected, what to do.
 *
 * The expectation comes from a plan, or from the regular pattern of the fabric itself: what most
 * comparable ports have. Where the pattern is ambiguous there is no finding. A known cable whose
 * link is down counts as plugged.
 */
#pragma once

#include <jansson.h>
#include "topology/snapshot/topo.h"

enum cabling_kind {
	CABLING_RAIL,	     /* an HCA on the leaf of another rail */
	CABLING_ABSENT,	     /* a planned node that is missing; its cables are not listed */
	CABLING_ELSEWHERE,   /* a planned cable; one of its ports leads elsewhere */
	CABLING_MISSING,     /* an expected cable; both its ports lead nowhere */
	CABLING_DOWN,	     /* as planned, and down */
	CABLING_EXTRA,	     /* a cable that nothing asks for */
	CABLING_UNKNOWN,     /* a node that is not in the plan; its cables are not listed */
	CABLING_SWAP,	     /* two cables exchanged */
	CABLING_LEAF,	     /* an HCA on the leaf of another scalable unit */
	CABLING_UPLINK_PORT, /* an HCA in a port where comparable switches have an uplink */
	CABLING_PORT,	     /* the right switch, another of its ports */
	CABLING_SWITCH,	     /* a cable between switches that leads to another one */
	CABLING_DOUBLED,     /* as CABLING_SWITCH; that switch has its share already */
	CABLING_SAME_TIER,   /* leaf to leaf, spine to spine */
	CABLING_NO_HCA,	     /* a host without an HCA that comparable hosts have */
	CABLING_HOST,	     /* a whole host on the leaves of another scalable unit */
	CABLING_SPEED,	     /* a link slower than comparable ones */
	CABLING_WIDTH,	     /* a link with fewer lanes than comparable ones */
};

struct cabling_end {
	const char *name;  /* in a snapshot, or in the result's arena; NULL = nothing */
	uint8_t port;	   /* 0 = any */
	bool only;	   /* the node has no other port: people need no number */
	const char *label; /* what is written beside the port, "cage 9/1"; NULL, "" = not known */
};

/*
 * A finding. `at` is where to go. Of a cable that is wrong `found` is its other end, `expected`
 * what should be connected to `at`, and `belongs` what the other end should be connected to; any
 * of them may be nothing. A swap is `at` with `found`, and `other` with `other_found`.
 */
struct cabling_item {
	enum cabling_kind kind;
	struct cabling_end at, found, expected, belongs;
	struct cabling_end other, other_found;
	struct cabling_end a, b;	     /* the cable that is expected, or the one found */
	struct cabling_end a_found, b_found; /* where its ends lead */
	int16_t rail, leaf_rail;	     /* CABLING_RAIL; -1 = none */
	int16_t su, leaf_su;		     /* CABLING_HOST: where it is expected, and is */
	uint8_t speed, width;		     /* of a slow link */
	uint8_t usual_speed, usual_width;    /* of comparable links */
	bool absent;			     /* no HCA has the name of the one that is expected */
	bool one_of;	    /* of parallel cables nobody can tell which: `at` is one */
	uint32_t votes, of; /* who expects it, of how many; 0 = a plan does */
};

struct arena;

struct cabling {
	uint32_t count;
	struct cabling_item *items;
	uint32_t compared;   /* HCAs with a rail; cables that something is expected of */
	uint32_t cables;     /* of the fabric */
	uint32_t not_unique; /* nodes left out, as others have their description */
	struct arena *arena; /* texts of its own */
};

/*
 * The findings of a fabric, sorted by name and port of `at`; never NULL. The caller frees the
 * result with cabling_free() (NULL is fine) before it releases the snapshots, whose texts the items
 * refer to. cabling_rails() compares only the rail of each HCA with that of its leaf;
 * cabling_pattern() compares every cable with the fabric's own pattern; cabling_compare() with a
 * plan.
 */
struct cabling *cabling_rails(const struct topo *t);
struct cabling *cabling_pattern(const struct topo *t);
struct cabling *cabling_compare(const struct topo *plan, const struct topo *t);
void cabling_free(struct cabling *c);

/*
 * Reads a plan: an ibnetdiscover file, or a table of cable ends with commas between, as UFM's NDT
 * or topoconfig.conf.
 * A planned node is the fabric's node of the same description, as GUIDs are not planned. A table
 * may also name a switch of `t` by the system's name within its description (`t` NULL: it may not).
 * The caller owns the returned snapshot. Returns NULL with `path:line: reason` in err.
 */
struct topo *cabling_plan_read(const char *path, const struct topo *t, char *err, size_t err_size);
struct topo *cabling_plan_parse(const char *name, const char *text, size_t len,
				const struct topo *t, char *err, size_t err_size);

/*
 * By planned node, the GUID of the node of `t` that it is, else the GUID of a node or port that the
 * plan has; 0 = it has a name alone. The caller frees it.
 */
guid_t *cabling_plan_guids(const struct topo *plan, const struct topo *t);
/*
 * Whether a plan is one for that fabric, and whole. False with `path:line: reason` in err: it has
 * ports that a device of `t` does not have, devices that nothing in it connects to one of `t`, or
 * its text, which ends with a zero byte, is cut off.
 */
bool cabling_plan_fits(const struct topo *plan, const struct topo *t, const char *path,
		       const char *text, char *err, size_t err_size);

/*
 * The snapshot with what a plan adds to it: its devices that are not there, and its links at ports
 * that no known link is at, which *added counts. The caller's.
 */
struct topo *cabling_plan_add(const struct topo *plan, const struct topo *t, unsigned *added);

/*
 * Why a new cable between these ports of two switches, by index, has no place beside the links that
 * are known, up or down: a literal. NULL = it has one, or the fabric has such cables already, or
 * nothing was in these ports and the two switches are cabled to each other. A link that is known at
 * either port makes way for it. Quick, by the levels of the snapshot.
 */
const char *cabling_contradiction(const struct topo *t, uint32_t a, uint32_t b);

/* The word for a kind in JSON ("rail", "swap"): a static text. */
const char *cabling_kind_name(enum cabling_kind kind);
/*
 * Write one line, cut at `size`: cabling_describe() what is wrong, where, what is there and what is
 * expected; cabling_instruct() what to do.
 */
void cabling_describe(const struct cabling_item *item, char *buf, size_t size);
void cabling_instruct(const struct cabling_item *item, char *buf, size_t size);
/* A new document {"compared", "cables", "differ": [..], "not_unique"}; the caller owns it. */
json_t *cabling_json(const struct cabling *c);
