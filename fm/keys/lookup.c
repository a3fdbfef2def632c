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

void port_key_want(const struct m_keys *keys, const struct inv_node *node, unsigned num,
		   struct wire_port_info *want)
{
	want->mkey = m_keys_wanted(keys, inventory_key_guid(node, num));
	want->mkey_protect = want->mkey ? m_keys_conf(keys)->protect : 0;
	if (want->mkey)
		want->mkey_lease = m_keys_conf(keys)->lease_s;
}

void port_key_show(const struct m_keys *keys, const struct inv_node *node, unsigned num,
		   uint8_t data[64])
{
	uint64_t key = m_keys_wanted(keys, inventory_key_guid(node, num));
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

	keys_of(inv, node, num, true, &keys);
	return keys.key[0];
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
