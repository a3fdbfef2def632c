/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A switch whose link comes up between what the first sweep read of it and its examination. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

struct watch {
	struct world *w;
	guid_t leaf, host;
	bool joined;
};

/*
 * The sweep clears the leaf's PortStateChange, which the cut has set. A Set to another switch is of
 * the examination: all ports have been read, and the leaf's turn is yet to come.
 */
static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;

	if (attr_id != WIRE_SWITCH_INFO || node == watch->leaf || watch->joined)
		return;
	watch->joined = true;
	double_join(watch->w->hw, watch->host, 1);
}

static void a_link_that_comes_up_before_its_switch_is_examined_is_seen(void **state)
{
	struct watch watch;
	struct world w;
	uint32_t host;

	world_init_stopped(&w, small_tree());
	host = w.design->nnodes - 1;
	watch = (struct watch){ .w = &w, .host = w.design->nodes[host].guid };
	watch.leaf = w.design->nodes[topo_peer(w.design, topo_port(w.design, host, 1))->node].guid;
	double_cut(w.hw, watch.host, 1);
	double_set_traps(w.hw, false); /* one that has just booted knows nobody to send them to */
	double_on_set(w.hw, set_seen, &watch);
	start_fabric(&w);
	run_for(&w, 15 * SECOND_US); /* the next poll is over */
	assert_true(is_up(&w));
	assert_int_equal(double_link_state(w.hw, watch.host, 1), TOPO_ACTIVE);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_that_comes_up_before_its_switch_is_examined_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
