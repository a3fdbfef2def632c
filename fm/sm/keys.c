/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * M_Keys that another manager left (IBA 14.2.4). A port that holds one takes no Set without it, and
 * each that is sent counts as a violation. So before fmd becomes master it looks at what its sweep
 * has read anyway: where more than a quarter of the nodes show another key than ours, or hide
 * theirs, it writes nothing, raises an alert, and judges again with each sweep. A few nodes are
 * left to the alerts about devices that refuse: whoever is root on a host can give its port a key,
 * and must not stop the manager by that.
 *
 * Where others are known that ports may hold, one of those that hide theirs is asked with these
 * first; if one is right, mad tries them all.
 */
#include "fm/sm/keys.h"
#include "fm/conf/m_keys.h"

#define FEW 4 /* one of so many nodes may hold another key */

struct foreign {
	unsigned nodes, hidden, of;
	struct inv_node *first, *first_hidden;
};

enum keeper { OURS, HIDDEN, FOREIGN };

/* That port may hold another one than it is to hold. */
static bool has_others(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	uint64_t keys[M_KEYS_MOST];

	return m_keys_of(inv->keys, inventory_key_guid(node, num), keys) > 1;
}

/*
 * Without another key that it may be a hidden one is not ours. M_Key 0 asks for no key, whatever
 * its protection says (14.2.4), but with protection 1 a port that hides its key shows the same 0:
 * that is taken for hidden, for to stand still is an alert and costs a command, while a Set to each
 * port of another's fabric counts as a violation at each. With protection 2 or 3 a port that has a
 * key does not answer who lacks it: that 0 is one.
 */
static enum keeper keeper_of(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);
	if (!info.mkey)
		return info.mkey_protect != 1	    ? OURS
		       : has_others(inv, node, num) ? HIDDEN
						    : FOREIGN;
	return m_keys_may_be(inv->keys, inventory_key_guid(node, num), info.mkey) ? OURS : FOREIGN;
}

/* A switch's key is that of its port 0; each port of another node has its own. */
static enum keeper worst_keeper(const struct inventory *inv, const struct inv_node *node)
{
	unsigned last = inv_is_switch(node) ? 0 : node->info.nports;
	enum keeper worst = OURS;

	for (unsigned num = inv_is_switch(node) ? 0 : 1; num <= last; num++)
		if (node->ports[num].known && keeper_of(inv, node, num) > worst)
			worst = keeper_of(inv, node, num);
	return worst;
}

static struct foreign count_foreign(const struct inventory *inv)
{
	struct foreign found = { 0 };

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		enum keeper keeper = node->gone || node->silent ? OURS : worst_keeper(inv, node);

		found.of += !node->gone && !node->silent;
		if (keeper == HIDDEN && !found.hidden++)
			found.first_hidden = node;
		if (keeper == FOREIGN && !found.nodes++)
			found.first = node;
	}
	return found;
}

/* ---- Other keys ------------------------------------------------------------------------------ */

/* Who asks with the key of a port is shown it. */
static void asked(void *arg, const struct mad_answer *answer)
{
	struct keys *k = arg;
	struct wire_port_info info = { 0 };

	k->ask = 0;
	k->asked++;
	if (answer->result == MAD_OK)
		wire_port_info_decode(answer->data, &info);
	k->right = info.mkey && info.mkey == k->key;
	k->answered(k->arg);
}

/*
 * One port that hides its key is asked with the others that it may hold, one by one. False:
 * there is none left, or no path leads there any more.
 */
static bool ask(struct keys *k, struct inventory *inv, struct inv_node *node)
{
	struct mad_request request = { .method = WIRE_GET,
				       .attr_id = WIRE_PORT_INFO,
				       .device = node->guid };
	unsigned num = inv_is_switch(node) ? 0 : 1, count;
	uint64_t keys[M_KEYS_MOST];
	struct mad_path path;

	while (num < node->info.nports && num &&
	       (!node->ports[num].known || keeper_of(inv, node, num) != HIDDEN))
		num++;
	count = m_keys_of(inv->keys, inventory_key_guid(node, num), keys);
	if (k->asked >= count || !inventory_port_path(inv, node, (uint8_t)num, &path))
		return false;
	request.path = &path;
	request.attr_mod = num;
	request.key = k->key = keys[(k->asked + 1) % count]; /* it was read with the first */
	k->ask = mad_send(k->mad, &request, asked, k);
	return true;
}

/* ---- Standing still -------------------------------------------------------------------------- */

static const char *advice(const struct conf_sm *conf)
{
	if (conf->mkey_secret.set)
		return conf->old_mkey || conf->old_mkey_secret.set
			       ? "neither m_key_secret_file nor the old key or secret matches"
			       : "m_key_secret_file does not match: set old_m_key_secret_file or "
				 "old_m_key to the key they hold";
	if (!conf->mkey && (conf->old_mkey || conf->old_mkey_secret.set))
		return "the old key or secret does not match";
	if (!conf->mkey)
		return "set m_key to the key they hold; or set old_m_key to it and m_key to a new "
		       "one";
	return conf->old_mkey ? "neither m_key nor old_m_key matches"
			      : "set old_m_key to the key they hold";
}

static void stand_still(struct keys *k, const struct foreign *found)
{
	k->foreign = true;
	k->asked = 0; /* the next sweep asks again */
	alert_raise(k->alerts, "foreign-m-key", NULL,
		    "%u of %u nodes hold a foreign M_Key (first: %s); fmd writes nothing: %s",
		    found->nodes, found->of, found->first->name, advice(&k->conf->sm));
}

const char *keys_refusal(const struct keys *k)
{
	return k->foreign ? "nodes hold a foreign M_Key, so fmd writes nothing: see alert "
			    "foreign-m-key in fmctl status"
			  : NULL;
}

enum keys_verdict keys_judge(struct keys *k, struct inventory *inv)
{
	struct foreign found = count_foreign(inv);

	if (k->ask)
		return KEYS_ASKED;
	if (found.hidden * FEW > found.of && !k->right) {
		if (ask(k, inv, found.first_hidden))
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
	k->asked = 0;
	k->right = k->foreign = false;
	alert_end(k->alerts, "foreign-m-key", NULL);
}
