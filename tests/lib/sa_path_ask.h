/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sa_path_ask: asking the SA of a sa_world for paths. Include cmocka first. */
#ifndef FMD_TESTS_SA_PATH_ASK_H
#define FMD_TESTS_SA_PATH_ASK_H

#include "fm/mad/wire_path.h"
#include "fm/mad/wire_sa_comp.h"
#include "tests/lib/sa_ask.h"

struct path_ask {
	struct wire_path_record want;
	uint64_t mask;
	uint8_t method; /* 0 = Get */
};

static inline struct world_request path_request(const struct path_ask *ask, uint8_t row[64])
{
	wire_path_record_encode(&ask->want, row);
	return (struct world_request){ .method = ask->method ? ask->method : WIRE_GET,
				       .attr = WIRE_SA_PATH,
				       .mask = ask->mask,
				       .data = row,
				       .len = 64 };
}

static inline uint16_t path_status(struct world *w, const struct path_ask *ask)
{
	uint8_t row[64];
	struct world_request r = path_request(ask, row);

	return ask_status(w, &r);
}

static inline struct wire_path_record path_get(struct world *w, const struct path_ask *ask)
{
	struct wire_path_record rec;

	assert_int_equal(path_status(w, ask), WIRE_SA_OK);
	wire_path_record_decode(world_row(w, 0), &rec);
	return rec;
}

static inline struct path_ask by_gid(guid_t from, guid_t to)
{
	return (struct path_ask){
		.want = { .sgid = { WORLD_PREFIX, from }, .dgid = { WORLD_PREFIX, to } },
		.mask = WIRE_BIT(WIRE_PATH_SGID) | WIRE_BIT(WIRE_PATH_DGID),
	};
}

static inline struct path_ask by_lid(struct world *w, guid_t from, guid_t to)
{
	return (struct path_ask){
		.want = { .slid = world_lid(w, from), .dlid = world_lid(w, to) },
		.mask = WIRE_BIT(WIRE_PATH_SLID) | WIRE_BIT(WIRE_PATH_DLID),
	};
}

#endif
