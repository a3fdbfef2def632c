/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* events: which events a request asks for, for its answer and for what follows it. */
#ifndef FMD_CONTROL_EVENTS_H
#define FMD_CONTROL_EVENTS_H

#include "fm/events/event_query.h"
#include "fm/fabric/fabric.h"

/*
 * Of the arguments of `events`; count: how many at most. False: the reason is in
 * err[COMMAND_ERROR_SIZE].
 */
bool events_query(const struct fabric *fabric, json_t *args, struct event_query *query, int *count,
		  char *err);

#endif
