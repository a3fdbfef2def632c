/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_mcast_ask: joining, leaving and looking at groups of a sa_world by MCMemberRecord. Include
 * cmocka first.
 */
#ifndef FMD_TESTS_SA_MCAST_ASK_H
#define FMD_TESTS_SA_MCAST_ASK_H

#include "fm/mad/wire_sa_comp.h"
#include "tests/lib/sa_ask.h"

#define B(comp)	  WIRE_BIT(WIRE_MC_##comp)
#define MASK_JOIN (B(MGID) | B(PORT_GID) | B(JOIN_STATE))
#define MASK_NEW  (MASK_JOIN | B(QKEY) | B(TCLASS) | B(PKEY) | B(FLOW) | B(SL))

enum { MTU_2048 = 4, MTU_4096 = 5, RATE_10 = 3, RATE_EDR = 16, RATE_HDR = 17, RATE_NDR = 21 };

static const struct wire_gid some_mgid = { 0xff12a01cfe800000ull, 0x12345678 };

static inline struct wire_gid gid_of(guid_t port)
{
	return (struct wire_gid){ WORLD_PREFIX, port };
}

/* A full member's request at a group of no special kind. */
static inline struct wire_mcmember record(guid_t port)
{
	return (struct wire_mcmember){ .mgid = some_mgid,
				       .port_gid = gid_of(port),
				       .qkey = 0x1b,
				       .pkey = 0xffff,
				       .join_state = WIRE_JOIN_FULL };
}

struct ask {
	uint8_t method;
	uint64_t mask;
	bool trusted;
	guid_t from; /* port; 0 = the one in the record */
};

static inline uint16_t ask(struct world *w, const struct ask *a, const struct wire_mcmember *rec)
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

static inline uint16_t set(struct world *w, uint64_t mask, const struct wire_mcmember *rec)
{
	return ask(w, &(struct ask){ .method = WIRE_SET, .mask = mask }, rec);
}

static inline uint16_t leave(struct world *w, const struct wire_mcmember *rec)
{
	return ask(w, &(struct ask){ .method = WIRE_DELETE, .mask = MASK_JOIN }, rec);
}

static inline struct wire_mcmember answered(const struct world *w, unsigned i)
{
	struct wire_mcmember rec;

	wire_mcmember_decode(world_row(w, i), &rec);
	return rec;
}

static inline unsigned table(struct world *w, uint64_t mask, const struct wire_mcmember *rec,
			     bool trusted)
{
	const struct ask a = { WIRE_GET_TABLE, mask, trusted, HOST(0) };

	assert_int_equal(ask(w, &a, rec), WIRE_SA_OK);
	return world_rows(w);
}

static const struct wire_mcmember anything;

/* Publishes that host 0 is a full member of 0x8001 too, host 1 a limited one. */
static inline struct pkey_map *world_two_members(struct world *w)
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

static inline void world_one_partition(struct world *w, struct pkey_map *map)
{
	w->view.pkeys = NULL;
	sa_publish(w->sa, &w->view);
	pkey_map_free(map);
}

#endif
