/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What ports answer to the steps of port_step.c: they accept, reject, or do not answer. A port
 * that is given up rests, longer each time (bringup_retry()).
 */
#include <stdio.h>
#include <string.h>
#include "fm/conf/m_keys.h"
#include "fm/sweep/bringup_priv.h"

#define ERRORS_MAX    3
#define SETS_MAX      5
#define SETS_ON_TRIAL 2
#define RETRY_US      200000   /* at first; doubles */
#define RETRY_MAX_US  59000000 /* a device that works again does so within a minute */
#define LOST_MAX      32       /* tries that get no answer before one counts as a refusal */
#define LOST_US	      20000    /* after each of the first ones; then doubles, up to RETRY_US */
#define LOST_FIRST    5

static void log_given_up(struct bringup *b, const struct inv_node *node, uint8_t num)
{
	const struct inv_port *port = &node->ports[num], *peer = bringup_peer(port);
	struct inv_name name = inventory_name(node, num);

	if (!peer || !peer->given_up)
		b->result.links_new++;
	if (!b->result.first_new[0])
		snprintf(b->result.first_new, sizeof(b->result.first_new), "%s: %s", name.text,
			 inv_trouble(port)->refusal);
	if (log_allow(&b->failed_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: %s, left in %s", name.text,
			 inv_trouble(port)->refusal, topo_state_name(port->state));
}

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
	struct inv_port *port = &node->ports[num];

	port->errors = GIVEN_UP;
	port->at_once &= (uint8_t)~INV_SET_INFO;
	inventory_trouble(port)->refusal = why;
	b->any_given_up = true;
	if (!port->given_up)
		log_given_up(b, node, num);
	if (port->given_up < UINT8_MAX)
		port->given_up++;
	inventory_retry_at(port, loop_now_us(b->loop) + bringup_rest_us(port->given_up));
}

/*
 * Where packets get lost, all tries of a Set may be lost, or their answers: that is no rejection,
 * and it is tried again soon. A device that executes no Set does not answer either: only the number
 * of tries distinguishes the two.
 */
void bringup_port_lost(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	port->unsure |= port->job != JOB_GET || port->reread;
	port->job = 0;
	if (port->lost == LOST_MAX) {
		port_give_up(b, node, num, "does not answer");
		return;
	}
	if (port->given_up)
		port->lost++;
	else
		port_give_up(b, node, num, "does not answer");
	port->errors = GIVEN_UP;
	port->at_once &= (uint8_t)~INV_SET_INFO;
	inventory_retry_at(port, loop_now_us(b->loop) + lost_rest_us(port->lost));
	b->any_given_up = true;
}

/* The record may be older than the port's state: the port's answer decides. */
static void port_recheck(struct bringup *b, struct inv_node *node, uint8_t num, const char *why)
{
	struct inv_port *port = &node->ports[num];

	port->reread = true;
	if (++port->errors >= ERRORS_MAX || (bringup_on_trial(port) && !port->unsure))
		port_give_up(b, node, num, why);
}

/* A Set was acknowledged; `before` it the port was in that state. */
static void port_set(struct bringup *b, struct inv_node *node, uint8_t num, uint8_t asked,
		     uint8_t before)
{
	struct inv_port *port = &node->ports[num], *peer = bringup_peer(port);

	b->result.ports_set += port->sets == 0;
	port->sets++;
	if (asked == TOPO_DOWN) {
		port->reread = true;
		if (peer)
			peer->reread = true;
		if (log_allow(&b->bounce_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
			log_line(LOG_SWEEP, LOG_NOTICE, "%s: link bounced, %s",
				 inventory_name(node, num).text,
				 bringup_is_shut(node, num)
					 ? "as it is to carry no data"
					 : "as its ends disagreed on MTU or VLs");
		return;
	}
	port->settled = port->state != TOPO_INIT;
	port->unread |= INV_SET_INFO;
	b->any_unread = true;
	port->at_once |= port->doubted & INV_SET_INFO;
	port->reread |= (port->at_once & INV_SET_INFO) != 0;
	if (asked == TOPO_ARMED) /* the link has come up: its host may have rebooted */
		port->reregister = bringup_can_reregister(node, port);
	else if (port->state == TOPO_ACTIVE && (asked == TOPO_ACTIVE || before == TOPO_ACTIVE))
		port->reregister = false; /* that Set has said it */
	if (asked > port->state)
		port_recheck(b, node, num, "acknowledges a port state that it does not enter");
	else if (port->sets >= (bringup_on_trial(port) ? SETS_ON_TRIAL : SETS_MAX))
		port_give_up(b, node, num, "does not apply its settings");
}

/* It was read behind a Set: nothing more is sent to it in this apply. */
static void port_not_held(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	b->any_given_up = true;
	if (num && port->state != TOPO_ACTIVE)
		port_give_up(b, node, num, "reads back differently from what it acknowledged");
	else
		port->errors = GIVEN_UP;
}

/* A port that moves on has come over its errors; the second end to be Active completes the link. */
static void port_moved(struct bringup *b, struct inv_port *port, uint8_t before)
{
	const struct inv_port *peer = bringup_peer(port);

	if (port->state <= before)
		return;
	port->errors = 0;
	bringup_cured(b, port);
	if (port->state != TOPO_ACTIVE || !peer || peer->state != TOPO_ACTIVE)
		return;
	b->result.links_activated++;
	if (b->active_fn && inv_is_switch(port->peer) && inv_is_switch(peer->peer))
		b->active_fn(b->active_arg);
}

/* It has moved on: its tables, which may have failed with it, are tried again. */
static void tables_again(struct bringup *b, struct inv_port *port)
{
	b->result.cured++;
	if (port->pkey_state == INV_PKEYS_FAILED)
		port->pkey_state = INV_PKEYS_OPEN;
	lanes_begin(port);
}

/*
 * The answer to a Set that gave a port its key hides it from a request with the former key
 * (IBA 14.2.4.1).
 */
static void port_was_set(struct bringup *b, struct inv_node *node, uint8_t num,
			 const uint8_t data[64])
{
	guid_t guid = inventory_key_guid(node, num);
	uint64_t key = m_keys_wanted(b->conf.keys, guid);
	struct wire_port_info info;
	uint8_t known[64];

	memcpy(known, data, sizeof(known));
	wire_port_info_decode(data, &info);
	if ((inv_is_switch(node) ? !num : num) && key && !info.mkey && info.mkey_protect)
		wire_port_info_show_mkey(known, key);
	inventory_port_was_set(node, num, known);
}

void bringup_port_answered(struct bringup *b, struct inv_node *node, uint8_t num,
			   const struct mad_answer *answer)
{
	struct inv_port *port = &node->ports[num];
	uint8_t asked = (uint8_t)(port->job - 1), before = port->state;
	bool was_get = port->job == JOB_GET;

	port->job = 0;
	port->reread &= !was_get;
	if (answer->result == MAD_OK) {
		bool given_up = port->given_up;

		if (was_get)
			inventory_set_port_info(node, num, answer->data);
		else
			port_was_set(b, node, num, answer->data);
		inventory_port_changed(b->inv, node, num);
		bringup_note_keys(b, node);
		if (given_up && !port->given_up)
			tables_again(b, port);
		port_moved(b, port, before);
		if (!was_get)
			port_set(b, node, num, asked, before);
		else if (port->unheld & INV_SET_INFO)
			port_not_held(b, node, num);
	} else {
		port_recheck(b, node, num, "rejects its settings");
	}
	bringup_step_link(b, node, num);
	pkeys_step(b, node, num);
	lanes_step(b, node, num);
}
