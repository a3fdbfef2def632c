/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_speed: links slower, or with fewer lanes, than their like.
 *
 * Links are alike when they join the same kinds of devices in the same place: HCAs of one model and
 * one scalable unit (without rails: of one leaf) with its leaves, or switches of two models at two
 * levels. 80% of four links at least have to agree. A switch or host whose links are all like that
 * is another kind: it is left out, as an older card or switch is.
 */
#include <stdlib.h>
#include "topology/cabling_own.h"
#include "topology/mem.h"
#include "topology/sort.h"

#define LIKE_MIN 4

struct link_class {
	uint64_t kind;	/* of both devices, and how deep */
	uint32_t place; /* unit or leaf; levels */
	uint32_t port;	/* of the lower end, index */
	uint8_t speed, width;
};

static int compare_classes(const void *va, const void *vb)
{
	const struct link_class *a = va, *b = vb;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->port < b->port ? -1 : a->port > b->port;
}

static bool is_running(const struct topo_port *port)
{
	return port->link_up && port->speed && port->width;
}

static struct link_class class_of(const struct wiring *w, uint32_t p)
{
	const struct topo_port *port = &w->t->ports[p], *peer = &w->t->ports[w->found[p]];
	const struct topo_node *node = &w->t->nodes[port->node];
	const struct topo_node *far = &w->t->nodes[peer->node];
	bool host = node->type != TOPO_SWITCH;

	return (struct link_class){ .kind = (uint64_t)host << 32 | (uint32_t)node->device << 16 |
					    far->device,
				    .place = !host ? (uint32_t)node->level << 8 | far->level
					     : node->su >= 0 ? (uint32_t)node->su
							     : peer->node | 1u << 31,
				    .port = p,
				    .speed = port->speed,
				    .width = port->width };
}

/* Of a cable the lower end: an HCA, or the switch of the lower level. */
static bool is_lower(const struct wiring *w, uint32_t p)
{
	const struct topo_node *node = &w->t->nodes[w->node[p]];
	const struct topo_node *far = &w->t->nodes[w->node[w->found[p]]];

	if (node->type != TOPO_SWITCH || far->type != TOPO_SWITCH)
		return node->type != TOPO_SWITCH && (far->type == TOPO_SWITCH || p < w->found[p]);
	return node->level != far->level ? node->level < far->level : p < w->found[p];
}

/* The speed and width that most links of a class have. */
static const struct link_class *usual_of(const struct link_class *links, uint32_t n,
					 uint32_t *votes)
{
	uint32_t count[16][16] = { 0 };
	const struct link_class *best = links;

	*votes = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *same = &count[links[i].speed & 15][links[i].width & 15];

		if (++*same > *votes) {
			*votes = *same;
			best = &links[i];
		}
	}
	return best;
}

static bool is_slower(const struct topo_port *port, const struct link_class *usual)
{
	return port->speed < usual->speed || port->width < usual->width;
}

/* A node that has two links of the kind at least, and all of them slower, is another kind. */
static bool is_all_slow(const struct wiring *w, uint32_t node, const struct link_class *usual,
			bool host)
{
	uint32_t slow = 0, links = 0;

	for (unsigned num = 1; num <= w->t->nodes[node].nports; num++) {
		const struct topo_port *port = topo_port(w->t, node, num);
		const struct topo_port *peer = topo_peer(w->t, port);

		if (!peer || !is_running(port) ||
		    (w->t->nodes[peer->node].type == TOPO_SWITCH) == host ||
		    w->t->nodes[peer->node].sharp)
			continue;
		links++;
		slow += is_slower(port, usual);
	}
	return links > 1 && slow == links;
}

/* The same of a host and all its HCAs. */
static bool is_slow_host(const struct wiring *w, uint32_t ca, const struct link_class *usual)
{
	const struct topo *t = w->t;
	const struct topo_host *host =
		t->nodes[ca].host == TOPO_NONE ? NULL : &t->hosts[t->nodes[ca].host];
	uint32_t slow = 0, links = 0;

	for (uint32_t i = 0; host && i < host->ncas; i++) {
		const struct topo_port *port =
			cabling_first_cabled(t, t->host_cas[host->first + i]);

		if (!port || !is_running(port))
			continue;
		links++;
		slow += is_slower(port, usual);
	}
	return links > 1 && slow == links;
}

static void report_slow(struct wiring *w, const struct link_class *link,
			const struct link_class *usual, struct wiring_votes votes)
{
	const struct topo_port *port = &w->t->ports[link->port];
	const struct topo_port *peer = &w->t->ports[w->found[link->port]];
	bool host = w->t->nodes[port->node].type != TOPO_SWITCH;

	if (host ? is_slow_host(w, port->node, usual) || is_all_slow(w, peer->node, usual, true)
		 : is_all_slow(w, port->node, usual, false) ||
			    is_all_slow(w, peer->node, usual, false))
		return;
	cabling_add(w->result,
		    &(struct cabling_item){ .kind = link->speed < usual->speed ? CABLING_SPEED
									       : CABLING_WIDTH,
					    .at = cabling_end_of(w->t, host ? peer : port),
					    .found = cabling_end_of(w->t, host ? port : peer),
					    .a = cabling_end_of(w->t, port),
					    .b = cabling_end_of(w->t, peer),
					    .a_found = cabling_end_of(w->t, peer),
					    .b_found = cabling_end_of(w->t, port),
					    .speed = link->speed,
					    .width = link->width,
					    .usual_speed = usual->speed,
					    .usual_width = usual->width,
					    .votes = votes.votes,
					    .of = votes.of });
}

static void judge_class(struct wiring *w, const struct link_class *links, uint32_t n)
{
	uint32_t votes;
	const struct link_class *usual = usual_of(links, n, &votes);

	if (votes < LIKE_MIN || !most(votes, n, 4, 5))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (links[i].speed < usual->speed || links[i].width < usual->width)
			report_slow(w, &links[i], usual, (struct wiring_votes){ votes, n });
}

void cabling_find_slow(struct wiring *w)
{
	struct link_class *links = mem_alloc(w->t->nports + 1, sizeof(*links));
	uint32_t n = 0;

	for (uint32_t p = 0; p < w->t->nports; p++)
		if (w->found[p] != TOPO_NONE && is_running(&w->t->ports[p]) && is_lower(w, p))
			links[n++] = class_of(w, p);
	sort_if_needed(links, n, sizeof(*links), compare_classes);
	for (uint32_t i = 0, j; i < n; i = j) {
		for (j = i + 1;
		     j < n && links[j].kind == links[i].kind && links[j].place == links[i].place;)
			j++;
		judge_class(w, links + i, j - i);
	}
	free(links);
}
