/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_keys: M_Keys of ports (IBA 14.2.4; see inventory.h): what a port holds, and what SMPs on
 * their way to it are to carry. A switch has one, that of its port 0.
 */
#ifndef FMD_INVENTORY_INV_KEYS_H
#define FMD_INVENTORY_INV_KEYS_H

#include "fm/inventory/inv_node.h"

struct inventory;
struct m_keys;

enum inv_key {
	INV_KEY_WANTED, /* what it is to hold; none, where it is to hold none */
	INV_KEY_NONE,	/* 0: fresh from a reset, or never had one */
	INV_KEY_OLD,	/* another that is known */
	INV_KEY_HIDDEN, /* it has one, and did not show it to the key that the request had */
	INV_KEY_FOREIGN,
};

static inline bool inventory_has_key(const struct inv_node *node, unsigned num)
{
	return node->ports[num].known && (inv_is_switch(node) ? num == 0 : num > 0);
}
/* The GUID that the port's key is derived from (m_keys.h); 0 = not known. */
guid_t inventory_key_guid(const struct inv_node *node, unsigned port);
enum inv_key inventory_key_of(const struct inventory *inv, const struct inv_node *node,
			      unsigned port);
/* PortInfo was read; port->info is the one before. False: its key or its protection differs. */
bool inventory_key_was_read(struct inv_port *port, const uint8_t data[64]);
/*
 * Whether the port holds an M_Key of another manager: one that it shows and that is not known, or
 * one that it hides and for which it has counted a violation.
 */
bool inventory_key_is_foreign(const struct inventory *inv, const struct inv_node *node,
			      unsigned port);
/* The M_Key that a request to the port is to carry first; 0 = none is needed. */
uint64_t inventory_key(const struct inventory *inv, const struct inv_node *node, unsigned port);
enum inv_end {			/* what is known of the port at the end of a path */
	       INV_END_UNKNOWN, /* no link is known there */
	       INV_END_KNOWN,	/* by a link that is not up again yet, or it does not answer */
	       INV_END_REACHED,
};
/*
 * Writes the keys that the port at the end of that path may hold, and returns what is known of that
 * port. A port that is not reached has not shown its key.
 */
enum inv_end inventory_keys_at(const struct inventory *inv, const struct mad_path *path,
			       struct mad_keys *keys);
/* The keys that the port with that LID may hold; walks over all nodes. */
void inventory_keys_of_lid(const struct inventory *inv, uint16_t lid, struct mad_keys *keys);
/*
 * Ports that are known and not reached, from the from-th on, at most `most`; returns their number.
 */
unsigned inventory_lost_ports(const struct inventory *inv, uint32_t from, guid_t *guids,
			      unsigned most);

#endif
