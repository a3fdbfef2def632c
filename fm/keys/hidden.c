/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>
#include "fm/fabric/request.h"
#include "fm/keys/hidden.h"
#include "fm/mad/wire_perf.h"
#include "fm/sweep/sweep.h"
#include "topology/files/dump.h"

#define ASK_AGAIN_US 60000000
#define TRAP_KEPT_US 600000000
#define NAMED	     20 /* by an alert each */
#define NAME	     320

static const char *const reasons[] = {
	[HIDDEN_LINK] = "its link was made Active, and not by this manager",
	[HIDDEN_GMP] = "it answers PerfMgt, which needs no M_Key",
	[HIDDEN_TRAP] = "it reports wrong M_Keys (trap 256)",
};

/* ---- What is known of one -------------------------------------------------------------------- */

static const struct inv_port *end_of(const struct hidden_port *h)
{
	const struct inv_node *node = inventory_find(h->list->services->inventory, h->node);

	return node && h->num <= node->nports ? &node->ports[h->num] : NULL;
}

static enum hidden_reason reason_of(const struct hidden_port *h)
{
	const struct inv_port *end = end_of(h);
	uint64_t now = loop_now_us(h->list->services->loop);

	if (h->trap_us && now - h->trap_us < TRAP_KEPT_US)
		return HIDDEN_TRAP;
	if (h->answers_gmp)
		return HIDDEN_GMP;
	return end && end->state >= TOPO_ARMED && !h->behind ? HIDDEN_LINK : HIDDEN_NONE;
}

/* Who is behind, where that is known; otherwise the end that answers. */
static void name_of(const struct hidden_port *h, char name[NAME])
{
	const struct inventory *inv = h->list->services->inventory;
	const struct inv_node *node = inventory_find(inv, h->node);
	const struct inv_node *behind = h->behind ? inventory_find(inv, h->behind) : NULL;
	struct inv_name end = inventory_name(node, h->num);

	if (behind)
		snprintf(name, NAME, "%s behind %s", inventory_name(behind, -1).text, end.text);
	else
		snprintf(name, NAME, "port behind %s", end.text);
}

/* ---- PerfMgt --------------------------------------------------------------------------------- */

static void gmp_answered(void *arg, const struct mad_answer *answer)
{
	struct hidden_port *h = arg;

	h->asked = 0;
	h->answers_gmp = answer->result == MAD_OK || answer->result == MAD_STATUS;
}

/* Only one that was met before has a LID that is known. */
static void ask_gmp(struct hidden_port *h)
{
	const struct fabric_services *s = h->list->services;
	const struct inv_port *end = end_of(h);
	const struct inv_node *node = end ? end->peer : NULL;
	uint64_t now = loop_now_us(s->loop);
	struct mad_request request = {
		.mgmt_class = WIRE_PERF,
		.method = WIRE_GET,
		.attr_id = WIRE_PERF_CLASS_PORT_INFO,
		.retries = 1,
		.doubtful = true,
	};

	if (!node || !node->silent || h->asked || (h->asked_us && now - h->asked_us < ASK_AGAIN_US))
		return;
	request.lid = node->ports[inv_is_switch(node) ? 0 : end->peer_port].lid;
	request.pkey_index = inventory_default_pkey_index(s->inventory);
	request.device = node->guid;
	if (!request.lid)
		return;
	h->asked_us = now;
	h->asked = mad_send(s->mad, &request, gmp_answered, h);
}

/* ---- The list -------------------------------------------------------------------------------- */

static struct hidden_port *find(struct hidden *x, guid_t node, uint8_t num)
{
	for (unsigned i = 0; i < x->count; i++)
		if (x->ports[i].node == node && x->ports[i].num == num)
			return &x->ports[i];
	return NULL;
}

/* Its place is another's then: requests know their port by its address. */
static void drop(struct hidden *x, unsigned i)
{
	mad_cancel(x->services->mad, x->ports[i].asked);
	if (i != --x->count) {
		struct hidden_port *last = &x->ports[x->count];

		mad_cancel(x->services->mad, last->asked);
		x->ports[i] = *last;
		x->ports[i].asked = 0;
	}
}

static void note(struct hidden *x, const struct inv_node *node, uint8_t num)
{
	const struct inv_node *behind = node->ports[num].peer;
	struct hidden_port *h = find(x, node->guid, num);

	if (h && h->behind != (behind ? behind->guid : 0)) {
		drop(x, (unsigned)(h - x->ports));
		h = NULL;
	}
	if (!h && x->count < HIDDEN_MOST) {
		h = &x->ports[x->count++];
		*h = (struct hidden_port){ .list = x,
					   .node = node->guid,
					   .behind = behind ? behind->guid : 0,
					   .num = num };
	}
	if (h)
		h->seen = true;
}

static void collect(struct hidden *x)
{
	const struct inventory *inv = x->services->inventory;

	for (unsigned i = 0; i < x->count; i++)
		x->ports[i].seen = false;
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned p = 1; !node->gone && p <= node->nports; p++)
			/* Mostly nobody is silent, and then the list need not be searched. */
			if (sweep_is_silent_behind(node, p, true) &&
			    sweep_is_silent_behind(node, p,
						   find(x, node->guid, (uint8_t)p) != NULL))
				note(x, node, (uint8_t)p);
	for (unsigned i = x->count; i-- > 0;)
		if (!x->ports[i].seen) {
			drop(x, i);
			fabric_request_reroute(x->fabric, "M_Key"); /* it may need its own */
		}
}

static void raise_alerts(struct hidden *x)
{
	x->probable = 0;
	alerts_review(x->services->alerts, "m-key-probable");
	for (unsigned i = 0; i < x->count; i++) {
		const struct hidden_port *port = &x->ports[i];
		enum hidden_reason reason = reason_of(port);
		struct event_subject subject;
		char name[NAME];

		if (!reason || x->probable++ >= NAMED)
			continue;
		name_of(port, name);
		subject = inventory_link_subject(x->services->inventory, port->node, port->num);
		subject.name = name;
		alert_raise(x->services->alerts, "m-key-probable", &subject,
			    "%s: answers no SMP, but %s: it probably holds an M_Key that this "
			    "manager does not know, with protection level 2 or 3; nothing is "
			    "written to it",
			    name, reasons[reason]);
	}
	if (x->probable > NAMED)
		alert_raise(x->services->alerts, "m-key-probable", NULL,
			    "%u more ports answer no SMP and probably hold an M_Key that this "
			    "manager does not know",
			    x->probable - NAMED);
	alerts_reviewed(x->services->alerts, "m-key-probable");
}

void hidden_review(struct hidden *x, bool master)
{
	if (master)
		collect(x);
	while (!master && x->count)
		drop(x, x->count - 1);
	for (unsigned i = 0; i < x->count; i++)
		ask_gmp(&x->ports[i]);
	raise_alerts(x);
}

void hidden_trap(struct hidden *x, guid_t node)
{
	for (unsigned i = 0; i < x->count; i++)
		if (x->ports[i].behind == node)
			x->ports[i].trap_us = loop_now_us(x->services->loop);
}

/* ---- For operators --------------------------------------------------------------------------- */

void hidden_unhealthy(const struct hidden *x, const struct fabric_view *view, json_t *rows)
{
	for (unsigned i = 0; i < x->count; i++) {
		const struct hidden_port *h = &x->ports[i];
		uint32_t port = view->topo ? topo_port_of(view->topo, h->node, h->num) : TOPO_NONE;

		if (port != TOPO_NONE && reason_of(h))
			json_array_append_new(
				rows,
				dump_json_unhealthy_link(
					view->topo, port, "m-key",
					json_sprintf("answers no SMP, but %s: probably a foreign "
						     "M_Key",
						     reasons[reason_of(h)])));
	}
}

json_t *hidden_json(const struct hidden *x)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < x->count; i++) {
		enum hidden_reason reason = reason_of(&x->ports[i]);
		char name[NAME];

		if (!reason)
			continue;
		name_of(&x->ports[i], name);
		json_array_append_new(rows,
				      json_pack("{ss ss}", "port", name, "why", reasons[reason]));
	}
	return rows;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void hidden_init(struct hidden *x, struct fabric *fabric, const struct fabric_services *services)
{
	memset(x, 0, sizeof(*x));
	x->fabric = fabric;
	x->services = services;
}

void hidden_fini(struct hidden *x)
{
	hidden_review(x, false);
}
