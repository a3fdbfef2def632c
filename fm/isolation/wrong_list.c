/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/wrong_list.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

#define MLID_BLOCKS ((0x10000 - MCAST_FIRST_MLID) / MCAST_BLOCK)
#define DIGITS_MAX  8

struct wrong_table *wrong_list_find(const struct isolation *is, guid_t sw)
{
	struct wrong_table *wrong = is->wrong;

	while (wrong && wrong->at.sw != sw)
		wrong = wrong->next;
	return wrong;
}

struct wrong_table *wrong_list_add(struct isolation *is, const struct table_block *at)
{
	struct wrong_table *wrong = mem_alloc(1, sizeof(*wrong));

	*wrong = (struct wrong_table){ .next = is->wrong, .isolation = is, .at = *at };
	is->wrong = wrong;
	return wrong;
}

void wrong_list_remove(struct wrong_table *wrong)
{
	struct wrong_table **link = &wrong->isolation->wrong;

	while (*link != wrong)
		link = &(*link)->next;
	*link = wrong->next;
	mad_cancel(wrong->isolation->services.mad, wrong->token);
	free(wrong);
}

void wrong_list_fini(struct isolation *is)
{
	while (is->wrong)
		wrong_list_remove(is->wrong);
}

/* ---- The file -------------------------------------------------------------------------------- */

static bool parse_block(const char *word, struct table_block *at)
{
	int end = -1;

	if (!strcmp(word, "top")) {
		at->kind = TABLE_TOP;
		return true;
	}
	if (strlen(word) > DIGITS_MAX)
		return false; /* sscanf() takes a number that is too large for another one */
	if (sscanf(word, "%" SCNu32 ".%u%n", &at->block, &at->position, &end) == 2 && !word[end]) {
		at->kind = TABLE_MFT;
		return at->block < MLID_BLOCKS && at->position < MCAST_POSITIONS;
	}
	if (sscanf(word, "%" SCNu32 "%n", &at->block, &end) != 1 || word[end])
		return false;
	at->kind = TABLE_LFT;
	return at->block <= TABLES_MAX_LID / TABLES_BLOCK;
}

static unsigned read_list(void *owner, FILE *in)
{
	struct isolation *is = owner;
	char line[128], word[32], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct table_block at = { 0 };

		if (sscanf(line, "0x%" SCNx64 " %31s %c", &at.sw, word, &rest) != 2 || !at.sw ||
		    !parse_block(word, &at))
			return number;
		if (!wrong_list_find(is, at.sw))
			wrong_list_add(is, &at);
	}
	return 0;
}

static void forget_list(void *owner)
{
	wrong_list_fini(owner);
}

static bool is_saved(const struct wrong_table *wrong)
{
	const struct isolated *it =
		isolated_find(wrong->isolation, wrong->at.sw, 0, ISOLATED_WRONG_TABLES);

	return !wrong->met || (it && it->in_force);
}

/* The switches by name, for the alert that the file was lost. */
static void sum_up(const void *owner, FILE *out)
{
	const struct isolation *is = owner;
	const char *comma = "";

	for (const struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		const struct inv_node *node = inventory_find(is->services.inventory, wrong->at.sw);

		if (!is_saved(wrong))
			continue;
		if (node)
			fprintf(out, "%s%s", comma, node->name);
		else
			fprintf(out, "%s0x%016" PRIx64, comma, wrong->at.sw);
		comma = ", ";
	}
}

static void write_list(const void *owner, FILE *out)
{
	const struct isolation *is = owner;

	for (const struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		const struct table_block *at = &wrong->at;

		if (!is_saved(wrong))
			continue;
		fprintf(out, "0x%016" PRIx64 " ", at->sw);
		if (at->kind == TABLE_TOP)
			fprintf(out, "top\n");
		else if (at->kind == TABLE_MFT)
			fprintf(out, "%" PRIu32 ".%u\n", at->block, at->position);
		else
			fprintf(out, "%" PRIu32 "\n", at->block);
	}
}

static const struct state_file list_file = {
	.name = "untrue",
	.small = true,
	.summary = sum_up,
	.form = "`GUID BLOCK`",
	.read = read_list,
	.forget = forget_list,
	.write = write_list,
};

void wrong_list_load(struct isolation *is)
{
	state_store_read(is->services.state, &list_file, is);
}

void wrong_list_changed(struct isolation *is)
{
	state_store_changed(is->services.state, &list_file, is);
}
