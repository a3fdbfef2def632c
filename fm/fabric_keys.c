/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_keys: M_Keys that another manager left (IBA 14.2.4). A port that holds one takes no Set without it, and each that is sent counts
 * as a violation. So before fmd rules it looks at what its sweep has read anyway: where more than a quarter of the nodes show another
 * key than ours, or hide theirs, it writes nothing, says so, and looks again with each sweep. A few are left to the alerts about
 * devices that refuse: whoever is root on a host can give its port a key, and must not stop the manager by that.
 *
 * With old_m_key a hidden key is taken for that one: mad tries both.
 */
#include "fm/fabric_own.h"

#define FEW 4 /* one of so many nodes may hold another key */

struct foreign {
	unsigned nodes, of;
	const struct inv_node *first;
};

static bool is_foreign(const struct conf *conf, const struct inv_port *port)
{
	struct wire_port_info info;

	wire_port_info_decode(port->info, &info);
	if (!info.mkey)
		return info.mkey_protect && !conf->old_mkey;
	return info.mkey != conf->mkey && info.mkey != conf->old_mkey;
}

/* A switch's key is that of its port 0; each port of another node has its own. */
static bool holds_foreign(const struct conf *conf, const struct inv_node *node)
{
	unsigned last = inv_is_switch(node) ? 0 : node->info.nports;

	for (unsigned num = inv_is_switch(node) ? 0 : 1; num <= last; num++)
		if (node->ports[num].known && is_foreign(conf, &node->ports[num]))
			return true;
	return false;
}

static struct foreign count_foreign(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	struct foreign found = { 0 };

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		if (node->gone || node->silent)
			continue;
		found.of++;
		if (!holds_foreign(&f->conf, node))
			continue;
		if (!found.nodes++)
			found.first = node;
	}
	return found;
}

static const char *advice(const struct conf *conf)
{
	if (!conf->mkey)
		return "set m_key to theirs; or m_key to another one and old_m_key to theirs";
	return conf->old_mkey ? "old_m_key is not theirs either" : "set old_m_key to theirs";
}

bool fabric_keys_foreign(struct fabric *f)
{
	struct foreign found = count_foreign(f);

	if (found.nodes * FEW <= found.of) {
		fabric_keys_end(f);
		return false;
	}
	f->state = FABRIC_FOREIGN_KEYS;
	mad_set_quiet(f->mad, true);
	alert_raise(f->alerts, "foreign-m-key", "",
		    "%u of %u nodes hold an M_Key of another manager (the first: %s): nothing is "
		    "written; %s",
		    found.nodes, found.of, found.first->desc, advice(&f->conf));
	return true;
}

void fabric_keys_end(struct fabric *f)
{
	alert_end(f->alerts, "foreign-m-key", "");
	if (f->state != FABRIC_FOREIGN_KEYS)
		return;
	f->state = FABRIC_STARTING;
	mad_set_quiet(f->mad, false);
}

void fabric_keys_configure(struct fabric *f)
{
	f->want_discover |= f->state == FABRIC_FOREIGN_KEYS;
}
