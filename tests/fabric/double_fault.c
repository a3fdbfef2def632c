/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How the double's devices and cables misbehave: single faults, as tests set them, and the table of
 * all of them (fault.h).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"

/* ---- Cables ---------------------------------------------------------------------------------- */

static void direction_fault(struct dport *port, enum double_direction_fault fault,
			    unsigned per_mille, unsigned value)
{
	port->out[fault] = (struct dfault){ per_mille, value };
	port->odd = false;
	for (unsigned i = 0; i < DOUBLE_WAY_FAULTS; i++)
		port->odd |= port->out[i].per_mille != 0;
}

void double_set_direction_fault(struct double_fabric *d, guid_t node, unsigned port,
				enum double_direction_fault fault, unsigned per_mille,
				unsigned value)
{
	direction_fault(double_port(d, node, port), fault, per_mille, value);
}

void double_set_loss(struct double_fabric *d, guid_t node, unsigned num, unsigned per_mille)
{
	struct dport *port = double_port(d, node, num);

	direction_fault(port, DOUBLE_LOSE, per_mille, 0);
	if (port->peer)
		direction_fault(port->peer, DOUBLE_LOSE, per_mille, 0);
}

/* ---- Devices --------------------------------------------------------------------------------- */

void double_set_time(struct double_fabric *d, guid_t node, unsigned us)
{
	double_node(d, node)->time_us = us;
}

void double_set_refuses(struct double_fabric *d, guid_t node, bool on)
{
	double_node(d, node)->refuses = on;
}

void double_set_feigns(struct double_fabric *d, guid_t guid, uint16_t attr_id)
{
	double_node(d, guid)->feigns = attr_id;
}

void double_set_pretends(struct double_fabric *d, guid_t node, bool on)
{
	double_node(d, node)->pretends = on;
}

void double_lose_lft(struct double_fabric *d, guid_t guid)
{
	struct dnode *node = double_node(d, guid);

	memset(node->lft, LFT_NONE, node->lft_size);
	ways_changed(d);
}

void double_lose_mft(struct double_fabric *d, guid_t guid)
{
	struct dnode *node = double_node(d, guid);

	if (node->mft)
		memset(node->mft, 0, (size_t)node->si.mft_cap * node->columns * sizeof(uint16_t));
}

/* ---- The table ------------------------------------------------------------------------------- */

static void lose(struct double_fabric *d, struct dport *at, unsigned amount)
{
	direction_fault(at, DOUBLE_LOSE, amount, 0);
}

static void duplicate(struct double_fabric *d, struct dport *at, unsigned amount)
{
	direction_fault(at, DOUBLE_TWICE, amount, 0);
}

static void reorder(struct double_fabric *d, struct dport *at, unsigned amount)
{
	direction_fault(at, DOUBLE_REORDER, amount, 200);
}

static void delay(struct double_fabric *d, struct dport *at, unsigned amount)
{
	direction_fault(at, DOUBLE_LATE, amount ? 1000 : 0, amount);
}

static void stuck(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->active = amount ? DOUBLE_REFUSES_ACTIVE : DOUBLE_TAKES_ACTIVE;
}

static void feign(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->active = amount ? DOUBLE_FEIGNS_ACTIVE : DOUBLE_TAKES_ACTIVE;
}

static void ones(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->ones = amount;
}

static void slow(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->time_us = amount;
}

static void late(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->faults[DOUBLE_DELAY] = (struct dfault){ amount ? 1000 : 0, amount };
}

static void hang(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->silent = amount;
}

static void deaf(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->no_sets = amount;
}

static void refuse(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->refuses = amount;
}

static void pretend(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->pretends = amount;
}

static void lie(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->faults[DOUBLE_LIE] = (struct dfault){ amount, 0 };
}

static void echo(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->faults[DOUBLE_DUPLICATE] = (struct dfault){ amount, 0 };
}

static void garble(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->faults[DOUBLE_WRONG_ATTR] = (struct dfault){ amount, 0 };
}

static void truncate_answers(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->faults[DOUBLE_TRUNCATE] = (struct dfault){ amount, 60 };
}

static void complain(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->faults[DOUBLE_BAD_STATUS] = (struct dfault){ amount, 0x1c };
}

static void no_cc(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->no_cc = amount;
}

static void mum(struct double_fabric *d, struct dport *at, unsigned amount)
{
	at->node->mum = amount;
}

static const struct fault faults[] = {
	{ "lose", FAULT_CABLE, FAULT_SHARE, "the cable loses MADs", lose },
	{ "duplicate", FAULT_CABLE, FAULT_SHARE, "the cable delivers MADs twice", duplicate },
	{ "reorder", FAULT_CABLE, FAULT_SHARE, "MADs are overtaken on the cable", reorder },
	{ "delay", FAULT_CABLE, FAULT_TIME, "the cable takes longer", delay },
	{ "stuck", FAULT_PORT, FAULT_PLAIN, "the port stays in Armed and says so", stuck },
	{ "feign", FAULT_PORT, FAULT_PLAIN, "the port stays in Armed and says that all is well",
	  feign },
	{ "ones", FAULT_PORT, FAULT_PLAIN, "its PortInfo is all ones", ones },
	{ "slow", FAULT_NODE, FAULT_TIME, "its agent works that long at each SMP", slow },
	{ "late", FAULT_NODE, FAULT_TIME, "its answers come that much later", late },
	{ "hang", FAULT_NODE, FAULT_PLAIN, "its agent answers nothing; packets pass", hang },
	{ "deaf", FAULT_NODE, FAULT_PLAIN, "its agent answers Gets and no Set", deaf },
	{ "refuse", FAULT_NODE, FAULT_PLAIN, "its agent answers Sets with a bad status", refuse },
	{ "pretend", FAULT_NODE, FAULT_PLAIN, "its agent acknowledges tables and stores none",
	  pretend },
	{ "lie", FAULT_NODE, FAULT_SHARE, "its answers say what is not so", lie },
	{ "echo", FAULT_NODE, FAULT_SHARE, "its answers come twice", echo },
	{ "garble", FAULT_NODE, FAULT_SHARE, "its answers are of another attribute", garble },
	{ "truncate", FAULT_NODE, FAULT_SHARE, "its answers are cut short", truncate_answers },
	{ "complain", FAULT_NODE, FAULT_SHARE, "its answers have a bad status; Sets are taken over",
	  complain },
	{ "no-cc", FAULT_NODE, FAULT_PLAIN, "it knows no congestion control", no_cc },
	{ "mum", FAULT_NODE, FAULT_PLAIN, "it sends no traps", mum },
	{ NULL, FAULT_NODE, FAULT_PLAIN, NULL, NULL },
};

const struct fault *fault_table(void)
{
	return faults;
}

const struct fault *fault_find(const char *name)
{
	for (const struct fault *fault = faults; fault->name; fault++)
		if (strcmp(fault->name, name) == 0)
			return fault;
	return NULL;
}

void fault_set(struct double_fabric *d, const struct fault *fault, guid_t node, unsigned num,
	       unsigned amount)
{
	struct dport *port = double_port(d, node, num);

	fault->set(d, port, amount);
	if (fault->scope == FAULT_CABLE && port->peer)
		fault->set(d, port->peer, amount);
}

void fault_set_direction(struct double_fabric *d, const struct fault *fault, guid_t node,
			 unsigned num, unsigned amount)
{
	assert(fault->scope == FAULT_CABLE);
	fault->set(d, double_port(d, node, num), amount);
}

void fault_set_all(struct double_fabric *d, const struct fault *fault, unsigned amount)
{
	for (uint32_t i = 0; i < d->topo->nports; i++)
		if ((fault->scope == FAULT_NODE) == !d->ports[i].num)
			fault->set(d, &d->ports[i], amount);
}

void fault_end_all(struct double_fabric *d)
{
	for (const struct fault *fault = faults; fault->name; fault++)
		fault_set_all(d, fault, 0);
	d->nmutes = 0;
	for (uint32_t i = 0; i < d->topo->nports; i++)
		d->ports[i].flaps = false;
}
