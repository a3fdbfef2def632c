/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/cabling/cabling_own.h"

/* ---- Stray cables ---------------------------------------------------------------------------- */

/*
 * Cables between switches that no other switch of the kind has anything like: within a tier, past a
 * tier, to a switch that hardly any of its like are cabled to, or one more than there should be.
 *
 * Where such cables are more than one in twenty they are how the fabric is built (rings of leaves,
 * dragonflies, chains), and none is reported.
 */
#define LIKE_MIN	4  /* in families of fewer switches no cable is irregular */
#define KIND_CABLES_MIN 40 /* in fabrics with fewer links between switches no cable is rare */

struct strays {
	struct wiring *w;
	const struct tiers *tiers;
	uint32_t *up_size, *down_size; /* by family */
	bool *above, *below;	       /* by switch: has neighbours there */
};

/* Whether enough switches have the same neighbours above or below to show what is regular. */
static bool is_of_a_kind(const struct strays *s, uint32_t sw)
{
	return (s->above[sw] && s->up_size[s->tiers->up[sw]] >= LIKE_MIN) ||
	       (s->below[sw] && s->down_size[s->tiers->down[sw]] >= LIKE_MIN - 1);
}

static bool is_strange(const struct strays *s, uint32_t port, uint32_t peer)
{
	const struct tiers *tiers = s->tiers;
	uint32_t a = s->w->v[port].node, b = s->w->v[peer].node;
	bool up = tiers->level[b] > tiers->level[a];
	uint32_t sw = up ? a : b, above = up ? b : a, count = 0;

	if (!is_of_a_kind(s, sw) || !is_of_a_kind(s, above))
		return false;
	if (tiers->level[above] != tiers->level[sw] + 1)
		return sw != above;
	if (s->up_size[tiers->up[sw]] < LIKE_MIN)
		return false;
	/* At least a quarter of the switches like `sw` are cabled to the one above. */
	for (uint32_t i = tiers->first[above]; i < tiers->first[above + 1]; i++)
		count += tiers->up[tiers->near[i]] == tiers->up[sw];
	return count * 4 < s->up_size[tiers->up[sw]];
}

void cabling_find_strays(struct wiring *w, const struct tiers *tiers)
{
	uint32_t n = w->t->nswitches + 1, cables = 0, strays = 0;
	struct strays s = { .w = w,
			    .tiers = tiers,
			    .up_size = mem_array(s.up_size, n),
			    .down_size = mem_array(s.down_size, n),
			    .above = mem_array(s.above, n),
			    .below = mem_array(s.below, n) };

	for (uint32_t sw = 0; sw < s.w->t->nswitches; sw++) {
		s.up_size[tiers->up[sw]]++;
		s.down_size[tiers->down[sw]]++;
		for (uint32_t i = tiers->first[sw]; i < tiers->first[sw + 1]; i++) {
			int step = tiers->level[tiers->near[i]] - tiers->level[sw];

			s.above[sw] |= step == 1;
			s.below[sw] |= step == -1;
		}
	}
	for (uint32_t p = 0; p < w->t->nswitch_ports; p++) {
		uint32_t peer = w->v[p].found;

		if (peer == TOPO_NONE || peer >= w->t->nswitch_ports || peer < p)
			continue;
		cables++;
		if (is_strange(&s, p, peer))
			w->v[p].stray = w->v[peer].stray = true;
		strays += w->v[p].stray; /* with those that cabling_expect_uplinks() marked */
	}
	if (strays * 20 > cables || cables < KIND_CABLES_MIN)
		for (uint32_t p = 0; p < w->t->nswitch_ports; p++)
			w->v[p].stray = false;
	free(s.up_size);
	free(s.down_size);
	free(s.above);
	free(s.below);
}

/* ---- Votes on ports of switches -------------------------------------------------------------- */

struct choice { /* of a family, for a port number */
	uint32_t label, votes, of;
	uint32_t none; /* members without such a cable there */
	bool backed;   /* by the ports beside it */
};

struct ballot {
	const struct wiring *w;
	const struct tiers *tiers;
	int step;	 /* 1: parents are voted on, -1: children */
	bool by_pod;	 /* votes are for a child's pod, not for the child */
	uint32_t *count; /* by label */
	uint32_t *at;	 /* by port of a switch: the switch expected there, TOPO_NONE = not known */
	uint32_t *lead;	 /* by port: the same, where more than half of the votes agree */
	struct wiring_votes *votes;
	bool *empty;   /* by port: most have no such cable there */
	bool *known;   /* by switch: the switch expected at some of its ports is known */
	bool *regular; /* by family: its port numbers have a pattern */
};

/*
 * Cables between switches whose port numbers have no pattern: only how many lead
 * from each switch to each parent is known, by the votes of its family.
 *
 * A switch with more cables to one parent than its family has, and fewer to another, has a cable
 * too many at the first and one too few at the second. Which of parallel cables is wrong is
 * unknown: the finding names the last one.
 */

#define COUNT_VOTERS 4

struct gap { /* a cable that a switch lacks to a parent */
	uint32_t sw, parent;
	struct wiring_votes votes;
};

struct counting {
	struct wiring *w;
	const struct tiers *tiers;
	const uint32_t *members;
	uint32_t n, *parents, nparents;
	uint8_t *cables;	    /* [member][parent] */
	uint16_t *usual;	    /* by parent */
	struct wiring_votes *votes; /* by parent; votes 0 = too few agree */
	struct gap *gaps;
	uint32_t ngaps;
	bool *spare; /* by port of a switch: its cable is one too many for its lower end */
};

static uint32_t parent_at(const struct counting *c, uint32_t sw, unsigned num)
{
	uint32_t peer = c->w->v[c->w->t->nodes[sw].port0 + num].found;
	uint32_t far = peer == TOPO_NONE ? TOPO_NONE : c->w->v[peer].node;

	return far < c->w->t->nswitches && c->tiers->level[far] == c->tiers->level[sw] + 1
		       ? far
		       : TOPO_NONE;
}

/* Whether a member has the usual number of cables to most parents; else it is of another kind. */
static bool is_usual(const struct counting *c, uint32_t member)
{
	uint32_t same = 0, all = 0;

	for (uint32_t u = 0; u < c->nparents; u++) {
		uint8_t cables = c->cables[member * c->nparents + u];

		if (!c->votes[u].votes || (!cables && !c->usual[u]))
			continue;
		all++;
		same += cables == c->usual[u];
	}
	return all && most(same, all, 3, 5);
}

static void compare_member(struct counting *c, uint32_t member)
{
	uint32_t sw = c->members[member], port0 = c->w->t->nodes[sw].port0;

	for (uint32_t u = 0; u < c->nparents; u++) {
		unsigned cables = c->cables[member * c->nparents + u], usual = c->usual[u];
		struct gap gap = { .sw = sw, .parent = c->parents[u], .votes = c->votes[u] };

		if (!c->votes[u].votes)
			continue;
		for (; cables < usual; usual--) {
			c->gaps = mem_grow(c->gaps, c->ngaps);
			c->gaps[c->ngaps++] = gap;
		}
		for (unsigned num = c->w->t->nodes[sw].nports; num && cables > usual; num--)
			if (parent_at(c, sw, num) == c->parents[u]) {
				c->spare[port0 + num] = true;
				c->w->v[port0 + num].one_of = usual > 0;
				cables--;
			}
	}
}

static void count_family(struct counting *c, uint32_t *place)
{
	c->nparents = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t sw = c->members[i];

		for (uint32_t j = c->tiers->first[sw]; j < c->tiers->first[sw + 1]; j++) {
			uint32_t far = c->tiers->near[j];

			if (c->tiers->level[far] == c->tiers->level[sw] + 1 &&
			    place[far] == TOPO_NONE) {
				place[far] = c->nparents;
				c->parents[c->nparents++] = far;
			}
		}
	}
	c->cables = mem_array(c->cables, c->n * (c->nparents + 1));
	c->usual = mem_array(c->usual, c->nparents + 1);
	c->votes = mem_array(c->votes, c->nparents + 1);
	for (uint32_t i = 0; i < c->n; i++)
		for (unsigned num = 1; num <= c->w->t->nodes[c->members[i]].nports; num++) {
			uint32_t far = parent_at(c, c->members[i], num);

			if (far != TOPO_NONE)
				c->cables[i * c->nparents + place[far]]++;
		}
	for (uint32_t u = 0; u < c->nparents; u++) {
		uint32_t votes[256] = { 0 }, best = 0; /* a switch has at most 254 ports */

		for (uint32_t i = 0; i < c->n; i++)
			votes[c->cables[i * c->nparents + u]]++;
		for (uint32_t cables = 1; cables < 256; cables++)
			if (votes[cables] > votes[best])
				best = cables;
		if (!most(votes[best], c->n, 3, 4))
			continue;
		c->usual[u] = best;
		c->votes[u] = (struct wiring_votes){ votes[best], c->n };
	}
	for (uint32_t i = 0; i < c->n; i++)
		if (is_usual(c, i))
			compare_member(c, i);
	for (uint32_t u = 0; u < c->nparents; u++)
		place[c->parents[u]] = TOPO_NONE;
	free(c->cables);
	free(c->usual);
	free(c->votes);
}

/* ---- What goes where ------------------------------------------------------------------------- */

/* A port whose cable is one too many and belongs nowhere yet, else any port: the vertex. */
static uint32_t spare_end(const struct counting *c, uint32_t sw, bool lower)
{
	for (unsigned num = 1; num <= c->w->t->nodes[sw].nports; num++) {
		uint32_t port = c->w->t->nodes[sw].port0 + num, peer = c->w->v[port].found;
		bool to_switch = peer < c->w->t->nswitch_ports;

		if (peer == TOPO_NONE || c->w->v[port].want != TOPO_NONE)
			continue;
		/* It leads to a switch of the same level, or skips a level. */
		if (to_switch &&
		    abs(c->tiers->level[c->w->v[peer].node] - c->tiers->level[sw]) != 1)
			return port;
		if (lower ? c->spare[port] : to_switch && c->spare[peer])
			return port;
	}
	return wiring_add_end(c->w, sw, c->w->t->nodes[sw].name, 0);
}

/*
 * Compares the numbers of parallel links in families whose ports have no pattern, and marks links
 * that are one too many. `regular`: by family, true = left to the votes.
 */
static void cabling_count_uplinks(struct wiring *w, const struct tiers *tiers, const bool *regular)
{
	uint32_t nswitches = w->t->nswitches;
	uint32_t *place = mem_array(place, nswitches + 1);
	uint32_t *members = mem_array(members, nswitches + 1);
	struct counting c = { .w = w,
			      .tiers = tiers,
			      .members = members,
			      .parents = mem_array(c.parents, nswitches + 1),
			      .spare = mem_array(c.spare, w->t->nswitch_ports + 1) };

	memset(place, 0xff, nswitches * sizeof(*place));
	for (uint32_t f = 0; f < nswitches; f++) {
		if (tiers->up[f] != f || regular[f])
			continue;
		c.n = 0;
		for (uint32_t sw = 0; sw < nswitches; sw++)
			if (tiers->up[sw] == f)
				members[c.n++] = sw;
		if (c.n >= COUNT_VOTERS)
			count_family(&c, place);
	}
	for (uint32_t i = 0; i < c.ngaps; i++) {
		const struct gap *gap = &c.gaps[i];
		uint32_t a = spare_end(&c, gap->sw, true), b = spare_end(&c, gap->parent, false);

		wiring_expect(w, a, b, gap->votes);
	}
	for (uint32_t p = 0; p < w->t->nswitch_ports; p++)
		if (c.spare[p])
			w->v[p].stray = w->v[w->v[p].found].stray = true;
	free(place);
	free(members);
	free(c.parents);
	free(c.spare);
	free(c.gaps);
}

/* ---- Cables between switches ----------------------------------------------------------------- */

/*
 * Cables between switches as the pattern of their port numbers has them.
 *
 * Switches with the same parents (a family) have the same parent at the same port number, and those
 * with the same children the same child: each port is put to the vote, upwards and downwards, and
 * both together name a cable. Where switches are alone or two with their children (the cores of a
 * small group), all of their level vote, and not on the child but on the pod it is of.
 *
 * A family counts where 80% of its cables are at the port where most have them: else its cables
 * are only counted. Parallel cables between two switches may stand in any order.
 */

#define VOTERS	   3  /* switches that can have a majority */
#define CABLES_MIN 12 /* fewer cables may agree by chance */

/* The switch behind a port that is one level higher, or lower; TOPO_NONE = none. */
static uint32_t far_switch(const struct ballot *b, uint32_t sw, unsigned num)
{
	const struct tiers *tiers = b->tiers;
	uint32_t peer = num > tiers->t->nodes[sw].nports
				? TOPO_NONE
				: b->w->v[tiers->t->nodes[sw].port0 + num].found;
	uint32_t far = peer == TOPO_NONE ? TOPO_NONE : b->w->v[peer].node;

	if (far == TOPO_NONE || far >= tiers->t->nswitches ||
	    tiers->level[far] != tiers->level[sw] + b->step)
		return TOPO_NONE;
	return far;
}

/* What a far end counts as: itself, or the pod it is of. */
static uint32_t label_of(const struct ballot *b, uint32_t far)
{
	return far == TOPO_NONE || !b->by_pod ? far : b->tiers->down[far];
}

/* The label that most members have at a port; of equals the first. */
static struct choice vote_on(struct ballot *b, const uint32_t *members, uint32_t n, unsigned num)
{
	struct choice best = { .label = TOPO_NONE, .of = n };

	for (uint32_t i = 0; i < n; i++) {
		uint32_t label = label_of(b, far_switch(b, members[i], num));

		if (label == TOPO_NONE) {
			best.none++;
			continue;
		}
		if (++b->count[label] > best.votes) {
			best.votes = b->count[label];
			best.label = label;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t label = label_of(b, far_switch(b, members[i], num));

		if (label != TOPO_NONE)
			b->count[label] = 0;
	}
	return best;
}

/* The child of the pod that a switch is cabled to most; TOPO_NONE when two are close. */
static uint32_t child_of_pod(const struct ballot *b, uint32_t sw, uint32_t pod)
{
	unsigned most_cables = 0, second = 0;
	uint32_t best = TOPO_NONE;

	for (uint32_t i = b->tiers->first[sw]; i < b->tiers->first[sw + 1]; i++) {
		uint32_t child = b->tiers->near[i];
		unsigned cables = 0;

		if (b->tiers->level[child] + 1 != b->tiers->level[sw] ||
		    b->tiers->down[child] != pod)
			continue;
		for (unsigned num = 1; num <= b->tiers->t->nodes[sw].nports; num++)
			cables += far_switch(b, sw, num) == child;
		if (cables > most_cables) {
			second = most_cables;
			most_cables = cables;
			best = child;
		} else if (cables > second) {
			second = cables;
		}
	}
	return most_cables > second * 2 ? best : TOPO_NONE;
}

static bool is_decided(const struct choice *choice)
{
	return choice->votes >= 2 && (choice->backed || most(choice->votes, choice->of, 2, 3));
}

/* Whether three in five of a switch's ports are as the votes say; else it is of another kind. */
static bool is_like_others(const struct ballot *b, uint32_t sw, const struct choice *choices)
{
	uint32_t same = 0, all = 0;

	for (unsigned num = 1; num <= b->tiers->t->nodes[sw].nports; num++) {
		if (!is_decided(&choices[num]))
			continue;
		all++;
		same += label_of(b, far_switch(b, sw, num)) == choices[num].label;
	}
	return all && most(same, all, 3, 5);
}

/* Puts all ports of a family to the vote. False: its port numbers have no pattern. */
static bool vote_of(struct ballot *b, const uint32_t *members, uint32_t n)
{
	struct choice choices[256];
	uint32_t cables = 0, usual = 0, any = 0, same = 0;
	unsigned nports = 0;

	for (uint32_t i = 0; i < n; i++)
		if (b->tiers->t->nodes[members[i]].nports > nports)
			nports = b->tiers->t->nodes[members[i]].nports;
	for (unsigned num = 1; num <= nports; num++) {
		choices[num] = vote_on(b, members, n, num);
		cables += n - choices[num].none;
		usual += is_decided(&choices[num]) ? choices[num].votes : 0;
		any += choices[num].votes > 0;
		same += choices[num].votes == n;
	}
	/*
	 * In a family of four of which two agree on a port, the ports beside it decide: parallel
	 * cables are in adjacent ports.
	 */
	for (unsigned num = 1; num <= nports; num++) {
		struct choice *choice = &choices[num];

		if (choice->of != 4 || choice->votes != 2)
			continue;
		choice->backed = (num > 1 && choices[num - 1].votes > 2 &&
				  choices[num - 1].label == choice->label) ||
				 (num < nports && choices[num + 1].votes > 2 &&
				  choices[num + 1].label == choice->label);
	}
	/*
	 * A family of five or fewer switches may agree on some ports by chance; it has a pattern
	 * only if it is unanimous at three ports in five.
	 */
	bool regular = usual >= CABLES_MIN && most(usual, cables, 4, 5) &&
		       (n > 5 || most(same, any, 3, 5));

	for (uint32_t i = 0; i < n && regular; i++)
		if (is_like_others(b, members[i], choices)) {
			uint32_t sw = members[i];

			b->known[sw] = true;
			for (unsigned num = 1; num <= b->tiers->t->nodes[sw].nports; num++) {
				struct choice choice = choices[num];
				uint32_t port = b->tiers->t->nodes[sw].port0 + num;

				if (choice.votes * 2 > choice.of && !b->by_pod)
					b->lead[port] = choice.label;
				if (is_decided(&choice)) {
					b->at[port] = b->by_pod ? child_of_pod(b, sw, choice.label)
								: choice.label;
					b->votes[port] =
						(struct wiring_votes){ choice.votes, choice.of };
				} else if (most(choice.none, choice.of, 3, 4)) {
					b->empty[port] = true;
				}
			}
		}
	return regular;
}

/* All switches of a level whose families are too small to vote. */
static void vote_by_level(struct ballot *b, const uint32_t *first, const uint32_t *members)
{
	const struct tiers *tiers = b->tiers;
	uint32_t *list = mem_array(list, tiers->t->nswitches + 1);

	b->by_pod = true;
	for (unsigned level = 1; level <= TOPO_MAX_LEVEL; level++) {
		uint32_t n = 0;

		for (uint32_t f = 0; f < tiers->t->nswitches; f++)
			for (uint32_t i = first[f]; i < first[f + 1]; i++)
				if (first[f + 1] - first[f] < VOTERS &&
				    tiers->level[members[i]] == level)
					list[n++] = members[i];
		if (n > VOTERS)
			vote_of(b, list, n);
	}
	b->by_pod = false;
	free(list);
}

static void hold_ballot(struct ballot *b, const struct wiring *w, const struct tiers *tiers,
			int step)
{
	const uint32_t *family = step > 0 ? tiers->up : tiers->down;
	uint32_t n = tiers->t->nswitches, *members = mem_array(members, n + 1);
	uint32_t *first = mem_array(first, n + 2);

	for (uint32_t sw = 0; sw < n; sw++) {
		first[family[sw] + 1]++;
		members[sw] = sw;
	}
	for (uint32_t sw = 0; sw < n; sw++)
		first[sw + 1] += first[sw];
	sort_by_key(members, n, family, n);
	*b = (struct ballot){ .w = w,
			      .tiers = tiers,
			      .step = step,
			      .count = mem_array(b->count, n + 1),
			      .at = mem_array(b->at, tiers->t->nswitch_ports + 1),
			      .lead = mem_array(b->lead, tiers->t->nswitch_ports + 1),
			      .votes = mem_array(b->votes, tiers->t->nswitch_ports + 1),
			      .empty = mem_array(b->empty, tiers->t->nswitch_ports + 1),
			      .known = mem_array(b->known, n + 1),
			      .regular = mem_array(b->regular, n + 1) };
	memset(b->at, 0xff, tiers->t->nswitch_ports * sizeof(*b->at));
	memset(b->lead, 0xff, tiers->t->nswitch_ports * sizeof(*b->lead));
	for (uint32_t f = 0; f < n; f++)
		if (first[f + 1] - first[f] >= VOTERS)
			b->regular[f] = vote_of(b, members + first[f], first[f + 1] - first[f]);
	if (step < 0)
		vote_by_level(b, first, members);
	free(first);
	free(members);
}

static void end_ballot(struct ballot *b)
{
	free(b->count);
	free(b->at);
	free(b->lead);
	free(b->votes);
	free(b->empty);
	free(b->known);
	free(b->regular);
}

/* ---- Cables of both ballots ------------------------------------------------------------------ */

/*
 * Drops what is expected at the last port of a switch that was cabled with fewer uplinks than its
 * family, without a gap: the last port is empty, its cable is in a port before it, whose own cable
 * is in another one.
 */
static void forget_shifted(const struct wiring *w, struct ballot *up, uint32_t sw)
{
	uint32_t port0 = w->t->nodes[sw].port0, empty = w->t->nodes[sw].nports;

	while (empty && up->lead[port0 + empty] == TOPO_NONE)
		empty--;
	if (!empty || w->v[port0 + empty].found != TOPO_NONE)
		return;
	for (uint32_t num = empty; --num;) {
		uint32_t port = port0 + num;

		if (up->at[port] == TOPO_NONE || w->v[port].want != TOPO_NONE ||
		    far_switch(up, sw, num) != up->lead[port0 + empty])
			continue;
		up->at[port0 + empty] = TOPO_NONE;
		empty = num;
	}
	if (w->v[port0 + empty].found != TOPO_NONE)
		up->at[port0 + empty] = TOPO_NONE;
}

static uint32_t count_ports(const struct wiring *w, const uint32_t *at, uint32_t sw, uint32_t other)
{
	uint32_t count = 0;

	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++)
		count += at[w->t->nodes[sw].port0 + num] == other;
	return count;
}

/* Counts ports where most of the family have a cable, but not all to the same switch. */
static uint32_t count_open(const struct wiring *w, const struct ballot *b, uint32_t sw,
			   uint32_t *last)
{
	uint32_t count = 0;

	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		uint32_t port = w->t->nodes[sw].port0 + num;

		if (b->at[port] == TOPO_NONE && !b->empty[port] && w->v[port].want == TOPO_NONE) {
			*last = port;
			count++;
		}
	}
	return count;
}

/* Whether the votes at both ends give different numbers of cables between two switches. */
static bool is_disputed(const struct wiring *w, const struct ballot *up, const struct ballot *down,
			uint32_t sw, uint32_t other)
{
	uint32_t ups = count_ports(w, up->at, sw, other), last,
		 downs = count_ports(w, down->at, other, sw);

	return down->known[other] &&
	       (ups < downs || ups > downs + count_open(w, down, other, &last));
}

/* At the next port of the switch above where this one is expected, at the only open one, or any. */
static void expect_cable(struct wiring *w, const struct ballot *down, uint32_t p, uint32_t above,
			 struct wiring_votes votes)
{
	const struct topo_node *node = &w->t->nodes[above];
	uint32_t open;

	for (uint32_t end = node->port0 + 1; end <= node->port0 + node->nports; end++)
		if (down->at[end] == w->v[p].node && w->v[end].want == TOPO_NONE) {
			wiring_expect(w, p, end, votes);
			return;
		}
	if (!down->known[above] || count_open(w, down, above, &open) != 1)
		open = wiring_add_end(w, above, node->name, 0);
	wiring_expect(w, p, open, votes);
}

void cabling_expect_uplinks(struct wiring *w, const struct tiers *tiers)
{
	struct ballot up, down;

	hold_ballot(&up, w, tiers, 1);
	hold_ballot(&down, w, tiers, -1);
	/*
	 * A found cable is right if it is expected at both ends, or at the lower one and unknown
	 * above.
	 */
	for (uint32_t p = 0; p < w->t->nswitch_ports; p++) {
		uint32_t peer = w->v[p].found;

		if (up.at[p] != TOPO_NONE && peer < w->t->nswitch_ports &&
		    w->v[peer].node == up.at[p] &&
		    (down.at[peer] == w->v[p].node || down.at[peer] == TOPO_NONE))
			wiring_expect(w, p, peer, up.votes[p]);
	}
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		forget_shifted(w, &up, sw);
	for (uint32_t p = 0; p < w->t->nswitch_ports; p++)
		if (up.at[p] != TOPO_NONE && w->v[p].want == TOPO_NONE &&
		    !is_disputed(w, &up, &down, w->v[p].node, up.at[p]))
			expect_cable(w, &down, p, up.at[p], up.votes[p]);
	/*
	 * Marks cables in ports where most of the family have none; cabling_find_strays() keeps
	 * rare ones.
	 */
	for (uint32_t p = 0; p < w->t->nswitch_ports; p++) {
		uint32_t peer = w->v[p].found;

		if (up.empty[p] && peer != TOPO_NONE && peer < w->t->nswitch_ports &&
		    up.tiers->level[w->v[peer].node] == up.tiers->level[w->v[p].node] + 1 &&
		    w->v[p].want == TOPO_NONE && w->v[peer].want == TOPO_NONE)
			w->v[p].stray = w->v[peer].stray = true;
	}
	cabling_count_uplinks(w, tiers, up.regular);
	end_ballot(&up);
	end_ballot(&down);
}

/* ---- A cable that was not there before ------------------------------------------------------- */

#define CONTRA_PAIRS 3 /* pairs of switches that show how many cables are usual */

/* The switch that a port's known link leads to, up or down; TOPO_NONE: it is none. */
static uint32_t known_peer(const struct topo *t, uint32_t port)
{
	uint32_t peer = t->ports[port].peer;

	return peer != TOPO_NONE && t->ports[peer].node < t->nswitches ? t->ports[peer].node
								       : TOPO_NONE;
}

/* Whether the fabric has cables between switches of tiers that are so far apart. */
static bool has_step(const struct topo *t, int step)
{
	for (uint32_t p = 0; p < t->nswitch_ports; p++) {
		uint32_t sw = t->ports[p].node, far = known_peer(t, p);

		if (far != TOPO_NONE && far != sw &&
		    abs(t->nodes[far].level - t->nodes[sw].level) == step)
			return true;
	}
	return false;
}

/*
 * Between switches of tiers that follow each other. A switch is cabled like the lower one where it
 * leads to a switch that the lower one leads to.
 */
static const char *contradiction_of_tiers(const struct topo *t, uint32_t lower, uint32_t upper,
					  uint32_t a, uint32_t b)
{
	uint32_t pairs = 0, most = 0, has = 0;
	uint16_t *lanes = mem_array(lanes, t->nswitches + 1);
	bool *above = mem_array(above, t->nswitches + 1); /* of `lower` */
	bool alike = false, any_above = false, any_below = false;
	bool taken = known_peer(t, a) != TOPO_NONE || known_peer(t, b) != TOPO_NONE, near;

	for (uint32_t p = t->nodes[lower].port0;
	     p <= t->nodes[lower].port0 + t->nodes[lower].nports; p++) {
		uint32_t far = known_peer(t, p);

		if (far != TOPO_NONE && t->nodes[far].level == t->nodes[lower].level + 1)
			above[far] = any_above = true;
	}
	near = above[upper];
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		uint32_t port0 = t->nodes[sw].port0, end = port0 + t->nodes[sw].nports;
		bool shares = false, under = false;

		if (t->nodes[sw].level != t->nodes[lower].level)
			continue;
		for (uint32_t p = port0; p <= end; p++) {
			uint32_t far = known_peer(t, p), peer = t->ports[p].peer;

			if (far == TOPO_NONE || t->nodes[far].level != t->nodes[lower].level + 1)
				continue;
			shares |= sw != lower && above[far];
			under |= far == upper;
			/* What is at the two ports makes way. */
			if (sw == lower && far == upper &&
			    (p == a || p == b || peer == a || peer == b))
				continue;
			pairs += !lanes[far]++;
			most = lanes[far] > most ? lanes[far] : most;
		}
		any_below |= under;
		alike |= under && shares;
		has = sw == lower ? lanes[upper] : has;
		mem_zero(lanes, t->nswitches);
	}
	free(lanes);
	free(above);
	if (near && taken && pairs > CONTRA_PAIRS && has + 1 > most)
		return "these two switches have all their cables already";
	if (!near && !alike && any_above && any_below)
		return "no switch that is cabled like the lower one leads to the upper one";
	return NULL;
}

const char *cabling_contradiction(const struct topo *t, uint32_t a, uint32_t b)
{
	uint32_t x = t->ports[a].node, y = t->ports[b].node;
	int step = t->nodes[y].level - t->nodes[x].level;

	if (x == y)
		return "both its ends are at one switch";
	if (abs(step) == 1)
		return contradiction_of_tiers(t, step > 0 ? x : y, step > 0 ? y : x, a, b);
	if (has_step(t, abs(step)))
		return NULL;
	return step ? "it passes over a tier" : "it leads from a switch to another one of its tier";
}
