/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* words: parses lines that people write, and chooses words for those that they read. */
#ifndef FMD_TOPOLOGY_BASE_WORDS_H
#define FMD_TOPOLOGY_BASE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* The text without blanks around it: points into text, which is shortened. */
char *words_trim(char *text);
/* Ends the text at `mark`, and points into it behind that; NULL = there is no mark. */
char *words_cut(char *text, char mark);
/* Of NAME or NAME=VALUE: NAME, and *value, NULL without one. Both point into text, trimmed. */
char *words_split(char *text, char **value);
/* Whether the text is the word, or a beginning of it; not "". */
bool words_abbreviate(const char *text, const char *word);
/* Decimal, 0x or 0 for octal; no sign, no blank. False also for NULL. */
bool words_number(const char *text, uint64_t max, uint64_t *value);

/* `one` for a count of 1, else `several`: one of its arguments ("1 link", "0 links"). */
const char *words_plural(uint64_t count, const char *one, const char *several);

#endif
