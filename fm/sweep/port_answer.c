/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What ports answer to the steps of port_step.c: they accept, reject, or do not answer. A port
 * that is given up rests, longer each time (bringup_retry()).
 */
#include "fm/sweep/bringup_priv.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

#define ERRORS_MAX    3
#define SETS_MAX      5
#define SETS_ON_TRIAL 2
#define RETRY_US      200000   /* at first; doubles */
#define RETRY_MAX_US  59000000 /* a device that works again does so within a minute */
#define LOST_MAX      32       /* tries that get no answer before one counts as a refusal */
#define LOST_US	      20000    /* after each of the first ones; then doubles, up to RETRY_US */
#define LOST_FIRST    10
#define SETS_LOST     4 /* all tries of each, between Gets that a host answers: it takes none */

/* ---- PortInfo was read ----------------------------------------------------------------------- */

/*
 * What was acknowledged, or shown before, is compared. A port that has been down since has begun
 * again, and says nothing of that.
 */
static void compare_settings(const struct inventory *inv, struct inv_node *node, uint8_t num,
			     const uint8_t data[64])
{
	struct port_setup *setup = port_setup(node, num);
	const struct setback *back = setback_of(setup);
	struct inv_port *port = &node->ports[num];
	struct wire_port_info before, info;

	if (!(setup->unread & INV_SET_INFO) && !setup->settled)
		return;
	wire_port_info_decode(data, &info);
	setup->unread &= ~INV_SET_INFO;
	if (num ? info.state < TOPO_ARMED : !info.lid)
		return;
	wire_port_info_decode(port->info, &before);
	if (back->mtu) { /* a Set that was to give them back was acknowledged, and did not */
		before.neighbor_mtu = back->mtu;
		before.op_vls = back->vls;
	}

	bool same = !inventory_settings_differ(setup->doubted & INV_SET_INFO ? NULL : inv, node,
					       num, &info, &before);

	/* What it answered once may be wrong, and is not what its link had. */
	if (same ? back->mtu
		 : num && (back->mtu || port->info_verified) &&
			    (info.neighbor_mtu != before.neighbor_mtu ||
			     info.op_vls != before.op_vls)) {
		setback_to_write(setup)->mtu = same ? 0 : before.neighbor_mtu;
		setback_to_write(setup)->vls = before.op_vls;
	}
	setup_was_read(setup, INV_SET_INFO, same);
	setup->settled &= same;
	port->info_verified = same; /* the Set's answer was the first */
}

void bringup_port_read(const struct inventory *inv, struct inv_node *node, uint8_t num,
		       const uint8_t data[64])
{
	struct port_setup *setup = port_setup(node, num);
	struct inv_port *port = &node->ports[num];
	uint8_t before = port->state;

	compare_settings(inv, node, num, data);
	/* What protects a port with a key ends with a lease and with its power. */
	setup->settled &= inventory_set_port_info(node, num, data);
	if (port->state != before)
		setup->given_up = setup->lost = 0; /* something has happened to it */
	setup->unsure = false;
	if (port->state >= TOPO_INIT)
		sweep_port(node, num)->was_up |= SWEEP_ONCE_UP;
	if (num ? port->state < TOPO_ARMED : !port->lid) {
		/* What was set is lost. */
		if (setup->setback)
			setup->setback->mtu = 0;
		setup->settled = setup->enforced = false;
		setup->unread = 0;
		setup->qos = (struct inv_qos){ 0 };
		pkeys_forget(setup, false);
	}
	if (!num && !port->lid)
		lanes_new_life(node);
}

/* ---- Answers --------------------------------------------------------------------------------- */

uint64_t bringup_rest_us(unsigned given_up)
{
	uint64_t us = given_up > FRESH ? RETRY_MAX_US : (uint64_t)RETRY_US << (given_up - 1);

	return us < RETRY_MAX_US ? us : RETRY_MAX_US;
}

/*
 * One try in three gets lost, or its answer, where a tenth of all packets do: most ports are cured
 * by one of the first.
 */
static uint64_t lost_rest_us(unsigned lost)
{
	uint64_t us = LOST_US;

	for (; lost > LOST_FIRST && us < RETRY_US; lost--)
		us *= 2;
	return us < RETRY_US ? us : RETRY_US;
}

static void port_give_up(struct bringup *b, struct inv_node *node, uint8_t num, const char *why)
{
	struct port_setup *setup = port_setup(node, num);

	setup->errors = GIVEN_UP;
	setup->at_once &= ~INV_SET_INFO;
	setback_to_write(setup)->refusal = why;
	b->any_given_up = true;
	if (!setup->given_up) {
		const struct inv_port *port = &node->ports[num];
		const struct port_setup *far = setup_of_peer(port);
		struct inv_name name = inventory_name(node, num);

		if (!far || !far->given_up)
			b->result.links_new++;
		if (!b->result.first_new[0])
			array_printf(b->result.first_new, "%s: %s", name.text, why);
		if (log_allow(&b->failed_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
			log_line(LOG_SWEEP, LOG_WARNING, "%s: %s, left in %s", name.text, why,
				 topo_state_name(port->state));
	}
	if (setup->given_up < UINT8_MAX)
		setup->given_up++;
	setup_retry_at(setup, loop_now_us(b->loop) + bringup_rest_us(setup->given_up));
}

/*
 * Where packets get lost, all tries of a Set may be lost, or their answers: that is no rejection,
 * and it is tried again soon. A device that executes no Set does not answer either: behind each Set
 * that is lost a host is read, which says whether it executed that, and it is named when SETS_LOST
 * were lost between Gets that it answered. Whether a switch takes Sets is examined by itself, which
 * is its one alert.
 */
bool bringup_is_deaf(const struct batch_job *job)
{
	struct inv_node *node = job->object;
	struct port_setup *setup = port_setup(node, job->arg);

	if (job->kind != JOB_PORT || setup->job == JOB_GET || inv_is_switch(node))
		return false;
	setup->reread = ++setup->lost < SETS_LOST;
	return !setup->reread;
}

void bringup_port_lost(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct port_setup *setup = port_setup(node, num);

	setup->unsure |= setup->job != JOB_GET || setup->reread;
	if (setup->obstacle != INV_OBSTACLE_KEY) /* INV_OBSTACLE_DEAF or none */
		setup->obstacle = !inv_is_switch(node) &&
				  (setup->given_up || setup->lost >= SETS_LOST) &&
				  (setup->obstacle || setup->job != JOB_GET);
	setup->job = 0;
	if (setup->lost == LOST_MAX) {
		port_give_up(b, node, num, "does not answer");
		return;
	}
	setup->lost = setup->given_up ? setup->lost + 1 : 0;
	if (!setup->given_up)
		port_give_up(b, node, num, "does not answer");
	setup->errors = GIVEN_UP;
	setup->at_once &= ~INV_SET_INFO;
	setup_retry_at(setup, loop_now_us(b->loop) + lost_rest_us(setup->lost));
	b->any_given_up = true;
}

/* The record may be older than the port's state: the port's answer decides. */
static void port_recheck(struct bringup *b, struct inv_node *node, uint8_t num, const char *why)
{
	struct port_setup *setup = port_setup(node, num);

	setup->reread = true;
	if (++setup->errors >= ERRORS_MAX || (bringup_on_trial(setup) && !setup->unsure))
		port_give_up(b, node, num, why);
}

/* A Set was acknowledged; `before` it the port was in that state. */
static void port_set(struct bringup *b, struct inv_node *node, uint8_t num, uint8_t asked,
		     uint8_t before)
{
	const struct inv_port *port = &node->ports[num];
	struct port_setup *setup = port_setup(node, num), *far = setup_of_peer(port);

	b->result.ports_set += setup->sets == 0;
	setup->sets++;
	if (asked == TOPO_DOWN) {
		setup->reread = true;
		if (far)
			far->reread = true;
		if (log_allow(&b->bounce_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
			log_line(LOG_SWEEP, LOG_NOTICE, "%s: link bounced, %s",
				 inventory_name(node, num).text,
				 bringup_is_shut(node, num)
					 ? "as it is to carry no data"
					 : "as its ends disagreed on MTU or VLs");
		return;
	}
	setup->settled = port->state != TOPO_INIT;
	setup->unread |= INV_SET_INFO;
	b->any_unread = true;
	setup->at_once |= setup->doubted & INV_SET_INFO;
	setup->reread |= (setup->at_once & INV_SET_INFO) != 0;
	if (asked == TOPO_ARMED) /* the link has come up: its host may have rebooted */
		setup->reregister = bringup_can_reregister(node, port);
	else if (port->state == TOPO_ACTIVE && (asked == TOPO_ACTIVE || before == TOPO_ACTIVE))
		setup->reregister = false; /* that Set has asked for it */
	if (asked > port->state)
		port_recheck(b, node, num, "acknowledges a port state that it does not enter");
	else if (setup->sets >= (bringup_on_trial(setup) ? SETS_ON_TRIAL : SETS_MAX))
		port_give_up(b, node, num, "does not apply its settings");
}

/* A port that moves on has come over its errors; the second end to be Active completes the link. */
static void port_moved(struct bringup *b, const struct inv_port *port, struct port_setup *setup,
		       uint8_t before)
{
	const struct inv_port *peer = bringup_peer(port);

	if (port->state <= before)
		return;
	setup->errors = 0;
	bringup_cured(b, setup);
	if (port->state != TOPO_ACTIVE || !peer || peer->state != TOPO_ACTIVE)
		return;
	b->result.links_activated++;
	if (b->active_fn && inv_is_switch(port->peer) && inv_is_switch(peer->peer))
		b->active_fn(b->active_arg);
}

static void port_was_set(struct bringup *b, struct inv_node *node, uint8_t num,
			 const uint8_t data[64])
{
	uint8_t known[64];

	memcpy(known, data, sizeof(known));
	port_key_show(b->inv, node, num, known);
	port_setup(node, num)->unread &= ~INV_SET_INFO; /* this is not compared */
	port_setup(node, num)->settled = false;
	bringup_port_read(b->inv, node, num, known);
}

void bringup_port_answered(struct bringup *b, struct inv_node *node, uint8_t num,
			   const struct mad_answer *answer)
{
	struct inv_port *port = &node->ports[num];
	struct port_setup *setup = port_setup(node, num);
	uint8_t asked = setup->job - 1, before = port->state;
	bool was_get = setup->job == JOB_GET;

	setup->job = 0;
	setup->reread &= !was_get;
	if (answer->result == MAD_OK) {
		bool given_up = setup->given_up;

		if (was_get)
			bringup_port_read(b->inv, node, num, answer->data);
		else
			port_was_set(b, node, num, answer->data);
		inventory_port_changed(b->inv, node, num);
		if (port_has_key(node, num))
			bringup_note_keys(b, node);
		if (given_up && !setup->given_up) {
			/* Its tables may have failed with it: they are tried again. */
			b->result.cured++;
			if (setup->pkey_state == INV_PKEYS_FAILED)
				setup->pkey_state = INV_PKEYS_OPEN;
			setup->qos.failed = false;
		}
		port_moved(b, port, setup, before);
		if (!was_get)
			port_set(b, node, num, asked, before);
		else if (setup->unheld & INV_SET_INFO) {
			/* It was read behind a Set: nothing more is sent to it in this apply. */

			b->any_given_up = true;
			if (num && port->state != TOPO_ACTIVE)
				port_give_up(b, node, num,
					     "reads back differently from what it acknowledged");
			else
				setup->errors = GIVEN_UP;
		}
	} else {
		if (setup->setback)
			setup->setback->mtu = 0; /* it may be what it rejects */
		port_recheck(b, node, num, "rejects its settings");
	}
	bringup_step_link(b, node, num);
	pkeys_step(b, node, num);
	lanes_step(b, node, num);
}
