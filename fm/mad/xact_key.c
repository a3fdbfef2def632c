/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>
#include "fm/mad/xact_key.h"
#include "fm/mad/xact_queue.h"

static bool has_two_keys(const struct mad_conf *conf, const struct xact *x)
{
	return conf->old_mkey && wire_is_smi(x->mgmt_class) && !x->old_key;
}

/* Tries that were lost with the same key turn it once. */
void xact_key_choose(const struct mad_conf *conf, struct xact *x)
{
	if (!has_two_keys(conf, x))
		x->key = x->old_key;
	else if (x->device)
		x->key = x->device->key[x->method == WIRE_SET];
	else if (x->tries)
		x->key = !x->key;
}

void xact_key_failed(const struct mad_conf *conf, const struct xact *x)
{
	uint8_t *first = x->device ? &x->device->key[x->method == WIRE_SET] : NULL;

	if (first && has_two_keys(conf, x) && *first == x->key)
		*first = !x->key;
}

/* A late answer may be to another try than the last: then the next loss tells. */
void xact_key_worked(const struct mad_conf *conf, const struct xact *x, bool done)
{
	struct wire_port_info info;

	if (!x->device || !has_two_keys(conf, x))
		return;
	x->device->key[x->method == WIRE_SET] = x->key;
	if (!done || x->method != WIRE_SET || x->attr_id != WIRE_PORT_INFO)
		return;
	wire_port_info_decode(x->data, &info);
	if (info.mkey == conf->mkey)
		memset(x->device->key, 0, sizeof(x->device->key));
}
