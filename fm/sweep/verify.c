/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Verification: what was answered once is asked once more while the fabric is idle, a few ports at
 * a time: the node behind a port that is up, and PortInfo. An answer that agrees with the record
 * verifies it; another one has the node swept, and that decides (probe.c). Ports with a node
 * behind them that can't be there are asked first, each time.
 */
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"

#define TRIES 16 /* without an answer */

static bool can_ask(const struct inv_node *node)
{
	return !node->gone && !node->silent && !node->removed;
}

/* The node that can send a probe over that port; one end of the link does. */
static bool probes_over(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	return num && (inv_is_switch(node) || (node == s->inv.local && num == s->inv.local_port));
}

static bool is_first_end(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return !probes_over(s, port->peer, port->peer_port) || inventory_is_first_end(node, num);
}

/* Requests for a port: 0, 1 or 2. */
static unsigned ask_port(struct sweep *s, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	bool link = port->peer && port->link_up && !port->link_verified && !port->peer->silent &&
		    probes_over(s, node, num) && is_first_end(s, node, num);
	bool info = port->known && !port->info_verified &&
		    !(port_setup(node, num)->unread & INV_SET_INFO && /* then bring-up reads it */
		      bringup_port_workable(node, num));

	if (link)
		sweep_ask(s, JOB_VERIFY_LINK, node, num, false);
	if (info)
		sweep_ask(s, JOB_VERIFY_PORT, node, num, false);
	return link + info;
}

static unsigned ask_refused(struct sweep *s)
{
	struct inv_node *node = s->inv.nrefused ? inventory_first(&s->inv) : NULL;
	unsigned asked = 0;

	for (; node; node = inventory_next(&s->inv, node))
		for (unsigned p = 1; can_ask(node) && p <= node->nports; p++)
			if (inv_contest(&s->inv, node, p)->refused && probes_over(s, node, p)) {
				sweep_ask(s, JOB_VERIFY_LINK, node, p, false);
				asked++;
			}
	return asked;
}

/* False: there is nothing that was answered only once. */
static bool ask_unverified(struct sweep *s, unsigned count)
{
	struct inv_node *node = inventory_from(&s->inv, s->verified);
	unsigned asked = 0;

	for (; node && asked < count; node = inventory_next(&s->inv, node)) {
		for (unsigned p = 0; can_ask(node) && p <= node->nports; p++)
			asked += ask_port(s, node, p);
		s->verified = node->guid + 1;
	}
	if (!node)
		s->verified = 0;
	return asked > 0 || node;
}

bool sweep_verify(struct sweep *s, unsigned count, bool refused, sweep_done_fn *fn, void *arg)
{
	bool more;

	sweep_start(s, SWEEP_POLL, fn, arg);
	more = ask_unverified(s, count);
	if (refused)
		ask_refused(s);
	return more;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Has the node swept, this port with it. */
static void differs(struct sweep *s, struct inv_node *node, unsigned num)
{
	if (num)
		sweep_port(node, num)->must_probe = probes_over(s, node, num);
	sweep_node(node)->ports_read = false;
	sweep_changed(s, node);
}

/*
 * The place for which a node was refused here is a link that is up. It may have been that of a node
 * that never was, and went with it.
 */
static bool has_its_place(const struct sweep *s, guid_t guid)
{
	const struct inv_node *node = inventory_find(&s->inv, guid);

	if (!node || node->gone || node->silent)
		return false;
	for (unsigned p = 1; p <= node->nports; p++)
		if (node->ports[p].peer && node->ports[p].link_up)
			return true;
	return false;
}

static void link_answered(struct sweep *s, struct inv_node *node, unsigned num,
			  const struct wire_node_info *info)
{
	struct inv_port *port = &node->ports[num];
	guid_t refused = inv_contest(&s->inv, node, num)->refused;

	if (refused) {
		if (wire_node_info_flaw(info) ||
		    (refused == info->node_guid && has_its_place(s, info->node_guid)))
			return; /* still */
		differs(s, node, num);
	} else if (port->peer && port->peer->guid == info->node_guid &&
		   port->peer_port == info->local_port && port->peer->nports == info->nports &&
		   port->peer->info.type == info->type &&
		   !inventory_other_port_guid(port->peer, port->peer_port, info->port_guid)) {
		port->link_verified = port->peer->ports[port->peer_port].link_verified = true;
	} else {
		differs(s, node, num);
	}
}

static uint8_t port_state(const uint8_t data[64])
{
	struct wire_port_info info;

	wire_port_info_decode(data, &info);
	return info.state;
}

void verify_answer(struct sweep *s, const struct batch_job *job, const uint8_t data[64])
{
	struct inv_node *node = job->object;
	struct inv_port *port = &node->ports[job->arg];
	struct wire_node_info info;

	if (job->kind == JOB_VERIFY_LINK) {
		wire_node_info_decode(data, &info);
		link_answered(s, node, job->arg, &info);
	} else if (port_state(data) == port->state && inventory_same_port_info(port->info, data)) {
		port->info_verified = true;
	} else {
		differs(s, node, job->arg);
	}
}

/*
 * A request that got no answer says nothing of the port, and is sent again with a later pass: loss
 * must not let a wrong answer stand. A node that answers polls and never this is left out after
 * some tries.
 */
void verify_given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;
	struct inv_port *port = &node->ports[job->arg];
	struct sweep_port *cell = sweep_port(node, job->arg);

	if (cell->verify_tries < TRIES) {
		cell->verify_tries++;
		return;
	}
	cell->verify_tries = 0;
	if (job->kind == JOB_VERIFY_PORT)
		port->info_verified = true;
	else if (port->peer)
		port->link_verified = port->peer->ports[port->peer_port].link_verified = true;
}
