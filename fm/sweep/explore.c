/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving side of a sweep: what an answer says about the fabric, and what to ask next.
 *
 *   a node is met       SwitchInfo and PortInfo of port 0, or PortInfo of the CA's port; its
 *                       NodeDescription if that is unknown
 *   both are there      all ports of the switch at once; or its SwitchPortStateTable, then the
 *                       ports that are up; in a refresh of a switch that says that no port's
 *                       state changed, those alone that are not as they should be
 *   a port is up        NodeInfo over it, unless the link was met from its other end (probe.c)
 *
 * PortInfo's extended speeds are asked for from the start where CapabilityMask allows them
 * (switches: port 0's), for a CA where the switch's end of the link already runs at one
 * (IBA 14.2.5.6: without the modifier's bit 31 they read as 0).
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"

#define TOP_AGAIN_US 60000000
#define LOG_BURST    20

/* ---- Nodes ---------------------------------------------------------------------------------- */

/*
 * Another manager's tables lead to this switch, and nothing that we published has it: which manager
 * that is, is asked before anything is written.
 */
static bool is_another_s(const struct sweep *s, const struct inv_node *node)
{
	uint16_t sm_lid = node->ports[0].sm_lid;

	return node->unpublished && s->inv.sm_lid && sm_lid && sm_lid != s->inv.sm_lid;
}

/*
 * A switch that reboots loses its links with its tables. One whose LinearFDBTop alone is reset may
 * have begun anew as well, the first time; what is set and reset again within TOP_AGAIN_US is not
 * kept, and would be written for ever.
 */
static bool keeps_no_top(struct sweep *s, struct inv_node *node,
			 const struct wire_switch_info *info)
{
	uint64_t now = loop_now_us(s->loop), before = sweep_node(node)->top_lost_us;

	sweep_node(node)->top_lost_us = info->port_state_change ? 0 : now;
	return !info->port_state_change && before && now - before < TOP_AGAIN_US;
}

static void tables_lost(struct sweep *s, struct inv_node *node, const struct wire_switch_info *info)
{
	if (keeps_no_top(s, node, info)) {
		sweep_node(node)->keeps_no_top = s->incomplete = true;
		return;
	}
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: lost its forwarding tables",
		 inventory_name(node, -1).text);
	node->rebooted = true;
	inventory_end_bounces_of(&s->inv, node);
	node->reboots++;
	sweep_ask(s, JOB_DESC, node, 0, false);
}

static void switch_met(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (node->sw.lft_cap && info.lft_top < node->sw.lft_top &&
	    info.lft_top != inv_wanted(node)->top)
		tables_lost(s, node, &info);
	node->sw = info;
	sweep_node(node)->ports_read &= !info.port_state_change && !node->rebooted;
	s->managed |= s->passive && info.lft_top;
	if (info.port_state_change && !s->managed && !inv_node_is(node, INV_NO_SETS) &&
	    !is_another_s(s, node))
		sweep_ask(s, JOB_CLEAR, node, 0, true);
	else
		ports_switch_ready(s, node);
}

/* The bit was set when it was read, and again if a port has changed since. */
static void switch_cleared(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	wire_switch_info_decode(data, &node->sw);
	node->sw.port_state_change = false;
	sweep_node(node)->keeps_change = false;
	ports_switch_ready(s, node);
}

static bool differs_in_sw(const struct inv_node *node, const struct wire_switch_info *info)
{
	const struct inv_wanted *wanted = inv_wanted(node);

	return (wanted->top && info->life_time != wanted->life_time) ||
	       (wanted->mft_top && info->mft_top != wanted->mft_top);
}

static void switch_polled(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;
	bool differs;

	wire_switch_info_decode(data, &info);
	/* Where it can't be cleared changes are found by traps and neighbours. */
	if (inv_node_is(node, INV_NO_SETS))
		info.port_state_change = false;
	/* Of a switch that lost its LinearFDBTop all is written again (switch_met()). */
	differs = !info.port_state_change && info.lft_top == inv_wanted(node)->top &&
		  !inv_node_is(node, INV_NO_SETS) && differs_in_sw(node, &info);

	s->inv.nsw_differ += differs;
	s->inv.nsw_differ -= sweep_node(node)->sw_differs;
	sweep_node(node)->sw_differs = differs;
	if (info.port_state_change || info.lft_top != node->sw.lft_top || node->silent ||
	    info.lft_cap != node->sw.lft_cap || info.mft_cap != node->sw.mft_cap ||
	    info.enforce_cap != node->sw.enforce_cap || info.flags != node->sw.flags)
		sweep_changed(s, node);
	sweep_node_answers(node); /* the sweep that follows gives it the time of one that does */
}

/* ---- Aggregation nodes ---------------------------------------------------------------------- */

/*
 * SHARP's aggregation nodes look like hosts. A switch that has one shows it behind its highest port
 * and names it; a CA where name and place disagree, one of NVIDIA's with one port, is asked itself,
 * once. So nothing is asked of fabrics that are as they were delivered.
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

static void desc_met(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	char desc[65];

	wire_node_desc_decode(data, desc);
	inventory_set_desc(&s->inv, node, desc);
	node->have_desc = true;
	sweep_node(node)->desc_stale = false;
	if (is_to_be_asked(s, node))
		sweep_ask(s, JOB_GENERAL, node, 0, false);
}

/* A probe is answered by the node behind, not by the one that it is asked of. */
static void note_answer(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (!node || sweep_job_is_probe(job))
		return;
	sweep_heard(s, node);
	if (job->kind != JOB_POLL)
		sweep_node_answers(node);
}

/* Whether the device has the optional attribute. */
static struct inv_silence *silence_of(const struct batch_job *job)
{
	struct inv_node *node = job->object;

	return job->kind == JOB_STATES ? &sweep_node(node)->states : &node->ext;
}

static void answered_after_all(const struct batch_job *job)
{
	if (silence_of(job)->sweeps != SILENCE_REFUSED)
		silence_of(job)->sweeps = 0;
}

void explore_answer(struct sweep *s, const struct batch_job *job, const struct mad_path *path,
		    const uint8_t data[64])
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	note_answer(s, job);
	switch ((enum sweep_job)job->kind) {
	case JOB_LOCAL:
		probe_local_answer(s, data);
		break;
	case JOB_PROBE:
		probe_answer(s, node, (uint8_t)job->arg, path, data);
		break;
	case JOB_DESC:
		desc_met(s, node, data);
		break;
	case JOB_GENERAL:
		node->sharp =
			wire_has_cap(data, WIRE_CAP_AGGREGATION) ? INV_SHARP_YES : INV_SHARP_NO;
		break;
	case JOB_SWITCH:
		switch_met(s, node, data);
		break;
	case JOB_CLEAR:
		switch_cleared(s, node, data);
		break;
	case JOB_PORT_EXT:
		answered_after_all(job);
		/* fall through */
	case JOB_PORT:
		ports_met(s, node, job->arg, job->kind == JOB_PORT_EXT, data);
		break;
	case JOB_STATES:
		answered_after_all(job);
		ports_states_met(s, node, job->arg, data);
		break;
	case JOB_POLL:
		switch_polled(s, node, data);
		break;
	case JOB_POLL_PORT:
		probe_poll_answer(s, node, (uint8_t)job->arg, data);
		break;
	case JOB_VERIFY_LINK:
	case JOB_VERIFY_PORT:
		verify_answer(s, job, data);
		break;
	}
	contest_go_on(s);
}

/* An optional attribute is not there: PortInfo is asked in its place. */
static void ask_without(struct sweep *s, const struct batch_job *job)
{
	if (job->kind == JOB_STATES)
		ports_states_missing(s, job->object, job->arg);
	else
		sweep_ask(s, JOB_PORT, job->object, job->arg, false);
}

/* The node answers, but not this: it may drop what it does not know. */
static void optional_unanswered(struct sweep *s, const struct batch_job *job)
{
	struct inv_silence *silence = silence_of(job);

	if (silence->sweeps < SILENCES_MAX && silence->sweep != s->number)
		silence->sweeps++;
	silence->sweep = s->number;
}

void explore_refused(struct sweep *s, const struct batch_job *job, uint16_t status)
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	if (job->kind == JOB_PORT_EXT || job->kind == JOB_STATES) {
		silence_of(job)->sweeps = SILENCE_REFUSED;
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
		sweep_node(node)->partial = false; /* it will refuse again */
}

/* The link may be dead, or the node behind it: a known node is asked by another path (finish.c). */
static void probe_failed(struct sweep *s, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	s->incomplete = true;
	ports_set_probe(s, node, num, PROBE_FAILED);
	if (s->kind == SWEEP_REFRESH && port->peer && inv_is_switch(port->peer) &&
	    !sweep_answered(port->peer) && !port->peer->silent)
		sweep_ask(s, JOB_DESC, port->peer, 0, true);
}

void explore_unanswered(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (s->kind == SWEEP_REFRESH && job->kind == JOB_SWITCH && !node->silent)
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
	case JOB_VERIFY_LINK:
	case JOB_VERIFY_PORT:
		verify_given_up(s, job);
		return;
	case JOB_POLL:
		if (!node->silent && !sweep_answered(node))
			sweep_changed(s, node);
		return;
	case JOB_PORT_EXT:
		if (!sweep_answered(node))
			break;
		optional_unanswered(s, job);
		if (node->ext.sweeps < SILENCES_MAX)
			break; /* to be asked again: the speed would be wrong without */
		ask_without(s, job);
		return;
	case JOB_STATES:
		if (!sweep_answered(node))
			break;
		optional_unanswered(s, job);
		ask_without(s, job);
		return;
	case JOB_GENERAL: /* it may drop what it does not know; a silent one is asked later */
		node->sharp = sweep_answered(node) ? INV_SHARP_UNSAID : INV_SHARP_UNASKED;
		return;
	case JOB_CLEAR:
		if (!sweep_answered(node))
			break;
		sweep_node(node)->keeps_change = s->incomplete = true;
		ports_switch_ready(s, node);
		return;
	case JOB_SWITCH:
	case JOB_DESC:
	case JOB_PORT:
		break;
	}
	s->incomplete = true;
	sweep_node(node)->partial |= sweep_answered(node);
	node->silent |= !sweep_answered(node);
	sweep_node(node)->ports_read = false;
	if (job->kind == JOB_SWITCH || job->kind == JOB_CLEAR ||
	    (job->kind == JOB_PORT && inv_is_switch(node) && job->arg == 0))
		ports_switch_ready(s, node);
}

/* It answers, whatever that is worth: its links stay as they are known, and it is named. */
void explore_flawed(struct sweep *s, const struct batch_job *job, const char *flaw)
{
	struct inv_node *node = job->object;
	bool port = job->kind == JOB_PORT || job->kind == JOB_PORT_EXT;

	struct sweep_node *cell;

	if (!node || node->removed || (!port && job->kind != JOB_SWITCH))
		return;
	note_answer(s, job);
	cell = sweep_node(node);
	s->inv.nflawed += !cell->flaw;
	cell->flaw = flaw;
	cell->flaw_port = port ? (int)job->arg : -1;
	cell->flawed_in = s->number;
}

void explore_given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	given_up(s, job);
	if (node && (job->kind == JOB_PORT || job->kind == JOB_PORT_EXT))
		sweep_port(node, job->arg)->refuted = true; /* it decides nothing */
	contest_go_on(s);
}
