/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fields: which of DCGM's fields about NVLinks an exporter reports, and what is not known without
 * the others. Exporters report the fields in their list of counters, and the default list has none
 * of these; etc/dcgm has lists for each generation of DCGM.
 */
#ifndef FMD_NVSWITCH_FIELDS_H
#define FMD_NVSWITCH_FIELDS_H

#include <jansson.h>
#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/state.h"

/* Adds the field of a metric's name to *seen, a set that is 0 at first. */
void fields_note(uint32_t *seen, struct exposition_text name);
/*
 * A new list, which the caller owns, with a row for each field that a machine of that system should
 * report and does not: the field, the first DCGM release that has it, and what is not known without
 * it. Empty if no DCGM metric was seen at all.
 */
json_t *fields_missing(uint32_t seen, enum nvswitch_system system);

#endif
