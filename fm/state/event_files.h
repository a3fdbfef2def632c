/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_files: events of the log that outlive a restart, as files of state_dir.
 *
 * The newest EVENTS_KEPT events stand in a ring of EVENT_FILES files, so many to each: an event
 * costs its own file alone, which is written a second later; until then it is a record
 * (state_store_record()). A file that was lost leaves a gap. Numbers of events go on where they
 * ended.
 */
#ifndef FMD_STATE_EVENT_FILES_H
#define FMD_STATE_EVENT_FILES_H

#include "fm/events/event_log.h"
#include "fm/state/state_store.h"

#define EVENT_FILES	8
#define EVENTS_PER_FILE 512u
#define EVENTS_KEPT	(EVENT_FILES * EVENTS_PER_FILE) /* the log's capacity, too */

struct event_files;
/* Reads the files into the log, ahead of what it holds. Both are borrowed. */
struct event_files *event_files_new(struct state_store *store, struct event_log *events);
/* The newest event was just added. */
void event_files_added(struct event_files *files);
/*
 * A change of role: what the files hold, which another manager may have sent (state_copy.h), comes
 * into the log, and all are written anew, for while another one was master nothing was.
 */
void event_files_merge(struct event_files *files);

#endif
