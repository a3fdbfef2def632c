/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/multicast/mcast_proof.h"
#include <stdarg.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

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
static bool tree_uses_link(const struct judge *j, uint32_t hop, unsigned num, uint32_t peer_hop)
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

static bool ports_are_sound(struct judge *j)
{
	for (uint32_t i = 0; i < j->tree->nhops; i++)
		for (unsigned num = 0; num < 256; num++) {
			const struct topo_node *sw = &j->t->nodes[j->tree->hops[i].sw];
			const struct topo_port *port = &j->t->ports[sw->port0 + num];

			if (!mcast_forwards(&j->tree->hops[i], num))
				continue;
			if (num > sw->nports)
				return fail(j, "%s has no port %u", sw->name, num);
			if (num && !port->link_up)
				return fail(j, "%s[%u]: the link is down", sw->name, num);
			if (num && j->t->ports[port->peer].node < j->t->nswitches &&
			    hop_behind(j, j->tree->hops[i].sw, num) == TOPO_NONE)
				return fail(j, "%s[%u] leads to a switch off the tree", sw->name,
					    num);
		}
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

/* A member off the tree is right only where no link leads from it to the tree. */
static bool may_be_left_out(const struct judge *j, uint32_t sw)
{
	bool *seen = mem_array(seen, j->t->nswitches), apart;
	const struct topo *t = j->t;
	uint32_t *stack = mem_array(stack, t->nswitches), n = 0;

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

	apart = j->tree->nhops && !seen[j->tree->hops[0].sw];
	free(seen);
	return apart;
}

static bool member_is_served(struct judge *j, const struct mcast_member *member, uint32_t *left_out)
{
	uint32_t sw;
	unsigned num;

	if (!seat_of(j->t, member->port, &sw, &num) || !carries(j, sw)) {
		++*left_out;
		return true;
	}

	uint32_t hop = j->hop_of[sw] - 1;

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

static bool members_are_served(struct judge *j)
{
	uint32_t left_out = 0;

	for (uint32_t i = 0; i < j->group->nmembers; i++)
		if (!member_is_served(j, &j->group->members[i], &left_out))
			return false;
	for (uint32_t i = 0; i < j->tree->nhops; i++) {
		const struct mcast_hop *h = &j->tree->hops[i];
		unsigned n = 0;

		for (unsigned num = 0; num <= j->t->nodes[h->sw].nports; num++)
			n += mcast_forwards(h, num) && hop_behind(j, h->sw, num) == TOPO_NONE;
		if (n != j->receivers[i])
			return fail(j, "%s forwards to somebody who is no member", hop_name(j, i));
	}
	if (j->tree->root == TOPO_NONE)
		left_out = j->tree->left_out; /* nobody to send to: no member needs a tree */
	return left_out == j->tree->left_out ||
	       fail(j, "%u members are off the tree, %u are said to be", left_out,
		    j->tree->left_out);
}

/* ---- The shape ------------------------------------------------------------------------------- */

static bool join_from(struct judge *j, uint32_t hop, uint32_t *parts)
{
	uint32_t sw = j->tree->hops[hop].sw;

	for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
		uint32_t peer = hop_behind(j, sw, num), a, b;

		/* Each link once: from its lower port index. */
		if (peer == TOPO_NONE || !tree_uses_link(j, hop, num, peer) ||
		    topo_port(j->t, sw, num)->peer < j->t->nodes[sw].port0 + num)
			continue;
		a = sort_root(j->part, hop);
		b = sort_root(j->part, peer);
		if (a == b)
			return fail(j, "%s[%u] closes a ring", hop_name(j, hop), num);
		j->part[a] = b;
		--*parts;
	}
	return true;
}

static bool links_are_right(struct judge *j)
{
	for (uint32_t i = 0; i < j->tree->nhops; i++) {
		uint32_t sw = j->tree->hops[i].sw, links = 0;

		for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
			uint32_t peer = hop_behind(j, sw, num), beyond;

			if (peer == TOPO_NONE || !tree_uses_link(j, i, num, peer))
				continue;
			links++;
			beyond =
				j->above[peer] == i ? j->receivers[peer] : j->all - j->receivers[i];
			if (mcast_forwards(&j->tree->hops[i], num) != (beyond > 0))
				return fail(j, "%s[%u]: %u full members beyond, and it %s",
					    hop_name(j, i), num, beyond,
					    beyond ? "does not forward" : "forwards");
		}
		if (links < 2 && !j->member[i])
			return fail(j, "%s is a leaf of the tree without a member", hop_name(j, i));
	}
	return true;
}

static bool judge_all(struct judge *j)
{
	uint32_t *order, parts = j->tree->nhops;

	if (!index_hops(j) || !ports_are_sound(j) || !members_are_served(j))
		return false;
	for (uint32_t i = 0; i < j->tree->nhops; i++)
		if (!join_from(j, i, &parts))
			return false;
	if (parts > 1)
		return fail(j, "the tree is in %u pieces", parts);
	if (!j->tree->nhops)
		return true;
	order = mem_array(order, j->tree->nhops);

	/* Numbers hops from the top downwards in `order`, and says who is above whom. */
	uint32_t tail = 0;

	order[tail++] = 0;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t hop = order[head], sw = j->tree->hops[hop].sw;

		for (unsigned num = 1; num <= j->t->nodes[sw].nports; num++) {
			uint32_t peer = hop_behind(j, sw, num);

			if (peer == TOPO_NONE || peer == j->above[hop] ||
			    !tree_uses_link(j, hop, num, peer))
				continue;
			j->above[peer] = hop;
			order[tail++] = peer;
		}
	}
	while (--tail)
		j->receivers[j->above[order[tail]]] += j->receivers[order[tail]];

	bool right = links_are_right(j);

	free(order);
	return right;
}

bool mcast_tree_check(const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *tree, char *err, size_t err_size)
{
	struct judge j = { .t = t, .group = group, .tree = tree, .err = err, .err_size = err_size };
	struct arena *arena = arena_new();

	j.tables_known = mcast_tables_known(t);
	j.hop_of = arena_array(arena, j.hop_of, t->nswitches);
	j.part = arena_array(arena, j.part, tree->nhops);
	j.above = arena_array(arena, j.above, tree->nhops);
	j.receivers = arena_array(arena, j.receivers, tree->nhops);
	j.member = arena_array(arena, j.member, tree->nhops);

	bool right = judge_all(&j);

	arena_free(arena);
	return right;
}

/*
 * mcast_proof: see mcast_proof.h.
 *
 * A switch of a tree forwards by all ports of its mask except the one that a packet came by: each
 * channel into it depends on the channels of these ports. A tree has a few dependencies for each
 * hop, which are processed 64 ports at a time.
 *
 * The order is the height that a search of the unicast graph leaves at each channel: a channel is
 * higher than all that it depends on. A dependency of a tree that agrees with it costs nothing; for
 * another the heights of a few channels grow (cdg.h). Trees that end leave their dependencies in
 * the graph, which does no harm. Where a tree closes a cycle, which may be with some of these, the
 * planner starts from the unicast tables alone (mcast_plan.c).
 */

struct added { /* a dependency */
	uint32_t channel;
	uint8_t out;
};

struct mcast_proof {
	const struct topo *t;
	struct cdg cdg;
	uint64_t (*bare)[CDG_WORDS];  /* by channel: the dependencies of unicast alone */
	uint64_t (*links)[CDG_WORDS]; /* by switch: its ports that are channels */
	uint32_t *turns;  /* by switch: unicast dependencies from a channel down to one up */
	bool *spanning;	  /* by topo port; NULL = none */
	uint32_t *hop_of; /* by switch, + 1: of the tree at hand */
	bool ordered;	  /* the heights are those of the graph */
	struct cdg_search *search; /* that finds them; NULL = none is under way */
	/* Of the tree at hand: what it has added, and the heights before, if any has moved. */
	struct added *added;
	uint32_t nadded;
	bool moved;
	int32_t *height;
};

struct mcast_proof *mcast_proof_new(const struct topo *t, const struct cdg *unicast)
{
	struct mcast_proof *p = mem_new(p);

	p->t = topo_ref(t);
	cdg_init(&p->cdg, t, true);
	p->bare = mem_array(p->bare, p->cdg.nchannels + 1);
	p->links = mem_array(p->links, t->nswitches + 1);
	p->hop_of = mem_array(p->hop_of, t->nswitches + 1);
	p->height = mem_array(p->height, p->cdg.nchannels + 1);
	for (uint32_t i = 0; i < unicast->nchannels; i++)
		memcpy(p->bare[p->cdg.channel[unicast->port_of[i]]], unicast->next[i],
		       sizeof(p->bare[0]));
	for (uint32_t channel = 0; channel < p->cdg.nchannels; channel++) {
		const struct topo_port *port = &p->t->ports[p->cdg.port_of[channel]];

		p->links[port->node][port->num / 64] |= 1ull << (port->num % 64);
	}
	p->turns = mem_array(p->turns, p->t->nswitches + 1);
	for (uint32_t channel = 0; channel < p->cdg.nchannels; channel++) {
		/* The number of channels up that a channel down depends on. */
		const struct cdg *c = &p->cdg;
		uint32_t rises = 0;

		for (unsigned w = 0; w < CDG_WORDS && cdg_falls(c, channel); w++)
			for (uint64_t left = p->bare[channel][w]; left; left &= left - 1) {
				unsigned out = w * 64 + __builtin_ctzll(left);

				rises += cdg_leads_on(c, channel, out) &&
					 !cdg_falls(c, c->channel[c->head[channel] + out]);
			}
		p->turns[p->cdg.to[channel]] += rises;
	}
	mcast_proof_reset(p);
	return p;
}

void mcast_proof_free(struct mcast_proof *p)
{
	if (!p)
		return;
	cdg_search_free(p->search);
	cdg_fini(&p->cdg);
	free(p->bare);
	free(p->links);
	free(p->turns);
	free(p->spanning);
	free(p->hop_of);
	free(p->height);
	free(p->added);
	topo_unref(p->t);
	free(p);
}

void mcast_proof_reset(struct mcast_proof *p)
{
	memcpy(p->cdg.next, p->bare, p->cdg.nchannels * sizeof(*p->bare));
}

/* ---- The dependencies of a tree -------------------------------------------------------------- */

/* Each dependency, by channel and a word of output ports; false ends it. */
typedef bool depends_fn(struct mcast_proof *p, uint32_t channel, unsigned word, uint64_t outs);

/* Calls fn with the dependencies of packets that a hop sends by `port` to the next hop. */
static bool each_beyond(struct mcast_proof *p, const struct mcast_tree *tree, uint32_t port,
			depends_fn *fn)
{
	const struct topo_port *in = topo_peer(p->t, &p->t->ports[port]);

	if (!in || in->node >= p->t->nswitches || !p->hop_of[in->node])
		return true;

	const struct mcast_hop *to = &tree->hops[p->hop_of[in->node] - 1];

	for (unsigned word = 0; word < CDG_WORDS; word++) {
		uint64_t outs = mcast_mask_word(to, word) & p->links[in->node][word];

		if (in->num / 64 == word)
			outs &= ~(1ull << (in->num % 64));
		if (outs && !fn(p, p->cdg.channel[port], word, outs))
			return false;
	}
	return true;
}

static bool each_dependency(struct mcast_proof *p, const struct mcast_tree *tree, depends_fn *fn)
{
	bool all = true;

	for (uint32_t i = 0; i < tree->nhops; i++)
		p->hop_of[tree->hops[i].sw] = i + 1;
	for (uint32_t i = 0; i < tree->nhops * CDG_WORDS && all; i++) {
		const struct mcast_hop *hop = &tree->hops[i / CDG_WORDS];
		unsigned word = i % CDG_WORDS;
		uint32_t port = p->t->nodes[hop->sw].port0 + word * 64;
		uint64_t left = mcast_mask_word(hop, word) & p->links[hop->sw][word];

		for (; left && all; left &= left - 1)
			all = each_beyond(p, tree, port + __builtin_ctzll(left), fn);
	}
	for (uint32_t i = 0; i < tree->nhops; i++)
		p->hop_of[tree->hops[i].sw] = 0;
	return all;
}

/* ---- Where unicast turns --------------------------------------------------------------------- */

uint32_t mcast_proof_turn(const struct mcast_proof *p, unsigned n)
{
	uint32_t last = TOPO_NONE, best;

	do {
		best = TOPO_NONE;
		for (uint32_t sw = 0; sw < p->t->nswitches; sw++)
			if (p->turns[sw] &&
			    (last == TOPO_NONE || p->turns[last] > p->turns[sw] ||
			     (p->turns[last] == p->turns[sw] && last < sw)) &&
			    (best == TOPO_NONE || p->turns[sw] > p->turns[best] ||
			     (p->turns[sw] == p->turns[best] && sw < best)))
				best = sw;
		last = best;
	} while (n-- && best != TOPO_NONE);
	return best;
}

/* ---- A spanning tree ------------------------------------------------------------------------- */

struct spanned { /* for in_use() */
	const struct topo *t;
	const struct cdg *cdg;
	const struct tables *tables;
	const bool *tree;
};

static bool in_use(void *arg, uint32_t channel, uint8_t out)
{
	const struct spanned *s = arg;
	const struct topo_port *port = &s->t->ports[s->cdg->port_of[channel]];
	uint32_t to = s->t->ports[port->peer].node;
	const uint8_t *here = tables_row(s->tables, port->node), *there = tables_row(s->tables, to);

	return (s->tree[s->cdg->port_of[channel]] && s->tree[s->t->nodes[to].port0 + out]) ||
	       any_of(lid, 1, s->tables->top + 1, here[lid] == port->num && there[lid] == out);
}

/* Adds all turns from one link of the spanning tree to others of it. False = they close a cycle. */
static bool take_in_turns(struct mcast_proof *p, struct spanned *s, uint32_t channel)
{
	uint32_t to = p->cdg.to[channel];

	for (unsigned out = 1; out <= p->t->nodes[to].nports; out++) {
		uint32_t port = p->t->nodes[to].port0 + out;
		uint32_t next = p->cdg.channel[port];

		if (!s->tree[port] || next == TOPO_NONE || p->cdg.to[next] == p->cdg.from[channel])
			continue;
		if (!cdg_has(&p->cdg, channel, out) && !cdg_grow(&p->cdg, channel, out, in_use, s))
			return false;
	}
	return true;
}

bool mcast_proof_span(struct mcast_proof *p, const struct tables *tables, const bool *spanning)
{
	struct spanned s = { p->t, &p->cdg, tables, spanning };
	unsigned length;
	bool sound = !cdg_cycles(&p->cdg, NULL, 0, &length);

	cdg_grow_begin(&p->cdg);
	for (uint32_t channel = 0; sound && channel < p->cdg.nchannels; channel++)
		if (spanning[p->cdg.port_of[channel]])
			sound = take_in_turns(p, &s, channel);
	if (sound) {
		mem_copy(p->bare, p->cdg.next, p->cdg.nchannels);
		p->spanning = mem_array_resize(p->spanning, p->t->nports + 1u);
		mem_copy(p->spanning, spanning, p->t->nports);
	}
	mcast_proof_reset(p);
	return sound;
}

const bool *mcast_proof_spanning(const struct mcast_proof *p, const struct topo *t)
{
	return p->t == t || topo_is_again(p->t, t) ? p->spanning : NULL;
}

/* ---- A tree is added ------------------------------------------------------------------------- */

bool mcast_proof_begin(struct mcast_proof *p, uint32_t visits)
{
	unsigned length;

	if (!p->ordered && !p->search)
		p->search = cdg_search_new(&p->cdg);
	if (!p->ordered && cdg_search_go(p->search, visits))
		return true;
	p->ordered |= p->search && !cdg_search_groups(p->search, NULL, 0, &length);
	cdg_search_free(p->search);
	p->search = NULL;
	return false;
}

/* All that closes a cycle stays in the graph: none of it is dropped for a tree. */
static bool is_in_use(void *arg, uint32_t channel, uint8_t out)
{
	return true;
}

static bool grow(struct mcast_proof *p, uint32_t channel, unsigned word, uint64_t outs)
{
	bool acyclic = true;

	for (uint64_t left = outs & ~p->cdg.next[channel][word]; left && acyclic;
	     left &= left - 1) {
		uint8_t out = word * 64 + __builtin_ctzll(left);

		if (!p->moved && !cdg_agrees(&p->cdg, channel, out)) {
			p->moved = true;
			mem_copy(p->height, p->cdg.height, p->cdg.nchannels);
			cdg_grow_begin(&p->cdg);
		}
		p->added = mem_grow(p->added, p->nadded);
		p->added[p->nadded++] = (struct added){ channel, out };
		acyclic = cdg_grow(&p->cdg, channel, out, is_in_use, NULL);
	}
	return acyclic;
}

bool mcast_proof_add(struct mcast_proof *p, const struct mcast_tree *tree)
{
	p->nadded = 0;
	p->moved = false;
	if (p->ordered && each_dependency(p, tree, grow))
		return true;
	for (uint32_t i = 0; i < p->nadded; i++)
		cdg_drop(&p->cdg, p->added[i].channel, p->added[i].out);
	if (p->moved)
		mem_copy(p->cdg.height, p->height, p->cdg.nchannels);
	return false;
}
