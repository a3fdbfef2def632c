/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/inventory/inv_keys.h"

/*
 * What protects a port ends with a lease and with its power. A port without a key counts no
 * violations: one that shows 0, and counts more of them, hides another (14.2.4.1).
 */
bool inventory_key_was_read(struct inv_port *port, const uint8_t data[64])
{
	struct wire_port_info x, y;
	bool same;

	wire_port_info_decode(port->info, &x);
	wire_port_info_decode(data, &y);
	same = port->known && x.mkey == y.mkey && x.mkey_protect == y.mkey_protect &&
	       x.mkey_lease == y.mkey_lease;
	port->counts_violations =
		same && (port->counts_violations ||
			 (y.mkey_violations > x.mkey_violations && !y.mkey && y.mkey_protect == 1));
	return same || !port->known;
}
