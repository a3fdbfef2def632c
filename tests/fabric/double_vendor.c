/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent of NVIDIA's devices for their general services (class 0x0a): GeneralInfo, by which
 * ibdiagnet shows device, time since the start and firmware. What the simulated one has for
 * firmware is named so that nobody takes it for a real one.
 *
 * A MAD is the common header, the vendor's key, and 224 bytes of the attribute.
 *
 * AccessRegister serves what a device keeps of a port: why its link went down, the module, bit
 * errors. Only Get, and a cable has one serial number at both ends.
 */
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

enum {
	HW_REVISION = 0,
	HW_DEVICE = 2,
	HW_UPTIME = 28,
	FW_MAJOR = 33,
	FW_PSID = 48,
	PSID_SIZE = 16,
	CAP_REGISTERS = 129 /* AccessRegister is bit 20 of the word at 128 */
};

static void put(uint8_t *at, unsigned size, uint64_t value)
{
	while (size--) {
		at[size] = (uint8_t)value;
		value >>= 8;
	}
}

static void general_info(const struct double_fabric *d, const struct dnode *node, uint8_t *data)
{
	memset(data, 0, VENDOR_DATA_SIZE);
	put(data + HW_REVISION, 2, node->ni.revision);
	put(data + HW_DEVICE, 2, node->ni.device);
	put(data + HW_UPTIME, 4, (loop_now_us(d->loop) - node->booted_us) / 1000000);
	data[FW_MAJOR] = 1;
	strncpy((char *)data + FW_PSID, "SIMULATED", PSID_SIZE);
	if (!node->no_registers)
		data[CAP_REGISTERS] = 1 << 4;
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

/* By the end with the lower GUID, as both ends are of one cable. */
static void module_page(const struct dport *port, uint8_t *page)
{
	const struct dport *first = port;
	struct wire_module module = { .length = 3, .identifier = 8 };
	int heat = port->heat ? port->heat : USUAL_HEAT + port->num % 8;
	char serial[17];

	if (!port->peer || port->cut) {
		wire_module_encode(&module, page);
		return;
	}
	if (port->peer->node->guid < port->node->guid)
		first = port->peer;
	snprintf(serial, sizeof(serial), "SIM%08x%03u", (uint32_t)first->node->guid, first->num);
	text_to(module.vendor, sizeof(module.vendor), "SIMULATED");
	text_to(module.part, sizeof(module.part), *port->part ? port->part : "SIM-DAC-3M");
	text_to(module.serial, sizeof(module.serial), *port->serial ? port->serial : serial);
	module.temperature = (uint16_t)(heat * 256);
	module.hottest = HEAT_LIMIT * 256;
	wire_module_encode(&module, page);
}

static void ber_page(const struct dport *port, uint8_t *page)
{
	wire_ber_encode(&(struct wire_ber){ .bits = 1ull << 40,
					    .raw_coefficient = 1 + port->num % 9,
					    .raw_magnitude = 9,
					    .effective_coefficient = 1,
					    .effective_magnitude = 15,
					    .symbol_coefficient = 1,
					    .symbol_magnitude = 15 },
			page);
}

static uint16_t access_register(struct dnode *node, uint32_t id, uint8_t *data)
{
	uint8_t num, page;

	if (node->no_registers)
		return STATUS_UNSUPPORTED;
	if (id != WIRE_REGISTER_PDDR && id != WIRE_REGISTER_PPCNT)
		return STATUS_BAD_FIELD;
	wire_register_about(id, data, &num, &page);
	if (!num || num > node->ni.nports)
		return STATUS_BAD_FIELD;
	if (id == WIRE_REGISTER_PDDR && page == WIRE_PDDR_DOWN)
		down_page(&node->ports[num], wire_register_page(data));
	else if (id == WIRE_REGISTER_PDDR && page == WIRE_PDDR_MODULE)
		module_page(&node->ports[num], wire_register_page(data));
	else if (id == WIRE_REGISTER_PPCNT && page == WIRE_PPCNT_BER)
		ber_page(&node->ports[num], wire_register_page(data));
	else
		return STATUS_BAD_FIELD;
	return 0;
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

	if (!wire_adaptive_vendor(node->ni.vendor))
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
		m->status = access_register(node, m->attr_mod, wire_gmp_data(mad));
		for (unsigned i = 12; d->register_garbage && i < WIRE_GMP_DATA; i++)
			wire_gmp_data(mad)[i] = (uint8_t)random_next(&d->register_garbage);
	} else if (m->attr_id == WIRE_VENDOR_INFO)
		general_info(d, node, mad + VENDOR_DATA);
	else
		class_port_info(wire_gmp_data(mad));
	m->method = WIRE_GET_RESP;
	return true;
}
