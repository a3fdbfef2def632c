/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * complete_names: names of the fabric for completion, asked of fmd; where there is none, nothing is
 * offered. A candidate's blanks are escaped, and what stands before a ':' or '=' is left out where
 * bash takes that for the end of a word.
 */
#include <string.h>
#include "fm/fmctl/complete.h"

#define SPECIAL " \t\"'\\$`&|;<>()*?[]{}!#~"

void offer_text(const struct offers *offers, const char *text, size_t len)
{
	size_t typed = strlen(offers->word);

	if (len < typed || strncmp(text, offers->word, typed))
		return;
	for (size_t i = offers->skip; i < len; i++) {
		if (offers->bare && strchr(SPECIAL, text[i]))
			putchar('\\');
		putchar(text[i]);
	}
	putchar('\n');
}

/* What words of usage stand for. */
static const struct {
	const char *metavar, *kind;
	unsigned bit; /* of the kind */
} kinds[] = {
	{ "WHAT", "what", 1 },	     { "FROM", "what", 1 },   { "TO", "what", 1 },
	{ "NODE", "what", 1 },	     { "HOST", "host", 2 },   { "LEAF", "leaf", 4 },
	{ "SWITCH", "switch", 8 },   { "KIND", "event", 16 }, { "MLID", "group", 32 },
	{ "NAME", "partition", 64 },
};

static void offer_kind(const struct offers *offers, const char *kind)
{
	struct fmctl_answer answer = fmctl_ask(
		offers->ctl, "names", json_pack("{ss ss}", "kind", kind, "prefix", offers->word));
	const json_t *name;
	size_t i;

	json_array_foreach (answer.result, i, name)
		if (json_is_string(name))
			offer_text(offers, json_string_value(name), json_string_length(name));
	json_decref(answer.result);
}

static void offer_metavar(const struct offers *offers, const char *metavar, size_t len)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].metavar) == len && !strncmp(kinds[i].metavar, metavar, len) &&
		    !(*offers->asked & kinds[i].bit)) {
			*offers->asked |= kinds[i].bit;
			offer_kind(offers, kinds[i].kind);
		}
}

void offer_names(const struct offers *offers, const char *metavar, size_t len)
{
	const char *end = metavar + len;

	while (metavar < end) {
		size_t part = strcspn(metavar, "| []\n=.");

		offer_metavar(offers, metavar, part);
		metavar += part + 1;
	}
}
