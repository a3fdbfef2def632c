/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who else manages. Ports with IsSM are had from the inventory, and each is asked with one
 * Get(SMInfo); behind the last answer, or the last silence, it is judged what they come to. Another
 * that is met while a round is under way joins it, so that a silent port ends no round before it is
 * judged.
 *
 * Before a master publishes what a sweep found it asks those whom it did not ask since they were
 * met, and the port at an SM LID that ports hold and that is not its own: their fabric and ours
 * may just have been joined. The update waits for that, no longer than a transaction; not where
 * something was lost: a fault is answered at once. Where one of them is master the update waits
 * until one of the two has handed over, TWO_MASTERS_US at most: until then what is new here is the
 * other's to configure.
 */
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/inventory/inventory.h"
#include "fm/sa/sa.h"
#include "fm/sm/module_own.h"
#include "routing/lid_plan.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define TWO_MASTERS_US 5000000

static bool has_manager(const struct sm_room *r, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	guid_t guid = num ? node->port_guids[num] : node->guid;

	return port->known && (port->link_up || !num) && port->capmask & WIRE_CAP_IS_SM && guid &&
	       guid != mad_port_info(r->services.mad)->port_guid;
}

const struct other *sm_find_other(const struct sm_room *r, guid_t guid)
{
	for (unsigned i = 0; i < r->rounds.nothers; i++)
		if (r->rounds.others[i]->guid == guid)
			return r->rounds.others[i];
	return NULL;
}

static void add(struct sm_room *r, const struct other *other)
{
	struct rounds *q = &r->rounds;

	if (!other->guid || sm_find_other(r, other->guid))
		return;
	q->others = mem_array_resize(q->others, q->nothers + 1);
	q->others[q->nothers] = mem_alloc(1, sizeof(*other));
	*q->others[q->nothers++] = *other;
}

static void add_other(struct sm_room *r, struct inv_node *node, unsigned num)
{
	struct other other = { .room = r,
			       .guid = num ? node->port_guids[num] : node->guid,
			       .lid = node->ports[num].lid };

	if (!inventory_port_path(r->services.inventory, node, num, &other.path))
		return;
	inv_port_mark(node, num, INV_SM_ASKED, true);
	array_printf(other.name, "%s", node->name);
	add(r, &other);
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
	q->holds = HOLDS_NOT;
	loop_timer_stop(q->hold);
}

void sm_forget_others(struct sm_room *r)
{
	sm_stop_asking(r);
	forget_others(&r->rounds);
	r->rounds.njudged = 0;
}

static void note_own_port(struct sm_room *r)
{
	const struct inventory *inv = r->services.inventory;
	const struct lid_memory *lids = r->services.lids;

	if (!inv->local)
		return;

	const struct inv_port *port =
		&inv->local->ports[inv_is_switch(inv->local) ? 0 : inv->local_port];

	r->rounds.own_lid = port->lid;
	r->rounds.own_capmask = port->capmask | WIRE_CAP_IS_SM;
	r->rounds.usual_lid = port->lid;
	for (uint32_t i = 0; !r->rounds.usual_lid && i < lids->count; i++)
		if (lids->entries[i].port_guid == mad_port_info(r->services.mad)->port_guid)
			r->rounds.usual_lid = lids->entries[i].lid;
}

/* End ports of nodes that a path leads to. */
static void each_end(struct sm_room *r, void (*fn)(struct sm_room *, struct inv_node *, unsigned))
{
	const struct inventory *inv = r->services.inventory;

	INVENTORY_EACH (inv, node) {
		unsigned first = !inv_is_switch(node),
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

/* With more than fit into the list, the first are asked again. */
static void note_judged(struct rounds *q, uint16_t lid)
{
	if (is_judged(q, lid))
		return;
	if (q->njudged == JUDGED_LIDS)
		q->njudged = 0;
	q->judged_lids[q->njudged++] = lid;
}

void sm_know_lid(struct sm_room *r, uint16_t lid)
{
	note_judged(&r->rounds, lid);
	note_own_port(r);
	note_judged(&r->rounds, lid);
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

static void list_foreign(struct sm_room *r, struct inv_node *node, unsigned num)
{
	uint16_t lid = node->ports[num].sm_lid;

	if (is_judged(&r->rounds, lid))
		return;
	note_judged(&r->rounds, lid);

	const struct inventory *inv = r->services.inventory;

	INVENTORY_EACH (inv, other)
		for (unsigned p = 0; !other->gone && p <= other->nports; p++)
			if (other->ports[p].known && other->ports[p].lid == lid &&
			    (!p == inv_is_switch(other)))
				add_other(r, other, p);
}

static void count_unasked(struct sm_room *r, struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	r->rounds.unasked += (has_manager(r, node, num) && !inv_port_is(node, num, INV_SM_ASKED)) ||
			     !is_judged(&r->rounds, port->sm_lid);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static void release(void *arg)
{
	struct sm_room *r = arg;
	struct rounds *q = &r->rounds;

	if (!q->holds)
		return;
	q->holds = HOLDS_NOT;
	loop_timer_stop(q->hold);
	fabric_request_reroute(r->fabric, "no other master answered");
}

static bool is_another_master(const struct sm_room *r)
{
	const struct rounds *q = &r->rounds;

	return any_of(i, 0, q->nothers,
		      q->others[i]->answered && q->others[i]->info.state == SM_MASTER &&
			      !election_ignores(&r->core, &q->others[i]->info));
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
	if (!other->answered && other->guid == r->rounds.met.guid)
		r->rounds.met.guid = 0;
	if (--r->rounds.open == 0) {
		r->rounds.judge(r);
		if (!is_another_master(r))
			release(r);
		else if (r->rounds.holds == HOLDS_ASKS) {
			r->rounds.holds = HOLDS_TWO_MASTERS;
			loop_timer_set(r->rounds.hold, TWO_MASTERS_US);
		}
	}
}

/* foreign: holders of SM LIDs that are not known yet, too. */
static void begin_round(struct sm_room *r, bool foreign)
{
	struct rounds *q = &r->rounds;

	if (!q->open)
		forget_others(q);

	unsigned first = q->nothers;

	note_own_port(r);
	each_end(r, list_manager);
	if (foreign)
		each_end(r, list_foreign);
	add(r, &q->met);
	q->open += q->nothers - first;
	for (unsigned i = first; i < q->nothers; i++) {
		struct other *other = q->others[i];

		other->token = mad_send(r->services.mad,
					&(struct mad_request){ .path = &other->path,
							       .method = WIRE_GET,
							       .attr_id = WIRE_SM_INFO,
							       .urgent = true,
							       .doubtful = true },
					answered, other);
	}
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

	return fabric_is_master(r->fabric) && core->state == SM_MASTER &&
	       core->waits != ELECTION_HANDING;
}

void sm_ask(struct sm_room *r)
{
	if (may_ask(r))
		sm_ask_round(r);
}

static void hold(struct sm_room *r, uint64_t most_us)
{
	struct rounds *q = &r->rounds;

	if (q->holds || !q->open)
		return;
	q->holds = HOLDS_ASKS;
	loop_timer_set(q->hold, most_us);
}

bool sm_ask_holds(struct sm_room *r, bool fell, bool another_sm)
{
	struct rounds *q = &r->rounds;

	if (fell) {
		q->holds = HOLDS_NOT;
		return false;
	}
	if (q->holds || !another_sm || !may_ask(r))
		return q->holds;
	q->unasked = 0;
	note_own_port(r);
	each_end(r, count_unasked);
	if (!q->unasked)
		return q->holds;
	begin_round(r, true);
	hold(r, (uint64_t)r->services.conf->mad.timeout_ms * 1000);
	return q->holds;
}

void sm_ask_met(struct sm_room *r)
{
	if (!may_ask(r))
		return;
	sm_ask_round(r);
	hold(r, TWO_MASTERS_US); /* it is there, however late it answers */
}

bool sm_better_comes(const struct sm_room *r)
{
	const struct rounds *q = &r->rounds;

	return any_of(i, 0, q->nothers,
		      q->others[i]->answered && q->others[i]->info.state == SM_DISCOVERING &&
			      !election_ignores(&r->core, &q->others[i]->info) &&
			      election_outranks_us(&r->core, &q->others[i]->info));
}

/* ---- What becomes of those who ask the SA while the fabric changes hands --------------------- */

/*
 * A host sends to the SM LID of its port's PortInfo. The new master sets that port by port, behind
 * its sweep; until then, and as long as requests are repeated that were sent before, they come
 * here. So the manager that has handed over goes on answering from what it last published. The pipe
 * is paused meanwhile, and learns of the new role afterwards: nothing is written.
 *
 *   read     Get(PortInfo) of each HCA port whose link is up, the own one first. One whose SM LID
 *            is still this manager's is read again after READ_US, and those behind it wait: few
 *            reads are lost on a master that is not that far. More are under way at a time as
 *            answers show the new LID.
 *   linger   all have moved: until nobody was answered for LINGER_US. Requests that had left, and
 *            programs that keep the old LID, are answered still.
 *
 * No word of the new master is needed for that, so it holds for any that there is. Who does not
 * answer is left out: it asks nothing. PARTING_US limit all of it.
 */

#define READ_US	   20000
#define LINGER_US  100000
#define LOSSES_MAX 3
#define READ_MS	   100

static void over(void *arg)
{
	struct sm_room *r = arg;

	sm_part_end(r);
	r->parting.over(r);
}

/* ---- Linger ---------------------------------------------------------------------------------- */

static void linger(struct sm_room *r)
{
	struct parting *p = &r->parting;

	p->all_moved = true;
	p->answered = sa_stats(r->services.sa).answered;
	loop_timer_set(p->step, LINGER_US);
}

/* ---- Read ------------------------------------------------------------------------------------ */

static void list_ends_of(struct parting *p, const struct inv_node *node)
{
	for (unsigned num = 1; num <= node->nports; num++)
		if (node->ports[num].known && node->ports[num].link_up)
			p->ends[p->count++] =
				(struct parting_end){ .node = node->guid, .port = num };
}

static void read_on(struct sm_room *r);

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct parting_read *read = arg;
	struct sm_room *r = read->room;
	struct parting *p = &r->parting;
	struct wire_port_info info = { 0 };

	read->token = 0;
	p->open--;
	if (answer->result == MAD_OK)
		wire_port_info_decode(answer->data, &info);
	if (answer->result == MAD_OK && info.sm_lid != p->own_lid) {
		p->window = p->window * 2 > PARTING_READS ? PARTING_READS : p->window * 2;
	} else if (answer->result == MAD_OK) {
		read->end.losses = 0;
		p->window = 0;
		p->ends[p->kept++] = read->end;
	} else if (++read->end.losses < LOSSES_MAX) {
		p->ends[p->kept++] = read->end;
	}
	read_on(r);
}

/* False: no way leads there any more. */
static bool send_read(struct sm_room *r, struct parting_read *read)
{
	struct inventory *inv = r->services.inventory;
	const struct inv_node *node = inventory_find(inv, read->end.node);
	struct mad_path path;

	if (!node || !inventory_port_path(inv, node, read->end.port, &path))
		return false;
	read->token = mad_send(r->services.mad,
			       &(struct mad_request){ .path = &path,
						      .method = WIRE_GET,
						      .attr_id = WIRE_PORT_INFO,
						      .attr_mod = read->end.port,
						      .device = node->guid,
						      .timeout_ms = READ_MS,
						      .once = true,
						      .doubtful = true },
			       was_read, read);
	return true;
}

/* The window is 0 in what is left of a round that met a port that has not moved. */
static void read_on(struct sm_room *r)
{
	struct parting *p = &r->parting;

	while (p->open < p->window && p->at < p->count) {
		unsigned i = 0;

		while (p->reads[i].token)
			i++;
		p->reads[i] = (struct parting_read){ .room = r, .end = p->ends[p->at++] };
		p->open += send_read(r, &p->reads[i]);
	}
	if (!p->open) {
		/* Those that were not reached in this round are read in the next one. */
		memmove(p->ends + p->kept, p->ends + p->at, (p->count - p->at) * sizeof(*p->ends));
		p->count = p->kept + p->count - p->at;
		p->at = p->kept = 0;
		p->window = 1;
		if (p->count)
			loop_timer_set(p->step, READ_US);
		else
			linger(r);
	}
}

static void step_cb(void *arg)
{
	struct sm_room *r = arg;

	if (r->parting.all_moved) {
		if (sa_stats(r->services.sa).answered != r->parting.answered)
			linger(r);
		else
			over(r);
	} else
		read_on(r);
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool sm_part_begin(struct sm_room *r)
{
	struct parting *p = &r->parting;
	uint16_t own_lid = fabric_view(r->fabric).sm_lid;

	if (p->on || !own_lid)
		return p->on;
	p->on = true;
	p->own_lid = own_lid;
	p->window = 1;

	const struct inventory *inv = r->services.inventory;

	if (inv->local && !inv_is_switch(inv->local))
		p->ends = mem_array(p->ends, inv->local->nports);
	if (p->ends)
		list_ends_of(p, inv->local);
	INVENTORY_EACH (inv, node) {
		if (inv_is_switch(node) || node->gone || node->silent || node == inv->local)
			continue;
		p->ends = mem_array_resize(p->ends, p->count + node->nports);
		list_ends_of(p, node);
	}

	loop_timer_set(p->step, READ_US);
	loop_timer_set(p->limit, PARTING_US);
	return true;
}

void sm_part_end(struct sm_room *r)
{
	struct parting *p = &r->parting;
	loop_fn *fn = p->fn;
	void *arg = p->arg;

	for (unsigned i = 0; i < PARTING_READS; i++) {
		mad_cancel(r->services.mad, p->reads[i].token);
		p->reads[i].token = 0;
	}
	loop_timer_stop(p->step);
	loop_timer_stop(p->limit);
	free(p->ends);
	*p = (struct parting){ .over = p->over, .step = p->step, .limit = p->limit };
	if (fn)
		fn(arg);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void sm_ask_init(struct sm_room *r)
{
	r->rounds.hold = loop_timer_new(r->services.loop, release, r);
	r->parting.step = loop_timer_new(r->services.loop, step_cb, r);
	r->parting.limit = loop_timer_new(r->services.loop, over, r);
}

void sm_ask_fini(struct sm_room *r)
{
	r->parting.fn = NULL;
	sm_part_end(r);
	loop_timer_free(r->parting.step);
	loop_timer_free(r->parting.limit);
	sm_forget_others(r);
	loop_timer_free(r->rounds.hold);
	free(r->rounds.others);
}
