/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_watch: polls.
 *
 * Polls ask every switch once an interval for PortStateChange and so find what no trap told (trap.c): one lost on the very
 * link it was about, or a switch that hangs.
 *
 * While something is in doubt, they come sooner: a node that is silent or answered in part, links or tables that are not finished.
 * 50 ms at first, twice as long each time up to the interval (or 10 s, without one), and anew when there is more doubt than before.
 * What an update tries again stays in doubt until that is settled. Ports that refuse their settings have a pace of their own
 * (retry.c); polls come sooner because of them for a minute alone, which may find why.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"

#define DOUBT_MS     50
#define DOUBT_MAX_MS 10000

static void look_cb(void *arg)
{
	fabric_look(arg);
}

/* ---- Polls ------------------------------------------------------------------------------------- */

static void polled(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	for (unsigned i = 0; i < result->nchanged; i++)
		guid_list_add(&f->requests.dirty, result->changed[i]);
	if (result->error)
		f->requests.sweep = true;
	if (result->nchanged)
		fabric_fault_open(f, "found by poll");
	f->figures.polls++;
	f->figures.sweep_smps = result->smps;
	f->figures.silent = result->silent;
	f->figures.partial = result->partial;
	fabric_note_silent(f);
	if (fabric_is_master(f) && !f->programming && !fabric_updates(f))
		fabric_held_polled(f);
	modules_polled(f->modules);
	fabric_warn(f);
	fabric_watch_doubt(f);
	fabric_look(f);
}

static unsigned doubts(const struct fabric *f)
{
	return f->figures.silent + f->figures.partial + f->figures.links_fresh +
	       (f->requests.retry || f->retrying);
}

static uint64_t longest_ms(const struct fabric *f)
{
	return f->conf.sweep.interval_ms ? (uint64_t)f->conf.sweep.interval_ms : DOUBT_MAX_MS;
}

void fabric_watch_doubt(struct fabric *f)
{
	unsigned now = doubts(f);

	if (now > f->doubt.count && longest_ms(f) > DOUBT_MS) {
		f->doubt.wait_ms = DOUBT_MS;
		loop_timer_set(f->poll_timer, DOUBT_MS * 1000ull);
	}
	f->doubt.count = now;
}

static void poll(struct fabric *f)
{
	modules_sweeping(f->modules, true);
	sweep_poll(f->sweep, polled, f);
}

static void poll_due(void *arg)
{
	struct fabric *f = arg;

	fabric_watch_schedule(f);
	if (sweep_busy(f->sweep) || !fabric_may_sweep(f))
		return;
	if (!f->topo && !fabric_updates(f))
		f->requests.sweep = true;
	if (f->requests.retry)
		f->requests.reroute = true; /* behind the poll, which may find why */
	if (f->requests.sweep || f->requests.dirty.count)
		fabric_look(f);
	else
		poll(f);
}

void fabric_watch_schedule(struct fabric *f)
{
	uint64_t ms = longest_ms(f);

	if (f->doubt.count && 2 * f->doubt.wait_ms < ms)
		ms = f->doubt.wait_ms *= 2;
	if (f->conf.sweep.interval_ms || f->doubt.count)
		loop_timer_set(f->poll_timer, ms * 1000);
	else
		loop_timer_stop(f->poll_timer);
}

void fabric_watch_init(struct fabric *f)
{
	f->requests.timer = loop_timer_new(f->loop, look_cb, f);
	f->poll_timer = loop_timer_new(f->loop, poll_due, f);
}

void fabric_watch_fini(struct fabric *f)
{
	loop_timer_free(f->requests.timer);
	loop_timer_free(f->poll_timer);
	free(f->requests.dirty.guids);
}
