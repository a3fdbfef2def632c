/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sm/prefix.h"

struct count {
	uint64_t prefix; /* the candidate: that of more than half, if any is */
	unsigned lead, of, held;
};

/* Boyer and Moore's majority vote: the candidate is right if there is a majority at all. */
static void vote(struct count *c, uint64_t prefix)
{
	if (!c->lead)
		c->prefix = prefix;
	c->lead += prefix == c->prefix ? 1 : -1u;
}

static void count(struct count *c, uint64_t prefix)
{
	c->of++;
	c->held += prefix == c->prefix;
}

static void each_end(const struct inventory *inv, struct count *c,
		     void (*fn)(struct count *, uint64_t))
{
	for (const struct inv_node *node = inventory_first(inv); node;
	     node = inventory_next(inv, node)) {
		unsigned first = inv_is_switch(node) ? 0 : 1,
			 last = inv_is_switch(node) ? 0 : node->nports;

		for (unsigned p = first; !node->gone && p <= last; p++) {
			struct wire_port_info info;

			if (!node->ports[p].known)
				continue;
			wire_port_info_decode(node->ports[p].info, &info);
			if (info.gid_prefix)
				fn(c, info.gid_prefix);
		}
	}
}

bool prefix_is_foreign(const struct inventory *inv, uint64_t ours, uint64_t *theirs)
{
	struct count c = { 0 };

	each_end(inv, &c, vote);
	each_end(inv, &c, count);
	*theirs = c.prefix;
	return c.held * 4 > c.of * 3 && c.prefix != ours;
}
