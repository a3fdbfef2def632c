/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables with aligned columns out of JSON rows, to stdout. */
#ifndef FMD_FMCTL_TABLE_H
#define FMD_FMCTL_TABLE_H

#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"

void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns);

#endif
