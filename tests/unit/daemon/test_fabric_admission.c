/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Links that were not known before: wrong cables and foreign fabrics are held, with nothing moved;
 * repairs, replacements and additions are in use at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sm_pair.h"

/*
 * A pod of leaves and spines, `count` of them beside each other without a cable between; the first
 * one with so many hosts at a leaf, the others with four.
 */
static struct topo *pods_of(unsigned count, unsigned hosts)
{
	static const unsigned w[] = { 1, 4 }, p[] = { 1, 2 };
	struct topo_builder *b = topo_builder_new();

	for (unsigned i = 0; i < count; i++) {
		const unsigned m[] = { i ? 4 : hosts, 8 };
		char err[256];
		struct topo *pod = generate_pgft(2, m, w, p, err, sizeof(err));
		int handles[256];

		assert_non_null(pod);

		for (uint32_t n = 0; n < pod->nnodes; n++) {
			const struct topo_node *node = &pod->nodes[n];
			char desc[64];
			bool sw = node->type == TOPO_SWITCH;

			snprintf(desc, sizeof(desc), "pod%u-%s", i, node->desc);
			/* Two ports more, for cables that come later. */
			struct topo_node_attr attr = { .guid = node->guid + ((guid_t)i << 32),
						       .desc = desc,
						       .type = node->type,
						       .lft_cap = node->lft_cap,
						       .mft_cap = node->mft_cap,
						       .nports = (uint8_t)(node->nports + 2 * sw) };

			handles[n] = topo_builder_node(b, &attr);
			assert_true(handles[n] >= 0);
			for (unsigned num = sw ? 0 : 1; num <= node->nports; num++) {
				const struct topo_port *port = topo_port(pod, n, num);
				struct topo_port_attr at = { .speed = port->speed,
							     .width = port->width,
							     .mtu = port->mtu,
							     .state = port->state };

				at.guid = port->guid ? port->guid + ((guid_t)i << 32) : 0;
				topo_builder_port(b, handles[n], num, &at);
			}
		}
		for (uint32_t at = 0; at < pod->nports; at++) {
			const struct topo_port *port = &pod->ports[at];
			const struct topo_port *peer = topo_peer(pod, port);

			if (peer && at < port->peer)
				topo_builder_link(b, handles[port->node], port->num,
						  handles[peer->node], peer->num, true);
		}
		topo_unref(pod);
	}
	return topo_freeze(b);
}

static struct topo *pods(unsigned count)
{
	return pods_of(count, 4);
}

/* The so many-th switch of that level. */
static guid_t switch_at(const struct world *w, const struct topo *t, unsigned level, unsigned which)
{
	for (uint32_t n = 0; n < t->nswitches; n++)
		if (t->nodes[n].level == level && !which--)
			return t->nodes[n].guid;
	fail();
	return 0;
}

static void begin(struct world *w)
{
	world_init(w, pods(1));
	log_set_level(-1, LOG_ERR - 1);
	run_for(w, 5 * SECOND_US);
	assert_true(is_up(w));
}

static unsigned held(const struct world *w)
{
	return (unsigned)status_number(w, NULL, "links_held");
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

static struct reply admit(struct world *w, const char *what, bool dry)
{
	struct reply r = { 0 };

	admission_admit(maintenance_admission(w->fabric), what, dry, reply_cb, &r);
	return r;
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
	host = w.design->nodes[topo_peer(w.design,
					 topo_port(w.design, topo_find(w.design, leaf), num))
				       ->node]
		       .guid;
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
	maintenance_forget(w.fabric, NULL, reply_cb, &reply);
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

	admission_plan(maintenance_admission(w->fabric), "plan", text, dry, reply_cb, &r);
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

/* ---- Two fabrics ----------------------------------------------------------------------------- */

/* A cable between the first spines of two pods, each with its fmd; `cables` of them. */
static void plug_pods(struct pair *p, unsigned cables)
{
	const struct topo *t = p->a.design;
	const struct topo_node *spine = &t->nodes[topo_find(t, switch_at(&p->a, t, 1, 0))], *other;

	for (other = spine + 1; strncmp(other->desc, "pod1", 4) || other->level != 1;)
		other++;
	for (unsigned i = 0; i < cables; i++)
		double_plug(p->a.hw, spine->guid, spine->nports - i, other->guid,
			    other->nports - i);
}

static void start_pods(struct pair *p)
{
	start_fabric(&p->a);
	pair_start_b(p);
	run_for(&p->a, 6 * SECOND_US);
	assert_true(is_master_and_up(&p->a) && is_master_and_up(&p->b));
}

static void begin_pods(struct pair *p)
{
	pair_init(p, pods(2), 1, 1);
	start_pods(p);
}

static void assert_apart(struct pair *p, uint16_t *lids)
{
	run_for(&p->a, SECOND_US);
	assert_true(count_alerts(&p->a, "link-held", "") >= 1);
	assert_true(count_alerts(&p->b, "link-held", "") >= 1);
	run_for(&p->a, 60 * SECOND_US);
	assert_true(is_master_and_up(&p->a) && is_master_and_up(&p->b));
	assert_int_equal(count_logged(&p->a, "two-masters", ""), 0);
	assert_int_equal(count_logged(&p->a, "other-sm", ""), 0);
	assert_lids_are(&p->a, lids);
	assert_hardware_holds_the_tables(&p->a);
	assert_hardware_holds_the_tables(&p->b);
}

static void assert_cables_keep_apart(unsigned cables)
{
	struct pair p;
	uint16_t *lids;

	begin_pods(&p);
	lids = lids_held(&p.a);
	plug_pods(&p, cables);
	assert_apart(&p, lids);
	pair_fini(&p);
}

static void a_cable_to_another_fabric_moves_no_lid_and_both_say_so(void **state)
{
	assert_cables_keep_apart(1);
}

static void two_cables_to_another_fabric_move_no_lid(void **state)
{
	assert_cables_keep_apart(2);
}

/* A disabled port does not show that its cable was pulled: an operator says so. */
static void a_port_whose_cable_was_pulled_is_enabled_by_forget(void **state)
{
	struct pair p;
	struct reply reply = { 0 };
	uint16_t *lids;
	guid_t spine;
	unsigned spare;
	char what[32];

	begin_pods(&p);
	lids = lids_held(&p.a);
	plug_pods(&p, 1);
	assert_apart(&p, lids);
	spine = switch_at(&p.a, p.a.design, 1, 0);
	spare = p.a.design->nodes[topo_find(p.a.design, spine)].nports;
	double_cut(p.a.hw, spine, spare);
	snprintf(what, sizeof(what), "0x%016llx:%u", (unsigned long long)spine, spare);
	maintenance_forget(p.a.fabric, what, reply_cb, &reply);
	run_for(&p.a, 5 * SECOND_US);
	assert_int_equal(reply.count, 1);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	assert_int_equal(held(&p.a), 0);
	assert_int_equal(count_alerts(&p.a, "link-held", ""), 0);
	plug_pods(&p, 1); /* it is not let in by that */
	run_for(&p.a, 30 * SECOND_US);
	assert_true(is_master_and_up(&p.a) && is_master_and_up(&p.b));
	pair_fini(&p);
}

/* Where a LID is to go by the answer of a dry run; 0 = it stays. */
static unsigned listed(const json_t *result, unsigned lid, bool ours)
{
	JSON_EACH (row, json_object_get(result, "lids_to_move")) {
		bool at = json_integer_value(json_object_get(row, "lid")) == lid;

		if (at && json_is_true(json_object_get(row, "ours")) == ours)
			return (unsigned)json_integer_value(json_object_get(row, "to"));
	}
	return 0;
}

/*
 * Both sides admit the cable: one manager is left, all links are in use, and those LIDs have moved
 * that both listed before, and no other. of_b: those are of the second fabric.
 */
static void assert_merges(struct pair *p, unsigned moves, bool of_b)
{
	struct reply reply;
	uint16_t *before, *after;
	json_t *dry[2];

	before = lids_held(&p->a);
	plug_pods(p, 1);
	assert_apart(p, lids_held(&p->a));
	for (unsigned i = 0; i < 2; i++) {
		reply = admit(i ? &p->b : &p->a, "all", true);
		dry[i] = reply.result;
		assert_int_equal(json_array_size(json_object_get(dry[i], "lids_to_move")), moves);
	}
	assert_string_equal(json_string_value(json_object_get(dry[0], "master")), "this manager");
	assert_int_equal(strncmp(json_string_value(json_object_get(dry[1], "master")), "0x0", 3),
			 0);
	reply = admit(&p->a, "all", false);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	run_for(&p->a, 5 * SECOND_US);
	assert_true(is_master_and_up(&p->a) &&
		    is_master_and_up(&p->b)); /* the other holds it still */
	reply = admit(&p->b, "all", false);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	run_for(&p->a, 40 * SECOND_US);
	assert_well_managed_by(&p->a);
	assert_true(has_role(&p->b, "standby"));
	after = lids_held(&p->a);
	for (uint32_t n = 0; n < p->a.design->nnodes; n++) {
		bool at_b = p->a.design->nodes[n].guid >> 32 != sm_host(&p->a, 0) >> 32;
		unsigned to = listed(dry[at_b], before[n], true);

		assert_true(!to || at_b == of_b);
		assert_int_equal(after[n], to ? to : before[n]);
		assert_int_equal(listed(dry[!at_b], before[n], false), to);
	}
	json_decref(dry[0]);
	json_decref(dry[1]);
	free(before);
	free(after);
	pair_fini(p);
}

static void a_merge_moves_the_lids_that_were_listed_before_and_no_other(void **state)
{
	struct pair p;

	begin_pods(&p);
	assert_merges(&p, p.a.design->nnodes / 2, true);
}

/* The manager of the smaller one becomes the master: its own LIDs move. */
static void a_merge_moves_lids_of_the_smaller_fabric_whoever_is_master(void **state)
{
	struct pair p;

	pair_init(&p, pods_of(2, 3), 1, 1);
	start_pods(&p);
	assert_merges(&p, (p.a.design->nnodes - 8) / 2, false);
}

/* With ranges that differ both keep all of their LIDs. */
static void a_merge_of_two_lid_ranges_moves_no_lid(void **state)
{
	struct pair p;

	pair_init(&p, pods(2), 1, 1);
	strcpy(p.a.conf.routing.lid_range, "1-127");
	strcpy(p.b.conf.routing.lid_range, "128-256");
	start_pods(&p);
	assert_merges(&p, 0, true);
}

/* The cable comes while one of them is away; it holds it at its start, and again after the next. */
static void a_restart_holds_what_is_new_and_what_was_held(void **state)
{
	struct pair p;
	uint16_t *lids;

	begin_pods(&p);
	lids = lids_held(&p.a);
	pair_stop(&p.a);
	pair_stop(&p.b);
	plug_pods(&p, 1);
	p.io_b = double_io_at(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1);
	start_fabric(&p.a);
	pair_start_b(&p);
	assert_apart(&p, lids);
	lids = lids_held(&p.a);
	pair_stop(&p.a);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	assert_apart(&p, lids);
	pair_fini(&p);
}

/* A pod without a manager, and without LIDs: too many hosts to come at once. */
static void many_unknown_hosts_stay_in_init(void **state)
{
	struct world w;
	guid_t spine;
	unsigned spare;

	world_init_stopped(&w, pods(2));
	log_set_level(-1, LOG_ERR - 1);
	w.conf.admission.max_hosts = 16;
	start_fabric(&w);
	run_for(&w, 6 * SECOND_US);
	assert_true(is_up(&w));
	spine = switch_at(&w, w.design, 1, 0);
	spare = w.design->nodes[topo_find(w.design, spine)].nports;
	double_plug(w.hw, spine, spare, spine + (1ull << 32), spare);
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 1);
	assert_int_equal(count_alerts(&w, "link-held", "admission_max_hosts"), 1);
	run_for(&w, 60 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(held(&w), 1);
	assert_int_equal(double_link_state(w.hw, spine, spare), TOPO_INIT);
	assert_int_equal(double_port_info(w.hw, spine + (1ull << 32), 0)->lid, 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_from_leaf_to_leaf_is_held_and_named_by_both_ends),
		cmocka_unit_test(an_admitted_link_is_in_use),
		cmocka_unit_test(strict_holds_all_that_is_not_known),
		cmocka_unit_test(planned_links_are_in_use_and_what_contradicts_them_is_held),
		cmocka_unit_test(devices_that_are_planned_by_name_are_in_use_cable_by_cable),
		cmocka_unit_test(two_hundred_wrong_cables_change_no_table),
		cmocka_unit_test(repairs_are_in_use_at_once),
		cmocka_unit_test(replacements_are_in_use_at_once),
		cmocka_unit_test(a_switch_that_was_forgotten_comes_back),
		cmocka_unit_test(additions_that_fit_are_in_use_at_once),
		cmocka_unit_test(a_cable_to_another_fabric_moves_no_lid_and_both_say_so),
		cmocka_unit_test(two_cables_to_another_fabric_move_no_lid),
		cmocka_unit_test(a_port_whose_cable_was_pulled_is_enabled_by_forget),
		cmocka_unit_test(a_merge_moves_the_lids_that_were_listed_before_and_no_other),
		cmocka_unit_test(a_merge_moves_lids_of_the_smaller_fabric_whoever_is_master),
		cmocka_unit_test(a_merge_of_two_lid_ranges_moves_no_lid),
		cmocka_unit_test(a_restart_holds_what_is_new_and_what_was_held),
		cmocka_unit_test(many_unknown_hosts_stay_in_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
