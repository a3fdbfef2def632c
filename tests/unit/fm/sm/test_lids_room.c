/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * LIDs that another manager left are read twice before the first update: this room alone, with a
 * pipe that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/module.h"
#include "fm/sweep/sweep.h"
#include "tests/fabric/double.h"
#include "tests/lib/fake_pipe.h"
#include "topology/generate/generate.h"

struct room {
	struct fabric f;
	struct topo *design;
	struct double_fabric *hw;
	struct lid_entry entries[32]; /* services.lids */
};

static struct inv_node *host(const struct room *r, unsigned number)
{
	return inventory_find(r->f.services.inventory,
			      r->design->nodes[r->design->nswitches + number].guid);
}

static void swept(void *arg, const struct sweep_result *result)
{
	assert_int_equal(result->error, 0);
}

/* All ports hold a LID, and are remembered with it. */
static void remember_all(struct room *r)
{
	struct inventory *inv = r->f.services.inventory;
	struct lid_memory memory = { 0 };

	for (struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n)) {
		unsigned num = inv_is_switch(n) ? 0 : 1;
		guid_t guid = num ? n->port_guids[1] : n->guid;
		unsigned at = memory.count++;

		assert_true(memory.count <= 32 && n->ports[num].lid);
		for (; at > 0 && r->entries[at - 1].port_guid > guid; at--)
			r->entries[at] = r->entries[at - 1];
		r->entries[at] = (struct lid_entry){ .port_guid = guid, .lid = n->ports[num].lid };
	}
	memory.entries = r->entries;
	r->f.lids = memory;
}

static void begin(struct room *r)
{
	static const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};
	static const unsigned m[] = { 4, 2 }, w[] = { 1, 2 }, p[] = { 1, 1 };
	static const struct double_conf conf = { .keep_lids = true };
	struct fabric_services *s = &r->f.services;
	char err[256];

	*r = (struct room){ .design = generate_pgft(2, m, w, p, err, sizeof(err)) };
	assert_non_null(r->design);
	fake_pipe_prepare(&r->f, &lids_module, NULL, NULL, NULL);
	r->hw = double_new(s->loop, r->design, r->design->nodes[r->design->nswitches].guid, 1,
			   &conf);
	for (uint32_t n = 0; n < r->design->nnodes; n++)
		double_set_lid(r->hw, r->design->nodes[n].guid, n < r->design->nswitches ? 0 : 1,
			       (uint16_t)(n + 1));
	s->mad = mad_new(s->loop, double_io(r->hw), &mad);
	s->sweep = sweep_new(s->loop, s->mad);
	s->inventory = sweep_inventory(s->sweep);
	sweep_discover(s->sweep, swept, r);
	fake_run_for(&r->f, 500000);
	remember_all(r);
	r->f.role.took_over = true;
	r->f.room = r->f.module->init(&r->f);
}

static void end(struct room *r)
{
	struct fabric_services *s = &r->f.services;

	r->f.module->fini(r->f.room);
	r->f.room = NULL;
	r->f.lids = (struct lid_memory){ 0 };
	sweep_free(s->sweep);
	mad_free(s->mad);
	double_free(r->hw);
	topo_unref(r->design);
	fake_pipe_fini(&r->f);
}

static uint64_t sent(const struct room *r)
{
	return mad_stats(r->f.services.mad).sent;
}

static void where_nothing_contradicts_no_packet_is_sent(void **state)
{
	struct room r;
	uint64_t before;

	begin(&r);
	before = sent(&r);
	r.f.module->admit(r.f.room, NULL);
	fake_run_for(&r.f, 100000);
	assert_null(r.f.module->admit(r.f.room, NULL));
	assert_int_equal(sent(&r), before);
	end(&r);
}

static void a_lid_that_is_not_read_twice_yields_to_the_remembered_one(void **state)
{
	struct room r;
	uint64_t before;

	begin(&r);
	before = sent(&r);
	host(&r, 3)->ports[1].lid = 200; /* as one wrong answer had it */
	assert_non_null(r.f.module->admit(r.f.room, NULL));
	assert_non_null(r.f.module->admit(r.f.room, NULL));
	assert_int_equal(r.f.asked.reroutes, 0);
	fake_run_for(&r.f, 100000);
	assert_int_equal(r.f.asked.reroutes, 1);
	assert_null(r.f.module->admit(r.f.room, NULL));
	assert_int_equal(host(&r, 3)->ports[1].lid, 0);
	assert_int_equal(sent(&r), before + 1);
	end(&r);
}

static void a_lid_that_is_read_twice_is_the_ports(void **state)
{
	struct room r;
	uint16_t lid;

	begin(&r);
	lid = host(&r, 3)->ports[1].lid;
	for (uint32_t i = 0; i < r.f.lids.count; i++)
		if (r.entries[i].lid == lid)
			r.entries[i].lid = 300;
	assert_non_null(r.f.module->admit(r.f.room, NULL));
	fake_run_for(&r.f, 100000);
	assert_null(r.f.module->admit(r.f.room, NULL));
	assert_int_equal(host(&r, 3)->ports[1].lid, lid);
	end(&r);
}

static void a_port_that_nobody_remembers_is_asked_for_its_guid_as_well(void **state)
{
	struct room r;
	guid_t guid;

	begin(&r);
	guid = host(&r, 3)->port_guids[1];
	inventory_set_port_guid(r.f.services.inventory, host(&r, 3), 1, guid ^ 0x10000);
	assert_non_null(r.f.module->admit(r.f.room, NULL));
	fake_run_for(&r.f, 100000);
	assert_null(r.f.module->admit(r.f.room, NULL));
	assert_true(host(&r, 3)->port_guids[1] == guid);
	end(&r);
}

static void nothing_is_asked_where_no_other_was_master_or_something_is_published(void **state)
{
	struct room r;

	begin(&r);
	host(&r, 3)->ports[1].lid = 200;
	r.f.role.took_over = false;
	assert_null(r.f.module->admit(r.f.room, NULL));
	r.f.role.took_over = true;
	r.f.view.topo = r.design;
	assert_null(r.f.module->admit(r.f.room, NULL));
	r.f.view.topo = NULL;
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_nothing_contradicts_no_packet_is_sent),
		cmocka_unit_test(a_lid_that_is_not_read_twice_yields_to_the_remembered_one),
		cmocka_unit_test(a_lid_that_is_read_twice_is_the_ports),
		cmocka_unit_test(a_port_that_nobody_remembers_is_asked_for_its_guid_as_well),
		cmocka_unit_test(
			nothing_is_asked_where_no_other_was_master_or_something_is_published),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
