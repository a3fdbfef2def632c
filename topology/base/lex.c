/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lex: see lex.h. Nothing here reads at or past `end`; lines need no zero byte behind them. */
#include "topology/base/lex.h"

#include <string.h>

void lex_skip_blanks(struct lex *l)
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
}

bool lex_take_char(struct lex *l, char c)
{
	if (!lex_is(l, c))
		return false;
	l->p++;
	return true;
}

bool lex_take_word(struct lex *l, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(l->end - l->p) < len || memcmp(l->p, word, len) != 0)
		return false;
	l->p += len;
	return true;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads digits of one base; the count of them, 0 when there is none or 64 bits do not hold them. */
static unsigned read_digits(struct lex *l, unsigned base, uint64_t *value)
{
	const char *start = l->p;
	unsigned digits = 0;
	uint64_t v = 0;

	for (; l->p < l->end; l->p++, digits++) {
		int d = digit_value(*l->p);

		if (d < 0 || (unsigned)d >= base)
			break;
		if (v > (UINT64_MAX - (unsigned)d) / base) {
			l->p = start;
			return 0;
		}
		v = v * base + (unsigned)d;
	}
	*value = v;
	return digits;
}

bool lex_take_hex(struct lex *l, uint64_t *value)
{
	struct lex try = *l;

	if (!lex_take_word(&try, "0x"))
		lex_take_word(&try, "0X");
	if (!read_digits(&try, 16, value))
		return false;
	*l = try;
	return true;
}

bool lex_take_number(struct lex *l, uint64_t *value)
{
	struct lex try = *l;

	if (lex_take_word(&try, "0x") || lex_take_word(&try, "0X"))
		return lex_take_hex(l, value);
	if (!read_digits(&try, 10, value))
		return false;
	if (!lex_done(&try) && digit_value(*try.p) >= 10)
		return lex_take_hex(l, value);
	*l = try;
	return true;
}

bool lex_take_quoted(struct lex *l, struct lex_text *text)
{
	const char *close;

	if (!lex_is(l, '"'))
		return false;
	close = memchr(l->p + 1, '"', (size_t)(l->end - l->p - 1));
	if (!close)
		return false;
	*text = (struct lex_text){ l->p + 1, (size_t)(close - l->p - 1) };
	l->p = close + 1;
	return true;
}

static const char *find_word(const struct lex *l, const char *word)
{
	size_t len = (size_t)(l->end - l->p);

	return len ? memmem(l->p, len, word, strlen(word)) : NULL;
}

bool lex_find_number(const struct lex *l, const char *word, uint64_t *value)
{
	const char *at = find_word(l, word);
	struct lex rest;

	if (!at)
		return false;
	rest = (struct lex){ at + strlen(word), l->end };
	lex_skip_blanks(&rest);
	return lex_take_number(&rest, value);
}

bool lex_contains(const struct lex *l, const char *word)
{
	return find_word(l, word) != NULL;
}
