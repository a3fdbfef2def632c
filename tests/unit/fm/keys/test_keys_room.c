/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* M_Keys of ports, as a room alone, with a pipe that only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/sweep/sweep.h"
#include "fm/inventory/port_setup.h"
#include "fm/keys/lookup.h"
#include "fm/keys/module.h"
#include "fm/sweep/sweep_priv.h"
#include "tests/fabric/double.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/fake_pipe.h"
#include "tests/lib/sweep_bench.h"

#define SECOND_US 1000000ull
#define LEAF	  0x77ull
#define NAMED	  20 /* alerts of one kind that have a name */
#define MORE	  5
#define KEY	  0x1111222233334444ull

struct room {
	struct fabric f;
	struct double_fabric *hw;
};

static void begin_with(struct room *r, struct topo *t)
{
	struct fabric *f = &r->f;

	fake_pipe_prepare(f, &port_keys_module, t, NULL, NULL);
	r->hw = double_new(f->services.loop, t, t->nodes[t->nswitches].guid, 1, NULL);
	f->services.mad =
		mad_new(f->services.loop, double_io(r->hw), &(struct mad_conf){ .retries = 1 });
	f->room = f->module->init(f);
}

static void begin(struct room *r)
{
	begin_with(r, design_pgft2());
}

static void end(struct room *r)
{
	r->f.module->fini(r->f.room);
	r->f.room = NULL;
	mad_free(r->f.services.mad);
	double_free(r->hw);
	fake_pipe_fini(&r->f);
}

static struct inv_node *add_switch(struct fabric *f, guid_t guid, unsigned nports)
{
	const struct wire_node_info info = {
		.type = TOPO_SWITCH, .nports = (uint8_t)nports, .node_guid = guid, .port_guid = guid
	};

	return inventory_add(&f->inventory, &info);
}

static struct inv_node *add_leaf(struct fabric *f)
{
	return add_switch(f, LEAF, NAMED + MORE);
}

static struct inv_node *add_host(struct fabric *f, guid_t guid)
{
	const struct wire_node_info info = {
		.type = TOPO_CA, .nports = 1, .local_port = 1, .node_guid = guid, .port_guid = guid
	};
	struct inv_node *node = inventory_add(&f->inventory, &info);

	inventory_set_port_guid(&f->inventory, node, 1, guid);
	return node;
}

static size_t alerts_of(const struct fabric *f, const char *kind, const char *text)
{
	json_t *alerts = alerts_json(f->services.alerts), *alert;
	size_t i, count = 0;

	json_array_foreach (alerts, i, alert)
		count += (!*kind ||
			  !strcmp(json_string_value(json_object_get(alert, "what")), kind)) &&
			 strstr(json_string_value(json_object_get(alert, "text")), text);
	json_decref(alerts);
	return count;
}

static void review(struct fabric *f)
{
	f->module->settled(f->room, FABRIC_REVIEWED);
}

/* ---- Ports that hide ------------------------------------------------------------------------- */

/* A host that has fallen silent behind a link that is up. */
static void fall_silent(struct fabric *f, struct inv_node *leaf, unsigned num, guid_t guid)
{
	struct inv_node *host = add_host(f, guid);

	inventory_link(&f->inventory, leaf, (uint8_t)num, host, 1);
	leaf->ports[num].state = TOPO_ACTIVE;
	sweep_port(leaf, num)->probe = PROBE_FAILED;
	host->silent = true;
}

static void who_is_silent_is_named_within_two_seconds(void **state)
{
	const struct topo *t;
	struct room r;

	begin(&r);
	t = r.f.view.topo;
	fall_silent(&r.f, add_leaf(&r.f), 1, t->nodes[t->nswitches + 3].guid);
	review(&r.f);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), 0);
	fake_run_for(&r.f, 2 * SECOND_US);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), 1);
	end(&r);
}

/* Behind a port of a leaf. */
static void assert_unmet(enum sweep_probe probe, bool missed, unsigned alerts)
{
	struct inv_node *leaf;
	struct room r;

	begin(&r);
	leaf = add_leaf(&r.f);
	leaf->ports[1].state = TOPO_ACTIVE;
	sweep_port(leaf, 1)->probe = probe;
	sweep_port(leaf, 1)->missed = missed;
	review(&r.f);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), alerts);
	fake_run_for(&r.f, 4 * SECOND_US);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), alerts);
	sweep_port(leaf, 1)->probe = PROBE_FAILED;
	review(&r.f);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), 1);
	end(&r);
}

static void who_is_not_met_is_named_when_its_probe_is_over_and_not_before(void **state)
{
	assert_unmet(PROBE_OUT, false, 0);
	assert_unmet(PROBE_OUT, true, 1);
	assert_unmet(PROBE_FAILED, true, 1);
}

static void send_bad_m_key(struct fabric *f, uint16_t lid, bool forged)
{
	const struct wire_notice notice = { .generic = true, .trap = 256 };

	f->module->trap(f->room, &notice, lid, 1, forged);
	review(f);
}

static void a_forged_trap_256_is_no_sign_of_a_key(void **state)
{
	const struct topo *t;
	uint32_t host;
	struct room r;

	begin(&r);
	t = r.f.view.topo;
	host = t->nswitches + 3;
	fall_silent(&r.f, add_leaf(&r.f), 1, t->nodes[host].guid);
	review(&r.f);
	fake_run_for(&r.f, 4 * SECOND_US);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), 1);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", ""), 0);
	send_bad_m_key(&r.f, r.f.view.lids->lid_of_port[topo_port_of(t, t->nodes[host].guid, 1)],
		       true);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", ""), 0);
	send_bad_m_key(&r.f, r.f.view.lids->lid_of_port[topo_port_of(t, t->nodes[host].guid, 1)],
		       false);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", "trap 256"), 1);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", ""), 0);
	end(&r);
}

static void twenty_ports_that_hide_are_named_and_the_others_counted(void **state)
{
	const struct topo *t;
	struct inv_node *leaf;
	struct room r;

	begin_with(&r, pod(1));
	t = r.f.view.topo;
	leaf = add_leaf(&r.f);
	for (unsigned num = 1; num <= NAMED + MORE; num++)
		fall_silent(&r.f, leaf, num, t->nodes[t->nswitches + num].guid);
	review(&r.f);
	for (unsigned num = 1; num <= NAMED + MORE; num++)
		send_bad_m_key(&r.f,
			       r.f.view.lids->lid_of_port[topo_port_of(
				       t, t->nodes[t->nswitches + num].guid, 1)],
			       false);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", ""), NAMED + 1);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", "5 more devices"), 1);
	for (unsigned num = NAMED + 1; num <= NAMED + MORE; num++) {
		leaf->ports[num].state = TOPO_DOWN;
		leaf->ports[num].peer->silent = false;
	}
	review(&r.f);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", ""), NAMED);
	assert_int_equal(alerts_of(&r.f, "m-key-probable", "more devices"), 0);
	end(&r);
}

/* ---- Who nobody met -------------------------------------------------------------------------- */

/*
 * Switches as their ports in turn: h a host that is known, A to Z a switch that is, ? somebody who
 * does not answer, . nobody.
 */
static void assert_silent(const char *const *nodes, unsigned switches, unsigned others)
{
	struct inv_node *far[26] = { NULL };
	unsigned used[26] = { 0 };
	guid_t host = 0x10000;
	char text[2][32];
	struct room r;

	begin(&r);
	for (unsigned i = 0; nodes[i]; i++) {
		struct inv_node *sw = add_switch(&r.f, LEAF + i, (unsigned)strlen(nodes[i]));

		for (uint8_t num = 1; num <= sw->nports; num++) {
			char who = nodes[i][num - 1];

			if (who == '?') {
				sw->ports[num].state = TOPO_ACTIVE;
				sweep_port(sw, num)->probe = PROBE_FAILED;
			} else if (who == 'h') {
				inventory_link(&r.f.inventory, sw, num, add_host(&r.f, host++), 1);
			} else if (who != '.') {
				if (!far[who - 'A'])
					far[who - 'A'] = add_switch(&r.f, 0x1000u + who, 64);
				inventory_link(&r.f.inventory, sw, num, far[who - 'A'],
					       (uint8_t)++used[who - 'A']);
			}
		}
	}
	review(&r.f);
	snprintf(text[0], sizeof(text[0]), "%u switch", switches);
	snprintf(text[1], sizeof(text[1]), "%u device", others);
	assert_int_equal(alerts_of(&r.f, "", ""), (switches != 0) + (others != 0));
	assert_int_equal(alerts_of(&r.f, "switches-silent", text[0]), switches != 0);
	assert_int_equal(alerts_of(&r.f, "hcas-silent", text[1]), others != 0);
	end(&r);
}

#define ASSERT_SILENT(switches, others, ...)                                                       \
	assert_silent((const char *const[]){ __VA_ARGS__, NULL }, switches, others)

static void silent_ports_in_the_place_of_a_switch_are_one_switch(void **state)
{
	/* A spine, seen by leaves; a leaf, seen by spines; one that both sides see. */
	ASSERT_SILENT(1, 0, "hhhhAA??CC", "hhhhAA??CC", "hhhhAA??CC");
	ASSERT_SILENT(1, 0, "hhhh??BBCC", "hhhh??BBCC", "hhhh??BBCC");
	ASSERT_SILENT(1, 0, "hhhhAABB??", "hhhhAABB??", "hhhhAABB??h");
	ASSERT_SILENT(1, 0, "AABB??DD", "AABB??DD");
	ASSERT_SILENT(1, 0, "hhA?C", "hhA?C", "A?CD", "A?CD");
	/* Cables dealt in turn; at other ports; that lack some. */
	ASSERT_SILENT(1, 0, "hhhA?CDA?CD", "hhhA?CDA?CD");
	ASSERT_SILENT(1, 0, "hhhhAA??CC", "hhAA??CC", "hhh.AA??CC");
	ASSERT_SILENT(1, 0, "hhAAAA????CCCC", "hhAAAA.???CCCC");
	ASSERT_SILENT(1, 0, "hhAAA.????CCCC", "hhAAAA????CCCC", "hhAAAA?.??CCCC");
}

static void several_silent_switches_are_counted(void **state)
{
	ASSERT_SILENT(2, 0, "hhAA????DD", "hhAA????DD");
	ASSERT_SILENT(2, 0, "hhA??DA??D", "hhA??DA??D");
	ASSERT_SILENT(2, 0, "hh????CC", "hh????CC");
	ASSERT_SILENT(2, 0, "hhAA??CC??EE", "hhAA??CC??EE");
}

static void other_silent_ports_are_a_device_each(void **state)
{
	ASSERT_SILENT(0, 3, "hh?hAABB", "hh?hAABB", "?hhhAABB");
	ASSERT_SILENT(0, 1, "hhh?AAAABBBB");
	ASSERT_SILENT(1, 1, "hhh?????BBBB");
	/* A host with a port at each leaf, whose spines have a link to each. */
	ASSERT_SILENT(0, 4, "h?hABCD", "h?hABCD", "h?hABCD", "h?hABCD");
	ASSERT_SILENT(0, 4, "hhhh????");
}

static void twenty_ports_with_foreign_keys_are_named_and_the_others_counted(void **state)
{
	struct inv_node *leaf;
	struct room r;

	begin(&r);
	leaf = add_leaf(&r.f);
	for (unsigned num = 1; num <= NAMED + MORE; num++) {
		struct inv_node *host = add_host(&r.f, 0x1000 + num);

		inventory_link(&r.f.inventory, leaf, (uint8_t)num, host, 1);
		host->ports[1].known = true;
		port_setup(host, 1)->obstacle = INV_OBSTACLE_KEY;
	}
	review(&r.f);
	assert_int_equal(alerts_of(&r.f, "port-m-key", ""), NAMED + 1);
	assert_int_equal(alerts_of(&r.f, "port-m-key", "5 more ports"), 1);
	for (unsigned num = NAMED + 1; num <= NAMED + MORE; num++)
		port_setup(inventory_find(&r.f.inventory, 0x1000 + num), 1)->obstacle =
			INV_OBSTACLE_NONE;
	review(&r.f);
	assert_int_equal(alerts_of(&r.f, "port-m-key", ""), NAMED);
	assert_int_equal(alerts_of(&r.f, "port-m-key", "more ports"), 0);
	end(&r);
}

/* ---- Keys that were seen --------------------------------------------------------------------- */

static void show(struct inv_node *host, uint64_t key, uint8_t protect)
{
	const struct wire_port_info info = { .mkey = key, .mkey_protect = protect };

	wire_port_info_encode(&info, host->ports[1].info);
}

/* With protection 1 a port that hides its key shows 0; with others that 0 is its key. */
static void a_port_that_hides_its_key_is_not_remembered_without(void **state)
{
	struct inv_node *leaf, *host;
	struct m_keys *keys = m_keys_new();
	struct room r;

	begin(&r);
	key_lookup_begin(&r.f.inventory, r.f.services.mad, keys);
	m_keys_configure(keys, &(struct m_key_conf){ .key = KEY });
	leaf = add_leaf(&r.f);
	host = add_host(&r.f, 0x1000);
	inventory_link(&r.f.inventory, leaf, 1, host, 1);
	host->ports[1].known = true;
	show(host, KEY, 1);
	seen_review(&r.f.services);
	assert_int_equal(m_keys_remembered(keys, 0x1000), KEY);
	show(host, 0, 1);
	seen_review(&r.f.services);
	assert_int_equal(m_keys_remembered(keys, 0x1000), KEY);
	show(host, KEY + 1, 0); /* of somebody else */
	seen_review(&r.f.services);
	assert_int_equal(m_keys_remembered(keys, 0x1000), KEY);
	show(host, 0, 0);
	seen_review(&r.f.services);
	assert_int_equal(m_keys_remembered(keys, 0x1000), 0);
	key_lookup_end(&r.f.inventory);
	end(&r);
	m_keys_free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_silent_is_named_within_two_seconds),
		cmocka_unit_test(who_is_not_met_is_named_when_its_probe_is_over_and_not_before),
		cmocka_unit_test(a_forged_trap_256_is_no_sign_of_a_key),
		cmocka_unit_test(twenty_ports_that_hide_are_named_and_the_others_counted),
		cmocka_unit_test(silent_ports_in_the_place_of_a_switch_are_one_switch),
		cmocka_unit_test(several_silent_switches_are_counted),
		cmocka_unit_test(other_silent_ports_are_a_device_each),
		cmocka_unit_test(twenty_ports_with_foreign_keys_are_named_and_the_others_counted),
		cmocka_unit_test(a_port_that_hides_its_key_is_not_remembered_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
