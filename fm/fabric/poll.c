/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * poll: light sweeps.
 *
 * A light sweep asks every switch once an interval for PortStateChange and so finds what no trap
 * reported: a trap may be lost on the very link that it is about, and a switch that hangs sends
 * none.
 *
 * Beside a refresh that waits for slow answers alone the light sweep is a part of it.
 *
 * While something is unfinished they come sooner: a node is silent or answered in part, links are
 * not up, or blocks not acknowledged. 50 ms at first, twice as long each time up to the interval
 * (10 s without one), and from 50 ms again when more is unfinished than before. What an update
 * tries again stays unfinished until that is settled. Ports that refuse their settings have a pace
 * of their own (deploy.c); light sweeps come sooner because of them for a minute alone, which may
 * find why. A link that came up is followed by one within 200 ms, too: where much comes up at once,
 * traps of other links are lost on the way, and a switch that knows no manager yet has nobody to
 * send one. One follows when all ports hold the LID of the manager's new port: until then their
 * traps went to the former one.
 */
#include "fm/fabric/pipe.h"
#include "topology/base/mem.h"

#define SOON_MS	    50
#define SOON_MAX_MS 10000
#define BEHIND_MS   20 /* of the sweep that runs, or goes first, when one is due */
#define RISEN_MS    200

struct poll {
	loop_fn *serve;
	struct loop_timer *timer;
	unsigned unfinished; /* nodes and links, when last counted */
	uint64_t wait_ms;    /* before the light sweep that is due, while something is */
	uint64_t due_us;     /* when it is due */
	uint32_t rises;	     /* of the inventory, when last counted */
	bool moved;	     /* traps go to another LID than the manager's */
};

static void set_due(struct fabric *f, uint64_t ms)
{
	f->poll->due_us = loop_now_us(f->loop) + ms * 1000;
	loop_timer_set(f->poll->timer, ms * 1000);
}

static void polled(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	for (unsigned i = 0; i < result->nchanged; i++)
		guid_list_add(&f->requests.dirty, result->changed[i]);
	if (result->error)
		f->requests.sweep = true;
	if (result->nchanged)
		fabric_fault_found(f, "found by poll", result->found_us);
	f->figures->polls++;
	fabric_note_sweep(f, result);
	fabric_log_silent(f);
	MODULES_CALL(f->kept.modules, swept,
		     &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED, .light = true });
	fabric_warn(f);
	fabric_poll_recheck(f);
	f->poll->serve(f);
}

/* ---- When ------------------------------------------------------------------------------------ */

static unsigned unfinished(const struct fabric *f)
{
	return f->figures->silent + f->figures->partial + f->figures->links_fresh +
	       (f->requests.retry || f->progress.retrying);
}

void fabric_poll_moved(struct fabric *f)
{
	f->poll->moved = true;
}

void fabric_poll_recheck(struct fabric *f)
{
	struct poll *p = f->poll;
	unsigned now = unfinished(f);

	if (p->moved && fabric_is_settled(f)) {
		p->moved = false;
		set_due(f, 0);
	}
	if (now > p->unfinished && (f->conf.sweep.interval_ms ? (uint64_t)f->conf.sweep.interval_ms
							      : SOON_MAX_MS) > SOON_MS) {
		p->wait_ms = SOON_MS;
		set_due(f, SOON_MS);
	}
	p->unfinished = now;
	if (p->rises != sweep_inventory(f->sweep)->turned.rises && f->conf.sweep.interval_ms &&
	    p->due_us > loop_now_us(f->loop) + RISEN_MS * 1000)
		set_due(f, RISEN_MS);
	p->rises = sweep_inventory(f->sweep)->turned.rises;
}

void fabric_poll_schedule(struct fabric *f)
{
	struct poll *p = f->poll;
	uint64_t ms = f->conf.sweep.interval_ms ? f->conf.sweep.interval_ms : SOON_MAX_MS;

	if (p->unfinished && 2 * p->wait_ms < ms)
		ms = p->wait_ms *= 2;
	if (f->conf.sweep.interval_ms || p->unfinished)
		set_due(f, ms);
	else
		loop_timer_stop(p->timer);
}

static void poll_due(void *arg)
{
	struct fabric *f = arg;
	bool runs = fabric_sweep_running(f) && fabric_may_sweep(f);

	if (runs && (!sweep_trails(f->sweep) || sweep_discovers(f->sweep))) {
		set_due(f, BEHIND_MS); /* a cable that flaps makes a sweep each time */
		return;
	}
	fabric_poll_schedule(f);
	if (!fabric_may_sweep(f) ||
	    (fabric_role(f) == FABRIC_ROLE_STANDBY && f->now.topo && !fabric_observe_is_due(f)))
		return;
	if (runs) {
		sweep_poll_beside(f->sweep);
		return;
	}
	if ((!f->now.topo && !fabric_updating(f)) || fabric_observe_is_due(f))
		f->requests.sweep = true;
	if (f->requests.retry)
		f->requests.reroute = true; /* behind the light sweep, which may find why */
	if (f->requests.sweep || f->requests.dirty.count) {
		if (!f->requests.sweep)
			set_due(f, BEHIND_MS);
		f->poll->serve(f);
		return;
	}
	MODULES_CALL(f->kept.modules, swept,
		     &(struct fabric_swept){ .step = FABRIC_SWEEP_BEGINS, .light = true });
	sweep_poll(f->sweep, polled, f);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void fabric_poll_init(struct fabric *f, loop_fn *serve)
{
	f->poll = mem_new(f->poll);
	*f->poll = (struct poll){ .serve = serve, .timer = loop_timer_new(f->loop, poll_due, f) };
}

void fabric_poll_fini(struct fabric *f)
{
	loop_timer_free(f->poll->timer);
	free(f->poll);
}
