/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traps of the double's nodes (IBA 13.4.9, 14.2.5.1): by LID, to the subnet manager that the port
 * was told of.
 *
 * A trap is told again, one trap period apart (4.096 us * 2^SubnetTimeOut), until a TrapRepress
 * with its transaction ID comes, or as often as conf says. Those about keys come once a period,
 * however many packets were wrong.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

#define TIMEOUT_DEFAULT 18 /* a second, where nobody said anything */

enum { TRAP_URGENT = 1, TRAP_SECURITY = 2, TRAP_INFORMATION = 4 };

struct dtrap {
	struct dtrap *next;
	struct double_fabric *d;
	struct dport *port; /* it leaves from */
	struct loop_timer *timer;
	uint64_t tid;
	unsigned left;
	uint8_t mad[WIRE_MAD_SIZE];
};

static struct dport *own_port(struct dnode *node)
{
	return &node->ports[is_switch(node) ? 0 : 1];
}

static uint64_t trap_period_us(struct dnode *node)
{
	unsigned timeout = own_port(node)->info.subnet_timeout;

	return (4096ull << (timeout ? timeout : TIMEOUT_DEFAULT)) / 1000;
}

/* ---- Until it is repressed ------------------------------------------------------------------- */

static void trap_free(struct dtrap *trap)
{
	struct dtrap **link = &trap->port->node->traps;

	while (*link != trap)
		link = &(*link)->next;
	*link = trap->next;
	loop_timer_free(trap->timer);
	free(trap);
}

static bool trap_leaves(struct double_fabric *d, struct dport *port, const uint8_t *mad)
{
	const struct dnode *node = port->node;
	struct io_addr to = { .lid = port->info.sm_lid };

	if (!d->traps || !to.lid || node->silent || node->mum || node->off)
		return false;
	net_send(d, port, &to, mad, WIRE_MAD_SIZE);
	return true;
}

static void again_cb(void *arg)
{
	struct dtrap *trap = arg;

	trap_leaves(trap->d, trap->port, trap->mad);
	if (--trap->left)
		loop_timer_set(trap->timer, trap_period_us(trap->port->node));
	else
		trap_free(trap);
}

static void trap_keep(struct double_fabric *d, struct dport *port, const uint8_t *mad, uint64_t tid)
{
	struct dtrap *trap = mem_alloc(1, sizeof(*trap));
	struct dnode *node = port->node;

	*trap = (struct dtrap){
		.next = node->traps, .d = d, .port = port, .tid = tid, .left = d->conf.trap_repeats
	};
	trap->timer = loop_timer_new(d->loop, again_cb, trap);
	memcpy(trap->mad, mad, sizeof(trap->mad));
	node->traps = trap;
	loop_timer_set(trap->timer, trap_period_us(node));
}

void trap_repressed(struct double_fabric *d, struct dnode *node, uint64_t tid)
{
	for (struct dtrap *trap = node->traps, *next; trap; trap = next) {
		next = trap->next;
		if (trap->tid == tid)
			trap_free(trap);
	}
}

void traps_forget(struct dnode *node)
{
	while (node->traps)
		trap_free(node->traps);
}

static void port_trap(struct double_fabric *d, struct dport *port, const struct wire_notice *notice)
{
	struct wire_notice full = *notice;
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct wire_mad header = {
		.mgmt_class = WIRE_SMI_LID,
		.class_version = 1,
		.method = WIRE_TRAP,
		.attr_id = WIRE_NOTICE,
	};

	if (!d->traps || !port->info.sm_lid)
		return;
	header.tid = ++d->trap_tid;
	full.issuer_lid = port->info.lid;
	wire_mad_encode(&header, mad);
	wire_notice_encode(&full, wire_smp_data(mad));
	if (trap_leaves(d, port, mad) && d->conf.trap_repeats)
		trap_keep(d, port, mad, header.tid);
}

void net_trap(struct double_fabric *d, struct dnode *node, const struct wire_notice *notice)
{
	port_trap(d, own_port(node), notice);
}

/* ---- What they tell -------------------------------------------------------------------------- */

void double_trap(struct double_fabric *d, guid_t guid, uint16_t number, uint8_t port)
{
	struct dnode *node = double_node(d, guid);
	struct wire_notice notice = {
		.generic = true,
		.type = number == 144 || number == 145 ? TRAP_INFORMATION
			: number >= 256		       ? TRAP_SECURITY
						       : TRAP_URGENT,
		.producer = node->ni.type,
		.trap = number,
		.lid = own_port(node)->info.lid,
		.port = port,
		.guid = node->ni.sys_guid,
		.capmask = own_port(node)->info.capmask,
	};

	net_trap(d, node, &notice);
}

/* Each port of an HCA has a mask of its own, and tells of it by itself. */
void port_set_capmask(struct double_fabric *d, struct dport *port, uint32_t capmask)
{
	const struct wire_notice notice = {
		.generic = true,
		.type = TRAP_INFORMATION,
		.producer = port->node->ni.type,
		.trap = 144,
		.lid = port->info.lid,
		.capmask = capmask,
	};

	if (port->info.capmask == capmask)
		return;
	port->info.capmask = capmask;
	port_trap(d, port, &notice);
}

static bool key_trap_is_due(struct double_fabric *d, struct dnode *node)
{
	uint64_t now = loop_now_us(d->loop);

	if (node->key_trap_us && now < node->key_trap_us + trap_period_us(node))
		return false;
	node->key_trap_us = now;
	return true;
}

static void count_up(uint16_t *violations)
{
	*violations += *violations < UINT16_MAX;
}

void port_bad_pkey(struct double_fabric *d, struct dport *port)
{
	struct dnode *node = port->node;

	count_up(&port->info.pkey_violations);
	if (key_trap_is_due(d, node))
		double_trap(d, node->guid, is_switch(node) && port->num ? 259 : 257, port->num);
}

void node_bad_mkey(struct double_fabric *d, struct dport *own)
{
	count_up(&own->info.mkey_violations);
	if (key_trap_is_due(d, own->node))
		double_trap(d, own->node->guid, 256, own->num);
}

void double_set_mum(struct double_fabric *d, guid_t node, bool on)
{
	double_node(d, node)->mum = on;
}
