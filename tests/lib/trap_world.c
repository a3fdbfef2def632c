/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/trap_world.h"

void send_trap(struct world *w, guid_t node, unsigned from_port, const struct wire_notice *notice,
	       uint64_t tid)
{
	const struct io_addr to = { .lid = (uint16_t)status_number(w, NULL, "sm_lid") };
	struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
				   .class_version = 1,
				   .method = WIRE_TRAP,
				   .attr_id = WIRE_NOTICE,
				   .tid = tid };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	wire_notice_encode(notice, wire_smp_data(mad));
	double_inject(w->hw, node, from_port, &to, mad, sizeof(mad), NULL, NULL);
}

struct wire_notice switch_notice(const struct world *w, guid_t sw, uint16_t trap, unsigned port)
{
	uint16_t lid = double_port_info(w->hw, sw, 0)->lid;

	return (struct wire_notice){ .generic = true,
				     .type = 1,
				     .producer = 2,
				     .trap = trap,
				     .issuer_lid = lid,
				     .lid = lid,
				     .port = (uint8_t)port };
}

guid_t far_leaf_guid(const struct world *w)
{
	return w->design->nodes[far_leaf(w)].guid;
}
