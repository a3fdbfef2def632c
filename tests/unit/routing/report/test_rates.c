/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a host gets of the fabric when its NVLinks do not relay, and that routing it in another way
 * gains nothing: the reason why no state of NVLinks moves an entry by default.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/ftree/route.h"
#include "routing/report/rates.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"

static void measure(const struct topo *t, uint32_t host, uint8_t class, bool shift,
		    struct rates *out)
{
	uint8_t *classes = mem_alloc(t->nports, 1);
	struct route_params params = { .classes = classes };
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };

	for (uint32_t i = 0; i < t->hosts[host].ncas; i++)
		classes[t->nodes[t->host_cas[t->hosts[host].first + i]].port0 + 1] = class;
	assert_int_equal(route_compute(route, t, lids, &params, &tables), 0);
	rates_measure(t, lids, &tables, NULL, host, shift, out);
	route_free(route);
	tables_fini(&tables);
	lid_map_free(lids);
	free(classes);
}

/* Seven flows leave and reach each HCA: its own link is what bounds them, not an uplink. */
static void an_intact_unit_gives_a_host_all_its_links_and_costs_no_rail_anything(void **state)
{
	struct topo *t = pod(1);
	struct rates r;

	measure(t, 4, ROUTE_COMPUTE, true, &r);
	assert_int_equal(r.adapters, 8);
	assert_int_equal(r.flows, 248); /* shifts never end where they begin */
	assert_true(r.own > 7.999 && r.own < 8.001);
	assert_true(r.others > 247.99 && r.least > 0.999);
	topo_unref(t);
}

static void no_class_gains_a_host_5_percent_on_1_2_and_4_units(void **state)
{
	static const unsigned units[] = { 1, 2, 4 };

	for (unsigned i = 0; i < 3; i++) {
		struct topo *t = pod(units[i]);

		for (unsigned shift = 0; shift < 2; shift++) {
			struct rates as_it_is, crossrail, idle;

			measure(t, 4, ROUTE_COMPUTE, shift, &as_it_is);
			measure(t, 4, ROUTE_CROSSRAIL, shift, &crossrail);
			measure(t, 4, ROUTE_IDLE, shift, &idle);
			print_message("%u units, %s: %.2f of 8 as it is, %.2f crossrail, %.2f idle;"
				      " others %.1f, %.1f, %.1f\n",
				      units[i], shift ? "shifts" : "random", as_it_is.own,
				      crossrail.own, idle.own, as_it_is.others, crossrail.others,
				      idle.others);
			assert_true(crossrail.own < 1.05 * as_it_is.own);
			assert_true(idle.own < 1.05 * as_it_is.own);
		}
		topo_unref(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_intact_unit_gives_a_host_all_its_links_and_costs_no_rail_anything),
		cmocka_unit_test(no_class_gains_a_host_5_percent_on_1_2_and_4_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
