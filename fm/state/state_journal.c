/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_journal: which records the journal has (journal.h), what becomes of those that an earlier
 * life left, and when a segment is not needed any more.
 *
 * What is replayed becomes records of its file, as if another manager had sent them: who reads the
 * file takes them behind it, and writes it anew. A segment is needed until the disk has every file
 * with all of its records that the segment holds. Records of a file that has no owner here, and
 * lines that this version does not know, move to the next segment: nobody here can write them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/loop/log.h"
#include "fm/state/state_store_own.h"

#define UNKNOWN_MOST (1u << 20) /* bytes of lines that this version does not know */

/* ---- Segments that are not needed any more --------------------------------------------------- */

static bool is_needed(const struct state_store *s, unsigned segment)
{
	for (const struct kept *k = s->files; k; k = k->next)
		if (k->in_segment[segment] > k->saved)
			return true;
	return false;
}

static bool add(struct state_store *s, struct kept *k, const char *line, size_t length)
{
	uint64_t seq = journal_add(s->journal, JOURNAL_RECORD, k->file->name, line, length);

	if (!seq)
		return false;
	k->recorded = seq;
	k->in_segment[journal_segment(s->journal)] = seq;
	return true;
}

/* All of its records, once more: what was there of them is not needed then. */
static void add_again(struct state_store *s, struct kept *k)
{
	const char *at = k->records.bytes, *end = at + k->records.length, *line;
	size_t length;

	while ((line = records_line(&at, end, &length)))
		add(s, k, line, length);
}

/* Of what the other segment has, what will not be saved here. */
static void move(struct state_store *s, unsigned from)
{
	for (struct kept *k = s->files; k; k = k->next)
		if (k->in_segment[from] > k->saved && !k->held && (!k->owner || !s->writable)) {
			add_again(s, k);
			if (!journal_has_gap(s->journal) && from != journal_segment(s->journal))
				k->in_segment[from] = 0;
		}
}

/* Each is `WORD NAME TEXT`, as take() has put it there; no NUL ends the last one. */
static void move_unknown(struct state_store *s)
{
	const char *at = s->unknown.bytes, *end = at + s->unknown.length, *line;
	char word[16], name[JOURNAL_NAME_SIZE];
	size_t length;

	while ((line = records_line(&at, end, &length))) {
		const char *first = memchr(line, ' ', length);
		const char *second = memchr(first + 1, ' ', (size_t)(line + length - first - 1));

		snprintf(word, sizeof(word), "%.*s", (int)(first - line), line);
		snprintf(name, sizeof(name), "%.*s", (int)(second - first - 1), first + 1);
		journal_add(s->journal, word, name, second + 1,
			    (size_t)(line + length - second - 1));
	}
}

static void review(struct state_store *s)
{
	unsigned current = journal_segment(s->journal), other = !current;
	size_t size = journal_size(s->journal, current);
	bool gap = journal_has_gap(s->journal);

	if (journal_size(s->journal, other) && !is_needed(s, other))
		journal_clear_other(s->journal);
	/* What is left where nothing waits to be saved is not worth another segment. */
	if (!gap && size <= JOURNAL_LARGE && (!size || is_needed(s, current) || s->unknown.length))
		return;
	if (!journal_turn(s->journal))
		return;
	for (struct kept *k = gap ? s->files : NULL; k; k = k->next)
		if (k->records.length) /* what it did not take behind the gap */
			add_again(s, k);
	move(s, current);
	move_unknown(s);
	if (!is_needed(s, current))
		journal_clear_other(s->journal);
}

/* ---- What is written ------------------------------------------------------------------------- */

bool state_journal_record(struct state_store *s, struct kept *k, const char *line, size_t length)
{
	bool taken = add(s, k, line, length);

	if (journal_size(s->journal, journal_segment(s->journal)) > JOURNAL_LARGE)
		review(s);
	return taken || !journal_has_gap(s->journal);
}

/* Records that the disk has are not to come back on top of a file that is newer than they are. */
void state_journal_saved(struct state_store *s, struct kept *k)
{
	char seq[24];
	int length;

	review(s);
	if (!k->in_segment[0] && !k->in_segment[1])
		return;
	for (unsigned i = 0; i < JOURNAL_SEGMENTS; i++)
		if (!journal_size(s->journal, i))
			k->in_segment[i] = 0;
	if (!k->in_segment[0] && !k->in_segment[1])
		return;
	length = snprintf(seq, sizeof(seq), "%" PRIu64, k->saved);
	journal_add(s->journal, JOURNAL_SAVED, k->file->name, seq, (size_t)length);
}

static void wrote(void *arg, int status)
{
	struct state_store *s = arg;

	state_alerts_wrote(s, "journal", status);
}

/* ---- What an earlier life left --------------------------------------------------------------- */

/* First what was saved, then what was not. */
static void take(void *arg, unsigned pass, unsigned segment, const struct journal_line *line)
{
	bool saved = !strcmp(line->word, JOURNAL_SAVED);
	struct state_store *s = arg;
	struct kept *k;

	if (!pass && saved) {
		uint64_t seq = strtoull(line->text, NULL, 10); /* a line feed ends it */

		k = state_store_named(s, line->name);
		k->saved = seq > k->saved ? seq : k->saved;
	} else if (pass && !strcmp(line->word, JOURNAL_RECORD)) {
		k = state_store_named(s, line->name);
		if (line->seq <= k->saved)
			return;
		records_add(&k->records, line->text, line->length);
		records_add(&k->records, "\n", 1);
		k->recorded = k->in_segment[segment] = line->seq;
	} else if (pass && !saved && s->unknown.length + line->length <= UNKNOWN_MOST) {
		records_add(&s->unknown, line->word, strlen(line->word));
		records_add(&s->unknown, " ", 1);
		records_add(&s->unknown, line->name, strlen(line->name));
		records_add(&s->unknown, " ", 1);
		records_add(&s->unknown, line->text, line->length);
		records_add(&s->unknown, "\n", 1);
	}
}

void state_journal_open(struct state_store *s)
{
	struct journal_found found;
	size_t records = 0;

	s->journal = journal_new(s->loop, s->folder, wrote, s);
	found = journal_replay(s->journal, take, s);
	for (const struct kept *k = s->files; k; k = k->next)
		for (size_t i = 0; i < k->records.length; i++)
			records += k->records.bytes[i] == '\n';
	if (records)
		log_line(LOG_CORE, LOG_NOTICE,
			 "state_dir: %zu changes that no file has yet are taken from the journal",
			 records);
	if (found.damaged >= 0) { /* it begins anew, with what was read of it */
		state_alerts_lost(s, journal_name((unsigned)found.damaged), found.why, found.kept,
				  "");
		move(s, (unsigned)found.damaged);
		move_unknown(s);
	}
	free(found.kept);
}
