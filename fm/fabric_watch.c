/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_watch: polls, and what a look found.
 *
 * Polls ask every switch once an interval for PortStateChange and so find what no trap told (fabric_trap.c): one lost on the very
 * link it was about, or a switch that hangs. What differs between two snapshots is told in words.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric_own.h"
#include "topology/diff.h"
#include "topology/mem.h"

#define EVENTS_A_CHANGE 20 /* of one kind of change are told one by one; the rest as a count */

void fabric_fault_open(struct fabric *f, const char *what)
{
	if (f->fault.open)
		return;
	f->fault = (struct fault){ .open = true, .detected_us = loop_now_us(f->loop) };
	snprintf(f->fault.what, sizeof(f->fault.what), "%s", what);
}

static void look_cb(void *arg)
{
	fabric_look(arg);
}

/* ---- Polls ------------------------------------------------------------------------------------- */

static void polled(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	for (unsigned i = 0; i < result->nchanged; i++)
		guid_list_add(&f->suspects, result->changed[i]);
	if (result->error)
		f->want_discover = true;
	if (result->nchanged)
		fabric_fault_open(f, "found by poll");
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
	if (f->want_discover || f->suspects.count)
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
	f->hold_timer = loop_timer_new(f->loop, look_cb, f);
	f->poll_timer = loop_timer_new(f->loop, poll_due, f);
}

void fabric_watch_fini(struct fabric *f)
{
	loop_timer_free(f->hold_timer);
	loop_timer_free(f->poll_timer);
	free(f->suspects.guids);
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
		fabric_fault_open(f, text);
	if (!f->fault.open)
		return;
	f->fault.differs = true;
	snprintf(f->fault.what, sizeof(f->fault.what), "%s", text);
}

/* A link between switches that fell and was up again before it was looked at. Nodes have their places where none came or went. */
static unsigned count_bounces(struct fabric *f, const struct topo *older, const struct topo *newer)
{
	unsigned count = 0;

	for (uint32_t p = 0; p < newer->nports; p++) {
		const struct topo_port *now = &newer->ports[p], *peer = topo_peer(newer, now);

		if (!peer || now->peer < p || !now->link_up || !older->ports[p].link_up ||
		    older->ports[p].state != TOPO_ACTIVE ||
		    (now->state != TOPO_INIT && peer->state != TOPO_INIT))
			continue;
		if (count++ < EVENTS_A_CHANGE)
			event_log_add(f->events, LOG_WARNING, "link-bounced", NULL,
				      "%s p%u - %s p%u: fell and came back",
				      newer->nodes[now->node].desc, now->num,
				      newer->nodes[peer->node].desc, peer->num);
		fabric_quarantine_fell(f, newer->nodes[now->node].guid, now->num);
	}
	return count;
}

void fabric_note_changes(struct fabric *f, const struct topo *older, const struct topo *newer)
{
	struct diff *d = diff_new(older, newer);
	unsigned count[CHANGE_KINDS] = { 0 };
	unsigned bounces = older->nports == newer->nports ? count_bounces(f, older, newer) : 0;
	bool named = false;

	for (uint32_t i = 0; i < d->count; i++) {
		const struct diff_item *item = &d->items[i];
		char text[256];

		if (item->kind == DIFF_LINK_DOWN)
			fabric_quarantine_fell(f, older->nodes[item->old_node].guid, item->port);
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
	fabric_traps_judge(f, d->count || bounces);
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
