/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* table: prints JSON rows as tables with aligned columns, to stdout. */
#ifndef FMD_FMCTL_TABLE_H
#define FMD_FMCTL_TABLE_H

#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"

/* Prints the rows, an array; `columns` end with a row whose title is NULL. */
void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns);

/* Prints a line: how many table entries a trial changes, and where. */
void table_print_change(uint64_t entries, uint64_t least, uint64_t blocks, uint64_t switches);

#endif
