/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A device whose answers no device can give by the IBA: it is named, what is known of it stays, and
 * all is as before when it answers as others do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/mad/wire.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"

#define TRUE_S 60

static guid_t switch_guid(const struct world *w, uint32_t sw)
{
	return w->design->nodes[sw].guid;
}

static guid_t last_host(const struct world *w)
{
	return w->design->nodes[w->design->nnodes - 1].guid;
}

/* But for those of files that a test took away. */
static unsigned alerts_now(const struct world *w)
{
	json_t *status = fabric_status(w->fabric), *alert;
	unsigned count = 0;
	size_t i;

	json_array_foreach (json_object_get(status, "alerts"), i, alert)
		count += strcmp(json_string_value(json_object_get(alert, "what")), "state-lost") !=
			 0;

	json_decref(status);
	return count;
}

static bool knows_all(const struct world *w)
{
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		if (topo_find(fabric_topo(w->fabric), w->design->nodes[n].guid) == TOPO_NONE)
			return false;
	return true;
}

static bool is_as_before(struct world *w)
{
	return is_up(w) && !alerts_now(w) && !status_number(w, NULL, "links_down") &&
	       status_number(w, NULL, "switches") == w->design->nswitches &&
	       status_number(w, NULL, "hcas") == w->design->ncas && knows_all(w) && !dead_pairs(w);
}

static void assert_as_before(struct world *w)
{
	for (unsigned s = 0; s < TRUE_S && !is_as_before(w); s++)
		run_for(w, SECOND_US);
	assert_true(is_as_before(w));
}

static void assert_port_is_named_not_down(struct world *w, guid_t node, unsigned port)
{
	fault_set(w->hw, fault_find("ones"), node, port, 1);
	fabric_sweep(w->fabric, NULL, NULL);
	run_for(w, 20 * SECOND_US);
	assert_int_equal(status_number(w, NULL, "links_down"), 0);
	assert_true(status_number(w, NULL, "mads_malformed") > 0);
	assert_int_equal(alerts_now(w), 1);
	assert_int_equal(count_alerts(w, "impossible-answer",
				      w->design->nodes[topo_find(w->design, node)].desc),
			 1);
	assert_int_equal(dead_pairs(w), 0);
	fault_set(w->hw, fault_find("ones"), node, port, 0);
	assert_as_before(w);
}

static void a_port_that_answers_all_ones_is_named_and_its_link_stays(void **state)
{
	struct world w;
	uint32_t leaf;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	leaf = far_leaf(&w);
	assert_port_is_named_not_down(&w, switch_guid(&w, leaf), uplink_of(w.design, leaf));
	assert_port_is_named_not_down(&w, switch_guid(&w, leaf), 0);
	assert_port_is_named_not_down(&w, last_host(&w), 1);
	world_fini(&w);
}

/* A restart meets it so; the devices behind that port are found by their other links. */
static void a_port_that_always_answered_all_ones_is_named(void **state)
{
	struct world w;
	uint32_t leaf;
	guid_t guid;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	leaf = far_leaf(&w);
	guid = switch_guid(&w, leaf);
	fault_set(w.hw, fault_find("ones"), guid, uplink_of(w.design, leaf), 1);
	stop_fabric(&w);
	remove_state(&w, "cables");
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	assert_int_equal(count_alerts(&w, "impossible-answer", w.design->nodes[leaf].desc), 1);
	assert_int_equal(dead_pairs(&w), 0);
	fault_set(w.hw, fault_find("ones"), guid, uplink_of(w.design, leaf), 0);
	assert_as_before(&w);
	world_fini(&w);
}

/* ---- A switch that never was ----------------------------------------------------------------- */

struct falsifier { /* NodeInfo of one node has another GUID on its way to the daemon */
	struct io *io;
	io_recv_fn *recv;
	void *arg;
	guid_t who; /* 0 = of nobody */
};

static void falsifier_recv(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct falsifier *l = arg;
	struct wire_node_info info;
	uint8_t copy[WIRE_MAD_SIZE];
	struct wire_mad m;

	if (len == sizeof(copy) && !wire_mad_decode(mad, len, &m) && wire_is_smi(m.mgmt_class) &&
	    m.attr_id == WIRE_NODE_INFO && m.method & WIRE_RESPONSE) {
		mad = memcpy(copy, mad, len);
		wire_node_info_decode(wire_smp_data(copy), &info);
		if (info.node_guid == l->who) {
			info.node_guid ^= 1ull << 62;
			wire_node_info_encode(&info, wire_smp_data(copy));
		}
	}
	l->recv(l->arg, from, mad, len);
}

/*
 * A leaf shows another GUID for a while, alike each time: that is believed, and its hosts are
 * behind that switch. When it shows its own again nothing is left of the other.
 */
static void a_switch_that_never_was_keeps_no_hosts(void **state)
{
	struct falsifier l;
	struct world w;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	l.io = double_io(w.hw);
	l.recv = l.io->recv;
	l.arg = l.io->arg;
	l.who = switch_guid(&w, 1);
	l.io->recv = falsifier_recv;
	l.io->arg = &l;
	double_reboot(w.hw, l.who);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(topo_find(fabric_topo(w.fabric), l.who), TOPO_NONE);
	l.who = 0;
	assert_as_before(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_that_answers_all_ones_is_named_and_its_link_stays),
		cmocka_unit_test(a_port_that_always_answered_all_ones_is_named),
		cmocka_unit_test(a_switch_that_never_was_keeps_no_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
