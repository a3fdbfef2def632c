/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * diff: the differences between two snapshots, the gravest first. Links of a node that came or went
 * are not listed one by one.
 */
#pragma once

#include "topology/snapshot/topo.h"

enum diff_kind {
	DIFF_NODE_NEW,
	DIFF_NODE_GONE,
	DIFF_LINK_UP,
	DIFF_LINK_DOWN,
	DIFF_LINK_NEW,
	DIFF_LINK_GONE,
	DIFF_LINK_SPEED,
	DIFF_DESC
};

struct diff_item {
	enum diff_kind kind;
	uint32_t old_node; /* node index in the old snapshot, TOPO_NONE where absent */
	uint32_t new_node; /* the same in the new one */
	uint8_t port;	   /* links: port number at that node (the lower-GUID end), else 0 */
};

struct diff {
	uint32_t count;
	struct diff_item *items;
};

/* Whether a link that was at one speed and width is at another; of one that had none it is not. */
bool diff_is_other_speed(const struct topo_port *was, const struct topo_port *is);
/* The differences, in memory of their own; the caller frees them (NULL is fine). */
struct diff *diff_new(const struct topo *older, const struct topo *newer);
void diff_free(struct diff *d);
/*
 * Writes one line of text, names first: `leaf-03 p17 - spine-02 p3: down`. Returns snprintf's
 * length. The item must be from diff_new() of the same two snapshots.
 */
int diff_describe(const struct topo *older, const struct topo *newer, const struct diff_item *item,
		  char *buf, size_t size);
