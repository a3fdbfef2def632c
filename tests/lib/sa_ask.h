/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_ask: asking the SA of a sa_world from cmocka tests. Include cmocka first. */
#pragma once

#include "tests/lib/sa_world.h"

#define HOST(i) (WORLD_CA(i) + 1)

int sa_setup(void **state);
int sa_teardown(void **state);
uint16_t ask_status(struct world *w, const struct world_request *r);
unsigned ask_rows(struct world *w, const struct world_request *r);
unsigned table_rows(struct world *w, uint16_t attr);
/* Random numbers of a fixed sequence. */
unsigned pick_below(unsigned below);
