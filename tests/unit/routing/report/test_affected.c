/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whose traffic is worse off when a host is dealt over the spines otherwise, and that by default
 * nobody is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/policy.h"
#include "routing/report/report.h"
#include "routing/ftree/route.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"

struct trial {
	struct topo *t;
	struct lid_map *lids;
	struct tables now, then;
	uint8_t *aside; /* by node */
	json_t *found;
};

static void compute(const struct trial *x, const uint8_t *classes, const uint8_t *weights,
		    struct tables *out)
{
	struct route *route = route_new();
	struct route_params params = { .classes = classes, .weights = weights };

	assert_int_equal(route_compute(route, x->t, x->lids, &params, out), 0);
	route_free(route);
}

/* The pod with its eleventh host in that state, treated as the configuration has it. */
static void try(struct trial *x, const struct conf *conf, enum nvswitch_state state)
{
	const struct nvswitch_policy policy = nvswitch_policy(&conf->nvswitch);
	uint8_t *classes = NULL, *weights = NULL, *states;

	*x = (struct trial){ .t = pod(4) };
	x->lids = lid_plan(x->t, NULL, 0);
	states = mem_alloc(x->t->nhosts, 1);
	states[10] = (uint8_t)state;
	compute(x, NULL, NULL, &x->now);
	nvswitch_policy_apply(&policy, x->t, states, &classes, &weights);
	compute(x, classes, weights, &x->then);
	x->aside = mem_alloc(x->t->nnodes, sizeof(*x->aside));
	for (uint32_t i = 0; i < x->t->hosts[10].ncas; i++)
		x->aside[x->t->host_cas[x->t->hosts[10].first + i]] = CONGESTION_ASIDE;
	x->found = affected_json(&(struct congestion_scene){ x->t, x->lids, &x->now, NULL },
				 &(struct congestion_scene){ x->t, x->lids, &x->then, NULL },
				 x->aside);
	free(classes);
	free(weights);
	free(states);
}

static void trial_fini(struct trial *x)
{
	json_decref(x->found);
	free(x->aside);
	tables_fini(&x->now);
	tables_fini(&x->then);
	lid_map_free(x->lids);
	topo_unref(x->t);
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/*
 * Its adapters on seven of eight leaves move to a slot that another adapter has: in each shift that
 * one's flow, and the flow of who sends from the same leaf as the sender to the moved one, share a
 * channel.
 */
static void who_shares_a_channel_with_a_host_that_moves_pays_and_is_named(void **state)
{
	struct trial x;
	struct conf conf;
	json_t *row;
	size_t i;
	double last = 9, growth;

	conf_default(&conf);
	conf.nvswitch.no_p2p_class = CONF_CLASS_CROSSRAIL;
	try(&x, &conf, NVSWITCH_NO_P2P);
	assert_in_range((int)number(x.found, "hcas"), 7, 14);
	assert_in_range((int)number(x.found, "hosts"), 1, 14);
	growth = (number(x.found, "mean") - number(x.found, "mean_before")) *
		 (x.t->ncas - x.t->hosts[10].ncas);
	assert_in_range((int)(growth * 100), 690, 2100);
	assert_int_equal(json_array_size(json_object_get(x.found, "rows")),
			 number(x.found, "hcas"));
	json_array_foreach (json_object_get(x.found, "rows"), i, row) {
		const char *hca = json_string_value(json_object_get(row, "hca"));

		/* In a shift within the leaf nothing is met. */
		assert_true(number(row, "before") > 0.9 && number(row, "before") <= 1);
		assert_true(number(row, "then") > number(row, "before") * 1.05 &&
			    number(row, "then") <= last);
		last = number(row, "then");
		assert_null(strstr(hca, x.t->hosts[10].name));
		assert_non_null(strstr(json_string_value(json_object_get(row, "leaf")), "leaf-su"));
	}
	assert_true(number(json_array_get(json_object_get(x.found, "rows"), 0), "then") > 1.5);
	trial_fini(&x);
}

static void by_default_nobody_pays_for_a_host_without_p2p(void **state)
{
	struct trial x;
	struct conf conf;

	conf_default(&conf);
	try(&x, &conf, NVSWITCH_NO_P2P);
	assert_int_equal(number(x.found, "hcas"), 0);
	assert_true(number(x.found, "mean") == number(x.found, "mean_before"));
	for (uint32_t sw = 0; sw < x.t->nswitches; sw++)
		assert_memory_equal(tables_row(&x.now, sw), tables_row(&x.then, sw), x.lids->top);
	trial_fini(&x);
}

/* Not by a re-balancing of other damage either: it is treated as those that are well. */
static void by_default_no_state_is_treated_otherwise(void **state)
{
	struct conf conf;
	struct nvswitch_policy policy;
	uint8_t numbers[NVSWITCH_STATES];

	conf_default(&conf);
	policy = nvswitch_policy(&conf.nvswitch);
	nvswitch_policy_number(&policy, numbers);
	assert_int_equal(numbers[NVSWITCH_NO_P2P], numbers[NVSWITCH_HEALTHY]);
	assert_int_equal(numbers[NVSWITCH_DEGRADED_LINK], numbers[NVSWITCH_HEALTHY]);
	assert_int_equal(numbers[NVSWITCH_FATAL], numbers[NVSWITCH_HEALTHY]);
}

/* What it would send and receive is nothing. */
static void a_host_that_is_expected_to_be_silent_is_no_load(void **state)
{
	struct trial x;
	struct conf conf;

	conf_default(&conf);
	conf.nvswitch.fatal_class = CONF_CLASS_IDLE;
	conf.nvswitch.fatal_weight = 0;
	try(&x, &conf, NVSWITCH_FATAL);
	assert_in_range((int)number(x.found, "hcas"), 8, 16);
	json_decref(x.found);
	for (uint32_t n = 0; n < x.t->nnodes; n++)
		x.aside[n] = x.aside[n] ? CONGESTION_SILENT : CONGESTION_COUNTED;
	x.found = affected_json(&(struct congestion_scene){ x.t, x.lids, &x.now, NULL },
				&(struct congestion_scene){ x.t, x.lids, &x.then, NULL }, x.aside);
	assert_int_equal(number(x.found, "hcas"), 0);
	trial_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_shares_a_channel_with_a_host_that_moves_pays_and_is_named),
		cmocka_unit_test(by_default_nobody_pays_for_a_host_without_p2p),
		cmocka_unit_test(by_default_no_state_is_treated_otherwise),
		cmocka_unit_test(a_host_that_is_expected_to_be_silent_is_no_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
