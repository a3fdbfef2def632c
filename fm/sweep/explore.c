/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The receiving side of a sweep: what an answer says about the fabric, and what to ask next.
 *
 *   a node is met       SwitchInfo and PortInfo of port 0, or PortInfo of the CA's port; its
 *                       NodeDescription if that is unknown
 *   both are there      all ports of the switch at once; or its SwitchPortStateTable, then the
 *                       ports that are up; in a refresh of a switch that says that no port's
 *                       state changed, those alone that are not as they should be
 *   a port is up        NodeInfo over it, unless the link was met from its other end
 *
 * PortInfo's extended speeds are asked for from the start where CapabilityMask allows them
 * (switches: port 0's), for a CA where the switch's end of the link already runs at one
 * (IBA 14.2.5.6: without the modifier's bit 31 they read as 0).
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include "fm/inventory/port_setup.h"
#include "fm/mad/wire_optional.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep_priv.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- Answers that are asked for a second time ------------------------------------------------ */

/*
 * Verification: what was answered once is asked once more while the fabric is idle, a few ports at
 * a time: the node behind a port that is up, and PortInfo. An answer that agrees with the record
 * verifies it; another one has the node swept, and that decides. Ports with a node
 * behind them that can't be there are asked first, each time.
 */

#define TRIES 16 /* without an answer */

/* The node that can send a probe over that port; one end of the link does. */
static bool probes_over(const struct sweep *s, const struct inv_node *node, unsigned num)
{
	return num && (inv_is_switch(node) || (node == s->inv.local && num == s->inv.local_port));
}

/* Requests for a port: 0, 1 or 2. */
static unsigned ask_port(struct sweep *s, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	bool link =
		port->peer && port->link_up && !port->link_verified && !port->peer->silent &&
		probes_over(s, node, num) &&
		(!probes_over(s, port->peer, port->peer_port) || inventory_is_first_end(node, num));
	bool info = port->known && !port->info_verified;

	if (link)
		sweep_ask(s, JOB_VERIFY_LINK, node, num, false);
	if (info)
		sweep_ask(s, JOB_VERIFY_PORT, node, num, false);
	return link + info;
}

bool sweep_verify(struct sweep *s, unsigned count, bool refused, sweep_done_fn *fn, void *arg)
{
	sweep_start(s, SWEEP_VERIFY, fn, arg);

	/* False: there is nothing that was answered only once. */
	struct inv_node *node = inventory_from(&s->inv, s->verified);
	unsigned asked = 0;

	for (; node && asked < count; node = inventory_next(&s->inv, node)) {
		for (unsigned p = 0;
		     !node->gone && !node->silent && !node->removed && p <= node->nports; p++)
			asked += ask_port(s, node, p);
		s->verified = node->guid + 1;
	}
	if (!node)
		s->verified = 0;

	bool more = asked || node;

	if (!refused || !s->inv.nrefused)
		return more;
	INVENTORY_EACH (&s->inv, it)
		for (unsigned p = 1; !it->gone && !it->silent && !it->removed && p <= it->nports;
		     p++)
			if (inv_contest(&s->inv, it, p)->refused && probes_over(s, it, p))
				sweep_ask(s, JOB_VERIFY_LINK, it, p, false);
	return more;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Has the node swept, this port with it. */
static void differs(struct sweep *s, struct inv_node *node, unsigned num)
{
	if (num)
		sweep_port(node, num)->must_probe = probes_over(s, node, num);
	sweep_port(node, num)->must_read = true;
	sweep_node(node)->ports_read = false;
	sweep_changed(s, node);
}

/*
 * The place for which a node was refused here is a link that is up. It may have been that of a node
 * that never was, and went with it.
 */
static bool has_its_place(const struct sweep *s, guid_t guid)
{
	const struct inv_node *node = inventory_find(&s->inv, guid);

	return node && !node->gone && !node->silent &&
	       any_of(p, 1, node->nports + 1, node->ports[p].peer && node->ports[p].link_up);
}

static uint8_t port_state(const uint8_t data[64])
{
	struct wire_port_info info;

	wire_port_info_decode(data, &info);
	return info.state;
}

static void verify_answer(struct sweep *s, const struct batch_job *job, const uint8_t data[64])
{
	struct inv_node *node = job->object;
	struct inv_port *port = &node->ports[job->arg];
	struct wire_node_info info;

	if (job->kind == JOB_VERIFY_LINK) {
		wire_node_info_decode(data, &info);

		guid_t refused = inv_contest(&s->inv, node, job->arg)->refused;

		if (refused) {
			if (wire_node_info_flaw(&info) ||
			    (refused == info.node_guid && has_its_place(s, info.node_guid)))
				return; /* still */
			differs(s, node, job->arg);
		} else if (port->peer && port->peer->guid == info.node_guid &&
			   port->peer_port == info.local_port &&
			   port->peer->nports == info.nports &&
			   port->peer->info.type == info.type &&
			   !inventory_other_port_guid(port->peer, port->peer_port,
						      info.port_guid)) {
			port->link_verified = port->peer->ports[port->peer_port].link_verified =
				true;
		} else {
			differs(s, node, job->arg);
		}
	} else if (port_state(data) == port->state && inventory_same_port_info(port->info, data)) {
		port->info_verified = true;
	} else {
		differs(s, node, job->arg);
	}
}

/*
 * A request that got no answer says nothing of the port, and is sent again with a later pass: loss
 * must not let a wrong answer stand. A node that answers polls and never this is left out after
 * some tries.
 */
static void verify_given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;
	struct inv_port *port = &node->ports[job->arg];
	struct sweep_port *cell = sweep_port(node, job->arg);

	if (cell->verify_tries < TRIES) {
		cell->verify_tries++;
		return;
	}
	cell->verify_tries = 0;
	if (job->kind == JOB_VERIFY_PORT)
		port->info_verified = true;
	else if (port->peer)
		port->link_verified = port->peer->ports[port->peer_port].link_verified = true;
}

/* ---- Explore --------------------------------------------------------------------------------- */

#define LOG_BURST 20

/* ---- Which node answers over a port: NodeInfo, which makes a link known ---------------------- */

/*
 * LocalPortNum is its other
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

static struct inv_contest *claims_of(struct sweep *s, const struct inv_node *node, unsigned num)
{
	struct inv_contest *contest = inventory_contest(&s->inv, node, num);

	if (contest->claimed_in != s->inv.numbered.sweeps) {
		contest->claims = 0;
		contest->claim = 0;
	}
	contest->claimed_in = s->inv.numbered.sweeps;
	return contest;
}

/* ASKED: once more */
static enum claim contest_claim(struct sweep *s, struct inv_node *from, uint8_t num,
				const struct wire_node_info *info)
{
	uint64_t of_claim = info->node_guid;

	of_claim = (of_claim ^ info->port_guid) * 0x9e3779b97f4a7c15u;
	of_claim = (of_claim ^ info->local_port) * 0x9e3779b97f4a7c15u;
	of_claim = (of_claim ^ info->nports ^ (uint64_t)info->type << 8) * 0x9e3779b97f4a7c15u;
	uint64_t claim = of_claim | 1;

	if (!is_news(s, from, num, info))
		return CLAIM_ACCEPTED;

	struct inv_contest *contest = claims_of(s, from, num);

	if (contest->claim == claim)
		return CLAIM_ACCEPTED;
	contest->claim = claim;
	if (++contest->claims >= CLAIMS_MAX)
		return CLAIM_REFUSED;
	sweep_ask(s, JOB_PROBE, from, num, true);
	return CLAIM_ASKED;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* True: the link of that port is known elsewhere, and no answer has refuted it yet. */
static bool has_place(const struct inv_node *node, unsigned num)
{
	return node->ports[num].peer && node->ports[num].link_up &&
	       sweep_port(node, num)->probe != PROBE_FAILED;
}

/* May node's port be behind that port? ASKED: the probe is sent again when that is known. */
static enum place contest_place(struct sweep *s, struct inv_node *from, uint8_t num,
				struct inv_node *node, uint8_t node_num)
{
	const struct inv_port *port = &node->ports[node_num];
	const struct sweep_port *cell = sweep_port(node, node_num);
	const struct inv_contest *contest = inv_contest(&s->inv, from, num);
	uint32_t first = sweep_node(node)->met_first;

	if (contest->claimed_in == s->inv.numbered.sweeps && contest->claims >= CLAIMS_MAX)
		return PLACE_TAKEN; /* it was weighed often enough in this sweep */
	/* It was not known elsewhere before, or has left. */
	if (node == from || (port->peer == from && port->peer_port == num) || !first ||
	    first == s->inv.numbered.sweeps || node->gone || node->silent)
		return PLACE_FREE;
	if (has_place(node, node_num) && !cell->refuted) {
		struct inv_node *at = inv_is_switch(node) ? node : port->peer;
		uint8_t at_num = inv_is_switch(node) ? node_num : port->peer_port;

		if (sweep_port(node, node_num)->probe != PROBE_OUT) {
			if (inv_is_switch(at))
				ports_ask(s, at, at_num); /* down: that is quick to know */
			ports_set_probe(s, at, at_num, PROBE_OUT);
			sweep_ask(s, JOB_PROBE, at, at_num, true);
		}
	} else if (inv_is_switch(node) && s->kind == SWEEP_REFRESH && !cell->refuted) {
		if (cell->seen)
			return port->state < TOPO_INIT ? PLACE_TAKEN : PLACE_FREE;
		ports_ask(s, node, node_num);
	} else {
		return PLACE_FREE;
	}
	claims_of(s, from, num)->claims++;

	struct parking *p = &s->parking;

	p->list = mem_grow(p->list, p->count);
	p->list[p->count++] = (struct parked){ from, node, num, node_num };

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

static void contest_go_on(struct sweep *s);

/*
 * What was to decide could not be asked, or was asked for something else: the new place is accepted
 * then.
 */
bool contest_ends(struct sweep *s)
{
	bool any = s->parking.count;

	for (unsigned i = 0; i < s->parking.count; i++)
		sweep_port(s->parking.list[i].node, s->parking.list[i].node_num)->refuted = true;
	contest_go_on(s);
	return any;
}

/* behind each answer, and each request given up */
static void contest_go_on(struct sweep *s)
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
		 from ? inventory_name(from, port).text : "the SM's own port", info->type,
		 info->nports, info->local_port, info->node_guid);
}

/* The node by that NodeInfo. NULL: it contradicts one met in this sweep. */
static struct inv_node *node_by_info(struct sweep *s, const struct wire_node_info *info)
{
	struct inv_node *node = inventory_find(&s->inv, info->node_guid);

	if (node && (node->info.type != info->type || node->nports != info->nports)) {
		if (sweep_node(node)->seen == s->inv.numbered.sweeps || node == s->inv.local)
			return NULL;
		log_line(LOG_SWEEP, LOG_NOTICE,
			 "%s: another device now, with %u ports instead of %u",
			 inventory_name(node, -1).text, info->nports, node->nports);
		inventory_remove(&s->inv, node);
		node = NULL;
	}
	if (!node)
		return inventory_add(&s->inv, info);
	if (sweep_node(node)->seen != s->inv.numbered.sweeps)
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

/* The node behind a probe, or NULL: the answer is not accepted. */
static struct inv_node *probe_node(struct sweep *s, const struct inv_node *from, uint8_t num,
				   const struct wire_node_info *info)
{
	if (wire_node_info_flaw(info) || !info->local_port) {
		info_dropped(s, from, num, info);
		return NULL;
	}

	struct inv_node *node = node_by_info(s, info);

	if (!node) {
		seen_twice(s, from, num, inventory_find(&s->inv, info->node_guid),
			   "with another type or number of ports");
		return NULL;
	}

	const struct inv_port *other = &node->ports[info->local_port];

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
	bool known = inventory_find(&s->inv, info->node_guid);

	if (!known && gate_keeps_out(s, from, num, NULL, info))
		return;

	struct inv_node *node = probe_node(s, from, num, info);

	if (!node) {
		probe_refused(s, from, num,
			      !wire_node_info_flaw(info) && info->local_port ? info->node_guid
									     : INV_NONSENSE);
		return;
	}
	if (node == from && info->local_port == num) {
		log_line(LOG_SWEEP, LOG_NOTICE, "%s: looped back into itself",
			 inventory_name(from, num).text);
		probe_refused(s, from, num, 0);
		return;
	}

	enum place place = contest_place(s, from, num, node, info->local_port);

	if (place == PLACE_TAKEN) {
		seen_twice(s, from, num, node, "where it is known that port is down");
		probe_refused(s, from, num, node->guid);
	}
	if (place != PLACE_FREE || (known && gate_keeps_out(s, from, num, node, info)))
		return;

	uint8_t port_b = info->local_port;
	struct inv_port *pa = &from->ports[num], *pb = &node->ports[port_b];
	struct inv_node *old_a = pa->peer == node && pa->peer_port == port_b ? NULL : pa->peer;
	struct inv_node *old_b = pb->peer == from && pb->peer_port == num ? NULL : pb->peer;
	uint8_t old_port_a = pa->peer_port, old_port_b = pb->peer_port;

	inventory_link(&s->inv, from, num, node, port_b);
	ports_set_probe(s, from, num, PROBE_MET);
	if (old_a)
		port_displaced(s, old_a, old_port_a);
	if (old_b)
		port_displaced(s, old_b, old_port_b);

	sweep_port(from, num)->must_probe = false;
	inventory_set_port_guid(&s->inv, node, info->local_port, info->port_guid);

	/* What to ask of a node that a probe met. */
	bool first = sweep_node(node)->seen != s->inv.numbered.sweeps;

	sweep_heard(s, node);
	sweep_node_answers(node);
	if (first) /* a known switch too: it may have rebooted */
		explore_visit(s, node, path);
	if (!inv_is_switch(node) || (first && sweep_node(node)->ports_read))
		ports_ask(s, node, info->local_port);
}

static void probe_answer(struct sweep *s, struct inv_node *from, uint8_t num,
			 const struct mad_path *path, const uint8_t data[64])
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
	return !wire_node_info_flaw(info) &&
	       (info->type == TOPO_SWITCH || info->port_guid == mad_port_info(s->mad)->port_guid) &&
	       (!s->inv.local || s->inv.local->guid == info->node_guid || last == info->node_guid);
}

static void probe_local_answer(struct sweep *s, const uint8_t data[64])
{
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	if (!local_is_accepted(s, &info) && s->local_asked++ < LOCAL_ASKED_MAX) {
		sweep_ask(s, JOB_LOCAL, NULL, 0, true);
		return;
	}

	struct inv_node *node = !wire_node_info_flaw(&info) ? node_by_info(s, &info) : NULL;

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
static void probe_poll_answer(struct sweep *s, struct inv_node *node, uint8_t num,
			      const uint8_t data[64])
{
	struct inv_port *port = &node->ports[num];
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	ports_set_probe(s, node, num, PROBE_NONE);
	if (port->peer && port->peer->guid == info.node_guid) {
		sweep_node_answers(port->peer);
		sweep_changed(s, port->peer);
		/* It may have been taken for down: what its ends are in is not known. */
		sweep_port(node, num)->must_read = true;
		sweep_port(port->peer, port->peer_port)->must_read = true;
	} else {
		inventory_unlink(&s->inv, node, num);
	}
	sweep_changed(s, node);
}

/* ---- Explore --------------------------------------------------------------------------------- */

#define TOP_AGAIN_US 60000000

/* ---- Nodes ---------------------------------------------------------------------------------- */

/*
 * A switch that reboots loses its links with its tables. One whose LinearFDBTop alone is reset may
 * have restarted as well, the first time; what is set and reset again within TOP_AGAIN_US is not
 * kept, and would be written for ever.
 */
static bool keeps_no_top(struct sweep *s, struct inv_node *node,
			 const struct wire_switch_info *info)
{
	uint64_t now = loop_now_us(s->loop), before = sweep_node(node)->top_lost_us;

	sweep_node(node)->top_lost_us = info->port_state_change ? 0 : now;
	return !info->port_state_change && before && now - before < TOP_AGAIN_US;
}

static void tables_lost(struct sweep *s, struct inv_node *node, const struct wire_switch_info *info)
{
	if (keeps_no_top(s, node, info)) {
		sweep_node(node)->keeps_no_top = s->incomplete = true;
		return;
	}
	log_line(LOG_SWEEP, LOG_NOTICE, "%s: lost its forwarding tables",
		 inventory_name(node, -1).text);
	node->rebooted = true;
	inventory_end_bounces_of(&s->inv, node);
	node->reboots++;
	sweep_ask(s, JOB_DESC, node, 0, false);
}

static void switch_met(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	uint16_t sm_lid = node->ports[0].sm_lid;
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (node->sw.lft_cap && info.lft_top < node->sw.lft_top &&
	    info.lft_top != inv_wanted(node)->top)
		tables_lost(s, node, &info);
	node->sw = info;
	sweep_node(node)->ports_read &= !info.port_state_change && !node->rebooted;
	s->managed |= s->observes || (s->passive && info.lft_top);
	sweep_node(node)->had_change |= info.port_state_change && !sweep_node(node)->keeps_change;
	/*
	 * Another manager's tables may lead to this switch, and nothing that we published has it:
	 * which manager that is, is asked before anything is written.
	 */
	if (info.port_state_change && !s->managed && !inv_node_is(node, INV_NO_SETS) &&
	    (!node->unpublished || !s->inv.sm_lid || !sm_lid || sm_lid == s->inv.sm_lid))
		sweep_ask(s, JOB_CLEAR, node, 0, true);
	else
		ports_switch_ready(s, node);
}

static bool differs_in_sw(const struct inv_node *node, const struct wire_switch_info *info)
{
	const struct inv_wanted *wanted = inv_wanted(node);

	return (wanted->top && info->life_time != wanted->life_time) ||
	       (wanted->mft_top && info->mft_top != wanted->mft_top);
}

static void switch_polled(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	/* Where it can't be cleared changes are found by traps and neighbours. */
	if (inv_node_is(node, INV_NO_SETS))
		info.port_state_change = false;
	/* Of a switch that lost its LinearFDBTop all is written again (switch_met()). */
	bool differs = !info.port_state_change && info.lft_top == inv_wanted(node)->top &&
		       !inv_node_is(node, INV_NO_SETS) && differs_in_sw(node, &info);

	s->inv.nsw_differ += differs;
	s->inv.nsw_differ -= sweep_node(node)->sw_differs;
	sweep_node(node)->sw_differs = differs;
	if (info.port_state_change || info.lft_top != node->sw.lft_top || node->silent ||
	    info.lft_cap != node->sw.lft_cap || info.mft_cap != node->sw.mft_cap ||
	    info.enforce_cap != node->sw.enforce_cap || info.flags != node->sw.flags) {
		if (s->kind == SWEEP_POLL)
			sweep_changed(s, node);
		else
			explore_visit(s, node, NULL);
	}
	sweep_node_answers(node); /* the sweep that follows gives it the time of one that does */
}

/* ---- Aggregation nodes ---------------------------------------------------------------------- */

/*
 * SHARP's aggregation nodes look like hosts. A switch that has one shows it behind its highest port
 * and names it; a CA where name and place disagree, one of NVIDIA's with one port, is asked itself,
 * once. So nothing is asked of fabrics that are as they were delivered.
 */
static bool is_to_be_asked(const struct sweep *s, const struct inv_node *node, const char *desc)
{
	const struct inv_port *port = &node->ports[1];

	if (inv_is_switch(node) || node->nports != 1 || node->sharp != INV_SHARP_UNASKED ||
	    node == s->inv.local || !wire_adaptive_vendor(node->info.vendor) || !port->peer ||
	    !inv_is_switch(port->peer))
		return false;

	bool placed = port->peer_port == port->peer->nports;

	return placed != topo_named_sharp(desc);
}

/* ---- Dispatch ------------------------------------------------------------------------------- */

/* Another name that no trap has announced is asked for once more. */
static void desc_met(struct sweep *s, struct inv_node *node, const uint8_t data[64])
{
	char desc[65];

	wire_node_desc_decode(data, desc);
	if (node->have_desc && sweep_node(node)->desc == DESC_CURRENT && strcmp(desc, node->desc)) {
		sweep_node(node)->desc = DESC_TO_READ;
		sweep_ask(s, JOB_DESC, node, 0, false);
		return;
	}
	inventory_met_desc(&s->inv, node, desc);
	node->have_desc = true;
	sweep_node(node)->desc = DESC_CURRENT;
	if (is_to_be_asked(s, node, desc))
		sweep_ask(s, JOB_GENERAL, node, 0, false);
}

/* A probe is answered by the node behind, not by the one that it is asked of. */
static void note_answer(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (!node || sweep_job_is_probe(job))
		return;
	sweep_heard(s, node);
	if (job->kind != JOB_POLL)
		sweep_node_answers(node);
}

/* Whether the device has the optional attribute. */
static struct inv_silence *silence_of(const struct batch_job *job)
{
	struct inv_node *node = job->object;

	return job->kind == JOB_STATES ? &sweep_node(node)->states : &node->ext;
}

void explore_answer(struct sweep *s, const struct batch_job *job, const struct mad_path *path,
		    const uint8_t data[64])
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	note_answer(s, job);
	switch ((enum sweep_job)job->kind) {
	case JOB_LOCAL:
		probe_local_answer(s, data);
		break;
	case JOB_PROBE:
		probe_answer(s, node, job->arg, path, data);
		break;
	case JOB_GATE:
		gate_answer(s, node, job->arg, data);
		break;
	case JOB_DESC:
		desc_met(s, node, data);
		break;
	case JOB_GENERAL:
		node->sharp =
			wire_has_cap(data, WIRE_CAP_AGGREGATION) ? INV_SHARP_YES : INV_SHARP_NO;
		break;
	case JOB_SWITCH:
		switch_met(s, node, data);
		break;
	case JOB_CLEAR:
		/* The bit was set when it was read, and again if a port has changed since. */
		wire_switch_info_decode(data, &node->sw);
		node->sw.port_state_change = false;
		sweep_node(node)->keeps_change = false;
		ports_switch_ready(s, node);
		break;
	case JOB_PORT_EXT:
		if (silence_of(job)->sweeps != SILENCE_REFUSED)
			silence_of(job)->sweeps = 0;
		/* fall through */
	case JOB_PORT:
		ports_met(s, node, job->arg, job->kind == JOB_PORT_EXT, data);
		break;
	case JOB_STATES:
		if (silence_of(job)->sweeps != SILENCE_REFUSED)
			silence_of(job)->sweeps = 0;
		ports_states_met(s, node, job->arg, data);
		break;
	case JOB_POLL:
		switch_polled(s, node, data);
		break;
	case JOB_POLL_PORT:
		probe_poll_answer(s, node, job->arg, data);
		break;
	case JOB_VERIFY_LINK:
	case JOB_VERIFY_PORT:
		verify_answer(s, job, data);
		break;
	}
	contest_go_on(s);
}

/* An optional attribute is not there: PortInfo is asked in its place. */
static void ask_without(struct sweep *s, const struct batch_job *job)
{
	if (job->kind == JOB_STATES)
		ports_states_missing(s, job->object, job->arg);
	else
		sweep_ask(s, JOB_PORT, job->object, job->arg, false);
}

/* The node answers, but not this: it may drop what it does not know. */
static void optional_unanswered(struct sweep *s, const struct batch_job *job)
{
	struct inv_silence *silence = silence_of(job);

	if (silence->sweeps < SILENCES_MAX && silence->sweep != s->inv.numbered.sweeps)
		silence->sweeps++;
	silence->sweep = s->inv.numbered.sweeps;
}

void explore_refused(struct sweep *s, const struct batch_job *job, uint16_t status)
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	if (job->kind == JOB_PORT_EXT || job->kind == JOB_STATES) {
		silence_of(job)->sweeps = SILENCE_REFUSED;
		ask_without(s, job);
		return;
	}
	if (job->kind == JOB_GENERAL) {
		node->sharp = INV_SHARP_UNSAID;
		return;
	}
	if (node && log_allow(&s->bad_log, loop_now_us(s->loop), LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: SMP rejected, status 0x%04x",
			 inventory_name(node, job->arg).text, status);
	explore_given_up(s, job);
	if (node)
		sweep_node(node)->partial = false; /* it will refuse again */
}

/*
 * The link may be dead, or the node behind it: a known switch is asked by another path (sweep.c),
 * once, for it may be slow, and all its links are probed.
 */
static void probe_failed(struct sweep *s, struct inv_node *node, unsigned num)
{
	struct inv_node *peer = node->ports[num].peer;

	s->incomplete = true;
	ports_set_probe(s, node, num, PROBE_FAILED);
	if (s->kind != SWEEP_REFRESH || !peer || !inv_is_switch(peer) || sweep_answered(peer) ||
	    peer->silent || sweep_node(peer)->asked_in == s->inv.numbered.sweeps)
		return;
	sweep_node(peer)->asked_in = s->inv.numbered.sweeps;
	sweep_ask(s, JOB_DESC, peer, 0, true);
}

void explore_unanswered(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	/* Neighbours are polled themselves beside a refresh: of no wave. */
	if (s->kind == SWEEP_REFRESH &&
	    (job->kind == JOB_SWITCH || (job->kind == JOB_POLL && job->wave)) && !node->silent)
		explore_visit_neighbours(s, node);
	if (job->kind == JOB_CLEAR) { /* does it answer a Get? */
		sweep_node(node)->desc = DESC_AFTER_SET;
		sweep_ask(s, JOB_DESC, node, 0, true);
	}
}

/* Others may be slow: who waits for one that is silent hears of it now. */
static void note_unanswered(struct sweep *s, struct inv_node *node)
{
	bool answered = sweep_answered(node);

	if (!answered && !node->silent && s->kind == SWEEP_REFRESH &&
	    !loop_timer_armed(s->waves.early))
		loop_timer_set(s->waves.early, 0);
	s->incomplete = true;
	node->silent |= !answered;
	sweep_node(node)->partial |= answered;
	sweep_node(node)->ports_read = false;
}

static void given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	switch ((enum sweep_job)job->kind) {
	case JOB_LOCAL:
		s->result.error = -EIO;
		return;
	case JOB_GATE:
		gate_answer(s, node, job->arg, NULL);
		/* fall through */
	case JOB_PROBE:
		probe_failed(s, node, job->arg);
		return;
	case JOB_POLL_PORT:
		return;
	case JOB_VERIFY_LINK:
	case JOB_VERIFY_PORT:
		verify_given_up(s, job);
		return;
	case JOB_POLL:
		if (s->kind == SWEEP_REFRESH)
			break;
		if (!node->silent && !sweep_answered(node))
			sweep_changed(s, node);
		return;
	case JOB_PORT_EXT:
		if (!sweep_answered(node))
			break;
		optional_unanswered(s, job);
		if (node->ext.sweeps < SILENCES_MAX)
			break; /* to be asked again: the speed would be wrong without */
		ask_without(s, job);
		return;
	case JOB_STATES:
		if (!sweep_answered(node))
			break;
		optional_unanswered(s, job);
		ask_without(s, job);
		return;
	case JOB_GENERAL: /* it may drop what it does not know; a silent one is asked later */
		node->sharp = sweep_answered(node) ? INV_SHARP_UNSAID : INV_SHARP_UNASKED;
		return;
	case JOB_CLEAR:
		if (!sweep_answered(node))
			break;
		sweep_node(node)->keeps_change = s->incomplete = true;
		ports_switch_ready(s, node);
		return;
	case JOB_SWITCH:
	case JOB_DESC:
	case JOB_PORT:
		break;
	}
	note_unanswered(s, node);
	if (job->kind == JOB_SWITCH || job->kind == JOB_CLEAR ||
	    (job->kind == JOB_PORT && inv_is_switch(node) && job->arg == 0))
		ports_switch_ready(s, node);
}

/* It answers, whatever that is worth: its links stay as they are known, and it is named. */
void explore_flawed(struct sweep *s, const struct batch_job *job, const char *flaw)
{
	struct inv_node *node = job->object;
	bool port = job->kind == JOB_PORT || job->kind == JOB_PORT_EXT;

	if (!node || node->removed || (!port && job->kind != JOB_SWITCH))
		return;
	note_answer(s, job);

	struct sweep_node *cell = sweep_node(node);

	s->inv.nflawed += !cell->flaw;
	cell->flaw = flaw;
	cell->flaw_port = port ? (int)job->arg : -1;
	cell->flawed_in = s->inv.numbered.sweeps;
}

void explore_given_up(struct sweep *s, const struct batch_job *job)
{
	struct inv_node *node = job->object;

	if (node && node->removed)
		return;
	given_up(s, job);
	if (node && (job->kind == JOB_PORT || job->kind == JOB_PORT_EXT))
		sweep_port(node, job->arg)->refuted = true; /* it decides nothing */
	contest_go_on(s);
}
