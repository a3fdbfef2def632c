/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Subnet managers that allowed_sm_guids does not name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include "fm/sm/election.h"
#include "tests/fabric/double_agents.h"
#include "tests/lib/sm_pair.h"

#define OTHER 5 /* the host with another manager */

static const struct wire_sm_info standby = { .sm_key = 1, .priority = 0, .state = SM_STANDBY };

static guid_t port_of(const struct world *w, uint32_t host)
{
	return w->design->ports[w->design->nodes[w->design->nswitches + host].port0 + 1].guid;
}

static const struct wire_port_info *info_of(const struct world *w, uint32_t host)
{
	return double_port_info(w->hw, sm_host(w, host), 1);
}

static void allow(struct world *w, uint64_t guid)
{
	snprintf(w->conf.sm.allowed, sizeof(w->conf.sm.allowed), "0x%016" PRIx64, guid);
}

static void begin(struct world *w, int action)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	allow(w, port_of(w, 0));
	w->conf.sm.foreign_action = action;
	start_fabric(w);
	run_for(w, 10 * SECOND_US);
	assert_true(is_up(w));
	assert_int_equal(count_alerts(w, "", ""), 0);
	other_sm_at(w, OTHER, standby);
	run_for(w, 60 * SECOND_US);
}

static void it_is_told_and_its_link_stays_as_it_is(void **state)
{
	struct world w;

	begin(&w, CONF_SM_ALERT);
	assert_int_equal(count_alerts(&w, "sm-not-allowed", "HCA"), 1);
	assert_int_equal(count_logged(&w, "sm-not-allowed", "HCA"), 1);
	assert_int_equal(info_of(&w, OTHER)->state, TOPO_ACTIVE);
	assert_true(is_up(&w));
	allow(&w, port_of(&w, OTHER));
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(count_alerts(&w, "sm-not-allowed", ""), 0);
	assert_int_equal(count_logged(&w, "sm-not-allowed-over", "is allowed"), 1);
	world_fini(&w);
}

static void without_a_list_all_are_allowed(void **state)
{
	struct world w;

	begin(&w, CONF_SM_ISOLATE);
	w.conf.sm.allowed[0] = '\0';
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", ""), 0);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

/* With the public SM_Key anybody can say that he stands by, or is master, with priority 15. */
static void it_is_not_handed_the_fabric_whatever_its_rank(void **state)
{
	static const enum sm_state states[] = { SM_STANDBY, SM_MASTER, SM_DISCOVERING };

	for (unsigned i = 0; i < sizeof(states) / sizeof(*states); i++) {
		const struct wire_sm_info best = { .sm_key = 1,
						   .priority = 15,
						   .state = states[i] };
		struct world w;

		begin(&w, CONF_SM_ALERT);
		other_sm_at(&w, OTHER, best);
		double_sent_reset(w.hw);
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_SM_INFO), 0);
		assert_true(is_master_and_up(&w));
		assert_int_equal(count_alerts(&w, "sm-not-allowed", "HCA"), 1);
		world_fini(&w);
	}
}

/* Once, and all others go on: it does not come up, nor go down, again and again. */
static void its_link_is_taken_out_of_service_and_nobody_else_s(void **state)
{
	uint64_t sets;
	struct world w;

	begin(&w, CONF_SM_ISOLATE);
	assert_int_equal(count_alerts(&w, "sm-not-allowed", "out of service"), 1);
	assert_int_equal(info_of(&w, OTHER)->state, TOPO_INIT);
	assert_int_equal(double_ports_not_active(w.hw), 2);
	sets = double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO);
	run_for(&w, 600 * SECOND_US);
	assert_int_equal(info_of(&w, OTHER)->state, TOPO_INIT);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), sets);
	assert_int_equal(count_logged(&w, "sm-not-allowed", "HCA"), 1);
	assert_int_equal(count_logged(&w, "sm-not-allowed-over", ""), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void its_link_comes_up_again_when_it_is_gone_or_allowed(void **state)
{
	for (unsigned allowed = 0; allowed < 2; allowed++) {
		struct world w;

		begin(&w, CONF_SM_ISOLATE);
		assert_int_equal(info_of(&w, OTHER)->state, TOPO_INIT);
		if (allowed) {
			allow(&w, port_of(&w, OTHER));
			fabric_configure(w.fabric, &w.conf);
		} else {
			double_set_sm(w.hw, sm_host(&w, OTHER), 1, NULL);
		}
		run_for(&w, 60 * SECOND_US);
		assert_int_equal(double_ports_not_active(w.hw), 0);
		assert_int_equal(count_alerts(&w, "", ""), 0);
		assert_true(is_up(&w));
		assert_hardware_delivers(&w, 1);
		world_fini(&w);
	}
}

/* What carries others' traffic, and what this manager is on, is left alone. */
static void a_switch_and_the_own_adapter_are_told_alone(void **state)
{
	struct wire_sm_info info = standby;
	struct world w;
	guid_t leaf;

	world_init_stopped(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	allow(&w, 0x1); /* not the own port: it needs no leave */
	w.conf.sm.foreign_action = CONF_SM_ISOLATE;
	leaf = w.design->nodes[far_leaf(&w)].guid;
	info.guid = leaf;
	double_set_sm(w.hw, leaf, 0, &info);
	start_fabric(&w);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(count_alerts(&w, "sm-not-allowed", ""), 1);
	assert_int_equal(count_alerts(&w, "sm-not-allowed", "out of service"), 0);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

/* Three hosts with two ports each, at one switch. */
static struct topo *adapters_with_two_ports(void)
{
	struct topo_builder *b = topo_builder_new();
	struct topo_node sw = { .guid = 0x100,
				.desc = "sw1",
				.type = TOPO_SWITCH,
				.nports = 8,
				.lft_cap = 49151,
				.mft_cap = 1024 };
	int s = topo_builder_node(b, &sw);

	for (unsigned i = 0; i < 3; i++) {
		struct topo_node ca = {
			.guid = 0x1000 + 0x10 * i, .desc = "HCA", .type = TOPO_CA, .nports = 2
		};
		int h = topo_builder_node(b, &ca);

		for (unsigned p = 1; p <= 2; p++) {
			topo_builder_port(b, h, p,
					  &(struct topo_port){ .guid = ca.guid + p,
							       .state = TOPO_ACTIVE,
							       .speed = TOPO_HDR,
							       .width = 4 });
			topo_builder_link(b, s, 2 * i + p, h, p, true);
		}
	}
	return topo_freeze(b);
}

/* Another manager at the second port of an adapter: its link is shut, but not at the own one. */
static void the_other_port_of_the_own_adapter_is_left_alone(void **state)
{
	for (unsigned own = 0; own < 2; own++) {
		guid_t node = own ? 0x1000 : 0x1010;
		struct wire_sm_info info = standby;
		struct world w;

		world_init_stopped(&w, adapters_with_two_ports());
		log_set_level(-1, LOG_ERR - 1);
		allow(&w, 0x1001);
		w.conf.sm.foreign_action = CONF_SM_ISOLATE;
		start_fabric(&w);
		run_for(&w, 10 * SECOND_US);
		info.guid = node + 2;
		double_set_sm(w.hw, node, 2, &info);
		run_for(&w, 60 * SECOND_US);
		assert_int_equal(count_alerts(&w, "sm-not-allowed", ""), 1);
		assert_int_equal(count_alerts(&w, "sm-not-allowed", "out of service"), !own);
		assert_int_equal(double_ports_not_active(w.hw), own ? 0 : 2);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_told_and_its_link_stays_as_it_is),
		cmocka_unit_test(it_is_not_handed_the_fabric_whatever_its_rank),
		cmocka_unit_test(without_a_list_all_are_allowed),
		cmocka_unit_test(its_link_is_taken_out_of_service_and_nobody_else_s),
		cmocka_unit_test(its_link_comes_up_again_when_it_is_gone_or_allowed),
		cmocka_unit_test(a_switch_and_the_own_adapter_are_told_alone),
		cmocka_unit_test(the_other_port_of_the_own_adapter_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
