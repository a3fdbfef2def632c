/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/cabling/cabling.h"
#include "topology/cabling/cabling_own.h"
#include "topology/snapshot/naming.h"

/* ---- Findings in words, for people and as JSON ----------------------------------------------- */

/* Of text and instruction: forms of fill(); NULL: the cable has to move, wrong_text(), move(). */
static const struct kind_words {
	const char *name;  /* JSON: "kind" */
	const char *title; /* of the line */
	const char *text, *instruction;
} kinds[] = {
	[CABLING_RAIL] = { "rail", "wrong rail", NULL, NULL },
	[CABLING_ABSENT] = { "node-absent", "missing", "{at_node}: {title}",
			     "look for it: it is off, without a cable, or has another name" },
	[CABLING_ELSEWHERE] = { "elsewhere", "not as planned", NULL, NULL },
	[CABLING_MISSING] = { "missing", "missing cable",
			      "{title} at {at}: has nothing, expected {expected}",
			      "connect {at} to {expected}, or replace the dead cable" },
	[CABLING_DOWN] = { "down", "down",
			   "{title} at {at}: the cable to {found} is as planned, and down",
			   "reseat or replace the cable" },
	[CABLING_EXTRA] = { "extra", "cable too many", NULL, NULL },
	[CABLING_UNKNOWN] = { "node-unknown", "not planned", "{at_node}: {title}",
			      "take it out, rename it, or add it to the plan" },
	[CABLING_SWAP] = { "swap", "swap",
			   "{title} at {at_node} port {port} and {other_node} port {other_port} "
			   "({found}, {other_found})",
			   "exchange them: {found} belongs on {other}, {other_found} belongs on "
			   "{at}" },
	[CABLING_LEAF] = { "leaf", "wrong scalable unit", NULL, NULL },
	[CABLING_UPLINK_PORT] = { "uplink-port", "HCA in a port for switches", NULL, NULL },
	[CABLING_PORT] = { "port", "wrong port", NULL, NULL },
	[CABLING_SWITCH] = { "switch", "wrong switch", NULL, NULL },
	[CABLING_DOUBLED] = { "doubled", "doubled uplink", NULL, NULL },
	[CABLING_SAME_TIER] = { "same-tier", "cable within a tier", NULL, NULL },
	[CABLING_NO_HCA] = { "hca-missing", "missing HCA",
			     "{title} at {at}: has nothing, expected {expected}",
			     "look for the HCA in the host, and for its cable to {at}" },
	[CABLING_HOST] = { "host", "host in another scalable unit",
			   "{title}: {found_node} is on leaves of unit {leaf_unit}, and {votes} of "
			   "{of} hosts named like it on those of unit {unit}",
			   "move its cables to the leaves of unit {unit}, or rename it" },
#define SLOW                                                                                       \
	"{title} at {at}: {width}x{speed} to {found}, expected {usual_width}x{usual_speed} as "    \
	"{votes} of {of} like it",                                                                 \
		"reseat or replace the cable; compare the settings of both ports"
	[CABLING_SPEED] = { "speed", "slow link", SLOW },
	[CABLING_WIDTH] = { "width", "narrow link", SLOW },
};

const char *cabling_kind_name(enum cabling_kind kind)
{
	return kinds[kind].name;
}

/* Adds the form, each {word} of it as the item has it. */
static void fill(const struct cabling_item *i, const char *form, char *buf, size_t size)
{
	const struct {
		const char *word;
		const struct cabling_end *end;
		const char *text;
		int number;
	} words[] = {
		{ "{at}", .end = &i->at },
		{ "{found}", .end = &i->found },
		{ "{expected}", .end = &i->expected },
		{ "{belongs}", .end = &i->belongs },
		{ "{other}", .end = &i->other },
		{ "{other_found}", .end = &i->other_found },
		{ "{title}", .text = kinds[i->kind].title },
		{ "{at_node}", .text = i->at.name },
		{ "{found_node}", .text = i->found.name },
		{ "{expected_node}", .text = i->expected.name },
		{ "{other_node}", .text = i->other.name },
		{ "{speed}", .text = topo_speed_name(i->speed) },
		{ "{usual_speed}", .text = topo_speed_name(i->usual_speed) },
		{ "{width}", .number = i->width },
		{ "{usual_width}", .number = i->usual_width },
		{ "{port}", .number = i->at.port },
		{ "{other_port}", .number = i->other.port },
		{ "{rail}", .number = i->rail },
		{ "{unit}", .number = i->su + 1 },
		{ "{leaf_unit}", .number = i->leaf_su + 1 },
		{ "{votes}", .number = i->votes },
		{ "{of}", .number = i->of },
	};

	for (size_t plain; *form; form += strcspn(form, "}") + 1) {
		plain = strcspn(form, "{");
		text_add(buf, size, "%.*s", (int)plain, form);
		form += plain;
		if (!*form)
			return;
		ARRAY_EACH (it, words, ARRAY_SIZE(words)) {
			const struct cabling_end *end = it->end;

			if (strncmp(form, it->word, strlen(it->word)))
				continue;
			if (!end && !it->text)
				text_add(buf, size, "%d", it->number);
			else
				text_add(buf, size, "%s", !end ? it->text : end->name ?: "nothing");
			if (end && end->name && end->port && !end->only)
				text_add(buf, size,
					 end->label && *end->label ? " port %u (%s)" : " port %u",
					 end->port, end->label);
		}
	}
}

static const char *wrong_text(const struct cabling_item *i)
{
	if (i->kind == CABLING_RAIL && i->rail >= 0)
		return i->expected.name
			       ? "{title} at {at}: has {found} of rail {rail}, expected {expected}"
			       : "{title} at {at}: has {found} of rail {rail}, expected an HCA of "
				 "its "
				 "own rail";
	if (i->one_of)
		return "{title} at {at_node}: has one cable too many to {found_node} (such as port "
		       "{port}), expected {expected}";
	return i->expected.name ? "{title} at {at}: has {found}, expected {expected}"
				: "{title} at {at}: has {found}, which does not belong there";
}

void cabling_describe(const struct cabling_item *i, char *buf, size_t size)
{
	const char *form = kinds[i->kind].text ?: wrong_text(i);

	if (i->kind == CABLING_SWAP && !strcmp(i->at.name, i->other.name))
		form = "{title} at {at_node}: ports {port} and {other_port} ({found}, "
		       "{other_found})";
	*buf = '\0';
	fill(i, form, buf, size);
}

static const char *move(const struct cabling_item *i)
{
	if (i->other.name)
		return "take it out, and connect {other} to {other_found} instead";
	if (i->belongs.name)
		return i->expected.name
			       ? "{found} belongs on {belongs}; then connect {at} to {expected}"
			       : "{found} belongs on {belongs}";
	if (i->expected.name)
		return "take it out, and connect {at} to {expected}";
	return i->kind == CABLING_RAIL ? "{found} belongs on a leaf of rail {rail}" : "take it out";
}

void cabling_instruct(const struct cabling_item *i, char *buf, size_t size)
{
	const char *form = kinds[i->kind].instruction;

	*buf = '\0';
	/* Where no HCA has the name that is expected, the cable may be right and the name wrong. */
	if (!form && i->absent)
		fill(i,
		     "no HCA is called {expected_node}: if this is it, correct its node "
		     "description "
		     "and leave the cable; else ",
		     buf, size);
	fill(i, form ?: move(i), buf, size);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *end_json(const struct cabling_end *end)
{
	return end->name ? json_pack("{ss si}", "name", end->name, "port", end->port) : json_null();
}

json_t *cabling_json(const struct cabling *c)
{
	json_t *items = json_array();

	for (uint32_t i = 0; i < c->count; i++) {
		const struct cabling_item *item = &c->items[i];
		char text[1024], instruction[1024];

		cabling_describe(item, text, sizeof(text));
		cabling_instruct(item, instruction, sizeof(instruction));

		json_t *row = json_pack(
			"{ss ss ss so so so so so so so so}", "kind", cabling_kind_name(item->kind),
			"text", text, "instruction", instruction, "at", end_json(&item->at),
			"found", end_json(&item->found), "expected", end_json(&item->expected),
			"belongs", end_json(&item->belongs), "a", end_json(&item->a), "b",
			end_json(&item->b), "a_leads_to", end_json(&item->a_found), "b_leads_to",
			end_json(&item->b_found));

		if (item->other.name)
			json_put(row, "{so so}", "other", end_json(&item->other), "other_found",
				 end_json(&item->other_found));
		if (item->of)
			json_put(row, "{si si}", "votes", item->votes, "of", item->of);
		if (item->kind == CABLING_RAIL)
			json_put(row, "{si si ss?}", "rail", item->rail, "leaf_rail",
				 item->leaf_rail, "belongs_on", item->belongs.name);
		if (item->usual_width)
			json_put(row, "{s{ss si} s{ss si}}", "found", "speed",
				 topo_speed_name(item->speed), "width", item->width, "expected",
				 "speed", topo_speed_name(item->usual_speed), "width",
				 item->usual_width);
		json_array_append_new(items, row);
	}
	return json_pack("{si si so si}", "compared", c->compared, "cables", c->cables, "differ",
			 items, "not_unique", c->not_unique);
}

/* ---- The kind of a cable that does not fit, by what it connects and what is expected --------- */

static bool is_switch(const struct wiring *w, uint32_t v)
{
	return v != TOPO_NONE && w->v[v].node < w->t->nswitches;
}

static unsigned count_cables(const struct wiring *w, uint32_t sw, uint32_t other, bool wanted)
{
	unsigned count = 0;

	for (unsigned num = 1; num <= w->t->nodes[sw].nports; num++) {
		uint32_t port = w->t->nodes[sw].port0 + num;
		uint32_t far = wanted ? w->v[port].want : w->v[port].found;

		count += far != TOPO_NONE && w->v[far].node == other;
	}
	return count;
}

/* The kind of the wrong cable at vertex `at`, judged by the pattern. */
static enum cabling_kind cabling_kind_of(const struct wiring *w, const struct tiers *tiers,
					 uint32_t at)
{
	uint32_t found = w->v[at].found, sw = w->v[at].node, other = w->v[found].node;
	uint32_t expected = w->v[at].want, belongs = w->v[found].want;

	if (!is_switch(w, at))
		return CABLING_EXTRA;
	if (is_switch(w, found)) {
		unsigned wanted = count_cables(w, sw, other, true);

		if (tiers->level[sw] == tiers->level[other])
			return CABLING_SAME_TIER;
		if ((expected == TOPO_NONE || w->v[expected].node == other) &&
		    (belongs == TOPO_NONE || w->v[belongs].node == sw) &&
		    (expected != TOPO_NONE || belongs != TOPO_NONE))
			return CABLING_PORT;
		return wanted && count_cables(w, sw, other, false) > wanted ? CABLING_DOUBLED
									    : CABLING_SWITCH;
	}
	if (is_switch(w, expected) || (belongs != TOPO_NONE && tiers->level[sw]))
		return CABLING_UPLINK_PORT;
	if (belongs == TOPO_NONE)
		return w->v[found].stray ? CABLING_RAIL : CABLING_PORT;
	if (w->v[belongs].node == sw)
		return CABLING_PORT;
	return w->t->nodes[other].su != w->t->nodes[sw].su ? CABLING_LEAF : CABLING_RAIL;
}

/* ---- What is found against what is expected -------------------------------------------------- */

/*
 * What is found against what is expected, as few findings as possible.
 *
 * Take cables that are wrong and cables that are expected and not there as edges between ports. A
 * port has one of each at most, so they form chains and rings in which the two kinds alternate:
 *   - a ring of four ports is two cables exchanged: one finding, a swap;
 *   - an expected edge alone is a missing cable, a wrong one alone a cable too many;
 *   - in all others each wrong cable is a finding, and names the expectations at both its ends.
 * A missing cable and one too many at the same switch, where only the pattern speaks, are one cable
 * in the wrong place.
 */

struct reporting {
	struct wiring *w;
	const struct tiers *tiers; /* NULL = against a plan */
	bool *seen;		   /* by vertex */
	uint32_t *chain;	   /* vertices in a row */
	uint32_t length;
	bool ring;
};

static bool is_wrong(const struct wiring *w, uint32_t v)
{
	uint32_t far = w->v[v].found;

	return far != TOPO_NONE && (w->v[v].stray || w->v[far].stray ||
				    (w->v[v].want != TOPO_NONE && w->v[v].want != far) ||
				    (w->v[far].want != TOPO_NONE && w->v[far].want != v));
}

static struct cabling_end end_of(const struct wiring *w, uint32_t v)
{
	return v == TOPO_NONE ? (struct cabling_end){ 0 } : w->v[v].end;
}

/* What the finding has in common with all others: the expected cable, and where its ends lead. */
static void set_cable(const struct wiring *w, struct cabling_item *item, uint32_t a, uint32_t b)
{
	item->a = w->v[a].end;
	item->b = w->v[b].end;
	item->a_found = end_of(w, w->v[a].found);
	item->b_found = end_of(w, w->v[b].found);
	item->rail = item->leaf_rail = -1;
}

static void set_votes(const struct wiring *w, struct cabling_item *item, uint32_t v)
{
	if (w->planned)
		return;
	item->votes = w->v[v].votes.votes;
	item->of = w->v[v].votes.of;
}

/* ---- Chains and rings ------------------------------------------------------------------------ */

static uint32_t step_from(const struct wiring *w, uint32_t v, bool wrong)
{
	if (wrong)
		return is_wrong(w, v) ? w->v[v].found : TOPO_NONE;
	return w->v[v].want != TOPO_NONE && w->v[v].want != w->v[v].found ? w->v[v].want
									  : TOPO_NONE;
}

/* The end of the chain that v is in, on the side of its wrong cable; v itself in a ring. */
static uint32_t find_start(const struct wiring *w, uint32_t v, bool *wrong)
{
	uint32_t at = v;
	bool by_wrong = true;

	for (;;) {
		uint32_t next = step_from(w, at, by_wrong);

		if (next == TOPO_NONE || (next == v && !by_wrong)) {
			*wrong = !by_wrong;
			return next == TOPO_NONE ? at : v;
		}
		at = next;
		by_wrong = !by_wrong;
	}
}

/* ---- Findings -------------------------------------------------------------------------------- */

/*
 * x has y and wants what v has, which wants y. They are exchanged at the end where both are on one
 * switch, else at the side of the switches.
 */
static void report_swap(struct reporting *rep, uint32_t x, uint32_t y, uint32_t v, uint32_t u)
{
	const struct wiring *w = rep->w;
	bool turn = w->v[x].node != w->v[v].node &&
		    (w->v[y].node == w->v[u].node || (is_switch(w, y) && !is_switch(w, x)));
	uint32_t first = turn ? y : x, second = turn ? u : v;
	bool back = w->v[first].node == w->v[second].node
			    ? w->v[second].end.port < w->v[first].end.port
			    : second < first;
	uint32_t at = back ? second : first, other = back ? first : second;
	struct cabling_item item = { .kind = CABLING_SWAP };

	set_cable(w, &item, at, w->v[other].found);
	set_votes(w, &item, at);
	item.at = w->v[at].end;
	item.found = w->v[w->v[at].found].end;
	item.expected = item.other_found = w->v[w->v[other].found].end;
	item.other = w->v[other].end;
	cabling_add(w->result, &item);
}

/*
 * Whether `at` is the end that the finding sends people to: the one that has to move within its
 * switch, else a switch, else the switch of the lower level.
 */
static bool goes_to(const struct reporting *rep, uint32_t at, uint32_t found)
{
	const struct wiring *w = rep->w;
	uint32_t belongs = w->v[found].want;

	if (belongs != TOPO_NONE && w->v[belongs].node == w->v[at].node && is_switch(w, at))
		return true;
	belongs = w->v[at].want;
	if (belongs != TOPO_NONE && w->v[belongs].node == w->v[found].node && is_switch(w, found))
		return false;
	if (is_switch(w, at) != is_switch(w, found))
		return is_switch(w, at);
	return is_switch(w, at) &&
	       w->t->nodes[w->v[at].node].level <= w->t->nodes[w->v[found].node].level;
}

static void report_wrong(struct reporting *rep, uint32_t x, uint32_t y)
{
	const struct wiring *w = rep->w;
	uint32_t at = goes_to(rep, x, y) ? x : y, found = w->v[at].found;
	uint32_t expected = w->v[at].want, belongs = w->v[found].want;
	struct cabling_item item = { .kind = CABLING_ELSEWHERE };

	if (expected == TOPO_NONE && belongs == TOPO_NONE) {
		item.kind = CABLING_EXTRA;
		set_cable(w, &item, at, found);
	} else {
		uint32_t a = expected != TOPO_NONE ? at : found;

		set_cable(w, &item, a, w->v[a].want);
		set_votes(w, &item, a);
	}
	if (rep->tiers)
		item.kind = cabling_kind_of(w, rep->tiers, at);
	item.at = end_of(w, at);
	item.found = end_of(w, found);
	item.expected = end_of(w, expected);
	item.belongs = end_of(w, belongs);
	item.absent = !w->planned && expected != TOPO_NONE && w->v[expected].node == TOPO_NONE &&
		      !is_switch(w, found);
	item.one_of = w->v[at].one_of || w->v[found].one_of;
	if (item.kind == CABLING_RAIL) {
		item.rail = w->t->nodes[w->v[found].node].rail;
		item.leaf_rail = w->t->nodes[w->v[at].node].rail;
	}
	cabling_add(w->result, &item);
}

static void report_chain(struct reporting *rep)
{
	const struct wiring *w = rep->w;
	const uint32_t *v = rep->chain;

	/*
	 * Whether a chain of four ports is a swap though nothing is expected at its two outer
	 * ports: both cables have an end on the same switch, and one is in the port where the other
	 * is expected.
	 */
	if (rep->length == 4 && w->v[v[0]].found == v[1] &&
	    (rep->ring ||
	     (rep->tiers && w->v[v[2]].found == v[3] && w->v[v[0]].want == TOPO_NONE &&
	      w->v[v[3]].want == TOPO_NONE &&
	      (w->v[v[1]].node == w->v[v[3]].node || w->v[v[0]].node == w->v[v[2]].node))))
		report_swap(rep, v[0], v[1], v[2], v[3]);
	else if (rep->ring && rep->length == 4)
		report_swap(rep, v[1], v[2], v[3], v[0]);
	else if (rep->length == 2 && w->v[v[0]].found != v[1]) {
		uint32_t a = v[0], b = v[1];
		bool turn = !is_switch(w, a) ||
			    (is_switch(w, b) &&
			     w->t->nodes[w->v[b].node].level < w->t->nodes[w->v[a].node].level);
		bool absent = w->v[a].node == TOPO_NONE || w->v[b].node == TOPO_NONE;
		struct cabling_item item = { .kind = absent && !w->planned ? CABLING_NO_HCA
									   : CABLING_MISSING };

		set_cable(w, &item, turn ? b : a, turn ? a : b);
		set_votes(w, &item, a);
		item.at = item.a;
		item.expected = item.b;
		cabling_add(w->result, &item);
	} else
		for (uint32_t i = 0; i < rep->length; i++) {
			uint32_t next = i + 1 < rep->length ? i + 1 : 0;

			if ((next || rep->ring) && w->v[v[i]].found == v[next])
				report_wrong(rep, v[i], v[next]);
		}
}

/* ---- A cable too many and one that is missing ------------------------------------------------ */

static void join_pairs(struct cabling *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		struct cabling_item *extra = &c->items[i];

		if (!extra->found.name || extra->expected.name || extra->belongs.name ||
		    extra->other.name || extra->kind == CABLING_HOST ||
		    extra->kind == CABLING_SAME_TIER)
			continue;
		for (uint32_t j = 0; j < c->count && !extra->other.name; j++)
			if (c->items[j].kind == CABLING_MISSING && c->items[j].at.name) {
				/*
				 * Where both have a node in common, `extra` becomes the finding of
				 * both; the missing cable's loses its name, which drops it later. A
				 * node's name is one text, so pointers are compared.
				 */
				struct cabling_item *missing = &c->items[j];
				bool at_b = extra->b.name == missing->a.name ||
					    extra->b.name == missing->b.name;
				struct cabling_end at = at_b ? extra->b : extra->a,
						   found = at_b ? extra->a : extra->b;
				bool turn = at.name == missing->b.name;

				if (at.name != missing->a.name && !turn)
					continue;
				extra->at = at;
				extra->found = found;
				extra->a = extra->other = turn ? missing->b : missing->a;
				extra->b = extra->other_found = turn ? missing->a : missing->b;
				extra->a_found = extra->b_found = (struct cabling_end){ 0 };
				extra->votes = missing->votes;
				extra->of = missing->of;
				missing->at.name = NULL;
			}
	}
	for (uint32_t i = 0; i < c->count; i++)
		if (c->items[i].at.name)
			c->items[n++] = c->items[i];
	c->count = n;
}

void cabling_report(struct wiring *w, const struct tiers *tiers)
{
	struct reporting rep = { .w = w,
				 .tiers = tiers,
				 .seen = mem_array(rep.seen, w->nvertices + 1),
				 .chain = mem_array(rep.chain, w->nvertices + 1) };

	/*
	 * An HCA whose description names no host, in the port of an HCA that is nowhere else: a
	 * host is called so until its operating system has come up, and nothing says that it is
	 * another one.
	 */
	for (uint32_t v = 0; tiers && v < w->nvertices; v++) {
		uint32_t hca = w->v[v].found, absent = w->v[v].want;

		if (hca == TOPO_NONE || absent == TOPO_NONE || w->v[absent].node != TOPO_NONE ||
		    !is_switch(w, v) || is_switch(w, hca) || w->v[hca].want != TOPO_NONE ||
		    !naming_is_factory(w->t->nodes[w->v[hca].node].desc))
			continue;
		w->v[absent].want = TOPO_NONE;
		w->v[v].want = hca;
		w->v[hca].want = v;
		w->v[v].stray = w->v[hca].stray = false;
	}
	for (uint32_t v = 0; v < w->nvertices; v++) {
		if (rep.seen[v] || (!is_wrong(w, v) &&
				    !(w->v[v].want != TOPO_NONE && w->v[v].want != w->v[v].found)))
			continue;

		bool wrong;
		uint32_t start = find_start(w, v, &wrong), at = start;

		rep.length = 0;
		do {
			rep.chain[rep.length++] = at;
			rep.seen[at] = true;
			at = step_from(w, at, wrong);
			wrong = !wrong;
			rep.ring = at == start;
		} while (at != TOPO_NONE && at != start);
		report_chain(&rep);
	}
	if (tiers)
		join_pairs(w->result);
	free(rep.seen);
	free(rep.chain);
}
