/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_mcast_world: hosts of the fabric double that join and leave multicast groups, and the
 * tables that switches have to hold. Include cmocka first.
 */
#pragma once

#include "fm/mad/wire_sa.h"
#include "fm/multicast/module.h"
#include "tests/fabric/mcast_held.h"
#include "tests/lib/fabric_world.h"

#define QP1_QKEY 0x80010000u
#define GROUPS	 6
#define HOSTS	 48 /* the first is where fmd runs */
#define B(comp)	 WIRE_BIT(WIRE_MC(comp))
#define MASK_NEW                                                                                   \
	(B(mgid) | B(port_gid) | B(join_state) | B(qkey) | B(tclass) | B(pkey) | B(flow_label) |   \
	 B(sl) | B(rate_sel) | B(rate) | B(mtu_sel) | B(mtu))

struct heard { /* the answers to a host's requests */
	unsigned count;
	uint16_t status; /* of the latest answer */
	struct wire_mcmember rec;
	uint16_t mlid[GROUPS];
};

/* NodeGUID and PortGUID of a host by its number. */
guid_t node_of(const struct world *w, unsigned host);
guid_t port_of(const struct world *w, unsigned host);

/* Sends a host's MCMemberRecord, a request; the answer goes to fn while the loop runs. */
void send_member(struct world *w, guid_t node, uint64_t tid, uint8_t method,
		 const struct wire_mcmember *rec, io_recv_fn *fn, void *arg);
/* The same by a host's number; the answer goes to *h. */
void ask_for(struct world *w, unsigned host, uint8_t method, const struct wire_mcmember *rec,
	     struct heard *h);
/* A full member's record of a group, by the group's number. */
struct wire_mcmember member_of(const struct world *w, guid_t port, unsigned group);
/* Sends a host's request for its own port, in the default partition. */
void ask(struct world *w, unsigned host, uint8_t method, unsigned group, uint8_t state,
	 struct heard *h);
/* Joins a group and waits for the answer; join_in() with a P_Key, and must succeed. */
struct heard join_in(struct world *w, unsigned host, unsigned group, uint16_t pkey);
struct heard join(struct world *w, unsigned host, unsigned group, uint8_t state);

struct model { /* the groups and members that there should be */
	uint8_t state[GROUPS][HOSTS];
	uint16_t mlid[GROUPS]; /* 0 = the group does not exist */
};

/* Join and leave in the fabric and in the model, and compare the answers with the model. */
void model_join(struct world *w, struct model *m, unsigned host, unsigned group, uint8_t state);
void model_leave(struct world *w, struct model *m, unsigned host, unsigned group);
/* Deletes a group of the model that has no full member. */
void model_settle(struct model *m, unsigned group);

/* The switches hold a correct tree for each group of the model. */
void assert_held(const struct world *w, const struct model *m);
/* Whether no switch holds an entry for an MLID. */
bool holds_nothing(const struct world *w, uint16_t mlid);
/* A world on small_tree(), with HOSTS hosts. */
void small_world(struct world *w);
