/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent of NVIDIA's devices for their general services (class 0x0a): GeneralInfo, by which
 * ibdiagnet shows device, time since the start and firmware. What the simulated one has for
 * firmware is named so that nobody takes it for a real one.
 *
 * A MAD is the common header, the vendor's key, and 224 bytes of the attribute.
 *
 * AccessRegister serves what a device keeps of a port: why its link went down, the module, bit
 * errors. Only Get. A cable of copper or fibre has one serial number at both ends, optical modules
 * have one each; they are made by the seed and the ports where they were delivered to, and go with
 * the cable.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "fm/mad/wire_registers.h"
#include "tests/fabric/double_own.h"
#include "topology/base/sort.h"

#define VENDOR_DATA	   32 /* bytes of the MAD */
#define VENDOR_DATA_SIZE   224
#define CLASS_PORT_INFO	   0x0001
#define RESPONSE_TIME	   8
#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c
#define STATUS_BAD_FIELD   0x1c

#define CAP_REGISTERS 129 /* AccessRegister is bit 20 of the word at 128 */

/* All devices of a kind have the same firmware, unless one was told otherwise. */
static struct wire_device device_of(const struct double_fabric *d, const struct dnode *node)
{
	const uint16_t *told = node->firmware;

	return (struct wire_device){
		.revision = (uint16_t)node->ni.revision,
		.device = node->ni.device,
		.psid = "SIMULATED",
		.up_s = (uint32_t)((loop_now_us(d->loop) - node->booted_us) / 1000000),
		.wide_major = told[0]			     ? told[0]
			      : node->ni.type == TOPO_SWITCH ? 31
							     : 28,
		.wide_minor = told[0] ? told[1] : 2000 + node->ni.device % 16,
		.wide_sub_minor = told[0] ? told[2] : 1000 + d->conf.seed % 1000,
	};
}

void double_firmware(const struct double_fabric *d, guid_t guid, char text[32])
{
	const struct wire_device device = device_of(d, double_node(d, guid));

	wire_device_firmware(&device, text);
}

static void general_info(struct double_fabric *d, const struct dnode *node, uint8_t *data)
{
	const struct wire_device device = device_of(d, node);

	memset(data, 0, VENDOR_DATA_SIZE);
	wire_device_encode(&device, data);
	if (!node->no_registers)
		data[CAP_REGISTERS] = 1 << 4;
	for (unsigned i = 0; d->register_spoilt == DOUBLE_INFO && i < VENDOR_DATA_SIZE; i++)
		data[i] = (uint8_t)random_next(&d->register_garbage);
}

/* ---- Registers ------------------------------------------------------------------------------- */

#define USUAL_HEAT 45 /* C; and a few more, by the port */
#define HEAT_LIMIT 75

static void down_page(const struct dport *port, uint8_t *page)
{
	const struct dport *peer = port->peer;
	unsigned here = port->down_reason, there = peer ? peer->down_reason : 0;
	struct wire_down down = { .local = here, .remote = there };

	if (here || there) {
		down.blame = here ? WIRE_BLAME_LOCAL : WIRE_BLAME_REMOTE;
		down.intent = here == 22 || there == 22 ? WIRE_INTENT_YES : WIRE_INTENT_NO;
	} else if (port->cut) {
		down.blame = WIRE_BLAME_LOCAL;
		down.intent = WIRE_INTENT_NO;
		down.local = WIRE_DOWN_UNPLUGGED;
	}
	if (here == WIRE_DOWN_HIGH_BER || there == WIRE_DOWN_HIGH_BER) { /* 2e-7 */
		down.effective_coefficient = 2;
		down.effective_magnitude = 7;
	}
	wire_down_encode(&down, page);
}

static void text_to(uint8_t *to, size_t size, const char *text)
{
	memset(to, ' ', size);
	memcpy(to, text, strnlen(text, size));
}

/* What is in the port, as it was delivered. */
static const struct sold {
	const char *part;
	uint8_t kind, length;
	uint32_t firmware;
} sold[] = {
	{ "SIM-DAC-2M", WIRE_MODULE_PASSIVE, 64 | 2, 0 },
	{ "SIM-AOC-30M", 1, 64 | 30, 46u << 24 | 120u << 16 | 2 },
	{ "SIM-800G-SR8", WIRE_MODULE_OPTICAL, 0, 47u << 24 | 3 },
};

/* To hosts copper, between switches fibre. */
static const struct sold *sold_as(const struct double_fabric *d, const struct dport *port)
{
	const struct dport *peer = port->peer;
	uint64_t chance =
		(d->conf.seed ^ port->node->guid ^ peer->node->guid) + port->num + peer->num;

	if (port->node->ni.type != TOPO_SWITCH || peer->node->ni.type != TOPO_SWITCH)
		return &sold[0];
	return &sold[1 + !(random_next(&chance) % 4)];
}

void double_name_cable(const struct double_fabric *d, struct dport *port)
{
	struct dport *peer = port->peer, *first;
	const struct sold *as;
	uint64_t name;

	if (!peer || *port->module.serial || *peer->module.serial)
		return;
	first = peer->node->guid < port->node->guid ? peer : port;
	name = d->conf.seed ^ first->node->guid ^ (uint64_t)first->num << 56 ^
	       first->peer->node->guid << 20 ^ first->peer->num;
	name = random_next(&name) >> 24;
	as = sold_as(d, port);
	for (unsigned i = 0; i < 2; i++) {
		struct dport *end = i ? peer : port;

		snprintf(end->module.serial, sizeof(end->module.serial), "SIM%010" PRIx64 "%s",
			 name,
			 as->kind != WIRE_MODULE_OPTICAL ? ""
			 : end == first			 ? "A"
							 : "B");
		snprintf(end->module.part, sizeof(end->module.part), "%s", as->part);
	}
}

static void module_page(struct double_fabric *d, struct dport *port, uint8_t *page)
{
	struct wire_module module = { .kind = WIRE_MODULE_UNPLUGGED, .identifier = 8 };
	int heat = port->heat ? port->heat : USUAL_HEAT + port->num % 8;
	const struct sold *as = &sold[0];

	double_name_cable(d, port);
	if (port->peer && !port->cut) {
		for (unsigned i = 0; i < sizeof(sold) / sizeof(*sold); i++)
			if (!strcmp(port->module.part, sold[i].part))
				as = &sold[i];
		module.kind = as->kind;
		module.length = as->length;
		module.firmware = as->firmware;
		text_to(module.vendor, sizeof(module.vendor), "SIMULATED");
		text_to(module.part, sizeof(module.part), port->module.part);
		text_to(module.serial, sizeof(module.serial), port->module.serial);
		module.temperature = (uint16_t)(heat * 256);
		module.hottest = HEAT_LIMIT * 256;
		if (as->kind != WIRE_MODULE_PASSIVE) {
			module.rx_power = (uint16_t) - (1 + port->num % 3);
			module.tx_power = 1;
		}
	}
	wire_module_encode(&module, page);
}

/* As a coefficient and a magnitude; 15e-255 where there is none. */
static void share(uint64_t errors, uint64_t bits, uint8_t *coefficient, uint8_t *magnitude)
{
	double value = bits ? (double)errors / (double)bits : 0;

	*coefficient = 15;
	*magnitude = 255;
	if (!errors)
		return;
	for (*magnitude = 0; value < 1; value *= 10)
		++*magnitude;
	*coefficient = (uint8_t)value;
}

/* Bits since the device booted, at the speed of the link. */
static uint64_t bits_of(const struct double_fabric *d, const struct dport *port)
{
	uint64_t up_s = (loop_now_us(d->loop) - port->node->booted_us) / 1000000;

	return up_s * topo_lane_signalling_mbps(port->trained ? port->trained : TOPO_NDR) * 4000000;
}

/* An HCA with a link of XDR has four planes. */
static unsigned planes_of(const struct dport *port)
{
	bool planar = port->node->ni.type != TOPO_SWITCH && port->trained == TOPO_XDR;

	return planar ? WIRE_PLANES_MOST : 0;
}

/*
 * Raw errors by the seed, those behind error correction as they were counted, all of them in one
 * plane: plane 0 is the port.
 */
static void ber_page(const struct double_fabric *d, const struct dport *port, unsigned plane,
		     uint8_t *page)
{
	uint64_t chance = d->conf.seed ^ port->node->guid ^ (uint64_t)port->num << 56;
	unsigned planes = plane && plane <= planes_of(port) ? planes_of(port) : 1;
	bool wrong = planes == 1 || plane == DOUBLE_WRONG_PLANE;
	struct wire_ber ber = {
		.cleared_ms = (loop_now_us(d->loop) - port->node->booted_us) / 1000,
		.bits = bits_of(d, port) / planes,
		.symbol_errors = port->perf && wrong ? port->perf->value[PERF_SYMBOL] : 0,
		.effective_errors = wrong ? port->fec[WIRE_FEC_UNCORRECTED] : 0,
		.raw_coefficient = 1 + random_next(&chance) % 9,
		.raw_magnitude = 8 + random_next(&chance) % 3,
	};

	ber.corrected_bits = ber.bits / 1000000000;
	share(ber.effective_errors, ber.bits, &ber.effective_coefficient, &ber.effective_magnitude);
	share(ber.symbol_errors, ber.bits, &ber.symbol_coefficient, &ber.symbol_magnitude);
	wire_ber_encode(&ber, page);
}

/* A block has 5,440 bits. Each bin has some thousandth of the one before, by the seed. */
static void histogram_page(const struct double_fabric *d, const struct dport *port, uint8_t *page)
{
	uint64_t chance = d->conf.seed ^ port->node->guid ^ (uint64_t)port->num << 48;
	uint64_t blocks = bits_of(d, port) / 5440;

	for (unsigned i = 0; i < WIRE_HISTOGRAM_BINS; i++) {
		wire_put(page + 8 * i, 8, blocks);
		blocks = blocks * (1 + random_next(&chance) % 9) / 1000;
	}
}

/* Which port has that number of the device, or its cage: two ports in each, of four lanes. */
static uint16_t own_register(const struct dnode *node, uint32_t id, uint8_t *data)
{
	unsigned local = data[12 + 1], port = local % 2 ? 0 : local / 2;

	if (id == WIRE_REGISTER_PPCR && local && local <= node->ni.nports) {
		data[12 + 15] = (uint8_t)planes_of(&node->ports[local]);
		return 0;
	}
	if (node->labels != DOUBLE_MODULES || !local || local > 2 * node->ni.nports)
		return STATUS_BAD_FIELD;
	if (id == WIRE_REGISTER_PLIB) {
		wire_put(data + 12 + 2, 2, port);
	} else if (port) {
		data[12 + 3] = 4;
		data[12 + 5] = (uint8_t)(4 * ((port - 1) % 2));
		data[12 + 7] = (uint8_t)((port - 1) / 2);
	}
	return 0;
}

static uint16_t access_register(struct double_fabric *d, struct dnode *node, uint32_t id,
				uint8_t *data)
{
	uint8_t num, page;

	if (node->no_registers)
		return STATUS_UNSUPPORTED;
	if (id == WIRE_REGISTER_PLIB || id == WIRE_REGISTER_PMLP || id == WIRE_REGISTER_PPCR)
		return own_register(node, id, data);
	if (id != WIRE_REGISTER_PDDR && id != WIRE_REGISTER_PPCNT)
		return STATUS_BAD_FIELD;
	wire_register_about(id, data, &num, &page);
	if (!num || num > node->ni.nports)
		return STATUS_BAD_FIELD;
	if (id == WIRE_REGISTER_PDDR && page == WIRE_PDDR_DOWN)
		down_page(&node->ports[num], wire_register_page(data));
	else if (id == WIRE_REGISTER_PDDR && page == WIRE_PDDR_MODULE)
		module_page(d, &node->ports[num], wire_register_page(data));
	else if (id == WIRE_REGISTER_PPCNT && page == WIRE_PPCNT_BER)
		ber_page(d, &node->ports[num], *wire_register_plane(data) & 15,
			 wire_register_page(data));
	else if (id == WIRE_REGISTER_PPCNT && page == WIRE_PPCNT_HISTOGRAM)
		histogram_page(d, &node->ports[num], wire_register_page(data));
	else
		return STATUS_BAD_FIELD;
	return 0;
}

/* As the test wants it. */
static void spoil(struct double_fabric *d, uint8_t *data)
{
	unsigned from = d->register_spoilt == DOUBLE_PAGE ? 20 : 12;

	if (d->register_spoilt == DOUBLE_INFO)
		return;
	for (unsigned i = from; d->register_garbage && i < WIRE_GMP_DATA; i++)
		data[i] = (uint8_t)random_next(&d->register_garbage);
	if (d->register_spoilt == DOUBLE_HALF)
		memset(data + 20 + 0x24, 0, WIRE_GMP_DATA - 20 - 0x24);
	if (d->register_spoilt == DOUBLE_OTHER_PORT)
		data[13]++;
}

static void class_port_info(uint8_t *data)
{
	memset(data, 0, WIRE_GMP_DATA);
	data[0] = data[1] = 1; /* base and class version */
	data[7] = RESPONSE_TIME;
}

bool vendor_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m,
		    uint8_t *mad)
{
	struct dnode *node = arrival->node;

	if (!wire_adaptive_vendor(node->ni.vendor) ||
	    (d->vs_key && wire_get(wire_gmp_data(mad), 8) != d->vs_key))
		return false;
	d->vendor_gets += m->method == WIRE_GET;
	if (m->attr_id != WIRE_VENDOR_INFO && m->attr_id != WIRE_ACCESS_REGISTER &&
	    m->attr_id != CLASS_PORT_INFO)
		m->status = STATUS_UNSUPPORTED;
	else if (m->method != WIRE_GET)
		m->status = STATUS_BAD_METHOD;
	else if (m->attr_id == WIRE_ACCESS_REGISTER) {
		node->registers_read++;
		d->stamps.register_us = d->stamps.register_us ?: loop_clock_us(d->loop);
		m->status = access_register(d, node, m->attr_mod, wire_gmp_data(mad));
		spoil(d, wire_gmp_data(mad));
	} else if (m->attr_id == WIRE_VENDOR_INFO)
		general_info(d, node, mad + VENDOR_DATA);
	else
		class_port_info(wire_gmp_data(mad));
	m->method = WIRE_GET_RESP;
	return true;
}
