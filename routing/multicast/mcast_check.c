/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_check: the judge of multicast trees (see mcast_tree.h). It knows the snapshot, the members
 * and the port masks, nothing of roots and distances.
 *
 * The links named by the masks, whichever of their ends names them, must make one tree of the
 * hops: joined one by one in a union-find, none may close a ring, and one part must remain. In a
 * tree the path between two members is unique, so it is enough that each link forwards exactly
 * towards where full members are: then all that is sent arrives everywhere, once. Full members
 * beyond each link are counted by climbing from each member to an arbitrary top.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/multicast/mcast_tree.h"
#include "topology/mem.h"

struct judge {
	const struct topo *t;
	const struct mcast_group *group;
	const struct mcast_tree *tree;
	uint32_t *hop_of;    /* by switch, + 1 */
	uint32_t *part;	     /* by hop: union-find */
	uint32_t *above;     /* by hop: hop nearer to the top, TOPO_NONE = the top */
	uint32_t *receivers; /* by hop: at it and below it */
	bool *member;	     /* by hop: has a member */
	uint32_t all;	     /* receivers */
	bool tables_known;
	char *err;
	size_t err_size;
};

static bool fail(struct judge *j, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(j->err, j->err_size, format, args);
	va_end(args);
	return false;
}

static const char *hop_name(const struct judge *j, uint32_t hop)
{
	return j->t->nodes[j->tree->hops[hop].sw].name;
}

/* The hop behind a switch's port, or TOPO_NONE. */
static uint32_t hop_behind(const struct judge *j, uint32_t sw, unsigned num)
{
	const struct topo_port *port = topo_port(j->t, sw, num);
	const struct topo_port *peer = num && port->link_up ? topo_peer(j->t, port) : NULL;

	return peer && peer->node < j->t->nswitches ? j->hop_of[peer->node] - 1 : TOPO_NONE;
}

/* Does the link carry the group in either direction? */
static bool in_use(const struct judge *j, uint32_t hop, unsigned num, uint32_t peer_hop)
{
	const struct mcast_hop *h = &j->tree->hops[hop];
	const struct topo_port *peer = topo_peer(j->t, topo_port(j->t, h->sw, num));

	return mcast_forwards(h, num) || mcast_forwards(&j->tree->hops[peer_hop], peer->num);
}

static bool carries(const struct judge *j, uint32_t sw)
{
	return mcast_carries(&j->t->nodes[sw], j->tables_known, j->group->mlid);
}

static bool index_hops(struct judge *j)
{
	const struct mcast_tree *tree = j->tree;

	for (uint32_t i = 0; i < tree->nhops; i++) {
		const struct mcast_hop *h = &tree->hops[i];

		if (h->sw >= j->t->nswitches || j->t->nodes[h->sw].guid != h->guid)
			return fail(j, "hop %u: no such switch", i);
		if (!carries(j, h->sw))
			return fail(j, "%s has no place for the group in its table",
				    j->t->nodes[h->sw].name);
		if (j->hop_of[h->sw])
			return fail(j, "%s is on the tree twice", j->t->nodes[h->sw].name);
		j->hop_of[h->sw] = i + 1;
		j->part[i] = i;
		j->above[i] = TOPO_NONE;
	}
	return true;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

static bool port_is_sound(struct judge *j, uint32_t hop, unsigned num)
{
	const struct topo_node *sw = &j->t->nodes[j->tree->hops[hop].sw];
	const struct topo_port *port;

	if (num > sw->nports)
		return fail(j, "%s has no port %u", sw->name, num);
	port = &j->t->ports[sw->port0 + num];
	if (num && !port->link_up)
		return fail(j, "%s[%u]: the link is down", sw->name, num);
	if (num && j->t->ports[port->peer].node < j->t->nswitches &&
	    hop_behind(j, j->tree->hops[hop].sw, num) == TOPO_NONE)
		return fail(j, "%s[%u] leads to a switch off the tree", sw->name, num);
	return true;
}

static bool ports_are_sound(struct judge *j)
{
	for (uint32_t i = 0; i < j->tree->nhops; i++)
		for (unsigned num = 0; num < 256; num++)
			if (mcast_forwards(&j->tree->hops[i], num) && !port_is_sound(j, i, num))
				return false;
	return true;
}

/* ---- Members --------------------------------------------------------------------------------- */

static bool seat_of(const struct topo *t, uint32_t port, uint32_t *sw, unsigned *num)
{
	const struct topo_port *p = &t->ports[port];

	if (p->node >= t->nswitches) {
		if (!p->link_up || t->ports[p->peer].node >= t->nswitches)
			return false;
		p = topo_peer(t, p);
	}
	*sw = p->node;
	*num = p->num;
	return true;
}

static void mark_joined(const struct judge *j, uint32_t sw, bool *seen)
{
	const struct topo *t = j->t;
	uint32_t *stack = mem_alloc(t->nswitches, sizeof(*stack)), n = 0;

	seen[sw] = true;
	stack[n++] = sw;
	while (n) {
		const struct topo_node *node = &t->nodes[stack[--n]];

		for (unsigned num = 1; num <= node->nports; num++) {
			const struct topo_port *port = &t->ports[node->port0 + num];
			uint32_t peer = port->link_up ? t->ports[port->peer].node : TOPO_NONE;

			if (peer < t->nswitches && !seen[peer] && carries(j, peer)) {
				seen[peer] = true;
				stack[n++] = peer;
			}
		}
	}
	free(stack);
}

/* A member off the tree is right only where no link leads from it to the tree. */
static bool may_be_left_out(const struct judge *j, uint32_t sw)
{
	bool *seen = mem_alloc(j->t->nswitches, sizeof(*seen));
	bool apart;

	mark_joined(j, sw, seen);
	apart = j->tree->nhops && !seen[j->tree->hops[0].sw];
	free(seen);
	return apart;
}

static bool member_is_served(struct judge *j, const struct mcast_member *member, uint32_t *left_out)
{
	uint32_t sw, hop;
	unsigned num;

	if (!seat_of(j->t, member->port, &sw, &num) || !carries(j, sw)) {
		++*left_out;
		return true;
	}
	hop = j->hop_of[sw] - 1;
	if (hop == TOPO_NONE) {
		++*left_out;
		return (j->tree->root == TOPO_NONE && member->send_only) || j->tree->narrow ||
		       may_be_left_out(j, sw) ||
		       fail(j, "%s has a member and is off the tree", j->t->nodes[sw].name);
	}
	j->member[hop] = true;
	j->receivers[hop] += !member->send_only;
	j->all += !member->send_only;
	if (mcast_forwards(&j->tree->hops[hop], num) == member->send_only)
		return fail(j, "%s[%u]: the member %s", hop_name(j, hop), num,
			    member->send_only ? "sends only and gets" : "gets nothing");
	return true;
}

static unsigned ports_to_members(const struct judge *j, uint32_t hop)
{
	const struct mcast_hop *h = &j->tree->hops[hop];
	unsigned n = 0;

	for (unsigned num = 0; num <= j->t->nodes[h->sw].nports; num++)
		n += mcast_forwards(h, num) && hop_behind(j, h->sw, num) == TOPO_NONE;
	return n;
}

static bool members_are_served(struct judge *j)
{
	uint32_t left_out = 0;

	for (uint32_t i = 0; i < j->group->nmembers; i++)
		if (!member_is_served(j, &j->group->members[i], &left_out))
			return false;
	for (uint32_t i = 0; i < j->tree->nhops; i++)
		if (ports_to_members(j, i) != j->receivers[i])
			return fail(j, "%s forwards to somebody who is no member", hop_name(j, i));
	if (j->tree->root == TOPO_NONE)
		left_out = j->tree->left_out; /* nobody to send to: no member needs a tree */
	return left_out == j->tree->left_out ||
	       fail(j, "%u members are off the tree, %u are said to be", left_out,
		    j->tree->left_out);
}

/* ---- The shape ------------------------------------------------------------------------------- */

static uint32_t part_of(uint32_t *part, uint32_t hop)
{
	while (part[hop] != hop)
		hop = part[hop] = part[part[hop]];
	return hop;
}

static bool join_from(struct judge *j, uint32_t hop, uint32_t *parts)
{
	uint32_t sw = j->tree->hops[hop].sw;

	for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
		uint32_t peer = hop_behind(j, sw, num), a, b;

		/* Each link once: from its lower port index. */
		if (peer == TOPO_NONE || !in_use(j, hop, num, peer) ||
		    topo_port(j->t, sw, num)->peer < j->t->nodes[sw].port0 + num)
			continue;
		a = part_of(j->part, hop);
		b = part_of(j->part, peer);
		if (a == b)
			return fail(j, "%s[%u] closes a ring", hop_name(j, hop), num);
		j->part[a] = b;
		--*parts;
	}
	return true;
}

static bool is_one_tree(struct judge *j)
{
	uint32_t parts = j->tree->nhops;

	for (uint32_t i = 0; i < j->tree->nhops; i++)
		if (!join_from(j, i, &parts))
			return false;
	return parts <= 1 || fail(j, "the tree is in %u pieces", parts);
}

/* Numbers hops from the top downwards in `order`, and says who is above whom. */
static void hang(struct judge *j, uint32_t *order)
{
	uint32_t tail = 0;

	order[tail++] = 0;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t hop = order[head], sw = j->tree->hops[hop].sw;

		for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
			uint32_t peer = hop_behind(j, sw, num);

			if (peer == TOPO_NONE || peer == j->above[hop] ||
			    !in_use(j, hop, num, peer))
				continue;
			j->above[peer] = hop;
			order[tail++] = peer;
		}
	}
	while (--tail)
		j->receivers[j->above[order[tail]]] += j->receivers[order[tail]];
}

static bool link_is_right(struct judge *j, uint32_t hop, unsigned num, uint32_t peer)
{
	bool downwards = j->above[peer] == hop;
	uint32_t below = j->receivers[downwards ? peer : hop];
	uint32_t beyond = downwards ? below : j->all - below;

	if (mcast_forwards(&j->tree->hops[hop], num) == (beyond > 0))
		return true;
	return fail(j, "%s[%u]: %u full members beyond, and it %s", hop_name(j, hop), num, beyond,
		    beyond ? "does not forward" : "forwards");
}

static bool links_are_right(struct judge *j)
{
	for (uint32_t i = 0; i < j->tree->nhops; i++) {
		uint32_t sw = j->tree->hops[i].sw, links = 0;

		for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
			uint32_t peer = hop_behind(j, sw, num);

			if (peer == TOPO_NONE || !in_use(j, i, num, peer))
				continue;
			links++;
			if (!link_is_right(j, i, num, peer))
				return false;
		}
		if (links < 2 && !j->member[i])
			return fail(j, "%s is a leaf of the tree without a member", hop_name(j, i));
	}
	return true;
}

static bool judge_all(struct judge *j)
{
	uint32_t *order;
	bool right;

	if (!index_hops(j) || !ports_are_sound(j) || !members_are_served(j) || !is_one_tree(j))
		return false;
	if (!j->tree->nhops)
		return true;
	order = mem_alloc(j->tree->nhops, sizeof(*order));
	hang(j, order);
	right = links_are_right(j);
	free(order);
	return right;
}

bool mcast_tree_check(const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *tree, char *err, size_t err_size)
{
	struct judge j = { .t = t, .group = group, .tree = tree, .err = err, .err_size = err_size };
	bool right;

	j.tables_known = mcast_tables_known(t);
	j.hop_of = mem_alloc(t->nswitches, sizeof(*j.hop_of));
	j.part = mem_alloc(tree->nhops, sizeof(*j.part));
	j.above = mem_alloc(tree->nhops, sizeof(*j.above));
	j.receivers = mem_alloc(tree->nhops, sizeof(*j.receivers));
	j.member = mem_alloc(tree->nhops, sizeof(*j.member));
	right = judge_all(&j);
	free(j.hop_of);
	free(j.part);
	free(j.above);
	free(j.receivers);
	free(j.member);
	return right;
}
