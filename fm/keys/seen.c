/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/keys/seen.h"
#include <inttypes.h>
#include "fm/core/m_keys.h"

#define GATHER_US 5000000

static unsigned read_keys(void *arg, FILE *in)
{
	struct m_keys *keys = arg;
	char line[128], rest[8];
	guid_t guid;
	uint64_t key;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		int count = sscanf(line, "%" SCNx64 " %" SCNx64 " %7s", &guid, &key, rest);

		if (count == EOF)
			continue; /* OpenSM leaves every second line empty */
		if (count != 2 || !guid)
			return number;
		m_keys_remember(keys, guid, key);
	}
	return 0;
}

static void forget_keys(void *arg)
{
	m_keys_forget(arg);
}

static void write_key(void *arg, guid_t guid, uint64_t key)
{
	fprintf(arg, "0x%016" PRIx64 " 0x%016" PRIx64 "\n", guid, key);
}

static void write_keys(const void *arg, FILE *out)
{
	m_keys_each(arg, write_key, out);
}

static const struct state_file keys_file = {
	.name = "guid2mkey",
	.form = "a port GUID and its M_Key",
	.read = read_keys,
	.forget = forget_keys,
	.write = write_keys,
	.gather_us = GATHER_US,
};

void seen_load(const struct fabric_services *services)
{
	state_store_read(services->state, &keys_file, services->inventory->keys);
}

/* What it shows, if that is a key of ours. A port that hides its own shows 0. */
static bool note(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	guid_t guid = inventory_key_guid(node, num);
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);
	if (!info.mkey && info.mkey_protect == 1)
		return false;
	if (info.mkey && !m_keys_may_be(inv->keys, guid, info.mkey))
		return false;
	return m_keys_remember(inv->keys, guid, info.mkey);
}

void seen_review(const struct fabric_services *services)
{
	const struct inventory *inv = services->inventory;
	bool news = false;

	for (const struct inv_node *node = inventory_first(inv); node;
	     node = inventory_next(inv, node)) {
		unsigned last = inv_is_switch(node) ? 0 : node->nports;

		for (unsigned p = inv_is_switch(node) ? 0 : 1; p <= last; p++)
			if (!node->gone && !node->silent && inventory_has_key(node, p) &&
			    (!p || node->ports[p].link_up))
				news |= note(inv, node, p);
	}
	if (news)
		state_store_changed(services->state, &keys_file, inv->keys);
}
