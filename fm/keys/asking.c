/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/keys/asking.h"
#include <stdlib.h>
#include "fm/core/m_keys.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "topology/mem.h"

#define TICK_US	       250000
#define PARTS	       3 /* of a lease: all ports are asked in one of them */
#define FOREIGN_US     60000000
#define FOREIGN_A_TICK 64

struct asked {
	struct asking *asking;
	struct asked *next;
	guid_t node;
	unsigned num;
	mad_token token;
};

static uint16_t lease_s(const struct asking *a)
{
	const struct m_keys *keys = a->services->inventory->keys;
	const struct m_key_conf *conf = keys ? m_keys_conf(keys) : NULL;

	return conf && m_key_conf_any(conf) ? conf->lease_s : 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void forget(struct asked *asked)
{
	struct asked **link = &asked->asking->open;

	while (*link != asked)
		link = &(*link)->next;
	*link = asked->next;
	free(asked);
}

static void tell_expired(struct asking *a, const struct inv_node *node, unsigned num)
{
	struct inv_name name = inventory_name(node, inv_is_switch(node) ? -1 : (int)num);

	a->expired++;
	event_log_add(a->services->events, LOG_WARNING, "m-key-expired", NULL,
		      "%s: the lease of its M_Key has expired, for somebody used another one and "
		      "no packet with the right one came in time; it is protected again",
		      name.text);
}

/*
 * A sweep may have read it since bring-up judged it: then the record agrees with the answer, and
 * bring-up does not.
 */
static bool is_judged(const struct inventory *inv, const struct inv_node *node, unsigned num)
{
	return node->ports[num].foreign_key == inventory_key_is_foreign(inv, node, num);
}

/* What was read of a port that is known otherwise: a sweep reads it, and bring-up follows. */
static void compare(struct asking *a, struct inv_node *node, unsigned num, const uint8_t data[64])
{
	const struct inventory *inv = a->services->inventory;
	const struct inv_port *port = &node->ports[num];
	struct wire_port_info known, now;

	if (!port->known)
		return;
	wire_port_info_decode(port->info, &known);
	wire_port_info_decode(data, &now);
	if (now.mkey == known.mkey && now.mkey_protect == known.mkey_protect &&
	    now.mkey_lease == known.mkey_lease && is_judged(inv, node, num))
		return;
	if (known.mkey_protect && !now.mkey_protect && now.mkey &&
	    now.mkey == m_keys_wanted(inv->keys, inventory_key_guid(node, num)))
		tell_expired(a, node, num);
	node->unread |= inv_is_switch(node);
	fabric_request_refresh(a->fabric, node->guid, "M_Key");
	fabric_request_reroute(a->fabric, "M_Key"); /* no snapshot differs by a key */
}

static void answered(void *arg, const struct mad_answer *answer)
{
	struct asked *asked = arg;
	struct asking *a = asked->asking;
	struct inv_node *node = inventory_find(a->services->inventory, asked->node);
	unsigned num = asked->num;

	forget(asked);
	if (answer->result != MAD_OK)
		return;
	a->renewed++;
	if (node && num <= node->nports)
		compare(a, node, num, answer->data);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void ask(struct asking *a, struct inv_node *node, unsigned num)
{
	struct mad_request request = { .method = WIRE_GET,
				       .attr_id = WIRE_PORT_INFO,
				       .attr_mod = inventory_port_modifier(node, (uint8_t)num),
				       .device = node->guid };
	struct mad_path path;
	struct asked *asked;

	if (!inventory_port_path(a->services->inventory, node, (uint8_t)num, &path))
		return;
	asked = mem_alloc(1, sizeof(*asked));
	*asked = (struct asked){ .asking = a, .next = a->open, .node = node->guid, .num = num };
	a->open = asked;
	request.path = &path;
	asked->token = mad_send(a->services->mad, &request, answered, asked);
}

static bool has_answerer(const struct inv_node *node, unsigned num)
{
	return !node->gone && !node->silent && inventory_has_key(node, num) &&
	       (!num || node->ports[num].link_up);
}

/* How many of its ports were asked; all that have a key, or those of somebody else. */
static unsigned ask_node(struct asking *a, struct inv_node *node, bool foreign)
{
	unsigned last = inv_is_switch(node) ? 0 : node->nports, count = 0;

	for (unsigned p = inv_is_switch(node) ? 0 : 1; p <= last; p++)
		if (has_answerer(node, p) && (!foreign || node->ports[p].foreign_key)) {
			ask(a, node, p);
			count++;
		}
	return count;
}

static void ask_soon(struct asking *a)
{
	for (unsigned i = 0; i < a->nsoon; i++) {
		struct inv_node *node = inventory_find(a->services->inventory, a->soon[i]);

		if (node)
			ask_node(a, node, false);
	}
	a->nsoon = 0;
}

/* Those that are due by now. Behind the last one the next pass begins with the next tick. */
static void ask_all(struct asking *a)
{
	struct inventory *inv = a->services->inventory;
	double pass_us = lease_s(a) * 1e6 / PARTS;
	uint32_t ports = a->ports ? a->ports : (uint32_t)cl_qmap_count(&inv->nodes);

	a->owed += ports * TICK_US / pass_us;
	while (a->owed >= 1) {
		struct inv_node *node = inventory_from(inv, a->next);

		if (node) {
			unsigned count = ask_node(a, node, false);

			a->owed -= count;
			a->counted += count;
			node = inventory_next(inv, node);
		}
		a->next = node ? node->guid : 0;
		if (node)
			continue;
		a->ports = a->counted;
		a->counted = 0;
		break;
	}
}

static void ask_foreign(struct asking *a)
{
	struct inventory *inv = a->services->inventory;
	struct inv_node *node = inventory_from(inv, a->foreign);
	unsigned count = 0;

	for (; node && count < FOREIGN_A_TICK; node = inventory_next(inv, node))
		count += ask_node(a, node, true);
	a->foreign = node ? node->guid : 0;
	if (!node)
		a->foreign_due_us = loop_now_us(a->services->loop) + FOREIGN_US;
}

static void tick(void *arg)
{
	struct asking *a = arg;

	if (lease_s(a)) {
		ask_soon(a);
		ask_all(a);
	}
	if (loop_now_us(a->services->loop) >= a->foreign_due_us)
		ask_foreign(a);
	loop_timer_set(a->tick, lease_s(a) || a->foreign ? TICK_US : FOREIGN_US);
}

void asking_soon(struct asking *a, guid_t node)
{
	for (unsigned i = 0; i < a->nsoon; i++)
		if (a->soon[i] == node)
			return;
	if (lease_s(a) && a->nsoon < ASKING_SOON)
		a->soon[a->nsoon++] = node;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void asking_configure(struct asking *a)
{
	if (fabric_is_master(a->fabric))
		loop_timer_set(a->tick, TICK_US);
	else
		loop_timer_stop(a->tick);
}

void asking_init(struct asking *a, struct fabric *fabric, const struct fabric_services *services)
{
	*a = (struct asking){ .fabric = fabric, .services = services };
	a->tick = loop_timer_new(services->loop, tick, a);
}

void asking_fini(struct asking *a)
{
	loop_timer_free(a->tick);
	while (a->open) {
		mad_cancel(a->services->mad, a->open->token);
		forget(a->open);
	}
}
