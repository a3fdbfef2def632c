/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which node answers over a port: NodeInfo, which makes a link known. LocalPortNum is its other
 * end, so the link is not probed from there.
 *
 * A GUID that answers at two places at once is two devices: a port has one link. The first met
 * stays, both places go to the log. NodeInfo that contradicts itself is dropped there too.
 *
 * One answer can be wrong: it comes from a device, through others. So one that contradicts the
 * record (another neighbour than is known there, a node of another type or size, nonsense) is asked
 * for once more, and is accepted when the same comes again; where each answer is another one, none
 * is. A GUID that is known elsewhere keeps its place as long as it answers there: that place is
 * asked before the link is moved. A switch whose port is down where it is known is not the one that
 * answers over a link at that port. What is refused is remembered at the port (struct inv_contest),
 * until something else is met behind it or its link goes down.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"

#define CLAIMS_MAX 4 /* answers in one sweep, each another one */

enum claim { CLAIM_ACCEPTED, CLAIM_ASKED, CLAIM_REFUSED };
enum place { PLACE_FREE, PLACE_ASKED, PLACE_TAKEN };

/* ---- What a probe's answer may change -------------------------------------------------------- */

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

/* ASKED: once more */
static enum claim contest_claim(struct sweep *s, struct inv_node *from, uint8_t num,
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

/* May node's port be behind that port? ASKED: the probe is sent again when that is known. */
static enum place contest_place(struct sweep *s, struct inv_node *from, uint8_t num,
				struct inv_node *node, uint8_t node_num)
{
	const struct inv_port *port = &node->ports[node_num];
	const struct sweep_port *cell = sweep_port(node, node_num);

	if (claims_at(s, from, num) >= CLAIMS_MAX)
		return PLACE_TAKEN; /* it was weighed often enough in this sweep */
	if (node == from || (port->peer == from && port->peer_port == num) || !is_at_home(s, node))
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

/* ---- Who answers ----------------------------------------------------------------------------- */

#define LOG_BURST	20
#define LOCAL_ASKED_MAX 4 /* answers that are not accepted, one after the other */

static void seen_twice(struct sweep *s, const struct inv_node *from, uint8_t from_port,
		       const struct inv_node *met, const char *why)
{
	s->result.duplicates++;
	if (!log_allow(&s->twice_log, loop_now_us(s->loop), LOG_BURST))
		return;
	log_line(LOG_SWEEP, LOG_ERR, "%s also answers behind %s: %s; the place found first is kept",
		 inventory_name(met, -1).text, inventory_name(from, from_port).text, why);
}

static void info_dropped(struct sweep *s, const struct inv_node *from, unsigned port,
			 const struct wire_node_info *info)
{
	if (!log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		return;
	log_line(LOG_SWEEP, LOG_WARNING,
		 "%s: invalid NodeInfo of its neighbour dropped: type %u, %u ports, local port "
		 "%u, GUID 0x%016" PRIx64,
		 from ? inventory_name(from, (int)port).text : "the SM's own port", info->type,
		 info->nports, info->local_port, info->node_guid);
}

/* The node by that NodeInfo. NULL: it contradicts one met in this sweep. */
static struct inv_node *node_by_info(struct sweep *s, const struct wire_node_info *info)
{
	struct inv_node *node = inventory_find(&s->inv, info->node_guid);

	if (node && (node->info.type != info->type || node->nports != info->nports)) {
		if (sweep_node(node)->seen == s->number || node == s->inv.local)
			return NULL;
		log_line(LOG_SWEEP, LOG_NOTICE,
			 "%s: another device now, with %u ports instead of %u",
			 inventory_name(node, -1).text, info->nports, node->nports);
		inventory_remove(&s->inv, node);
		node = NULL;
	}
	if (!node)
		return inventory_add(&s->inv, info);
	if (sweep_node(node)->seen != s->number)
		node->info = *info;
	return node;
}

/* A port whose link turned out to lead elsewhere has to be probed from its own side. */
static void port_displaced(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct sweep_port *cell = sweep_port(node, num);

	cell->probe = PROBE_NONE;
	if (cell->seen && node->ports[num].state >= TOPO_INIT)
		ports_is_up(s, node, num);
}

static void link_met(struct sweep *s, struct inv_node *a, uint8_t port_a, struct inv_node *b,
		     uint8_t port_b)
{
	struct inv_port *pa = &a->ports[port_a], *pb = &b->ports[port_b];
	struct inv_node *old_a = pa->peer == b && pa->peer_port == port_b ? NULL : pa->peer;
	struct inv_node *old_b = pb->peer == a && pb->peer_port == port_a ? NULL : pb->peer;
	uint8_t old_port_a = pa->peer_port, old_port_b = pb->peer_port;

	inventory_link(&s->inv, a, port_a, b, port_b);
	sweep_port(a, port_a)->probe = sweep_port(b, port_b)->probe = PROBE_MET;
	sweep_touch(s, a);
	sweep_touch(s, b);
	if (old_a)
		port_displaced(s, old_a, old_port_a);
	if (old_b)
		port_displaced(s, old_b, old_port_b);
}

/* What to ask of a node that a probe met. */
static void node_met(struct sweep *s, struct inv_node *node, unsigned num,
		     const struct mad_path *path)
{
	bool first = sweep_node(node)->seen != s->number;

	sweep_heard(s, node);
	sweep_node_answers(node);
	if (first) /* a known switch too: it may have rebooted */
		explore_visit(s, node, path);
	if (!inv_is_switch(node) || (first && sweep_node(node)->ports_read))
		ports_ask(s, node, num);
}

/* The node behind a probe, or NULL: the answer is not accepted. */
static struct inv_node *probe_node(struct sweep *s, const struct inv_node *from, uint8_t num,
				   const struct wire_node_info *info)
{
	const struct inv_port *other;
	struct inv_node *node;

	if (wire_node_info_flaw(info) || !info->local_port) {
		info_dropped(s, from, num, info);
		return NULL;
	}
	node = node_by_info(s, info);
	if (!node) {
		seen_twice(s, from, num, inventory_find(&s->inv, info->node_guid),
			   "with another type or number of ports");
		return NULL;
	}
	other = &node->ports[info->local_port];
	if (sweep_port(node, info->local_port)->probe == PROBE_MET &&
	    (other->peer != from || other->peer_port != num)) {
		seen_twice(s, from, num, node,
			   other->peer ? inventory_name(other->peer, other->peer_port).text
				       : "at a looped port");
		return NULL;
	}
	return node;
}

/*
 * The link, if one is known there, is not what it was; who is behind is asked again at each
 * sweep of `from`.
 */
static void probe_refused(struct sweep *s, struct inv_node *from, uint8_t num, guid_t guid)
{
	ports_set_probe(s, from, num, PROBE_REFUSED);
	inventory_unlink(&s->inv, from, num);
	inventory_refuse(&s->inv, from, num, guid);
}

static void probe_accepted(struct sweep *s, struct inv_node *from, uint8_t num,
			   const struct mad_path *path, const struct wire_node_info *info)
{
	struct inv_node *node = probe_node(s, from, num, info);
	enum place place;

	if (!node) {
		probe_refused(s, from, num,
			      !wire_node_info_flaw(info) && info->local_port ? info->node_guid
									     : INV_NONSENSE);
		return;
	}
	if (node == from && info->local_port == num) {
		log_line(LOG_SWEEP, LOG_NOTICE, "%s: looped back into itself",
			 inventory_name(from, num).text);
		ports_set_probe(s, from, num, PROBE_REFUSED);
		inventory_unlink(&s->inv, from, num);
		inventory_refuse(&s->inv, from, num, 0);
		return;
	}
	place = contest_place(s, from, num, node, info->local_port);
	if (place == PLACE_TAKEN) {
		seen_twice(s, from, num, node, "where it is known that port is down");
		probe_refused(s, from, num, node->guid);
	}
	if (place != PLACE_FREE)
		return;
	link_met(s, from, num, node, info->local_port);
	sweep_port(from, num)->must_probe = false;
	inventory_set_port_guid(&s->inv, node, info->local_port, info->port_guid);
	node_met(s, node, info->local_port, path);
}

void probe_answer(struct sweep *s, struct inv_node *from, uint8_t num, const struct mad_path *path,
		  const uint8_t data[64])
{
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	switch (contest_claim(s, from, num, &info)) {
	case CLAIM_ASKED:
		return;
	case CLAIM_REFUSED:
		info_dropped(s, from, num, &info);
		probe_refused(s, from, num, INV_NONSENSE);
		return;
	case CLAIM_ACCEPTED:
		probe_accepted(s, from, num, path, &info);
		return;
	}
}

/*
 * The adapter's own driver knows the port's GUID; the rest is known since the first
 * sweep.
 */
static bool local_is_accepted(struct sweep *s, const struct wire_node_info *info)
{
	guid_t last = s->local_guid;

	s->local_guid = info->node_guid;
	if (wire_node_info_flaw(info) ||
	    (info->type != TOPO_SWITCH && info->port_guid != mad_port_info(s->mad)->port_guid))
		return false;
	return !s->inv.local || s->inv.local->guid == info->node_guid || last == info->node_guid;
}

void probe_local_answer(struct sweep *s, const uint8_t data[64])
{
	struct inv_node *node;
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	if (!local_is_accepted(s, &info) && s->local_asked++ < LOCAL_ASKED_MAX) {
		sweep_ask(s, JOB_LOCAL, NULL, 0, true);
		return;
	}
	node = !wire_node_info_flaw(&info) ? node_by_info(s, &info) : NULL;
	if (!node) {
		info_dropped(s, NULL, 0, &info);
		s->result.error = -EIO;
		return;
	}
	s->inv.local = node;
	s->inv.local_port = info.local_port;
	s->inv.paths_stale = true;
	sweep_heard(s, node);
	sweep_node_answers(node);
	inventory_set_port_guid(&s->inv, node, info.local_port, info.port_guid);
	explore_visit(s, node, &(struct mad_path){ 0 });
	if (!inv_is_switch(node))
		ports_ask(s, node, info.local_port);
}

/* A node behind a port answers at last: the one known there, or another. */
void probe_poll_answer(struct sweep *s, struct inv_node *node, uint8_t num, const uint8_t data[64])
{
	struct inv_port *port = &node->ports[num];
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	ports_set_probe(s, node, num, PROBE_NONE);
	if (port->peer && port->peer->guid == info.node_guid) {
		sweep_node_answers(port->peer);
		sweep_changed(s, port->peer);
	} else {
		inventory_unlink(&s->inv, node, num);
	}
	sweep_changed(s, node);
}
