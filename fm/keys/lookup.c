/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * With protection levels 2 and 3 a port answers nothing without its key, not even who it is
 * (IBA 14.2.4.1). Behind a link that has led to a port before, that port's keys are tried. Where
 * these get no answer, or nobody was met there yet, the port may be one that is missed elsewhere:
 * some of those are tried too, others in each sweep.
 */
#include "fm/keys/lookup.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define CLOSED	2 /* the protection level from which on nothing is answered without the key */
#define GUESSES 8 /* in a sweep */

_Static_assert(M_KEYS_MOST + GUESSES <= MAD_KEYS_MOST, "all keys of a port, and those guessed");

struct key_lookup {
	struct inventory *inv;
	struct mad *mad;
	struct m_keys *keys;
	/* Keys of ports that are missed elsewhere. */
	uint32_t sweep; /* of which they are */
	uint32_t from;	/* the lost port at which the next sweep goes on */
	unsigned count, turn;
	uint64_t key[GUESSES];
};

struct m_keys *key_lookup_keys(const struct inventory *inv)
{
	return inv->keys ? inv->keys->keys : NULL;
}

/* ---- A port's -------------------------------------------------------------------------------- */

enum port_key port_key_of(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	guid_t guid = inventory_key_guid(node, num);
	struct wire_port_info info;

	wire_port_info_decode(node->ports[num].info, &info);
	if (!info.mkey && info.mkey_protect == 1) /* a hidden key reads as 0 then (14.2.4.1) */
		return PORT_KEY_HIDDEN;
	if (info.mkey == m_keys_wanted(key_lookup_keys(inv), guid))
		return PORT_KEY_WANTED;
	if (!info.mkey)
		return PORT_KEY_NONE;
	return m_keys_may_be(key_lookup_keys(inv), guid, info.mkey) ? PORT_KEY_OLD
								    : PORT_KEY_FOREIGN;
}

bool port_key_is_foreign(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	enum port_key key = port_has_key(node, num) ? port_key_of(inv, node, num) : PORT_KEY_WANTED;

	return key == PORT_KEY_FOREIGN ||
	       (key == PORT_KEY_HIDDEN && node->ports[num].counts_violations);
}

unsigned port_keys_of(const struct inventory *inv, const struct inv_node *node, unsigned num,
		      uint64_t list[M_KEYS_MOST])
{
	return m_keys_of(key_lookup_keys(inv), inventory_key_guid(node, num), list);
}

void port_key_want(const struct inventory *inv, const struct inv_node *node, unsigned num,
		   struct wire_port_info *want)
{
	const struct m_keys *keys = key_lookup_keys(inv);

	want->mkey = m_keys_wanted(keys, inventory_key_guid(node, num));
	want->mkey_protect = want->mkey ? m_keys_conf(keys)->protect : 0;
	if (want->mkey)
		want->mkey_lease = m_keys_conf(keys)->lease_s;
}

void port_key_show(const struct inventory *inv, const struct inv_node *node, unsigned num,
		   uint8_t data[64])
{
	uint64_t key = m_keys_wanted(key_lookup_keys(inv), inventory_key_guid(node, num));
	struct wire_port_info info;

	wire_port_info_decode(data, &info);
	if (key && port_has_key(node, num) && !info.mkey && info.mkey_protect)
		wire_port_info_show_mkey(data, key);
}

/* What it was last seen to hold goes first. */
static void keys_of(const struct inventory *inv, const struct inv_node *node, unsigned num,
		    bool reached, struct mad_keys *keys)
{
	struct wire_port_info info = { 0 };

	keys->count = port_keys_of(inv, node, num, keys->key);
	if (keys->count < 2 || !reached || !port_has_key(node, num))
		return;
	wire_port_info_decode(node->ports[num].info, &info);
	for (unsigned i = 0; i < keys->count && !keys->shown; i++)
		if (keys->key[i] == info.mkey) {
			keys->key[i] = keys->key[0];
			keys->key[0] = info.mkey;
			keys->shown = true;
		}
}

uint64_t port_key_first(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	struct mad_keys keys = { .count = 0 };

	if (!node)
		return m_keys_wanted(key_lookup_keys(inv), 0);
	keys_of(inv, node, num, true, &keys);
	return keys.key[0];
}

uint64_t port_key_own(const struct inventory *inv)
{
	return inv && inv->keys
		       ? m_keys_wanted(inv->keys->keys, mad_port_info(inv->keys->mad)->port_guid)
		       : 0;
}

bool port_key_may_be_own(const struct inventory *inv, uint64_t key)
{
	return port_key_own(inv) &&
	       m_keys_may_be(inv->keys->keys, mad_port_info(inv->keys->mad)->port_guid, key);
}

void port_key_by_lid(const struct inventory *inv, const struct inv_node *node, unsigned num,
		     struct mad_request *request)
{
	num = inv_is_switch(node) ? 0 : num;
	if (node == inv->local)
		return;
	request->lid = node->ports[num].lid;
	request->key = port_key_first(inv, node, num); /* else it would be searched for by LID */
}

/* ---- Guesses --------------------------------------------------------------------------------- */

static bool is_lost(const struct inv_node *node, unsigned num)
{
	if (inv_is_switch(node))
		return num == 0 && (node->gone || node->silent);
	return num && inventory_key_guid(node, num) &&
	       (node->gone || node->silent || (node->ports[num].peer && !node->ports[num].link_up));
}

/* The most likely keys of some more ports that are known and not reached. */
static void guess(struct key_lookup *l)
{
	uint32_t met = 0;

	l->sweep = l->inv->numbered.sweeps;
	l->count = 0;
	for (const struct inv_node *node = inventory_first(l->inv); node && l->count < GUESSES;
	     node = inventory_next(l->inv, node))
		for (unsigned p = 0; p <= node->nports && l->count < GUESSES; p++) {
			uint64_t held[M_KEYS_MOST], seen;

			if (!is_lost(node, p) || met++ < l->from)
				continue;

			unsigned count = port_keys_of(l->inv, node, p, held);

			seen = m_keys_remembered(l->keys, inventory_key_guid(node, p));
			l->key[l->count++] = seen ? seen : held[!held[0] && count > 1];
		}
	l->from = l->count == GUESSES ? l->from + GUESSES : 0;
}

/*
 * known: something says who is there. Else each try begins with another key: rounds of tries are
 * few and short.
 */
static void add_guesses(struct key_lookup *l, bool known, struct mad_keys *keys)
{
	if (l->sweep != l->inv->numbered.sweeps)
		guess(l);
	for (unsigned i = 0; i < l->count && keys->count < MAD_KEYS_MOST; i++)
		if (!any_of(k, 0, keys->count, keys->key[k] == l->key[i]))
			keys->key[keys->count++] = l->key[i];

	unsigned turn = known ? 0 : l->turn++ % keys->count;

	for (unsigned i = 0; i < turn; i++) {
		uint64_t first = keys->key[0];

		memmove(keys->key, keys->key + 1, (keys->count - 1) * sizeof(first));
		keys->key[keys->count - 1] = first;
	}
}

/* ---- What an SMP carries --------------------------------------------------------------------- */

/* The port with that LID, by a walk over all nodes. */
static void keys_of_lid(const struct key_lookup *l, uint16_t lid, struct mad_keys *keys)
{
	INVENTORY_EACH (l->inv, node)
		for (unsigned p = 0; p <= node->nports; p++)
			if (port_has_key(node, p) && node->ports[p].lid == lid) {
				keys_of(l->inv, node, p, true, keys);
				return;
			}
	keys->count = m_keys_of(l->keys, 0, keys->key);
}

/* The port at the end of that path. One that is not reached has not shown its key. */
static void keys_at(struct key_lookup *l, const struct mad_path *path, struct mad_keys *keys)
{
	const struct inventory *inv = l->inv;
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
	reached &= node && !node->silent;
	if (node)
		keys_of(inv, node, inv_is_switch(node) ? 0 : num, reached, keys);
	else
		keys->count = m_keys_of(l->keys, 0, keys->key);
	if (!reached && m_keys_conf(l->keys)->protect >= CLOSED)
		add_guesses(l, node, keys);
}

static void look_up(void *arg, const struct mad_path *path, uint16_t lid, struct mad_keys *keys)
{
	struct key_lookup *l = arg;
	const struct m_keys *all = l->keys;

	if (!m_key_conf_any(m_keys_conf(all)) && !m_keys_change(all))
		keys->count = 1; /* none, whoever is there: no walk */
	else if (!path)
		keys_of_lid(l, lid, keys);
	else if (!path->hops && !l->inv->local) /* the own port, known by its device */
		keys->count = m_keys_of(all, mad_port_info(l->mad)->port_guid, keys->key);
	else
		keys_at(l, path, keys);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void key_lookup_begin(struct inventory *inv, struct mad *mad, struct m_keys *keys)
{
	inv->keys = mem_new(inv->keys);
	*inv->keys = (struct key_lookup){ .inv = inv, .mad = mad, .keys = keys };
	mad_set_keys(mad, look_up, inv->keys);
}

void key_lookup_end(struct inventory *inv)
{
	if (inv->keys)
		mad_set_keys(inv->keys->mad, NULL, NULL);
	free(inv->keys);
	inv->keys = NULL;
}

/* ---- M_Keys that another manager left (IBA 14.2.4) ------------------------------------------- */

/*
 * A port that holds an M_Key takes no Set without it, and each Set without it counts as a
 * violation. So before fmd becomes master it looks at what its sweep has read anyway: where more
 * than a quarter of the nodes show another key than ours, or hide theirs, it writes nothing, raises
 * an alert, and judges again with each sweep. A few nodes are left to the alerts about devices that
 * refuse: the root user of a host can give its port a key, and must not stop the manager by that.
 *
 * Where others are known that ports may hold, one of those that hide theirs is asked with these
 * first; if one is right, mad tries them all.
 */

#define FEW 4 /* one of so many nodes may hold another key */

struct foreign {
	unsigned nodes, hidden, of;
	struct inv_node *first, *first_hidden;
};

enum keeper { OURS, HIDDEN, FOREIGN };

/*
 * Without another key that it may be a hidden one is not ours. M_Key 0 asks for no key, whatever
 * its protection says (14.2.4), but with protection 1 a port that hides its key shows the same 0:
 * that is taken for hidden, for to stand still is an alert and costs a command, while a Set to each
 * port of another's fabric counts as a violation at each. With protection 2 or 3 a port that has a
 * key does not answer who lacks it: that 0 is one.
 */
static enum keeper keeper_of(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	enum port_key key = port_key_of(inv, node, num);
	uint64_t others[M_KEYS_MOST];

	if (key == PORT_KEY_HIDDEN)
		return port_keys_of(inv, node, num, others) > 1 ? HIDDEN : FOREIGN;
	return key == PORT_KEY_FOREIGN ? FOREIGN : OURS;
}

/* A switch's key is that of its port 0; each port of another node has its own. */
static enum keeper worst_keeper(const struct inventory *inv, const struct inv_node *node)
{
	unsigned last = inv_is_switch(node) ? 0 : node->info.nports;
	enum keeper worst = OURS;

	for (unsigned num = !inv_is_switch(node); num <= last; num++)
		if (node->ports[num].known && keeper_of(inv, node, num) > worst)
			worst = keeper_of(inv, node, num);
	return worst;
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
	unsigned num = !inv_is_switch(node), count;
	uint64_t keys[M_KEYS_MOST];
	struct mad_path path;

	while (num < node->info.nports && num &&
	       (!node->ports[num].known || keeper_of(inv, node, num) != HIDDEN))
		num++;
	count = port_keys_of(inv, node, num, keys);
	if (k->asked >= count || !inventory_port_path(inv, node, num, &path))
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

const char *keys_refusal(const struct keys *k)
{
	return k->foreign ? "nodes hold a foreign M_Key, so fmd writes nothing: see alert "
			    "foreign-m-key in fmctl status"
			  : NULL;
}

enum keys_verdict keys_judge(struct keys *k, struct inventory *inv)
{
	struct foreign found = { 0 };

	INVENTORY_EACH (inv, node) {
		enum keeper keeper = node->gone || node->silent ? OURS : worst_keeper(inv, node);

		found.of += !node->gone && !node->silent;
		if (keeper == HIDDEN && !found.hidden++)
			found.first_hidden = node;
		if (keeper == FOREIGN && !found.nodes++)
			found.first = node;
	}

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
		k->foreign = true;
		k->asked = 0; /* the next sweep asks again */
		alert_raise(
			k->alerts, "foreign-m-key", NULL,
			"%u of %u nodes hold a foreign M_Key (first: %s); fmd writes nothing: %s",
			found.nodes, found.of, found.first->name, advice(&k->conf->sm));

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
