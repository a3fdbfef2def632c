/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/ar_world.h"

/* ---- All choices ----------------------------------------------------------------------------- */

struct search {
	const struct world *w;
	uint16_t lid;
	enum end end[64]; /* by node */
};

static enum end follow(struct search *s, const struct dnode *node)
{
	uint32_t index = (uint32_t)(node - s->w->hw->nodes);
	struct double_ports exits;
	enum end worst = ARRIVES;

	if (!is_switch(node))
		return node->ports[1].info.lid == s->lid ? ARRIVES : LOST;
	if (s->end[index] == OPEN)
		return LOOPS;
	if (s->end[index] != NEW)
		return s->end[index];
	s->end[index] = OPEN;
	if (adaptive_forwards(node)) {
		adaptive_exits(node, s->lid, &exits);
	} else {
		exits = (struct double_ports){ 0 };
		double_ports_add(&exits, s->lid < node->lft_size ? node->lft[s->lid] : LFT_NONE);
	}
	if (double_ports_next(&exits, 0) == 256)
		worst = LOST;
	for (unsigned num = double_ports_next(&exits, 0); num < 256;
	     num = double_ports_next(&exits, num + 1)) {
		enum end end = LOST;

		if (num && num <= node->ni.nports && node->ports[num].peer &&
		    node->ports[num].info.phys_state == PHYS_LINK_UP)
			end = follow(s, node->ports[num].peer->node);
		worst = end > worst ? end : worst;
	}
	return s->end[index] = worst;
}

/* From all leaves to all hosts: the worst end of any choice. */
enum end worst(const struct world *w)
{
	const struct topo *t = w->design;
	enum end worst = ARRIVES;

	for (uint32_t host = 0; host < t->ncas; host++) {
		struct search s = { .w = w, .lid = lid_of(w, host) };

		for (uint32_t sw = 0; sw < t->nswitches; sw++) {
			enum end end;

			if (t->nodes[sw].level)
				continue;
			end = follow(&s, double_node(w->hw, t->nodes[sw].guid));
			worst = end > worst ? end : worst;
		}
	}
	return worst;
}

/* ---- Fabrics --------------------------------------------------------------------------------- */

/* Eight leaves with four hosts, and two links to each of four spines. */
struct topo *two_tiers(void)
{
	static const unsigned m[] = { 4, 8 }, up[] = { 1, 4 }, links[] = { 1, 2 };
	char err[256];

	return generate_pgft(2, m, up, links, err, sizeof(err));
}

struct topo *three_tiers(void)
{
	static const unsigned m[] = { 3, 3, 3 }, up[] = { 1, 3, 3 }, links[] = { 1, 1, 1 };
	char err[256];

	return generate_pgft(3, m, up, links, err, sizeof(err));
}

void able(const struct world *w, uint32_t sw, uint64_t seed)
{
	const struct double_packing packing = double_packing_draw(seed, AR_TOP);

	double_adaptive_able(w->hw, w->design->nodes[sw].guid, &packing, NULL);
}

/* Of the first switch's device and firmware. */
void packing_row(const struct world *w, uint64_t seed, char row[256])
{
	const struct double_packing packing = double_packing_draw(seed, AR_TOP);
	unsigned device = double_node(w->hw, w->design->nodes[0].guid)->ni.device;
	char firmware[32];

	double_firmware(w->hw, w->design->nodes[0].guid, firmware);
	snprintf(row, 256,
		 "0x%04x %s {\"device\":\"0x%04x\",\"firmware\":\"%s\",\"lft\":{\"bit\":%u},"
		 "\"group\":{\"bit\":%u},\"subgroups\":\"%s\"}\n",
		 device, firmware, device, firmware, packing.lft_block, packing.group_block,
		 packing.stacked ? "stacked" : "interleaved");
}

unsigned count_on(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		count += adaptive_forwards(double_node(w->hw, w->design->nodes[sw].guid));
	return count;
}

/* Entries that leave a choice. */
unsigned count_free(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		for (uint32_t host = 0; host < w->design->ncas; host++) {
			struct wire_ar_entry entry;

			count += double_adaptive_entry(w->hw, w->design->nodes[sw].guid,
						       lid_of(w, host), &entry) &&
				 entry.state == WIRE_AR_FREE;
		}
	return count;
}

/* What has it on holds the ports of the tables as well. */
static void assert_entries_have_the_ports(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= fabric_tables(w->fabric)->top; lid++) {
			struct wire_ar_entry entry;

			if (double_adaptive_entry(w->hw, t->nodes[sw].guid, (uint16_t)lid, &entry))
				assert_int_equal(entry.port,
						 tables_row(fabric_tables(w->fabric), sw)[lid]);
		}
}

void restart_on(struct world *w, uint64_t seed)
{
	char row[256];

	w->conf.audit.rate = 100;
	run_for(w, 5 * SECOND_US);
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		able(w, sw, seed);
	w->conf.routing.adaptive = 1;
	packing_row(w, seed, row);
	assert_true(restart_with(w, "ar_packing", row));
	run_for(w, 60 * SECOND_US);
	assert_true(is_up(w));
}

void begin(struct world *w, struct topo *design, uint64_t seed)
{
	world_init(w, design);
	restart_on(w, seed);
}

void assert_on(const struct world *w, unsigned count)
{
	assert_int_equal(count_on(w), count);
	assert_true(count_free(w) > 0);
	assert_entries_have_the_ports(w);
	assert_int_equal(worst(w), ARRIVES);
	assert_int_equal(dead_pairs(w), 0);
}
