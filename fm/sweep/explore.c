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
#include "fm/mad/wire_adaptive.h"
#include "fm/sweep/sweep_priv.h"

#define TOP_AGAIN_US	60000000
#define LOG_BURST	20
#define LOCAL_ASKED_MAX 4 /* answers that are not believed, one after the other */

static void seen_twice(struct sweep *s, const struct inv_node *from, uint8_t from_port,
		       const struct inv_node *met, const char *why)
{
	s->result.duplicates++;
	if (!log_allow(&s->twice_log, loop_now_us(s->loop), LOG_BURST))
		return;
	log_line(LOG_SWEEP, LOG_ERR, "%s answers behind %s too: %s; the first met stays",
		 inventory_name(met, -1).text, inventory_name(from, from_port).text, why);
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

void explore_visit(struct sweep *s, struct inv_node *node, const struct mad_path *path)
{
	if (node->gone || !node->met_first)
		node->met_first = s->number;
	node->seen = s->number;
	node->partial = false;
	node->gone = node->gone && !path;
	if (path)
		node->path = *path;
	/* A host that comes back may have another name; a switch that was renamed says so by a trap, which may be lost. */
	if (!node->have_desc || node->desc_stale || s->look == LOOK_DISCOVER ||
	    !inv_is_switch(node))
		sweep_ask(s, JOB_DESC, node, 0, false);
	if (!inv_is_switch(node))
		return;
	node->waiting = 2;
	if (node->stranger) /* whose it is, is to be known first */
		ports_ask(s, node, 0);
	sweep_ask(s, JOB_SWITCH, node, 0, true);
	if (!node->stranger)
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

/* Another's tables lead there, and it was not ours since a way leads to it: who that is, is asked before anything is written. */
static bool is_another_s(const struct sweep *s, const struct inv_node *node)
{
	uint16_t sm_lid = node->ports[0].sm_lid;

	return node->stranger && s->inv.sm_lid && sm_lid && sm_lid != s->inv.sm_lid;
}

/*
 * A switch that reboots loses its links with its tables. One whose LinearFDBTop alone is reset may have begun anew as well, the
 * first time; what is set and reset again within TOP_AGAIN_US is not kept, and would be written for ever.
 */
static bool keeps_no_top(struct sweep *s, struct inv_node *node,
			 const struct wire_switch_info *info)
{
	uint64_t now = loop_now_us(s->loop), before = node->top_lost_us;

	node->top_lost_us = info->port_state_change ? 0 : now;
	return node->top_lost_us && before && now - before < TOP_AGAIN_US;
}

static void tables_lost(struct sweep *s, struct inv_node *node, const struct wire_switch_info *info)
{
	if (keeps_no_top(s, node, info)) {
		node->keeps_no_top = s->odd = true;
		return;
	}
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: has lost its tables", inventory_name(node, -1).text);
	node->rebooted = true;
	inventory_end_bounces_of(&s->inv, node);
	node->reboots++;
	sweep_ask(s, JOB_DESC, node, 0, false);
}

static void switch_met(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (node->sw.lft_cap && info.lft_top < node->sw.lft_top && info.lft_top != node->want_top)
		tables_lost(s, node, &info);
	node->sw = info;
	node->unread |= info.port_state_change || node->rebooted;
	s->managed |= s->shy && info.lft_top;
	if (info.port_state_change && !s->managed && !node->no_sets && !is_another_s(s, node))
		sweep_ask(s, JOB_CLEAR, node, 0, true);
	else
		ports_switch_ready(s, node);
}

/* The bit was set when it was read, and again if a port has changed since. */
static void switch_cleared(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	wire_switch_info_decode(data, &node->sw);
	node->sw.port_state_change = false;
	node->keeps_change = false;
	ports_switch_ready(s, node);
}

static bool differs_in_sw(const struct inv_node *node, const struct wire_switch_info *info)
{
	return (node->want_top && info->life_time != node->want_life_time) ||
	       (node->want_mft_top && info->mft_top != node->want_mft_top);
}

/* LifeTimeValue and MulticastFDBTop; of a switch that lost its LinearFDBTop all is written anew (switch_met()). */
static void compare_set(struct sweep *s, struct inv_node *node, const struct wire_switch_info *info)
{
	bool differs = !info->port_state_change && info->lft_top == node->want_top &&
		       !node->no_sets && differs_in_sw(node, info);

	s->inv.nsw_differ += differs;
	s->inv.nsw_differ -= node->sw_differs;
	node->sw_differs = differs;
}

static void switch_polled(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (node->no_sets) /* it can't be cleared: its traps and its neighbours tell */
		info.port_state_change = false;
	compare_set(s, node, &info);
	if (info.port_state_change || info.lft_top != node->sw.lft_top || node->silent ||
	    info.lft_cap != node->sw.lft_cap || info.mft_cap != node->sw.mft_cap ||
	    info.enforce_cap != node->sw.enforce_cap || info.flags != node->sw.flags)
		sweep_changed(s, node);
	inventory_node_answers(node); /* the look that follows gives it the time of one that does */
}

/* ---- Probes --------------------------------------------------------------------------------- */

bool explore_info_is_sane(const struct wire_node_info *info)
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
		ports_is_up(s, node, num);
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
	sweep_touch(s, a);
	sweep_touch(s, b);
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
	sweep_touch(s, node);
	inventory_node_answers(node);
	if (first) /* a known switch too: it may have rebooted */
		explore_visit(s, node, path);
	if (!inv_is_switch(node) || (first && !node->unread))
		ports_ask(s, node, num);
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

	if (!explore_info_is_sane(info) || !info->local_port) {
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

/* The cable, if one is known there, is not what it was; who is behind is asked again with each look at `from`. */
static void probe_refused(struct sweep *s, struct inv_node *from, uint8_t num, guid_t guid)
{
	ports_set_probe(s, from, num, PROBE_REFUSED);
	inventory_unlink(&s->inv, from, num);
	inventory_refuse(&s->inv, from, num, guid);
}

static void looped_back(struct sweep *s, struct inv_node *from, uint8_t num)
{
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: looped back into itself",
		 inventory_name(from, num).text);
	ports_set_probe(s, from, num, PROBE_REFUSED);
	inventory_unlink(&s->inv, from, num);
	inventory_refuse(&s->inv, from, num, 0);
}

static void probe_believed(struct sweep *s, struct inv_node *from, uint8_t num,
			   const struct mad_path *path, const struct wire_node_info *info)
{
	struct inv_node *node = probe_node(s, from, num, info);
	enum place place;

	if (!node) {
		probe_refused(s, from, num,
			      explore_info_is_sane(info) && info->local_port ? info->node_guid
									     : INV_NONSENSE);
		return;
	}
	if (node == from && info->local_port == num) {
		looped_back(s, from, num);
		return;
	}
	place = contest_place(s, from, num, node, info->local_port);
	if (place == PLACE_TAKEN) {
		seen_twice(s, from, num, node, "where it is known that port is down");
		probe_refused(s, from, num, node->guid);
	}
	if (place != PLACE_FREE)
		return;
	link_met(s, from, num, node, info->local_port);
	from->ports[num].must_probe = false;
	inventory_set_port_guid(&s->inv, node, info->local_port, info->port_guid);
	node_met(s, node, info->local_port, path);
}

static void probe_met(struct sweep *s, struct inv_node *from, uint8_t num,
		      const struct mad_path *path, const uint8_t data[64])
{
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	switch (contest_claim(s, from, num, &info)) {
	case CLAIM_ASKED:
		return;
	case CLAIM_REFUSED:
		info_dropped(s, from, num, &info);
		probe_refused(s, from, num, INV_NONSENSE);
		return;
	case CLAIM_BELIEVED:
		probe_believed(s, from, num, path, &info);
		return;
	}
}

/* The adapter's own driver knows the port's GUID; what is said of the rest is known since the first look. */
static bool local_is_believed(struct sweep *s, const struct wire_node_info *info)
{
	guid_t last = s->local_said;

	s->local_said = info->node_guid;
	if (!explore_info_is_sane(info) ||
	    (info->type != TOPO_SWITCH && info->port_guid != mad_port_info(s->mad)->port_guid))
		return false;
	return !s->inv.local || s->inv.local->guid == info->node_guid || last == info->node_guid;
}

static void local_met(struct sweep *s, const uint8_t data[64])
{
	struct inv_node *node;
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	if (!local_is_believed(s, &info) && s->local_asked++ < LOCAL_ASKED_MAX) {
		sweep_ask(s, JOB_LOCAL, NULL, 0, true);
		return;
	}
	node = explore_info_is_sane(&info) ? node_by_info(s, &info) : NULL;
	if (!node) {
		info_dropped(s, NULL, 0, &info);
		s->result.error = -EIO;
		return;
	}
	s->inv.local = node;
	s->inv.local_port = info.local_port;
	s->inv.paths_stale = true;
	node->answered = true;
	sweep_touch(s, node);
	inventory_node_answers(node);
	inventory_set_port_guid(&s->inv, node, info.local_port, info.port_guid);
	explore_visit(s, node, &(struct mad_path){ 0 });
	if (!inv_is_switch(node))
		ports_ask(s, node, info.local_port);
}

/* Who is behind a port answers at last: the one known there, or another. */
static void polled_port_met(struct sweep *s, struct inv_node *node, uint8_t num,
			    const uint8_t data[64])
{
	struct inv_port *port = &node->ports[num];
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	ports_set_probe(s, node, num, PROBE_NONE);
	if (port->peer && port->peer->guid == info.node_guid) {
		inventory_node_answers(port->peer);
		sweep_changed(s, port->peer);
	} else {
		inventory_unlink(&s->inv, node, num);
	}
	sweep_changed(s, node);
}

/* ---- Aggregation nodes ---------------------------------------------------------------------- */

/*
 * SHARP's aggregation nodes look like hosts. A switch that has one shows it behind its highest port and names it; a CA where name and place
 * disagree, one of NVIDIA's with one port, is asked itself, once. So nothing is asked of fabrics that are as they were delivered.
 */
static bool is_to_be_asked(const struct sweep *s, const struct inv_node *node)
{
	const struct inv_port *port = &node->ports[1];
	bool placed;

	if (inv_is_switch(node) || node->nports != 1 || node->sharp != INV_SHARP_UNASKED ||
	    node == s->inv.local || !wire_adaptive_vendor(node->info.vendor))
		return false;
	if (!port->peer || !inv_is_switch(port->peer))
		return false;
	placed = port->peer_port == port->peer->nports;
	return placed != topo_named_sharp(node->desc);
}

/* ---- Dispatch ------------------------------------------------------------------------------- */

void explore_answer(struct sweep *s, const struct batch_job *job, const struct mad_path *path,
		    const uint8_t data[64])
{
	struct inv_node *node = job->object;
	bool probe = job->kind == JOB_PROBE || job->kind == JOB_POLL_PORT ||
		     job->kind == JOB_VERIFY_CABLE;

	if (node && node->removed)
		return;
	if (node && !probe) {
		node->answered = true;
		sweep_touch(s, node);
	}
	if (node && !probe && job->kind != JOB_POLL)
		inventory_node_answers(node);
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
		node->desc_stale = false;
		if (is_to_be_asked(s, node))
			sweep_ask(s, JOB_GENERAL, node, 0, false);
		break;
	case JOB_GENERAL:
		node->sharp = wire_is_aggregation_node(data) ? INV_SHARP_YES : INV_SHARP_NO;
		break;
	case JOB_SWITCH:
		switch_met(s, node, data);
		break;
	case JOB_CLEAR:
		switch_cleared(s, node, data);
		break;
	case JOB_PORT_EXT:
		node->ext.looks = 0;
		/* fall through */
	case JOB_PORT:
		ports_met(s, node, job->arg, job->kind == JOB_PORT_EXT, data);
		break;
	case JOB_STATES:
		node->states.looks = 0;
		ports_states_met(s, node, job->arg, data);
		break;
	case JOB_POLL:
		switch_polled(s, node, data);
		break;
	case JOB_POLL_PORT:
		polled_port_met(s, node, (uint8_t)job->arg, data);
		break;
	case JOB_VERIFY_CABLE:
	case JOB_VERIFY_PORT:
		verify_answer(s, job, data);
		break;
	}
	contest_go_on(s);
}

/* An optional attribute is not there: what it would have told is asked by PortInfo. */
static void ask_without(struct sweep *s, const struct batch_job *job)
{
	if (job->kind == JOB_STATES)
		ports_states_missing(s, job->object, job->arg);
	else
		sweep_ask(s, JOB_PORT, job->object, job->arg, false);
}

/* The node answers, but not this: it may drop what it does not know. */
static void optional_unanswered(struct sweep *s, struct inv_silence *silence)
{
	if (silence->looks < SILENCES_MAX && silence->look != s->number)
		silence->looks++;
	silence->look = s->number;
}

void explore_refused(struct sweep *s, const struct batch_job *job, uint16_t status)
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	if (job->kind == JOB_PORT_EXT || job->kind == JOB_STATES) {
		*(job->kind == JOB_STATES ? &node->no_state_table : &node->no_ext) = true;
		ask_without(s, job);
		return;
	}
	if (job->kind == JOB_GENERAL) {
		node->sharp = INV_SHARP_UNSAID;
		return;
	}
	if (node && log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: SMP rejected, status 0x%04x",
			 inventory_name(node, (int)job->arg).text, status);
	explore_given_up(s, job);
	if (node)
		node->partial = false; /* it will refuse again */
}

/* Is it the cable or the one behind it? A known one is asked by another way; finish.c compares. */
static void probe_failed(struct sweep *s, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	s->odd = true;
	ports_set_probe(s, node, num, PROBE_FAILED);
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

static void given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	switch ((enum sweep_job)job->kind) {
	case JOB_LOCAL:
		s->result.error = -EIO;
		return;
	case JOB_PROBE:
		probe_failed(s, node, job->arg);
		return;
	case JOB_POLL_PORT:
		return;
	case JOB_VERIFY_CABLE:
	case JOB_VERIFY_PORT:
		verify_given_up(s, job);
		return;
	case JOB_POLL:
		if (!node->silent && !node->answered)
			sweep_changed(s, node);
		return;
	case JOB_PORT_EXT:
		if (!node->answered)
			break;
		optional_unanswered(s, &node->ext);
		if (node->ext.looks < SILENCES_MAX)
			break; /* to be asked again: the speed would be wrong without */
		ask_without(s, job);
		return;
	case JOB_STATES:
		if (!node->answered)
			break;
		optional_unanswered(s, &node->states);
		ask_without(s, job);
		return;
	case JOB_GENERAL: /* it may drop what it does not know; who is silent is asked another time */
		node->sharp = node->answered ? INV_SHARP_UNSAID : INV_SHARP_UNASKED;
		return;
	case JOB_CLEAR:
		if (!node->answered)
			break;
		node->keeps_change = s->odd = true;
		ports_switch_ready(s, node);
		return;
	case JOB_SWITCH:
	case JOB_DESC:
	case JOB_PORT:
		break;
	}
	s->odd = true;
	node->partial |= node->answered;
	node->silent |= !node->answered;
	node->unread = inv_is_switch(node);
	if (job->kind == JOB_SWITCH || job->kind == JOB_CLEAR ||
	    (job->kind == JOB_PORT && inv_is_switch(node) && job->arg == 0))
		ports_switch_ready(s, node);
}

void explore_given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	given_up(s, job);
	if (node && (job->kind == JOB_PORT || job->kind == JOB_PORT_EXT))
		node->ports[job->arg].refuted = true; /* it decides nothing */
	contest_go_on(s);
}
