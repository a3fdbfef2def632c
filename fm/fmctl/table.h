/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* table: reads JSON, and prints its rows as tables with aligned columns, to stdout. */
#ifndef FMD_FMCTL_TABLE_H
#define FMD_FMCTL_TABLE_H

#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"

/* Prints the rows, an array; `columns` end with a row whose title is NULL. */
void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns);

/*
 * What an answer holds by that way ("a.name"): 0, "" and false where there is no such value. A text
 * is the answer's and valid as long.
 */
long long table_int(const json_t *object, const char *key);
double table_number(const json_t *object, const char *key);
const char *table_text(const json_t *object, const char *key);
bool table_is(const json_t *object, const char *key);

/* Prints a line: how many table entries a trial changes, and where. */
void table_print_change(uint64_t entries, uint64_t least, uint64_t blocks, uint64_t switches);

#endif
