/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a probe's answer may change. One answer can be wrong: it comes from a device, through
 * others. So one that contradicts the record (another neighbour than is known there, a node of
 * another type or size, nonsense) is asked for once more, and is accepted when the same comes
 * again; where each answer is another one, none is.
 *
 * A GUID that is known elsewhere keeps its place as long as it answers there: that place is asked
 * before the link is moved. A switch whose port is down where it is known is not the one that
 * answers over a link at that port. What is refused is remembered at the port (inv_port.refused),
 * until something else is met behind it or its link goes down.
 */
#include <string.h>
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"

#define CLAIMS_MAX 4 /* answers in one sweep, each another one */

/* ---- Told twice ------------------------------------------------------------------------------ */

static bool is_news(const struct sweep *s, const struct inv_node *from, uint8_t num,
		    const struct wire_node_info *info)
{
	const struct inv_port *port = &from->ports[num];
	const struct inv_node *node = inventory_find(&s->inv, info->node_guid);

	if (wire_node_info_flaw(info))
		return true;
	if (port->peer)
		return port->peer != node || port->peer_port != info->local_port ||
		       node->info.type != info->type || node->nports != info->nports ||
		       inventory_other_port_guid(node, info->local_port, info->port_guid);
	if (!node)
		return false;
	if (node->info.type != info->type || node->nports != info->nports)
		return true;
	return node->ports[info->local_port].peer &&
	       (node->ports[info->local_port].link_up ||
		sweep_port(node, info->local_port)->probe == PROBE_MET);
}

static uint64_t claim_of(const struct wire_node_info *info)
{
	uint64_t claim = info->node_guid;

	claim = (claim ^ info->port_guid) * 0x9e3779b97f4a7c15u;
	claim = (claim ^ info->local_port) * 0x9e3779b97f4a7c15u;
	claim = (claim ^ info->nports ^ (uint64_t)info->type << 8) * 0x9e3779b97f4a7c15u;
	return claim | 1;
}

/* Of this sweep. */
static unsigned claims_at(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	const struct inv_contest *contest = inv_contest(&s->inv, node, num);

	return contest->claimed_in == s->number ? contest->claims : 0;
}

static struct inv_contest *claims_of(struct sweep *s, const struct inv_node *node, unsigned num)
{
	struct inv_contest *contest = inventory_contest(&s->inv, node, num);

	if (contest->claimed_in != s->number) {
		contest->claims = 0;
		contest->claim = 0;
	}
	contest->claimed_in = s->number;
	return contest;
}

enum claim contest_claim(struct sweep *s, struct inv_node *from, uint8_t num,
			 const struct wire_node_info *info)
{
	uint64_t claim = claim_of(info);
	struct inv_contest *contest;

	if (!is_news(s, from, num, info))
		return CLAIM_ACCEPTED;
	contest = claims_of(s, from, num);
	if (contest->claim == claim)
		return CLAIM_ACCEPTED;
	contest->claim = claim;
	if (++contest->claims >= CLAIMS_MAX)
		return CLAIM_REFUSED;
	sweep_ask(s, JOB_PROBE, from, num, true);
	return CLAIM_ASKED;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static bool is_same_link(const struct inv_port *port, const struct inv_node *to, uint8_t num)
{
	return port->peer == to && port->peer_port == num;
}

/* True: the node was known there before, and no answer shows that it has left. */
static bool is_at_home(const struct sweep *s, const struct inv_node *node)
{
	uint32_t first = sweep_node(node)->met_first;

	return first && first != s->number && !node->gone && !node->silent;
}

/* True: the link of that port is known elsewhere, and no answer has refuted it yet. */
static bool has_place(const struct inv_node *node, unsigned num)
{
	return node->ports[num].peer && node->ports[num].link_up &&
	       sweep_port(node, num)->probe != PROBE_FAILED;
}

static void ask_place(struct sweep *s, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];
	struct inv_node *at = inv_is_switch(node) ? node : port->peer;
	uint8_t at_num = inv_is_switch(node) ? num : port->peer_port;

	if (sweep_port(node, num)->probe == PROBE_OUT)
		return;
	if (inv_is_switch(at))
		ports_ask(s, at, at_num); /* down: that is quick to know */
	ports_set_probe(s, at, at_num, PROBE_OUT);
	sweep_ask(s, JOB_PROBE, at, at_num, true);
}

static void park(struct sweep *s, struct inv_node *from, uint8_t num, struct inv_node *node,
		 uint8_t node_num)
{
	struct parking *p = &s->parking;

	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : 16;
		p->list = mem_resize(p->list, p->room, sizeof(*p->list));
	}
	p->list[p->count++] = (struct parked){ from, node, num, node_num };
}

enum place contest_place(struct sweep *s, struct inv_node *from, uint8_t num, struct inv_node *node,
			 uint8_t node_num)
{
	const struct inv_port *port = &node->ports[node_num];
	const struct sweep_port *cell = sweep_port(node, node_num);

	if (claims_at(s, from, num) >= CLAIMS_MAX)
		return PLACE_TAKEN; /* it was weighed often enough in this sweep */
	if (node == from || is_same_link(port, from, num) || !is_at_home(s, node))
		return PLACE_FREE;
	if (has_place(node, node_num) && !cell->refuted) {
		ask_place(s, node, node_num);
	} else if (inv_is_switch(node) && s->kind == SWEEP_REFRESH && !cell->refuted) {
		if (cell->seen)
			return port->state < TOPO_INIT ? PLACE_TAKEN : PLACE_FREE;
		ports_ask(s, node, node_num);
	} else {
		return PLACE_FREE;
	}
	claims_of(s, from, num)->claims++;
	park(s, from, num, node, node_num);
	return PLACE_ASKED;
}

/* Its place has answered, or never will; then the new one is asked again, and weighed. */
static bool is_decided(const struct sweep *s, const struct parked *p)
{
	const struct sweep_port *cell = sweep_port(p->node, p->node_num);

	if (p->node->removed || p->from->removed || p->node->gone || p->node->silent)
		return true;
	if (has_place(p->node, p->node_num) && !cell->refuted)
		return cell->probe != PROBE_OUT;
	return cell->seen || cell->refuted || !inv_is_switch(p->node);
}

/*
 * What was to decide could not be asked, or was asked for something else: the new place is accepted
 * then.
 */
bool contest_ends(struct sweep *s)
{
	bool any = s->parking.count > 0;

	for (unsigned i = 0; i < s->parking.count; i++)
		sweep_port(s->parking.list[i].node, s->parking.list[i].node_num)->refuted = true;
	contest_go_on(s);
	return any;
}

void contest_go_on(struct sweep *s)
{
	for (unsigned i = 0; i < s->parking.count;) {
		struct parked p = s->parking.list[i];

		if (!is_decided(s, &p)) {
			i++;
			continue;
		}
		s->parking.list[i] = s->parking.list[--s->parking.count];
		if (!p.from->removed && sweep_port(p.from, p.num)->probe == PROBE_OUT)
			sweep_ask(s, JOB_PROBE, p.from, p.num, true);
	}
}
