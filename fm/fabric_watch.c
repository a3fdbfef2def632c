/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_watch: how the conductor learns that something may have changed.
 *
 * Traps name a switch (128) or a port's node (144, 145): it becomes a suspect. A short hold-down lets the second
 * end of the same cable join before the suspects are read. Polls ask every switch once an interval for PortStateChange and so find
 * what no trap told: one lost on the very link it was about, or a switch that hangs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric_own.h"
#include "topology/diff.h"
#include "topology/mem.h"

#define HOLD_DOWN_US	2000
#define EVENTS_A_CHANGE 20 /* of one kind of change are told one by one; the rest as a count */

enum { TRAP_LINK_STATE = 128, TRAP_CAPABILITY = 144, TRAP_SYSTEM_GUID = 145 };

/* ---- Suspects ---------------------------------------------------------------------------------- */

static void suspect(struct fabric *f, guid_t node)
{
	for (unsigned i = 0; i < f->nsuspects; i++)
		if (f->suspects[i] == node)
			return;
	if (f->nsuspects == f->suspects_size) {
		f->suspects_size = f->suspects_size ? f->suspects_size * 2 : 16;
		f->suspects = mem_resize(f->suspects, f->suspects_size, sizeof(*f->suspects));
	}
	f->suspects[f->nsuspects++] = node;
}

static void open_fault(struct fabric *f, const char *what)
{
	if (f->fault.open)
		return;
	f->fault = (struct fault){ .open = true, .detected_us = loop_now_us(f->loop) };
	snprintf(f->fault.what, sizeof(f->fault.what), "%s", what);
}

static void hold_over(void *arg)
{
	fabric_look(arg);
}

/* The node a LID belongs to; TOPO_NONE when nobody has it. */
static uint32_t node_of_lid(const struct fabric *f, uint16_t lid)
{
	uint32_t port =
		f->lids && lid && lid <= f->lids->top ? f->lids->port_of_lid[lid] : TOPO_NONE;

	return port == TOPO_NONE ? TOPO_NONE : f->topo->ports[port].node;
}

void fabric_trap(void *arg, const struct wire_notice *notice, uint16_t from_lid)
{
	struct fabric *f = arg;
	uint16_t lid = notice->lid ? notice->lid : from_lid;
	uint32_t node = node_of_lid(f, lid);

	sa_notice(f->sa, notice, from_lid);
	if (notice->trap != TRAP_LINK_STATE && notice->trap != TRAP_CAPABILITY &&
	    notice->trap != TRAP_SYSTEM_GUID)
		return;
	if (lid == f->sm_lid && notice->trap == TRAP_CAPABILITY) /* our own IsSM bit */
		return;
	log_line(LOG_TRAP, LOG_INFO, "trap %u from LID %u (%s)", notice->trap, lid,
		 node == TOPO_NONE ? "unknown" : f->topo->nodes[node].desc);
	if (node == TOPO_NONE) {
		/* Somebody we have not met; before the first look has ended, it is under way. */
		f->want_discover |= f->topo || fabric_updates(f);
	} else {
		if (notice->trap == TRAP_LINK_STATE)
			open_fault(f, f->topo->nodes[node].desc);
		suspect(f, f->topo->nodes[node].guid);
	}
	if (!loop_timer_armed(f->hold_timer))
		loop_timer_set(f->hold_timer, HOLD_DOWN_US);
}

/* ---- Polls ------------------------------------------------------------------------------------- */

static void polled(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	for (unsigned i = 0; i < result->nchanged; i++)
		suspect(f, result->changed[i]);
	if (result->error)
		f->want_discover = true;
	if (result->nchanged)
		open_fault(f, "found by poll");
	f->figures.sweep_smps = result->smps;
	fabric_look(f);
}

static void poll_due(void *arg)
{
	struct fabric *f = arg;

	fabric_watch_schedule(f);
	if (sweep_busy(f->sweep))
		return;
	if (!f->topo && !fabric_updates(f))
		f->want_discover = true;
	if (f->unfinished)
		f->want_reroute = true; /* behind the poll, which may find why */
	if (f->want_discover || f->nsuspects)
		fabric_look(f);
	else
		sweep_poll(f->sweep, polled, f);
}

void fabric_watch_schedule(struct fabric *f)
{
	if (f->conf.sweep_interval_ms)
		loop_timer_set(f->poll_timer, (uint64_t)f->conf.sweep_interval_ms * 1000);
	else
		loop_timer_stop(f->poll_timer);
}

void fabric_watch_init(struct fabric *f)
{
	f->hold_timer = loop_timer_new(f->loop, hold_over, f);
	f->poll_timer = loop_timer_new(f->loop, poll_due, f);
}

void fabric_watch_fini(struct fabric *f)
{
	loop_timer_free(f->hold_timer);
	loop_timer_free(f->poll_timer);
	free(f->suspects);
}

/* ---- What changed, in words -------------------------------------------------------------------- */

static const struct {
	const char *kind;
	enum log_level level;
} change_words[] = {
	[DIFF_NODE_NEW] = { "node-new", LOG_NOTICE },
	[DIFF_NODE_GONE] = { "node-gone", LOG_WARNING },
	[DIFF_LINK_UP] = { "link-up", LOG_NOTICE },
	[DIFF_LINK_DOWN] = { "link-down", LOG_WARNING },
	[DIFF_LINK_NEW] = { "link-new", LOG_NOTICE },
	[DIFF_LINK_GONE] = { "link-gone", LOG_WARNING },
	[DIFF_LINK_SPEED] = { "link-speed", LOG_WARNING },
	[DIFF_DESC] = { "renamed", LOG_NOTICE },
};
#define CHANGE_KINDS (sizeof(change_words) / sizeof(change_words[0]))

/* The fault is named after the first thing that went down. */
static void name_fault(struct fabric *f, enum diff_kind kind, const char *text)
{
	bool loss = kind == DIFF_LINK_DOWN || kind == DIFF_NODE_GONE || kind == DIFF_LINK_GONE;

	if (loss)
		open_fault(f, text);
	if (!f->fault.open)
		return;
	f->fault.differs = true;
	snprintf(f->fault.what, sizeof(f->fault.what), "%s", text);
}

void fabric_note_changes(struct fabric *f, const struct topo *older, const struct topo *newer)
{
	struct diff *d = diff_new(older, newer);
	unsigned count[CHANGE_KINDS] = { 0 };
	bool named = false;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct diff_item *item = &d->items[i];
		char text[256];

		if (++count[item->kind] > EVENTS_A_CHANGE)
			continue;
		diff_describe(older, newer, item, text, sizeof(text));
		event_log_add(f->events, change_words[item->kind].level,
			      change_words[item->kind].kind, NULL, "%s", text);
		if (!named)
			name_fault(f, item->kind, text);
		named = true;
	}
	for (unsigned kind = 0; kind < CHANGE_KINDS; kind++)
		if (count[kind] > EVENTS_A_CHANGE)
			event_log_add(f->events, change_words[kind].level, change_words[kind].kind,
				      NULL, "fabric: %u more %s", count[kind] - EVENTS_A_CHANGE,
				      change_words[kind].kind);
	diff_free(d);
}

/* ---- Other subnet managers ---------------------------------------------------------------------- */

/* The first port but our own that has IsSM set, TOPO_NONE = none; how many in all. */
static uint32_t find_managers(const struct fabric *f, const struct topo *t, unsigned *count)
{
	guid_t own = mad_port_info(f->mad)->port_guid;
	uint32_t first = TOPO_NONE;

	*count = 0;
	for (uint32_t i = 0; i < t->nports; i++) {
		if (!(t->ports[i].capmask & WIRE_CAP_IS_SM) || t->ports[i].guid == own ||
		    !t->ports[i].guid)
			continue;
		first = first == TOPO_NONE ? i : first;
		++*count;
	}
	return first;
}

/* Two masters undo each other's work, and fmd does not negotiate: people have to know. */
void fabric_note_managers(struct fabric *f, const struct topo *t)
{
	unsigned count;
	uint32_t port = find_managers(f, t, &count);

	if (count == f->other_managers)
		return;
	f->other_managers = count;
	if (!count)
		event_log_add(f->events, LOG_NOTICE, "other-sm", NULL,
			      "fabric: no other subnet manager any more");
	else
		event_log_add(f->events, LOG_WARNING, "other-sm", NULL,
			      "%s (port GUID 0x%016" PRIx64
			      "): runs a subnet manager too, %u in all; fmd does not "
			      "negotiate with others: stop it, or both will undo each other's work",
			      t->nodes[t->ports[port].node].desc, t->ports[port].guid, count);
}
