/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A link that runs narrower or slower than both its ports support (PortInfo) is reported, once,
 * behind the pass that finds it. Where most links of a fabric run so (split ports, a simulator),
 * that is taken for its design, and only links below the usual width and speed are reported.
 *
 * All links are looked at in pieces, in the order of GUIDs and ports.
 */
#include <stdlib.h>
#include "fm/conf/lists.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/perf/module_own.h"
#include "topology/base/mem.h"

#define LANES_MAX	  12
#define LOGGED_ONE_BY_ONE 20   /* links below what they can, of one pass */
#define PORTS_A_PIECE	  2048 /* looked at */

static uint8_t highest_bit(unsigned mask)
{
	return mask ? (uint8_t)(1u << (31 - __builtin_clz(mask))) : 0;
}

/* Of what both support. 2x has the highest bit of the widths and stands below 4x. */
static struct wire_port_info best_of(const struct wire_port_info *a, const struct wire_port_info *b)
{
	unsigned widths = a->width_supported & b->width_supported;

	return (struct wire_port_info){
		.width_active = highest_bit(widths & 0xe ? widths & 0xe : widths),
		.speed_active = highest_bit(a->speed_supported & b->speed_supported),
		.speed_ext_active = highest_bit(a->speed_ext_supported & b->speed_ext_supported),
		.speed_ext2_active = highest_bit(a->speed_ext2_supported & b->speed_ext2_supported),
	};
}

/*
 * The link at a port with its lower GUID's end; false when nothing is known of it, or it is not
 * Active.
 */
static bool link_at(const struct inv_node *node, uint8_t num, struct slow_link *out)
{
	const struct inv_port *a = &node->ports[num], *b;
	struct wire_port_info x, y, best;

	if (!a->link_up || !a->known || !a->peer || a->peer->guid < node->guid)
		return false;
	b = &a->peer->ports[a->peer_port];
	if (!b->known || a->state != TOPO_ACTIVE)
		return false;
	wire_port_info_decode(a->info, &x);
	wire_port_info_decode(b->info, &y);
	best = best_of(&x, &y);
	*out = (struct slow_link){ .node = node->guid,
				   .port = num,
				   .lanes = a->lanes,
				   .speed = a->speed,
				   .best_lanes = (uint8_t)wire_port_info_lanes(&best),
				   .best_speed = wire_port_info_speed(&best) };
	return true;
}

static bool is_slow(const struct slow_link *s)
{
	return s->lanes < s->best_lanes || s->speed < s->best_speed;
}

/* All links, and the usual: what most of them run at. */
struct paces {
	unsigned links, slow;
	unsigned count[TOPO_XDR + 1][LANES_MAX + 1];
	uint8_t lanes;
	enum topo_speed speed;
};

static void count_pace(struct paces *paces, const struct slow_link *s)
{
	unsigned *count = &paces->count[s->speed][s->lanes <= LANES_MAX ? s->lanes : LANES_MAX];

	paces->links++;
	paces->slow += is_slow(s);
	if (++*count <= paces->count[paces->speed][paces->lanes])
		return;
	paces->speed = s->speed;
	paces->lanes = s->lanes <= LANES_MAX ? s->lanes : LANES_MAX;
}

static void expect_the_usual(const struct paces *paces, struct slow_link *s)
{
	if (paces->slow * 2 <= paces->links)
		return;
	s->best_lanes = s->best_lanes < paces->lanes ? s->best_lanes : paces->lanes;
	s->best_speed = s->best_speed < paces->speed ? s->best_speed : paces->speed;
}

static int by_place(const void *a, const void *b)
{
	const struct slow_link *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->port - y->port;
}

static void report_slow(const struct link_health *h, const struct slow_link *s)
{
	event_log_add(h->services.events, LOG_WARNING, "link-slow", NULL, NULL,
		      "%s: runs at %ux %s, both ends support %ux %s",
		      inventory_link_name(h->services.inventory, s->node, s->port).text, s->lanes,
		      topo_speed_name(s->speed), s->best_lanes, topo_speed_name(s->best_speed));
}

/* ---- The search ------------------------------------------------------------------------------ */

struct slow_search {
	guid_t next; /* the node to go on with */
	struct paces paces;
	struct slow_link *list; /* that run below what their ends can */
	unsigned found, room;
};

static void search_node(struct slow_search *search, const struct inv_node *node)
{
	struct slow_link s;

	for (unsigned num = 1; num <= node->nports; num++) {
		if (!link_at(node, (uint8_t)num, &s))
			continue;
		count_pace(&search->paces, &s);
		if (!is_slow(&s))
			continue;
		if (search->found == search->room) {
			search->room = search->room ? 2 * search->room : 16;
			search->list = mem_resize(search->list, search->room, sizeof(s));
		}
		search->list[search->found++] = s;
	}
}

static void search_free(struct slow_search *search)
{
	if (search)
		free(search->list);
	free(search);
}

void link_health_slow_begin(struct link_health *h)
{
	search_free(h->search);
	h->search = mem_alloc(1, sizeof(*h->search));
}

bool link_health_slow_more(struct link_health *h)
{
	struct inv_node *node = inventory_from(h->services.inventory, h->search->next);

	for (unsigned ports = 0; node && ports < PORTS_A_PIECE; ports += node->nports + 1u) {
		search_node(h->search, node);
		h->search->next = node->guid + 1;
		node = inventory_next(h->services.inventory, node);
		if (!node)
			break;
	}
	return node;
}

static bool was_slow(const struct slow_link *before, unsigned count, const struct slow_link *s)
{
	return count && bsearch(s, before, count, sizeof(*s), by_place);
}

void link_health_slow_end(struct link_health *h)
{
	struct slow_search *search = h->search;
	struct slow_link *before = h->slow;
	unsigned nbefore = h->nslow, told = 0;

	h->slow = search->list;
	h->nslow = 0;
	for (unsigned i = 0; i < search->found; i++) {
		struct slow_link s = h->slow[i];

		expect_the_usual(&search->paces, &s);
		if (!is_slow(&s))
			continue;
		h->slow[h->nslow++] = s;
		if (!was_slow(before, nbefore, &s) && told++ < LOGGED_ONE_BY_ONE)
			report_slow(h, &s);
	}
	if (told > LOGGED_ONE_BY_ONE)
		event_log_add(h->services.events, LOG_WARNING, "link-slow", NULL, NULL,
			      "fabric: %u more links run below what both ends support",
			      told - LOGGED_ONE_BY_ONE);
	if (told || h->nslow != nbefore)
		fabric_report_hosts_changed(h->fabric);
	free(before);
	free(search);
	h->search = NULL;
}

void link_health_slow_free(struct link_health *h)
{
	search_free(h->search);
	free(h->slow);
}

/* Links below what they can are an alert for as long as there are any. */
void link_health_review(void *room)
{
	struct link_health *h = room;
	struct name_list slow = { 0 };

	for (unsigned i = 0; i < h->nslow && fabric_view(h->fabric).topo; i++)
		name_list_add(&slow, inventory_link_name(h->services.inventory, h->slow[i].node,
							 h->slow[i].port)
					     .text);
	name_list_alert(h->services.alerts, "links-slow", &slow, "link runs below what it supports",
			"links run below what they support");
}
