/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* topo_equal: two snapshots are the same, field by field. Include after cmocka.h. */
#pragma once

#include <string.h>
#include "topology/snapshot/topo.h"

void assert_same_topo(const struct topo *a, const struct topo *b);
