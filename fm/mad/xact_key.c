/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>
#include "fm/mad/xact_key.h"
#include "fm/mad/xact_queue.h"

static void forget(struct xact_device *device)
{
	memset(device->key, 0, sizeof(device->key));
	memset(device->proven, 0, sizeof(device->proven));
}

static void keys_of(const struct xact_keys *keys, const struct xact *x, struct mad_keys *list)
{
	*list = (struct mad_keys){ .count = 0 };
	if (keys->fn) {
		keys->fn(keys->arg, x->mgmt_class == WIRE_SMI_DR ? &x->path : NULL, x->lid, list);
		return;
	}
	list->key[list->count++] = keys->key;
	if (keys->old_key)
		list->key[list->count++] = keys->old_key;
}

static unsigned place_of(const struct mad_keys *list, uint64_t key)
{
	unsigned i = 0;

	while (i < list->count && list->key[i] != key)
		i++;
	return i;
}

static uint64_t next_of(const struct mad_keys *list, uint64_t key)
{
	unsigned i = place_of(list, key);

	return list->key[i < list->count ? (i + 1) % list->count : 0];
}

static uint64_t first_of(const struct mad_keys *list, const struct xact *x)
{
	uint64_t known = x->device ? x->device->key[x->method == WIRE_SET] : 0;

	return !list->shown && known && place_of(list, known) < list->count ? known : list->key[0];
}

void xact_key_choose(const struct xact_keys *keys, struct xact *x)
{
	struct mad_keys list;

	if (x->key_given || !wire_is_smi(x->mgmt_class))
		return;
	keys_of(keys, x, &list);
	if (!list.count)
		x->key = 0;
	else if (!x->tries || (x->device && !list.shown))
		x->key = first_of(&list, x);
	else
		x->key = next_of(&list, x->key);
}

bool xact_key_failed(const struct xact_keys *keys, const struct xact *x)
{
	bool set = x->method == WIRE_SET;
	struct mad_keys list;

	if (x->key_given || !wire_is_smi(x->mgmt_class))
		return false;
	keys_of(keys, x, &list);
	if (list.count < 2)
		return false;
	if (x->device && first_of(&list, x) == x->key) {
		bool proven = x->device->proven[set] || list.shown;

		x->device->key[set] = next_of(&list, x->key);
		x->device->proven[set] = false;
		return !proven;
	}
	return true;
}

/* A late answer may be to another try than the last: then the next loss corrects the choice. */
void xact_key_worked(const struct xact_keys *keys, const struct xact *x, bool done)
{
	bool set = x->method == WIRE_SET;
	struct wire_port_info info;
	struct mad_keys list;

	if (!x->device || x->key_given || !wire_is_smi(x->mgmt_class))
		return;
	keys_of(keys, x, &list);
	if (list.count < 2) {
		forget(x->device);
		return;
	}
	x->device->key[set] = x->key;
	x->device->proven[set] = true;
	if (!done || !set || x->attr_id != WIRE_PORT_INFO)
		return;
	wire_port_info_decode(x->data, &info);
	if (info.mkey != x->key)
		forget(x->device);
}
