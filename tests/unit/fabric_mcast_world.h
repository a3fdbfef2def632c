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
#include "tests/unit/fabric_world.h"

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

static inline void answer_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct heard *h = arg;

	h->count++;
	h->status = (uint16_t)(mad[4] << 8 | mad[5]);
	wire_mcmember_decode(mad + WIRE_SA_HEADER, &h->rec);
	h->mlid[h->rec.mgid.guid] = h->rec.mlid;
}

static inline guid_t node_of(const struct world *w, unsigned host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

static inline guid_t port_of(const struct world *w, unsigned host)
{
	return topo_port(w->design, w->design->nswitches + host, 1)->guid;
}

static inline struct wire_gid mgid_of(unsigned number)
{
	return (struct wire_gid){ 0xff12a01cfe800000ull, number };
}

/* Lets a host's request for a port go; the answer comes as the loop runs. */
static inline void ask_for(struct world *w, unsigned host, uint8_t method,
			   const struct wire_mcmember *rec, struct heard *h)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = method,
					 .tid = 1 + host,
					 .attr_id = WIRE_SA_MCMEMBER };
	const struct io_addr to = { .lid = lid_of(w, 0), .qp = 1, .qkey = QP1_QKEY };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)((uint64_t)MASK_NEW >> (56 - 8 * i));
	wire_mcmember_encode(rec, mad + WIRE_SA_HEADER);
	double_inject(w->hw, node_of(w, host), 1, &to, mad, sizeof(mad), answer_cb, h);
}

static inline struct wire_mcmember member_of(const struct world *w, guid_t port, unsigned group)
{
	return (struct wire_mcmember){
		.mgid = mgid_of(group),
		.port_gid = { w->conf.sm.subnet_prefix, port },
		.qkey = 1,
		.pkey = 0xffff,
		.join_state = WIRE_JOIN_FULL,
		.mtu_sel = WIRE_EXACT,
		.mtu = 4,
		.rate_sel = WIRE_EXACT,
		.rate = 3,
	};
}

static inline void ask_in(struct world *w, unsigned host, uint8_t method, unsigned group,
			  uint8_t state, uint16_t pkey, struct heard *h)
{
	struct wire_mcmember rec = member_of(w, port_of(w, host), group);

	rec.join_state = state;
	rec.pkey = pkey;
	ask_for(w, host, method, &rec, h);
}

static inline void ask(struct world *w, unsigned host, uint8_t method, unsigned group,
		       uint8_t state, struct heard *h)
{
	ask_in(w, host, method, group, state, 0xffff, h);
}

static inline struct heard join_in(struct world *w, unsigned host, unsigned group, uint16_t pkey)
{
	struct heard h = { 0 };

	ask_in(w, host, WIRE_SET, group, WIRE_JOIN_FULL, pkey, &h);
	run_for(w, 1000);
	assert_int_equal(h.status, WIRE_SA_OK);
	return h;
}

static inline struct heard join(struct world *w, unsigned host, unsigned group, uint8_t state)
{
	struct heard h = { 0 };

	ask(w, host, WIRE_SET, group, state, &h);
	run_for(w, 1000);
	assert_int_equal(h.count, 1);
	return h;
}

static inline struct heard leave(struct world *w, unsigned host, unsigned group, uint8_t state)
{
	struct heard h = { 0 };

	ask(w, host, WIRE_DELETE, group, state, &h);
	run_for(w, 1000);
	assert_int_equal(h.count, 1);
	return h;
}

/* ---- What should be -------------------------------------------------------------------------- */

struct model {
	uint8_t state[GROUPS][HOSTS];
	uint16_t mlid[GROUPS]; /* 0 = the group is not there */
};

static inline void model_join(struct world *w, struct model *m, unsigned host, unsigned group,
			      uint8_t state)
{
	struct heard h = join(w, host, group, state);

	if (!m->mlid[group] && !(state & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))) {
		assert_int_equal(h.status, WIRE_SA_REQ_INVALID);
		return;
	}
	assert_int_equal(h.status, WIRE_SA_OK);
	m->state[group][host] |= state;
	assert_int_equal(h.rec.join_state, m->state[group][host]);
	assert_true(!m->mlid[group] || m->mlid[group] == h.rec.mlid);
	m->mlid[group] = h.rec.mlid;
}

static inline void model_settle(struct model *m, unsigned group)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (m->state[group][i] & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))
			return;
	memset(m->state[group], 0, sizeof(m->state[group]));
	m->mlid[group] = 0;
}

static inline void model_leave(struct world *w, struct model *m, unsigned host, unsigned group)
{
	uint8_t state = m->state[group][host];

	assert_int_equal(leave(w, host, group, state).status,
			 state ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
	m->state[group][host] = 0;
	model_settle(m, group);
}

static inline uint32_t list_members(const struct world *w, const uint8_t state[HOSTS],
				    struct mcast_member list[HOSTS])
{
	const struct topo *t = fabric_topo(w->fabric);
	uint32_t n = 0;

	for (unsigned i = 0; i < HOSTS; i++)
		if (state[i])
			list[n++] = (struct mcast_member){ topo_find_port(t, port_of(w, i)),
							   !(state[i] &
							     (WIRE_JOIN_FULL | WIRE_JOIN_NON)) };
	return n;
}

/* The switches hold a right tree for each group that is there. */
static inline void assert_held(const struct world *w, const struct model *m)
{
	const struct topo *t = fabric_topo(w->fabric);
	struct mcast_member list[HOSTS];

	for (unsigned g = 0; g < GROUPS; g++) {
		struct mcast_group group = { .mlid = m->mlid[g], .members = list };
		struct mcast_tree held;
		char err[256];

		if (!m->mlid[g])
			continue;
		group.nmembers = list_members(w, m->state[g], list);
		mcast_held_tree(w->hw, t, group.mlid, &held);
		held.left_out = mcast_plan_tree(multicast_trees(w->fabric), group.mlid)->left_out;
		held.narrow = mcast_plan_tree(multicast_trees(w->fabric), group.mlid)->narrow;
		if (!mcast_tree_check(t, &group, &held, err, sizeof(err)))
			fail_msg("group %u, MLID 0x%x: %s", g, group.mlid, err);
		mcast_tree_fini(&held);
	}
}

static inline bool holds_nothing(const struct world *w, uint16_t mlid)
{
	struct mcast_tree held;
	bool nothing;

	mcast_held_tree(w->hw, w->design, mlid, &held);
	nothing = held.nhops == 0;
	mcast_tree_fini(&held);
	return nothing;
}

static inline void small_world(struct world *w)
{
	world_init(w, small_tree());
	assert_int_equal(w->design->ncas, HOSTS);
}

#endif
