/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The performance management agent of the double's nodes (IBA 16.1): ClassPortInfo, and the
 * counters of one of the node's ports, which have counted what a test says and the traffic that
 * there is.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire_perf.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/double_answers.h"
#include "topology/base/mem.h"

#define PORT_SELECT	   (WIRE_PERF_OFFSET + 1)
#define SELECT		   (WIRE_PERF_OFFSET + 2)
#define SELECT2		   (WIRE_PERF_OFFSET + 18)
#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c
#define STATUS_BAD_FIELD   0x1c

static struct wire_perf *counters_of(struct dport *port)
{
	if (!port->perf)
		port->perf = mem_alloc(1, sizeof(*port->perf));
	port->perf->port = port->num;
	return port->perf;
}

const struct wire_perf *perf_now(struct double_fabric *d, struct dport *port)
{
	load_count(d, port);
	return counters_of(port);
}

void perf_add(struct dport *port, enum perf_counter counter, uint64_t amount)
{
	counters_of(port)->value[counter] += amount;
}

void double_set_counter(struct double_fabric *d, guid_t node, unsigned port,
			enum perf_counter counter, uint64_t value)
{
	counters_of(double_port(d, node, port))->value[counter] = value;
}

uint64_t double_counter(const struct double_fabric *d, guid_t node, unsigned port,
			enum perf_counter counter)
{
	return perf_now((struct double_fabric *)d, double_port(d, node, port))->value[counter];
}

void double_set_fec(struct double_fabric *d, guid_t node, unsigned port,
		    enum wire_fec_counter counter, uint64_t value)
{
	double_port(d, node, port)->fec[counter] = value;
}

void double_set_perf_caps(struct double_fabric *d, guid_t node, const struct wire_perf_caps *caps)
{
	double_node(d, node)->perf_caps = *caps;
}

static uint16_t details_get(struct dport *port, uint16_t attr_id, uint8_t *data)
{
	enum perf_counter counter =
		attr_id == WIRE_PERF_RCV_ERROR_DETAILS ? PERF_RCV_ERRORS : PERF_XMIT_DISCARDS;
	const uint16_t details[WIRE_PERF_DETAILS] = {
		(uint16_t)counters_of(port)->value[counter]
	}; /* all of the first kind */

	wire_perf_details_encode(details, data);
	return 0;
}

static uint16_t counters_get(struct double_fabric *d, struct dnode *node, uint16_t attr_id,
			     uint8_t *data)
{
	uint8_t num = data[PORT_SELECT];

	if (num > node->ni.nports || (!num && !is_switch(node)))
		return STATUS_BAD_FIELD;
	load_count(d, &node->ports[num]);
	switch (attr_id) {
	case WIRE_PORT_COUNTERS:
		wire_perf_encode(counters_of(&node->ports[num]), data);
		return 0;
	case WIRE_PERF_COUNTERS_EXT:
		if (!node->perf_caps.ext)
			return STATUS_UNSUPPORTED;
		wire_perf_ext_encode(counters_of(&node->ports[num]), data);
		return 0;
	case WIRE_PERF_EXT_SPEEDS:
		if (!node->perf_caps.fec)
			return STATUS_UNSUPPORTED;
		wire_fec_encode(node->ports[num].fec, data);
		return 0;
	default:
		return details_get(&node->ports[num], attr_id, data);
	}
}

/*
 * PortCounters: CounterSelect's bits are the counters' order (16.1.3.5); who selects one writes it.
 * Of others all are set to 0.
 */
static uint16_t counters_set(struct double_fabric *d, struct dnode *node, uint16_t attr_id,
			     uint8_t *data)
{
	unsigned num = data[PORT_SELECT], select = (unsigned)data[SELECT] << 8 | data[SELECT + 1];
	struct wire_perf want, *have;

	if (num > node->ni.nports || (!num && !is_switch(node)))
		return STATUS_BAD_FIELD;
	load_count(d, &node->ports[num]);
	have = counters_of(&node->ports[num]);
	if (attr_id == WIRE_PERF_EXT_SPEEDS)
		memset(node->ports[num].fec, 0, sizeof(node->ports[num].fec));
	if (attr_id == WIRE_PERF_COUNTERS_EXT) {
		memset(have->value + PERF_XMIT_DATA, 0, 4 * sizeof(have->value[0]));
		memset(have->value + PERF_XMIT_UNICAST, 0, 4 * sizeof(have->value[0]));
	}
	if (attr_id == WIRE_PORT_COUNTERS) {
		wire_perf_decode(data, &want);
		for (unsigned i = 0; i < PERF_XMIT_WAIT; i++)
			if (select >> i & 1)
				have->value[i] = want.value[i];
		if (data[SELECT2] & 1)
			have->value[PERF_XMIT_WAIT] = want.value[PERF_XMIT_WAIT];
	}
	return counters_get(d, node, attr_id, data);
}

void perf_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad)
{
	uint8_t *data = wire_gmp_data(mad);
	struct dnode *node = arrival->node;

	switch (m->attr_id) {
	case WIRE_PERF_CLASS_PORT_INFO:
		wire_perf_caps_encode(&node->perf_caps, data);
		break;
	case WIRE_PORT_COUNTERS:
	case WIRE_PERF_COUNTERS_EXT:
	case WIRE_PERF_EXT_SPEEDS:
		m->status = (m->method == WIRE_GET ? counters_get : counters_set)(d, node,
										  m->attr_id, data);
		break;
	case WIRE_PERF_RCV_ERROR_DETAILS:
	case WIRE_PERF_XMIT_DISCARD_DETAILS:
		m->status = m->method == WIRE_GET ? counters_get(d, node, m->attr_id, data)
						  : STATUS_BAD_METHOD;
		break;
	default:
		m->status = STATUS_UNSUPPORTED;
	}
	m->method = WIRE_GET_RESP;
}
