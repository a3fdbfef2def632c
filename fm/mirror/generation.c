/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mirror/generation.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MOST (INT64_MAX - 1) /* of JSON, and of the file */

/* ---- Which is newer -------------------------------------------------------------------------- */

static const struct takeover *latest(const struct generation *g)
{
	return g->count ? &g->list[g->count - 1] : NULL;
}

/* Who was it is not known of older versions' take-overs. */
static bool is_one(const struct takeover *a, const struct takeover *b)
{
	return a->number == b->number && (a->master == b->master || !a->master || !b->master);
}

static bool has(const struct generation *g, const struct takeover *what)
{
	for (unsigned i = 0; i < g->count; i++)
		if (is_one(&g->list[i], what))
			return true;
	return false;
}

/* Also where it was so long ago that it is forgotten. */
static bool is_beginning(const struct generation *g, const struct generation *of)
{
	return !g->count || has(of, latest(g)) ||
	       (of->count == GENERATION_KEPT && latest(g)->number < of->list[0].number);
}

enum generation_result generation_compare(const struct generation *mine,
					  const struct generation *theirs)
{
	bool behind = is_beginning(mine, theirs), ahead = is_beginning(theirs, mine);

	if (behind)
		return ahead ? GENERATION_SAME : GENERATION_BEHIND;
	return ahead ? GENERATION_AHEAD : GENERATION_APART;
}

uint64_t generation_number(const struct generation *g)
{
	return g->count ? latest(g)->number : 0;
}

static void append(struct generation *g, struct takeover one)
{
	if (g->count == GENERATION_KEPT)
		memmove(g->list, g->list + 1, --g->count * sizeof(*g->list));
	g->list[g->count++] = one;
}

void generation_add(struct generation *g, guid_t master, uint64_t heard)
{
	uint64_t last = generation_number(g);

	if (heard > last)
		last = heard;
	if (last >= NUMBER_MOST) {
		*g = (struct generation){ 0 };
		last = 0;
	}
	append(g, (struct takeover){ last + 1, master });
}

bool generation_is_plausible(const struct generation *theirs, const struct generation *mine)
{
	return generation_number(theirs) <= generation_number(mine) + GENERATION_AHEAD_MOST;
}

/* ---- Text and JSON --------------------------------------------------------------------------- */

/* Numbers grow. */
static bool take(struct generation *g, struct takeover one)
{
	if (one.number <= generation_number(g) || one.number > NUMBER_MOST)
		return false;
	append(g, one);
	return true;
}

bool generation_read(struct generation *g, const char *text)
{
	uint64_t number;
	int used = 0;
	bool fine;

	*g = (struct generation){ 0 };
	fine = sscanf(text, "%" SCNu64 " %n", &number, &used) == 1;
	text += used;
	if (fine && !*text)
		return !number || take(g, (struct takeover){ number, 0 });
	while (fine && *text) {
		struct takeover one;

		fine = sscanf(text, "%" SCNu64 " 0x%" SCNx64 " %n", &one.number, &one.master,
			      &used) == 2 &&
		       take(g, one);
		text += used;
	}
	fine = fine && number == generation_number(g);
	if (!fine)
		*g = (struct generation){ 0 };
	return fine;
}

void generation_write(const struct generation *g, FILE *out)
{
	fprintf(out, "%" PRIu64 "\n", generation_number(g));
	for (unsigned i = 0; i < g->count; i++)
		fprintf(out, "%" PRIu64 " 0x%016" PRIx64 "\n", g->list[i].number,
			g->list[i].master);
}

json_t *generation_json(const struct generation *g)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < g->count; i++)
		json_array_append_new(rows,
				      json_pack("[Io]", (json_int_t)g->list[i].number,
						json_sprintf("0x%016" PRIx64, g->list[i].master)));
	return rows;
}

bool generation_parse(struct generation *g, const json_t *json)
{
	json_t *row;
	size_t i;

	*g = (struct generation){ 0 };
	json_array_foreach ((json_t *)json, i, row) {
		json_int_t number;
		const char *guid;

		if (json_unpack(row, "[Is!]", &number, &guid) || number < 0 ||
		    !take(g, (struct takeover){ (uint64_t)number, strtoull(guid, NULL, 16) })) {
			*g = (struct generation){ 0 };
			return false;
		}
	}
	return json_is_array(json);
}
