/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The performance management agent of the double's nodes (IBA 16.1): Get(PortCounters) of one of the node's ports, which have counted nothing.
 */
#include <string.h>
#include "tests/fabric/double_own.h"

#define PERF_DATA	   40 /* behind the common header: the rest is reserved */
#define PORT_SELECT	   (PERF_DATA + 1)
#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c
#define STATUS_BAD_FIELD   0x1c

static uint16_t counters_get(const struct dnode *node, uint8_t *data)
{
	uint8_t num = data[PORT_SELECT];

	if (num > node->ni.nports || (!num && !is_switch(node)))
		return STATUS_BAD_FIELD;
	memset(data, 0, WIRE_GMP_DATA);
	data[PORT_SELECT] = num;
	return 0;
}

void perf_execute(struct dport *arrival, struct wire_mad *m, uint8_t *mad)
{
	if (m->attr_id != WIRE_PORT_COUNTERS)
		m->status = STATUS_UNSUPPORTED;
	else if (m->method != WIRE_GET)
		m->status = STATUS_BAD_METHOD;
	else
		m->status = counters_get(arrival->node, wire_gmp_data(mad));
	m->method = WIRE_GET_RESP;
	wire_mad_encode(m, mad);
}
