/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * option: what may be asked of a command beside its words, read off its row (command.h): its
 * filters, its own options and, where it has columns, `sort`. The same for who types it and for
 * http's query.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include "fm/control/command.h"

#define COMMAND_OPTIONS_MAX 24

/* All of them in turn; NULL = no more. */
const struct command_option *command_option_at(const struct command *command, unsigned index);
/* By its name; NULL = the command does not know it. */
const struct command_option *command_option_find(const struct command *command, const char *name);
/*
 * Puts the option into the arguments of a request. text: NULL for a flag. 0, or -1 with the reason
 * in err: the text is no value of it.
 */
int command_option_put(const struct command_option *option, const char *text, json_t *args,
		       char *err, size_t err_size);
/* The column by its title, in any case of letters, or by its key; NULL = there is none. */
const struct table_column *command_column_find(const struct command *command, const char *text);
/* The rows of an answer, borrowed; NULL = it has none. */
json_t *command_rows(const struct command *command, json_t *result);

/* Of a row, by a column's key: borrowed, NULL = absent. */
const json_t *table_value(const json_t *row, const char *key);

/* ---- Value ----------------------------------------------------------------------------------- */

/*
 * What may stand where usage has a word: a kind of event for KIND, a time for TIME|DURATION.
 * What is refused here is refused before anything is asked of the fabric: it is wrong everywhere.
 * Whether a fabric has that node is the command's affair.
 */

/* Whether the word of usage, or the key of a row's word, is one that value_check() knows. */
bool value_is_known(const char *word);
/*
 * False with the reason in err: the text is no value of it, and what would be one. Of a word that
 * is not known every text is.
 */
bool value_check(const char *word, const char *text, char *err, size_t err_size);
