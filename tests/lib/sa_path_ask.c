/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sa_path_ask.h"

struct world_request path_request(const struct path_ask *ask, uint8_t row[64])
{
	wire_path_record_encode(&ask->want, row);
	return (struct world_request){ .method = ask->method ? ask->method : WIRE_GET,
				       .attr = WIRE_SA_PATH,
				       .mask = ask->mask,
				       .data = row,
				       .len = 64 };
}

uint16_t path_status(struct world *w, const struct path_ask *ask)
{
	uint8_t row[64];
	struct world_request r = path_request(ask, row);

	return ask_status(w, &r);
}

struct wire_path_record path_get(struct world *w, const struct path_ask *ask)
{
	struct wire_path_record rec;

	assert_int_equal(path_status(w, ask), WIRE_SA_OK);
	wire_path_record_decode(world_row(w, 0), &rec);
	return rec;
}

struct path_ask by_gid(guid_t from, guid_t to)
{
	return (struct path_ask){
		.want = { .sgid = { WORLD_PREFIX, from }, .dgid = { WORLD_PREFIX, to } },
		.mask = WIRE_BIT(WIRE_PATH(sgid)) | WIRE_BIT(WIRE_PATH(dgid)),
	};
}

struct path_ask by_lid(struct world *w, guid_t from, guid_t to)
{
	return (struct path_ask){
		.want = { .slid = world_lid(w, from), .dlid = world_lid(w, to) },
		.mask = WIRE_BIT(WIRE_PATH(slid)) | WIRE_BIT(WIRE_PATH(dlid)),
	};
}
