/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fields: which of DCGM's fields about NVLinks an exporter answers with, and what can't be
 * known without those that it leaves out. Exporters ask DCGM for what their list of counters names,
 * and the default list has none of them; etc/dcgm has lists for each generation of DCGM.
 */
#ifndef FMD_NVSWITCH_FIELDS_H
#define FMD_NVSWITCH_FIELDS_H

#include <jansson.h>
#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/state.h"

/* Notes a metric by its name. seen: 0 at first. */
void fields_note(uint32_t *seen, struct exposition_text name);
/*
 * A row for each that a machine of that system should answer with and does not: the field, DCGM's
 * release that has it first, and what is not known. Empty where no DCGM metric was seen at all.
 */
json_t *fields_missing(uint32_t seen, enum nvswitch_system system);

#endif
