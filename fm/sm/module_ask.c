/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who else manages. Ports with IsSM are had from the inventory, and each is asked with one
 * Get(SMInfo); behind the last answer, or the last silence, it is judged what they come to. Another
 * that is met while a round is under way joins it, so that a silent port ends no round before it is
 * judged.
 *
 * Before a master publishes what a sweep found it asks those whom it did not ask since they were
 * met, and whoever is at an SM LID that ports hold and that is not its own: their fabric and ours
 * may just have been joined. The update waits for that, no longer than a transaction; not where
 * something was lost: a fault is answered at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/sm/module_own.h"
#include "routing/lid_plan.h"
#include "topology/base/mem.h"

static bool has_manager(const struct sm_room *r, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	guid_t guid = num ? node->port_guids[num] : node->guid;

	return port->known && (port->link_up || !num) && port->capmask & WIRE_CAP_IS_SM && guid &&
	       guid != mad_port_info(r->services.mad)->port_guid;
}

static struct other *find(const struct rounds *q, guid_t guid)
{
	for (unsigned i = 0; i < q->nothers; i++)
		if (q->others[i]->guid == guid)
			return q->others[i];
	return NULL;
}

static void add_other(struct sm_room *r, struct inv_node *node, unsigned num)
{
	struct rounds *q = &r->rounds;
	struct other other = { .room = r,
			       .guid = num ? node->port_guids[num] : node->guid,
			       .lid = node->ports[num].lid };

	if (!inventory_port_path(r->services.inventory, node, (uint8_t)num, &other.path))
		return;
	inv_port_mark(node, num, INV_SM_ASKED, true);
	if (find(q, other.guid))
		return;
	snprintf(other.name, sizeof(other.name), "%s", node->name);
	q->others = mem_resize(q->others, q->nothers + 1, sizeof(*q->others));
	q->others[q->nothers] = mem_alloc(1, sizeof(other));
	*q->others[q->nothers++] = other;
}

static void forget_others(struct rounds *q)
{
	for (unsigned i = 0; i < q->nothers; i++)
		free(q->others[i]);
	q->nothers = 0;
}

void sm_stop_asking(struct sm_room *r)
{
	struct rounds *q = &r->rounds;

	for (unsigned i = 0; i < q->nothers; i++) {
		mad_cancel(r->services.mad, q->others[i]->token);
		q->others[i]->token = 0;
	}
	q->open = 0;
	q->holds = false;
	loop_timer_stop(q->hold);
}

void sm_forget_others(struct sm_room *r)
{
	sm_stop_asking(r);
	forget_others(&r->rounds);
	r->rounds.njudged = 0;
}

static uint16_t remembered_lid(const struct sm_room *r)
{
	guid_t guid = mad_port_info(r->services.mad)->port_guid;

	for (uint32_t i = 0; i < r->services.lids->count; i++)
		if (r->services.lids->entries[i].port_guid == guid)
			return r->services.lids->entries[i].lid;
	return 0;
}

static void note_own_port(struct sm_room *r)
{
	const struct inventory *inv = r->services.inventory;
	const struct inv_port *port;

	if (!inv->local)
		return;
	port = &inv->local->ports[inv_is_switch(inv->local) ? 0 : inv->local_port];
	r->rounds.own_lid = port->lid;
	r->rounds.own_capmask = port->capmask | WIRE_CAP_IS_SM;
	r->rounds.usual_lid = port->lid ? port->lid : remembered_lid(r);
}

/* End ports of nodes that a path leads to. */
static void each_end(struct sm_room *r, void (*fn)(struct sm_room *, struct inv_node *, unsigned))
{
	const struct inventory *inv = r->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		unsigned first = inv_is_switch(node) ? 0 : 1,
			 last = inv_is_switch(node) || !node->port_guids ? 0 : node->nports;

		for (unsigned p = first; !node->gone && p <= last; p++)
			if (node->ports[p].known && (node->ports[p].link_up || !p))
				fn(r, node, p);
	}
}

static void list_manager(struct sm_room *r, struct inv_node *node, unsigned num)
{
	if (has_manager(r, node, num))
		add_other(r, node, num);
}

/* ---- SM LIDs --------------------------------------------------------------------------------- */

static bool is_judged(const struct rounds *q, uint16_t lid)
{
	for (unsigned i = 0; i < q->njudged; i++)
		if (q->judged_lids[i] == lid)
			return true;
	return lid == q->usual_lid || !lid;
}

/* With more than there is room for, the first are asked again. */
static void note_judged(struct rounds *q, uint16_t lid)
{
	if (is_judged(q, lid))
		return;
	if (q->njudged == JUDGED_LIDS)
		q->njudged = 0;
	q->judged_lids[q->njudged++] = lid;
}

static void know_lid(struct sm_room *r, struct inv_node *node, unsigned num)
{
	note_judged(&r->rounds, node->ports[num].sm_lid);
}

void sm_know_lids(struct sm_room *r)
{
	note_own_port(r);
	each_end(r, know_lid);
}

static void list_holder(struct sm_room *r, uint16_t lid)
{
	const struct inventory *inv = r->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned p = 0; !node->gone && p <= node->nports; p++)
			if (node->ports[p].known && node->ports[p].lid == lid &&
			    (!p == inv_is_switch(node)))
				add_other(r, node, p);
}

static void list_foreign(struct sm_room *r, struct inv_node *node, unsigned num)
{
	uint16_t lid = node->ports[num].sm_lid;

	if (is_judged(&r->rounds, lid))
		return;
	note_judged(&r->rounds, lid);
	list_holder(r, lid);
}

static void count_unasked(struct sm_room *r, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	r->rounds.unasked += (has_manager(r, node, num) && !inv_port_is(node, num, INV_SM_ASKED)) ||
			     !is_judged(&r->rounds, port->sm_lid);
}

static bool has_unasked(struct sm_room *r)
{
	r->rounds.unasked = 0;
	note_own_port(r);
	each_end(r, count_unasked);
	return r->rounds.unasked > 0;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void release(struct sm_room *r)
{
	struct rounds *q = &r->rounds;

	if (!q->holds)
		return;
	q->holds = false;
	loop_timer_stop(q->hold);
	fabric_request_reroute(r->fabric, "no other master answered");
}

static void hold_over(void *arg)
{
	release(arg);
}

static void round_over(struct sm_room *r)
{
	r->rounds.judge(r);
	release(r);
}

static void answered(void *arg, const struct mad_answer *answer)
{
	struct other *other = arg;
	struct sm_room *r = other->room;

	other->token = 0;
	if (answer->result == MAD_OK) {
		wire_sm_info_decode(answer->data, &other->info);
		other->answered = other->info.guid == other->guid;
	}
	if (--r->rounds.open == 0)
		round_over(r);
}

static void ask(struct sm_room *r, struct other *other)
{
	other->token = mad_send(r->services.mad,
				&(struct mad_request){ .path = &other->path,
						       .method = WIRE_GET,
						       .attr_id = WIRE_SM_INFO,
						       .urgent = true,
						       .doubtful = true },
				answered, other);
}

/* foreign: holders of SM LIDs that are not known yet, too. */
static void begin_round(struct sm_room *r, bool foreign)
{
	struct rounds *q = &r->rounds;
	unsigned first;

	if (!q->open)
		forget_others(q);
	first = q->nothers;
	note_own_port(r);
	each_end(r, list_manager);
	if (foreign)
		each_end(r, list_foreign);
	q->open += q->nothers - first;
	for (unsigned i = first; i < q->nothers; i++)
		ask(r, q->others[i]);
}

void sm_ask_round(struct sm_room *r)
{
	begin_round(r, false);
	if (!r->rounds.open)
		r->rounds.judge(r);
}

static bool may_ask(const struct sm_room *r)
{
	const struct election *core = &r->core;

	return fabric_is_master(r->fabric) && core->state == SM_MASTER && !core->handing;
}

void sm_ask(struct sm_room *r)
{
	if (may_ask(r))
		sm_ask_round(r);
}

bool sm_ask_holds(struct sm_room *r, bool fell, bool another_sm)
{
	struct rounds *q = &r->rounds;

	if (fell) {
		q->holds = false;
		return false;
	}
	if (q->holds || !another_sm || !may_ask(r) || !has_unasked(r))
		return q->holds;
	begin_round(r, true);
	q->holds = q->open > 0;
	if (q->holds)
		loop_timer_set(q->hold, (uint64_t)r->services.conf->mad.timeout_ms * 1000);
	return q->holds;
}

const struct other *sm_find_other(const struct sm_room *r, guid_t guid)
{
	return find(&r->rounds, guid);
}

bool sm_better_comes(const struct sm_room *r)
{
	const struct rounds *q = &r->rounds;

	for (unsigned i = 0; i < q->nothers; i++)
		if (q->others[i]->answered && q->others[i]->info.state == SM_DISCOVERING &&
		    !election_ignores(&r->core, &q->others[i]->info) &&
		    election_outranks_us(&r->core, &q->others[i]->info))
			return true;
	return false;
}

void sm_ask_init(struct sm_room *r)
{
	r->rounds.hold = loop_timer_new(r->services.loop, hold_over, r);
}

void sm_ask_fini(struct sm_room *r)
{
	sm_forget_others(r);
	loop_timer_free(r->rounds.hold);
	free(r->rounds.others);
}
