/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_noise: traps about errors, counted by port.
 *
 * 129-131 come from a port whose link is bad, 256-259 from one that saw a wrong key; the LID in 256-259 is
 * that of the sender of it (IBA 14.2.5.1). No look could find more, so none is made. A port that sends
 * more than RATE in WINDOW_US is told in an event, then at most once in TELL_AGAIN_US; those heard of in the
 * last KEPT_US are shown among the sick links.
 */
#include <stdlib.h>
#include "fm/fabric_own.h"
#include "topology/mem.h"

#define PORTS	      256 /* counted at a time: who was silent longest gives way */
#define RATE	      10
#define WINDOW_US     10000000
#define TELL_AGAIN_US 60000000
#define KEPT_US	      600000000

struct noisy {
	uint16_t trap, lid, from_lid;
	uint8_t port;
	uint64_t total, last_us; /* total 0 = slot not used */
	uint64_t window_us;	 /* since when.. */
	unsigned in_window;	 /* ..so many */
	uint64_t told_us;
};

struct noise {
	struct noisy ports[PORTS];
	uint64_t total;
};

static const char *noise_name(uint16_t trap)
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

static struct noisy *noisy_find(struct noise *noise, const struct wire_notice *n, uint16_t from_lid)
{
	uint16_t lid = n->lid ? n->lid : from_lid;
	struct noisy *slot = &noise->ports[0];

	for (unsigned i = 0; i < PORTS; i++) {
		struct noisy *p = &noise->ports[i];

		if (p->total && p->trap == n->trap && p->lid == lid && p->port == n->port &&
		    p->from_lid == from_lid)
			return p;
		if (p->last_us < slot->last_us)
			slot = p;
	}
	*slot = (struct noisy){
		.trap = n->trap, .lid = lid, .from_lid = from_lid, .port = n->port
	};
	return slot;
}

/* The port that it is about, TOPO_NONE = of nobody we know. */
static uint32_t noisy_port(const struct fabric *f, const struct noisy *p)
{
	uint32_t port = fabric_port_of_lid(f, p->trap == 259 ? p->from_lid : p->lid);
	const struct topo_node *node;

	if (port == TOPO_NONE)
		return TOPO_NONE;
	node = &f->topo->nodes[f->topo->ports[port].node];
	return node->type == TOPO_SWITCH && p->port <= node->nports ? node->port0 + p->port : port;
}

static const char *name_of_lid(const struct fabric *f, uint16_t lid)
{
	uint32_t port = fabric_port_of_lid(f, lid);

	return port == TOPO_NONE ? "unknown" : f->topo->nodes[f->topo->ports[port].node].desc;
}

static void tell(struct fabric *f, const struct noisy *p)
{
	uint32_t port = noisy_port(f, p);
	unsigned num = port == TOPO_NONE ? p->port : f->topo->ports[port].num;
	json_t *details = json_pack("{si si si sI}", "trap", (int)p->trap, "lid", (int)p->lid,
				    "port", (int)num, "total", (json_int_t)p->total);

	if (p->trap < 256)
		event_log_add(f->events, LOG_WARNING, "port-errors", details,
			      "%s p%u: %s, %u traps within %u s", name_of_lid(f, p->lid), num,
			      noise_name(p->trap), p->in_window, WINDOW_US / 1000000);
	else
		event_log_add(f->events, LOG_WARNING, "key-violations", details,
			      "%s (LID %u): %s, %u traps within %u s, seen by %s",
			      name_of_lid(f, p->lid), p->lid, noise_name(p->trap), p->in_window,
			      WINDOW_US / 1000000, name_of_lid(f, p->from_lid));
}

void fabric_noise(struct fabric *f, const struct wire_notice *notice, uint16_t from_lid,
		  unsigned times)
{
	uint64_t now = loop_now_us(f->loop);
	struct noisy *p;

	if (!noise_name(notice->trap))
		return;
	p = noisy_find(f->noise, notice, from_lid);
	if (!p->total || now - p->window_us >= WINDOW_US) {
		p->window_us = now;
		p->in_window = 0;
	}
	f->noise->total += times;
	p->total += times;
	p->in_window += times;
	p->last_us = now;
	if (p->in_window <= RATE || (p->told_us && now - p->told_us < TELL_AGAIN_US))
		return;
	p->told_us = now;
	tell(f, p);
}

void fabric_noise_rows(const struct fabric *f, json_t *rows)
{
	uint64_t now = loop_now_us(f->loop);

	for (unsigned i = 0; i < PORTS; i++) {
		const struct noisy *p = &f->noise->ports[i];
		uint32_t port =
			p->total && now - p->last_us < KEPT_US ? noisy_port(f, p) : TOPO_NONE;

		if (port != TOPO_NONE)
			json_array_append_new(
				rows, fabric_sick_row(f, port, "errors",
						      json_sprintf("%llu traps: %s",
								   (unsigned long long)p->total,
								   noise_name(p->trap))));
	}
}

uint64_t fabric_noise_total(const struct fabric *f)
{
	return f->noise->total;
}

void fabric_noise_init(struct fabric *f)
{
	f->noise = mem_alloc(1, sizeof(*f->noise));
}

void fabric_noise_fini(struct fabric *f)
{
	free(f->noise);
}
