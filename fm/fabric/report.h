/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* report: the pipe's part of the status, and who listens to events. */
#ifndef FMD_FABRIC_REPORT_H
#define FMD_FABRIC_REPORT_H

#include <jansson.h>

struct fabric;

void fabric_report_event(void *fabric,
			 const json_t *event); /* event_log's listener: to all who follow */
void fabric_report_fini(struct fabric *f);     /* nobody follows any more */

#endif
