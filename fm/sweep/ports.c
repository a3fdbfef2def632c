/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"

#define STATES_PER_BLOCK 128
#define LOG_BURST	 20

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

void ports_ask_all(struct sweep *s, struct inv_node *node)
{
	unsigned i;

	sweep_node(node)->ports_read = true;
	if (has_state_table(node))
		for (i = 0; i <= node->nports / STATES_PER_BLOCK; i++)
			sweep_ask(s, JOB_STATES, node, i, true);
	else
		ask_each(s, node, 1, node->nports);
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

	if (!inv_is_switch(node) && !(node == s->inv.local && num == s->inv.local_port))
		return false;
	if (cell->probe == PROBE_OUT || cell->probe == PROBE_MET)
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
	cell->must_probe = false;
	inventory_refuse(&s->inv, node, (uint8_t)num, 0);
	if (port->peer)
		port->said_down = port->peer->ports[port->peer_port].said_down = true;
	if (!port->peer || !port->link_up)
		return;
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: link down (to %s)",
		 inventory_name(node, (int)num).text,
		 inventory_name(port->peer, port->peer_port).text);
	ports_set_probe(s, node, num, PROBE_NONE);
	if (s->kind == SWEEP_REFRESH && inv_is_switch(port->peer) && !port->peer->silent &&
	    sweep_node(port->peer)->seen != s->number)
		sweep_changed(s, port->peer);
	inventory_link_down(&s->inv, node, (uint8_t)num);
	s->reroute = true;
	if (s->kind == SWEEP_REFRESH && is_failing(port->peer))
		explore_visit_neighbours(s, port->peer);
}

static void too_far(struct sweep *s, const struct inv_node *node, unsigned num)
{
	if (log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: its neighbour is more than %u hops away",
			 inventory_name(node, (int)num).text, WIRE_MAX_HOPS);
}

void ports_is_up(struct sweep *s, struct inv_node *node, unsigned num)
{
	sweep_port(node, num)->seen = true;
	if (!port_needs_probe(s, node, num))
		return;
	if (node->path.hops >= WIRE_MAX_HOPS) {
		too_far(s, node, num);
		return;
	}
	ports_set_probe(s, node, num, PROBE_OUT);
	sweep_ask(s, JOB_PROBE, node, num, true);
}

/* Somebody else may manage it, or what it is part of. */
static bool is_another_s(const struct sweep *s, const struct inv_node *node, unsigned num)
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

	bringup_port_read(node, (uint8_t)num, data);
	s->result.another_sm |= is_another_s(s, node, num);
	inventory_port_changed(&s->inv, node, (uint8_t)num);
	sweep_port(node, num)->refuted = false;
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
	    inventory_port_modifier(node, (uint8_t)num) & WIRE_MOD_EXT_SPEEDS)
		ports_ask(s, node, num);
}

/*
 * Unchanged ports of a refreshed switch need no PortInfo; in a discovery each port that is up is
 * read.
 */
static bool state_is_news(const struct sweep *s, const struct inv_port *port, uint8_t state)
{
	return s->kind == SWEEP_DISCOVER || !port->known || port->state != state ||
	       state < TOPO_ARMED || !port->peer || !port->link_up;
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
		else if (state_is_news(s, &node->ports[num], state))
			ports_ask(s, node, num);
		else
			ports_is_up(s, node, num);
	}
}

/*
 * Without PortStateChange the states are those of the record, but for a link that was taken for
 * down.
 */
static void ask_odd_ports(struct sweep *s, struct inv_node *node)
{
	unsigned num;

	for (num = 1; num <= node->nports; num++) {
		struct inv_port *port = &node->ports[num];

		if (sweep_port(node, num)->probe == PROBE_FAILED ||
		    (port->state >= TOPO_INIT && state_is_news(s, port, port->state)))
			ports_ask(s, node, num);
		else if (port->state >= TOPO_INIT)
			ports_is_up(s, node, num);
	}
}

/* One of the answers that come before a switch's ports is here, or never will be. */
void ports_switch_ready(struct sweep *s, struct inv_node *node)
{
	struct sweep_node *cell = sweep_node(node);

	if (!cell->waiting || --cell->waiting || node->silent)
		return;
	if (s->kind == SWEEP_DISCOVER || !cell->ports_read)
		ports_ask_all(s, node);
	else
		ask_odd_ports(s, node);
}
