/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SM's visible part: IsSM, SMInfo on both SMI classes, control packets, traps and their
 * repeats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/keys/lookup.h"
#include "fm/sm/sm.h"
#include "topology/base/mem.h"

#define SM_KEY 0xabcull
#define MKEY   0x77ull

struct desk {
	struct io io; /* first */
	struct loop *loop;
	struct mad *mad;
	struct sm *sm;
	struct m_keys *keys;
	struct inventory inv; /* empty */
	bool is_sm;
	unsigned nsent;
	uint8_t sent[WIRE_MAD_SIZE];
	struct io_addr sent_to;
	unsigned ntraps, times;
	struct wire_notice trap; /* the last handed on */
	uint16_t trap_lid;
	uint64_t trap_at;
};

static int desk_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		     unsigned timeout_ms)
{
	struct desk *d = (struct desk *)io;

	assert_int_equal(len, WIRE_MAD_SIZE);
	memcpy(d->sent, mad, len);
	d->sent_to = *to;
	d->nsent++;
	return 0;
}

static int desk_set_is_sm(struct io *io, bool on)
{
	((struct desk *)io)->is_sm = on;
	return 0;
}

static void desk_io_free(struct io *io)
{
}

static const struct io_ops desk_ops = {
	.send = desk_send,
	.set_is_sm = desk_set_is_sm,
	.free = desk_io_free,
};

static void trap_cb(void *arg, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		    uint64_t came_us)
{
	struct desk *d = arg;

	d->ntraps++;
	d->times += times;
	d->trap = *notice;
	d->trap_lid = from_lid;
	d->trap_at = loop_now_us(d->loop);
}

static int setup(void **state)
{
	struct desk *d = mem_alloc(1, sizeof(*d));
	struct sm_conf conf = { .sm_key = SM_KEY, .priority = 9 };

	conf.inventory = &d->inv;
	d->keys = m_keys_new();
	m_keys_configure(d->keys, &(struct m_key_conf){ .key = MKEY });
	d->io.ops = &desk_ops;
	d->io.info.port_guid = 0x1234;
	d->loop = loop_new_simulated();
	d->mad = mad_new(d->loop, &d->io, &(struct mad_conf){ 0 });
	key_lookup_begin(&d->inv, d->mad, d->keys);
	d->sm = sm_new(d->loop, d->mad, &conf, trap_cb, d);
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct desk *d = *state;

	sm_free(d->sm);
	assert_false(d->is_sm);
	key_lookup_end(&d->inv);
	mad_free(d->mad);
	loop_free(d->loop);
	m_keys_free(d->keys);
	free(d);
	return 0;
}

static void arrive(struct desk *d, const struct wire_mad *header, const uint8_t *data, uint16_t lid)
{
	struct io_addr from = { .lid = lid };
	uint8_t mad[WIRE_MAD_SIZE];

	memset(mad, 0x5a, sizeof(mad)); /* the return path too */
	wire_mad_encode(header, mad);
	memset(wire_smp_data(mad), 0, WIRE_SMP_DATA);
	if (data)
		memcpy(wire_smp_data(mad), data, WIRE_SMP_DATA);
	d->io.recv(d->io.arg, &from, mad, sizeof(mad));
}

static struct wire_mad request(uint8_t mgmt_class, uint8_t method, uint32_t mod)
{
	return (struct wire_mad){
		.mgmt_class = mgmt_class,
		.class_version = 1,
		.method = method,
		.tid = 0x5555,
		.attr_id = WIRE_SM_INFO,
		.attr_mod = mod,
		.key = MKEY,
	};
}

static struct wire_sm_info answered(const struct desk *d)
{
	struct wire_sm_info info;

	wire_sm_info_decode(wire_smp_data((uint8_t *)d->sent), &info);
	return info;
}

static struct wire_mad answer_header(const struct desk *d)
{
	struct wire_mad header;

	assert_int_equal(wire_mad_decode(d->sent, sizeof(d->sent), &header), 0);
	return header;
}

static void the_port_is_marked_as_an_sm_while_there_is_one(void **state)
{
	struct desk *d = *state;

	assert_false(d->is_sm); /* before its port is known to be there */
	assert_int_equal(mad_set_is_sm(d->mad, true), 0);
	assert_true(d->is_sm); /* and taken back in teardown */
}

static void sm_info_is_answered_by_lid(void **state)
{
	struct desk *d = *state;
	struct wire_mad get = request(WIRE_SMI_LID, WIRE_GET, 0), header;
	struct wire_sm_info info;

	sm_set_state(d->sm, SM_MASTER);
	arrive(d, &get, NULL, 42);
	assert_int_equal(d->nsent, 1);
	assert_int_equal(d->sent_to.lid, 42);
	header = answer_header(d);
	assert_int_equal(header.method, WIRE_GET_RESP);
	assert_int_equal(header.status, 0);
	assert_int_equal(header.tid, 0x5555);
	info = answered(d);
	assert_int_equal(info.guid, 0x1234);
	assert_int_equal(info.priority, 9);
	assert_int_equal(info.state, SM_MASTER);
	assert_int_equal(info.sm_key, SM_KEY);
	assert_int_equal(sm_stats(d->sm).sm_info_answered, 1);
}

static void a_directed_request_is_answered_back_along_its_path(void **state)
{
	struct desk *d = *state;
	struct wire_mad get = request(WIRE_SMI_DR, WIRE_GET, 0), header;

	get.hop_count = 3;
	get.hop_ptr = 4;
	get.dr_slid = get.dr_dlid = 0xffff;
	get.path[1] = 1;
	get.path[2] = 17;
	get.path[3] = 5;
	arrive(d, &get, NULL, 0xffff);
	assert_int_equal(d->sent_to.lid, 0xffff);
	assert_int_equal(d->sent_to.qp, 0);
	header = answer_header(d);
	assert_true(header.returning);
	assert_int_equal(header.hop_ptr, 4);
	assert_int_equal(header.hop_count, 3);
	assert_int_equal(header.dr_slid, 0xffff);
	assert_memory_equal(header.path, get.path, sizeof(get.path));
	for (unsigned i = 192; i < 256; i++) /* the return path as it came */
		assert_int_equal(d->sent[i], 0x5a);
}

static void the_activity_count_moves(void **state)
{
	struct desk *d = *state;
	struct wire_mad get = request(WIRE_SMI_LID, WIRE_GET, 0);
	uint32_t before;

	arrive(d, &get, NULL, 42);
	before = answered(d).act_count;
	arrive(d, &get, NULL, 42);
	assert_true(answered(d).act_count > before);
}

static void the_sm_key_is_shown_to_who_has_the_mkey(void **state)
{
	struct desk *d = *state;
	struct wire_mad get = request(WIRE_SMI_LID, WIRE_GET, 0);

	get.key = 1;
	arrive(d, &get, NULL, 42);
	assert_int_equal(d->nsent, 1);
	assert_int_equal(answered(d).sm_key, 0);
}

/* Anybody can ask, and what answers is what makes a HANDOVER believed. */
static void without_an_mkey_a_site_s_own_sm_key_is_shown_to_nobody(void **state)
{
	struct desk *d = *state;
	const struct sm_conf open_fabric = { .sm_key = SM_KEY, .priority = 9 };
	struct wire_mad get = request(WIRE_SMI_LID, WIRE_GET, 0);

	sm_configure(d->sm, &open_fabric);
	for (unsigned i = 0; i < 3; i++) {
		get.key = (uint64_t[]){ 0, 1, SM_KEY }[i];
		get.mgmt_class = i ? WIRE_SMI_LID : WIRE_SMI_DR;
		arrive(d, &get, NULL, 42);
		assert_int_equal(answered(d).sm_key, 0);
		assert_int_equal(answered(d).priority, 9);
	}
	assert_int_equal(d->nsent, 3);
}

/* OpenSM heeds nobody who shows another key than its own, 0 included. */
static void the_sm_key_that_everybody_knows_is_shown(void **state)
{
	struct desk *d = *state;
	const struct sm_conf unset = { .sm_key = ELECTION_PUBLIC_KEY };
	struct wire_mad get = request(WIRE_SMI_LID, WIRE_GET, 0);

	sm_configure(d->sm, &unset);
	get.key = 0;
	arrive(d, &get, NULL, 42);
	assert_int_equal(answered(d).sm_key, 1);
}

static void control_packets_are_refused_without_effect(void **state)
{
	struct desk *d = *state;
	struct wire_sm_info sender = { .guid = 7, .sm_key = SM_KEY, .state = SM_MASTER };
	uint8_t data[WIRE_SMP_DATA];

	sm_set_state(d->sm, SM_MASTER);
	wire_sm_info_encode(&sender, data);
	for (uint32_t mod = 0; mod < 8; mod++) {
		struct wire_mad set = request(WIRE_SMI_LID, WIRE_SET, mod);

		arrive(d, &set, data, 42);
		assert_int_equal(d->nsent, mod + 1);
		assert_int_equal(answer_header(d).method, WIRE_GET_RESP);
		assert_int_equal(answer_header(d).status, 0x001c);
		assert_int_equal(answered(d).state, SM_MASTER);
	}
	assert_int_equal(sm_state(d->sm), SM_MASTER);
}

static enum control_verdict odd_controls(void *arg, uint32_t control,
					 const struct wire_sm_info *sender, const char **why)
{
	assert_int_equal(sender->guid, 7);
	*why = "even";
	if (control == 5)
		return CONTROL_DOUBTED;
	return control % 2 ? CONTROL_OBEYED : CONTROL_REFUSED;
}

static void whoever_decides_takes_or_refuses_control_packets(void **state)
{
	struct desk *d = *state;
	struct wire_sm_info sender = { .guid = 7, .sm_key = SM_KEY, .state = SM_MASTER };
	uint8_t data[WIRE_SMP_DATA];

	sm_follow(d->sm, &(struct sm_ops){ .control = odd_controls });
	wire_sm_info_encode(&sender, data);
	for (uint32_t mod = 1; mod <= 4; mod++) {
		struct wire_mad set = request(WIRE_SMI_LID, WIRE_SET, mod);

		arrive(d, &set, data, 42);
		assert_int_equal(answer_header(d).status, mod % 2 ? 0 : 0x001c);
	}
	assert_int_equal(sm_stats(d->sm).controls_refused, 2);
}

/* Its sender repeats it, and by then it is known whether it may be. */
static void a_doubtful_control_packet_is_not_answered(void **state)
{
	struct desk *d = *state;
	const struct wire_sm_info sender = { .guid = 7, .sm_key = SM_KEY, .state = SM_MASTER };
	struct wire_mad set = request(WIRE_SMI_LID, WIRE_SET, 5);
	uint8_t data[WIRE_SMP_DATA];

	sm_follow(d->sm, &(struct sm_ops){ .control = odd_controls });
	wire_sm_info_encode(&sender, data);
	arrive(d, &set, data, 42);
	assert_int_equal(d->nsent, 0);
	assert_int_equal(sm_stats(d->sm).controls_refused, 1);
}

static void it_makes_itself_heard_by_a_trap(void **state)
{
	struct desk *d = *state;
	struct wire_notice notice;

	sm_announce(d->sm, 3, 9, 0x02510868);
	assert_int_equal(d->nsent, 1);
	assert_int_equal(d->sent_to.lid, 3);
	assert_int_equal(answer_header(d).method, WIRE_TRAP);
	wire_notice_decode(wire_smp_data(d->sent), &notice);
	assert_int_equal(notice.trap, 144);
	assert_int_equal(notice.lid, 9);
	assert_int_equal(notice.capmask, 0x02510868);
	assert_true(notice.generic && notice.priority_changed && !notice.desc_changed);
}

static void a_control_packet_with_a_wrong_mkey_is_dropped(void **state)
{
	struct desk *d = *state;
	struct wire_mad set = request(WIRE_SMI_LID, WIRE_SET, 1);

	set.key = 0;
	arrive(d, &set, NULL, 42);
	assert_int_equal(d->nsent, 0);
}

static void other_requests_are_not_ours(void **state)
{
	struct desk *d = *state;
	struct wire_mad get = request(WIRE_SMI_LID, WIRE_GET, 0);

	get.attr_id = WIRE_NODE_INFO;
	arrive(d, &get, NULL, 42);
	get = request(WIRE_SMI_LID, WIRE_GET, 0);
	get.class_version = 2;
	arrive(d, &get, NULL, 42);
	assert_int_equal(d->nsent, 0);
}

/* ---- Traps ----------------------------------------------------------------------------------- */

static void trap_arrives(struct desk *d, uint16_t trap, uint16_t lid, uint64_t tid)
{
	struct wire_notice notice = { .generic = true,
				      .type = 1,
				      .producer = 2,
				      .trap = trap,
				      .issuer_lid = lid,
				      .lid = lid };
	struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
				   .class_version = 1,
				   .method = WIRE_TRAP,
				   .attr_id = WIRE_NOTICE,
				   .tid = tid };
	uint8_t data[WIRE_SMP_DATA];

	wire_notice_encode(&notice, data);
	arrive(d, &header, data, lid);
}

static void later_cb(void *arg)
{
}

/* Lets the clock run so far. */
static void wait_us(struct desk *d, uint64_t us)
{
	struct loop_timer *timer = loop_timer_new(d->loop, later_cb, NULL);

	loop_timer_set(timer, us);
	loop_run(d->loop);
	loop_timer_free(timer);
}

static void a_trap_is_repressed_and_handed_on(void **state)
{
	struct desk *d = *state;

	trap_arrives(d, 128, 5, 99);
	assert_int_equal(d->nsent, 1);
	assert_int_equal(d->sent_to.lid, 5);
	assert_int_equal(answer_header(d).method, WIRE_TRAP_REPRESS);
	assert_int_equal(answer_header(d).attr_id, WIRE_NOTICE);
	assert_int_equal(answer_header(d).tid, 99);
	assert_int_equal(answer_header(d).key, MKEY); /* the trap's own is 0 */
	assert_int_equal(d->ntraps, 1);
	assert_int_equal(d->trap.trap, 128);
	assert_int_equal(d->trap_lid, 5);
	assert_int_equal(sm_stats(d->sm).traps, 1);
}

static void who_is_not_master_leaves_traps_to_the_master(void **state)
{
	struct desk *d = *state;

	sm_set_state(d->sm, SM_STANDBY);
	trap_arrives(d, 128, 5, 99);
	sm_set_state(d->sm, SM_NOT_ACTIVE);
	trap_arrives(d, 128, 5, 99);
	assert_int_equal(d->nsent + d->ntraps, 0);
}

static void the_same_trap_again_is_repressed_and_not_handed_on(void **state)
{
	struct desk *d = *state;

	for (unsigned i = 0; i < 10; i++)
		trap_arrives(d, 128, 5, 99);
	wait_us(d, 1000000);
	assert_int_equal(d->nsent, 10);
	assert_int_equal(d->ntraps, 1);
	assert_int_equal(sm_stats(d->sm).traps_repeated, 9);
}

static void a_like_trap_is_held_back_and_handed_on_once(void **state)
{
	struct desk *d = *state;
	uint64_t first;

	trap_arrives(d, 128, 5, 0);
	first = d->trap_at;
	for (unsigned i = 1; i < 10; i++)
		trap_arrives(d, 128, 5, i);
	assert_int_equal(d->ntraps, 1);
	wait_us(d, 1000000);
	assert_int_equal(d->ntraps, 2);
	assert_int_equal(d->times, 10);
	assert_in_range(d->trap_at - first, 10000, 50000);
	assert_int_equal(d->nsent, 10);
}

/* A switch of 64 ports whose links all fell and came back means each of its traps. */
static void the_traps_of_all_ports_of_a_switch_are_repressed(void **state)
{
	struct desk *d = *state;

	for (unsigned i = 1; i <= 128; i++)
		trap_arrives(d, 128, 5, i);
	assert_int_equal(d->nsent, 128);
	assert_int_equal(sm_stats(d->sm).traps_not_repressed, 0);
}

static void traps_that_differ_are_all_handed_on_at_once(void **state)
{
	struct desk *d = *state;

	trap_arrives(d, 128, 5, 1);
	trap_arrives(d, 128, 6, 1);
	trap_arrives(d, 144, 5, 1);
	assert_int_equal(d->ntraps, 3);
}

static void a_like_trap_later_is_handed_on(void **state)
{
	struct desk *d = *state;

	trap_arrives(d, 128, 5, 99);
	wait_us(d, 5000000);
	trap_arrives(d, 128, 5, 99);
	assert_int_equal(d->ntraps, 2);
}

static void no_trap_is_lost_when_many_switches_send_twice(void **state)
{
	struct desk *d = *state;

	for (unsigned round = 0; round < 2; round++)
		for (uint16_t lid = 1; lid <= 100; lid++)
			trap_arrives(d, 128, lid, 0);
	wait_us(d, 1000000);
	assert_int_equal(d->nsent, 200);
	assert_int_equal(d->ntraps, 200);
}

static void a_trap_held_back_is_handed_on_when_another_needs_its_place(void **state)
{
	struct desk *d = *state;

	for (uint16_t lid = 1; lid <= 20; lid++) {
		trap_arrives(d, 128, lid, 0);
		trap_arrives(d, 128, lid, 0);
	}
	for (uint16_t lid = 21; lid <= 100; lid++)
		trap_arrives(d, 128, lid, 0);
	wait_us(d, 1000000);
	assert_int_equal(d->ntraps, 20 * 2 + 80);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_port_is_marked_as_an_sm_while_there_is_one),
		TEST(sm_info_is_answered_by_lid),
		TEST(a_directed_request_is_answered_back_along_its_path),
		TEST(the_activity_count_moves),
		TEST(the_sm_key_is_shown_to_who_has_the_mkey),
		TEST(without_an_mkey_a_site_s_own_sm_key_is_shown_to_nobody),
		TEST(the_sm_key_that_everybody_knows_is_shown),
		TEST(control_packets_are_refused_without_effect),
		TEST(whoever_decides_takes_or_refuses_control_packets),
		TEST(a_doubtful_control_packet_is_not_answered),
		TEST(who_is_not_master_leaves_traps_to_the_master),
		TEST(it_makes_itself_heard_by_a_trap),
		TEST(a_control_packet_with_a_wrong_mkey_is_dropped),
		TEST(other_requests_are_not_ours),
		TEST(a_trap_is_repressed_and_handed_on),
		TEST(the_same_trap_again_is_repressed_and_not_handed_on),
		TEST(the_traps_of_all_ports_of_a_switch_are_repressed),
		TEST(a_like_trap_is_held_back_and_handed_on_once),
		TEST(traps_that_differ_are_all_handed_on_at_once),
		TEST(a_like_trap_later_is_handed_on),
		TEST(no_trap_is_lost_when_many_switches_send_twice),
		TEST(a_trap_held_back_is_handed_on_when_another_needs_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
