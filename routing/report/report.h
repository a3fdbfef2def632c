/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: routing's findings as JSON objects, whose keys are in fmd-json(7).
 */
#ifndef FMD_ROUTING_REPORT_H
#define FMD_ROUTING_REPORT_H

#include <jansson.h>
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/delta.h"
#include "routing/report/load_map.h"

/* New objects, which the caller owns; never NULL. Bins of a tier are those of load_bin_edges. */
json_t *report_proof(const struct check_report *report);
json_t *report_congestion(const struct congestion *congestion);
json_t *report_tier(const struct load_tier *tier);
json_t *report_delta(const struct delta *delta);

#endif
