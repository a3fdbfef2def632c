/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lex: a cursor over one line of text, for readers of files. A take_ function returns true and
 * moves the cursor behind what it read, or returns false and leaves the cursor where it was if the
 * line does not continue with that. The text stays the caller's and needs no zero byte at its end.
 */
#ifndef FMD_TOPOLOGY_BASE_LEX_H
#define FMD_TOPOLOGY_BASE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lex {
	const char *p, *end;
};

struct lex_text {
	const char *p;
	size_t len;
};

static inline bool lex_done(const struct lex *l)
{
	return l->p == l->end;
}

static inline bool lex_is(const struct lex *l, char c)
{
	return l->p < l->end && *l->p == c;
}

/* Skips spaces and tabs. */
void lex_skip_blanks(struct lex *l);
/* True if the text begins with that character, or with that word (a longer word too). */
bool lex_take_char(struct lex *l, char c);
bool lex_take_word(struct lex *l, const char *word);
/*
 * Read a number below 2^64; false for a greater one. lex_take_number(): decimal, or hexadecimal
 * with 0x or a letter in it. lex_take_hex(): hexadecimal, with 0x or without.
 */
bool lex_take_number(struct lex *l, uint64_t *value);
bool lex_take_hex(struct lex *l, uint64_t *value);
/* Reads what is between two double quotes, which lies in the line itself; false without both. */
bool lex_take_quoted(struct lex *l, struct lex_text *text);
/* The number behind the first `word` in the rest of the line ("lid 4"); false if there is none. */
bool lex_find_number(const struct lex *l, const char *word, uint64_t *value);
/* Whether `word` is anywhere in the rest of the line. */
bool lex_contains(const struct lex *l, const char *word);

#endif
