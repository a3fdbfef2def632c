/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * links_own: what the files about known links share. Calls go down this list:
 *
 *   module.c      what is known, when it is written, since when links are down, and two snapshots
 *                 as the records between them
 *   link_lines.c  lines of the file and of records: written, and taken into the inventory
 */
#ifndef FMD_RESTART_LINKS_OWN_H
#define FMD_RESTART_LINKS_OWN_H

#include "fm/fabric/module.h"
#include "routing/lid_plan.h"

struct down_link { /* by its end with the lower GUID, or port */
	guid_t node;
	uint8_t port;
	uint32_t noted; /* as the so many-th, until known_links_sort() */
	int64_t since;
};

/* Every link ever found, in state_dir/cables. */
struct known_links {
	const struct fabric_services *services; /* of the room */
	uint64_t shape;				/* a sum over all that is in the file, but.. */
	uint64_t sum;				/* ..for what is down, which this one has, too */
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
/* The lines of a node and of its ports; their number. */
uint32_t known_links_write_node(const struct inv_node *node, FILE *out);
/* The line of a link, by its lower end. */
void known_links_write_cable(guid_t a, unsigned port_a, guid_t b, unsigned port_b, int64_t since,
			     FILE *out);
/* Reads the file into the inventory: 0, or the number of a line that can't be. */
bool known_links_line(void *links, const char *line);
/* Takes a record: false: it is none. Behind all lines and records: known_links_sort(). */
bool known_links_take(void *links, const char *line);
/* What was read last counts, of each link that is down; known_links_since() may be asked then. */
void known_links_sort(struct known_links *links);

#endif
