/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_mcast_ask: joins, leaves and reads groups of a sa_world by MCMemberRecord. Include cmocka
 * first.
 */
#pragma once

#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_ask.h"

#define B(comp)	  WIRE_BIT(WIRE_MC(comp))
#define MASK_JOIN (B(mgid) | B(port_gid) | B(join_state))
#define MASK_NEW  (MASK_JOIN | B(qkey) | B(tclass) | B(pkey) | B(flow_label) | B(sl))

enum { MTU_2048 = 4, MTU_4096 = 5, RATE_10 = 3, RATE_EDR = 16, RATE_HDR = 17, RATE_NDR = 21 };

static const struct wire_gid some_mgid = { 0xff12a01cfe800000ull, 0x12345678 };

struct wire_gid gid_of(guid_t port);
/* The record of a port as a full member of an ordinary group. */
struct wire_mcmember member_record(guid_t port);

struct ask {
	uint8_t method;
	uint64_t mask;
	bool trusted;
	guid_t from; /* the sending port; 0 = the one in the record */
};

/* Send one request and return the status of the answer: any; Set as its own port; Delete. */
uint16_t ask_member(struct world *w, const struct ask *a, const struct wire_mcmember *rec);
uint16_t set_member(struct world *w, uint64_t mask, const struct wire_mcmember *rec);
uint16_t leave_group(struct world *w, const struct wire_mcmember *rec);
/* Row i of the latest answer. */
struct wire_mcmember member_row(const struct world *w, unsigned i);
/* GetTable: returns the number of rows. */
unsigned member_table(struct world *w, uint64_t mask, const struct wire_mcmember *rec,
		      bool trusted);

static const struct wire_mcmember anything;

/*
 * Publishes that host 0 is a full member of 0x8001 too, host 1 a limited one; then the default
 * partition alone, which frees the map.
 */
struct pkey_map *world_two_members(struct world *w);
void world_one_partition(struct world *w, struct pkey_map *map);
