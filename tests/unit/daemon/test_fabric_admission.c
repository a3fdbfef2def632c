/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain, sanitized in check-long. Cables are plugged one by one. */
/*
 * Links that were not known before: wrong cables are held, with nothing moved; repairs,
 * replacements and additions are in use at once. Cables between fabrics: test_fabric_merge.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/pods.h"

static void begin(struct world *w)
{
	world_init(w, pods(1));
	log_set_level(-1, LOG_ERR - 1);
	run_for(w, 5 * SECOND_US);
	assert_true(is_up(w));
}

/* The first port to another switch (up), or of a host. */
static unsigned port_to(const struct world *w, guid_t node, bool sw)
{
	const struct topo *t = w->design;
	uint32_t n = topo_find(t, node);

	for (unsigned p = 1; p <= t->nodes[n].nports; p++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, n, p));

		if (peer && (peer->node < t->nswitches) == sw)
			return p;
	}
	fail();
	return 0;
}

static void a_cable_from_leaf_to_leaf_is_held_and_named_by_both_ends(void **state)
{
	struct world w;
	guid_t a, b;
	unsigned pa, pb;

	begin(&w);
	a = switch_at(&w, w.design, 0, 0), b = switch_at(&w, w.design, 0, 3);
	pa = port_to(&w, a, true), pb = port_to(&w, b, true);
	double_cut(w.hw, a, pa);
	double_cut(w.hw, b, pb);
	run_for(&w, 2 * SECOND_US);
	double written = status_number(&w, NULL, "lft_blocks_written");

	double_plug(w.hw, a, pa, b, pb);
	run_for(&w, SECOND_US);
	assert_int_equal(double_link_state(w.hw, a, pa), TOPO_INIT);
	assert_int_equal(held(&w), 1);
	assert_int_equal(count_alerts(&w, "miswired", w.design->nodes[topo_find(w.design, a)].desc),
			 1);
	assert_int_equal(count_alerts(&w, "miswired", w.design->nodes[topo_find(w.design, b)].desc),
			 1);
	assert_int_equal(count_logged(&w, "link-held", ""), 1);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(double_link_state(w.hw, a, pa), TOPO_INIT);
	assert_true(status_number(&w, NULL, "lft_blocks_written") == written);
	assert_int_equal(status_number(&w, NULL, "links_down"), 2); /* both are missed */
	double_cut(w.hw, a, pa);
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(count_alerts(&w, "miswired", ""), 0);
	world_fini(&w);
}

static guid_t behind(const struct world *w, guid_t node, unsigned num)
{
	const struct topo *t = w->design;

	return t->nodes[topo_peer(t, topo_port(t, topo_find(t, node), num))->node].guid;
}

/* The link between switches that was in that port stays missing, and keeps its share. */
static void an_hca_in_a_port_for_switches_is_held(void **state)
{
	struct world w;
	guid_t leaf, host;
	unsigned up, num;

	begin(&w);
	leaf = switch_at(&w, w.design, 0, 3);
	up = port_to(&w, leaf, true), num = port_to(&w, leaf, false);
	host = behind(&w, leaf, num);
	double_cut(w.hw, leaf, up);
	double_cut(w.hw, leaf, num);
	run_for(&w, 2 * SECOND_US);
	double written = status_number(&w, NULL, "lft_blocks_written");

	double_plug(w.hw, leaf, up, host, 1);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(double_link_state(w.hw, leaf, up), TOPO_INIT);
	assert_int_equal(held(&w), 1);
	assert_int_equal(count_alerts(&w, "miswired", "port for switches"), 0);
	assert_int_equal(count_alerts(&w, "miswired", "one for switches"), 1);
	assert_true(status_number(&w, NULL, "lft_blocks_written") == written);
	assert_int_equal(status_number(&w, NULL, "links_missing"), 2);
	double_cut(w.hw, leaf, up);
	double_plug(w.hw, leaf, num, host, 1);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_link_state(w.hw, leaf, num), TOPO_ACTIVE);
	assert_int_equal(status_number(&w, NULL, "links_missing"), 1);
	world_fini(&w);
}

/* What is asked first changes nothing; what is admitted is in use, also after a restart. */
static void an_admitted_link_is_in_use(void **state)
{
	struct world w;
	guid_t a, b;
	unsigned pa, pb;
	struct reply reply;

	begin(&w);
	a = switch_at(&w, w.design, 0, 0), b = switch_at(&w, w.design, 0, 3);
	pa = port_to(&w, a, true), pb = port_to(&w, b, true);
	double_cut(w.hw, a, pa);
	double_cut(w.hw, b, pb);
	run_for(&w, 2 * SECOND_US);
	double_plug(w.hw, a, pa, b, pb);
	run_for(&w, SECOND_US);
	reply = admit(&w, "all", true);
	assert_int_equal(json_array_size(json_object_get(reply.result, "links")), 1);
	assert_int_equal(json_array_size(json_object_get(reply.result, "lids_to_move")), 0);
	json_decref(reply.result);
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(held(&w), 1);
	reply = admit(&w, w.design->nodes[topo_find(w.design, switch_at(&w, w.design, 1, 0))].desc,
		      false);
	assert_non_null(strstr(reply.error, "no held link"));
	assert_null(reply.result);
	assert_int_equal(held(&w), 1);
	reply = admit(&w, w.design->nodes[topo_find(w.design, b)].desc, false);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(count_alerts(&w, "miswired", "held"), 0);
	assert_int_equal(count_logged(&w, "link-admitted", ""), 1);
	assert_int_equal(double_link_state(w.hw, a, pa), TOPO_ACTIVE);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_link_state(w.hw, a, pa), TOPO_ACTIVE);
	world_fini(&w);
}

/*
 * "strict": a host that moves to another leaf and one with a new HCA wait for their operator; what
 * comes back to its place does not.
 */
static void strict_holds_all_that_is_not_known(void **state)
{
	struct world w;
	struct reply reply;
	guid_t leaf, other, host;
	unsigned num, up, spare;

	world_init_stopped(&w, pods(1));
	w.conf.admission.mode = CONF_ADMIT_STRICT;
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(held(&w), 0);
	leaf = switch_at(&w, w.design, 0, 2), other = switch_at(&w, w.design, 0, 3);
	num = port_to(&w, leaf, false), up = port_to(&w, leaf, true);
	spare = w.design->nodes[topo_find(w.design, other)].nports;
	host = behind(&w, leaf, num);
	double_cut(w.hw, leaf, up);
	double_cut(w.hw, leaf, num);
	run_for(&w, SECOND_US);
	double_join(w.hw, leaf, up);
	double_plug(w.hw, other, spare, host, 1);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(double_link_state(w.hw, leaf, up), TOPO_ACTIVE);
	assert_int_equal(double_link_state(w.hw, other, spare), TOPO_INIT);
	assert_int_equal(held(&w), 1);
	assert_int_equal(status_number(&w, NULL, "links_missing"), 1);
	double_cut(w.hw, other, spare);
	double_plug(w.hw, leaf, num, host, 1);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_link_state(w.hw, leaf, num), TOPO_ACTIVE);
	double_replace(w.hw, host, 0xabc0000000000000ull);
	run_for(&w, 15 * SECOND_US);
	assert_int_equal(held(&w), 1);
	assert_int_equal(double_link_state(w.hw, leaf, num), TOPO_INIT);
	reply = admit(&w, "0xabc0000000000000", false);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_link_state(w.hw, leaf, num), TOPO_ACTIVE);
	world_fini(&w);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static uint64_t tables_sum(const struct world *w)
{
	const struct tables *tables = fabric_tables(w->fabric);
	const struct topo *t = fabric_topo(w->fabric);
	uint64_t sum = 14695981039346656037ull;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (unsigned lid = 0; lid <= tables->top; lid++)
			sum = (sum ^ tables_row(tables, sw)[lid]) * 1099511628211ull;
	return sum;
}

static uint32_t dice(uint64_t *seed, uint32_t sides)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % sides;
}

static guid_t any_switch(const struct world *w, unsigned level, uint64_t *seed)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nswitches; n++)
		count += w->design->nodes[n].level == level;
	return switch_at(w, w->design, level, dice(seed, count));
}

/* Any port to another switch, in the design. */
static unsigned any_uplink(const struct world *w, guid_t node, uint64_t *seed)
{
	const struct topo *t = w->design;
	uint32_t n = topo_find(t, node);

	for (;;) {
		unsigned p = 1 + dice(seed, t->nodes[n].nports);
		const struct topo_port *peer = topo_peer(t, topo_port(t, n, p));

		if (peer && peer->node < t->nswitches)
			return p;
	}
}

/* The cable of the design is in that port again. */
static void mend(struct world *w, guid_t node, unsigned port)
{
	const struct topo *t = w->design;
	const struct topo_port *peer = topo_peer(t, topo_port(t, topo_find(t, node), port));

	double_plug(w->hw, node, port, t->nodes[peer->node].guid, peer->num);
}

/* Two cables are pulled, and two of their ends are plugged into each other. */
static void wrong_cables_of(struct topo *design, unsigned levels, unsigned seeds)
{
	struct world w;

	world_init(&w, design);
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	for (uint64_t s = 1; s <= seeds; s++) {
		uint64_t seed = s, before;
		unsigned level = dice(&seed, levels), pa, pb;
		guid_t a = any_switch(&w, level, &seed), b = a;

		while (b == a)
			b = any_switch(&w, level, &seed);
		pa = any_uplink(&w, a, &seed), pb = any_uplink(&w, b, &seed);
		double_cut(w.hw, a, pa);
		double_cut(w.hw, b, pb);
		run_for(&w, SECOND_US);
		before = tables_sum(&w);
		double_plug(w.hw, a, pa, b, pb);
		run_for(&w, 2 * SECOND_US);
		assert_int_equal(held(&w), 1);
		assert_int_equal(count_alerts(&w, "miswired", ""), 1);
		assert_int_equal(
			count_alerts(&w, "miswired", w.design->nodes[topo_find(w.design, a)].desc),
			1);
		assert_int_equal(
			count_alerts(&w, "miswired", w.design->nodes[topo_find(w.design, b)].desc),
			1);
		assert_true(tables_sum(&w) == before);
		assert_int_equal(double_link_state(w.hw, a, pa), TOPO_INIT);
		double_cut(w.hw, a, pa);
		mend(&w, a, pa);
		mend(&w, b, pb);
		run_for(&w, 2 * SECOND_US);
		assert_int_equal(held(&w), 0);
		assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	}
	assert_true(is_up(&w));
	world_fini(&w);
}

static void two_hundred_wrong_cables_change_no_table(void **state)
{
	char err[256];

	wrong_cables_of(pods(1), 2, 80);
	wrong_cables_of(small_tree(), 3, 60);
	wrong_cables_of(generate_superpod(GENERATE_H100, 1, false, err, sizeof(err)), 2, 40);
	wrong_cables_of(generate_superpod(GENERATE_H100, 4, false, err, sizeof(err)), 2, 20);
}

/*
 * Cables that were pulled come back, lead to a spare port of the same switch, or two of a switch
 * come back in each other's port.
 */
static void repairs_of(struct topo *design, unsigned levels, unsigned seeds, bool spare)
{
	struct world w;

	world_init(&w, design);
	log_set_level(-1, LOG_ERR - 1);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	for (uint64_t s = 1; s <= seeds; s++) {
		uint64_t seed = s;
		guid_t a = any_switch(&w, dice(&seed, levels), &seed), b;
		uint32_t n = topo_find(w.design, a);
		unsigned pa = any_uplink(&w, a, &seed), other = any_uplink(&w, a, &seed);
		const struct topo_port *peer = topo_peer(w.design, topo_port(w.design, n, pa));
		const struct topo_port *far = topo_peer(w.design, topo_port(w.design, n, other));

		b = w.design->nodes[peer->node].guid;
		double_cut(w.hw, a, pa);
		run_for(&w, SECOND_US);
		if (s % 3 == 1 && spare) {
			double_plug(w.hw, a, w.design->nodes[n].nports, b, peer->num);
			run_for(&w, SECOND_US);
			assert_int_equal(double_link_state(w.hw, b, peer->num), TOPO_ACTIVE);
			double_cut(w.hw, b, peer->num);
		} else if (s % 3 == 2 && pa != other) {
			double_cut(w.hw, a, other);
			double_plug(w.hw, a, other, b, peer->num);
			double_plug(w.hw, a, pa, w.design->nodes[far->node].guid, far->num);
			run_for(&w, SECOND_US);
			assert_int_equal(double_link_state(w.hw, a, pa), TOPO_ACTIVE);
			assert_int_equal(double_link_state(w.hw, a, other), TOPO_ACTIVE);
			double_cut(w.hw, a, pa);
			double_cut(w.hw, a, other);
			mend(&w, a, other);
		}
		mend(&w, a, pa);
		run_for(&w, 2 * SECOND_US);
		assert_int_equal(double_link_state(w.hw, a, pa), TOPO_ACTIVE);
		assert_int_equal(held(&w), 0);
		assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	}
	assert_int_equal(count_logged(&w, "link-held", ""), 0);
	world_fini(&w);
}

static void repairs_are_in_use_at_once(void **state)
{
	char err[256];

	repairs_of(pods(1), 2, 200, true);
	repairs_of(small_tree(), 3, 100, false);
	repairs_of(generate_superpod(GENERATE_H100, 1, false, err, sizeof(err)), 2, 100, false);
}

/* Switches and HCAs by others of new GUIDs; a host moves to a spare port of another leaf. */
static void replacements_are_in_use_at_once(void **state)
{
	struct world w;

	begin(&w);
	for (uint64_t s = 1; s <= 40; s++) {
		uint64_t seed = s;
		const struct topo *t = w.design;
		uint32_t n;

		do
			n = dice(&seed, t->nnodes);
		while (t->nodes[n].guid == t->nodes[t->nswitches].guid);
		double_replace(w.hw, t->nodes[n].guid, 0xabc0000000000000ull + (s << 16));
		run_for(&w, 15 * SECOND_US);
		assert_int_equal(held(&w), 0);
		assert_int_equal(double_ports_not_active(w.hw), 0);
	}
	assert_int_equal(count_logged(&w, "link-held", ""), 0);
	world_fini(&w);
}

/* A switch that an operator has forgotten comes back with the LID that it had: it is ours. */
static void a_switch_that_was_forgotten_comes_back(void **state)
{
	struct world w;
	struct reply reply = { 0 };
	guid_t spine;
	uint32_t n;

	begin(&w);
	spine = switch_at(&w, w.design, 1, 2);
	n = topo_find(w.design, spine);
	for (unsigned p = 1; p <= w.design->nodes[n].nports; p++)
		if (w.design->ports[w.design->nodes[n].port0 + p].peer != TOPO_NONE)
			double_cut(w.hw, spine, p);
	run_for(&w, 5 * SECOND_US);
	links_out_forget(w.fabric, NULL, reply_cb, &reply);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(reply.count, 1);
	json_decref(reply.result);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	for (unsigned p = 1; p <= w.design->nodes[n].nports; p++)
		if (w.design->ports[w.design->nodes[n].port0 + p].peer != TOPO_NONE)
			double_join(w.hw, spine, p);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(count_logged(&w, "link-held", ""), 0);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_true(is_up(&w));
	world_fini(&w);
}

/* A leaf and a spine that the fabric never had come cable by cable, in any order. */
static void additions_that_fit_are_in_use_at_once(void **state)
{
	for (uint64_t s = 1; s <= 30; s++) {
		struct world w;
		uint64_t seed = s;
		guid_t sw;
		uint32_t n;
		unsigned ports[64], count = 0;

		world_init_stopped(&w, pods(1));
		log_set_level(-1, LOG_ERR - 1);
		sw = any_switch(&w, (unsigned)s % 2, &seed);
		n = topo_find(w.design, sw);
		for (unsigned p = 1; p <= w.design->nodes[n].nports; p++)
			if (w.design->ports[w.design->nodes[n].port0 + p].peer != TOPO_NONE)
				ports[count++] = p;
		if (port_to(&w, sw, true) != 1 && s % 2 == 0 &&
		    topo_peer(w.design, topo_port(w.design, n, 1))->node == w.design->nswitches) {
			topo_unref(w.design); /* the manager's own leaf */
			w.design = NULL;
		}
		if (!w.design) {
			w.design = pods(1);
			sw = switch_at(&w, w.design, 0, 3);
			n = topo_find(w.design, sw);
			for (unsigned p = count = 0; ++p <= w.design->nodes[n].nports;)
				if (w.design->ports[w.design->nodes[n].port0 + p].peer != TOPO_NONE)
					ports[count++] = p;
		}
		for (unsigned i = 0; i < count; i++)
			double_cut(w.hw, sw, ports[i]);
		start_fabric(&w);
		run_for(&w, 7 * SECOND_US);
		while (count) {
			unsigned i = dice(&seed, count);

			double_join(w.hw, sw, ports[i]);
			run_for(&w, SECOND_US / 2);
			assert_int_equal(held(&w), 0);
			ports[i] = ports[--count];
		}
		run_for(&w, 2 * SECOND_US);
		assert_int_equal(double_ports_not_active(w.hw), 0);
		assert_int_equal(count_logged(&w, "link-held", ""), 0);
		world_fini(&w);
	}
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* Takes the text. */
static struct reply admit_plan(struct world *w, char *text, bool dry)
{
	struct reply r = { 0 };

	admission_plan(links_out_admission(w->fabric), "plan", text, dry, reply_cb, &r);
	free(text);
	run_for(w, SECOND_US / 10);
	assert_int_equal(r.count, 1);
	return r;
}

/* A planned cable. */
static char *cable(const char *before, guid_t a, unsigned pa, guid_t b, unsigned pb)
{
	return mem_printf("%s0x%llx,%u,0x%llx,%u,Any,Active\n", before, (unsigned long long)a, pa,
			  (unsigned long long)b, pb);
}

/*
 * The plan has leaf to leaf: held until it is planned, at once behind that, over a restart too. At
 * a port for which it has another cable a cable that would fit is held. What is refused changes
 * nothing.
 */
static void planned_links_are_in_use_and_what_contradicts_them_is_held(void **state)
{
	struct world w;
	guid_t a, b, c;
	unsigned pa, pb, pc;
	struct reply reply;
	char *first;

	begin(&w);
	a = switch_at(&w, w.design, 0, 0), b = switch_at(&w, w.design, 0, 3);
	c = switch_at(&w, w.design, 1, 0);
	pa = w.design->nodes[topo_find(w.design, a)].nports;
	pb = w.design->nodes[topo_find(w.design, b)].nports;
	pc = w.design->nodes[topo_find(w.design, c)].nports;
	double_plug(w.hw, a, pa, b, pb);
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 1);
	first = cable("", a, pa, b, pb);
	reply = admit_plan(&w, mem_strdup(first), true);
	assert_int_equal(json_array_size(json_object_get(reply.result, "admitted")), 1);
	json_decref(reply.result);
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 1);
	reply = admit_plan(&w, cable(first, a, pa - 1, c, pc), false);
	free(first);
	assert_int_equal(json_integer_value(json_object_get(reply.result, "links")), 2);
	json_decref(reply.result);
	reply = admit_plan(&w, cable("", a, 200, c, pc), false);
	assert_int_equal(strncmp(reply.error, "plan:1: ", 8), 0);
	assert_non_null(strstr(reply.error, "no such port"));
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_link_state(w.hw, a, pa), TOPO_ACTIVE);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_planned"), 2);
	/* A spare port of another spine fits as well: but for the plan. */
	double_plug(w.hw, a, pa - 1, switch_at(&w, w.design, 1, 1), pc);
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 1);
	assert_int_equal(count_alerts(&w, "miswired", "the plan has another cable"), 1);
	assert_int_equal(double_link_state(w.hw, a, pa - 1), TOPO_INIT);
	double_cut(w.hw, a, pa - 1);
	double_plug(w.hw, a, pa - 1, c, pc);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_link_state(w.hw, a, pa - 1), TOPO_ACTIVE);
	world_fini(&w);
}

/* "strict", and a new leaf that the plan has by its name alone: each of its cables is in use. */
static void devices_that_are_planned_by_name_are_in_use_cable_by_cable(void **state)
{
	struct world w;
	guid_t leaf, spine;
	uint32_t n;
	size_t len;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);
	unsigned wrong = 0, other = 0;

	world_init_stopped(&w, pods(1));
	w.conf.admission.mode = CONF_ADMIT_STRICT;
	leaf = switch_at(&w, w.design, 0, 3);
	n = topo_find(w.design, leaf);
	fputs("StartDevice,StartPort,EndDevice,EndPort\n", out);
	for (unsigned p = 1; p <= w.design->nodes[n].nports; p++) {
		const struct topo_port *peer = topo_peer(w.design, topo_port(w.design, n, p));

		if (!peer)
			continue;
		double_cut(w.hw, leaf, p);
		fprintf(out, "%s,%u,%s,%u\n", w.design->nodes[n].desc, p,
			w.design->nodes[peer->node].desc, peer->num);
		if (peer->node < w.design->nswitches) {
			wrong = wrong ?: p;
			other = p;
		}
	}
	fclose(out);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	json_decref(admit_plan(&w, text, false).result);
	double_join(w.hw, leaf, other);
	run_for(&w, SECOND_US);
	assert_int_equal(double_link_state(w.hw, leaf, other), TOPO_ACTIVE);
	/* Its next cable is in the port beside the planned one. */
	n = topo_find(w.design, leaf);
	spine = w.design->nodes[topo_peer(w.design, topo_port(w.design, n, wrong))->node].guid;
	double_plug(w.hw, leaf, w.design->nodes[n].nports, spine,
		    topo_peer(w.design, topo_port(w.design, n, wrong))->num);
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 1);
	double_cut(w.hw, leaf, w.design->nodes[n].nports);
	mend(&w, leaf, wrong);
	for (unsigned p = 1; p <= w.design->nodes[n].nports; p++)
		if (w.design->ports[w.design->nodes[n].port0 + p].peer != TOPO_NONE && p != other &&
		    p != wrong)
			double_join(w.hw, leaf, p);
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(held(&w), 0);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_from_leaf_to_leaf_is_held_and_named_by_both_ends),
		cmocka_unit_test(an_hca_in_a_port_for_switches_is_held),
		cmocka_unit_test(an_admitted_link_is_in_use),
		cmocka_unit_test(strict_holds_all_that_is_not_known),
		cmocka_unit_test(planned_links_are_in_use_and_what_contradicts_them_is_held),
		cmocka_unit_test(devices_that_are_planned_by_name_are_in_use_cable_by_cable),
		cmocka_unit_test(two_hundred_wrong_cables_change_no_table),
		cmocka_unit_test(repairs_are_in_use_at_once),
		cmocka_unit_test(replacements_are_in_use_at_once),
		cmocka_unit_test(a_switch_that_was_forgotten_comes_back),
		cmocka_unit_test(additions_that_fit_are_in_use_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
