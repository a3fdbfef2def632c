/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ClassPortInfo (IBA 13.4.8.1): what this SA can do. It is an attribute and no record, and is
 * answered by the same engine, as one item with one row.
 */
#include "fm/mad/wire_inform.h"
#include "fm/sa/sa_impl.h"

static void class_port_info_emit(struct sa_query *q, uint32_t item)
{
	const struct wire_class_port_info info = {
		.cap_mask = WIRE_SA_CAP_CAPMASK_MATCH | WIRE_SA_CAP_SUBSCRIPTIONS |
			    WIRE_SA_CAP_OPTIONAL_RECORDS | WIRE_SA_CAP_MULTICAST |
			    WIRE_SA_CAP_MULTI_PATH,
		.cap_mask2 = WIRE_SA_CAP2_MCAST_TOP | WIRE_SA_CAP2_FULL_PORT_INFO |
			     WIRE_SA_CAP2_EXT_SPEEDS | WIRE_SA_CAP2_CAPMASK2_MATCH |
			     WIRE_SA_CAP2_SEND_ONLY_FULL | WIRE_SA_CAP2_WIDTH_2X |
			     WIRE_SA_CAP2_HDR | WIRE_SA_CAP2_NDR | WIRE_SA_CAP2_ALIAS_GUIDS |
			     WIRE_SA_CAP2_MCAST_SERVICES,
		.resp_time = 16, /* 4.096 us * 2^16 = 268 ms */
	};
	uint8_t *row = sa_row(q);

	wire_class_port_info_encode(&info, row);
	sa_row_add(q);
}

const struct sa_record sa_record_class_port_info = {
	.attr_id = WIRE_SA_CLASS_PORT_INFO,
	.methods = SA_GET,
	.layout = { .size = 72 },
	.prepare = sa_walk_once,
	.emit = class_port_info_emit,
};
