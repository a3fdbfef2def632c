/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_agents: other agents of a node than its subnet management agent. */
#pragma once

#include "fm/mad/wire.h"
#include "fm/mad/wire_perf.h"
#include "topology/snapshot/topo.h"

struct double_fabric;

/* Another subnet manager answers SMInfo at that port; NULL = none does. */
void double_set_sm(struct double_fabric *d, guid_t node, unsigned port,
		   const struct wire_sm_info *info);
/* Whom another manager has told it to turn to. */
void double_set_sm_lid(struct double_fabric *d, guid_t node, unsigned port, uint16_t sm_lid);
/* It does not answer, though its IsSM bit is set. */
void double_set_sm_silent(struct double_fabric *d, guid_t node, unsigned port);

/* It does not know the class of congestion control. */
void double_set_no_cc(struct double_fabric *d, guid_t node, bool on);
/* What was set of it: the attribute's bytes, NULL = nothing. Port 0 for what is the node's. */
const uint8_t *double_cc(const struct double_fabric *d, guid_t node, unsigned port,
			 uint16_t attr_id, uint32_t mod);

/* What a port has counted, and what its node's agent can do (PortCounters alone unless told). */
void double_set_counter(struct double_fabric *d, guid_t node, unsigned port,
			enum perf_counter counter, uint64_t value);
uint64_t double_counter(const struct double_fabric *d, guid_t node, unsigned port,
			enum perf_counter counter);
void double_set_fec(struct double_fabric *d, guid_t node, unsigned port,
		    enum wire_fec_counter counter, uint64_t value);
void double_set_perf_caps(struct double_fabric *d, guid_t node, const struct wire_perf_caps *caps);
