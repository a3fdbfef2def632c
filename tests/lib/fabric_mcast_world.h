/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_mcast_world: hosts of the fabric double that join and leave groups, and what switches are
 * to hold then. Behind <cmocka.h>.
 */
#ifndef FMD_TESTS_FABRIC_MCAST_WORLD_H
#define FMD_TESTS_FABRIC_MCAST_WORLD_H

#include "fm/mad/wire_mcast.h"
#include "fm/mad/wire_path.h"
#include "fm/mad/wire_sa_comp.h"
#include "fm/multicast/module.h"
#include "tests/fabric/mcast_held.h"
#include "tests/lib/fabric_world.h"

#define QP1_QKEY 0x80010000u
#define GROUPS	 6
#define HOSTS	 48 /* the first is where fmd runs */
#define B(comp)	 WIRE_BIT(WIRE_MC_##comp)
#define MASK_NEW                                                                                   \
	(B(MGID) | B(PORT_GID) | B(JOIN_STATE) | B(QKEY) | B(TCLASS) | B(PKEY) | B(FLOW) | B(SL) | \
	 B(RATE_SEL) | B(RATE) | B(MTU_SEL) | B(MTU))

struct heard { /* the answers to a host's requests */
	unsigned count;
	uint16_t status; /* of the last one */
	struct wire_mcmember rec;
	uint16_t mlid[GROUPS];
};

guid_t node_of(const struct world *w, unsigned host);
guid_t port_of(const struct world *w, unsigned host);

/* Lets a host's request for a port go; the answer comes as the loop runs. */
void ask_for(struct world *w, unsigned host, uint8_t method, const struct wire_mcmember *rec,
	     struct heard *h);
struct wire_mcmember member_of(const struct world *w, guid_t port, unsigned group);
void ask(struct world *w, unsigned host, uint8_t method, unsigned group, uint8_t state,
	 struct heard *h);
struct heard join_in(struct world *w, unsigned host, unsigned group, uint16_t pkey);
struct heard join(struct world *w, unsigned host, unsigned group, uint8_t state);

struct model {
	uint8_t state[GROUPS][HOSTS];
	uint16_t mlid[GROUPS]; /* 0 = the group is not there */
};

void model_join(struct world *w, struct model *m, unsigned host, unsigned group, uint8_t state);
void model_settle(struct model *m, unsigned group);
void model_leave(struct world *w, struct model *m, unsigned host, unsigned group);

/* The switches hold a right tree for each group that is there. */
void assert_held(const struct world *w, const struct model *m);
bool holds_nothing(const struct world *w, uint16_t mlid);
void small_world(struct world *w);

#endif
