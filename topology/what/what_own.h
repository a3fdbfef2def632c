/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * what_own: the parts of what.c, which call each other downward:
 *   what.c          texts with marks, ports and links; nodes and hosts by their names and by names
 *                   that look alike; what a command takes
 *   what_number.c   LIDs, MLIDs, P_Keys and GUIDs; results, and texts about them
 */
#pragma once

#include "topology/what/what.h"

enum outcome { NOTHING, FOUND, REFUSED /* the reason is in err */ };

struct find {
	const struct what_scope *scope;
	const char *what; /* as it was written */
	char *err;
	size_t size;
};

/* The result that is a node, or its port `port` if that is not 0; and one of another kind. */
struct what what_place(uint32_t node, unsigned port);
struct what what_thing(enum what_kind kind, unsigned number);
/*
 * Writes the link of a port (an index in topo.ports, with a known peer) as `A p1 - B p2`. Returns
 * snprintf's length.
 */
int what_link_name(const struct topo *t, uint32_t port, char *buf, size_t size);

/* Decimal, or hexadecimal with 0x: *digits is the number of digits behind it. False: neither. */
bool what_parse_number(const char *text, uint64_t *value, size_t *digits);
/*
 * The what_find_ functions set *w and return FOUND. NOTHING = the text is no such number, or no
 * node or port has it. what_find_lid(): the port with that LID; REFUSED with the reason in err =
 * there is none.
 */
enum outcome what_find_lid(struct find *f, uint64_t lid, struct what *w);
/* A GUID: 0x.., S-.., H-.., R-.., 16 digits alone, or sysfs' four groups of four. */
enum outcome what_find_guid(struct find *f, const char *text, struct what *w);
/* A GID as inet_pton(3) reads it: from ff00:: on an MGID, else its lower half is a GUID. */
enum outcome what_find_gid(struct find *f, const char *text, struct what *w);
/*
 * A bare number: a LID, an MLID, or a P_Key where the scope says so. NOTHING with a reason in err:
 * a LID that no port holds.
 */
enum outcome what_find_number(struct find *f, const char *text, struct what *w);

struct what_matches { /* zeroed = none; free(nodes) */
	uint32_t count;
	uint32_t *nodes; /* that a text names */
	uint32_t host;	 /* TOPO_NONE, or the text names this host as a whole */
};
