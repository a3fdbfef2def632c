/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The sending side of a sweep: turns jobs into requests, retries them, and ends the sweep when none
 * is left.
 *
 *   start -> jobs -> batch, mad -> answer -> explore.c: records it, adds jobs -> .. ->
 *   finish_sweep()
 *
 * What is unknown is asked first: NodeInfo over unexplored ports and what stands before a switch's
 * ports are urgent, PortInfo of the many ports and descriptions follow.
 *
 * A request that times out is asked again in rounds of two sends, each round by the path that is
 * best by then: a time-out makes the links of its path suspect (paths.c). The first rounds are
 * short, so that a dead path costs little; the last take the configured time-out. A node that
 * answered in this sweep is asked longer, one known to be silent once. A switch of a refresh that
 * does not answer at first, by itself or over two of its links, has its neighbours asked as well:
 * if it is dead, or has booted, they know, and their traps may have been lost with it.
 */
#include <assert.h>
#include <errno.h>
#include "fm/inventory/port_setup.h"
#include "fm/mad/wire_optional.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- The end of a sweep: which nodes did not answer, and why --------------------------------- */

/*
 * Up, but the one behind does not answer    silent: kept, asked again by each poll
 *   up, and the one behind answers elsewhere  the link passes no SMPs: taken for down
 *   not met, behind a silent one              unknown: left as it was; a switch whose agent hangs
 *                                             still forwards
 *   not met otherwise                         gone: in the record, with its links down
 */

#define LOG_BURST 20

static void say(struct sweep *s, const struct inv_node *node, int port, const char *what)
{
	if (log_allow(&s->silent_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: %s", inventory_name(node, port).text, what);
}

/*
 * A known link is up as long as no end says otherwise, whether its far end answers or not: a switch
 * whose agent hangs forwards on. Before a restart it was up, and its ends, as far as they can be
 * asked, are Active: nobody has restarted there. True: it was such a link, and is up now.
 */
static bool link_was_up(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num], *peer = &port->peer->ports[port->peer_port];

	if (port->link_up || sweep_port(node, num)->was_up != SWEEP_BEFORE_UP ||
	    (port->known && port->state != TOPO_ACTIVE) ||
	    (peer->known && peer->state != TOPO_ACTIVE))
		return false;
	inventory_link(&s->inv, node, num, port->peer, port->peer_port);
	port->state = peer->state = TOPO_ACTIVE;
	s->inv.paths_stale = true;
	return true;
}

static void finish_failed_port(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];

	if (!port->peer) {
		say(s, node, num, "link up, but the neighbour does not answer");
	} else if (!sweep_port(node, num)->seen) {
		return;
	} else if (sweep_answered(port->peer)) {
		say(s, node, num, "link up, but no packet passes: treated as down");
		inventory_link_down(&s->inv, node, num);
	} else if (port->link_up || link_was_up(s, node, num)) {
		if (!port->peer->silent)
			say(s, port->peer, -1, "does not answer");
		port->peer->silent = s->incomplete = true;
	}
}

/*
 * Of a switch that was not asked since the start nothing is known but what state says, not even
 * what SwitchInfo holds besides LinearFDBTop: nothing is written to it.
 */
static void finish_unasked(struct sweep *s, struct inv_node *node)
{
	if (inv_is_switch(node) && !sweep_node(node)->met_first)
		node->silent = s->incomplete = true;
}

/*
 * What is behind a silent node can't be known, nor what is behind a port of another that was not
 * read in this sweep: it is marked as met. Recursion is by rounds, a silent chain is short.
 */
static bool finish_keep_behind(struct sweep *s, struct inv_node *node)
{
	bool news = false, heard = sweep_answered(node);

	for (unsigned p = 1; p <= node->nports; p++) {
		struct inv_port *port = &node->ports[p];

		if (!port->peer || (heard && sweep_port(node, p)->seen) ||
		    (!port->link_up && !link_was_up(s, node, p)) ||
		    sweep_node(port->peer)->seen == s->inv.numbered.sweeps)
			continue;
		sweep_node(port->peer)->seen = s->inv.numbered.sweeps;
		finish_unasked(s, port->peer);
		news = true;
	}
	return news;
}

static void finish_unseen(struct sweep *s)
{
	bool news;

	INVENTORY_EACH (&s->inv, node)
		if (node->silent)
			sweep_node(node)->seen = s->inv.numbered.sweeps;
	do {
		news = false;
		INVENTORY_EACH (&s->inv, node)
			if (sweep_node(node)->seen == s->inv.numbered.sweeps)
				news |= finish_keep_behind(s, node);
	} while (news);

	INVENTORY_EACH (&s->inv, node) {
		if (sweep_node(node)->seen == s->inv.numbered.sweeps)
			continue;
		if (!node->gone)
			say(s, node, -1, "gone");
		for (unsigned p = 1; p <= node->nports; p++)
			inventory_link_down(&s->inv, node, p);
	}
}

/* Mostly nobody is to be counted, and a fault does not wait for it. */
static void finish_count(struct sweep *s)
{
	bool incomplete = false;

	s->result.silent = s->result.partial = s->result.gone = s->result.refusing = 0;
	s->result.untrue = 0;
	if (!s->incomplete && !s->inv.ngone)
		return;
	INVENTORY_EACH (&s->inv, node) {
		const struct sweep_node *cell = sweep_node(node);
		unsigned failed = 0, p;

		s->result.silent += node->silent && !node->gone;
		s->result.partial += cell->partial && !node->gone;
		s->result.gone += node->gone;
		s->result.refusing +=
			cell->keeps_change && !node->gone && !inv_node_is(node, INV_NO_SETS);
		s->result.untrue += cell->keeps_no_top && !node->gone;
		for (p = 1; p <= node->nports; p++) {
			if (sweep_port(node, p)->probe != PROBE_FAILED)
				continue;
			failed++;
			s->result.silent += !node->ports[p].peer;
		}
		incomplete |= node->silent || cell->partial || cell->keeps_change ||
			      cell->keeps_no_top || failed;
	}
	s->incomplete = incomplete;
}

/* Over known links, up or down. Returns how many it came to, marked as of this walk. */
static uint32_t walk_known(struct sweep *s, struct inv_node **queue)
{
	uint32_t head = 0, tail = 0;

	s->inv.walks++;
	inventory_meet(&s->inv, s->inv.local);
	queue[tail++] = s->inv.local;
	while (head < tail) {
		struct inv_node *node = queue[head++];

		for (unsigned p = 1; p <= node->nports; p++) {
			struct inv_node *peer = node->ports[p].peer;

			if (!peer || inventory_was_met(&s->inv, peer))
				continue;
			inventory_meet(&s->inv, peer);
			queue[tail++] = peer;
		}
	}
	return tail;
}

/*
 * Nodes that no known link leads to, not even one that is down: others were met in all their
 * places. They are no part of the fabric.
 */
static void finish_islands(struct sweep *s)
{
	struct inv_node **queue, *node, *next;
	uint32_t count = cl_qmap_count(&s->inv.nodes);

	if (!s->inv.local)
		return;
	queue = mem_array(queue, count);
	if (walk_known(s, queue) < count)
		for (node = inventory_first(&s->inv); node; node = next) {
			next = inventory_next(&s->inv, node);
			if (inventory_was_met(&s->inv, node))
				continue;
			say(s, node, -1, "not found any more: removed");
			inventory_remove(&s->inv, node);
			s->inv.ngone--;
		}
	free(queue);
}

/*
 * The end that can be asked never answered that its link was up: what was answered over another
 * port named this one.
 */
static bool is_no_link(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port->peer && !port->link_up && sweep_port(node, num)->was_up == SWEEP_NEVER_UP &&
	       port->known && !node->gone && !port->link_verified;
}

/* Nothing can be known of links that no path leads to. */
static void finish_gone(struct sweep *s)
{
	struct inv_node *node = s->inv.ngone ? inventory_first(&s->inv) : NULL;

	for (; node; node = inventory_next(&s->inv, node)) {
		if (node->gone) {
			sweep_node(node)->ports_read = false;
			inventory_set_unpublished(&s->inv, node, true);
		}
		for (unsigned p = 1; node->gone && p <= node->nports; p++)
			inventory_link_down(&s->inv, node, p);
		for (unsigned p = 1; p <= node->nports; p++)
			if (is_no_link(node, p))
				inventory_unlink(&s->inv, node, p);
	}
}

/* what the silences of a sweep mean. */
static void finish_sweep(struct sweep *s)
{
	if (s->result.error)
		return;
	if (s->kind < SWEEP_POLL && s->incomplete) {
		INVENTORY_EACH (&s->inv, node)
			for (unsigned p = 1; p <= node->nports; p++)
				if (sweep_port(node, p)->probe == PROBE_FAILED)
					finish_failed_port(s, node, p);
	}
	if (s->kind == SWEEP_DISCOVER)
		finish_unseen(s);
	if (s->kind < SWEEP_POLL || s->inv.paths_stale)
		inventory_update_paths(&s->inv);
	if (s->kind < SWEEP_POLL)
		finish_gone(s);
	if (s->kind < SWEEP_POLL && s->inv.ngone)
		finish_islands(s);

	/* Those that were visited, and answered nothing impossible this time, are cleared. */
	struct inv_node *node = s->inv.nflawed ? inventory_first(&s->inv) : NULL;

	s->inv.nflawed = 0;
	for (; node; node = inventory_next(&s->inv, node)) {
		struct sweep_node *cell = sweep_node(node);

		if (cell->seen == s->inv.numbered.sweeps &&
		    cell->flawed_in != s->inv.numbered.sweeps)
			cell->flaw = NULL;
		s->inv.nflawed += cell->flaw != NULL;
	}

	finish_count(s);
}

/* ---- Sending --------------------------------------------------------------------------------- */

#define ROUND_MS	 50 /* of the first round; doubles */
#define ROUNDS		 4
#define ROUNDS_IF_LIVELY 6
#define ROUNDS_SET	 3 /* of a switch that answers Gets: then it takes none */
#define ROUNDS_SET_FAST	 6 /* of one that answered the Get behind the first round: they are short */
#define ROUNDS_OPTIONAL	 2 /* of what a device need not have: the common attribute is asked then */
#define EARLY_MS	 50
#define LOST_OVER	 2 /* links over which a device did not answer: it is asked over no other */
#define STATUS_BUSY	 0x0001 /* IBA 13.4.7: discarded, ask again */

static const uint16_t job_attr[] = {
	[JOB_LOCAL] = WIRE_NODE_INFO,	      [JOB_PROBE] = WIRE_NODE_INFO,
	[JOB_DESC] = WIRE_NODE_DESC,	      [JOB_GENERAL] = WIRE_GENERAL_INFO,
	[JOB_SWITCH] = WIRE_SWITCH_INFO,      [JOB_CLEAR] = WIRE_SWITCH_INFO,
	[JOB_PORT] = WIRE_PORT_INFO,	      [JOB_PORT_EXT] = WIRE_PORT_INFO,
	[JOB_STATES] = WIRE_PORT_STATE_TABLE, [JOB_POLL] = WIRE_SWITCH_INFO,
	[JOB_POLL_PORT] = WIRE_NODE_INFO,     [JOB_VERIFY_LINK] = WIRE_NODE_INFO,
	[JOB_VERIFY_PORT] = WIRE_PORT_INFO,   [JOB_GATE] = WIRE_PORT_INFO,
};

/*
 * A sweep does not wait for those that are slow to answer. What it has found is reported, with
 * result.rest, when the first round of all jobs is over that a request for a sweep has led to, its
 * wave; those whose round passed without an answer go on beside it, as do those that were silent
 * the last time, and are reported EARLY_MS later, or at the end. A request that joins a sweep is a
 * wave of its own.
 */
static void wave_left(void *owner, const struct batch_job *job)
{
	struct sweep *s = owner;
	struct sweep_waves *w = &s->waves;
	uint64_t now = loop_now_us(s->loop);

	if (!job->wave)
		return;
	w->nprompt--;
	w->nprompt_newest -= job->wave == w->newest;

	bool over = !w->nprompt || (!w->nprompt_newest && s->kind == SWEEP_REFRESH);

	if (over && w->news && !loop_timer_armed(w->early)) /* behind the end, if that is all */
		loop_timer_set(w->early, w->early_us > now ? w->early_us - now : 0);
}

static unsigned job_rounds(const struct batch_job *job)
{
	const struct inv_node *node = sweep_job_target(job);

	if (job->kind == JOB_LOCAL)
		return ROUNDS_IF_LIVELY;
	if (sweep_job_is_long_shot(job))
		return 1;
	if (job->kind == JOB_STATES || job->kind == JOB_GENERAL)
		return ROUNDS_OPTIONAL;
	if (job->kind == JOB_CLEAR)
		return sweep_node(node)->desc == DESC_AFTER_SET ? ROUNDS_SET : ROUNDS_SET_FAST;
	return node && sweep_answered(node) ? ROUNDS_IF_LIVELY : ROUNDS;
}

static bool sweep_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	struct sweep *s = owner;

	via->stamp = s->inv.clock;

	/* The path of a probe ends by the port whose neighbour is asked. */
	struct inv_node *node = job->object;
	uint8_t port = job->arg;
	struct mad_path to;

	if (job->kind == JOB_LOCAL)
		return true;
	if (job->kind == JOB_PORT || job->kind == JOB_PORT_EXT || job->kind == JOB_VERIFY_PORT)
		return inventory_port_path(&s->inv, node, port, &via->path);
	return !sweep_job_is_probe(job) ? inventory_port_path(&s->inv, node, 0, &via->path)
					: inventory_port_path(&s->inv, node, 0, &to) &&
						  inventory_path_add(&to, port, &via->path);
}

/*
 * A device that let the first round pass over some links is asked over these alone: it would be as
 * silent over all others. Should it answer, it is visited, and its links are met from its own side.
 */
static bool is_asked_elsewhere(const struct sweep *s, const struct batch_job *job,
			       const struct inv_node *target)
{
	return job->kind == JOB_PROBE && target && !sweep_answered(target) &&
	       sweep_node(target)->lost_in == s->inv.numbered.sweeps &&
	       sweep_node(target)->lost >= LOST_OVER;
}

static bool sweep_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct sweep *s = owner;
	const struct inv_node *node = job->object, *target = sweep_job_target(job);

	if (node && node->removed)
		return false;
	if (job->kind == JOB_PROBE && sweep_port(node, job->arg)->probe != PROBE_OUT)
		return false; /* met from its other end meanwhile */
	if (!job->tries && is_asked_elsewhere(s, job, target)) {
		explore_given_up(s, job);
		return false;
	}
	if (!sweep_path(s, job, &request->via))
		return false;

	request->mad.method = WIRE_GET;
	request->mad.attr_id = job_attr[job->kind];
	if (job->kind == JOB_PORT || job->kind == JOB_STATES)
		request->mad.attr_mod = job->arg;
	if (job->kind == JOB_GENERAL)
		request->mad.attr_mod = WIRE_GENERAL_CAPS;
	if (job->kind == JOB_PORT_EXT)
		request->mad.attr_mod = job->arg | WIRE_MOD_EXT_SPEEDS;
	if (job->kind == JOB_VERIFY_PORT)
		request->mad.attr_mod = inventory_port_modifier(node, job->arg);
	if (job->kind == JOB_CLEAR) {
		struct wire_switch_info clear = node->sw;

		/* 1 clears it. At an examination it stays: nobody reads the ports behind it. */
		clear.port_state_change = sweep_node(node)->waiting > 0;

		const struct inv_wanted *wanted = inv_wanted(node);

		if (wanted->top && !node->rebooted) { /* program may be at it right now */
			clear.lft_top = wanted->top;
			clear.life_time = wanted->life_time;
		}
		if (wanted->mft_top && !node->rebooted) /* and mft */
			clear.mft_top = wanted->mft_top;
		request->mad.method = WIRE_SET;
		wire_switch_info_encode(&clear, request->data);
	}

	request->mad.device = target ? target->guid : 0;
	/* Nobody may be there to answer a probe: its loss is no sign of a full network. */
	request->mad.doubtful = job->tries > 0 || sweep_job_is_long_shot(job) ||
				job->kind == JOB_GENERAL || job->kind == JOB_PROBE;
	/* A fault does not wait behind the tables of a bring-up, or of before a restart. */
	request->mad.urgent = job->urgent || (s->kind == SWEEP_REFRESH && !request->mad.doubtful);
	/* A poll asks those that were silent once: they may be slow. */
	if (s->kind < SWEEP_POLL || !sweep_job_is_long_shot(job))
		request->mad.timeout_ms = job->tries < 2 ? ROUND_MS << job->tries : 0;
	/* Where a Get that was sent behind a Set is answered, there is nothing to wait for. */
	if (job->kind == JOB_CLEAR && (job->tries == 1 || sweep_node(node)->desc != DESC_AFTER_SET))
		request->mad.timeout_ms = job->tries < 2 ? ROUND_MS : ROUND_MS / 2;
	request->mad.retries = 1;
	request->mad.once = job->kind == JOB_SWITCH && s->kind == SWEEP_REFRESH && !job->tries;
	return true;
}

static void sweep_again(struct sweep *s, const struct batch_job *job, const char *flaw)
{
	struct batch_job again = *job;

	again.tries++;
	if (job->tries == 0) {
		struct inv_node *target = (struct inv_node *)sweep_job_target(job);

		explore_unanswered(s, job);
		if (is_asked_elsewhere(s, job, target)) {
			explore_given_up(s, job);
			return;
		}
		if (job->kind == JOB_PROBE && target) {
			struct sweep_node *cell = sweep_node(target);

			cell->lost = cell->lost_in == s->inv.numbered.sweeps ? cell->lost + 1 : 1;
			cell->lost_in = s->inv.numbered.sweeps;
			if (cell->lost == LOST_OVER) {
				s->reroute = true; /* those on their way end, too */
				/* Its other links may have restarted with these, unheard. */
				if (s->kind == SWEEP_REFRESH && !target->silent)
					explore_visit_neighbours(s, target);
			}
		}
	}
	again.urgent = false; /* after those that are likely to be answered */
	again.wave = 0;
	if (again.tries < job_rounds(job)) {
		/* A switch without tables is not used before it is known whether it takes Sets. */
		if (job->kind == JOB_CLEAR && !((struct inv_node *)job->object)->sw.lft_top) {
			again.wave = job->wave;
			s->waves.nprompt += job->wave != 0;
			s->waves.nprompt_newest += job->wave && job->wave == s->waves.newest;
		}
		batch_add(s->batch, &again);
		return;
	}
	if (flaw)
		explore_flawed(s, job, flaw);
	explore_given_up(s, job);
}

static void sweep_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			 const struct mad_answer *answer)
{
	struct sweep *s = owner;
	const struct inv_turned *links = &s->inv.turned;
	uint32_t turned = links->falls + links->rises;

	s->waves.answered = job->wave ? job->wave : s->waves.newest;
	s->waves.news |= answer->result == MAD_OK;
	inventory_path_result(&s->inv, &via->path,
			      answer->result == MAD_OK || answer->result == MAD_STATUS ||
				      answer->flaw,
			      via->stamp);

	/*
	 * An impossible NodeInfo may be that of another device than is known there: explore.c
	 * decides how often it is asked. What a poll meets needs no decision.
	 */
	if (answer->result == MAD_OK ||
	    (answer->flaw && job_attr[job->kind] == WIRE_NODE_INFO && job->kind != JOB_POLL_PORT))
		explore_answer(s, job, &via->path, answer->data);
	else if (answer->result == MAD_STATUS && !(answer->status & STATUS_BUSY))
		explore_refused(s, job, answer->status);
	else
		sweep_again(s, job, answer->flaw);
	if (!s->result.found_us && (s->result.nchanged || links->falls + links->rises != turned))
		s->result.found_us = loop_now_us(s->loop);
	wave_left(s, job);

	if (s->reroute) {
		s->reroute = false;
		batch_reroute(s->batch);
	}
}

static void report_result(struct sweep *s, bool rest)
{
	struct sweep_result result = s->result;

	result.fell = s->inv.turned.falls - s->falls_before;
	result.changed = s->changed;
	result.smps = batch_smps(s->batch) - s->smps_before;
	result.took_us = loop_now_us(s->loop) - s->started_us;
	result.rest = rest;
	result.idle = !s->waves.more && !result.nchanged;
	s->result.nchanged = 0;
	s->result.found_us = 0;
	s->waves.news = false;
	s->fn(s->arg, &result); /* may free s, or start the next sweep */
}

static void sweep_idle(void *owner)
{
	struct sweep *s = owner;

	if (contest_ends(s)) {
		batch_wake(s->batch);
		return;
	}
	loop_timer_stop(s->waves.early);
	finish_sweep(s);
	s->kind = SWEEP_NONE;
	report_result(s, false);
}

/* What has not answered yet is as before the restart, with what is behind it: it is published. */
static void finish_pending(struct sweep *s)
{
	bool news = s->kind == SWEEP_DISCOVER && s->inv.ngone;

	while (news) {
		news = false;
		INVENTORY_EACH (&s->inv, node) {
			bool reached = sweep_answered(node);

			for (unsigned p = 1; p <= node->nports && !reached; p++)
				reached = node->ports[p].link_up;
			for (unsigned p = 1; p <= node->nports && reached; p++) {
				struct inv_node *peer = node->ports[p].peer;

				if (!peer || !link_was_up(s, node, p))
					continue;
				news = true;
				finish_unasked(s, peer);
				/* It let the first round pass: nobody waits for it. */
				if (sweep_answered(node) && !sweep_answered(peer))
					peer->silent = s->incomplete = true;
			}
		}
	}
}

static void early_cb(void *arg)
{
	struct sweep *s = arg;

	if (s->kind == SWEEP_NONE || s->result.error)
		return;
	s->waves.early_us = loop_now_us(s->loop) + EARLY_MS * 1000;

	/* reports what is answered; slow answers are left */
	if (s->inv.paths_stale)
		inventory_update_paths(&s->inv);
	finish_pending(s);
	if (s->inv.paths_stale)
		inventory_update_paths(&s->inv);
	finish_gone(s);
	finish_count(s);

	report_result(s, true);
}

/* Behind all that a refresh asks, one by one; nobody waits for their answers. */
static bool sweep_more(void *owner)
{
	struct sweep *s = owner;
	struct inv_node *node = s->unpolled ? inventory_from(&s->inv, s->unpolled) : NULL;

	while (node && (!inv_is_switch(node) || node->gone))
		node = inventory_next(&s->inv, node);
	s->unpolled = node ? node->guid + 1 : 0;
	if (node)
		batch_add(s->batch, &(struct batch_job){ .object = node, .kind = JOB_POLL });
	return node;
}

static const struct batch_ops sweep_ops = {
	.make = sweep_make,
	.path_of = sweep_path,
	.done = sweep_answer,
	.more = sweep_more,
	.idle = sweep_idle,
	.unwanted = wave_left,
};

struct sweep *sweep_new(struct loop *loop, struct mad *mad)
{
	struct sweep *s = mem_new(s);

	s->loop = loop;
	s->mad = mad;
	s->batch = batch_new(loop, mad, &sweep_ops, s);
	s->waves.early = loop_timer_new(loop, early_cb, s);
	inventory_init(&s->inv);
	sweep_open_columns(&s->inv);
	return s;
}

void sweep_free(struct sweep *s)
{
	if (!s)
		return;
	batch_free(s->batch);
	loop_timer_free(s->waves.early);
	inventory_fini(&s->inv);
	free(s->changed);
	free(s->touched);
	free(s->parking.list);
	sweep_set_gate(s, NULL, NULL);
	free(s);
}

struct inventory *sweep_inventory(struct sweep *s)
{
	return &s->inv;
}

bool sweep_busy(const struct sweep *s)
{
	return s->kind != SWEEP_NONE;
}

bool sweep_trails(const struct sweep *s)
{
	return (s->kind == SWEEP_DISCOVER || s->kind == SWEEP_REFRESH) && !s->waves.nprompt;
}

bool sweep_discovers(const struct sweep *s)
{
	return s->kind == SWEEP_DISCOVER;
}

bool sweep_polls(const struct sweep *s)
{
	return s->kind >= SWEEP_POLL;
}

void sweep_set_passive(struct sweep *s, bool on, bool observes)
{
	s->passive = on;
	s->observes = observes;
}

void sweep_discover(struct sweep *s, sweep_done_fn *fn, void *arg)
{
	sweep_start(s, SWEEP_DISCOVER, fn, arg);
	sweep_ask(s, JOB_LOCAL, NULL, 0, true);
}

static void refresh_node(struct sweep *s, guid_t guid)
{
	struct inv_node *node = inventory_find(&s->inv, guid);

	if (node && node->gone) /* they know whether a path leads there again */
		explore_visit_neighbours(s, node);
	if (!node || node->gone)
		return;
	/* What was met there earlier in this sweep may be another by now. */
	for (unsigned p = 1; p <= node->nports; p++)
		if (sweep_port(node, p)->probe == PROBE_MET)
			sweep_port(node, p)->probe = PROBE_NONE;
	if (inv_is_switch(node))
		explore_visit(s, node, NULL);
	else
		explore_visit_ca(s, node);
}

void sweep_poll_beside(struct sweep *s)
{
	assert(s->kind == SWEEP_REFRESH);
	s->unpolled = 1;
	batch_wake(s->batch);
}

/*
 * A wave of a sweep that runs, or of a refresh of its own. What a poll that it replaces has found
 * is refreshed as well, and the poll goes on beside it: where a cable flaps and a switch hangs no
 * poll comes to its end.
 */
static void begin_wave(struct sweep *s, sweep_done_fn *fn, void *arg)
{
	struct sweep_waves *w = &s->waves;

	if (s->kind == SWEEP_DISCOVER || s->kind == SWEEP_REFRESH) {
		s->fn = fn;
		s->arg = arg;
		w->newest = w->newest < UINT8_MAX ? w->newest + 1 : 1;
		w->answered = w->newest;
		w->nprompt_newest = 0;
		w->early_us = 0;
		loop_timer_stop(w->early);
	} else {
		bool polled = s->kind == SWEEP_POLL;
		unsigned count = s->kind >= SWEEP_POLL ? s->result.nchanged : 0;
		guid_t *found = s->changed;

		s->changed = NULL;
		sweep_start(s, SWEEP_REFRESH, fn, arg);
		if (polled)
			sweep_poll_beside(s);
		for (unsigned i = 0; i < count; i++)
			refresh_node(s, found[i]);
		free(found);
	}
}

bool sweep_examine(struct sweep *s, sweep_done_fn *fn, void *arg)
{
	bool any = false;

	INVENTORY_EACH (&s->inv, node) {
		if (!inv_is_switch(node) || node->sw.lft_top || node->gone || node->silent ||
		    inv_node_is(node, INV_NO_SETS))
			continue;
		if (!any)
			begin_wave(s, fn, arg);
		any = true;
		sweep_ask(s, JOB_CLEAR, node, 0, true);
	}
	return any;
}

void sweep_refresh(struct sweep *s, const guid_t *nodes, unsigned count, sweep_done_fn *fn,
		   void *arg)
{
	begin_wave(s, fn, arg);
	for (unsigned i = 0; i < count; i++)
		refresh_node(s, nodes[i]);
}

void sweep_recheck(struct sweep *s, const guid_t *switches, unsigned count, sweep_done_fn *fn,
		   void *arg)
{
	begin_wave(s, fn, arg);
	for (unsigned i = 0; i < count; i++) {
		struct inv_node *node = inventory_find(&s->inv, switches[i]);

		if (node && !node->gone && !node->silent)
			sweep_ask(s, JOB_POLL, node, 0, false);
	}
}

void sweep_poll(struct sweep *s, sweep_done_fn *fn, void *arg)
{
	assert(!sweep_busy(s));
	sweep_start(s, SWEEP_POLL, fn, arg);
	/* If the own link leads to no known node, nothing else is asked. */
	struct inv_node *node = s->inv.local;

	if (node && !inv_is_switch(node) && !node->ports[s->inv.local_port].link_up) {
		sweep_port(node, s->inv.local_port)->must_probe = true;
		sweep_changed(s, node);
	}
	for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node)) {
		if (node->gone)
			continue;
		if (sweep_node(node)->partial)
			sweep_changed(s, node);
		if (inv_is_switch(node))
			sweep_ask(s, JOB_POLL, node, 0, false);

		/*
		 * A silent switch may still forward: what answers behind it is no news. It is
		 * polled itself.
		 */
		if ((!inv_is_switch(node) && node != s->inv.local) || node->silent)
			continue;
		for (unsigned p = 1; p <= node->nports; p++) {
			const struct inv_node *peer = node->ports[p].peer;
			bool silent = peer && peer->silent && !peer->gone;

			if ((sweep_port(node, p)->probe == PROBE_FAILED || silent) &&
			    !(silent && inv_is_switch(peer)))
				sweep_ask(s, JOB_POLL_PORT, node, p, false);
		}
	}
}
