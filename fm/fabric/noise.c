/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_noise: traps about errors, and traps that can't be true, counted by their sender.
 *
 * 129-131 come from a port whose link is bad. 256-259 come from a port that saw a wrong key and name whoever used it (IBA 14.2.5.1):
 * that is the sender's word alone, shown as such, and nothing is done to the port named. A trap of another kind that names a port which
 * did not send it is forged: any host with a port may send one. Nobody acts on it, and its sender is named, not the port in it.
 *
 * No sweep could find more, so none is made. A sender of more than RATE in WINDOW_US is told in an event, then at most once in
 * TELL_AGAIN_US; those heard of in the last KEPT_US are shown among the sick links.
 */
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define PORTS	      256 /* counted at a time: who was silent longest gives way */
#define RATE	      10
#define WINDOW_US     10000000
#define TELL_AGAIN_US 60000000
#define KEPT_US	      600000000

struct noisy {
	uint16_t trap, from_lid;
	uint8_t port;		 /* of a switch, for 129-131; else 0 */
	bool forged;		 /* sent about a port of somebody else */
	uint16_t lid;		 /* named in the latest */
	uint64_t total, last_us; /* total 0 = slot not used */
	uint64_t window_us;	 /* since when.. */
	unsigned in_window;	 /* ..so many */
	uint64_t told_us;
};

struct noise {
	struct noisy ports[PORTS];
	uint64_t total, forged;
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

static struct noisy *noisy_find(struct noise *noise, const struct noisy *like)
{
	struct noisy *slot = &noise->ports[0];

	for (unsigned i = 0; i < PORTS; i++) {
		struct noisy *p = &noise->ports[i];

		if (p->total && p->trap == like->trap && p->from_lid == like->from_lid &&
		    p->port == like->port && p->forged == like->forged)
			return p;
		if (p->last_us < slot->last_us)
			slot = p;
	}
	*slot = *like;
	return slot;
}

static bool names_others(uint16_t trap)
{
	return trap >= 256;
}

/* The port that it is about: the sender's, of a switch the one that it names. TOPO_NONE = of nobody we know. */
static uint32_t noisy_port(const struct fabric *f, const struct noisy *p)
{
	uint32_t port = fabric_port_of_lid(f, p->from_lid);
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

static json_t *details_of(const struct noisy *p, unsigned num)
{
	return json_pack("{si si si si sI}", "trap", (int)p->trap, "lid", (int)p->lid, "from",
			 (int)p->from_lid, "port", (int)num, "total", (json_int_t)p->total);
}

static void tell(struct fabric *f, const struct noisy *p)
{
	uint32_t port = noisy_port(f, p);
	unsigned num = port == TOPO_NONE ? p->port : f->topo->ports[port].num;
	const char *sender = name_of_lid(f, p->from_lid);

	if (p->forged)
		event_log_add(
			f->events, LOG_WARNING, "forged-traps", details_of(p, num),
			"%s (LID %u): %u traps %u within %u s name ports that did not send them, "
			"the latest %s (LID %u); not believed",
			sender, p->from_lid, p->in_window, p->trap, WINDOW_US / 1000000,
			name_of_lid(f, p->lid), p->lid);
	else if (names_others(p->trap))
		event_log_add(
			f->events, LOG_WARNING, "key-violations", details_of(p, num),
			"%s (LID %u) reports %s, %u traps within %u s, the latest from %s (LID %u)",
			sender, p->from_lid, noise_name(p->trap), p->in_window, WINDOW_US / 1000000,
			name_of_lid(f, p->lid), p->lid);
	else
		event_log_add(f->events, LOG_WARNING, "port-errors", details_of(p, num),
			      "%s p%u: %s, %u traps within %u s", sender, num, noise_name(p->trap),
			      p->in_window, WINDOW_US / 1000000);
}

static void count(struct fabric *f, const struct noisy *like, unsigned times)
{
	uint64_t now = loop_now_us(f->loop);
	struct noisy *p = noisy_find(f->noise, like);

	if (!p->total || now - p->window_us >= WINDOW_US) {
		p->window_us = now;
		p->in_window = 0;
	}
	f->noise->total += times;
	p->lid = like->lid;
	p->total += times;
	p->in_window += times;
	p->last_us = now;
	if (p->in_window <= RATE || (p->told_us && now - p->told_us < TELL_AGAIN_US))
		return;
	p->told_us = now;
	tell(f, p);
}

void fabric_noise(struct fabric *f, const struct wire_notice *notice, uint16_t from_lid,
		  unsigned times)
{
	const struct noisy like = { .trap = notice->trap,
				    .from_lid = from_lid,
				    .port = names_others(notice->trap) ? 0 : notice->port,
				    .lid = notice->lid ? notice->lid : from_lid };

	if (noise_name(notice->trap))
		count(f, &like, times);
}

void fabric_noise_forged(struct fabric *f, const struct wire_notice *notice, uint16_t from_lid,
			 unsigned times)
{
	const struct noisy like = {
		.trap = notice->trap, .from_lid = from_lid, .forged = true, .lid = notice->lid
	};

	f->noise->forged += times;
	count(f, &like, times);
}

static json_t *reason(const struct fabric *f, const struct noisy *p)
{
	unsigned long long total = p->total;

	if (p->forged)
		return json_sprintf("%llu traps %u that name others: forged", total, p->trap);
	if (names_others(p->trap))
		return json_sprintf("reports %s, %llu traps, the latest from %s",
				    noise_name(p->trap), total, name_of_lid(f, p->lid));
	return json_sprintf("%llu traps: %s", total, noise_name(p->trap));
}

void fabric_noise_rows(const struct fabric *f, json_t *rows)
{
	uint64_t now = loop_now_us(f->loop);

	for (unsigned i = 0; i < PORTS; i++) {
		const struct noisy *p = &f->noise->ports[i];
		uint32_t port =
			p->total && now - p->last_us < KEPT_US ? noisy_port(f, p) : TOPO_NONE;

		if (port != TOPO_NONE)
			json_array_append_new(rows,
					      fabric_sick_row(f, port, "errors", reason(f, p)));
	}
}

uint64_t fabric_noise_total(const struct fabric *f)
{
	return f->noise->total;
}

uint64_t fabric_noise_forged_total(const struct fabric *f)
{
	return f->noise->forged;
}

void fabric_noise_init(struct fabric *f)
{
	f->noise = mem_alloc(1, sizeof(*f->noise));
}

void fabric_noise_fini(struct fabric *f)
{
	free(f->noise);
}
