/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a host gets of the fabric when its NVLinks do not relay, and that other tables for it gain
 * nothing: the reason why no state of NVLinks moves an entry. Prints the table of both.
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
#include "topology/snapshot/topo_builder.h"

/*
 * How the LIDs of a host are routed upwards: the engine's choice; each by the port that is as many
 * places on as its rail is, so that eight HCAs have eight spines; by their number among the ill
 * alone, from the first port on.
 */
enum treatment { AS_IT_IS, CROSSRAIL, IDLE, TREATMENTS };

/* The up ports of a switch that lead to the same level; returns how many. */
static unsigned up_ports(const struct topo *t, uint32_t sw, uint8_t *ports)
{
	unsigned count = 0;

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

		if (peer && peer->node < t->nswitches &&
		    t->nodes[peer->node].level > t->nodes[sw].level)
			ports[count++] = (uint8_t)num;
	}
	return count;
}

static uint32_t treat(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		      uint32_t host, enum treatment how, struct route_override *out)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < t->hosts[host].ncas; i++) {
		uint32_t port = t->nodes[t->host_cas[t->hosts[host].first + i]].port0 + 1;
		uint16_t lid = lids->lid_of_port[port];

		for (uint32_t sw = 0; sw < t->nswitches; sw++) {
			uint8_t ports[256], now = tables_row(tables, sw)[lid];
			unsigned n = up_ports(t, sw, ports), at = 0;

			while (at < n && ports[at] != now)
				at++;
			if (at < n)
				out[count++] = (struct route_override){
					sw, lid, ports[(how == CROSSRAIL ? at + i : i) % n]
				};
		}
	}
	return count;
}

static void measure(const struct topo *t, uint32_t host, enum treatment how, bool shift,
		    struct rates *out)
{
	struct route_override *overrides = mem_alloc(t->nswitches * 8, sizeof(*overrides));
	struct route_params params = { .overrides = overrides };
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	if (how != AS_IT_IS) {
		params.noverrides = treat(t, lids, &tables, host, how, overrides);
		assert_int_equal(route_compute(route, t, lids, &params, &tables), 0);
	}
	rates_measure(t, lids, &tables, NULL, host, shift, out);
	route_free(route);
	tables_fini(&tables);
	lid_map_free(lids);
	free(overrides);
}

/* The pod with every second uplink of its leaves left out. */
static struct topo *tapered(unsigned units)
{
	char err[256];
	struct topo *whole = generate_superpod(GENERATE_H100, units, false, err, sizeof(err)), *t;
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < whole->nnodes; n++) {
		const struct topo_node *node = &whole->nodes[n];
		const struct topo_node attr = { .guid = node->guid,
						.desc = node->desc,
						.type = node->type,
						.nports = node->nports };

		assert_int_equal(topo_builder_node(b, &attr), n);
	}
	for (uint32_t p = 0; p < whole->nports; p++) {
		const struct topo_port *a = &whole->ports[p], *z = topo_peer(whole, a);
		bool uplink =
			z && a->node < whole->nswitches && z->node < whole->nswitches &&
			(whole->nodes[a->node].level == 0 || whole->nodes[z->node].level == 0);
		const struct topo_port *leaf = uplink && whole->nodes[a->node].level == 0 ? a : z;

		if (z && a->peer > p && !(uplink && leaf->num % 2))
			assert_int_equal(topo_builder_link(b, (int)a->node, a->num, (int)z->node,
							   z->num, true),
					 0);
	}
	t = topo_freeze(b);
	topo_unref(whole);
	return t;
}

/* Seven flows leave and reach each HCA: its own link is what bounds them, not an uplink. */
static void an_intact_unit_gives_a_host_all_its_links_and_costs_no_rail_anything(void **state)
{
	struct topo *t = pod(1);
	struct rates r;

	measure(t, 4, AS_IT_IS, true, &r);
	assert_int_equal(r.adapters, 8);
	assert_int_equal(r.flows, 248); /* shifts never end where they begin */
	assert_int_equal(r.own_flows, 56);
	assert_int_equal(r.worst_uplink, 7);
	assert_int_equal(r.uplinks, 8);
	assert_int_equal(r.unreachable, 0);
	assert_true(r.own > 7.999 && r.own < 8.001);
	assert_true(r.others > 247.99 && r.least > 0.999);
	assert_true(r.others_alone > 247.99 && r.others_alone < 248.01);
	topo_unref(t);
}

static void no_other_tables_gain_a_host_5_percent_on_1_2_and_4_units_full_and_tapered(void **state)
{
	static const char *const names[] = { "as it is", "crossrail", "idle" };

	for (unsigned i = 0; i < 6; i++) {
		unsigned units = 1u << i / 2;
		struct topo *t = i % 2 ? tapered(units) : pod(units);

		for (unsigned shift = 0; shift < 2; shift++)
			for (int how = 0; how < TREATMENTS; how++) {
				static struct rates untouched;
				struct rates r;

				measure(t, 4, (enum treatment)how, shift, &r);
				if (how == AS_IT_IS)
					untouched = r;
				print_message("%u units, %s, others %s: %-9s own %.2f of 8, others "
					      "%7.1f of %u, least %.3f\n",
					      units, i % 2 ? "2:1 " : "full",
					      shift ? "shift " : "random", names[how], r.own,
					      r.others, r.flows, r.least);
				assert_true(r.own < 1.05 * untouched.own);
			}
		topo_unref(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_intact_unit_gives_a_host_all_its_links_and_costs_no_rail_anything),
		cmocka_unit_test(
			no_other_tables_gain_a_host_5_percent_on_1_2_and_4_units_full_and_tapered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
