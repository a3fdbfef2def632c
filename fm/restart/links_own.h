/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * links_own: what the files about known links share. Calls go down this list:
 *
 *   module.c      what is known, when it is written, since when links are down, and two snapshots
 *                 as the rows that differ
 *   link_lines.c  rows: their lines, and taken into the inventory
 */
#pragma once

#include "fm/fabric/module.h"

struct down_link { /* by its end with the lower GUID, or port */
	guid_t node;
	uint8_t port;
	int64_t since;
};

/* Every link ever found, as rows. */
struct known_links {
	const struct fabric_services *services; /* of the room */
	uint64_t shape;				/* a sum over all rows, without what is down */
	uint64_t sum;				/* a sum over all rows, with what is down */
	struct topo *seen;			/* the snapshot of these sums; NULL = none yet */
	struct down_link *down;			/* by end */
	uint32_t ndown;
};

#define KNOWN_LINKS_SINCE 32

/* ---- link_lines.c ---------------------------------------------------------------------------- */

/* True at one end of a link, always the same one. */
static inline bool known_links_is_lower(guid_t node, unsigned port, guid_t peer, unsigned peer_port)
{
	return node < peer || (node == peer && port < peer_port);
}

/* For bsearch() and qsort() of struct down_link, by end: returns an order as they expect. */
int known_links_compare(const void *a, const void *b);
/* Returns since when the link with that lower end is down; 0 = it is up, or not known. */
int64_t known_links_since(const struct known_links *links, guid_t node, uint8_t port);
/* Lines of rows without their end, the caller's: of a node, of a CA port, of a link's lower end. */
char *known_node_line(const struct inv_node *node);
char *known_port_line(const struct inv_node *node, unsigned port);
char *known_cable_line(guid_t a, unsigned port_a, guid_t b, unsigned port_b, int64_t since);
/* Take a row into the inventory: nodes, then ports, then links. False: it can't be. */
bool known_node_take(void *links, const char *line);
bool known_port_take(void *links, const char *line);
bool known_cable_take(void *links, const char *line);
/* Behind all rows: known_links_since() may be asked then. */
void known_links_sort(struct known_links *links);
