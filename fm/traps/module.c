/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traps about errors, and traps that can't be true, counted by their sender.
 *
 * 129-131 come from a port whose link is bad. 256-259 come from a port that saw a wrong key and
 * name the port that used it (IBA 14.2.5.1): only the sender says so, it is shown as such, and
 * nothing is done to the port named. A trap of another kind that names a port which did not send it
 * is forged: any host with a port may send one. It is ignored, and its sender is named, not the
 * port in it.
 *
 * No sweep could find more, so none is made. A sender of more than RATE in WINDOW_US is reported by
 * an event, then at most once in LOG_AGAIN_US; senders of the last KEPT_US are shown among the
 * unhealthy links.
 *
 * Who sends traps can have any LID as their sender, and any port in them: senders that nobody knows
 * are one, ports that a sender does not have are none, and all senders together are EVENTS events
 * in LOG_AGAIN_US.
 */
#include "fm/traps/module.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"

#define PORTS	     256 /* counted at a time: the one silent longest is dropped first */
#define RATE	     10
#define WINDOW_US    10000000
#define LOG_AGAIN_US 60000000
#define EVENTS	     30
#define KEPT_US	     600000000

struct sender {
	uint16_t trap, from_lid; /* 0 = all that nobody knows */
	uint8_t port;		 /* of a switch, for 129-131; else 0 */
	bool forged;		 /* names a port that did not send it */
	uint16_t lid, latest;	 /* named in the latest, and who sent that */
	uint64_t total, last_us; /* total 0 = slot not used */
	uint64_t window_us;	 /* when the counting window began */
	unsigned in_window;	 /* traps in that window */
	uint64_t logged_us;
};

struct error_traps {
	const struct fabric *fabric;
	struct loop *loop;
	struct event_log *events;
	struct sender ports[PORTS];
	uint64_t total, forged;
	uint64_t events_us; /* when the first of `nevents` was */
	unsigned nevents;   /* events within LOG_AGAIN_US */
};

static const char *error_name(uint16_t trap)
{
	switch (trap) {
	case 129:
		return "link integrity errors";
	case 130:
		return "buffer overruns";
	case 131:
		return "flow control stalls";
	case 256:
		return "wrong M_Keys";
	case 257:
	case 259:
		return "wrong P_Keys";
	case 258:
		return "wrong Q_Keys";
	default:
		return NULL;
	}
}

static struct sender *find_sender(struct error_traps *e, const struct sender *like)
{
	struct sender *slot = &e->ports[0];

	for (unsigned i = 0; i < PORTS; i++) {
		struct sender *p = &e->ports[i];

		if (p->total && p->trap == like->trap && p->from_lid == like->from_lid &&
		    p->port == like->port && p->forged == like->forged)
			return p;
		if (p->last_us < slot->last_us)
			slot = p;
	}
	*slot = *like;
	return slot;
}

/*
 * The port that it is about: the sender's, of a switch the one that it names. TOPO_NONE = of nobody
 * we know.
 */
static uint32_t sender_port(const struct fabric_view *view, const struct sender *p)
{
	uint32_t port = fabric_view_port_of_lid(view, p->from_lid);

	if (port == TOPO_NONE)
		return TOPO_NONE;

	const struct topo_node *node = &view->topo->nodes[view->topo->ports[port].node];

	return node->type == TOPO_SWITCH && p->port <= node->nports ? node->port0 + p->port : port;
}

static json_t *details_of(const struct sender *p, unsigned num)
{
	return json_pack("{si si si si sI}", "trap", p->trap, "lid", p->lid, "from", p->latest,
			 "port", num, "total", (json_int_t)p->total);
}

static void report(const struct error_traps *e, const struct sender *p)
{
	struct fabric_view view = fabric_view(e->fabric);
	uint32_t port = sender_port(&view, p);
	unsigned num = port == TOPO_NONE ? p->port : view.topo->ports[port].num;
	const char *sender = fabric_view_name_of_lid(&view, p->latest);
	struct event_subject subject =
		event_subject_port(view.topo, fabric_view_port_of_lid(&view, p->latest));

	if (port != TOPO_NONE)
		subject = event_subject_port(view.topo, port);
	if (p->forged)
		event_log_add(e->events, LOG_WARNING, "forged-traps", &subject, details_of(p, num),
			      "%s (LID %u): sent %u traps %u within %u s that name other ports, "
			      "the latest %s (LID %u); they are ignored",
			      sender, p->latest, p->in_window, p->trap, WINDOW_US / 1000000,
			      fabric_view_name_of_lid(&view, p->lid), p->lid);
	else if (p->trap >= 256)
		event_log_add(
			e->events, LOG_WARNING, "key-violations", &subject, details_of(p, num),
			"%s (LID %u) reports %s, %u traps within %u s, the latest from %s (LID %u)",
			sender, p->latest, error_name(p->trap), p->in_window, WINDOW_US / 1000000,
			fabric_view_name_of_lid(&view, p->lid), p->lid);
	else
		event_log_add(e->events, LOG_WARNING, "port-errors", &subject, details_of(p, num),
			      "%s p%u: %s, %u traps within %u s", sender, num, error_name(p->trap),
			      p->in_window, WINDOW_US / 1000000);
}

static bool may_report(struct error_traps *e, uint64_t now)
{
	if (!e->nevents || now - e->events_us >= LOG_AGAIN_US) {
		e->events_us = now;
		e->nevents = 0;
	}
	return e->nevents++ < EVENTS;
}

static void trap(void *room, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		 bool forged)
{
	struct error_traps *e = room;
	struct sender like = { .trap = notice->trap, .latest = from_lid, .forged = forged };

	/* NULL = nobody we know. */
	struct fabric_view view = fabric_view(e->fabric);
	uint32_t port = fabric_view_port_of_lid(&view, from_lid);
	const struct topo_node *node =
		port == TOPO_NONE ? NULL : &view.topo->nodes[view.topo->ports[port].node];

	if (!forged && (!notice->generic || !error_name(notice->trap)))
		return;
	if (node)
		like.from_lid = from_lid;
	if (!forged && !(notice->trap >= 256) && node && node->type == TOPO_SWITCH &&
	    notice->port <= node->nports)
		like.port = notice->port;
	like.lid = forged || notice->lid ? notice->lid : from_lid;
	if (forged)
		e->forged += times;

	uint64_t now = loop_now_us(e->loop);
	struct sender *p = find_sender(e, &like);

	if (!p->total || now - p->window_us >= WINDOW_US) {
		p->window_us = now;
		p->in_window = 0;
	}
	e->total += times;
	p->lid = like.lid;
	p->latest = like.latest;
	p->total += times;
	p->in_window += times;
	p->last_us = now;
	if (p->in_window <= RATE || (p->logged_us && now - p->logged_us < LOG_AGAIN_US) ||
	    !may_report(e, now))
		return;
	p->logged_us = now;
	report(e, p);
}

/* ---- For operators --------------------------------------------------------------------------- */

static json_t *reason(const struct fabric_view *view, const struct sender *p)
{
	unsigned long long total = p->total;

	if (p->forged)
		return json_sprintf("%llu forged traps %u that name other ports", total, p->trap);
	if (p->trap >= 256)
		return json_sprintf("reports %s, %llu traps, the latest from %s",
				    error_name(p->trap), total,
				    fabric_view_name_of_lid(view, p->lid));
	return json_sprintf("%llu traps: %s", total, error_name(p->trap));
}

void error_traps_unhealthy(const struct fabric *fabric, json_t *rows)
{
	const struct error_traps *e = fabric_room(fabric, &error_traps_module);
	struct fabric_view view = fabric_view(e->fabric);
	uint64_t now = loop_now_us(e->loop);

	for (unsigned i = 0; i < PORTS; i++) {
		const struct sender *p = &e->ports[i];
		bool recent = p->total && now - p->last_us < KEPT_US;
		uint32_t port = recent ? sender_port(&view, p) : TOPO_NONE;

		if (port != TOPO_NONE)
			json_array_append_new(rows,
					      dump_json_unhealthy_link(view.topo, port, "errors",
								       reason(&view, p)));
	}
}

static void status(const void *room, json_t *doc)
{
	const struct error_traps *e = room;
	json_t *traps = json_object_get(doc, "traps");

	json_object_set_new(traps, "errors", json_integer((json_int_t)e->total));
	json_object_set_new(traps, "forged", json_integer((json_int_t)e->forged));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct fabric_services services = fabric_services(fabric);
	struct error_traps *e = mem_new(e);

	e->fabric = fabric;
	e->loop = services.loop;
	e->events = services.events;
	return e;
}

const struct fabric_module error_traps_module = {
	.name = "error-traps", .init = init, .fini = free, .trap = trap, .status = status
};
