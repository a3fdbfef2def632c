/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: routing's findings as the JSON objects of the outside contract. The caller owns the
 * reference.
 */
#ifndef FMD_ROUTING_REPORT_H
#define FMD_ROUTING_REPORT_H

#include <jansson.h>
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/delta.h"
#include "routing/report/load_map.h"

json_t *report_proof(const struct check_report *report);
json_t *report_congestion(const struct congestion *congestion);
json_t *report_tier(const struct load_tier *tier); /* bins by load_bin_edges */
json_t *report_delta(const struct delta *delta);

#endif
