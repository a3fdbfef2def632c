/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_falsify: SMP answers with wrong content, seeded. */
#pragma once

#include "topology/snapshot/topo.h"

/*
 * Falsifies an SMP answer of a fabric: a byte, bits, all of its data, or what its attribute says of
 * size, type, ports and state.
 */
void double_falsify(const struct topo *design, uint64_t *seed, uint8_t *mad);
