/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <string.h>
#include <endian.h>
#include <arpa/inet.h>
#include "tests/sim/view.h"
#include "topology/what/what.h"

#define DEFAULT_PREFIX 0xfe80000000000000ull

/* ---- Names ----------------------------------------------------------------------------------- */

static struct dnode *first_adapter(const struct double_fabric *d)
{
	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		if (d->nodes[i].ni.type == TOPO_CA && !d->topo->nodes[i].sharp)
			return &d->nodes[i];
	return NULL;
}

static uint32_t host_named(const struct topo *t, const char *name)
{
	for (uint32_t i = 0; i < t->nhosts; i++)
		if (!strcmp(t->hosts[i].name, name))
			return i;
	return TOPO_NONE;
}

static unsigned nodes_of_host(const struct double_fabric *d, const struct topo_host *host,
			      struct dnode *nodes[FRAME_DEVICES])
{
	unsigned n = 0;

	for (; n < host->ncas && n < FRAME_DEVICES; n++)
		nodes[n] = &d->nodes[d->topo->host_cas[host->first + n]];
	return n;
}

unsigned view_devices(const struct double_fabric *d, const char *name,
		      struct dnode *nodes[FRAME_DEVICES])
{
	uint32_t host = *name ? host_named(d->topo, name) : TOPO_NONE, index;
	char err[256];
	unsigned port;

	if (host != TOPO_NONE)
		return nodes_of_host(d, &d->topo->hosts[host], nodes);
	if (!*name) {
		nodes[0] = first_adapter(d);
		return nodes[0] ? 1 : 0;
	}
	index = topo_resolve(d->topo, name, &port, err, sizeof(err));
	if (index == TOPO_NONE)
		return 0;
	nodes[0] = &d->nodes[index];
	return 1;
}

/* ---- Devices and ports ----------------------------------------------------------------------- */

void view_ca(const struct dnode *node, struct frame_ca *ca)
{
	*ca = (struct frame_ca){
		.node_type = is_switch(node) ? 2 : 1,
		.nports = is_switch(node) ? 0 : node->ni.nports,
		.node_guid = htobe64(node->ni.node_guid),
		.system_guid = htobe64(node->ni.sys_guid),
	};
	snprintf(ca->fw_ver, sizeof(ca->fw_ver), "28.39.1002");
	snprintf(ca->ca_type, sizeof(ca->ca_type), "MT%u", node->ni.device);
	snprintf(ca->hw_ver, sizeof(ca->hw_ver), "%x", (unsigned)node->ni.revision);
}

static unsigned lanes_of(uint8_t width)
{
	switch (width) {
	case 1:
		return 1;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 4;
	}
}

/*
 * Tenths of a gigabit a second of one lane, as the kernel's sysfs counts: up to FDR with the
 * encoding.
 */
static unsigned lane_rate(const struct wire_port_info *info)
{
	if (info->speed_ext2_active & 1)
		return 2000;
	if (info->speed_ext_active & 8)
		return 1000;
	if (info->speed_ext_active & 4)
		return 500;
	if (info->speed_ext_active & 2)
		return 250;
	if (info->speed_ext_active & 1)
		return 140;
	return info->speed_active ? info->speed_active * 25u : 25;
}

static void view_pkeys(const struct dport *port, struct frame_port *out)
{
	unsigned cap = double_pkey_cap(port);

	out->npkeys = cap < FRAME_PKEYS ? cap : FRAME_PKEYS;
	if (port->pkeys)
		memcpy(out->pkeys, port->pkeys, out->npkeys * sizeof(out->pkeys[0]));
	else if (out->npkeys)
		out->pkeys[0] = 0xffff;
}

bool view_port(const struct dnode *node, unsigned num, struct frame_port *out)
{
	const struct dport *port;
	const struct wire_port_info *info;
	uint64_t prefix;

	if (num > node->ni.nports || is_switch(node) != !num)
		return false;
	port = &node->ports[num];
	info = &port->info;
	prefix = info->gid_prefix ? info->gid_prefix : DEFAULT_PREFIX;
	*out = (struct frame_port){
		.there = 1,
		.port = num,
		.base_lid = info->lid,
		.lmc = info->lmc,
		.sm_lid = info->sm_lid,
		.sm_sl = info->sm_sl,
		.state = info->state,
		.phys_state = info->phys_state,
		.rate = lanes_of(info->width_active) * lane_rate(info) / 10,
		.capmask = htonl(info->capmask),
		.reregistered = port->reregistered,
		.gid_prefix = htobe64(prefix),
		.port_guid = htobe64(is_switch(node) ? node->ni.node_guid : port->guid),
	};
	view_pkeys(port, out);
	return true;
}

uint32_t topo_resolve(const struct topo *t, const char *text, unsigned *port, char *err,
		      size_t err_size)
{
	const struct what_scope scope = { .topo = t };
	struct what what;

	*port = 0;
	if (!what_find(&scope, text, WHAT_NODE | WHAT_PORT, &what, err, err_size))
		return TOPO_NONE;
	*port = what.port;
	return what.node;
}
