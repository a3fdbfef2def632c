/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables with aligned columns out of JSON rows, to stdout. */
#ifndef FMD_FMCTL_TABLE_H
#define FMD_FMCTL_TABLE_H

#include "fm/fmctl/fmctl.h"

struct table_column {		 /* at most 16; the last has no title */
	const char *title, *key; /* "a.name": member `name` of member `a` */
};

void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns);
const json_t *table_value(const json_t *row, const char *key); /* NULL = absent */

#endif
