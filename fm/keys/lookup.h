/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lookup: the M_Key of a port (IBA 14.2.4): which one it is to hold, which ones it may hold, what
 * it has shown, and which an SMP on its way there is to carry. Keys are chosen and judged here
 * alone; how one is derived is fm/conf/m_keys.h. A switch has one key, that of its port 0.
 */
#pragma once

#include "fm/conf/conf.h"
#include "fm/conf/m_keys.h"
#include "fm/events/alert.h"
#include "fm/inventory/inventory.h"

/*
 * From now on ports of the inventory are to hold these keys, and mad asks here for whatever is sent
 * over it; both are borrowed, and outlive the end.
 */
void key_lookup_begin(struct inventory *inv, struct mad *mad, struct m_keys *keys);
void key_lookup_end(struct inventory *inv); /* one that has not begun is fine */
/* These keys; NULL = there are none. */
struct m_keys *key_lookup_keys(const struct inventory *inv);

enum port_key {
	PORT_KEY_WANTED, /* what it is to hold; none, where it is to hold none */
	PORT_KEY_NONE,	 /* 0: fresh from a reset, or never had one */
	PORT_KEY_OLD,	 /* another that is known */
	PORT_KEY_HIDDEN, /* it has one, and did not show it to the key that the request had */
	PORT_KEY_FOREIGN,
};

/* Its PortInfo is known, and has a key. */
static inline bool port_has_key(const struct inv_node *node, unsigned num)
{
	return node->ports[num].known && (inv_is_switch(node) ? num == 0 : num > 0);
}
/* What it holds, as it was read last. */
enum port_key port_key_of(const struct inventory *inv, const struct inv_node *node, unsigned num);
/*
 * Whether the port holds an M_Key of another manager: one that it shows and that is not known, or
 * one that it hides and for which it has counted a violation.
 */
bool port_key_is_foreign(const struct inventory *inv, const struct inv_node *node, unsigned num);
/* All that it may hold, each once, the one that it is to hold first; their number. None: 1, a 0. */
unsigned port_keys_of(const struct inventory *inv, const struct inv_node *node, unsigned num,
		      uint64_t list[M_KEYS_MOST]);

/* Key, protection and lease that a port with a key is to hold. */
void port_key_want(const struct inventory *inv, const struct inv_node *node, unsigned num,
		   struct wire_port_info *want);
/*
 * The answer to a Set that gave a port its key hides it from a request with the former key
 * (IBA 14.2.4.1): writes it there.
 */
void port_key_show(const struct inventory *inv, const struct inv_node *node, unsigned num,
		   uint8_t data[64]);

/* What the own port is to hold, 0 = no key; and whether it may hold that one. inv NULL: none. */
uint64_t port_key_own(const struct inventory *inv);
bool port_key_may_be_own(const struct inventory *inv, uint64_t key);

/* The M_Key that a request to the port is to carry first; 0 = none is needed. NULL: to any port. */
uint64_t port_key_first(const struct inventory *inv, const struct inv_node *node, unsigned num);
/*
 * Has an SMP to that port, of a switch to any, go by its LID, as switches forward data, for the
 * agents of those between would have to handle a directed one. The own port's stays as it is.
 */
void port_key_by_lid(const struct inventory *inv, const struct inv_node *node, unsigned num,
		     struct mad_request *request);

/* ---- Whether another manager's M_Keys protect this fabric (IBA 14.2.4) ----------------------- */

/* The caller's; all zero but for these four = nothing is known. */
struct keys {
	struct mad *mad;
	struct alerts *alerts;
	const struct conf *conf;
	loop_fn *answered; /* KEYS_ASKED has an answer: judge again; with arg */
	void *arg;

	mad_token ask;
	uint64_t key;	/* that it is asked with */
	unsigned asked; /* keys that were tried before this one */
	bool right;	/* `key` is what it hides */
	bool foreign;	/* as last judged, and the alert foreign-m-key is raised */
};

enum keys_verdict {
	KEYS_OURS,    /* of all nodes but a few */
	KEYS_ASKED,   /* one port is being asked with other keys first */
	KEYS_FOREIGN, /* nothing may be written; an alert says so */
};

/*
 * Judges what a sweep has read. KEYS_ASKED: answered() is called from the loop, and it is to be
 * judged again then; a sweep that ends meanwhile gets KEYS_ASKED again.
 */
enum keys_verdict keys_judge(struct keys *keys, struct inventory *inventory);
/* Forgets what was judged and asked, and ends the alert. */
void keys_end(struct keys *keys);
/* Why operators' commands are not taken; a literal. NULL = keys are no reason. */
const char *keys_refusal(const struct keys *keys);
