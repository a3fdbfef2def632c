/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A standby that is configured with another subnet prefix than the fabric has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/module.h"
#include "fm/sm/election.h"
#include "tests/fabric/double_agents.h"
#include "tests/lib/sm_pair.h"

#define OTHER	5 /* the host with another manager */
#define DEFAULT 0xfe80000000000000ull
#define SITE	0xfec0000000000000ull

static const struct wire_sm_info master = { .sm_key = 1, .priority = 9, .state = SM_MASTER };

static bool is(const struct world *w, const char *state)
{
	json_t *status = fabric_status(w->fabric);
	bool same = !strcmp(json_string_value(json_object_get(status, "state")), state);

	json_decref(status);
	return same;
}

/* Of a fabric that had another master, and has none any more. Returns what was set until then. */
static uint64_t begin(struct world *w, uint64_t prefix, bool stands_by)
{
	uint64_t sets;

	world_init(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	run_for(w, 5 * SECOND_US);
	stop_fabric(w);
	sets = double_sent(w->hw, WIRE_SET, 0);
	if (stands_by)
		other_sm_at(w, OTHER, master);
	w->conf.sm.subnet_prefix = prefix;
	start_fabric(w);
	run_for(w, 5 * SECOND_US);
	assert_true(is(w, "standby") == stands_by);
	double_set_sm(w->hw, sm_host(w, OTHER), 1, NULL);
	run_for(w, 20 * SECOND_US);
	return sets;
}

static void a_standby_with_another_prefix_takes_nothing_over(void **state)
{
	struct world w;
	uint64_t sets = begin(&w, SITE, true);

	assert_true(is(&w, "foreign-prefix"));
	assert_true(count_alerts(&w, "foreign-prefix", ""));
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), sets);
	assert_non_null(sm_refuses(w.fabric));
	w.conf.sm.subnet_prefix = DEFAULT; /* corrected */
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_up(&w));
	assert_false(count_alerts(&w, "foreign-prefix", ""));
	world_fini(&w);
}

static void a_standby_with_the_fabrics_prefix_takes_over(void **state)
{
	struct world w;

	begin(&w, DEFAULT, true);
	assert_true(is_up(&w));
	world_fini(&w);
}

/* That is how a prefix is changed. */
static void a_start_without_another_master_sets_its_own_prefix(void **state)
{
	struct world w;

	begin(&w, SITE, false);
	assert_true(is_up(&w));
	assert_true(double_port_info(w.hw, sm_host(&w, 3), 1)->gid_prefix == SITE);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_standby_with_another_prefix_takes_nothing_over),
		cmocka_unit_test(a_standby_with_the_fabrics_prefix_takes_over),
		cmocka_unit_test(a_start_without_another_master_sets_its_own_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
