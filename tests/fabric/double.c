/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The double's life, and the doors a test has into it: what the hardware does by itself and how it
 * misbehaves. What it holds is in double_held.c.
 *
 * One struct dnode for each node of the snapshot, one struct dport for each port, in the snapshot's
 * order, so that a GUID is looked up there. MADs travel in double_net.c, the nodes' agents answer
 * in double_smp.c, links change state in double_link.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

#define LFT_CAP_DEFAULT	 49152
#define MFT_CAP_DEFAULT	 1024
#define PKEY_CAP_DEFAULT 32

/* ---- Small help ------------------------------------------------------------------------------ */

struct dnode *double_node(const struct double_fabric *d, guid_t guid)
{
	uint32_t index = topo_find(d->topo, guid);

	assert(index != TOPO_NONE);
	return &d->nodes[index];
}

struct dport *double_port(const struct double_fabric *d, guid_t guid, unsigned port)
{
	struct dnode *node = double_node(d, guid);

	assert(port <= node->ni.nports);
	return &node->ports[port];
}

/* xorshift64 */
uint64_t double_random(struct double_fabric *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 7;
	d->random ^= d->random << 17;
	return d->random;
}

bool double_chance(struct double_fabric *d, unsigned per_mille)
{
	return per_mille && double_random(d) % 1000 < per_mille;
}

uint64_t double_span(struct double_fabric *d, const unsigned range[2])
{
	return range[0] + double_random(d) % (range[1] - range[0] + 1ull);
}

/* ---- io -------------------------------------------------------------------------------------- */

struct dclient *double_client(struct double_fabric *d, const struct dport *port)
{
	for (unsigned i = 0; i < DOUBLE_CLIENTS; i++)
		if (d->clients[i].attach == port && d->clients[i].io.recv &&
		    !d->clients[i].frozen && !d->clients[i].unplugged)
			return &d->clients[i];
	return NULL;
}

static int double_io_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
			  unsigned timeout_ms)
{
	struct dclient *c = (struct dclient *)io;
	struct wire_mad m;

	if (c->unplugged)
		return -ENODEV;
	if (c->frozen)
		return 0;
	if (!wire_mad_decode(mad, len, &m) &&
	    (m.mgmt_class == WIRE_SMI_LID || m.mgmt_class == WIRE_SMI_DR))
		c->sent[m.method][sent_place(m.attr_id)]++;
	else
		c->d->tables_asked += mad[3] == WIRE_GET_TABLE;
	net_send(c->d, c->attach, to, mad, len);
	return 0;
}

static void set_is_sm(struct dclient *c, bool on)
{
	if (on)
		c->attach->info.capmask |= WIRE_CAP_IS_SM;
	else
		c->attach->info.capmask &= ~WIRE_CAP_IS_SM;
}

static void client_attach(struct double_fabric *d, struct dclient *c, struct dport *port);

/* The one that was in use changes places with it. */
static int open_other(struct dclient *c, char *err, size_t err_size)
{
	for (unsigned i = 0; i < c->nmachine; i++)
		if (c->machine[i]->guid == c->io.wanted) {
			struct dport *port = c->machine[i];

			set_is_sm(c, false);
			c->machine[i] = c->attach;
			c->unplugged = false;
			client_attach(c->d, c, port);
			return 0;
		}
	snprintf(err, err_size, "double0: no such port");
	return -ENODEV;
}

static unsigned double_io_ports(struct io *io, guid_t guids[IO_PORTS])
{
	const struct dclient *c = (const struct dclient *)io;
	unsigned count = 0;

	if (c->nmachine && !c->unplugged && c->attach->info.state >= TOPO_INIT)
		guids[count++] = c->attach->guid;
	for (unsigned i = 0; i < c->nmachine; i++)
		if (c->machine[i]->info.state >= TOPO_INIT)
			guids[count++] = c->machine[i]->guid;
	return count;
}

static int double_io_open(struct io *io, char *err, size_t err_size)
{
	struct dclient *c = (struct dclient *)io;

	if (io->wanted && io->wanted != c->attach->guid)
		return open_other(c, err, err_size);
	if (!c->unplugged && !c->occupied)
		return 0;
	snprintf(err, err_size, c->unplugged ? "double0: no such device" : "double0: in use");
	return c->unplugged ? -ENODEV : -EBUSY;
}

static int double_io_set_is_sm(struct io *io, bool on)
{
	set_is_sm((struct dclient *)io, on);
	return 0;
}

/* What still arrives after mad_free() has nobody to go to. */
static void double_io_free(struct io *io)
{
	io->recv = NULL;
}

static const struct io_ops double_io_ops = {
	.open = double_io_open,
	.ports = double_io_ports,
	.send = double_io_send,
	.set_is_sm = double_io_set_is_sm,
	.free = double_io_free,
};

static void client_attach(struct double_fabric *d, struct dclient *c, struct dport *port)
{
	c->d = d;
	c->attach = port;
	c->io.ops = &double_io_ops;
	c->io.info = (struct io_port_info){
		.device = "double0",
		.port = port->num,
		.port_guid = port->guid,
		.node_guid = port->node->guid,
		.lid = port->info.lid,
	};
}

struct io *double_io(struct double_fabric *d)
{
	return &d->clients[0].io;
}

struct io *double_io_at(struct double_fabric *d, guid_t attach, unsigned port)
{
	client_attach(d, &d->clients[1], double_port(d, attach, port));
	return &d->clients[1].io;
}

void double_add_port(struct io *io, guid_t node, unsigned port)
{
	struct dclient *c = (struct dclient *)io;

	assert(c->nmachine < DOUBLE_MACHINE);
	c->machine[c->nmachine++] = double_port(c->d, node, port);
}

void double_unplug(struct io *io, bool on)
{
	struct dclient *c = (struct dclient *)io;

	c->unplugged = on;
	if (!on)
		return;
	set_is_sm(c, false);
	if (io->recv)
		io->lost(io->arg, EIO);
}

void double_occupy(struct io *io, bool on)
{
	((struct dclient *)io)->occupied = on;
}

void double_forget_sm(struct io *io)
{
	set_is_sm((struct dclient *)io, false);
}

void double_freeze(struct io *io, bool on)
{
	struct dclient *c = (struct dclient *)io;

	c->frozen = on;
	set_is_sm(c, !on);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void switch_power_on(const struct double_fabric *d, struct dnode *node)
{
	const struct topo_node *design = node->design;

	node->si = (struct wire_switch_info){
		.lft_cap = design->lft_cap ? design->lft_cap : LFT_CAP_DEFAULT,
		.mft_cap = design->mft_cap ? design->mft_cap : MFT_CAP_DEFAULT,
		.default_mcast_primary = LFT_NONE,
		.default_mcast_other = LFT_NONE,
		.lids_per_port = 0,
		.enforce_cap = design->pkey_cap ? design->pkey_cap : d->conf.pkey_cap,
		.opt_sl2vl = d->conf.wildcards,
		.flags = design->enhanced_port0 ? 0x08 : 0,
	};
	free(node->lft);
	free(node->mft);
	node->lft = NULL;
	node->mft = NULL;
	node->lft_size = 0;
	adaptive_forget(node);
	node->columns = node->ni.nports / MFT_PORTS + 1u;
}

static void node_power_on(struct double_fabric *d, struct dnode *node)
{
	if (is_switch(node))
		switch_power_on(d, node);
	for (unsigned n = 0; n <= node->ni.nports; n++)
		port_power_on(d, &node->ports[n]);
}

static void node_build(struct double_fabric *d, uint32_t index)
{
	const struct topo_node *design = &d->topo->nodes[index];
	struct dnode *node = &d->nodes[index];

	node->d = d;
	node->guid = design->guid;
	node->design = design;
	node->booted_us = loop_now_us(d->loop);
	node->ports = &d->ports[design->port0];
	node->ni = (struct wire_node_info){
		.base_version = 1,
		.class_version = 1,
		.type = design->type,
		.nports = design->nports,
		.sys_guid = design->sys_guid ? design->sys_guid : design->guid,
		.node_guid = design->guid,
		.partition_cap = design->pkey_cap ? design->pkey_cap : d->conf.pkey_cap,
		.device = design->device,
		.revision = design->revision,
		.vendor = design->vendor,
	};
	memcpy(node->desc, design->desc, strnlen(design->desc, 64));
	node->state_table = is_switch(node) && d->conf.state_table;
	if (d->conf.all_counters)
		node->perf_caps = (struct wire_perf_caps){ true, true, true, true, true };
}

static void port_build(struct double_fabric *d, uint32_t index)
{
	const struct topo_port *design = &d->topo->ports[index];
	struct dport *port = &d->ports[index];

	port->node = &d->nodes[design->node];
	port->peer = design->peer == TOPO_NONE ? NULL : &d->ports[design->peer];
	port->cut = port->peer && !design->link_up;
	port->num = design->num;
	port->guid = design->guid ? design->guid : port->node->guid;
	port->speed = design->speed ? design->speed : TOPO_HDR;
	port->width = design->width ? design->width : 4;
	port->capmask = design->capmask;
}

/*
 * Power-on leaves the ports Down; links whose cable is in train up to Init, without traps: no one
 * is told yet.
 */
static void links_come_up(struct double_fabric *d)
{
	for (uint32_t i = 0; i < d->topo->nports; i++)
		link_update(d, &d->ports[i]);
	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		d->nodes[i].si.port_state_change = false;
	for (uint32_t i = 0; d->conf.keep_lids && i < d->topo->nports; i++) {
		d->ports[i].info.lid = d->topo->ports[i].lid;
		d->ports[i].info.lmc = d->topo->ports[i].lmc;
	}
}

struct double_fabric *double_new(struct loop *loop, const struct topo *topo, guid_t attach,
				 unsigned port, const struct double_conf *conf)
{
	struct double_fabric *d = mem_alloc(1, sizeof(*d));

	d->loop = loop;
	d->topo = topo_ref(topo);
	if (conf)
		d->conf = *conf;
	if (!d->conf.at_once) {
		d->conf.latency_us = d->conf.latency_us ? d->conf.latency_us : 10;
		d->conf.hop_us = d->conf.hop_us ? d->conf.hop_us : 2;
	}
	if (!d->conf.pkey_cap)
		d->conf.pkey_cap = PKEY_CAP_DEFAULT;
	d->due_end = &d->due;
	d->random = d->conf.seed ? d->conf.seed : 1;
	d->nodes = mem_alloc(topo->nnodes, sizeof(*d->nodes));
	d->ports = mem_alloc(topo->nports, sizeof(*d->ports));
	for (uint32_t i = 0; i < topo->nnodes; i++)
		node_build(d, i);
	for (uint32_t i = 0; i < topo->nports; i++)
		port_build(d, i);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		node_power_on(d, &d->nodes[i]);
	links_come_up(d);
	d->traps = true;
	client_attach(d, &d->clients[0], double_port(d, attach, port));
	return d;
}

void double_free(struct double_fabric *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->nevents; i++) {
		loop_timer_free(d->events[i]->timer);
		free(d->events[i]->mad);
		free(d->events[i]);
	}
	for (uint32_t i = 0; i < d->topo->nports; i++) {
		free(d->ports[i].pkeys);
		free(d->ports[i].sl2vl);
		free(d->ports[i].perf);
		loop_timer_free(d->ports[i].mkey_lease);
		loop_timer_free(d->ports[i].trains);
	}
	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		free(d->nodes[i].lft);
		free(d->nodes[i].mft);
		adaptive_free(&d->nodes[i]);
		loop_timer_free(d->nodes[i].boots);
		traps_forget(&d->nodes[i]);
		cc_forget(&d->nodes[i]);
	}
	load_free(d);
	topo_unref(d->topo);
	free(d->events);
	free(d->mutes);
	free(d->nodes);
	free(d->ports);
	free(d);
}

/* ---- What the hardware does by itself -------------------------------------------------------- */

static void cable_set(struct double_fabric *d, guid_t node, unsigned num, bool cut)
{
	struct dport *port = double_port(d, node, num);

	assert(port->peer);
	port->cut = port->peer->cut = cut;
	link_update(d, port);
}

void double_cut(struct double_fabric *d, guid_t node, unsigned port)
{
	double_down(d, node, port, 0);
}

void double_down(struct double_fabric *d, guid_t node, unsigned port, uint8_t reason)
{
	struct dport *end = double_port(d, node, port);

	cable_set(d, node, port, true);
	end->down_reason = reason;
	end->peer->down_reason = 0;
}

void double_set_no_registers(struct double_fabric *d, guid_t node, bool on)
{
	double_node(d, node)->no_registers = on;
}

unsigned double_registers_read(const struct double_fabric *d, guid_t node)
{
	return double_node(d, node)->registers_read;
}

void double_join(struct double_fabric *d, guid_t node, unsigned port)
{
	cable_set(d, node, port, false);
}

void double_swap(struct double_fabric *d, guid_t a, unsigned port_a, guid_t b, unsigned port_b)
{
	struct dport *pa = double_port(d, a, port_a), *pb = double_port(d, b, port_b);
	struct dport *far = pa->peer;
	struct dmodule module;

	assert(pa->cut && pb->cut && far && pb->peer);
	double_name_cable(d, pa);
	double_name_cable(d, pb);
	memcpy(&module, &pa->module, sizeof(module)); /* they go with the cables */
	memcpy(&pa->module, &pb->module, sizeof(module));
	memcpy(&pb->module, &module, sizeof(module));
	pa->peer = pb->peer;
	pb->peer = far;
	pa->peer->peer = pa;
	pb->peer->peer = pb;
}

static void port_unplug(struct dport *port)
{
	if (!port->peer)
		return;
	port->peer->cut = false;
	port->peer->peer = NULL;
	port->cut = false;
	port->peer = NULL;
}

void double_plug(struct double_fabric *d, guid_t a, unsigned port_a, guid_t b, unsigned port_b)
{
	struct dport *pa = double_port(d, a, port_a), *pb = double_port(d, b, port_b);

	if (pa->peer != pb) {
		assert(pa != pb && (!pa->peer || pa->cut) && (!pb->peer || pb->cut));
		double_name_cable(d, pa);
		mem_zero(&pb->module, 1);
		if (pa->peer) { /* its other end goes there */
			pb->module = pa->peer->module;
			mem_zero(&pa->peer->module, 1);
		}
		port_unplug(pa);
		port_unplug(pb);
		pa->peer = pb;
		pb->peer = pa;
	}
	double_join(d, a, port_a);
}

void double_set_cable(struct double_fabric *d, guid_t node, unsigned num, enum topo_speed speed,
		      unsigned lanes)
{
	struct dport *port = double_port(d, node, num);

	port->cable_speed = port->peer->cable_speed = (uint8_t)speed;
	port->cable_lanes = port->peer->cable_lanes = (uint8_t)lanes;
	double_cut(d, node, num);
	double_join(d, node, num);
}

void double_activate(struct double_fabric *d, guid_t node, unsigned num)
{
	struct dport *port = double_port(d, node, num);

	port->info.state = port->peer->info.state = TOPO_ACTIVE;
	ways_changed(d);
}

static void node_boots(struct double_fabric *d, struct dnode *node)
{
	node->off = false;
	ways_changed(d);
	for (unsigned n = 1; n <= node->ni.nports; n++)
		link_drop(&node->ports[n]);
	node_power_on(d, node);
	node->booted_us = loop_now_us(d->loop);
	traps_forget(node);
	cc_forget(node);
	for (unsigned n = 1; n <= node->ni.nports; n++) {
		memset(node->ports[n].aliases, 0, sizeof(node->ports[n].aliases));
		link_update(d, &node->ports[n]);
	}
	node->si.port_state_change |= d->strict;
}

static void booted_cb(void *arg)
{
	struct dnode *node = arg;

	node_boots(node->d, node);
}

static void power_off(struct double_fabric *d, struct dnode *node)
{
	node->off = true;
	traps_forget(node);
	for (unsigned n = 1; n <= node->ni.nports; n++)
		link_update(d, &node->ports[n]);
}

void double_reboot(struct double_fabric *d, guid_t guid)
{
	struct dnode *node = double_node(d, guid);

	if (!d->times.boot_us[1]) {
		node_boots(d, node);
		return;
	}
	power_off(d, node);
	if (!node->boots)
		node->boots = loop_timer_new(d->loop, booted_cb, node);
	loop_timer_set(node->boots, double_span(d, d->times.boot_us) / (is_switch(node) ? 1 : 10));
}

void double_set_times(struct double_fabric *d, const struct double_times *times)
{
	d->times = *times;
}

void double_set_power(struct double_fabric *d, guid_t guid, bool on)
{
	struct dnode *node = double_node(d, guid);

	bool booting = node->boots && loop_timer_armed(node->boots);

	if (node->off == !on && !booting)
		return;
	if (on && !booting)
		double_reboot(d, guid);
	if (on)
		return;
	if (booting)
		loop_timer_stop(node->boots);
	power_off(d, node);
}

void double_retrain(struct double_fabric *d, guid_t node, unsigned num, unsigned lanes)
{
	double_set_cable(d, node, num, TOPO_SPEED_NONE, lanes);
}

void double_replace(struct double_fabric *d, guid_t guid, guid_t new)
{
	struct dnode *node = double_node(d, guid);

	node->ni.node_guid = node->ni.sys_guid = new;
	for (unsigned n = 0; n <= node->ni.nports; n++)
		node->ports[n].guid = is_switch(node) ? new : new + n;
	double_reboot(d, guid);
}

void double_set_desc(struct double_fabric *d, guid_t guid, const char *desc)
{
	struct dnode *node = double_node(d, guid);
	unsigned port = is_switch(node) ? 0 : 1;
	struct wire_notice notice = {
		.generic = true,
		.type = 4, /* informational */
		.producer = node->ni.type,
		.trap = 144,
		.lid = node->ports[port].info.lid,
		.desc_changed = true,
	};

	double_rename(d, guid, desc);
	net_trap(d, node, &notice);
}

void double_rename(struct double_fabric *d, guid_t guid, const char *desc)
{
	struct dnode *node = double_node(d, guid);

	memset(node->desc, 0, sizeof(node->desc));
	memcpy(node->desc, desc, strnlen(desc, 64));
}

void double_set_flash(struct double_fabric *d, guid_t node, unsigned port, uint16_t lid)
{
	double_port(d, node, port)->flash_lid = lid;
}

/* ---- Misbehaviour ---------------------------------------------------------------------------- */

void double_set_mute(struct double_fabric *d, guid_t node, uint8_t method, uint16_t attr_id)
{
	d->nmutes = 0;
	if (method)
		double_drop(d, node, method, attr_id, true);
}

void double_drop(struct double_fabric *d, guid_t node, uint8_t method, uint16_t attr_id, bool on)
{
	for (unsigned i = 0; i < d->nmutes; i++) {
		const struct dmute *rule = &d->mutes[i];

		if (rule->node == node && rule->method == method && rule->attr_id == attr_id)
			d->mutes[i--] = d->mutes[--d->nmutes];
	}
	if (!on)
		return;
	d->mutes = mem_resize(d->mutes, d->nmutes + 1, sizeof(*d->mutes));
	d->mutes[d->nmutes++] =
		(struct dmute){ .node = node, .method = method, .attr_id = attr_id };
}

void double_set_strict(struct double_fabric *d, bool on)
{
	d->strict = on;
}

void double_set_silent(struct double_fabric *d, guid_t node, bool silent)
{
	double_node(d, node)->silent = silent;
}

void double_set_active(struct double_fabric *d, guid_t node, unsigned port, enum double_active how)
{
	double_port(d, node, port)->active = (uint8_t)how;
}

void double_set_no_sets(struct double_fabric *d, guid_t node, bool on)
{
	double_node(d, node)->no_sets = on;
}

void double_set_guid(struct double_fabric *d, guid_t node, guid_t guid)
{
	double_node(d, node)->ni.node_guid = guid;
}

void double_set_state_table(struct double_fabric *d, guid_t guid, bool on)
{
	struct dnode *node = double_node(d, guid);

	assert(is_switch(node));
	node->state_table = on;
	node->ports[0].info.capmask2 &= (uint16_t)~WIRE_CAP2_STATE_TABLE;
	if (!on)
		return;
	node->ports[0].info.capmask |= WIRE_CAP_HAS_CAPMASK2;
	node->ports[0].info.capmask2 |= WIRE_CAP2_STATE_TABLE;
}

void double_set_traps(struct double_fabric *d, bool on)
{
	d->traps = on;
}

void double_set_fault(struct double_fabric *d, guid_t guid, enum double_fault fault,
		      unsigned per_mille, unsigned value)
{
	struct dnode *only = guid ? double_node(d, guid) : NULL;

	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		if (!only || only == &d->nodes[i])
			d->nodes[i].faults[fault] = (struct dfault){ per_mille, value };
}

/* ---- Watching -------------------------------------------------------------------------------- */

uint64_t double_sent_by(const struct io *io, uint8_t method, uint16_t attr_id)
{
	const struct dclient *c = (const struct dclient *)io;
	uint64_t count = 0;

	for (unsigned m = 0; m < 256; m++)
		for (unsigned a = 0; a < SM_INFO_ATTR_MAX; a++)
			if ((!method || m == method) && (!attr_id || a == sent_place(attr_id)))
				count += c->sent[m][a];
	return count;
}

uint64_t double_sent(const struct double_fabric *d, uint8_t method, uint16_t attr_id)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < DOUBLE_CLIENTS; i++)
		count += double_sent_by(&d->clients[i].io, method, attr_id);
	return count;
}

uint64_t double_tables_asked(const struct double_fabric *d)
{
	return d->tables_asked;
}

void double_sent_reset(struct double_fabric *d)
{
	for (unsigned i = 0; i < DOUBLE_CLIENTS; i++)
		memset(d->clients[i].sent, 0, sizeof(d->clients[i].sent));
}

const struct double_drops *double_drops(const struct double_fabric *d)
{
	return &d->drops;
}

void double_on_set(struct double_fabric *d, double_set_fn *fn, void *arg)
{
	d->on_set = fn;
	d->on_set_arg = arg;
}

void double_inject(struct double_fabric *d, guid_t node, unsigned num, const struct io_addr *to,
		   const uint8_t *mad, size_t len, io_recv_fn *fn, void *arg)
{
	struct dport *port = double_port(d, node, num);

	port->listener = fn;
	port->listener_arg = arg;
	net_send(d, port, to, mad, len);
}
