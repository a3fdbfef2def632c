/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_election_ask: who else manages. Ports with IsSM are had from the inventory, and each is asked with one Get(SMInfo); behind the
 * last answer, or the last silence, it is judged what they come to. A new round ends one that is under way.
 */
#include <stdio.h>
#include "fm/fabric_election.h"
#include "topology/mem.h"

static bool has_manager(const struct fabric *f, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];
	guid_t guid = num ? node->port_guids[num] : node->guid;

	return port->known && (port->link_up || !num) && port->capmask & WIRE_CAP_IS_SM && guid &&
	       guid != mad_port_info(f->mad)->port_guid;
}

static void add_other(struct fabric *f, struct inv_node *node, unsigned num)
{
	struct fabric_election *e = f->election;
	struct other other = { .f = f,
			       .guid = num ? node->port_guids[num] : node->guid,
			       .lid = node->ports[num].lid };

	if (!inventory_port_path(sweep_inventory(f->sweep), node, (uint8_t)num, &other.path))
		return;
	snprintf(other.name, sizeof(other.name), "%s", node->desc);
	e->others = mem_resize(e->others, e->nothers + 1, sizeof(other));
	e->others[e->nothers++] = other;
}

void fabric_election_stop_asking(struct fabric *f)
{
	struct fabric_election *e = f->election;

	for (unsigned i = 0; i < e->nothers; i++) {
		mad_cancel(f->mad, e->others[i].token);
		e->others[i].token = 0;
	}
	e->open = 0;
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
}

static void list_others(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	fabric_election_stop_asking(f);
	f->election->nothers = 0;
	note_own_port(f);
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		unsigned first = inv_is_switch(node) ? 0 : 1,
			 last = inv_is_switch(node) || !node->port_guids ? 0 : node->nports;

		for (unsigned p = first; !node->gone && p <= last; p++)
			if (has_manager(f, node, p))
				add_other(f, node, p);
	}
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
		fabric_election_judge(f);
}

/* Behind the last of the list: its memory moves no more. */
static void ask_others(struct fabric *f)
{
	struct fabric_election *e = f->election;

	list_others(f);
	e->open = e->nothers;
	for (unsigned i = 0; i < e->nothers; i++)
		e->others[i].token = mad_send(f->mad,
					      &(struct mad_request){ .path = &e->others[i].path,
								     .method = WIRE_GET,
								     .attr_id = WIRE_SM_INFO,
								     .urgent = true,
								     .doubtful = true },
					      answered, &e->others[i]);
	if (!e->nothers)
		fabric_election_judge(f);
}

void fabric_election_looked(struct fabric *f)
{
	if (f->election->core.state == SM_DISCOVERING)
		ask_others(f);
}

void fabric_election_ask(struct fabric *f)
{
	const struct election *core = &f->election->core;

	if (f->election->rules && core->state == SM_MASTER && !core->handing)
		ask_others(f);
}
