/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_mcast_world.h"

static void answer_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct heard *h = arg;

	h->count++;
	h->status = (uint16_t)(mad[4] << 8 | mad[5]);
	wire_mcmember_decode(mad + WIRE_SA_HEADER, &h->rec);
	h->mlid[h->rec.mgid.guid] = h->rec.mlid;
}

guid_t node_of(const struct world *w, unsigned host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

guid_t port_of(const struct world *w, unsigned host)
{
	return topo_port(w->design, w->design->nswitches + host, 1)->guid;
}

static struct wire_gid mgid_of(unsigned number)
{
	return (struct wire_gid){ 0xff12a01cfe800000ull, number };
}

void send_member(struct world *w, guid_t node, uint64_t tid, uint8_t method,
		 const struct wire_mcmember *rec, io_recv_fn *fn, void *arg)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = method,
					 .tid = tid,
					 .attr_id = WIRE_SA_MCMEMBER };
	const struct io_addr to = { .lid = double_port_info(w->hw, node, 1)->sm_lid,
				    .qp = 1,
				    .qkey = QP1_QKEY };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)((uint64_t)MASK_NEW >> (56 - 8 * i));
	wire_mcmember_encode(rec, mad + WIRE_SA_HEADER);
	double_inject(w->hw, node, 1, &to, mad, sizeof(mad), fn, arg);
}

void ask_for(struct world *w, unsigned host, uint8_t method, const struct wire_mcmember *rec,
	     struct heard *h)
{
	send_member(w, node_of(w, host), 1 + host, method, rec, answer_cb, h);
}

struct wire_mcmember member_of(const struct world *w, guid_t port, unsigned group)
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

static void ask_in(struct world *w, unsigned host, uint8_t method, unsigned group, uint8_t state,
		   uint16_t pkey, struct heard *h)
{
	struct wire_mcmember rec = member_of(w, port_of(w, host), group);

	rec.join_state = state;
	rec.pkey = pkey;
	ask_for(w, host, method, &rec, h);
}

void ask(struct world *w, unsigned host, uint8_t method, unsigned group, uint8_t state,
	 struct heard *h)
{
	ask_in(w, host, method, group, state, 0xffff, h);
}

struct heard join_in(struct world *w, unsigned host, unsigned group, uint16_t pkey)
{
	struct heard h = { 0 };

	ask_in(w, host, WIRE_SET, group, WIRE_JOIN_FULL, pkey, &h);
	run_for(w, 1000);
	assert_int_equal(h.status, WIRE_SA_OK);
	return h;
}

struct heard join(struct world *w, unsigned host, unsigned group, uint8_t state)
{
	struct heard h = { 0 };

	ask(w, host, WIRE_SET, group, state, &h);
	run_for(w, 1000);
	assert_int_equal(h.count, 1);
	return h;
}

static struct heard leave(struct world *w, unsigned host, unsigned group, uint8_t state)
{
	struct heard h = { 0 };

	ask(w, host, WIRE_DELETE, group, state, &h);
	run_for(w, 1000);
	assert_int_equal(h.count, 1);
	return h;
}

/* ---- What should be -------------------------------------------------------------------------- */

void model_join(struct world *w, struct model *m, unsigned host, unsigned group, uint8_t state)
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

void model_settle(struct model *m, unsigned group)
{
	for (unsigned i = 0; i < HOSTS; i++)
		if (m->state[group][i] & (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL))
			return;
	memset(m->state[group], 0, sizeof(m->state[group]));
	m->mlid[group] = 0;
}

void model_leave(struct world *w, struct model *m, unsigned host, unsigned group)
{
	uint8_t state = m->state[group][host];

	assert_int_equal(leave(w, host, group, state).status,
			 state ? WIRE_SA_OK : WIRE_SA_REQ_INVALID);
	m->state[group][host] = 0;
	model_settle(m, group);
}

static uint32_t list_members(const struct world *w, const uint8_t state[HOSTS],
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

void assert_held(const struct world *w, const struct model *m)
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

bool holds_nothing(const struct world *w, uint16_t mlid)
{
	struct mcast_tree held;
	bool nothing;

	mcast_held_tree(w->hw, w->design, mlid, &held);
	nothing = held.nhops == 0;
	mcast_tree_fini(&held);
	return nothing;
}

void small_world(struct world *w)
{
	world_init(w, small_tree());
	assert_int_equal(w->design->ncas, HOSTS);
}
