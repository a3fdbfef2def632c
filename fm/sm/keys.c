/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * M_Keys that another manager left (IBA 14.2.4). A port that holds one takes no Set without it, and
 * each that is sent counts as a violation. So before fmd becomes master it looks at what its sweep
 * has read anyway: where more than a quarter of the nodes show another key than ours, or hide
 * theirs, it writes nothing, raises an alert, and judges again with each sweep. A few nodes are
 * left to the alerts about devices that refuse: whoever is root on a host can give its port a key,
 * and must not stop the manager by that.
 *
 * With old_m_key one of the ports that hide theirs is asked with that first; if it is right, mad
 * tries both.
 */
#include "fm/sm/keys.h"

#define FEW 4 /* one of so many nodes may hold another key */

struct foreign {
	unsigned nodes, hidden, of;
	struct inv_node *first, *first_hidden;
};

enum keeper { OURS, HIDDEN, FOREIGN };

/*
 * Without an old key a hidden one is not ours. M_Key 0 asks for no key, whatever its protection
 * says (14.2.4), but with protection 1 a port that hides its key shows the same 0: that is taken
 * for hidden, for to stand still is an alert and costs a command, while a Set to each port of
 * another's fabric counts as a violation at each. With protection 2 or 3 a port that has a key does
 * not answer who lacks it: that 0 is one.
 */
static enum keeper keeper_of(const struct conf *conf, const struct inv_port *port)
{
	struct wire_port_info info;

	wire_port_info_decode(port->info, &info);
	if (!info.mkey)
		return info.mkey_protect != 1 ? OURS : conf->sm.old_mkey ? HIDDEN : FOREIGN;
	return info.mkey == conf->sm.mkey || info.mkey == conf->sm.old_mkey ? OURS : FOREIGN;
}

/* A switch's key is that of its port 0; each port of another node has its own. */
static enum keeper worst_keeper(const struct conf *conf, const struct inv_node *node)
{
	unsigned last = inv_is_switch(node) ? 0 : node->info.nports;
	enum keeper worst = OURS;

	for (unsigned num = inv_is_switch(node) ? 0 : 1; num <= last; num++)
		if (node->ports[num].known && keeper_of(conf, &node->ports[num]) > worst)
			worst = keeper_of(conf, &node->ports[num]);
	return worst;
}

static struct foreign count_foreign(const struct conf *conf, struct inventory *inv)
{
	struct foreign found = { 0 };

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		enum keeper keeper = node->gone || node->silent ? OURS : worst_keeper(conf, node);

		found.of += !node->gone && !node->silent;
		if (keeper == HIDDEN && !found.hidden++)
			found.first_hidden = node;
		if (keeper == FOREIGN && !found.nodes++)
			found.first = node;
	}
	return found;
}

/* ---- The old key ----------------------------------------------------------------------------- */

/* Who asks with the key of a port is shown it. */
static void asked(void *arg, const struct mad_answer *answer)
{
	struct keys *k = arg;
	struct wire_port_info info = { 0 };

	k->ask = 0;
	k->asked = true;
	if (answer->result == MAD_OK)
		wire_port_info_decode(answer->data, &info);
	k->right = info.mkey && info.mkey == k->conf->sm.old_mkey;
	k->answered(k->arg);
}

/* One port that hides its key is asked with the old one. False: no path leads there any more. */
static bool ask(struct keys *k, struct inventory *inv, struct inv_node *node)
{
	struct mad_request request = {
		.method = WIRE_GET, .attr_id = WIRE_PORT_INFO, .device = node->guid, .old_key = true
	};
	unsigned num = inv_is_switch(node) ? 0 : 1;
	struct mad_path path;

	while (num < node->info.nports && num &&
	       (!node->ports[num].known || keeper_of(k->conf, &node->ports[num]) != HIDDEN))
		num++;
	if (!inventory_port_path(inv, node, (uint8_t)num, &path))
		return false;
	request.path = &path;
	request.attr_mod = num;
	k->ask = mad_send(k->mad, &request, asked, k);
	return true;
}

/* ---- Standing still -------------------------------------------------------------------------- */

static const char *advice(const struct conf *conf)
{
	if (!conf->sm.mkey)
		return "set m_key to theirs; or m_key to another one and old_m_key to theirs";
	return conf->sm.old_mkey ? "old_m_key is not theirs either" : "set old_m_key to theirs";
}

static void stand_still(struct keys *k, const struct foreign *found)
{
	k->foreign = true;
	k->asked = false; /* the next sweep asks again */
	alert_raise(k->alerts, "foreign-m-key", "",
		    "%u of %u nodes hold an M_Key of another manager (the first: %s): nothing is "
		    "written; %s",
		    found->nodes, found->of, found->first->name, advice(k->conf));
}

const char *keys_refusal(const struct keys *k)
{
	return k->foreign
		       ? "nodes hold an M_Key of another manager, and nothing is written: see the "
			 "alert foreign-m-key in fmctl status"
		       : NULL;
}

enum keys_verdict keys_judge(struct keys *k, struct inventory *inv)
{
	struct foreign found = count_foreign(k->conf, inv);

	if (k->ask)
		return KEYS_ASKED;
	if (found.hidden * FEW > found.of && !k->right) {
		if (!k->asked && ask(k, inv, found.first_hidden))
			return KEYS_ASKED;
		if (!found.nodes)
			found.first = found.first_hidden;
		found.nodes += found.hidden;
	}
	if (found.nodes * FEW > found.of) {
		stand_still(k, &found);
		return KEYS_FOREIGN;
	}
	keys_end(k);
	return KEYS_OURS;
}

void keys_end(struct keys *k)
{
	mad_cancel(k->mad, k->ask);
	k->ask = 0;
	k->asked = k->right = k->foreign = false;
	alert_end(k->alerts, "foreign-m-key", "");
}
