/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * value: what may stand where usage has a word: a kind of event for KIND, a time for TIME|DURATION.
 * What is refused here is refused before anything is asked of the fabric: it is wrong everywhere.
 * Whether a fabric has that node is the command's affair.
 */
#ifndef FMD_CONTROL_VALUE_H
#define FMD_CONTROL_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the word of usage, or the key of a row's word, is one that value_check() knows. */
bool value_is_known(const char *word);
/*
 * False with the reason in err: the text is no value of it, and what would be one. Of a word that
 * is not known every text is.
 */
bool value_check(const char *word, const char *text, char *err, size_t err_size);

#endif
