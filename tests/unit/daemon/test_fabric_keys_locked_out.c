/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Locked out by another manager's M_Keys: commands are answered, and M_Key 0 is distinguished from
 * a hidden one where it can be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/module.h"
#include "tests/lib/fabric_world.h"

static void hold(struct world *w, uint64_t mkey, uint8_t protect)
{
	const struct topo *t = w->design;

	for (uint32_t n = 0; n < t->nnodes; n++)
		double_hold_mkey(w->hw, t->nodes[n].guid, n < t->nswitches ? 0 : 1, mkey, protect,
				 0);
}

static void begin(struct world *w, uint64_t mkey, uint8_t protect)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	w->conf.sm.mkey = 0x1234;
	hold(w, mkey, protect);
	start_fabric(w);
	run_for(w, 30 * SECOND_US);
}

static void a_command_is_refused_with_the_reason_and_taken_afterwards(void **state)
{
	struct world w;

	begin(&w, 0x9999, 1);
	assert_int_equal(count_alerts(&w, "foreign-m-key", ""), 1);
	assert_non_null(sm_refuses(w.fabric));
	assert_non_null(strstr(sm_refuses(w.fabric), "M_Key"));
	hold(&w, 0, 0);
	run_for(&w, 30 * SECOND_US);
	assert_true(is_up(&w));
	assert_null(sm_refuses(w.fabric));
	world_fini(&w);
}

static void full_protection_without_an_m_key_stops_nothing(void **state)
{
	for (uint8_t protect = 2; protect <= 3; protect++) {
		struct world w;

		begin(&w, 0, protect);
		assert_true(is_up(&w));
		assert_int_equal(count_alerts(&w, "", ""), 0);
		assert_int_equal(double_ports_not_active(w.hw), 0);
		world_fini(&w);
	}
}

static void no_key_that_could_be_a_hidden_one_is_taken_for_it(void **state)
{
	struct world w;

	begin(&w, 0, 1);
	assert_int_equal(count_alerts(&w, "foreign-m-key", ""), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_refused_with_the_reason_and_taken_afterwards),
		cmocka_unit_test(full_protection_without_an_m_key_stops_nothing),
		cmocka_unit_test(no_key_that_could_be_a_hidden_one_is_taken_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
