/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sa_mcast_ask.h"

struct wire_gid gid_of(guid_t port)
{
	return (struct wire_gid){ WORLD_PREFIX, port };
}

struct wire_mcmember member_record(guid_t port)
{
	return (struct wire_mcmember){ .mgid = some_mgid,
				       .port_gid = gid_of(port),
				       .qkey = 0x1b,
				       .pkey = 0xffff,
				       .join_state = WIRE_JOIN_FULL };
}

uint16_t ask_member(struct world *w, const struct ask *a, const struct wire_mcmember *rec)
{
	uint8_t data[WIRE_MCMEMBER_SIZE];
	struct world_request r = {
		.method = a->method,
		.attr = WIRE_SA_MCMEMBER,
		.mask = a->mask,
		.sm_key = a->trusted ? WORLD_SM_KEY : 0,
		.data = data,
		.len = sizeof(data),
		.from = world_lid(w, a->from ? a->from : rec->port_gid.guid),
	};

	wire_mcmember_encode(rec, data);
	return ask_status(w, &r);
}

uint16_t set_member(struct world *w, uint64_t mask, const struct wire_mcmember *rec)
{
	return ask_member(w, &(struct ask){ .method = WIRE_SET, .mask = mask }, rec);
}

uint16_t leave_group(struct world *w, const struct wire_mcmember *rec)
{
	return ask_member(w, &(struct ask){ .method = WIRE_DELETE, .mask = MASK_JOIN }, rec);
}

struct wire_mcmember member_row(const struct world *w, unsigned i)
{
	struct wire_mcmember rec;

	wire_mcmember_decode(world_row(w, i), &rec);
	return rec;
}

unsigned member_table(struct world *w, uint64_t mask, const struct wire_mcmember *rec, bool trusted)
{
	const struct ask a = { WIRE_GET_TABLE, mask, trusted, HOST(0) };

	assert_int_equal(ask_member(w, &a, rec), WIRE_SA_OK);
	return world_rows(w);
}

struct pkey_map *world_two_members(struct world *w)
{
	struct pkey_map *map = mem_alloc(1, sizeof(*map));

	map->nports = w->topo->nports;
	map->first = mem_alloc(map->nports + 1, sizeof(*map->first));
	map->keys = mem_alloc(2 * map->nports, sizeof(*map->keys));
	for (uint32_t p = 0, n = 0; p <= map->nports; p++) {
		map->first[p] = n;
		if (p < map->nports && p == world_port_of(w, HOST(0)))
			map->keys[n++] = 0x8001;
		if (p < map->nports && p == world_port_of(w, HOST(1)))
			map->keys[n++] = 0x0001;
		if (p < map->nports)
			map->keys[n++] = 0xffff;
	}
	w->view.pkeys = map;
	sa_publish(w->sa, &w->view);
	return map;
}

void world_one_partition(struct world *w, struct pkey_map *map)
{
	w->view.pkeys = NULL;
	sa_publish(w->sa, &w->view);
	pkey_map_free(map);
}
