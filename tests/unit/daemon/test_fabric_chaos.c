/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tier: long. Random faults and repairs by the thousand. */
/* Build: plain and sanitized. The heap is judged, which a sanitizer has of its own. */
/*
 * A thousand random faults and repairs, one after the other, on the fabric double. After each: the
 * tables are proven, they reach what a fresh computation reaches, the switches hold them, and no
 * memory is lost, as a sanitizer counts it: malloc's own figures have what it keeps for later in
 * them, which differs with its version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/audit/module.h"
#include "routing/proof/check.h"
#include "routing/path.h"
#include "routing/ftree/route.h"
#include "tests/lib/fabric_world.h"

#ifdef __SANITIZE_ADDRESS__
#define STEPS 150 /* ten times slower, and sees what it sees sooner */
size_t __sanitizer_get_current_allocated_bytes(void);
#else
#define STEPS 1000
#endif
#define MOST_DEAD 20  /* cables */
#define TRACED	  24  /* pairs a step */
#define GROWTH_KB 192 /* buffers come to the size of the worst step by then */

struct chaos {
	struct world w;
	uint64_t seed;
	uint32_t *cables; /* switches' ports with a cable, lower end each */
	uint32_t ncables, ndead;
	bool *dead; /* by cable */
	unsigned faults, repairs;
};

static uint32_t any(struct chaos *c, uint32_t below)
{
	return (uint32_t)(damage_random(&c->seed) % below);
}

static const struct topo_port *end_of(const struct chaos *c, uint32_t cable)
{
	return &c->w.design->ports[c->cables[cable]];
}

static bool is_at(const struct chaos *c, uint32_t cable, uint32_t node)
{
	const struct topo_port *end = end_of(c, cable);

	return end->node == node || topo_peer(c->w.design, end)->node == node;
}

static void set_dead(struct chaos *c, uint32_t cable, bool dead)
{
	const struct topo_port *end = end_of(c, cable);
	guid_t guid = c->w.design->nodes[end->node].guid;

	if (c->dead[cable] == dead)
		return;
	c->dead[cable] = dead;
	c->ndead += dead ? 1 : -1;
	*(dead ? &c->faults : &c->repairs) += 1;
	(dead ? double_cut : double_join)(c->w.hw, guid, end->num);
}

/* The SM's own host stays. */
static void chaos_init(struct chaos *c, uint64_t seed)
{
	const struct topo *t;

	*c = (struct chaos){ .seed = seed };
	world_init(&c->w, small_tree());
	c->w.conf.sweep.interval_ms = 1000;
	c->w.conf.quarantine.flap_count = 0;
	fabric_configure(c->w.fabric, &c->w.conf);
	t = c->w.design;
	c->cables = mem_alloc(t->nports, sizeof(*c->cables));
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p &&
		    topo_peer(t, &t->ports[p])->node != t->nswitches)
			c->cables[c->ncables++] = p;
	c->dead = mem_alloc(c->ncables, sizeof(*c->dead));
}

static void chaos_fini(struct chaos *c)
{
	free(c->cables);
	free(c->dead);
	world_fini(&c->w);
}

/*
 * ---- Moves -------------------------------------------------------------------------------------
 */

static void all_of_a_switch(struct chaos *c, bool dead)
{
	uint32_t sw = any(c, c->w.design->nswitches);

	for (uint32_t i = 0; i < c->ncables; i++)
		if (is_at(c, i, sw))
			set_dead(c, i, dead);
}

static void mend_all(struct chaos *c)
{
	for (uint32_t i = 0; i < c->ncables; i++)
		set_dead(c, i, false);
}

static void mend_one(struct chaos *c)
{
	uint32_t i = any(c, c->ncables);

	for (uint32_t n = 0; n < c->ncables && !c->dead[i]; n++)
		i = (i + 1) % c->ncables;
	set_dead(c, i, false);
}

/* It forgets what it was told. */
static void reboot(struct chaos *c)
{
	uint32_t node = 1 + any(c, c->w.design->nnodes - 1);

	if (node != c->w.design->nswitches)
		double_reboot(c->w.hw, c->w.design->nodes[node].guid);
}

static void move(struct chaos *c)
{
	unsigned kind = any(c, 16);

	if (c->ndead >= MOST_DEAD && kind < 8)
		kind = 8 + kind / 2;
	if (kind < 5)
		set_dead(c, any(c, c->ncables), true);
	else if (kind == 5)
		for (unsigned i = 0; i < 4; i++)
			set_dead(c, any(c, c->ncables), true);
	else if (kind == 6)
		all_of_a_switch(c, true);
	else if (kind == 7)
		reboot(c);
	else if (kind < 12)
		mend_one(c);
	else if (kind < 15)
		all_of_a_switch(c, false);
	else
		mend_all(c);
}

/*
 * ---- What has to hold --------------------------------------------------------------------------
 */

/* The same fabric routed by one who knows nothing of the past. */
static void assert_reach_is_that_of_a_fresh_computation(const struct world *w)
{
	const struct route_params params = { .engine = route_engine_name(w->conf.routing.engine) };
	struct check_report fresh, present;
	struct tables tables = { 0 };
	struct route *route = route_new();

	assert_int_equal(route_compute(route, fabric_topo(w->fabric), fabric_lids(w->fabric),
				       &params, &tables),
			 0);
	assert_true(check_tables(fabric_topo(w->fabric), fabric_lids(w->fabric), &tables, &fresh));
	assert_true(fabric_check(w->fabric, &present));
	assert_int_equal(present.reachable, fresh.reachable);
	assert_int_equal(present.unreachable, 0);
	tables_fini(&tables);
	route_free(route);
}

/*
 * What the published tables lead to arrives by what the switches hold. An island that was cut off
 * may still do so by itself.
 */
static void assert_packets_arrive(struct chaos *c)
{
	const struct world *w = &c->w;
	const struct topo *t = fabric_topo(w->fabric);
	const struct lid_map *lids = fabric_lids(w->fabric);

	for (unsigned i = 0; i < TRACED; i++) {
		uint32_t from = any(c, w->design->ncas), to = any(c, w->design->ncas);
		guid_t guid = w->design->nodes[w->design->nswitches + from].guid;
		uint32_t source = topo_port_of(t, guid, 1);
		struct path path;
		bool arrives =
			t->ports[source].link_up && !path_trace(t, lids, fabric_tables(w->fabric),
								source, lid_of(w, to), &path);

		assert_true(!arrives || double_trace(w->hw, guid, 1, lid_of(w, to)) >= 0);
	}
}

static void readback_cb(void *arg, json_t *result, const char *error)
{
	assert_null(error);
	*(json_int_t *)arg = json_integer_value(json_object_get(result, "differ")) +
			     json_integer_value(json_object_get(result, "failed"));
}

/* A switch that no way leads to keeps what it has, and is not asked. */
static void assert_readback_is_equal(struct world *w)
{
	json_int_t wrong = -1;

	audit_readback(w->fabric, readback_cb, &wrong);
	run_for(w, SECOND_US);
	assert_int_equal(wrong, 0);
}

static void holds(struct chaos *c)
{
	run_for(&c->w, 3 * SECOND_US);
	assert_true(is_up(&c->w));
	assert_reach_is_that_of_a_fresh_computation(&c->w);
	assert_packets_arrive(c);
	assert_readback_is_equal(&c->w);
}

static size_t used(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return 0;
#endif
}

/* Without the events, whose ring fills: a copy of them shows what they take. */
static size_t used_kb(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 10000);
	size_t all = used();
	json_t *copy = json_deep_copy(events);
	size_t of_events = used() - all;

	json_decref(copy);
	json_decref(events);
	return (all - of_events) / 1024;
}

static void a_thousand_faults_and_repairs_leave_it_proven_and_programmed(void **state)
{
	struct tables intact = { 0 };
	struct chaos c;
	size_t early = 0;

	chaos_init(&c, 4711);
	tables_copy(&intact, fabric_tables(c.w.fabric));
	for (unsigned step = 0; step < STEPS; step++) {
		move(&c);
		holds(&c);
		if (step == STEPS / 2)
			early = used_kb(&c.w);
	}
	mend_all(&c);
	holds(&c);
	run_for(&c.w, 10 * SECOND_US);
	assert_memory_equal(intact.lft, fabric_tables(c.w.fabric)->lft,
			    (size_t)intact.nswitches * intact.stride);
	assert_hardware_holds_the_tables(&c.w);
	assert_in_range(used_kb(&c.w), 0, early + GROWTH_KB);
	assert_true(c.faults > STEPS / 4 && c.repairs > STEPS / 4);
	tables_fini(&intact);
	chaos_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_faults_and_repairs_leave_it_proven_and_programmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
