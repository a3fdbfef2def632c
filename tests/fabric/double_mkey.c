/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * M_Keys of the double's ports (IBA 14.2.4): who may ask and set.
 *
 *   protection 0, 1  Gets of all, Sets of those that have the key; with 1 the key reads as 0 to
 *                    others
 *   protection 2, 3  nothing without the key
 *
 * What has the wrong key is not answered, counted, and told by trap 256. With a lease the
 * protection ends that many seconds after the first that was wrong, unless one with the key comes
 * before: then the next manager can read the key, and set another (14.2.4.2).
 */
#include "tests/fabric/double_own.h"

static void lease_cb(void *arg)
{
	struct dport *own = arg;

	own->info.mkey_protect = 0;
}

static void lease_begins(struct double_fabric *d, struct dport *own)
{
	if (!own->info.mkey_lease)
		return;
	if (!own->mkey_lease)
		own->mkey_lease = loop_timer_new(d->loop, lease_cb, own);
	if (!loop_timer_armed(own->mkey_lease))
		loop_timer_set(own->mkey_lease, own->info.mkey_lease * 1000000ull);
}

bool mkey_check(struct double_fabric *d, struct dport *arrival, const struct wire_mad *m)
{
	struct dport *own = is_switch(arrival->node) ? &arrival->node->ports[0] : arrival;

	if (!own->info.mkey || own->info.mkey == m->key) {
		if (own->mkey_lease)
			loop_timer_stop(own->mkey_lease);
		return true;
	}
	if (m->method == WIRE_GET && own->info.mkey_protect < 2)
		return true;
	lease_begins(d, own);
	node_bad_mkey(d, own);
	return false;
}

void double_set_mkey(struct double_fabric *d, guid_t node, unsigned port, uint64_t mkey)
{
	double_hold_mkey(d, node, port, mkey, mkey ? 1 : 0, 0);
}

void double_hold_mkey(struct double_fabric *d, guid_t node, unsigned num, uint64_t mkey,
		      uint8_t protect, uint16_t lease_s)
{
	struct dport *port = double_port(d, node, num);

	port->info.mkey = mkey;
	port->info.mkey_protect = protect;
	port->info.mkey_lease = lease_s;
	if (port->mkey_lease)
		loop_timer_stop(port->mkey_lease);
}
