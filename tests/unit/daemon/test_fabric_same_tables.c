/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables of a fabric that is damaged, has slow links and was re-balanced: a restart, another order
 * of discovery and a take-over give the same, byte for byte, and nothing is written on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define QUIET_US (15 * SECOND_US)

struct held {
	struct world w;
	struct tables tables;
	unsigned written;
};

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct held *h = arg;

	h->written += attr_id == WIRE_LFT;
}

static void held_init(struct held *h, struct topo *design, uint64_t seed)
{
	struct world *w = &h->w;
	struct topo *cut, *slow;

	memset(h, 0, sizeof(*h));
	world_init(w, design);
	cut = damage_links(w->design, 4, seed);
	slow = damage_links(w->design, 6, seed + 1);
	for (uint32_t p = 0; p < w->design->nswitch_ports; p++) {
		guid_t node = w->design->nodes[w->design->ports[p].node].guid;

		if (w->design->ports[p].peer == TOPO_NONE || w->design->ports[p].peer < p)
			continue;
		if (!cut->ports[p].link_up && w->design->ports[p].link_up)
			double_cut(w->hw, node, w->design->ports[p].num);
		else if (!slow->ports[p].link_up && w->design->ports[p].link_up)
			double_retrain(w->hw, node, w->design->ports[p].num, seed % 2 ? 1 : 2);
	}
	topo_unref(cut);
	topo_unref(slow);
	run_for(w, QUIET_US);
	assert_true(is_up(w));
	tables_copy(&h->tables, fabric_tables(w->fabric));
	double_on_set(w->hw, set_seen, h);
}

static void assert_same(struct held *h, const char *when)
{
	const struct topo *t = h->w.design;

	run_for(&h->w, QUIET_US);
	assert_true(is_up(&h->w));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint16_t lid = 1; lid <= h->tables.top; lid++)
			if (double_lft(h->w.hw, t->nodes[sw].guid, lid) !=
			    tables_row(&h->tables, sw)[lid])
				fail_msg("%s: %s, LID %u", when, t->nodes[sw].name, lid);
	if (h->written)
		fail_msg("%s: %u blocks were written", when, h->written);
}

static void held_play(struct topo *design, uint64_t seed)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};
	struct held h;
	struct world *w = &h.w;
	const struct topo *t = design;
	struct io *io;

	held_init(&h, design, seed);
	stop_fabric(w);
	start_fabric(w);
	assert_same(&h, "restart");

	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t random = 31 * seed + turn;

		stop_fabric(w);
		for (uint32_t n = 0; n < t->nnodes; n++)
			double_set_time(w->hw, t->nodes[n].guid,
					1 + (unsigned)(damage_random(&random) % 400));
		start_fabric(w);
		assert_same(&h, "another order of discovery");
	}

	/* By the state that a standby has copied, from the other end of the fabric. */
	stop_fabric(w);
	io = double_io_at(w->hw, t->nodes[t->nnodes - 1].guid, 1);
	w->mad = mad_new(w->loop, io, &mad);
	w->fabric = fabric_new(w->loop, w->mad, &w->conf, fabric_rooms);
	fabric_start(w->fabric);
	assert_same(&h, "take-over");
	tables_fini(&h.tables);
	world_fini(w);
}

static void tables_of_slow_damaged_balanced_fabrics_are_the_same_byte_for_byte(void **state)
{
	for (uint64_t seed = 1; seed <= 2; seed++) {
		held_play(small_tree(), seed);
		held_play(pod(1), seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			tables_of_slow_damaged_balanced_fabrics_are_the_same_byte_for_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
