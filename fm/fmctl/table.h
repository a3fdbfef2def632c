/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables with aligned columns out of JSON rows, to stdout. */
#ifndef FMD_FMCTL_TABLE_H
#define FMD_FMCTL_TABLE_H

#include "fm/fmctl/fmctl.h"

/*
 * A key is "a.name" (member `name` of member `a`), "a/b" (two numbers, as 7/8) or "a[]" (texts, one
 * behind the other; of any other list its length is shown).
 */
struct table_column { /* at most 16; the last has no title */
	const char *title, *key;
};

void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns);
const json_t *table_value(const json_t *row, const char *key); /* NULL = absent */

#endif
