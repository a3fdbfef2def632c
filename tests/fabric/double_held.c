/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What nodes and ports hold, read and changed without a MAD. */
#include <stdlib.h>
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

enum topo_state double_link_state(const struct double_fabric *d, guid_t node, unsigned port)
{
	return (enum topo_state)double_port(d, node, port)->info.state;
}

unsigned double_reregistered(const struct double_fabric *d, guid_t node, unsigned port)
{
	return double_port(d, node, port)->reregistered;
}

unsigned double_ports_not_active(const struct double_fabric *d)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		const struct dport *port = &d->ports[i];

		if (port->peer && port->info.phys_state == PHYS_LINK_UP &&
		    port->info.state != TOPO_ACTIVE)
			count++;
	}
	return count;
}

const struct wire_port_info *double_port_info(const struct double_fabric *d, guid_t node,
					      unsigned port)
{
	return &double_port(d, node, port)->info;
}

void double_set_lid(struct double_fabric *d, guid_t node, unsigned port, uint16_t lid)
{
	double_port(d, node, port)->info.lid = lid;
	ways_changed(d);
}

const struct wire_switch_info *double_switch_info(const struct double_fabric *d, guid_t node)
{
	return &double_node(d, node)->si;
}

uint8_t double_lft(const struct double_fabric *d, guid_t guid, uint16_t lid)
{
	const struct dnode *node = double_node(d, guid);

	return lid < node->lft_size ? node->lft[lid] : LFT_NONE;
}

bool double_mft(const struct double_fabric *d, guid_t guid, uint16_t mlid, unsigned port)
{
	const struct dnode *node = double_node(d, guid);
	unsigned row = mlid - MLID_FIRST;

	if (!node->mft || mlid < MLID_FIRST || row >= node->si.mft_cap)
		return false;
	return node->mft[row * node->columns + port / MFT_PORTS] >> port % MFT_PORTS & 1;
}

guid_t double_alias(const struct double_fabric *d, guid_t guid, unsigned port, unsigned entry)
{
	return double_port(d, guid, port)->aliases[entry];
}

void double_grow_mft(struct double_fabric *d, guid_t guid)
{
	struct dnode *node = double_node(d, guid);

	free(node->mft);
	node->mft = mem_alloc((size_t)node->si.mft_cap * node->columns, sizeof(uint16_t));
}

void double_flip_mft(struct double_fabric *d, guid_t guid, uint16_t mlid, unsigned port)
{
	struct dnode *node = double_node(d, guid);
	unsigned row = mlid - MLID_FIRST;

	node->mft[row * node->columns + port / MFT_PORTS] ^= (uint16_t)(1u << port % MFT_PORTS);
}

void double_set_vl_cap(struct double_fabric *d, guid_t guid, unsigned num, uint8_t vl_cap)
{
	double_node(d, guid)->ports[num].info.vl_cap = vl_cap;
}

const uint8_t *double_sl2vl(const struct double_fabric *d, guid_t guid, unsigned num, unsigned in)
{
	return double_node(d, guid)->ports[num].sl2vl[in];
}

const uint8_t *double_arb(const struct double_fabric *d, guid_t guid, unsigned num, unsigned block)
{
	return double_node(d, guid)->ports[num].arb[block];
}

const uint16_t *double_pkeys(const struct double_fabric *d, guid_t guid, unsigned num,
			     unsigned *count)
{
	static const uint16_t power_on[] = { 0xffff };
	const struct dport *port = double_port(d, guid, num);

	*count = port->pkeys ? double_pkey_cap(port) : 1;
	return port->pkeys ? port->pkeys : power_on;
}

struct wire_port_info *double_change_port(struct double_fabric *d, guid_t node, unsigned port)
{
	return &double_port(d, node, port)->info;
}

uint16_t *double_change_pkeys(struct double_fabric *d, guid_t node, unsigned num)
{
	struct dport *port = double_port(d, node, num);

	if (!port->pkeys) {
		port->pkeys = mem_alloc(double_pkey_cap(port), sizeof(*port->pkeys));
		port->pkeys[0] = 0xffff;
	}
	return port->pkeys;
}

uint8_t *double_change_sl2vl(struct double_fabric *d, guid_t node, unsigned port, unsigned in)
{
	return double_port(d, node, port)->sl2vl[in];
}

uint8_t *double_change_arb(struct double_fabric *d, guid_t node, unsigned port, unsigned block)
{
	return double_port(d, node, port)->arb[block];
}

guid_t *double_change_aliases(struct double_fabric *d, guid_t node, unsigned port)
{
	return double_port(d, node, port)->aliases;
}

void double_set_sm(struct double_fabric *d, guid_t node, unsigned num,
		   const struct wire_sm_info *info)
{
	struct dport *port = double_port(d, node, num);

	port->has_sm = info;
	port->sm_silent = false;
	port->info.capmask &= ~WIRE_CAP_IS_SM;
	if (!info)
		return;
	port->sm = *info;
	port->info.capmask |= WIRE_CAP_IS_SM;
}

void double_set_sm_lid(struct double_fabric *d, guid_t node, unsigned num, uint16_t sm_lid)
{
	double_port(d, node, num)->info.sm_lid = sm_lid;
}

void double_set_sm_silent(struct double_fabric *d, guid_t node, unsigned num)
{
	double_port(d, node, num)->sm_silent = true;
}
