/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* report: the pipe's part of the status, and who listens to events. */
#ifndef FMD_FABRIC_REPORT_H
#define FMD_FABRIC_REPORT_H

#include <jansson.h>

struct fabric;

/* The event log's listener: hands the event to all followers. */
void fabric_report_event(void *fabric, const json_t *event);
void fabric_report_fini(struct fabric *f); /* frees the followers */

#endif
