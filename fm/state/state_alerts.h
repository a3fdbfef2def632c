/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_alerts: what operators hear of files of state_dir. One that can't be written is a trouble
 * until it can; one that was lost is an alert, until what is left of it (NAME.bad) was taken away;
 * one without its first and last line is an event.
 */
#ifndef FMD_STATE_STATE_ALERTS_H
#define FMD_STATE_STATE_ALERTS_H

#include "fm/events/alert.h"
#include "fm/events/event_log.h"
#include "fm/loop/loop.h"

struct state_alerts;
/* All is borrowed. */
struct state_alerts *state_alerts_new(struct loop *loop, struct alerts *alerts,
				      struct event_log *events);
void state_alerts_free(struct state_alerts *a); /* NULL is fine; ends no alert */

/* A write has ended: status 0 or -errno. */
void state_alerts_wrote(struct state_alerts *a, const char *name, int status);
/* Why the file is not written; NULL = it is. Valid until state_alerts_wrote(). */
const char *state_alerts_error(const struct state_alerts *a, const char *name);
/*
 * It is not what was written, and is not used. kept: where it is now, NULL = nowhere; summary: what
 * is known of it, "" = nothing.
 */
void state_alerts_lost(struct state_alerts *a, const char *name, const char *why, const char *kept,
		       const char *summary);
/*
 * It has neither first nor last line, where one with both was expected, and was read: by hand, or
 * by an older fmd.
 */
void state_alerts_edited(struct state_alerts *a, const char *name);

#endif
