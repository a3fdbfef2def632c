/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A sweep's state and its requests: how one begins, what is queued, which nodes it touched, what is
 * asked of a node that is visited, and which of its ports are read. Of answers it knows those of
 * ports: others are explore.c's, which asks by these functions.
 */
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"

#define LOG_BURST	 20
#define STATES_PER_BLOCK 128

void sweep_open_columns(struct inventory *inv)
{
	inventory_open_column(inv, INV_SWEEP_NODE, sizeof(struct sweep_node), NULL);
	inventory_open_column(inv, INV_SWEEP_PORT, sizeof(struct sweep_port), NULL);
	bringup_open_columns(inv);
}

/* ---- Requests -------------------------------------------------------------------------------- */

bool sweep_job_is_probe(const struct batch_job *job)
{
	return job->kind == JOB_PROBE || job->kind == JOB_POLL_PORT ||
	       job->kind == JOB_VERIFY_LINK || job->kind == JOB_GATE;
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
	struct batch_job job = { .object = node, .arg = arg, .kind = kind, .urgent = urgent };

	if (s->kind < SWEEP_POLL && !sweep_job_is_long_shot(&job)) {
		job.wave = s->waves.answered;
		s->waves.nprompt++;
		s->waves.nprompt_newest += job.wave == s->waves.newest;
	}
	s->waves.more |= kind != JOB_POLL;
	batch_add(s->batch, &job);
}

void sweep_changed(struct sweep *s, const struct inv_node *node)
{
	unsigned n = s->result.nchanged;

	if (n && s->changed[n - 1] == node->guid)
		return;
	s->changed = mem_grow(s->changed, n);
	s->changed[n] = node->guid;
	s->result.nchanged++;
}

void sweep_touch(struct sweep *s, struct inv_node *node)
{
	if (sweep_node(node)->heard)
		return;
	sweep_node(node)->heard = SWEEP_TOUCHED;
	s->touched = mem_grow(s->touched, s->ntouched);
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
	sweep_node(node)->lost = 0;
}

/* ---- Begin ----------------------------------------------------------------------------------- */

void sweep_start(struct sweep *s, enum sweep_kind kind, sweep_done_fn *fn, void *arg)
{
	batch_drop(s->batch);
	loop_timer_stop(s->waves.early);
	s->waves = (struct sweep_waves){ .early = s->waves.early, .newest = 1, .answered = 1 };
	s->kind = kind;
	s->inv.numbered.sweeps++;
	s->reroute = s->managed = false;
	s->parking.count = s->local_asked = 0;
	if (s->parking.gate)
		s->parking.gate->count = 0;
	s->local_guid = s->unpolled = 0;
	s->fn = fn;
	s->arg = arg;
	s->result = (struct sweep_result){ 0 };
	s->started_us = loop_now_us(s->loop);
	s->smps_before = batch_smps(s->batch);
	s->falls_before = s->inv.turned.falls;

	/*
	 * Probes that failed stay so until they are asked again; what the sweep before confirmed is
	 * open again.
	 */
	for (uint32_t i = 0; i < s->ntouched; i++) {
		struct inv_node *node = s->touched[i];

		sweep_node(node)->heard = SWEEP_UNTOUCHED;
		for (unsigned p = 1; p <= node->nports; p++) {
			struct sweep_port *cell = sweep_port(node, p);

			/* Mostly nothing is to be forgotten: then nothing is written. */
			if (cell->probe != PROBE_NONE && cell->probe != PROBE_FAILED)
				cell->probe = PROBE_NONE;
			if (cell->seen)
				cell->seen = false;
		}
	}
	s->ntouched = 0;

	if (kind == SWEEP_DISCOVER && s->incomplete) {
		INVENTORY_EACH (&s->inv, node)
			for (unsigned p = 1; p <= node->nports; p++)
				sweep_port(node, p)->probe = PROBE_NONE;
	}

	batch_wake(s->batch);
}

/* ---- Ports ----------------------------------------------------------------------------------- */

void ports_ask(struct sweep *s, struct inv_node *node, unsigned num)
{
	bool extended = inventory_port_modifier(node, num) & WIRE_MOD_EXT_SPEEDS;
	bool urgent = inv_is_switch(node) && num == 0;

	sweep_ask(s, extended ? JOB_PORT_EXT : JOB_PORT, node, num, urgent);
}

void ports_set_probe(struct sweep *s, struct inv_node *node, unsigned num, enum sweep_probe probe)
{
	const struct inv_port *port = &node->ports[num];
	struct sweep_port *cell = sweep_port(node, num);

	cell->probe = probe;
	cell->missed = probe == PROBE_FAILED || (probe == PROBE_OUT && cell->missed);
	sweep_touch(s, node);
	if (!port->peer)
		return;
	sweep_port(port->peer, port->peer_port)->probe = probe;
	sweep_touch(s, port->peer);
}

bool sweep_is_silent_behind(const struct inv_node *node, unsigned num, bool asked)
{
	const struct inv_port *port = &node->ports[num];
	const struct sweep_port *cell = sweep_port(node, num);

	return !node->gone && !node->silent && port->state >= TOPO_INIT &&
	       (cell->probe == PROBE_FAILED ||
		(cell->probe == PROBE_OUT && (asked || cell->missed))) &&
	       (!port->peer || port->peer->silent || port->peer->gone);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

void explore_visit(struct sweep *s, struct inv_node *node, const struct mad_path *path)
{
	struct sweep_node *cell = sweep_node(node);

	if (node->gone || !cell->met_first)
		cell->met_first = s->inv.numbered.sweeps;
	cell->seen = s->inv.numbered.sweeps;
	cell->partial = false;
	node->gone = node->gone && !path;
	if (path)
		node->path = *path;
	/*
	 * A host that comes back may have another name; a switch that was renamed says so by a
	 * trap, which may be lost.
	 */
	if (!node->have_desc || cell->desc || s->kind == SWEEP_DISCOVER || !inv_is_switch(node))
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
	explore_visit(s, node, NULL);
	for (unsigned p = 1; p <= node->nports; p++)
		if (node->ports[p].link_up || (node == s->inv.local && p == s->inv.local_port))
			ports_ask(s, node, p);
}

void explore_visit_neighbours(struct sweep *s, struct inv_node *node)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		struct inv_node *peer = node->ports[p].peer;

		if (peer && inv_is_switch(peer) && !peer->silent && !peer->gone &&
		    sweep_node(peer)->seen != s->inv.numbered.sweeps)
			explore_visit(s, peer, NULL);
	}
}

/* ---- Answers of ports ------------------------------------------------------------------------ */

/*
 * The ports of a node that was met: which to read, and what their states say.
 *
 *   all of a switch  its SwitchPortStateTable, then those that are up; or PortInfo of each
 *   in a refresh     of a switch that says that no port's state changed: those alone that are not
 *                    as they should be
 *   up               who is behind is asked, unless the link was met from its other end
 *   down             so is the link; in a refresh its other end may know more, and the
 *                    neighbours of a switch that lost a quarter of its links
 */

static bool has_state_table(const struct inv_node *node)
{
	struct wire_port_info info;

	if (sweep_node(node)->states.sweeps >= SILENCES_MAX || !node->ports[0].known)
		return false;
	wire_port_info_decode(node->ports[0].info, &info);
	return info.capmask & WIRE_CAP_HAS_CAPMASK2 && info.capmask2 & WIRE_CAP2_STATE_TABLE;
}

static void ask_each(struct sweep *s, struct inv_node *node, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last && i <= node->nports; i++)
		ports_ask(s, node, i);
}

void ports_states_missing(struct sweep *s, struct inv_node *node, unsigned block)
{
	unsigned first = block * STATES_PER_BLOCK;

	ask_each(s, node, first ? first : 1, first + STATES_PER_BLOCK - 1);
}

/* Who is known to be silent has the others wait. In Init it may be another by now. */
static bool port_is_left_to_polls(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	bool silent = port->peer && port->peer->silent;

	return (silent && port->state >= TOPO_ARMED) ||
	       (sweep_port(node, num)->probe == PROBE_FAILED && (!port->peer || silent));
}

/* Only a switch, or the SM's own port, can send a probe on. */
static bool port_needs_probe(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	const struct sweep_port *cell = sweep_port(node, num);

	if ((!inv_is_switch(node) && !(node == s->inv.local && num == s->inv.local_port)) ||
	    cell->probe == PROBE_OUT || cell->probe == PROBE_MET)
		return false;
	if (cell->must_probe)
		return true;
	if (s->kind == SWEEP_REFRESH && port_is_left_to_polls(node, num))
		return false;
	return s->kind == SWEEP_DISCOVER || !port->peer || !port->link_up ||
	       port->state == TOPO_INIT || port->peer->silent || port->peer->gone ||
	       cell->probe == PROBE_FAILED;
}

/*
 * A switch with a quarter of its links to others down may be dead: those at the other ends know,
 * and their traps may be lost with it.
 */
static bool is_failing(const struct inv_node *node)
{
	unsigned up = 0, down = 0, p;

	for (p = 1; p <= node->nports; p++)
		if (node->ports[p].peer && inv_is_switch(node->ports[p].peer))
			*(node->ports[p].link_up ? &up : &down) += 1;
	return inv_is_switch(node) && up && 3 * down >= up;
}

static void port_is_down(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];
	struct sweep_port *cell = sweep_port(node, num);

	port->state = TOPO_DOWN;
	cell->seen = true;
	cell->probe = PROBE_NONE;
	cell->must_probe = cell->missed = false;
	inventory_refuse(&s->inv, node, num, 0);
	inv_port_mark(node, num, INV_EARLY, false);
	if (port->peer) {
		port->reported_down = port->peer->ports[port->peer_port].reported_down = true;
		cell->was_up &= SWEEP_ONCE_UP;
		sweep_port(port->peer, port->peer_port)->was_up &= SWEEP_ONCE_UP;
	}
	if (!port->peer || !port->link_up)
		return;
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: link down (to %s)", inventory_name(node, num).text,
		 inventory_name(port->peer, port->peer_port).text);
	ports_set_probe(s, node, num, PROBE_NONE);
	if (s->kind == SWEEP_REFRESH && inv_is_switch(port->peer) && !port->peer->silent &&
	    sweep_node(port->peer)->seen != s->inv.numbered.sweeps)
		sweep_changed(s, port->peer);
	inventory_link_down(&s->inv, node, num);
	s->reroute = true;
	if (s->kind == SWEEP_REFRESH && is_failing(port->peer))
		explore_visit_neighbours(s, port->peer);
}

void ports_is_up(struct sweep *s, struct inv_node *node, unsigned num)
{
	sweep_port(node, num)->seen = true;
	if (!port_needs_probe(s, node, num))
		return;
	if (node->path.hops >= WIRE_MAX_HOPS) {
		if (log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
			log_line(LOG_SWEEP, LOG_WARNING,
				 "%s: its neighbour is more than %u hops away",
				 inventory_name(node, num).text, WIRE_MAX_HOPS);
		return;
	}
	ports_set_probe(s, node, num, PROBE_OUT);
	sweep_ask(s, JOB_PROBE, node, num, true);
}

/* Somebody else may manage it, or what it is part of. */
static bool has_another_sm(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	if ((inv_is_switch(node) && num) || (node == s->inv.local && num == s->inv.local_port))
		return false;
	return (port->capmask & WIRE_CAP_IS_SM && !inv_port_is(node, num, INV_SM_ASKED)) ||
	       (port->sm_lid && s->inv.sm_lid && port->sm_lid != s->inv.sm_lid);
}

void ports_met(struct sweep *s, struct inv_node *node, unsigned num, bool extended,
	       const uint8_t data[64])
{
	uint8_t before = node->ports[num].state;

	bringup_port_read(&s->inv, node, num, data);
	s->result.another_sm |= has_another_sm(s, node, num);
	inventory_port_changed(&s->inv, node, num);
	sweep_port(node, num)->refuted = sweep_port(node, num)->must_read = false;
	if (node->ports[num].state != before && sweep_port(node, num)->probe == PROBE_FAILED)
		ports_set_probe(s, node, num, PROBE_NONE);
	if (inv_is_switch(node) && num == 0) {
		ports_switch_ready(s, node);
		return;
	}
	if (node->ports[num].state < TOPO_INIT)
		port_is_down(s, node, num);
	else
		ports_is_up(s, node, num);
	/* The SM's own port was asked before anything was known of it. */
	if (node == s->inv.local && !extended &&
	    inventory_port_modifier(node, num) & WIRE_MOD_EXT_SPEEDS)
		ports_ask(s, node, num);
}

/*
 * Unchanged ports of a refreshed switch need no PortInfo; in a discovery each port that is up is
 * read.
 */
static bool state_is_news(const struct sweep *s, const struct inv_node *node, unsigned num,
			  uint8_t state)
{
	const struct inv_port *port = &node->ports[num];

	return s->kind == SWEEP_DISCOVER || !port->known || port->state != state ||
	       state < TOPO_ARMED || !port->peer || !port->link_up ||
	       sweep_port(node, num)->must_read;
}

void ports_states_met(struct sweep *s, struct inv_node *node, unsigned block,
		      const uint8_t data[64])
{
	unsigned i, num;

	for (i = 0; i < STATES_PER_BLOCK; i++) {
		uint8_t state = i % 2 ? data[i / 2] & 0x0f : data[i / 2] >> 4;

		num = block * STATES_PER_BLOCK + i;
		if (num == 0 || num > node->nports)
			continue;
		if (state == TOPO_DOWN)
			port_is_down(s, node, num);
		else if (state_is_news(s, node, num, state))
			ports_ask(s, node, num);
		else
			ports_is_up(s, node, num);
	}
}

void ports_switch_ready(struct sweep *s, struct inv_node *node)
{
	struct sweep_node *cell = sweep_node(node);

	if (!cell->waiting || --cell->waiting || node->silent)
		return;
	if (s->kind == SWEEP_DISCOVER || !cell->ports_read) {
		sweep_node(node)->ports_read = true;
		if (has_state_table(node))
			for (unsigned i = 0; i <= node->nports / STATES_PER_BLOCK; i++)
				sweep_ask(s, JOB_STATES, node, i, true);
		else
			ask_each(s, node, 1, node->nports);
	} else {
		/*
		 * Without PortStateChange the states are those of the record, but for a link that
		 * was taken for down.
		 */
		for (unsigned num = 1; num <= node->nports; num++) {
			struct inv_port *port = &node->ports[num];

			if (sweep_port(node, num)->probe == PROBE_FAILED ||
			    sweep_port(node, num)->must_read ||
			    (port->state >= TOPO_INIT && state_is_news(s, node, num, port->state)))
				ports_ask(s, node, num);
			else if (port->state >= TOPO_INIT)
				ports_is_up(s, node, num);
		}
	}
}
