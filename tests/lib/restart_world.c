/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "tests/lib/restart_world.h"

void seen_fini(struct seen *s)
{
	tables_fini(&s->tables);
	free(s->switches);
	json_decref(s->at_risk);
}

struct seen seen_of(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	struct seen s = { .links = t->nlinks, .links_down = t->nlinks_down };
	json_t *status = fabric_status(w->fabric);

	tables_copy(&s.tables, fabric_tables(w->fabric));
	s.switches = mem_alloc(t->nswitches, sizeof(guid_t));
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		s.switches[sw] = t->nodes[sw].guid;
	s.at_risk = json_incref(json_object_get(status, "at_risk"));
	json_decref(status);
	return s;
}

void assert_seen_again(const struct world *w, const struct seen *before)
{
	struct seen now = seen_of(w);

	assert_int_equal(now.links, before->links);
	assert_int_equal(now.links_down, before->links_down);
	assert_true(json_equal(now.at_risk, before->at_risk));
	assert_int_equal(now.tables.nswitches, before->tables.nswitches);
	assert_int_equal(now.tables.top, before->tables.top);
	assert_memory_equal(now.switches, before->switches, now.tables.nswitches * sizeof(guid_t));
	assert_memory_equal(now.tables.lft, before->tables.lft,
			    (size_t)now.tables.nswitches * now.tables.stride);
	seen_fini(&now);
}

void start_again(struct world *w)
{
	double_sent_reset(w->hw);
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
	assert_true(is_up(w));
}

void restart(struct world *w)
{
	stop_fabric(w);
	start_again(w);
}

uint64_t blocks_written(const struct world *w)
{
	return double_sent(w->hw, WIRE_SET, WIRE_LFT);
}

uint64_t blocks_read(const struct world *w)
{
	return double_sent(w->hw, WIRE_GET, WIRE_LFT);
}

void cut_all_of(struct world *w, uint32_t node)
{
	for (unsigned num = 1; num <= w->design->nodes[node].nports; num++)
		if (topo_port(w->design, node, num)->link_up)
			double_cut(w->hw, w->design->nodes[node].guid, num);
}

void damage(struct world *w)
{
	uint32_t leaf = far_leaf(w), spine = 0;
	const struct topo *t = w->design;

	while (!t->nodes[spine].level)
		spine++;
	double_cut(w->hw, t->nodes[leaf].guid, uplink_of(t, leaf));
	double_cut(w->hw, t->nodes[t->nswitches + 5].guid, 1);
	cut_all_of(w, spine);
	run_for(w, 12 * SECOND_US); /* some traps were lost on the way: polls */
}
