/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/conf/m_keys.h"
#include "fm/inventory/inventory.h"

_Static_assert(M_KEYS_MOST < MAD_KEYS_MOST, "all keys of a port, and some that are guessed");

/* ---- A port's -------------------------------------------------------------------------------- */

guid_t inventory_key_guid(const struct inv_node *node, unsigned num)
{
	if (inv_is_switch(node))
		return node->guid;
	return node->port_guids && num <= node->nports ? node->port_guids[num] : 0;
}

enum inv_key inventory_key_of(const struct inventory *inv, const struct inv_node *node,
			      unsigned num)
{
	guid_t guid = inventory_key_guid(node, num);
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);
	if (!info.mkey && info.mkey_protect == 1) /* a hidden key reads as 0 then (14.2.4.1) */
		return INV_KEY_HIDDEN;
	if (info.mkey == m_keys_wanted(inv->keys, guid))
		return INV_KEY_WANTED;
	if (!info.mkey)
		return INV_KEY_NONE;
	return m_keys_may_be(inv->keys, guid, info.mkey) ? INV_KEY_OLD : INV_KEY_FOREIGN;
}

bool inventory_key_is_foreign(const struct inventory *inv, const struct inv_node *node,
			      unsigned num)
{
	enum inv_key key =
		inventory_has_key(node, num) ? inventory_key_of(inv, node, num) : INV_KEY_WANTED;

	return key == INV_KEY_FOREIGN ||
	       (key == INV_KEY_HIDDEN && node->ports[num].counts_violations);
}

/* What it was last seen to hold goes first. */
static void keys_of(const struct inventory *inv, const struct inv_node *node, unsigned num,
		    bool reached, struct mad_keys *keys)
{
	struct wire_port_info info = { 0 };

	keys->count = m_keys_of(inv->keys, inventory_key_guid(node, num), keys->key);
	if (keys->count < 2 || !reached || !inventory_has_key(node, num))
		return;
	wire_port_info_decode(node->ports[num].info, &info);
	for (unsigned i = 0; i < keys->count && !keys->shown; i++)
		if (keys->key[i] == info.mkey) {
			keys->key[i] = keys->key[0];
			keys->key[0] = info.mkey;
			keys->shown = true;
		}
}

uint64_t inventory_key(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	struct mad_keys keys = { .count = 0 };

	keys_of(inv, node, num, true, &keys);
	return keys.key[0];
}

/* ---- What an SMP carries --------------------------------------------------------------------- */

enum inv_end inventory_keys_at(const struct inventory *inv, const struct mad_path *path,
			       struct mad_keys *keys)
{
	const struct inv_node *node = inv->local;
	unsigned num = inv->local_port;
	bool reached = true;

	for (unsigned i = 0; node && i < path->hops; i++) {
		const struct inv_port *port =
			path->ports[i] <= node->nports ? &node->ports[path->ports[i]] : NULL;

		reached = port && port->link_up;
		num = port ? port->peer_port : 0;
		node = port ? port->peer : NULL;
	}
	if (!node) {
		keys->count = m_keys_of(inv->keys, 0, keys->key);
		return INV_END_UNKNOWN;
	}
	reached &= !node->silent;
	keys_of(inv, node, inv_is_switch(node) ? 0 : num, reached, keys);
	return reached ? INV_END_REACHED : INV_END_KNOWN;
}

void inventory_keys_of_lid(const struct inventory *inv, uint16_t lid, struct mad_keys *keys)
{
	INVENTORY_EACH (inv, node)
		for (unsigned p = 0; p <= node->nports; p++)
			if (inventory_has_key(node, p) && node->ports[p].lid == lid) {
				keys_of(inv, node, p, true, keys);
				return;
			}
	keys->count = m_keys_of(inv->keys, 0, keys->key);
}

void inventory_by_lid(const struct inventory *inv, const struct inv_node *node, unsigned num,
		      struct mad_request *request)
{
	num = inv_is_switch(node) ? 0 : num;
	if (node == inv->local)
		return;
	request->lid = node->ports[num].lid;
	request->key = inventory_key(inv, node, num); /* else it would be searched for by LID */
}

/* ---- Lost ------------------------------------------------------------------------------------ */

static bool is_lost(const struct inv_node *node, unsigned num)
{
	if (inv_is_switch(node))
		return num == 0 && (node->gone || node->silent);
	return num && inventory_key_guid(node, num) &&
	       (node->gone || node->silent || (node->ports[num].peer && !node->ports[num].link_up));
}

unsigned inventory_lost_ports(const struct inventory *inv, uint32_t from, guid_t *guids,
			      unsigned most)
{
	uint32_t met = 0;
	unsigned count = 0;

	for (const struct inv_node *node = inventory_first(inv); node && count < most;
	     node = inventory_next(inv, node))
		for (unsigned p = 0; p <= node->nports && count < most; p++)
			if (is_lost(node, p) && met++ >= from)
				guids[count++] = inventory_key_guid(node, p);
	return count;
}
