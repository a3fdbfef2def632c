/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* words: takes a line that people write apart, and chooses words of lines that they read. */
#ifndef FMD_CORE_WORDS_H
#define FMD_CORE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

char *words_trim(char *text); /* without blanks around it */
/* Cuts off what is before `mark`; what is behind it, or NULL. */
char *words_cut(char *text, char mark);
/* NAME or NAME=VALUE; *value is NULL without one. */
char *words_split(char *text, char **value);
/* Whether the text is the word, or a beginning of it. */
bool words_abbreviate(const char *text, const char *word);
/* Decimal, 0x or 0 for octal; no sign, no blank. False also for NULL. */
bool words_number(const char *text, uint64_t max, uint64_t *value);

/* One of a kind, or several: "1 link", "0 links". */
const char *words_plural(uint64_t count, const char *one, const char *several);

#endif
