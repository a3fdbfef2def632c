/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "routing/adaptive/groups.h"
#include <errno.h>
#include <inttypes.h>
#include "routing/ftree/route.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/graph/graph.h"
#include "topology/snapshot/topo_builder.h"

/*
 * Who is within so many hops is a set of destinations, a bit each; each switch has a layer of them
 * for each number of hops: first by hops down, from the lowest switch up; then by any up/down path,
 * from the highest one down. A switch with a path down takes no other, as the tables do. Nearly all
 * destinations are behind one neighbour below, or behind all above: those have a group by design.
 *
 * All of it is kept for the next snapshot, which mostly has the same links, and some others of them
 * live. A switch's layers are made anew where links of its own or layers of a neighbour are others
 * than before, and its groups where one of these is.
 */

/* Of a switch, what is not as before. */
enum { LINKS = 1, DOWN = 2, COST = 4 };

static const struct graph_how by_level = { .orientation = GRAPH_BY_LEVEL };

struct ar_maker {
	struct arena *kept;
	const struct topo *t;	/* referenced */
	struct ar_groups *last; /* what was made of it */
	struct graph *g;
	struct graph_lane *lanes; /* as they were */
	struct ar_groups *out;
	uint16_t *caps;
	uint32_t *number;		/* by switch: of its destination, or TOPO_NONE */
	uint8_t *others;		/* by switch */
	uint32_t ndests, words, layers; /* of a set; of a switch */
	uint64_t *down, *cost; /* by switch, then layer: who is so near down; by any path */
	uint64_t *was;	       /* the layers of one switch */
	/* Scratch: so near above, then below; behind a neighbour; behind all; behind several. */
	uint64_t *own, *near, *all, *two;
	/* Of one switch, by group number: its ports, 1 + its place; and the highest number. */
	struct ar_ports *sets;
	bool *known;
	uint16_t *place;
	uint32_t most;
};

static uint64_t *layer_of(const struct ar_maker *w, uint64_t *sets, uint32_t sw, uint32_t layer)
{
	return sets + ((size_t)sw * w->layers + layer) * w->words;
}

/* Who has a path down. */
static uint64_t *below(const struct ar_maker *w, uint32_t sw)
{
	return layer_of(w, w->down, sw, w->layers - 1);
}

/* Of hosts whose links are up, without storage. */
static void list_dests(const struct ar_maker *w, const struct lid_map *lids, const uint8_t *classes)
{
	struct ar_groups *out = w->out;

	memset(out->dest, 0xff, (lids->top + 1u) * sizeof(*out->dest));
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		const struct graph_switch *s = &w->g->switches[sw];
		struct ar_span *span = s->nhosts ? &out->spans[w->number[sw]] : NULL;

		for (unsigned i = 0; i < s->nhosts; i++) {
			const struct graph_host *host = &w->g->hosts[s->first_host + i];
			uint32_t lid = lids->lid_of_port[host->port];

			if (!lid || !host->live ||
			    (classes && classes[host->port] == ROUTE_STORAGE))
				continue;
			if (!span->end || lid / TABLES_BLOCK < span->first)
				span->first = lid / TABLES_BLOCK;
			for (; lid <= lids->top && lids->port_of_lid[lid] == host->port; lid++)
				out->dest[lid] = w->number[sw];
			if ((lid - 1) / TABLES_BLOCK >= span->end)
				span->end = (lid - 1) / TABLES_BLOCK + 1;
		}
	}
}

/* ---- Who is how near ------------------------------------------------------------------------- */

/* The layers of a neighbour are one hop further from here. */
static void join_layers(struct ar_maker *w, uint64_t *sets, uint32_t sw,
			const struct graph_group *groups, unsigned n)
{
	uint64_t *restrict to = layer_of(w, sets, sw, 1);

	for (unsigned i = 0; i < n; i++) {
		const uint64_t *restrict from = layer_of(w, sets, groups[i].peer, 0);

		for (uint32_t k = 0; groups[i].nlive && k < (w->layers - 1) * w->words; k++)
			to[k] |= from[k];
	}
}

/* Whether any of the neighbours has that as it was not before. */
static bool has_others(const struct ar_maker *w, const struct graph_group *groups, unsigned n,
		       uint8_t what)
{
	return any_of(i, 0, n, w->others[groups[i].peer] & what);
}

/* Puts the layers aside, to make them anew. */
static void put_aside(struct ar_maker *w, uint64_t *sets, uint32_t sw)
{
	mem_copy(w->was, layer_of(w, sets, sw, 0), w->layers * w->words);
	mem_zero(layer_of(w, sets, sw, 0), w->layers * w->words);
}

static bool differs(const struct ar_maker *w, uint64_t *sets, uint32_t sw)
{
	return memcmp(w->was, layer_of(w, sets, sw, 0),
		      (size_t)w->layers * w->words * sizeof(*sets)) != 0;
}

static void find_down(struct ar_maker *w, uint32_t sw)
{
	const struct graph_group *downs = graph_downs(w->g, sw);
	uint32_t n = w->g->switches[sw].ndown, d = w->number[sw];

	if (!w->others[sw] && !has_others(w, downs, n, DOWN))
		return;
	put_aside(w, w->down, sw);
	for (uint32_t layer = 0; d != TOPO_NONE && layer < w->layers; layer++)
		layer_of(w, w->down, sw, layer)[d / 64] |= 1ull << d % 64;
	join_layers(w, w->down, sw, downs, n);
	w->others[sw] |= differs(w, w->down, sw) ? DOWN : 0;
}

static void find_cost(struct ar_maker *w, uint32_t sw)
{
	const struct graph_group *ups = graph_ups(w->g, sw);
	uint32_t n = w->g->switches[sw].nup;
	const uint64_t *own = below(w, sw);

	if (!w->others[sw] && !has_others(w, ups, n, COST))
		return;
	put_aside(w, w->cost, sw);
	join_layers(w, w->cost, sw, ups, n);
	for (uint32_t layer = 0; layer < w->layers; layer++) {
		uint64_t *to = layer_of(w, w->cost, sw, layer);
		const uint64_t *down = layer_of(w, w->down, sw, layer);

		for (uint32_t i = 0; i < w->words; i++)
			to[i] = (to[i] & ~own[i]) | down[i];
	}
	w->others[sw] |= differs(w, w->cost, sw) ? COST : 0;
}

/* ---- Groups of one switch -------------------------------------------------------------------- */

static void add_lanes(const struct graph *g, const struct graph_group *group,
		      struct ar_ports *ports)
{
	for (unsigned l = 0; l < group->nlanes; l++) {
		const struct graph_lane *lane = &g->lanes[group->first_lane + l];

		if (lane->live)
			ports->word[lane->port / 64] |= 1ull << (lane->port % 64);
	}
}

static unsigned count_ports(const struct ar_ports *ports)
{
	unsigned n = 0;

	for (unsigned i = 0; i < 4; i++)
		n += __builtin_popcountll(ports->word[i]);
	return n;
}

/* The number that a set has at a switch with `cap` numbers, of which `ndesign` are by design. */
static uint32_t number_in(const struct ar_maker *w, uint32_t number, uint32_t ndesign, uint32_t cap)
{
	uint32_t kept = ndesign < cap / 2 ? ndesign : cap / 2;

	if (ndesign + w->out->ndests <= cap || number < kept)
		return number;
	return kept + number % (cap - kept);
}

/* Destinations get that set by a number; returns 1 + the number, 0 = there is no group of two. */
static unsigned add_set(struct ar_maker *w, uint32_t id, const struct ar_ports *ports)
{
	struct ar_ports *set = &w->sets[id];
	uint64_t less = 0;

	if (count_ports(ports) < 2)
		return 0;
	if (!w->known[id])
		*set = *ports;
	w->known[id] = true;
	for (unsigned i = 0; i < 4; i++) {
		less |= set->word[i] ^ ports->word[i];
		set->word[i] &= ports->word[i];
	}
	w->out->coarse += less != 0;
	w->most = id > w->most ? id : w->most;
	return id + 1;
}

struct side { /* the neighbours above a switch, or those below it */
	const struct graph_group *groups;
	unsigned n;
	uint64_t *sets; /* whose layers: work.down or cost */
};

static struct ar_ports set_of(const struct ar_maker *w, const struct side *side, uint32_t d,
			      uint32_t layer)
{
	struct ar_ports ports = { 0 };

	for (unsigned i = 0; i < side->n; i++)
		if (side->groups[i].nlive &&
		    layer_of(w, side->sets, side->groups[i].peer, layer)[d / 64] >> d % 64 & 1)
			add_lanes(w->g, &side->groups[i], &ports);
	return ports;
}

/* Destinations of a set all have that group. */
static void add_design(struct ar_maker *w, uint16_t *entry, const uint64_t *set, uint32_t id,
		       const struct ar_ports *ports)
{
	unsigned place = 0;
	bool is_known = false;

	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t left = set[i];

		if (left && !is_known)
			place = add_set(w, id, ports);
		is_known |= left != 0;
		for (unsigned k = 0; !~left && k < 64; k++)
			entry[i * 64 + k] = place;
		for (left &= ~left ? ~0ull : 0; left; left &= left - 1)
			entry[i * 64 + __builtin_ctzll(left)] = place;
	}
}

/* Destinations so many hops away, less one, from the neighbours of a side, `own` from here. */
static void add_layer(struct ar_maker *w, uint32_t sw, const struct side *side, uint32_t layer,
		      uint64_t *own, uint32_t cap)
{
	const struct graph_switch *s = &w->g->switches[sw];
	uint16_t *entry = w->out->entry + (size_t)sw * w->out->ndests;
	uint32_t ndesign = 1u + s->ndown;
	bool up = side->sets == w->cost;

	memset(w->all, up ? 0xff : 0, w->words * sizeof(*w->all));
	mem_zero(w->two, w->words);
	for (unsigned i = 0; i < side->n; i++) {
		const uint64_t *its = layer_of(w, side->sets, side->groups[i].peer, layer);

		for (uint32_t k = 0; side->groups[i].nlive && k < w->words; k++) {
			w->two[k] |= w->all[k] & its[k];
			w->all[k] = up ? w->all[k] & its[k] : w->all[k] | its[k];
		}
	}
	/* Those without a group by design: behind some above; behind several below. */
	for (uint32_t k = 0; k < w->words; k++)
		w->two[k] = own[k] & (up ? ~w->all[k] : w->two[k]);
	for (unsigned i = 0; i < (up ? side->n > 0 : side->n); i++) {
		struct ar_ports ports = { 0 };
		const uint64_t *its =
			up ? w->all : layer_of(w, side->sets, side->groups[i].peer, layer);

		for (uint32_t k = 0; k < w->words; k++)
			w->near[k] = its[k] & own[k] & ~w->two[k];
		for (unsigned j = up ? 0 : i; j < (up ? side->n : i + 1); j++)
			add_lanes(w->g, &side->groups[j], &ports);
		if (up || side->groups[i].nlive)
			add_design(w, entry, w->near, number_in(w, up ? 0 : 1 + i, ndesign, cap),
				   &ports);
	}
	for (uint32_t k = 0; k < w->words; k++)
		for (uint64_t left = w->two[k]; left; left &= left - 1) {
			uint32_t d = k * 64 + __builtin_ctzll(left);
			struct ar_ports ports = set_of(w, side, d, layer);

			entry[d] = add_set(w, number_in(w, ndesign + d, ndesign, cap), &ports);
		}
}

/* Lists the sets by number; entries of one with less than two members after all are Static. */
static void list_sets(struct ar_maker *w, uint32_t sw)
{
	struct ar_groups *out = w->out;
	uint16_t *entry = out->entry + (size_t)sw * out->ndests;
	uint32_t at = out->first[sw], ahead = 0; /* numbers without a group */
	bool dense = true;			 /* all of them are lower */

	for (uint32_t id = 0; id <= w->most; id++) {
		w->place[id] = 0;
		if (!w->known[id] || count_ports(&w->sets[id]) < 2) {
			ahead += at == out->first[sw];
			dense &= at == out->first[sw] && !w->known[id];
			continue;
		}
		out->list = mem_grow(out->list, at);
		out->list[at++] = (struct ar_group){ id, w->sets[id] };
		w->place[id] = at - out->first[sw];
	}
	for (uint32_t d = 0; dense && ahead && d < out->ndests; d++)
		entry[d] -= entry[d] ? ahead : 0;
	for (uint32_t d = 0; !dense && d < out->ndests; d++)
		if (entry[d]) {
			entry[d] = w->place[entry[d] - 1];
			out->fixed += !entry[d];
		}
	mem_zero(w->known, w->most + 1);
	out->first[sw + 1] = at;
	w->most = 0;
}

/* From what was made last. */
static void copy_switch(struct ar_maker *w, uint32_t sw)
{
	const struct ar_groups *last = w->last;
	size_t row = (size_t)sw * last->ndests;

	for (uint32_t i = last->first[sw]; i < last->first[sw + 1]; i++) {
		w->out->list = mem_grow(w->out->list, w->out->first[sw + 1]);
		w->out->list[w->out->first[sw + 1]++] = last->list[i];
	}
	mem_copy(w->out->entry + row, last->entry + row, last->ndests);
}

static void add_switch(struct ar_maker *w, uint32_t sw)
{
	const struct graph_switch *s = &w->g->switches[sw];
	const struct side above = { graph_ups(w->g, sw), s->nup, w->cost };
	const struct side under = { graph_downs(w->g, sw), s->ndown, w->down };
	uint32_t cap = w->caps[sw];

	w->out->first[sw + 1] = w->out->first[sw];
	if (!w->others[sw] && !has_others(w, above.groups, above.n, COST) &&
	    !has_others(w, under.groups, under.n, DOWN)) {
		copy_switch(w, sw);
		return;
	}
	mem_zero(w->out->entry + (size_t)sw * w->out->ndests, w->out->ndests);
	if (cap < 2) /* of one number nothing is left to share */
		return;
	for (uint32_t layer = 1; layer < w->layers; layer++) {
		const uint64_t *is = layer_of(w, w->cost, sw, layer);
		const uint64_t *was = layer_of(w, w->cost, sw, layer - 1), *low = below(w, sw);
		uint64_t any[2] = { 0 };

		for (uint32_t k = 0; k < w->words; k++) {
			w->own[k] = is[k] & ~was[k] & ~low[k];
			w->own[w->words + k] = is[k] & ~was[k] & low[k];
			any[0] |= w->own[k];
			any[1] |= w->own[w->words + k];
		}
		if (any[0])
			add_layer(w, sw, &above, layer - 1, w->own, cap);
		if (any[1])
			add_layer(w, sw, &under, layer - 1, w->own + w->words, cap);
	}
	list_sets(w, sw);
}

static uint16_t cap_of(const struct ar_params *params, uint32_t sw)
{
	return params->caps ? params->caps[sw] : AR_GROUPS_MAX;
}

static struct ar_maker *begin(const struct topo *t, const struct ar_params *params)
{
	struct ar_maker *w = mem_new(w);
	uint32_t n = t->nswitches, numbers;

	w->kept = arena_new();
	w->g = graph_new(t, by_level);
	w->number = arena_array(w->kept, w->number, n + 1);
	w->caps = arena_array(w->kept, w->caps, n + 1);
	w->others = arena_array(w->kept, w->others, n + 1);
	for (uint32_t sw = 0; sw < n; sw++) {
		w->number[sw] = w->g->switches[sw].nhosts ? w->ndests++ : TOPO_NONE;
		w->caps[sw] = cap_of(params, sw);
		w->others[sw] = LINKS;
		if (t->nodes[sw].level * 2u >= w->layers)
			w->layers = t->nodes[sw].level * 2u + 1;
	}
	w->words = w->ndests / 64 + 1;
	numbers = AR_GROUPS_MAX + UINT8_MAX + w->ndests + 2u;
	w->lanes = arena_array(w->kept, w->lanes, w->g->nlanes + 1);
	w->down = arena_array(w->kept, w->down, (n + 1) * (size_t)w->layers * w->words);
	w->cost = arena_array(w->kept, w->cost, (n + 1) * (size_t)w->layers * w->words);
	w->sets = arena_array(w->kept, w->sets, numbers);
	w->known = arena_array(w->kept, w->known, numbers);
	w->place = arena_array(w->kept, w->place, numbers);
	w->own = arena_array(w->kept, w->own, (5 + w->layers) * w->words);
	w->near = w->own + 2 * w->words;
	w->all = w->near + w->words;
	w->two = w->all + w->words;
	w->was = w->two + w->words;
	return w;
}

/* Finds whose links are live that were not, or no more. */
static void refresh(struct ar_maker *w, const struct topo *t)
{
	uint32_t lane = 0; /* of a switch they are side by side */

	mem_copy(w->lanes, w->g->lanes, w->g->nlanes);
	graph_refresh(w->g, t, by_level);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct graph_switch *s = &w->g->switches[sw];
		uint32_t first = lane;

		for (unsigned i = 0; i < s->nup + s->ndown; i++)
			lane += graph_ups(w->g, sw)[i].nlanes;
		w->others[sw] = memcmp(w->lanes + first, w->g->lanes + first,
				       (lane - first) * sizeof(*w->lanes))
					? LINKS
					: 0;
	}
}

/* Whether what was made last is of such a snapshot, and switches share no numbers. */
static bool is_like(const struct ar_maker *w, const struct topo *t, const struct ar_params *params)
{
	return !w->last->coarse && !w->last->fixed && topo_is_again(w->t, t) &&
	       !any_of(sw, 0, t->nswitches, w->caps[sw] != cap_of(params, sw));
}

struct ar_groups *ar_groups_make(struct ar_maker **kept, const struct topo *t,
				 const struct lid_map *lids, const struct ar_params *params)
{
	struct ar_groups *out = mem_new(out);
	struct ar_maker *w = *kept;
	uint32_t n = t->nswitches;

	if (w && is_like(w, t, params)) {
		refresh(w, t);
	} else {
		ar_maker_free(w);
		w = *kept = begin(t, params);
	}
	topo_unref(w->t);
	w->t = topo_ref(t);
	w->out = out;
	*out = (struct ar_groups){
		.users = 2, .nswitches = n, .ndests = w->ndests, .top = lids->top
	};
	out->dest = mem_array_unset(out->dest, lids->top + 1u);
	out->spans = mem_array(out->spans, w->ndests + 1);
	out->first = mem_array(out->first, n + 1);
	list_dests(w, lids, params->classes);
	out->entry = mem_array_unset(out->entry, (size_t)n * out->ndests + 1);
	for (uint32_t i = 0; i < n; i++)
		find_down(w, w->g->by_rank[i]);
	for (uint32_t i = n; i-- > 0;)
		find_cost(w, w->g->by_rank[i]);
	for (uint32_t sw = 0; sw < n; sw++)
		add_switch(w, sw);
	ar_groups_free(w->last);
	return w->last = out;
}

struct ar_groups *ar_groups_new(const struct topo *t, const struct lid_map *lids,
				const struct ar_params *params)
{
	struct ar_maker *maker = NULL;
	struct ar_groups *out = ar_groups_make(&maker, t, lids, params);

	ar_maker_free(maker);
	return out;
}

void ar_maker_free(struct ar_maker *w)
{
	if (!w)
		return;
	ar_groups_free(w->last);
	topo_unref(w->t);
	graph_free(w->g);
	arena_free(w->kept);
	free(w);
}

void ar_groups_free(struct ar_groups *groups)
{
	if (!groups || groups->users-- > 1)
		return;
	free(groups->dest);
	free(groups->spans);
	free(groups->first);
	free(groups->list);
	free(groups->entry);
	free(groups);
}

struct ar_groups *ar_groups_by_lid(const struct topo *t, const struct lid_map *lids)
{
	struct ar_groups *out = mem_new(out);

	out->nswitches = t->nswitches;
	out->top = lids->top;
	out->ndests = lids->top + 1u;
	out->dest = mem_array(out->dest, lids->top + 1u);
	out->first = mem_array(out->first, t->nswitches + 1);
	out->entry = mem_array(out->entry, (size_t)t->nswitches * out->ndests + 1);
	for (uint32_t lid = 0; lid <= lids->top; lid++)
		out->dest[lid] = lid && lids->port_of_lid[lid] != TOPO_NONE ? lid : TOPO_NONE;
	return out;
}

/* ---- As text --------------------------------------------------------------------------------- */

#define GROUPS_HEAD "Groups Definition:"
#define LFT_HEAD    "LFT Definition:"

static void write_switch(const struct topo *t, const struct lid_map *lids,
			 const struct tables *tables, const struct ar_groups *g, uint32_t sw,
			 FILE *out)
{
	const uint8_t *row = tables_row(tables, sw);

	fprintf(out, "\nSwitch 0x%016" PRIx64 " %s\n" GROUPS_HEAD "\n", t->nodes[sw].guid,
		t->nodes[sw].name);
	fputs("Group   Sub Group   WHBF   Ports\n--------------------------------\n", out);
	for (uint32_t i = g->first[sw]; i < g->first[sw + 1]; i++) {
		fprintf(out, "%-8u0           0      ", g->list[i].id);
		for (unsigned num = 0; num < 256; num++)
			if (ar_has(&g->list[i].ports, num))
				fprintf(out, "%u,", num);
		fputc('\n', out);
	}
	fprintf(out, LFT_HEAD "\nPLFT_NUM: 0, top: 0x%04x\n", lids->top);
	fputs("LID     Static Port  Lid State  Group\n-------------------------------------\n",
	      out);
	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		unsigned place = ar_place(g, sw, lid);

		if (row[lid] != TABLES_NO_ROUTE)
			fprintf(out, "0x%04x  %-11u  %-9s  %u\n", lid, row[lid],
				place ? "Free" : "Static",
				place ? g->list[g->first[sw] + place - 1].id : 0);
	}
}

int ar_far_write(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		 const struct ar_groups *groups, FILE *out)
{
	fputs("File version: 1\n", out);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		write_switch(t, lids, tables, groups, sw, out);
	return ferror(out) ? -EIO : 0;
}

struct far {
	const struct topo *t;
	const struct lid_map *lids;
	struct tables *tables;
	struct ar_groups *out;
	struct ar_group *list; /* of all switches, as they come */
	uint32_t count, sw;
	struct far_place {
		uint32_t first, count;
		bool met;
	} * places; /* by switch: its groups in `list` */
	enum { BEGIN, SWITCH, GROUPS, LFT, OTHER_LFT } part;
};

/* False, with the reason in `why`: the line is none of this fabric, or none of such a text. */
static bool take_group(struct far *f, const char *line, const char **why)
{
	struct ar_group group = { 0 };
	struct far_place *place = &f->places[f->sw];
	unsigned id, sub, whbf;
	int at;

	*why = "a group, a sub-group, a weight and ports are expected";
	if (sscanf(line, "%u %u %u %n", &id, &sub, &whbf, &at) != 3 || id >= AR_GROUPS_MAX)
		return false;
	for (const char *text = line + at; *text;) {
		char *end;
		unsigned long num = strtoul(text, &end, 10);

		if (end == text || (*end && *end != ','))
			return false;
		*why = "the switch has no such port";
		if (!num || num > f->t->nodes[f->sw].nports)
			return false;
		group.ports.word[num / 64] |= 1ull << (num % 64);
		text = *end ? end + 1 : end;
	}
	if (sub)
		return true;
	*why = "groups do not ascend";
	if (place->count && f->list[f->count - 1].id >= id)
		return false;
	group.id = id;
	f->list = mem_grow(f->list, f->count);
	f->list[f->count++] = group;
	place->count++;
	return true;
}

static bool take_entry(struct far *f, const char *line, const char **why)
{
	const struct far_place *place = &f->places[f->sw];
	unsigned lid, port, id = 0, at = 0;
	char state[16];

	*why = "a LID, a port, Static, Free or HBF and a group are expected";
	if (sscanf(line, "%x %u %15s %u", &lid, &port, state, &id) < 3 ||
	    (strcmp(state, "Static") && strcmp(state, "Free") && strcmp(state, "HBF")))
		return false;
	*why = "no port of this fabric has the LID";
	if (lid > f->lids->top || f->lids->port_of_lid[lid] == TOPO_NONE)
		return false;
	*why = "the switch has no such port";
	if (port > f->t->nodes[f->sw].nports && port != TABLES_NO_ROUTE)
		return false;
	tables_set(f->tables, f->sw, lid, port);
	*why = "the switch has no such group";
	while (at < place->count && f->list[place->first + at].id != id)
		at++;
	if (*state != 'S' && at == place->count)
		return false;
	f->out->entry[(size_t)f->sw * f->out->ndests + lid] = *state == 'S' ? 0 : at + 1;
	return true;
}

static bool take_line(struct far *f, const char *line, const char **why)
{
	unsigned number;
	guid_t guid;

	*why = "what is that?";
	if (!*line || *line == '#' || *line == '-')
		return true;
	if (sscanf(line, "Switch 0x%" SCNx64, &guid) == 1) {
		uint32_t sw = topo_find(f->t, guid);

		*why = "the fabric has no such switch, or it was there before";
		if (sw >= f->t->nswitches || f->places[sw].met)
			return false;
		f->sw = sw;
		f->places[sw] = (struct far_place){ f->count, 0, true };
		f->part = SWITCH;
		return true;
	}
	if (f->part == BEGIN)
		return sscanf(line, "File version: %u", &number) == 1;
	if (!strcmp(line, GROUPS_HEAD) || !strcmp(line, LFT_HEAD)) {
		f->part = *line == 'G' ? GROUPS : LFT;
		return true;
	}
	if (!strncmp(line, "Group ", 6) || !strncmp(line, "LID ", 4) || f->part == OTHER_LFT)
		return true;
	if (sscanf(line, "PLFT_NUM: %u", &number) == 1) {
		f->part = number ? OTHER_LFT : LFT;
		return true;
	}
	if (f->part == GROUPS)
		return take_group(f, line, why);
	return f->part == LFT ? take_entry(f, line, why) : false;
}

/* The text may have another group for each LID. */
static void settle(struct far *f)
{
	struct ar_groups *out = f->out;

	out->list = mem_array(out->list, f->count + 1);
	for (uint32_t sw = 0; sw < out->nswitches; sw++) {
		const struct far_place *place = &f->places[sw];

		out->first[sw + 1] = out->first[sw] + place->count;
		mem_copy(out->list + out->first[sw], f->list + place->first, place->count);
	}
}

struct ar_groups *ar_far_read(const struct topo *t, const struct lid_map *lids, const char *name,
			      FILE *in, struct tables *tables, char *err, size_t err_size)
{
	struct ar_groups *out = ar_groups_by_lid(t, lids);
	struct far f = { .t = t, .lids = lids, .tables = tables, .out = out };
	const char *why = "it is empty";
	char *line = NULL;
	size_t size = 0;
	unsigned at = 0;
	bool good = true;

	tables_resize(tables, t->nswitches, lids->top);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		memset(tables_row(tables, sw), TABLES_NO_ROUTE, tables->stride);
	f.places = mem_array(f.places, t->nswitches + 1);
	while (good && getline(&line, &size, in) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		at++;
		good = take_line(&f, line + strspn(line, " \t"), &why);
	}
	if (!good || f.part == BEGIN) {
		snprintf(err, err_size, "%s:%u: %s", name, at, why);
		ar_groups_free(out);
		out = NULL;
	} else {
		settle(&f);
	}
	free(line);
	free(f.list);
	free(f.places);
	return out;
}
