/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trap_world: sends true and forged traps to the subnet manager of a fabric_world. Include cmocka
 * first.
 */
#pragma once

#include "tests/lib/fabric_world.h"

void send_trap(struct world *w, guid_t node, unsigned from_port, const struct wire_notice *notice,
	       uint64_t tid);
struct wire_notice switch_notice(const struct world *w, guid_t sw, uint16_t trap, unsigned port);
guid_t far_leaf_guid(const struct world *w);
