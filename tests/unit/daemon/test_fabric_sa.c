/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SA in the whole daemon, on the fabric double: hosts that ask, subscribe, reboot, and what
 * they notice of a restart of fmd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/fabric_world.h"

#define ANSWERS_MAX 4096

/* A host that talks to the SA. It acknowledges reports. */
struct client {
	struct world *w;
	guid_t node;
	uint16_t lid, sm_lid;
	unsigned answers, ok;
	uint64_t last_at, slowest;
	uint64_t asked_at[ANSWERS_MAX];
	uint8_t *mad;
	size_t len;
	unsigned reports;
	uint16_t traps[64];
	guid_t about[64];
};

static guid_t host_guid(const struct world *w, uint32_t host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

static void client_hears(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len);

static void client_send(struct client *c, const uint8_t *mad)
{
	const struct io_addr to = { .lid = c->sm_lid, .qp = 1 };

	double_inject(c->w->hw, c->node, 1, &to, mad, WIRE_MAD_SIZE, client_hears, c);
}

static void report_heard(struct client *c, const uint8_t *mad)
{
	struct wire_notice notice;
	uint8_t ack[WIRE_MAD_SIZE];

	memcpy(ack, mad, sizeof(ack));
	wire_notice_decode(ack + WIRE_SA_HEADER, &notice);
	assert_in_range(c->reports, 0, 63);
	c->traps[c->reports] = notice.trap;
	c->about[c->reports++] = notice.guid;
	ack[3] = WIRE_REPORT_RESP;
	client_send(c, ack);
}

static void client_hears(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct client *c = arg;
	uint64_t took;

	if (mad[3] == WIRE_REPORT) {
		report_heard(c, mad);
		return;
	}
	c->mad = mem_resize(c->mad, len, 1);
	memcpy(c->mad, mad, len);
	c->len = len;
	c->ok += !mad[4] && !mad[5];
	c->answers++;
	took = loop_now_us(c->w->loop) - c->asked_at[(mad[14] << 8 | mad[15]) % ANSWERS_MAX];
	c->slowest = took > c->slowest ? took : c->slowest;
}

static struct client client_at(struct world *w, uint32_t host)
{
	return (struct client){
		.w = w, .node = host_guid(w, host), .lid = lid_of(w, host), .sm_lid = lid_of(w, 0)
	};
}

static void ask(struct client *c, uint8_t method, uint16_t attr, uint64_t mask, const void *data,
		size_t len, uint16_t tid)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = method,
					 .tid = tid,
					 .attr_id = attr };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)(mask >> (56 - 8 * i));
	if (len)
		memcpy(mad + WIRE_SA_HEADER, data, len);
	c->asked_at[tid % ANSWERS_MAX] = loop_now_us(c->w->loop);
	client_send(c, mad);
}

static void subscribe(struct client *c, uint16_t trap)
{
	const struct wire_inform_info info = { .lid_begin = 0xffff,
					       .generic = true,
					       .subscribe = 1,
					       .type = 0xffff,
					       .trap = trap,
					       .producer = 0xffffff };
	unsigned ok = c->ok;
	uint8_t data[36];

	wire_inform_info_encode(&info, data);
	ask(c, WIRE_SET, WIRE_SA_INFORM_INFO, 0, data, sizeof(data), 1);
	run_for(c->w, SECOND_US / 100);
	assert_int_equal(c->ok, ok + 1);
}

/*
 * ---- Notices ----------------------------------------------------------------------------------
 */

static void hosts_that_go_and_come_are_reported(void **state)
{
	struct client c;
	struct world w;

	world_init(&w, small_tree());
	c = client_at(&w, 1);
	subscribe(&c, 64);
	subscribe(&c, 65);
	double_cut(w.hw, host_guid(&w, 7), 1);
	run_for(&w, SECOND_US / 2);
	assert_int_equal(c.reports, 1);
	assert_int_equal(c.traps[0], 65);
	assert_int_equal(c.about[0], host_guid(&w, 7) + 1);
	double_join(w.hw, host_guid(&w, 7), 1);
	run_for(&w, SECOND_US / 2);
	assert_int_equal(c.reports, 2);
	assert_int_equal(c.traps[1], 64);
	double_reboot(w.hw, host_guid(&w, 5));
	run_for(&w, SECOND_US / 2);
	assert_int_equal(c.reports, 4);
	assert_int_equal(c.traps[2], 65);
	assert_int_equal(c.traps[3], 64);
	assert_int_equal(c.about[3], host_guid(&w, 5) + 1);
	free(c.mad);
	world_fini(&w);
}

static void traps_of_switches_are_handed_on(void **state)
{
	struct client c;
	struct world w;
	uint32_t leaf;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	c = client_at(&w, 1);
	subscribe(&c, 128);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, SECOND_US / 2);
	assert_in_range(c.reports, 1, 2); /* the switches at both its ends */
	assert_int_equal(c.traps[0], 128);
	free(c.mad);
	world_fini(&w);
}

/*
 * ---- Restarts and registration ------------------------------------------------------------------
 */

static unsigned registrations(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t host = 0; host < w->design->ncas; host++)
		count += double_reregistered(w->hw, host_guid(w, host), 1);
	return count;
}

static void restart(struct world *w)
{
	stop_fabric(w);
	start_fabric(w);
	run_for(w, 3 * SECOND_US);
	assert_true(is_up(w));
}

static void hosts_register_once_when_the_fabric_comes_up(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	for (uint32_t host = 0; host < w.design->ncas; host++)
		assert_int_equal(double_reregistered(w.hw, host_guid(&w, host), 1), 1);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(registrations(&w), w.design->ncas);
	world_fini(&w);
}

static void a_restart_is_nothing_that_hosts_notice(void **state)
{
	struct client c;
	struct world w;

	world_init(&w, small_tree());
	c = client_at(&w, 1);
	subscribe(&c, 65);
	run_for(&w, 3 * SECOND_US);
	double_sent_reset(w.hw);
	restart(&w);
	assert_int_equal(registrations(&w), w.design->ncas);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), 0);
	assert_int_equal(c.reports, 0);
	double_cut(w.hw, host_guid(&w, 7), 1); /* still subscribed */
	run_for(&w, SECOND_US / 2);
	assert_int_equal(c.reports, 1);
	free(c.mad);
	world_fini(&w);
}

static void a_restart_without_state_asks_all_hosts_to_register_once(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 3 * SECOND_US);
	stop_fabric(&w);
	remove_state(&w, "subscriptions");
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(registrations(&w), 2 * w.design->ncas);
	restart(&w);
	assert_int_equal(registrations(&w), 2 * w.design->ncas);
	world_fini(&w);
}

static void who_comes_back_is_asked_to_register_and_nobody_else(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_cut(w.hw, host_guid(&w, 7), 1);
	run_for(&w, SECOND_US / 2);
	double_join(w.hw, host_guid(&w, 7), 1);
	run_for(&w, SECOND_US / 2);
	assert_int_equal(double_reregistered(w.hw, host_guid(&w, 7), 1), 2);
	assert_int_equal(registrations(&w), w.design->ncas + 1);
	world_fini(&w);
}

/*
 * ---- Answers ----------------------------------------------------------------------------------
 */

static void long_tables_arrive_whole(void **state)
{
	struct client c;
	struct world w;
	uint32_t rows;

	world_init(&w, pod(1));
	c = client_at(&w, 200);
	ask(&c, WIRE_GET_TABLE, WIRE_SA_NODE, 0, NULL, 0, 1);
	run_for(&w, SECOND_US / 10);
	assert_int_equal(c.len, WIRE_SA_HEADER + (256 + 12 + 12) * 112);
	for (uint32_t row = 0; row < 256 + 12 + 12; row++) {
		const uint8_t *at = c.mad + WIRE_SA_HEADER + row * 112;
		uint32_t lid = (uint32_t)(at[0] << 8 | at[1]);

		assert_in_range(lid, 1, fabric_lids(w.fabric)->top);
	}
	ask(&c, WIRE_GET_TABLE, WIRE_SA_PATH, 0, NULL, 0, 2); /* all pairs */
	run_for(&w, SECOND_US);
	rows = (uint32_t)((c.len - WIRE_SA_HEADER) / 64);
	assert_int_equal(rows, 280 * 280); /* spines reach each other by a leaf */
	free(c.mad);
	world_fini(&w);
}

static void answers_come_from_the_published_view_while_it_changes(void **state)
{
	struct client c;
	struct world w;
	uint32_t leaf;

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	c = client_at(&w, 1);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	for (uint16_t tid = 1; tid <= 200; tid++) {
		ask(&c, WIRE_GET, WIRE_SA_CLASS_PORT_INFO, 0, NULL, 0, tid);
		run_for(&w, 100);
	}
	run_for(&w, SECOND_US / 10);
	assert_int_equal(c.answers, 200);
	assert_int_equal(c.ok, 200);
	free(c.mad);
	world_fini(&w);
}

static void one_flooder_does_not_hold_up_another(void **state)
{
	struct client flooder, other;
	struct world w;
	uint64_t alone;

	world_init(&w, small_tree());
	w.conf.sa.rate_limit = 2000;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, SECOND_US);
	flooder = client_at(&w, 1);
	other = client_at(&w, 9);
	ask(&other, WIRE_GET, WIRE_SA_CLASS_PORT_INFO, 0, NULL, 0, 1);
	run_for(&w, SECOND_US / 100);
	alone = other.slowest;
	for (uint16_t tick = 1; tick <= 500; tick++) {
		for (unsigned i = 0; i < 20; i++)
			ask(&flooder, WIRE_GET, WIRE_SA_CLASS_PORT_INFO, 0, NULL, 0,
			    (uint16_t)(tick * 20 + i));
		ask(&other, WIRE_GET, WIRE_SA_CLASS_PORT_INFO, 0, NULL, 0, tick);
		run_for(&w, 1000);
	}
	assert_int_equal(other.ok, 501);
	assert_int_equal(other.slowest, alone);
	assert_int_equal(flooder.ok, 500 * 20); /* there is time for all of it */
	assert_int_equal(flooder.answers, flooder.ok);
	free(flooder.mad);
	free(other.mad);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_that_go_and_come_are_reported),
		cmocka_unit_test(traps_of_switches_are_handed_on),
		cmocka_unit_test(hosts_register_once_when_the_fabric_comes_up),
		cmocka_unit_test(a_restart_is_nothing_that_hosts_notice),
		cmocka_unit_test(a_restart_without_state_asks_all_hosts_to_register_once),
		cmocka_unit_test(who_comes_back_is_asked_to_register_and_nobody_else),
		cmocka_unit_test(long_tables_arrive_whole),
		cmocka_unit_test(answers_come_from_the_published_view_while_it_changes),
		cmocka_unit_test(one_flooder_does_not_hold_up_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
