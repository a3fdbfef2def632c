/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A sweep's state and its requests: how one begins, what is queued, which nodes it touched, and
 * what is asked of a node that is visited. It knows no answers: those are explore.c's, probe.c's
 * and ports.c's, which ask by these functions.
 */
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"

void sweep_open_columns(struct inventory *inv)
{
	inventory_open_column(inv, INV_SWEEP_NODE, sizeof(struct sweep_node), NULL);
	inventory_open_column(inv, INV_SWEEP_PORT, sizeof(struct sweep_port), NULL);
	bringup_open_columns(inv);
}

/* ---- Requests -------------------------------------------------------------------------------- */

bool sweep_job_is_probe(const struct batch_job *job)
{
	return job->kind == JOB_PROBE || job->kind == JOB_POLL_PORT || job->kind == JOB_VERIFY_LINK;
}

/* The node that should answer, or NULL: not known yet. */
const struct inv_node *sweep_job_target(const struct batch_job *job)
{
	const struct inv_node *node = job->object;

	return node && sweep_job_is_probe(job) ? node->ports[job->arg].peer : node;
}

/* One that was silent the last time. */
bool sweep_job_is_long_shot(const struct batch_job *job)
{
	const struct inv_node *node = sweep_job_target(job);

	return job->kind == JOB_POLL_PORT || job->kind == JOB_VERIFY_LINK ||
	       job->kind == JOB_VERIFY_PORT || (node && node->silent);
}

void sweep_ask(struct sweep *s, enum sweep_job kind, struct inv_node *node, uint32_t arg,
	       bool urgent)
{
	struct batch_job job = {
		.object = node, .arg = arg, .kind = (uint8_t)kind, .urgent = urgent
	};

	if (s->kind != SWEEP_POLL && !sweep_job_is_long_shot(&job)) {
		job.wave = s->waves.answered;
		s->waves.nprompt++;
		s->waves.nprompt_newest += job.wave == s->waves.newest;
	}
	batch_add(s->batch, &job);
}

void sweep_changed(struct sweep *s, const struct inv_node *node)
{
	unsigned n = s->result.nchanged;

	if (n && s->changed[n - 1] == node->guid)
		return;
	if (n == s->changed_room) {
		s->changed_room = n ? 2 * n : 16;
		s->changed = mem_resize(s->changed, s->changed_room, sizeof(*s->changed));
	}
	s->changed[n] = node->guid;
	s->result.nchanged++;
}

void sweep_touch(struct sweep *s, struct inv_node *node)
{
	if (sweep_node(node)->heard)
		return;
	sweep_node(node)->heard = SWEEP_TOUCHED;
	if (s->ntouched == s->touched_room) {
		s->touched_room = s->touched_room ? 2 * s->touched_room : 64;
		s->touched = mem_resize(s->touched, s->touched_room, sizeof(*s->touched));
	}
	s->touched[s->ntouched++] = node;
}

/* A silent node is sent nothing: what it rejected before does not count any more. */
void sweep_node_answers(struct inv_node *node)
{
	for (unsigned p = 0; node->silent && p <= node->nports; p++)
		port_setup(node, p)->given_up = port_setup(node, p)->lost = 0;
	node->silent = false;
}

void sweep_heard(struct sweep *s, struct inv_node *node)
{
	sweep_touch(s, node);
	sweep_node(node)->heard = SWEEP_ANSWERED;
}

/* ---- Begin ----------------------------------------------------------------------------------- */

/* Mostly there is nothing to forget: then nothing is written, see inventory.walks. */
static void forget_probe(struct sweep_port *cell)
{
	if (cell->probe != PROBE_NONE && cell->probe != PROBE_FAILED)
		cell->probe = PROBE_NONE;
	if (cell->seen)
		cell->seen = false;
}

/*
 * Probes that failed stay so until they are asked again; what the sweep before confirmed is open
 * anew.
 */
static void sweep_open(struct sweep *s, enum sweep_kind kind)
{
	struct inv_node *node;
	unsigned p;

	for (uint32_t i = 0; i < s->ntouched; i++) {
		node = s->touched[i];
		sweep_node(node)->heard = SWEEP_UNTOUCHED;
		for (p = 1; p <= node->nports; p++)
			forget_probe(sweep_port(node, p));
	}
	s->ntouched = 0;
	if (kind != SWEEP_DISCOVER || !s->incomplete)
		return;
	for (node = inventory_first(&s->inv); node; node = inventory_next(&s->inv, node))
		for (p = 1; p <= node->nports; p++)
			sweep_port(node, p)->probe = PROBE_NONE;
}

void sweep_start(struct sweep *s, enum sweep_kind kind, sweep_done_fn *fn, void *arg)
{
	batch_drop(s->batch);
	loop_timer_stop(s->waves.early);
	s->waves = (struct sweep_waves){ .early = s->waves.early, .newest = 1, .answered = 1 };
	s->kind = kind;
	s->number++;
	s->reroute = s->managed = false;
	s->parking.count = s->local_asked = 0;
	s->local_guid = 0;
	s->fn = fn;
	s->arg = arg;
	s->result = (struct sweep_result){ 0 };
	s->started_us = loop_now_us(s->loop);
	s->smps_before = batch_smps(s->batch);
	s->falls_before = s->inv.falls;
	sweep_open(s, kind);
	batch_wake(s->batch);
}

/* ---- Ports ----------------------------------------------------------------------------------- */

void ports_ask(struct sweep *s, struct inv_node *node, unsigned num)
{
	bool extended = inventory_port_modifier(node, (uint8_t)num) & WIRE_MOD_EXT_SPEEDS;
	bool urgent = inv_is_switch(node) && num == 0;

	sweep_ask(s, extended ? JOB_PORT_EXT : JOB_PORT, node, num, urgent);
}

void ports_set_probe(struct sweep *s, struct inv_node *node, unsigned num, enum sweep_probe probe)
{
	const struct inv_port *port = &node->ports[num];

	sweep_port(node, num)->probe = probe;
	sweep_touch(s, node);
	if (!port->peer)
		return;
	sweep_port(port->peer, port->peer_port)->probe = probe;
	sweep_touch(s, port->peer);
}

bool sweep_is_silent_behind(const struct inv_node *node, unsigned num, bool again)
{
	const struct inv_port *port = &node->ports[num];
	uint8_t probe = sweep_port(node, num)->probe;

	if (node->gone || node->silent || port->state < TOPO_INIT)
		return false;
	if (probe != PROBE_FAILED && !(again && probe == PROBE_OUT))
		return false;
	return !port->peer || port->peer->silent || port->peer->gone;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

void explore_visit(struct sweep *s, struct inv_node *node, const struct mad_path *path)
{
	struct sweep_node *cell = sweep_node(node);

	if (node->gone || !cell->met_first)
		cell->met_first = s->number;
	cell->seen = s->number;
	cell->partial = false;
	node->gone = node->gone && !path;
	if (path)
		node->path = *path;
	/*
	 * A host that comes back may have another name; a switch that was renamed says so by a
	 * trap, which may be lost.
	 */
	if (!node->have_desc || cell->desc_stale || s->kind == SWEEP_DISCOVER ||
	    !inv_is_switch(node))
		sweep_ask(s, JOB_DESC, node, 0, false);
	if (!inv_is_switch(node))
		return;
	cell->waiting = 2;
	if (node->unpublished) /* whose it is, is to be known first */
		ports_ask(s, node, 0);
	sweep_ask(s, JOB_SWITCH, node, 0, true);
	if (!node->unpublished)
		ports_ask(s, node, 0);
}

void explore_visit_ca(struct sweep *s, struct inv_node *node)
{
	unsigned p;

	explore_visit(s, node, NULL);
	for (p = 1; p <= node->nports; p++)
		if (node->ports[p].link_up || (node == s->inv.local && p == s->inv.local_port))
			ports_ask(s, node, p);
}

void explore_visit_neighbours(struct sweep *s, struct inv_node *node)
{
	unsigned p;

	for (p = 1; p <= node->nports; p++) {
		struct inv_node *peer = node->ports[p].peer;

		if (peer && inv_is_switch(peer) && !peer->silent && !peer->gone &&
		    sweep_node(peer)->seen != s->number)
			explore_visit(s, peer, NULL);
	}
}
