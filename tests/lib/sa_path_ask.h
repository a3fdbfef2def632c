/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_path_ask: asking the SA of a sa_world for paths. Include cmocka first. */
#pragma once

#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_ask.h"

struct path_ask {
	struct wire_path_record want;
	uint64_t mask;
	uint8_t method; /* 0 = Get */
};

struct world_request path_request(const struct path_ask *ask, uint8_t row[64]);
uint16_t path_status(struct world *w, const struct path_ask *ask);
struct wire_path_record path_get(struct world *w, const struct path_ask *ask);
struct path_ask by_gid(guid_t from, guid_t to);
struct path_ask by_lid(struct world *w, guid_t from, guid_t to);
