/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/journal_line.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/state/state_file.h"
#include "topology/base/mem.h"

#define SUM_SIZE 17 /* digits and a blank */

/* ---- Lines in memory ------------------------------------------------------------------------- */

void records_add(struct records *r, const char *bytes, size_t length)
{
	if (r->length + length > r->room) {
		r->room = r->length + length + r->room / 2;
		r->bytes = mem_resize(r->bytes, r->room, 1);
	}
	if (length)
		memcpy(r->bytes + r->length, bytes, length);
	r->length += length;
}

const char *records_line(const char **at, const char *end, size_t *length)
{
	const char *line = *at, *feed;

	if (line == end)
		return NULL;
	feed = memchr(line, '\n', (size_t)(end - line));
	*length = (size_t)(feed - line);
	*at = feed + 1;
	return line;
}

void records_drop(struct records *r, size_t length)
{
	if (!length)
		return;
	memmove(r->bytes, r->bytes + length, r->length - length);
	r->length -= length;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The word that ends at a blank, copied; what follows the blank, NULL = there is no such word. */
static const char *take_word(const char *from, const char *end, char *word, size_t size)
{
	const char *blank = memchr(from, ' ', (size_t)(end - from));
	size_t length = blank ? (size_t)(blank - from) : 0;

	if (!length || length >= size || memchr(from, '\0', length))
		return NULL;
	memcpy(word, from, length);
	word[length] = '\0';
	return blank + 1;
}

/* Only the form that was written counts: no sign, no blank, no zero in front. */
static bool take_number(const char *text, int base, const char *form, uint64_t *value)
{
	char again[24];
	char *end;

	*value = strtoull(text, &end, base);
	snprintf(again, sizeof(again), form, *value);
	return !*end && !strcmp(again, text);
}

static bool parse(const char *from, const char *end, struct journal_line *line)
{
	char sum[SUM_SIZE], seq[24];
	const char *body = take_word(from, end, sum, sizeof(sum)), *at;
	uint64_t wanted;

	if (!body || !take_number(sum, 16, "%016" PRIx64, &wanted) ||
	    wanted != state_sum(body, (size_t)(end - body)))
		return false;
	at = take_word(body, end, seq, sizeof(seq));
	if (!at || !take_number(seq, 10, "%" PRIu64, &line->seq))
		return false;
	at = take_word(at, end, line->word, sizeof(line->word));
	at = at ? take_word(at, end, line->name, sizeof(line->name)) : NULL;
	line->text = at;
	line->length = at ? (size_t)(end - at) : 0;
	return at;
}

enum journal_result journal_next(struct journal_reader *r, struct journal_line *line)
{
	const char *from, *end;

	r->at = r->next;
	if (r->at == r->length)
		return JOURNAL_END;
	from = r->bytes + r->at;
	end = memchr(from, '\n', r->length - r->at);
	if (!end)
		return JOURNAL_TORN;
	if (!parse(from, end, line))
		return JOURNAL_DAMAGED;
	r->next = (size_t)(end + 1 - r->bytes);
	return JOURNAL_LINE;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_word(const char *word, size_t size)
{
	return *word && strlen(word) < size && !strpbrk(word, " \n");
}

bool journal_put(struct records *to, const struct journal_line *line)
{
	char sum[SUM_SIZE + 1] = "                 ", front[128];
	size_t begin = to->length;

	if (!is_word(line->word, sizeof(line->word)) || !is_word(line->name, sizeof(line->name)) ||
	    (line->length && memchr(line->text, '\n', line->length)))
		return false;
	records_add(to, sum, SUM_SIZE);
	records_add(to, front,
		    (size_t)snprintf(front, sizeof(front), "%" PRIu64 " %s %s ", line->seq,
				     line->word, line->name));
	records_add(to, line->text, line->length);
	snprintf(sum, sizeof(sum), "%016" PRIx64 " ",
		 state_sum(to->bytes + begin + SUM_SIZE, to->length - begin - SUM_SIZE));
	memcpy(to->bytes + begin, sum, SUM_SIZE);
	records_add(to, "\n", 1);
	return true;
}
