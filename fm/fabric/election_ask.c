/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_election_ask: who else manages. Ports with IsSM are had from the inventory, and each is asked with one Get(SMInfo); behind the
 * last answer, or the last silence, it is judged what they come to. Whoever is met while a round is under way joins it, so that a silent
 * port ends no round before it is judged.
 *
 * Before a master publishes what a sweep found it asks those whom it did not ask since they were met, and whoever is at an SM LID that
 * ports hold and that is not its own: their fabric and ours may just have been joined. The update waits for that, no longer than a
 * transaction; not where something was lost: a fault is answered at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include "fm/fabric/election.h"
#include "topology/mem.h"

static bool has_manager(const struct fabric *f, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	guid_t guid = num ? node->port_guids[num] : node->guid;

	return port->known && (port->link_up || !num) && port->capmask & WIRE_CAP_IS_SM && guid &&
	       guid != mad_port_info(f->mad)->port_guid;
}

static struct other *find(const struct fabric_election *e, guid_t guid)
{
	for (unsigned i = 0; i < e->nothers; i++)
		if (e->others[i]->guid == guid)
			return e->others[i];
	return NULL;
}

static void add_other(struct fabric *f, struct inv_node *node, unsigned num)
{
	struct fabric_election *e = f->election;
	struct other other = { .f = f,
			       .guid = num ? node->port_guids[num] : node->guid,
			       .lid = node->ports[num].lid };

	if (!inventory_port_path(sweep_inventory(f->sweep), node, (uint8_t)num, &other.path))
		return;
	node->ports[num].sm_asked = true;
	if (find(e, other.guid))
		return;
	snprintf(other.name, sizeof(other.name), "%s", node->desc);
	e->others = mem_resize(e->others, e->nothers + 1, sizeof(*e->others));
	e->others[e->nothers] = mem_alloc(1, sizeof(other));
	*e->others[e->nothers++] = other;
}

static void forget_others(struct fabric_election *e)
{
	for (unsigned i = 0; i < e->nothers; i++)
		free(e->others[i]);
	e->nothers = 0;
}

void fabric_election_stop_asking(struct fabric *f)
{
	struct fabric_election *e = f->election;

	for (unsigned i = 0; i < e->nothers; i++) {
		mad_cancel(f->mad, e->others[i]->token);
		e->others[i]->token = 0;
	}
	e->open = 0;
	e->holds = false;
	loop_timer_stop(e->hold);
}

void fabric_election_forget_others(struct fabric *f)
{
	fabric_election_stop_asking(f);
	forget_others(f->election);
	f->election->njudged = 0;
}

static uint16_t remembered_lid(const struct fabric *f)
{
	guid_t guid = mad_port_info(f->mad)->port_guid;

	for (uint32_t i = 0; i < f->memory.count; i++)
		if (f->memory.entries[i].port_guid == guid)
			return f->memory.entries[i].lid;
	return 0;
}

static void note_own_port(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	const struct inv_port *port;

	if (!inv->local)
		return;
	port = &inv->local->ports[inv_is_switch(inv->local) ? 0 : inv->local_port];
	f->election->own_lid = port->lid;
	f->election->own_capmask = port->capmask | WIRE_CAP_IS_SM;
	f->election->usual_lid = port->lid ? port->lid : remembered_lid(f);
}

/* End ports of nodes that a way leads to. */
static void each_end(struct fabric *f, void (*fn)(struct fabric *, struct inv_node *, unsigned))
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		unsigned first = inv_is_switch(node) ? 0 : 1,
			 last = inv_is_switch(node) || !node->port_guids ? 0 : node->nports;

		for (unsigned p = first; !node->gone && p <= last; p++)
			if (node->ports[p].known && (node->ports[p].link_up || !p))
				fn(f, node, p);
	}
}

static void list_manager(struct fabric *f, struct inv_node *node, unsigned num)
{
	if (has_manager(f, node, num))
		add_other(f, node, num);
}

/* ---- SM LIDs ------------------------------------------------------------------------------------- */

static bool is_judged(const struct fabric_election *e, uint16_t lid)
{
	for (unsigned i = 0; i < e->njudged; i++)
		if (e->judged_lids[i] == lid)
			return true;
	return lid == e->usual_lid || !lid;
}

/* With more than there is room for, the first are asked again. */
static void note_judged(struct fabric_election *e, uint16_t lid)
{
	if (is_judged(e, lid))
		return;
	if (e->njudged == JUDGED_LIDS)
		e->njudged = 0;
	e->judged_lids[e->njudged++] = lid;
}

static void know_lid(struct fabric *f, struct inv_node *node, unsigned num)
{
	note_judged(f->election, node->ports[num].sm_lid);
}

void fabric_election_know_lids(struct fabric *f)
{
	note_own_port(f);
	each_end(f, know_lid);
}

static void list_holder(struct fabric *f, uint16_t lid)
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		for (unsigned p = 0; !node->gone && p <= node->nports; p++)
			if (node->ports[p].known && node->ports[p].lid == lid &&
			    (!p == inv_is_switch(node)))
				add_other(f, node, p);
}

static void list_foreign(struct fabric *f, struct inv_node *node, unsigned num)
{
	uint16_t lid = node->ports[num].sm_lid;

	if (is_judged(f->election, lid))
		return;
	note_judged(f->election, lid);
	list_holder(f, lid);
}

static void count_unasked(struct fabric *f, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	f->election->unasked += (has_manager(f, node, num) && !port->sm_asked) ||
				!is_judged(f->election, port->sm_lid);
}

static bool has_unasked(struct fabric *f)
{
	f->election->unasked = 0;
	note_own_port(f);
	each_end(f, count_unasked);
	return f->election->unasked > 0;
}

/* ---- Rounds -------------------------------------------------------------------------------------- */

static void release(struct fabric *f)
{
	struct fabric_election *e = f->election;

	if (!e->holds)
		return;
	e->holds = false;
	loop_timer_stop(e->hold);
	fabric_request_reroute(f, "no other master answered");
}

static void hold_over(void *arg)
{
	release(arg);
}

static void round_over(struct fabric *f)
{
	fabric_election_judge(f);
	release(f);
}

static void answered(void *arg, const struct mad_answer *answer)
{
	struct other *other = arg;
	struct fabric *f = other->f;

	other->token = 0;
	if (answer->result == MAD_OK) {
		wire_sm_info_decode(answer->data, &other->info);
		other->answered = other->info.guid == other->guid;
	}
	if (--f->election->open == 0)
		round_over(f);
}

static void ask(struct fabric *f, struct other *other)
{
	other->token = mad_send(f->mad,
				&(struct mad_request){ .path = &other->path,
						       .method = WIRE_GET,
						       .attr_id = WIRE_SM_INFO,
						       .urgent = true,
						       .doubtful = true },
				answered, other);
}

/* foreign: holders of SM LIDs that are not known yet, too. */
static void begin_round(struct fabric *f, bool foreign)
{
	struct fabric_election *e = f->election;
	unsigned first;

	if (!e->open)
		forget_others(e);
	first = e->nothers;
	note_own_port(f);
	each_end(f, list_manager);
	if (foreign)
		each_end(f, list_foreign);
	e->open += e->nothers - first;
	for (unsigned i = first; i < e->nothers; i++)
		ask(f, e->others[i]);
}

void fabric_election_round(struct fabric *f)
{
	begin_round(f, false);
	if (!f->election->open)
		fabric_election_judge(f);
}

void fabric_election_looked(struct fabric *f)
{
	if (f->election->core.state == SM_DISCOVERING)
		fabric_election_round(f);
}

static bool may_ask(const struct fabric *f)
{
	const struct election *core = &f->election->core;

	return f->election->rules && core->state == SM_MASTER && !core->handing;
}

void fabric_election_ask(struct fabric *f)
{
	if (may_ask(f))
		fabric_election_round(f);
}

bool fabric_election_holds(const struct fabric *f)
{
	return f->election->holds;
}

bool fabric_election_hold(struct fabric *f, const struct sweep_result *result)
{
	struct fabric_election *e = f->election;

	if (result->fell) {
		e->holds = false;
		return false;
	}
	if (e->holds || !result->strangers || !may_ask(f) || !has_unasked(f))
		return e->holds;
	begin_round(f, true);
	e->holds = e->open > 0;
	if (e->holds)
		loop_timer_set(e->hold, (uint64_t)f->conf.transaction_timeout_ms * 1000);
	return e->holds;
}

void fabric_election_ask_init(struct fabric *f)
{
	f->election->hold = loop_timer_new(f->loop, hold_over, f);
}

void fabric_election_ask_fini(struct fabric *f)
{
	fabric_election_forget_others(f);
	loop_timer_free(f->election->hold);
	free(f->election->others);
}
