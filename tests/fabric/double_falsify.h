/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_falsify: SMP answers with wrong content, seeded. */
#ifndef FMD_TESTS_FABRIC_DOUBLE_FALSIFY_H
#define FMD_TESTS_FABRIC_DOUBLE_FALSIFY_H

#include "topology/snapshot/topo.h"

/*
 * Falsifies an SMP answer of a fabric: a byte, bits, all of its data, or what its attribute says of
 * size, type, ports and state.
 */
void double_falsify(const struct topo *design, uint64_t *seed, uint8_t *mad);

#endif
