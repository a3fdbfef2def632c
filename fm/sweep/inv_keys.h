/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_keys: M_Keys of ports (IBA 14.2.4; see inventory.h): what a port holds, and what SMPs on
 * their way to it are to carry. A switch has one, that of its port 0.
 */
#ifndef FMD_SWEEP_INV_KEYS_H
#define FMD_SWEEP_INV_KEYS_H

#include "fm/sweep/inv_node.h"

struct inventory;
struct m_keys;

enum inv_key {
	INV_KEY_WANTED, /* what it is to hold; none, where it is to hold none */
	INV_KEY_NONE,	/* 0: fresh from a reset, or never had one */
	INV_KEY_OLD,	/* another that is known */
	INV_KEY_HIDDEN, /* some that it did not show to the key that it was asked with */
	INV_KEY_FOREIGN,
};

static inline bool inventory_has_key(const struct inv_node *node, unsigned num)
{
	return node->ports[num].known && (inv_is_switch(node) ? num == 0 : num > 0);
}
/* Whose key it is; 0 = not known. */
guid_t inventory_key_guid(const struct inv_node *node, unsigned port);
enum inv_key inventory_key_of(const struct inventory *inv, const struct inv_node *node,
			      unsigned port);
/* With what it is to be asked; 0 = it needs none. */
uint64_t inventory_key(const struct inventory *inv, const struct inv_node *node, unsigned port);
/* The end of a path. */
enum inv_end {
	INV_END_UNKNOWN, /* no cable is known there */
	INV_END_KNOWN,	 /* by a cable that is not up again yet, or it does not answer */
	INV_END_REACHED,
};
/* Those that the port there may hold. What is not reached has shown nothing. */
enum inv_end inventory_keys_at(const struct inventory *inv, const struct mad_path *path,
			       struct mad_keys *keys);
/* Likewise of the port with a LID; a walk over all nodes. */
void inventory_keys_of_lid(const struct inventory *inv, uint16_t lid, struct mad_keys *keys);
/* Ports that are known and not reached, `most` of them from the from-th on; how many. */
unsigned inventory_lost_ports(const struct inventory *inv, uint32_t from, guid_t *guids,
			      unsigned most);

#endif
