/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* metrics: a status document (fabric_status) as Prometheus text. Pure. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Writes the text; figures that the document lacks are left out. Errors are left in the stream. */
void metrics_write(const json_t *status, FILE *out);
