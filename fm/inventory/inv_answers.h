/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inv_answers: what ports answered, written to their record (see inventory.h).
 */
#ifndef FMD_INVENTORY_INV_ANSWERS_H
#define FMD_INVENTORY_INV_ANSWERS_H

#include "fm/inventory/inv_keys.h"

struct inventory;

/* PortInfo's attribute modifier: bit 31 asks for the extended speeds where they are supported. */
uint32_t inventory_port_modifier(const struct inv_node *node, uint8_t port);
/* Records the GUID of a CA's port. */
void inventory_set_port_guid(struct inventory *inv, struct inv_node *node, uint8_t port,
			     guid_t guid);
/* True: another GUID is known of that port of a CA. */
static inline bool inventory_other_port_guid(const struct inv_node *node, uint8_t num, guid_t guid)
{
	return node->port_guids && node->port_guids[num] && node->port_guids[num] != guid;
}
void inventory_node_answers(struct inv_node *node); /* it does not count as silent any more */
/*
 * Whether the link of that port is up, by what the port answered, and who is behind it did not
 * answer the last probe. again: it was so before, and a probe that is on its way changes nothing.
 */
bool inventory_is_silent_behind(const struct inv_node *node, unsigned port, bool again);
/* Takes PortInfo from the answer of a Get; a setting that was acknowledged is compared. */
void inventory_set_port_info(struct inv_node *node, uint8_t port, const uint8_t data[64]);
/* Takes PortInfo from the answer of a Set, which is not compared. */
void inventory_port_was_set(struct inv_node *node, uint8_t port, const uint8_t data[64]);
/* A setting that the port acknowledged was read; same: it holds it. */
void inventory_was_read(struct inv_port *port, enum inv_set what, bool same);
/* Whether a and b agree in all that a manager sets at that port, but for its state. */
bool inventory_same_settings(const struct inv_node *node, uint8_t port, const uint8_t a[64],
			     const uint8_t b[64]);
/*
 * To be called behind each change of a port's state: counts whether its link carries data now. An
 * end that was not read counts as the other.
 */
void inventory_port_changed(struct inventory *inv, struct inv_node *node, uint8_t port);
/* Whether a and b agree in all that matters to a subnet manager; counters may differ. */
bool inventory_same_port_info(const uint8_t a[64], const uint8_t b[64]);
/* Frees what is known of its P_Key table. */
void inventory_forget_pkeys(struct inv_port *port);
/*
 * Where the own port's P_Key table has the default partition, the full membership first; 0 where it
 * is not known to have it.
 */
uint16_t inventory_default_pkey_index(const struct inventory *inv);

#endif
