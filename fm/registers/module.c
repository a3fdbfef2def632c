/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Both ends of a link that went down are asked for the reason once all that was published is
 * programmed and brought up, so that no reroute waits for them. What is known when both have
 * answered, or do not, is an event, EVENTS of them in a burst.
 *
 * Each end reports a reason of its own, one that it has heard of the other end, and whom it blames.
 * A reason at the end that is blamed goes before others.
 */
#include "fm/registers/module.h"
#include "fm/registers/registers.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define EVENTS	     20
#define REASONS	     256
#define REASON_LEAST 2 /* 0 is none, 1 is unknown */

struct registers_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct registers *registers;
	unsigned burst; /* events since nothing was waiting */
	uint64_t reasons[REASONS];
};

/* ---- What both ends report ------------------------------------------------------------------- */

struct verdict { /* on a link */
	uint8_t reason, by_port, blame_port;
	bool whole;		      /* both ends report it as their own */
	guid_t by;		      /* the end that reports it */
	const struct wire_down *down; /* all that this end reports */
	guid_t blame;		      /* 0 = nobody is blamed */
	unsigned weight;
};

static void weigh(struct verdict *v, const struct register_port *end, guid_t node, uint8_t port)
{
	const struct wire_down *down = &end->down;

	for (unsigned blame = WIRE_BLAME_LOCAL; blame <= WIRE_BLAME_REMOTE; blame++) {
		unsigned reason = blame == WIRE_BLAME_LOCAL ? down->local : down->remote;
		bool own = blame == WIRE_BLAME_LOCAL;
		unsigned weight = reason < REASON_LEAST ? 0 : 1 + own + 2 * (down->blame == blame);

		if (weight <= v->weight)
			continue;
		*v = (struct verdict){ .reason = reason,
				       .weight = weight,
				       .by = node,
				       .by_port = port,
				       .down = down };
		if (down->blame == WIRE_BLAME_LOCAL) {
			v->blame = node;
			v->blame_port = port;
		} else if (down->blame == WIRE_BLAME_REMOTE) {
			v->blame = end->peer;
			v->blame_port = end->peer_port;
		}
	}
}

/* False: neither end reports a reason. */
static bool judge(const struct registers *r, guid_t node, uint8_t port, struct verdict *v)
{
	const struct register_port *here = registers_port(r, node, port), *there;

	*v = (struct verdict){ 0 };
	if (!here || !here->peer)
		return false;
	there = registers_port(r, here->peer, here->peer_port);
	if (here->state == REGISTER_READ)
		weigh(v, here, node, port);
	if (there && there->state == REGISTER_READ && there->peer == node &&
	    there->peer_port == port) {
		weigh(v, there, here->peer, here->peer_port);
		v->whole = here->state == REGISTER_READ && here->down.local == v->reason &&
			   there->down.local == v->reason;
	}
	return v->weight;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void end_name(const struct fabric *fabric, guid_t node, uint8_t port, char *to, size_t size)
{
	const struct topo *t = fabric_view(fabric).topo;
	uint32_t at = t ? topo_find(t, node) : TOPO_NONE;

	if (at == TOPO_NONE)
		snprintf(to, size, "0x%016" PRIx64 " p%u", node, port);
	else
		snprintf(to, size, "%s p%u", t->nodes[at].name, port);
}

static void reason_name(unsigned reason, char name[64])
{
	const char *word = wire_down_reason(reason);

	if (word)
		snprintf(name, 64, "%s", word);
	else
		snprintf(name, 64, "reason %u", reason);
}

bool link_down_reason(const struct fabric *fabric, guid_t node, uint8_t port,
		      struct link_down_reason *out)
{
	const struct registers_room *room = fabric_room(fabric, &registers_module);
	char name[64], end[128];
	struct verdict v;

	*out = (struct link_down_reason){ 0 };
	if (!room || !judge(room->registers, node, port, &v))
		return false;
	reason_name(v.reason, name);
	array_printf(out->reason, "%s", name);
	if (strstr(name, "BER") && v.down->effective_coefficient)
		array_add(out->reason, ": effective %ue-%u", v.down->effective_coefficient,
			  v.down->effective_magnitude);
	if (!v.whole) {
		end_name(fabric, v.by, v.by_port, end, sizeof(end));
		array_add(out->reason, ", reported by %s", end);
	}
	if (v.blame && !v.whole)
		end_name(fabric, v.blame, v.blame_port, out->blame, sizeof(out->blame));
	return true;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool may_ask(void *arg)
{
	const struct registers_room *room = arg;

	return fabric_is_quiet(room->fabric);
}

static void ended(void *arg, guid_t node, uint8_t port)
{
	struct registers_room *room = arg;
	const struct register_port *here = registers_port(room->registers, node, port);
	const struct register_port *there =
		registers_port(room->registers, here->peer, here->peer_port);
	const struct topo *t = fabric_view(room->fabric).topo;
	struct link_down_reason why;
	struct verdict v;

	if (there && (there->state == REGISTER_WANTED || there->state == REGISTER_ASKED))
		return;
	if (link_down_reason(room->fabric, node, port, &why) && t &&
	    judge(room->registers, node, port, &v)) {
		uint32_t at = topo_find(t, node);
		char link[2][128];

		room->reasons[v.reason]++;
		end_name(room->fabric, node, port, link[0], sizeof(link[0]));
		end_name(room->fabric, here->peer, here->peer_port, link[1], sizeof(link[1]));
		if (at != TOPO_NONE && port <= t->nodes[at].nports && room->burst++ < EVENTS) {
			const struct event_subject subject =
				event_subject_port(t, t->nodes[at].port0 + port);

			event_log_add(room->services.events, LOG_NOTICE, "link-down-reason",
				      &subject,
				      json_pack("{ss ss* sb}", "reason", why.reason, "blame",
						*why.blame ? why.blame : NULL, "intended",
						v.down->intent == WIRE_INTENT_YES),
				      "%s - %s: went down: %s", link[0], link[1], why.reason);
		}
	}
	if (!registers_waiting(room->registers))
		room->burst = 0;
}

static const char *registers_swept(void *arg, const struct fabric_swept *swept)
{
	struct registers_room *room = arg;

	if (swept->step == FABRIC_LINK_FELL) {
		const struct inv_node *node = inventory_find(room->services.inventory, swept->node);
		const struct inv_port *port =
			node && swept->port <= node->nports ? &node->ports[swept->port] : NULL;

		if (port && port->peer)
			registers_link_fell(room->registers, swept->node, swept->port,
					    port->peer->guid, port->peer_port);
	}
	return NULL;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void registers_status(const void *arg, json_t *doc)
{
	const struct registers_room *room = arg;
	struct registers_counts counts = registers_counts(room->registers);
	json_t *reasons = json_object();

	for (unsigned i = 0; i < REASONS; i++)
		if (room->reasons[i]) {
			char name[64];

			reason_name(i, name);
			json_object_set_new(reasons, name,
					    json_integer((json_int_t)room->reasons[i]));
		}
	json_object_set_new(doc, "registers",
			    json_pack("{sI sI sI sI sI si so}", "asked", (json_int_t)counts.asked,
				      "read", (json_int_t)counts.read, "refused",
				      (json_int_t)counts.refused, "malformed",
				      (json_int_t)counts.malformed, "unanswered",
				      (json_int_t)counts.unanswered, "waiting",
				      registers_waiting(room->registers), "down_reasons", reasons));
}

static void *init(struct fabric *fabric)
{
	static const struct registers_ops ops = { .may_ask = may_ask, .ended = ended };
	struct registers_room *room = mem_new(room);

	room->fabric = fabric;
	room->services = fabric_services(fabric);
	room->registers = registers_new(room->services.loop, room->services.mad,
					room->services.inventory, &ops, room);
	return room;
}

static void fini(void *arg)
{
	struct registers_room *room = arg;

	registers_free(room->registers);
	free(room);
}

const struct fabric_module registers_module = {
	.name = "registers",
	.init = init,
	.fini = fini,
	.swept = registers_swept,
	.status = registers_status,
};
