/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which M_Keys an SMP is tried with (mad_set_keys()): those of the port at the end of its path.
 *
 * With protection levels 2 and 3 a port answers nothing without its key, not even who it is
 * (IBA 14.2.4.1). Behind a link that has led to a port before, that port's keys are tried. Where
 * these get no answer, or nobody was met there yet, the port may be one that is missed elsewhere:
 * some of those are tried too, others in each sweep.
 */
#include "fm/conf/m_keys.h"
#include "fm/sweep/sweep_priv.h"

#define CLOSED 2 /* the protection level from which on nothing is answered without the key */

static void find_guesses(struct sweep *s)
{
	struct guessed_keys *g = &s->guessed;
	guid_t lost[GUESSED_KEYS];
	uint64_t keys[M_KEYS_MOST];

	g->sweep = s->number;
	g->count = inventory_lost_ports(&s->inv, g->from, lost, GUESSED_KEYS);
	g->from = g->count == GUESSED_KEYS ? g->from + GUESSED_KEYS : 0;
	for (unsigned i = 0; i < g->count; i++) {
		unsigned count = m_keys_of(s->inv.keys, lost[i], keys);
		uint64_t seen = m_keys_remembered(s->inv.keys, lost[i]);

		g->key[i] = seen ? seen : keys[0] || count < 2 ? keys[0] : keys[1];
	}
}

static bool has(const struct mad_keys *keys, uint64_t key)
{
	for (unsigned i = 0; i < keys->count; i++)
		if (keys->key[i] == key)
			return true;
	return false;
}

/*
 * Where nothing says who is there each try begins with another: rounds of tries are few and short.
 */
static void add_guesses(struct sweep *s, enum inv_end end, struct mad_keys *keys)
{
	struct guessed_keys *g = &s->guessed;
	unsigned turn;

	if (g->sweep != s->number)
		find_guesses(s);
	for (unsigned i = 0; i < g->count && keys->count < MAD_KEYS_MOST; i++)
		if (!has(keys, g->key[i]))
			keys->key[keys->count++] = g->key[i];
	if (end == INV_END_KNOWN)
		return;
	turn = g->turn++ % keys->count;
	for (unsigned i = 0; i < turn; i++) {
		uint64_t first = keys->key[0];

		for (unsigned k = 1; k < keys->count; k++)
			keys->key[k - 1] = keys->key[k];
		keys->key[keys->count - 1] = first;
	}
}

static void sweep_keys(void *arg, const struct mad_path *path, uint16_t lid, struct mad_keys *keys)
{
	struct sweep *s = arg;
	const struct m_key_conf *conf = m_keys_conf(s->inv.keys);
	enum inv_end end;

	if (!path) {
		inventory_keys_of_lid(&s->inv, lid, keys);
		return;
	}
	if (!m_key_conf_any(conf) && !m_keys_change(s->inv.keys)) {
		*keys = (struct mad_keys){ .count = 1 }; /* none, whoever is there: no walk */
		return;
	}
	if (!path->hops && !s->inv.local) { /* the own port, known by its device */
		keys->count = m_keys_of(s->inv.keys, mad_port_info(s->mad)->port_guid, keys->key);
		return;
	}
	end = inventory_keys_at(&s->inv, path, keys);
	if (end != INV_END_REACHED && conf->protect >= CLOSED)
		add_guesses(s, end, keys);
}

void sweep_use_keys(struct sweep *s, struct m_keys *keys)
{
	s->inv.keys = keys;
	mad_set_keys(s->mad, keys ? sweep_keys : NULL, s);
}
