/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cabling_text: findings in words, for people and as JSON. */
#include <stdio.h>
#include <string.h>
#include "topology/cabling/cabling.h"
#include "topology/base/mem.h"

#define END_SIZE 192

struct kind_words {
	const char *name;  /* JSON: "kind" */
	const char *title; /* of the line */
};

static const struct kind_words kinds[] = {
	[CABLING_RAIL] = { "rail", "wrong rail" },
	[CABLING_ABSENT] = { "node-absent", "missing" },
	[CABLING_ELSEWHERE] = { "elsewhere", "not as planned" },
	[CABLING_MISSING] = { "missing", "missing cable" },
	[CABLING_DOWN] = { "down", "down" },
	[CABLING_EXTRA] = { "extra", "cable too many" },
	[CABLING_UNKNOWN] = { "node-unknown", "not planned" },
	[CABLING_SWAP] = { "swap", "swap" },
	[CABLING_LEAF] = { "leaf", "wrong scalable unit" },
	[CABLING_UPLINK_PORT] = { "uplink-port", "HCA in a port for switches" },
	[CABLING_PORT] = { "port", "wrong port" },
	[CABLING_SWITCH] = { "switch", "wrong switch" },
	[CABLING_DOUBLED] = { "doubled", "doubled uplink" },
	[CABLING_SAME_TIER] = { "same-tier", "cable within a tier" },
	[CABLING_NO_HCA] = { "hca-missing", "missing HCA" },
	[CABLING_HOST] = { "host", "host in another scalable unit" },
	[CABLING_SPEED] = { "speed", "slow link" },
	[CABLING_WIDTH] = { "width", "narrow link" },
};

const char *cabling_kind_name(enum cabling_kind kind)
{
	return kinds[kind].name;
}

static const char *end_text(const struct cabling_end *end, char *buf)
{
	if (!end->name)
		return "nothing";
	if (!end->port || end->only)
		snprintf(buf, END_SIZE, "%s", end->name);
	else if (end->label && *end->label)
		snprintf(buf, END_SIZE, "%s port %u (%s)", end->name, end->port, end->label);
	else
		snprintf(buf, END_SIZE, "%s port %u", end->name, end->port);
	return buf;
}

static int describe_swap(const struct cabling_item *i, char *buf, size_t size)
{
	char found[END_SIZE], other_found[END_SIZE];
	const char *f = end_text(&i->found, found), *o = end_text(&i->other_found, other_found);

	if (!strcmp(i->at.name, i->other.name))
		return snprintf(buf, size, "swap at %s: ports %u and %u (%s, %s)", i->at.name,
				i->at.port, i->other.port, f, o);
	return snprintf(buf, size, "swap at %s port %u and %s port %u (%s, %s)", i->at.name,
			i->at.port, i->other.name, i->other.port, f, o);
}

static int describe_slow(const struct cabling_item *i, char *buf, size_t size)
{
	char at[END_SIZE], found[END_SIZE];

	return snprintf(buf, size, "%s at %s: %ux%s to %s, expected %ux%s as %u of %u like it",
			kinds[i->kind].title, end_text(&i->at, at), i->width,
			topo_speed_name(i->speed), end_text(&i->found, found), i->usual_width,
			topo_speed_name(i->usual_speed), i->votes, i->of);
}

static int describe_wrong(const struct cabling_item *i, char *buf, size_t size)
{
	char at[END_SIZE], found[END_SIZE], expected[END_SIZE];
	const char *title = kinds[i->kind].title;

	end_text(&i->at, at);
	end_text(&i->found, found);
	if (i->kind == CABLING_RAIL && i->rail >= 0)
		return snprintf(buf, size, "%s at %s: has %s of rail %d, expected %s", title, at,
				found, i->rail,
				i->expected.name ? end_text(&i->expected, expected)
						 : "an HCA of its own rail");
	if (i->one_of)
		return snprintf(
			buf, size,
			"%s at %s: has one cable too many to %s (such as port %u), expected %s",
			title, i->at.name, i->found.name, i->at.port,
			end_text(&i->expected, expected));
	if (i->expected.name)
		return snprintf(buf, size, "%s at %s: has %s, expected %s", title, at, found,
				end_text(&i->expected, expected));
	return snprintf(buf, size, "%s at %s: has %s, which does not belong there", title, at,
			found);
}

int cabling_describe(const struct cabling_item *i, char *buf, size_t size)
{
	char at[END_SIZE], far[END_SIZE];

	switch (i->kind) {
	case CABLING_ABSENT:
	case CABLING_UNKNOWN:
		return snprintf(buf, size, "%s: %s", i->at.name, kinds[i->kind].title);
	case CABLING_DOWN:
		return snprintf(buf, size, "down at %s: the cable to %s is as planned, and down",
				end_text(&i->at, at), end_text(&i->found, far));
	case CABLING_MISSING:
	case CABLING_NO_HCA:
		return snprintf(buf, size, "%s at %s: has nothing, expected %s",
				kinds[i->kind].title, end_text(&i->at, at),
				end_text(&i->expected, far));
	case CABLING_SWAP:
		return describe_swap(i, buf, size);
	case CABLING_SPEED:
	case CABLING_WIDTH:
		return describe_slow(i, buf, size);
	case CABLING_HOST:
		return snprintf(
			buf, size,
			"%s: %s is on leaves of unit %d, and %u of %u hosts named like it on "
			"those of unit %d",
			kinds[i->kind].title, i->found.name, i->leaf_su + 1, i->votes, i->of,
			i->su + 1);
	default:
		return describe_wrong(i, buf, size);
	}
}

/* ---- What to do ------------------------------------------------------------------------------ */

static int instruct_move(const struct cabling_item *i, char *buf, size_t size)
{
	char at[END_SIZE], found[END_SIZE], to[END_SIZE], expected[END_SIZE];

	end_text(&i->at, at);
	end_text(&i->found, found);
	if (i->other.name)
		return snprintf(buf, size, "take it out, and connect %s to %s instead",
				end_text(&i->other, to), end_text(&i->other_found, expected));
	if (i->belongs.name && i->expected.name)
		return snprintf(buf, size, "%s belongs on %s; then connect %s to %s", found,
				end_text(&i->belongs, to), at, end_text(&i->expected, expected));
	if (i->belongs.name)
		return snprintf(buf, size, "%s belongs on %s", found, end_text(&i->belongs, to));
	if (i->expected.name)
		return snprintf(buf, size, "take it out, and connect %s to %s", at,
				end_text(&i->expected, expected));
	if (i->kind == CABLING_RAIL)
		return snprintf(buf, size, "%s belongs on a leaf of rail %d", found, i->rail);
	return snprintf(buf, size, "take it out");
}

/* Where no HCA has the name that is expected, the cable may be right and the name wrong. */
static int instruct_wrong(const struct cabling_item *i, char *buf, size_t size)
{
	int used = 0;

	if (i->absent)
		used = snprintf(buf, size,
				"no HCA is called %s: if this is it, correct its node description "
				"and leave the cable; else ",
				i->expected.name);
	if ((size_t)used >= size)
		return used;
	return used + instruct_move(i, buf + used, size - (size_t)used);
}

int cabling_instruct(const struct cabling_item *i, char *buf, size_t size)
{
	char at[END_SIZE], far[END_SIZE], other[END_SIZE], its[END_SIZE];

	switch (i->kind) {
	case CABLING_ABSENT:
		return snprintf(buf, size,
				"look for it: it is off, without a cable, or has another name");
	case CABLING_UNKNOWN:
		return snprintf(buf, size, "take it out, rename it, or add it to the plan");
	case CABLING_DOWN:
		return snprintf(buf, size, "reseat or replace the cable");
	case CABLING_MISSING:
		return snprintf(buf, size, "connect %s to %s, or replace the dead cable",
				end_text(&i->at, at), end_text(&i->expected, far));
	case CABLING_NO_HCA:
		return snprintf(buf, size, "look for the HCA in the host, and for its cable to %s",
				end_text(&i->at, at));
	case CABLING_SWAP:
		return snprintf(buf, size, "exchange them: %s belongs on %s, %s belongs on %s",
				end_text(&i->found, far), end_text(&i->other, other),
				end_text(&i->other_found, its), end_text(&i->at, at));
	case CABLING_SPEED:
	case CABLING_WIDTH:
		return snprintf(buf, size,
				"reseat or replace the cable; compare the settings of both ports");
	case CABLING_HOST:
		return snprintf(buf, size, "move its cables to the leaves of unit %d, or rename it",
				i->su + 1);
	default:
		return instruct_wrong(i, buf, size);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *end_json(const struct cabling_end *end)
{
	return end->name ? json_pack("{ss si}", "name", end->name, "port", (int)end->port)
			 : json_null();
}

static json_t *rate_json(uint8_t speed, uint8_t width)
{
	return json_pack("{ss si}", "speed", topo_speed_name(speed), "width", (int)width);
}

static void set_rail(const struct cabling_item *item, json_t *row)
{
	json_object_set_new(row, "rail", json_integer(item->rail));
	json_object_set_new(row, "leaf_rail", json_integer(item->leaf_rail));
	json_object_set_new(row, "belongs_on",
			    item->belongs.name ? json_string(item->belongs.name) : json_null());
}

static json_t *item_json(const struct cabling_item *item)
{
	char text[1024], instruction[1024];
	json_t *row;

	cabling_describe(item, text, sizeof(text));
	cabling_instruct(item, instruction, sizeof(instruction));
	row = json_pack("{ss ss ss so so so so so so so so}", "kind", cabling_kind_name(item->kind),
			"text", text, "instruction", instruction, "at", end_json(&item->at),
			"found", end_json(&item->found), "expected", end_json(&item->expected),
			"belongs", end_json(&item->belongs), "a", end_json(&item->a), "b",
			end_json(&item->b), "a_leads_to", end_json(&item->a_found), "b_leads_to",
			end_json(&item->b_found));
	if (item->other.name) {
		json_object_set_new(row, "other", end_json(&item->other));
		json_object_set_new(row, "other_found", end_json(&item->other_found));
	}
	if (item->of) {
		json_object_set_new(row, "votes", json_integer(item->votes));
		json_object_set_new(row, "of", json_integer(item->of));
	}
	if (item->kind == CABLING_RAIL)
		set_rail(item, row);
	if (item->usual_width) {
		json_object_set_new(row, "found", rate_json(item->speed, item->width));
		json_object_set_new(row, "expected",
				    rate_json(item->usual_speed, item->usual_width));
	}
	return row;
}

json_t *cabling_json(const struct cabling *c)
{
	json_t *items = json_array();

	for (uint32_t i = 0; i < c->count; i++)
		json_array_append_new(items, item_json(&c->items[i]));
	return json_pack("{si si so si}", "compared", (int)c->compared, "cables", (int)c->cables,
			 "differ", items, "not_unique", (int)c->not_unique);
}
