/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* event_kinds: the words of "kind" (fmd-events(7)). A new kind of event is added to this list. */
#ifndef FMD_EVENTS_EVENT_KINDS_H
#define FMD_EVENTS_EVENT_KINDS_H

/* All of them in turn, by the alphabet, static; NULL = no more. */
const char *event_kind_at(unsigned index);

#endif
