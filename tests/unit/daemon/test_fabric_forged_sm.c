/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Control packets of subnet managers (Set(SMInfo), IBA 14.4.1) that no manager sent: whoever is
 * root on a host can send them, by the SM_Key that everybody knows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "tests/fabric/double_agents.h"
#include "tests/fabric/double_watch.h"
#include "tests/lib/sm_pair.h"

#define OTHER	  5  /* the host with another manager */
#define LIAR	  30 /* a host */
#define STRANGER  0xdeadull
#define FORGED_US 20000 /* between two: 50 a second */

enum { HANDOVER = 1, DISABLE = 3, DISCOVER = 5 };

static const struct topo_node *host_node(const struct world *w, uint32_t number)
{
	return &w->design->nodes[w->design->nswitches + number];
}

static guid_t port_guid(const struct world *w, uint32_t number)
{
	return w->design->ports[host_node(w, number)->port0 + 1].guid;
}

static void set_other(struct world *w, uint8_t priority, enum sm_state state)
{
	other_sm_at(w, OTHER,
		    (struct wire_sm_info){
			    .sm_key = 1, .priority = priority, .state = (uint8_t)state });
}

static void other_is_gone(struct world *w)
{
	double_set_sm(w->hw, sm_host(w, OTHER), 1, NULL);
}

static void send_control(struct world *w, uint32_t from, guid_t as, uint32_t number)
{
	const struct io_addr to = { .lid = double_port_info(w->hw, host_node(w, 0)->guid, 1)->lid };
	const struct wire_sm_info info = { .guid = as, .sm_key = 1, .state = SM_MASTER };
	static uint64_t tid = 1;
	const struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
					 .class_version = 1,
					 .method = WIRE_SET,
					 .attr_id = WIRE_SM_INFO,
					 .attr_mod = number,
					 .tid = ++tid };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	wire_sm_info_encode(&info, wire_smp_data(mad));
	double_inject(w->hw, host_node(w, from)->guid, 1, &to, mad, sizeof(mad), NULL, NULL);
}

/* ---- To a master ----------------------------------------------------------------------------- */

/* For half a minute; how many of its moments the master was not up in. */
static unsigned moments_down(struct world *w, guid_t as)
{
	static const uint32_t numbers[] = { HANDOVER, DISABLE, DISCOVER };
	unsigned down = 0;

	for (unsigned i = 0; i < 1500; i++) {
		send_control(w, LIAR, as, numbers[i % 3]);
		run_for(w, FORGED_US);
		down += !is_master_and_up(w);
	}
	return down;
}

static void a_master_takes_no_fabric_of_who_is_no_manager(void **state)
{
	struct world w;
	uint64_t written;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 5 * SECOND_US);
	written = double_sent(w.hw, WIRE_SET, WIRE_LFT);
	assert_int_equal(moments_down(&w, STRANGER), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_LFT), written);
	assert_true(status_number(&w, "election", "controls_refused") >= 1500);
	assert_int_equal(status_number(&w, NULL, "role_changes"), 0);
	world_fini(&w);
}

static void a_standby_s_name_makes_it_no_better(void **state)
{
	struct world w;
	uint64_t asked;

	world_init_stopped(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	set_other(&w, 0, SM_STANDBY);
	w.conf.sm.priority = 3;
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	asked = double_sent(w.hw, WIRE_GET, WIRE_SM_INFO);
	assert_int_equal(moments_down(&w, port_guid(&w, OTHER)), 0);
	/* Each second ten times at most, and by the way of a poll. */
	assert_in_range(double_sent(w.hw, WIRE_GET, WIRE_SM_INFO) - asked, 30, 330);
	world_fini(&w);
}

/* Two fabrics were joined, or a master woke up again: its HANDOVER may come before it was asked. */
static void a_true_master_s_handover_is_taken_at_once(void **state)
{
	struct world w;

	world_init_stopped(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	set_other(&w, 0, SM_STANDBY);
	w.conf.sm.priority = 3;
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	set_other(&w, 0, SM_MASTER);
	send_control(&w, OTHER, port_guid(&w, OTHER), HANDOVER);
	run_for(&w, 100000);
	assert_int_equal(count_logged(&w, "handover", "handed over to this manager"), 1);
	set_other(&w, 0, SM_STANDBY);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_master_and_up(&w));
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

/* ---- To a standby ---------------------------------------------------------------------------- */

/* Ports have LIDs, of a life before. Returns what was set until it stands by. */
static uint64_t stand_by(struct world *w, uint8_t priority)
{
	uint64_t sets;

	world_init(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(w, 5 * SECOND_US);
	stop_fabric(w);
	sets = double_sent(w->hw, WIRE_SET, 0);
	set_other(w, priority, SM_MASTER);
	w->conf.sm.priority = 3;
	start_fabric(w);
	run_for(w, 20 * SECOND_US);
	assert_true(has_role(w, "standby"));
	return sets;
}

static void a_standby_follows_its_master_alone(void **state)
{
	struct world w;
	uint64_t sets = stand_by(&w, 14);

	for (unsigned i = 0; i < 600; i++) {
		send_control(&w, LIAR, STRANGER,
			     (uint32_t[]){ HANDOVER, DISABLE, DISCOVER }[i % 3]);
		send_control(&w, LIAR, port_guid(&w, OTHER), HANDOVER); /* that outranks us */
		run_for(&w, FORGED_US);
		assert_true(has_role(&w, "standby"));
	}
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), sets);
	assert_true(status_number(&w, "election", "controls_refused") >= 1100);
	world_fini(&w);
}

static void a_master_that_yields_is_succeeded(void **state)
{
	struct world w;

	stand_by(&w, 14);
	set_other(&w, 0, SM_MASTER); /* since the latest poll */
	send_control(&w, OTHER, port_guid(&w, OTHER), HANDOVER);
	run_for(&w, 100000);
	set_other(&w, 0, SM_STANDBY);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_master_and_up(&w));
	world_fini(&w);
}

static void a_disabled_standby_is_back_when_its_master_is_gone(void **state)
{
	struct world w;
	uint64_t sets = stand_by(&w, 14);

	send_control(&w, OTHER, port_guid(&w, OTHER), DISABLE);
	run_for(&w, 30 * SECOND_US);
	assert_true(has_role(&w, "not active"));
	assert_true(count_alerts(&w, "disabled", ""));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), sets);
	other_is_gone(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_master_and_up(&w));
	assert_false(count_alerts(&w, "disabled", ""));
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_master_takes_no_fabric_of_who_is_no_manager),
		cmocka_unit_test(a_standby_s_name_makes_it_no_better),
		cmocka_unit_test(a_true_master_s_handover_is_taken_at_once),
		cmocka_unit_test(a_standby_follows_its_master_alone),
		cmocka_unit_test(a_master_that_yields_is_succeeded),
		cmocka_unit_test(a_disabled_standby_is_back_when_its_master_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
