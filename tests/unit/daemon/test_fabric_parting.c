/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hosts ask the SA for paths, many at once, while the fabric changes hands: each sends to
 * the SM LID of its own port, as its kernel does, and once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "fm/sm/module.h"
#include "tests/lib/fabric_mcast_world.h"
#include "tests/lib/sm_pair.h"

#define EVERY_US 50
#define QP1_QKEY 0x80010000u

struct clients {
	const struct world *w;
	struct loop_timer *timer;
	uint64_t tid;
	unsigned asked, answered, refused, changed; /* changed: joins that were answered */
	uint32_t host;
	bool joins;
};

static guid_t port_guid(const struct world *w, uint32_t number)
{
	return w->design->ports[w->design->nodes[w->design->nswitches + number].port0 + 1].guid;
}

static void answered(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct clients *c = arg;
	struct wire_mad header;

	if (wire_mad_decode(mad, len, &header) ||
	    (header.method != WIRE_GET_RESP && header.method != WIRE_DELETE_RESP))
		return;
	if (header.attr_id == WIRE_SA_MCMEMBER)
		c->changed++;
	else
		c->answered++;
	c->refused += header.status != 0;
}

static void send(struct clients *c, uint8_t *mad, struct wire_mad header, uint64_t mask)
{
	guid_t node = sm_host(c->w, c->host);
	const struct io_addr to = { .lid = double_port_info(c->w->hw, node, 1)->sm_lid,
				    .qp = 1,
				    .qkey = QP1_QKEY };

	header.mgmt_class = WIRE_SA;
	header.class_version = 2;
	header.tid = ++c->tid;
	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[WIRE_SA_HEADER - 8 + i] = (uint8_t)(mask >> (56 - 8 * i));
	double_inject(c->w->hw, node, 1, &to, mad, WIRE_MAD_SIZE, answered, c);
}

static void ask_for_path(struct clients *c)
{
	const uint64_t prefix = c->w->conf.sm.subnet_prefix;
	const uint32_t other = (c->host + 7) % c->w->design->ncas;
	const struct wire_path_record want = { .dgid = { prefix, port_guid(c->w, other) },
					       .sgid = { prefix, port_guid(c->w, c->host) },
					       .reversible = true,
					       .num_path = 1 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_path_record_encode(&want, mad + WIRE_SA_HEADER);
	send(c, mad, (struct wire_mad){ .method = WIRE_GET, .attr_id = WIRE_SA_PATH },
	     WIRE_BIT(WIRE_PATH(dgid)) | WIRE_BIT(WIRE_PATH(sgid)) |
		     WIRE_BIT(WIRE_PATH(reversible)) | WIRE_BIT(WIRE_PATH(num_path)));
	c->asked++;
}

static void join_group(struct clients *c)
{
	const struct wire_mcmember member = member_of(c->w, port_guid(c->w, c->host), 9);
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mcmember_encode(&member, mad + WIRE_SA_HEADER);
	send(c, mad, (struct wire_mad){ .method = WIRE_SET, .attr_id = WIRE_SA_MCMEMBER },
	     WIRE_BIT(WIRE_MC(mgid)) | WIRE_BIT(WIRE_MC(port_gid)) | WIRE_BIT(WIRE_MC(join_state)) |
		     WIRE_BIT(WIRE_MC(qkey)) | WIRE_BIT(WIRE_MC(tclass)) | WIRE_BIT(WIRE_MC(pkey)) |
		     WIRE_BIT(WIRE_MC(flow_label)) | WIRE_BIT(WIRE_MC(sl)) |
		     WIRE_BIT(WIRE_MC(rate_sel)) | WIRE_BIT(WIRE_MC(rate)) |
		     WIRE_BIT(WIRE_MC(mtu_sel)) | WIRE_BIT(WIRE_MC(mtu)));
}

/* Hosts of both managers are not among them: a port's own requests need no fabric. */
static void ask_cb(void *arg)
{
	struct clients *c = arg;

	c->host = c->host % (c->w->design->ncas - 2) + 1;
	ask_for_path(c);
	if (c->joins)
		join_group(c);
	loop_timer_set(c->timer, EVERY_US);
}

static void begin_asking(struct clients *c, const struct world *w)
{
	*c = (struct clients){ .w = w };
	c->timer = loop_timer_new(w->loop, ask_cb, c);
	loop_timer_set(c->timer, 0);
}

/* What is on its way arrives. */
static void stop_asking(struct clients *c, struct world *w)
{
	loop_timer_stop(c->timer);
	run_for(w, SECOND_US / 10);
	loop_timer_free(c->timer);
}

static void begin_pair(struct pair *p, int priority_a, int priority_b)
{
	pair_init(p, small_tree(), priority_a, priority_b);
	start_fabric(&p->a);
	run_for(&p->a, 2 * SECOND_US);
	pair_start_b(p);
	run_for(&p->a, 15 * SECOND_US);
	assert_true(is_master_and_up(&p->a));
}

static void assert_all_answered(const struct clients *c)
{
	assert_true(c->asked > 100);
	assert_int_equal(c->answered, c->asked);
	assert_int_equal(c->refused, 0);
}

static void a_hand_over_leaves_no_request_unanswered(void **state)
{
	struct pair p;
	struct clients c;
	struct handed handed = { 0 };

	begin_pair(&p, 0, 0);
	begin_asking(&c, &p.a);
	run_for(&p.a, SECOND_US / 2);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	run_for(&p.a, 3 * SECOND_US);
	stop_asking(&c, &p.a);
	assert_int_equal(handed.done, 1);
	assert_int_equal(handed.errors, 0);
	assert_true(has_role(&p.a, "standby"));
	assert_int_equal(fabric_role(p.a.fabric), FABRIC_ROLE_STANDBY);
	assert_well_managed_by(&p.b);
	assert_all_answered(&c);
	pair_fini(&p);
}

static void so_does_a_lower_priority(void **state)
{
	struct pair p;
	struct clients c;

	begin_pair(&p, 5, 4);
	begin_asking(&c, &p.a);
	p.a.conf.sm.priority = 1;
	fabric_configure(p.a.fabric, &p.a.conf);
	run_for(&p.a, 5 * SECOND_US);
	stop_asking(&c, &p.a);
	assert_true(has_role(&p.a, "standby"));
	assert_well_managed_by(&p.b);
	assert_all_answered(&c);
	pair_fini(&p);
}

static void note(void *arg)
{
	*(bool *)arg = true;
}

/* The process ends when nobody asks it any more, and not before. */
static void a_master_that_ends_waits_for_the_last_port(void **state)
{
	struct pair p;
	struct clients c;
	struct handed handed = { 0 };
	uint64_t handed_us;
	bool parted = false;
	uint16_t lid;

	begin_pair(&p, 0, 0);
	lid = lid_of(&p.a, 0);
	begin_asking(&c, &p.a);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	while (!handed.done)
		run_for(&p.a, 100);
	handed_us = loop_now_us(p.a.loop);
	sm_when_parted(p.a.fabric, note, &parted);
	assert_false(parted);
	while (!parted)
		run_for(&p.a, 100);
	for (uint32_t i = 0; i < p.a.design->ncas; i++)
		assert_int_not_equal(double_port_info(p.a.hw, sm_host(&p.a, i), 1)->sm_lid, lid);
	assert_true(loop_now_us(p.a.loop) - handed_us < SECOND_US);
	pair_stop(&p.a);
	run_for(&p.b, SECOND_US);
	stop_asking(&c, &p.b);
	assert_well_managed_by(&p.b);
	assert_all_answered(&c);
	pair_fini(&p);
}

/* What is acknowledged is known to a master: joins of meanwhile are left to the next try. */
static void joins_wait_for_the_new_master(void **state)
{
	struct pair p;
	struct clients c;
	struct handed handed = { 0 };
	unsigned before;

	begin_pair(&p, 0, 0);
	begin_asking(&c, &p.a);
	c.joins = true;
	run_for(&p.a, SECOND_US / 10);
	assert_true(c.changed > 50);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	while (!handed.done)
		run_for(&p.a, 100);
	before = c.changed;
	while (fabric_role(p.a.fabric) == FABRIC_ROLE_MASTER &&
	       double_port_info(p.a.hw, sm_host(&p.a, 0), 1)->sm_lid == lid_of(&p.a, 0))
		run_for(&p.a, 100);
	assert_true(c.changed - before < 4); /* some were on their way */
	run_for(&p.a, 2 * SECOND_US);
	assert_true(c.changed > before + 500);
	stop_asking(&c, &p.a);
	assert_all_answered(&c);
	pair_fini(&p);
}

/* A port that never hears of the new master does not keep the old one for ever. */
static void nobody_is_answered_longer_than_eight_seconds(void **state)
{
	struct pair p;
	struct handed handed = { 0 };
	uint64_t from_us;
	bool parted = false;

	begin_pair(&p, 0, 0);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	while (!handed.done)
		run_for(&p.a, 100);
	assert_int_equal(handed.errors, 0);
	double_freeze(p.io_b, true);
	p.a.conf.sm.polling_retries = 100; /* else its silence is noticed first */
	fabric_configure(p.a.fabric, &p.a.conf);
	from_us = loop_now_us(p.a.loop);
	sm_when_parted(p.a.fabric, note, &parted);
	while (!parted)
		run_for(&p.a, SECOND_US / 100);
	assert_in_range(loop_now_us(p.a.loop) - from_us, 7.9 * SECOND_US, 8.1 * SECOND_US);
	pair_fini(&p);
}

/* The new master is gone before it was one: the fabric comes back, and the SA was never away. */
static void a_new_master_that_dies_at_once_is_succeeded(void **state)
{
	struct pair p;
	struct clients c;
	struct handed handed = { 0 };
	uint64_t silent;

	begin_pair(&p, 0, 0);
	begin_asking(&c, &p.a);
	sm_hand_over(p.a.fabric, NULL, handed_cb, &handed);
	while (!handed.done)
		run_for(&p.a, 100);
	double_freeze(p.io_b, true);
	run_for(&p.a, 10 * SECOND_US);
	assert_true(is_master_and_up(&p.a));
	silent = c.asked - c.answered;
	run_for(&p.a, SECOND_US);
	stop_asking(&c, &p.a);
	assert_int_equal(c.asked - c.answered, silent);
	assert_true(silent * EVERY_US < SECOND_US / 2); /* of its own new beginning */
	assert_well_managed_by(&p.a);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hand_over_leaves_no_request_unanswered),
		cmocka_unit_test(so_does_a_lower_priority),
		cmocka_unit_test(a_master_that_ends_waits_for_the_last_port),
		cmocka_unit_test(joins_wait_for_the_new_master),
		cmocka_unit_test(nobody_is_answered_longer_than_eight_seconds),
		cmocka_unit_test(a_new_master_that_dies_at_once_is_succeeded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
