/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_answers: attributes as devices answer them, which fmd only reads. */
#pragma once

#include "fm/mad/wire_optional.h"
#include "fm/mad/wire_perf.h"
#include "fm/mad/wire_sa.h"

void wire_hierarchy_encode(const struct wire_hierarchy *in, uint8_t data[64]);
/* Bits of CapabilityMask other than has_fec, and what is behind NDR's words, are 0. */
void wire_port_ext_encode(const struct wire_port_ext *in, uint8_t data[64]);
void wire_perf_caps_encode(const struct wire_perf_caps *in, uint8_t data[WIRE_GMP_DATA]);
/* The counters of RS-FEC. */
void wire_fec_encode(const uint64_t in[WIRE_FEC_COUNTERS], uint8_t data[WIRE_GMP_DATA]);
void wire_perf_details_encode(const uint16_t in[WIRE_PERF_DETAILS], uint8_t data[WIRE_GMP_DATA]);
/* All WIRE_GMP_DATA bytes; a value beyond a counter's width becomes its highest. */
void wire_perf_encode(const struct wire_perf *in, uint8_t data[WIRE_GMP_DATA]);
void wire_perf_ext_encode(const struct wire_perf *in, uint8_t data[WIRE_GMP_DATA]);
