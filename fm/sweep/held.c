/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * held: chooses ports whose acknowledged settings and tables are to be read, a few ports at a time.
 * bringup.c, pkeys.c and lanes.c read and compare them: the first difference is written again and
 * read at once, the second one in a row is inv_port.unheld.
 */
#include "fm/sweep/bringup_priv.h"

static void port_read_back(struct bringup *b, struct inv_node *node, uint8_t num)
{
	if (port_setup(node, num)->unread & INV_SET_INFO)
		bringup_reread(b, node, num);
	if (port_setup(node, num)->unread & INV_SET_PKEYS)
		pkeys_read_back(b, node, num);
	if (port_setup(node, num)->unread & INV_SET_LANES)
		lanes_read_back(b, node, num);
}

bool bringup_read_back(struct bringup *b, unsigned count, bringup_done_fn *fn, void *arg)
{
	bool from_the_first = !b->read_from;
	struct inv_node *node;
	unsigned asked = 0;

	if (b->busy || !b->any_unread)
		return false;
	for (node = inventory_from(b->inv, b->read_from); node && asked < count;
	     node = inventory_next(b->inv, node)) {
		for (unsigned p = 0; p <= node->nports; p++) {
			if (!port_setup(node, p)->unread || !bringup_port_workable(node, p))
				continue;
			if (!asked++)
				bringup_begin(b, fn, arg);
			port_read_back(b, node, (uint8_t)p);
		}
		b->read_from = node->guid + 1;
	}
	if (!node)
		b->read_from = 0;
	if (asked)
		batch_wake(b->batch);
	else
		b->any_unread = !from_the_first;
	return asked > 0;
}

bool bringup_has_unread(const struct bringup *b)
{
	return b->any_unread;
}
