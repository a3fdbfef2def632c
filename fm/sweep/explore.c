/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The understanding side of a look: what an answer says about the fabric, and what is to be asked
 * next.
 *
 *   a node is met       SwitchInfo and PortInfo of port 0, or PortInfo of the CA's port; its
 *                       NodeDescription if that is unknown
 *   both are there      all ports of the switch at once; or its SwitchPortStateTable, then the
 *                       ports that are up; in a refresh of a switch that says that no port's
 *                       state changed, those alone that are not as they should be
 *   a port is up        NodeInfo over it, unless the cable was met from its other end
 *   NodeInfo is there   the cable: LocalPortNum is its other end, so nobody probes back
 *
 * A GUID that answers at two places at once is two devices: a port has one cable. The first met
 * stays, both places go to the log. NodeInfo that contradicts itself is dropped there too.
 *
 * PortInfo's extended speeds are asked for from the start where CapabilityMask allows them
 * (switches: port 0's), for a CA where the switch's end of the cable already runs at one
 * (IBA 14.2.5.6: without the modifier's bit 31 they read as 0).
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "fm/sweep/sweep_priv.h"

#define STATES_PER_BLOCK 128
#define LOG_BURST	 20

static void seen_twice(struct sweep *s, const struct inv_node *from, uint8_t from_port,
		       const struct inv_node *met, const char *why)
{
	s->result.duplicates++;
	if (!log_allow(&s->twice_log, loop_now_us(s->loop), LOG_BURST))
		return;
	log_line(LOG_SWEEP, LOG_ERR, "%s answers behind %s too: %s; the first met stays",
		 inventory_name(met, -1).text, inventory_name(from, from_port).text, why);
}

/* ---- Ports ---------------------------------------------------------------------------------- */

static void ask_port(struct sweep *s, struct inv_node *node, unsigned num)
{
	bool extended = inventory_port_modifier(node, (uint8_t)num) & WIRE_MOD_EXT_SPEEDS;
	bool urgent = inv_is_switch(node) && num == 0;

	sweep_ask(s, extended ? JOB_PORT_EXT : JOB_PORT, node, num, urgent);
}

static bool has_state_table(const struct inv_node *node)
{
	struct wire_port_info info;

	if (node->no_state_table || !node->ports[0].known)
		return false;
	wire_port_info_decode(node->ports[0].info, &info);
	return info.capmask & WIRE_CAP_HAS_CAPMASK2 && info.capmask2 & WIRE_CAP2_STATE_TABLE;
}

static void ask_all_ports(struct sweep *s, struct inv_node *node)
{
	unsigned i;

	node->unread = false;
	if (has_state_table(node))
		for (i = 0; i <= node->nports / STATES_PER_BLOCK; i++)
			sweep_ask(s, JOB_STATES, node, i, true);
	else
		for (i = 1; i <= node->nports; i++)
			ask_port(s, node, i);
}

static void ask_odd_ports(struct sweep *s, struct inv_node *node);

/* One of the answers that come before a switch's ports is here, or never will be. */
static void switch_ready(struct sweep *s, struct inv_node *node)
{
	if (!node->waiting || --node->waiting || node->silent)
		return;
	if (s->look == LOOK_DISCOVER || node->unread)
		ask_all_ports(s, node);
	else
		ask_odd_ports(s, node);
}

static void port_set_probe(struct inv_port *port, enum sweep_probe probe)
{
	port->probe = (uint8_t)probe;
	if (port->peer)
		port->peer->ports[port->peer_port].probe = (uint8_t)probe;
}

/* Who is known to be silent has the others wait. In Init it may be another by now. */
static bool port_is_left_to_polls(const struct inv_port *port)
{
	bool silent = port->peer && port->peer->silent;

	return (silent && port->state >= TOPO_ARMED) ||
	       (port->probe == PROBE_FAILED && (!port->peer || silent));
}

/* Only a switch, or the SM's own port, can send a probe on. */
static bool port_needs_probe(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	if (!inv_is_switch(node) && !(node == s->inv.local && num == s->inv.local_port))
		return false;
	if (port->probe == PROBE_OUT || port->probe == PROBE_MET)
		return false;
	if (s->look == LOOK_REFRESH && port_is_left_to_polls(port))
		return false;
	return s->look == LOOK_DISCOVER || !port->peer || !port->link_up ||
	       port->state == TOPO_INIT || port->peer->silent || port->peer->gone ||
	       port->probe == PROBE_FAILED;
}

/* A switch with half of its cables down may be dead: those at the others know, and their traps may be lost with it. */
static bool is_failing(const struct inv_node *node)
{
	unsigned up = 0, down = 0, p;

	for (p = 1; p <= node->nports; p++)
		if (node->ports[p].peer)
			*(node->ports[p].link_up ? &up : &down) += 1;
	return inv_is_switch(node) && up && down >= up;
}

static void port_is_down(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];

	port->state = TOPO_DOWN;
	port->seen = s->number;
	port->probe = PROBE_NONE;
	if (!port->peer || !port->link_up)
		return;
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: down, to %s", inventory_name(node, (int)num).text,
		 inventory_name(port->peer, port->peer_port).text);
	port_set_probe(port, PROBE_NONE);
	if (s->look == LOOK_REFRESH && inv_is_switch(port->peer) && !port->peer->silent &&
	    port->peer->seen != s->number)
		sweep_changed(s, port->peer);
	inventory_link_down(&s->inv, node, (uint8_t)num);
	s->reroute = true;
	if (s->look == LOOK_REFRESH && is_failing(port->peer))
		explore_visit_neighbours(s, port->peer);
}

static void too_far(struct sweep *s, const struct inv_node *node, unsigned num)
{
	if (log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: what is behind it is over %u hops away",
			 inventory_name(node, (int)num).text, WIRE_MAX_HOPS);
}

static void port_is_up(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];

	port->seen = s->number;
	if (!port_needs_probe(s, node, num))
		return;
	if (node->path.hops >= WIRE_MAX_HOPS) {
		too_far(s, node, num);
		return;
	}
	port_set_probe(port, PROBE_OUT);
	sweep_ask(s, JOB_PROBE, node, num, true);
}

static void port_met(struct sweep *s, struct inv_node *node, unsigned num, bool extended,
		     const uint8_t data[64])
{
	uint8_t before = node->ports[num].state;

	inventory_set_port_info(node, (uint8_t)num, data);
	if (node->ports[num].state != before && node->ports[num].probe == PROBE_FAILED)
		port_set_probe(&node->ports[num], PROBE_NONE);
	if (inv_is_switch(node) && num == 0) {
		switch_ready(s, node);
		return;
	}
	if (node->ports[num].state < TOPO_INIT)
		port_is_down(s, node, num);
	else
		port_is_up(s, node, num);
	/* The SM's own port was asked before anything was known of it. */
	if (node == s->inv.local && !extended &&
	    inventory_port_modifier(node, (uint8_t)num) & WIRE_MOD_EXT_SPEEDS)
		ask_port(s, node, num);
}

/* Unchanged ports of a refreshed switch need no PortInfo; in a discovery each port that is up is
 * read. */
static bool state_is_news(const struct sweep *s, const struct inv_port *port, uint8_t state)
{
	return s->look == LOOK_DISCOVER || !port->known || port->state != state ||
	       state < TOPO_ARMED || !port->peer || !port->link_up;
}

static void states_met(struct sweep *s, struct inv_node *node, unsigned block,
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
			ask_port(s, node, num);
		else
			port_is_up(s, node, num);
	}
}

/* Without PortStateChange the states are those of the record, but for a cable that was taken for down. */
static void ask_odd_ports(struct sweep *s, struct inv_node *node)
{
	unsigned num;

	for (num = 1; num <= node->nports; num++) {
		struct inv_port *port = &node->ports[num];

		if (port->probe == PROBE_FAILED ||
		    (port->state >= TOPO_INIT && state_is_news(s, port, port->state)))
			ask_port(s, node, num);
		else if (port->state >= TOPO_INIT)
			port_is_up(s, node, num);
	}
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

void explore_visit(struct sweep *s, struct inv_node *node, const struct mad_path *path)
{
	node->seen = s->number;
	node->partial = false;
	node->gone = node->gone && !path;
	if (path)
		node->path = *path;
	/* A host that comes back may have another name. */
	if (!node->have_desc || (s->look == LOOK_REFRESH && !inv_is_switch(node)))
		sweep_ask(s, JOB_DESC, node, 0, false);
	if (!inv_is_switch(node))
		return;
	node->waiting = 2;
	sweep_ask(s, JOB_SWITCH, node, 0, true);
	ask_port(s, node, 0);
}

void explore_visit_ca(struct sweep *s, struct inv_node *node)
{
	unsigned p;

	explore_visit(s, node, NULL);
	for (p = 1; p <= node->nports; p++)
		if (node->ports[p].link_up || (node == s->inv.local && p == s->inv.local_port))
			ask_port(s, node, p);
}

static void switch_met(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (node->sw.lft_cap && info.lft_top < node->sw.lft_top && info.lft_top != node->want_top) {
		log_line(LOG_SWEEP, LOG_NOTICE, "%s: has lost its tables",
			 inventory_name(node, -1).text);
		node->rebooted = true;
		node->reboots++;
	}
	node->sw = info;
	node->unread |= info.port_state_change || node->rebooted;
	if (info.port_state_change)
		sweep_ask(s, JOB_CLEAR, node, 0, true);
	else
		switch_ready(s, node);
}

static void switch_cleared(struct sweep *s, struct inv_node *node)
{
	node->sw.port_state_change = false;
	switch_ready(s, node);
}

static void switch_polled(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (info.port_state_change || info.lft_top != node->sw.lft_top || node->silent)
		sweep_changed(s, node);
}

/* ---- Probes --------------------------------------------------------------------------------- */

static bool info_is_sane(const struct wire_node_info *info)
{
	bool is_switch = info->type == TOPO_SWITCH;

	return info->type >= TOPO_CA && info->type <= TOPO_ROUTER && info->node_guid &&
	       info->nports && info->nports < 255 && info->local_port <= info->nports &&
	       (is_switch || info->local_port);
}

static void info_dropped(struct sweep *s, const struct inv_node *from, unsigned port,
			 const struct wire_node_info *info)
{
	if (!log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		return;
	log_line(LOG_SWEEP, LOG_WARNING,
		 "%s: NodeInfo behind it makes no sense, dropped: type %u, %u ports, local port "
		 "%u, GUID 0x%016" PRIx64,
		 from ? inventory_name(from, (int)port).text : "the SM's own port", info->type,
		 info->nports, info->local_port, info->node_guid);
}

/* The node by that NodeInfo. NULL: it contradicts one met in this look. */
static struct inv_node *node_by_info(struct sweep *s, const struct wire_node_info *info)
{
	struct inv_node *node = inventory_find(&s->inv, info->node_guid);

	if (node && (node->info.type != info->type || node->nports != info->nports)) {
		if (node->seen == s->number || node == s->inv.local)
			return NULL;
		log_line(LOG_SWEEP, LOG_NOTICE, "%s: is another device now, %u ports were %u",
			 inventory_name(node, -1).text, info->nports, node->nports);
		inventory_remove(&s->inv, node);
		node = NULL;
	}
	if (!node)
		return inventory_add(&s->inv, info);
	if (node->seen != s->number)
		node->info = *info;
	return node;
}

/* A port whose cable turned out to lead elsewhere has to be probed from its own side. */
static void port_displaced(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_port *port = &node->ports[num];

	port->probe = PROBE_NONE;
	if (port->seen == s->number && port->state >= TOPO_INIT)
		port_is_up(s, node, num);
}

static void link_met(struct sweep *s, struct inv_node *a, uint8_t port_a, struct inv_node *b,
		     uint8_t port_b)
{
	struct inv_port *pa = &a->ports[port_a], *pb = &b->ports[port_b];
	struct inv_node *old_a = pa->peer == b && pa->peer_port == port_b ? NULL : pa->peer;
	struct inv_node *old_b = pb->peer == a && pb->peer_port == port_a ? NULL : pb->peer;
	uint8_t old_port_a = pa->peer_port, old_port_b = pb->peer_port;

	inventory_link(&s->inv, a, port_a, b, port_b);
	pa->probe = pb->probe = PROBE_MET;
	if (old_a)
		port_displaced(s, old_a, old_port_a);
	if (old_b)
		port_displaced(s, old_b, old_port_b);
}

/* What to ask of a node that a probe met. */
static void node_met(struct sweep *s, struct inv_node *node, unsigned num,
		     const struct mad_path *path)
{
	bool first = node->seen != s->number;

	node->answered = true;
	node->silent = false;
	if (first) /* a known switch too: it may have rebooted */
		explore_visit(s, node, path);
	if (!inv_is_switch(node) || (first && !node->unread))
		ask_port(s, node, num);
}

static bool met_elsewhere(const struct inv_port *port, const struct inv_node *from, uint8_t num)
{
	return port->probe == PROBE_MET && (port->peer != from || port->peer_port != num);
}

/* The node behind a probe, or NULL: the answer is not to be believed. */
static struct inv_node *probe_node(struct sweep *s, const struct inv_node *from, uint8_t num,
				   const struct wire_node_info *info)
{
	const struct inv_port *other;
	struct inv_node *node;

	if (!info_is_sane(info) || !info->local_port) {
		info_dropped(s, from, num, info);
		return NULL;
	}
	node = node_by_info(s, info);
	if (!node) {
		seen_twice(s, from, num, inventory_find(&s->inv, info->node_guid),
			   "of another type or size");
		return NULL;
	}
	other = &node->ports[info->local_port];
	if (met_elsewhere(other, from, num)) {
		seen_twice(s, from, num, node,
			   other->peer ? inventory_name(other->peer, other->peer_port).text
				       : "at a looped port");
		return NULL;
	}
	return node;
}

static void probe_met(struct sweep *s, struct inv_node *from, uint8_t num,
		      const struct mad_path *path, const uint8_t data[64])
{
	struct inv_port *port = &from->ports[num];
	struct wire_node_info info;
	struct inv_node *node;

	wire_node_info_decode(data, &info);
	node = probe_node(s, from, num, &info);
	if (!node || (node == from && info.local_port == num)) {
		if (node)
			log_line(LOG_SWEEP, LOG_NOTICE, "%s: looped back into itself",
				 inventory_name(from, num).text);
		port_set_probe(port, PROBE_REFUSED);
		inventory_unlink(&s->inv, from, num);
		return;
	}
	link_met(s, from, num, node, info.local_port);
	if (node->port_guids)
		node->port_guids[info.local_port] = info.port_guid;
	node_met(s, node, info.local_port, path);
}

static void local_met(struct sweep *s, const uint8_t data[64])
{
	struct inv_node *node;
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	node = info_is_sane(&info) ? node_by_info(s, &info) : NULL;
	if (!node) {
		info_dropped(s, NULL, 0, &info);
		s->result.error = -EIO;
		return;
	}
	s->inv.local = node;
	s->inv.local_port = info.local_port;
	s->inv.paths_stale = true;
	node->answered = true;
	node->silent = false;
	if (node->port_guids)
		node->port_guids[info.local_port] = info.port_guid;
	explore_visit(s, node, &(struct mad_path){ 0 });
	if (!inv_is_switch(node))
		ask_port(s, node, info.local_port);
}

/* Who is behind a port answers at last: the one known there, or another. */
static void polled_port_met(struct sweep *s, struct inv_node *node, uint8_t num,
			    const uint8_t data[64])
{
	struct inv_port *port = &node->ports[num];
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	port_set_probe(port, PROBE_NONE);
	if (port->peer && port->peer->guid == info.node_guid) {
		port->peer->silent = false;
		sweep_changed(s, port->peer);
	} else {
		inventory_unlink(&s->inv, node, num);
	}
	sweep_changed(s, node);
}

/* ---- Dispatch ------------------------------------------------------------------------------- */

void explore_answer(struct sweep *s, const struct batch_job *job, const struct mad_path *path,
		    const uint8_t data[64])
{
	struct inv_node *node = job->object;
	bool probe = job->kind == JOB_PROBE || job->kind == JOB_POLL_PORT;

	if (node && !probe)
		node->answered = true;
	if (node && !probe && job->kind != JOB_POLL)
		node->silent = false;
	switch ((enum sweep_job)job->kind) {
	case JOB_LOCAL:
		local_met(s, data);
		break;
	case JOB_PROBE:
		probe_met(s, node, (uint8_t)job->arg, path, data);
		break;
	case JOB_DESC:
		wire_node_desc_decode(data, node->desc);
		node->have_desc = true;
		break;
	case JOB_SWITCH:
		switch_met(s, node, data);
		break;
	case JOB_CLEAR:
		switch_cleared(s, node);
		break;
	case JOB_PORT:
	case JOB_PORT_EXT:
		port_met(s, node, job->arg, job->kind == JOB_PORT_EXT, data);
		break;
	case JOB_STATES:
		states_met(s, node, job->arg, data);
		break;
	case JOB_POLL:
		switch_polled(s, node, data);
		break;
	case JOB_POLL_PORT:
		polled_port_met(s, node, (uint8_t)job->arg, data);
		break;
	}
}

void explore_refused(struct sweep *s, const struct batch_job *job, uint16_t status)
{
	struct inv_node *node = job->object;

	if (job->kind == JOB_PORT_EXT) {
		node->no_ext = true;
		sweep_ask(s, JOB_PORT, node, job->arg, false);
		return;
	}
	if (job->kind == JOB_STATES) {
		node->no_state_table = true;
		if (job->arg == 0) /* the other blocks will be refused as well */
			ask_all_ports(s, node);
		return;
	}
	if (node && log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: refuses, status 0x%04x",
			 inventory_name(node, (int)job->arg).text, status);
	explore_given_up(s, job);
	if (node)
		node->partial = false; /* it will refuse again */
}

/* Is it the cable or the one behind it? A known one is asked by another way; finish.c compares. */
static void probe_failed(struct sweep *s, struct inv_port *port)
{
	port_set_probe(port, PROBE_FAILED);
	if (s->look == LOOK_REFRESH && port->peer && inv_is_switch(port->peer) &&
	    !port->peer->answered && !port->peer->silent)
		sweep_ask(s, JOB_DESC, port->peer, 0, true);
}

void explore_visit_neighbours(struct sweep *s, struct inv_node *node)
{
	unsigned p;

	for (p = 1; p <= node->nports; p++) {
		struct inv_node *peer = node->ports[p].peer;

		if (peer && inv_is_switch(peer) && !peer->silent && !peer->gone &&
		    peer->seen != s->number)
			explore_visit(s, peer, NULL);
	}
}

void explore_doubted(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (s->look == LOOK_REFRESH && job->kind == JOB_SWITCH && !node->silent)
		explore_visit_neighbours(s, node);
}

void explore_given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	switch ((enum sweep_job)job->kind) {
	case JOB_LOCAL:
		s->result.error = -EIO;
		return;
	case JOB_PROBE:
		probe_failed(s, &node->ports[job->arg]);
		return;
	case JOB_POLL_PORT:
		return;
	case JOB_POLL:
		if (!node->silent && !node->answered)
			sweep_changed(s, node);
		return;
	case JOB_SWITCH:
	case JOB_CLEAR:
	case JOB_DESC:
	case JOB_PORT:
	case JOB_PORT_EXT:
	case JOB_STATES:
		break;
	}
	node->partial |= node->answered;
	node->silent |= !node->answered;
	node->unread = inv_is_switch(node);
	if (job->kind == JOB_SWITCH || job->kind == JOB_CLEAR ||
	    (job->kind == JOB_PORT && inv_is_switch(node) && job->arg == 0))
		switch_ready(s, node);
}
