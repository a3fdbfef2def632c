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
/* Takes PortInfo. False: another M_Key, or another protection by it, than was known. */
bool inventory_set_port_info(struct inv_node *node, uint8_t port, const uint8_t data[64]);
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
/*
 * Where the own port's P_Key table has the default partition, the full membership first; 0 where it
 * is not known to have it.
 */
uint16_t inventory_default_pkey_index(const struct inventory *inv);

#endif
