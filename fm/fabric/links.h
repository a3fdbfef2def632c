/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * links: which links between switches a snapshot takes for usable (see links.c), and when that has
 * changed.
 */
#ifndef FMD_FABRIC_LINKS_H
#define FMD_FABRIC_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

struct fabric;

/* What a snapshot was collected by; it belongs to that snapshot. */
struct link_rule {
	uint32_t turns;	     /* inventory.turns then */
	bool active_decides; /* usable links are Active at both ends, else all that are up are */
};

/* f->links; its end frees it. */
void fabric_links_init(struct fabric *f);
void fabric_links_fini(struct fabric *f);

/* Before a snapshot is collected: sets the rule in the inventory. */
struct link_rule fabric_links_rule(struct fabric *f);
void fabric_links_published(struct fabric *f, const struct topo *before); /* NULL: the first */
/*
 * True: links became Active, or ceased to be, since the published snapshot was collected, and an
 * update was requested for them. False also while one is in the making, for bring-up ends once more
 * behind that. fabric_links_brought_up(): the same when bring-up has ended.
 */
bool fabric_links_follow(struct fabric *f);
bool fabric_links_brought_up(struct fabric *f);
void fabric_link_activated(void *fabric); /* bring-up's callback */

#endif
