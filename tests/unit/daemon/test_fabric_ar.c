/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive_routing = "on": what switches hold is followed over all choices that they have, also
 * behind each single Set while something changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/sm_pair.h"
#include "tests/lib/state_rows.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define TOP 1000

/* ---- All choices ----------------------------------------------------------------------------- */

enum end { NEW, OPEN, ARRIVES, LOST, LOOPS };

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
static enum end worst(const struct world *w)
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

struct watch {
	const struct world *w;
	unsigned loops, groups, entries, plain, off;
};

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;

	watch->groups += attr_id == WIRE_AR_GROUPS;
	watch->entries += attr_id == WIRE_AR_LFT;
	watch->plain += attr_id == WIRE_LFT;
	watch->off += attr_id == WIRE_ADAPTIVE_INFO &&
		      !adaptive_forwards(double_node(watch->w->hw, node));
	if (attr_id == WIRE_AR_GROUPS || attr_id == WIRE_AR_LFT || attr_id == WIRE_LFT ||
	    attr_id == WIRE_ADAPTIVE_INFO)
		watch->loops += worst(watch->w) == LOOPS;
}

/* ---- Fabrics --------------------------------------------------------------------------------- */

/* Eight leaves with four hosts, and two links to each of four spines. */
static struct topo *two_tiers(void)
{
	static const unsigned m[] = { 4, 8 }, up[] = { 1, 4 }, links[] = { 1, 2 };
	char err[256];

	return generate_pgft(2, m, up, links, err, sizeof(err));
}

static struct topo *three_tiers(void)
{
	static const unsigned m[] = { 3, 3, 3 }, up[] = { 1, 3, 3 }, links[] = { 1, 1, 1 };
	char err[256];

	return generate_pgft(3, m, up, links, err, sizeof(err));
}

static void able(const struct world *w, uint32_t sw, uint64_t seed)
{
	const struct double_packing packing = double_packing_draw(seed, TOP);

	double_adaptive_able(w->hw, w->design->nodes[sw].guid, &packing, NULL);
}

/* Of the first switch's device and firmware. */
static void packing_row(const struct world *w, uint64_t seed, char row[256])
{
	const struct double_packing packing = double_packing_draw(seed, TOP);
	unsigned device = double_node(w->hw, w->design->nodes[0].guid)->ni.device;
	char firmware[32];

	double_firmware(w->hw, w->design->nodes[0].guid, firmware);
	snprintf(row, 256,
		 "0x%04x %s {\"device\":\"0x%04x\",\"firmware\":\"%s\",\"lft\":{\"bit\":%u},"
		 "\"group\":{\"bit\":%u},\"subgroups\":\"%s\"}\n",
		 device, firmware, device, firmware, packing.lft_block, packing.group_block,
		 packing.stacked ? "stacked" : "interleaved");
}

static unsigned count_on(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		count += adaptive_forwards(double_node(w->hw, w->design->nodes[sw].guid));
	return count;
}

/* Entries that leave a choice. */
static unsigned count_free(const struct world *w)
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

static void restart_on(struct world *w, uint64_t seed)
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

static void begin(struct world *w, struct topo *design, uint64_t seed)
{
	world_init(w, design);
	restart_on(w, seed);
}

static void assert_on(const struct world *w, unsigned count)
{
	assert_int_equal(count_on(w), count);
	assert_true(count_free(w) > 0);
	assert_entries_have_the_ports(w);
	assert_int_equal(worst(w), ARRIVES);
	assert_int_equal(dead_pairs(w), 0);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void groups_entries_and_on_are_written_by_any_packing(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct world w;

		begin(&w, two_tiers(), seed);
		assert_on(&w, w.design->nswitches);
		assert_int_equal(count_logged(&w, "adaptive-routing-on", "turned on"), 1);
		assert_int_equal(count_alerts(&w, "", ""), 0);
		world_fini(&w);
	}
}

struct writes { /* by node: all Sets and their tables, as one number */
	const struct world *w;
	uint64_t digest[128];
};

static void note_write(void *arg, guid_t guid, uint16_t attr_id, uint32_t attr_mod)
{
	struct writes *writes = arg;
	const struct dnode *node = double_node(writes->w->hw, guid);
	uint64_t *digest = &writes->digest[node - writes->w->hw->nodes];

	*digest = (*digest ^ attr_id ^ (uint64_t)attr_mod << 16) * 0x100000001b3;
	for (uint32_t i = 0; attr_id == WIRE_LFT && i < TABLES_BLOCK; i++)
		*digest = (*digest ^ double_lft(writes->w->hw, guid,
						(uint16_t)(attr_mod * TABLES_BLOCK + i))) *
			  0x100000001b3;
}

static void live_with_it_off(bool has_it, struct writes *writes)
{
	struct world w;
	guid_t leaf;

	world_init(&w, three_tiers());
	writes->w = &w;
	double_on_set(w.hw, note_write, writes);
	for (uint32_t sw = 0; has_it && sw < w.design->nswitches; sw++)
		able(&w, sw, 3);
	run_for(&w, 120 * SECOND_US);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 20 * SECOND_US);
	double_join(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 60 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(count_on(&w), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_ADAPTIVE_INFO), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_GROUPS), 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_LFT), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

/* Each node is sent the same by a manager whose switches do not have it. */
static void off_writes_what_is_written_without_it(void **state)
{
	struct writes with = { 0 }, without = { 0 };

	live_with_it_off(true, &with);
	live_with_it_off(false, &without);
	assert_memory_equal(with.digest, without.digest, sizeof(with.digest));
}

/* Each Set on the way is followed by a look at all choices. */
static void cut_and_join(struct world *w, guid_t node, unsigned port)
{
	struct watch watch = { .w = w };

	double_on_set(w->hw, set_seen, &watch);
	double_cut(w->hw, node, port);
	run_for(w, 20 * SECOND_US);
	assert_int_equal(watch.plain, 0);
	assert_on(w, w->design->nswitches);
	double_join(w->hw, node, port);
	run_for(w, 90 * SECOND_US);
	double_on_set(w->hw, NULL, NULL);
	assert_int_equal(watch.loops, 0);
	assert_int_equal(watch.plain, 0);
	assert_on(w, w->design->nswitches);
}

static void no_choice_loops_while_links_fall_and_come_back(void **state)
{
	struct topo *(*const designs[])(void) = { two_tiers, three_tiers };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned sw = 0; sw < 3; sw++) {
			struct world w;
			unsigned before;

			begin(&w, designs[i](), 20 + i);
			before = count_free(&w);
			for (unsigned num = 1; num <= w.design->nodes[sw].nports; num++) {
				const struct topo_port *port = topo_port(w.design, sw, num);
				const struct topo_port *peer =
					port->peer == TOPO_NONE ? NULL : topo_peer(w.design, port);

				if (peer && peer->node < w.design->nswitches && num % 3 == 0)
					cut_and_join(&w, w.design->nodes[sw].guid, num);
			}
			assert_int_equal(count_free(&w), before);
			world_fini(&w);
		}
}

/* Changes that come while earlier ones are being written. */
static void no_choice_loops_in_a_storm(void **state)
{
	const unsigned from = getenv("FROM") ? (unsigned)atoi(getenv("FROM")) : 1;
	const unsigned seeds = getenv("SEEDS") ? (unsigned)atoi(getenv("SEEDS")) : 6;

	for (uint64_t seed = from; seed < from + seeds; seed++) {
		struct watch watch = { 0 };
		uint64_t random = seed * 7919;
		struct world w;

		begin(&w, three_tiers(), 30 + seed);
		watch.w = &w;
		double_on_set(w.hw, set_seen, &watch);
		for (unsigned i = 0; i < 40; i++) {
			uint32_t sw = (uint32_t)(random_next(&random) % w.design->nswitches);
			unsigned num = 1 + random_next(&random) % w.design->nodes[sw].nports;
			const struct topo_port *port = topo_port(w.design, sw, num);

			if (port->peer == TOPO_NONE ||
			    topo_peer(w.design, port)->node >= w.design->nswitches)
				continue;
			(random_next(&random) % 3 ? double_cut : double_join)(
				w.hw, w.design->nodes[sw].guid, num);
			run_for(&w, random_next(&random) % 20000);
		}
		for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
			for (unsigned num = 1; num <= w.design->nodes[sw].nports; num++)
				double_join(w.hw, w.design->nodes[sw].guid, num);
		run_for(&w, 300 * SECOND_US);
		double_on_set(w.hw, NULL, NULL);
		assert_int_equal(watch.loops, 0);
		assert_on(&w, w.design->nswitches);
		world_fini(&w);
	}
}

/*
 * The manager's leaf is cut off from all others, which lose a link meanwhile: as they come back
 * they hold choices that the tables in force do not know of.
 */
static void no_choice_loops_as_switches_come_back_that_were_out_of_reach(void **state)
{
	struct watch watch = { 0 };
	struct world w;
	guid_t leaf, core;

	begin(&w, three_tiers(), 135);
	watch.w = &w;
	leaf = w.design->nodes[0].guid;
	core = w.design->nodes[18].guid;
	double_cut(w.hw, w.design->nodes[21].guid, 3);
	run_for(&w, 60 * SECOND_US);
	for (unsigned num = 4; num <= 6; num++)
		double_cut(w.hw, leaf, num);
	run_for(&w, 20 * SECOND_US);
	double_cut(w.hw, core, 3);
	double_on_set(w.hw, set_seen, &watch);
	for (unsigned num = 4; num <= 6; num++)
		double_join(w.hw, leaf, num);
	run_for(&w, 60 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(watch.loops, 0);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

static void a_cut_writes_few_blocks(void **state)
{
	struct watch watch = { 0 };
	struct world w;
	uint32_t leaf;

	begin(&w, two_tiers(), 5);
	leaf = far_leaf(&w);
	watch.w = &w;
	double_on_set(w.hw, set_seen, &watch);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 20 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	/* The leaf's group of all uplinks loses one; the spine's of two links has none left. */
	assert_int_equal(watch.groups, 1);
	assert_in_range(watch.entries, 1, 6);
	assert_int_equal(watch.plain, 0);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* By switch, then LID: the entries that are held. */
static uint32_t *held_entries(const struct world *w)
{
	uint32_t *held = mem_array(held, w->design->nswitches * TOP);

	for (uint32_t at = 0; at < w->design->nswitches * TOP; at++) {
		struct wire_ar_entry entry = { 0 };

		double_adaptive_entry(w->hw, w->design->nodes[at / TOP].guid, at % TOP, &entry);
		held[at] = (uint32_t)(entry.state << 24 | entry.port << 16) | entry.group;
	}
	return held;
}

/*
 * A leaf loses a link to a parent. To that leaf all others lose a choice, and are written but once,
 * with the port that they are to have; those whose only choices led by that parent move, and are
 * Static first.
 */
static void what_keeps_a_choice_is_written_once(void **state)
{
	struct watch watch = { 0 };
	uint32_t *before, *after, leaf;
	unsigned differ = 0;
	struct world w;

	begin(&w, three_tiers(), 15);
	leaf = far_leaf(&w);
	watch.w = &w;
	before = held_entries(&w);
	double_on_set(w.hw, set_seen, &watch);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 20 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	after = held_entries(&w);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		for (uint32_t lid = 0; lid + WIRE_AR_LFT_BLOCK <= TOP; lid += WIRE_AR_LFT_BLOCK)
			differ += memcmp(before + sw * TOP + lid, after + sw * TOP + lid,
					 WIRE_AR_LFT_BLOCK * sizeof(*before)) != 0;
	assert_in_range(differ, w.design->nswitches / 2, w.design->nswitches);
	assert_in_range(watch.entries, differ, differ + differ / 3);
	assert_int_equal(watch.loops, 0);
	assert_on(&w, w.design->nswitches);
	free(before);
	free(after);
	world_fini(&w);
}

/* Another leaf below the same switches. */
static uint32_t sibling_of(const struct topo *t, uint32_t leaf)
{
	const struct topo_port *up = topo_peer(t, topo_port(t, leaf, uplink_of(t, leaf)));

	TOPO_LINKS (t, up->node, port, peer)
		if (peer->node != leaf && peer->node < t->nswitches && !t->nodes[peer->node].level)
			return peer->node;
	fail();
	return TOPO_NONE;
}

/* The switch has a group that it did not acknowledge: no entry of it may name that one. */
static void no_entry_names_a_group_that_was_not_acknowledged(void **state)
{
	struct watch watch = { 0 };
	struct world w;
	uint32_t leaf, other;
	guid_t guid;

	begin(&w, three_tiers(), 12);
	leaf = far_leaf(&w);
	other = sibling_of(w.design, leaf);
	guid = w.design->nodes[other].guid;
	watch.w = &w;
	double_on_set(w.hw, set_seen, &watch);
	double_set_mute(w.hw, guid, WIRE_SET, WIRE_AR_GROUPS);
	double_cut(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(watch.loops, 0);
	assert_true(adaptive_forwards(double_node(w.hw, guid)));
	assert_int_equal(worst(&w), ARRIVES);
	for (uint32_t host = 0; host < w.design->ncas; host++) {
		struct wire_ar_entry entry;

		if (topo_peer(w.design, topo_port(w.design, w.design->nswitches + host, 1))->node ==
			    leaf &&
		    double_adaptive_entry(w.hw, guid, lid_of(&w, host), &entry))
			assert_int_equal(entry.state, WIRE_AR_STATIC);
	}
	double_set_mute(w.hw, guid, 0, 0);
	double_join(w.hw, w.design->nodes[leaf].guid, uplink_of(w.design, leaf));
	run_for(&w, 60 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_int_equal(watch.loops, 0);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* What `path` names: of a leaf all links up to a host elsewhere, and none to its own. */
static void the_ports_of_a_choice_are_named(void **state)
{
	struct world w;
	uint32_t leaf;
	json_t *choice;

	begin(&w, two_tiers(), 13);
	leaf = far_leaf(&w);
	choice = adaptive_choices(w.fabric, w.design->nodes[leaf].guid, lid_of(&w, 0));
	assert_string_equal(json_string_value(choice), "one of 8 ports: 5, 6, 7, 8, 9, 10, 11, 12");
	json_decref(choice);
	assert_null(adaptive_choices(w.fabric, w.design->nodes[leaf].guid,
				     lid_of(&w, w.design->ncas - 1)));
	assert_null(adaptive_choices(w.fabric, w.design->nodes[w.design->nswitches].guid,
				     lid_of(&w, 0)));
	world_fini(&w);
}

/* Of each HCA: the masks of its port, as one number. */
static uint32_t masks_of(const struct world *w, uint32_t host)
{
	const struct dnode *hca =
		double_node(w->hw, w->design->nodes[w->design->nswitches + host].guid);

	return (uint32_t)wire_get(hca->ports[1].sl_masks, 4);
}

static void put_masks(struct world *w, uint32_t host, uint32_t masks)
{
	struct dnode *hca = double_node(w->hw, w->design->nodes[w->design->nswitches + host].guid);

	wire_put(hca->ports[1].sl_masks, 4, masks);
}

static const char *shown(const struct world *w, uint32_t host, const char *key, json_t **doc)
{
	*doc = json_object();
	adaptive_show_hca(w->fabric, w->design->nodes[w->design->nswitches + host].guid, 0, *doc);
	return json_string_value(json_object_get(*doc, key));
}

/* What a manager before has set of other SLs stays; an HCA that boots has forgotten all. */
static void hcas_get_the_masks_of_sls_that_use_it(void **state)
{
	struct world w;
	uint32_t sets;
	json_t *doc;
	guid_t guid;

	world_init(&w, two_tiers());
	w.conf.routing.adaptive_sl = 0x00f0;
	put_masks(&w, 1, 0x80000001);
	put_masks(&w, 2, 0xfffffff0);
	restart_on(&w, 14);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(masks_of(&w, 0), 0x00f000f0);
	assert_int_equal(masks_of(&w, 1), 0x80f000f1);
	assert_int_equal(masks_of(&w, 2), 0xfffffff0);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		struct wire_ar_info info;

		wire_ar_info_decode(double_adaptive(w.hw, w.design->nodes[sw].guid), &info);
		assert_true(info.by_sl);
		assert_int_equal(info.sl_mask, 0x00f0);
	}
	assert_string_equal(shown(&w, 1, "out_of_order_sls", &doc), "0x00f1");
	assert_string_equal(json_string_value(json_object_get(doc, "adaptive_timeout_sls")),
			    "0x80f0");
	json_decref(doc);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO), w.design->ncas - 1);
	assert_int_equal(count_logged(&w, "adaptive-routing-on", "packets out of order"), 1);

	guid = w.design->nodes[w.design->nswitches].guid;
	double_set_power(w.hw, guid, false);
	put_masks(&w, 0, 0);
	run_for(&w, 10 * SECOND_US);
	double_set_power(w.hw, guid, true);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(masks_of(&w, 0), 0x00f000f0);

	sets = double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO);
	w.conf.routing.adaptive_sl = 0xffff;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(masks_of(&w, 1), 0xffffffff);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO),
			 sets + w.design->ncas);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		struct wire_ar_info info;

		wire_ar_info_decode(double_adaptive(w.hw, w.design->nodes[sw].guid), &info);
		assert_false(info.by_sl);
	}
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* One acknowledges what it does not do, one answers nothing: both are named until they do it. */
static void an_hca_with_other_masks_is_named(void **state)
{
	char feigns[128], mute[128];
	struct world w;
	json_t *doc;

	world_init(&w, two_tiers());
	const struct topo_node *hcas = &w.design->nodes[w.design->nswitches];
	put_masks(&w, 1, 0x00010001);
	double_set_feigns(w.hw, hcas[1].guid, WIRE_MLNX_EXT_PORT_INFO);
	double_set_mute(w.hw, hcas[2].guid, WIRE_GET, WIRE_MLNX_EXT_PORT_INFO);
	restart_on(&w, 14);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(count_alerts(&w, "hca-masks", "2 HCA ports"), 1);
	array_printf(feigns, "%s p1 (0x0001, 0x0001)", hcas[1].name);
	array_printf(mute, "%s p1 (no answer)", hcas[2].name);
	assert_int_equal(count_alerts(&w, "hca-masks", feigns), 1);
	assert_int_equal(count_alerts(&w, "hca-masks", mute), 1);
	assert_string_equal(shown(&w, 1, "out_of_order_sls", &doc), "0x0001");
	json_decref(doc);
	assert_null(shown(&w, 2, "out_of_order_sls", &doc));
	json_decref(doc);

	double_set_mute(w.hw, 0, 0, 0);
	run_for(&w, 1300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "hca-masks", "1 HCA port"), 1);
	assert_int_equal(count_alerts(&w, "hca-masks", feigns), 1);
	assert_int_equal(count_alerts(&w, "hca-masks", mute), 0);
	assert_int_equal(masks_of(&w, 2), 0xffffffff);

	double_set_feigns(w.hw, hcas[1].guid, 0);
	put_masks(&w, 3, 0x7fffffff); /* somebody else's */
	run_for(&w, 1300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "hca-masks", ""), 0);
	assert_int_equal(masks_of(&w, 1), 0xffffffff);
	assert_int_equal(masks_of(&w, 3), 0xffffffff);
	assert_string_equal(shown(&w, 1, "out_of_order_sls", &doc), "0xffff");
	json_decref(doc);

	double_set_feigns(w.hw, hcas[1].guid, WIRE_MLNX_EXT_PORT_INFO);
	put_masks(&w, 1, 0);
	run_for(&w, 1300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "hca-masks", "1 HCA port"), 1);
	w.conf.routing.adaptive = 0;
	fabric_configure(w.fabric, &w.conf);
	assert_int_equal(count_alerts(&w, "hca-masks", ""), 0);
	world_fini(&w);
}

static void with_it_off_masks_stay(void **state)
{
	struct world w;

	world_init(&w, two_tiers());
	put_masks(&w, 1, 0x80000001);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(masks_of(&w, 1), 0x80000001);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO), 0);
	world_fini(&w);
}

static void a_switch_that_boots_joins_again(void **state)
{
	struct world w;

	begin(&w, two_tiers(), 6);
	double_reboot(w.hw, w.design->nodes[far_leaf(&w)].guid);
	run_for(&w, 120 * SECOND_US);
	assert_true(is_up(&w));
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* Switches that had no tables are asked in quiet, and nothing else happens then. */
static void on_a_fabric_without_tables_it_is_turned_on_in_quiet(void **state)
{
	struct world w;
	char row[256];

	world_init(&w, two_tiers());
	run_for(&w, 5 * SECOND_US);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		double_reboot(w.hw, w.design->nodes[sw].guid);
		able(&w, sw, 8);
	}
	w.conf.routing.adaptive = 1;
	packing_row(&w, 8, row);
	assert_true(restart_with(&w, "ar_packing", row));
	run_for(&w, 120 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

static void it_goes_away_again_with_all_tables_in_place(void **state)
{
	struct world w;

	begin(&w, two_tiers(), 7);
	w.conf.routing.adaptive = 0;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_on(&w), 0);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(dead_pairs(&w), 0);
	w.conf.routing.adaptive = 1;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* Those of another packing, those that refuse, and those that can't. */
static void a_mixture_delivers_and_names_who_stays_plain(void **state)
{
	const enum double_ar_answers how[] = { DOUBLE_AR_REFUSES, DOUBLE_AR_GARBAGE,
					       DOUBLE_AR_ZEROS, DOUBLE_AR_NEAR };

	for (unsigned i = 0; i < ARRAY_SIZE(how); i++) {
		struct world w;
		char row[256];

		world_init(&w, two_tiers());
		run_for(&w, 5 * SECOND_US);
		for (uint32_t sw = 0; sw < w.design->nswitches; sw += sw == 1 ? 2 : 1)
			able(&w, sw, 9);
		double_adaptive_answers(w.hw, w.design->nodes[0].guid, how[i]);
		w.conf.routing.adaptive = 1;
		packing_row(&w, 9, row);
		assert_true(restart_with(&w, "ar_packing", row));
		run_for(&w, 120 * SECOND_US);
		assert_on(&w, w.design->nswitches - 2);
		assert_int_equal(count_alerts(&w, "adaptive-routing", "stays off at 1 switch"), 1);
		world_fini(&w);
	}
}

static unsigned written_to(const struct world *w, uint32_t sw)
{
	const struct dar *ar = double_node(w->hw, w->design->nodes[sw].guid)->ar;

	return ar->lft[0].count + ar->lft[1].count + ar->groups[0][0].count +
	       ar->groups[1][0].count;
}

/* As after an update of some switches: theirs select blocks by other bits. */
static void a_switch_of_another_firmware_is_not_written(void **state)
{
	const uint32_t other = 2;
	struct world w;
	struct dnode *sw;
	char row[256];

	world_init(&w, two_tiers());
	run_for(&w, 5 * SECOND_US);
	for (uint32_t i = 0; i < w.design->nswitches; i++)
		able(&w, i, i == other ? 16 : 15);
	sw = double_node(w.hw, w.design->nodes[other].guid);
	sw->ar->packing.lenient = true; /* it acknowledges what is for another block */
	sw->firmware[0] = 31;
	sw->firmware[1] = 9;
	w.conf.routing.adaptive = 1;
	packing_row(&w, 15, row);
	assert_true(restart_with(&w, "ar_packing", row));
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(written_to(&w, other), 0);
	assert_on(&w, w.design->nswitches - 1);
	assert_int_equal(count_alerts(&w, "adaptive-routing", "firmware 31.9.0000"), 1);

	/* It boots with the firmware of the others. */
	sw->firmware[0] = 0;
	sw->ar->packing = double_packing_draw(15, TOP);
	double_reboot(w.hw, sw->guid);
	run_for(&w, 120 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(count_alerts(&w, "adaptive-routing", ""), 0);
	world_fini(&w);
}

/* On the switches it is on, as what was found says; then a person writes another place there. */
static void what_was_found_is_not_used_once_it_was_edited(void **state)
{
#define EDIT "UPDATE state SET value = replace(value, '\"bit\":', '\"bit\":1')"
#define ROWS " WHERE kind = 'ar_packing'"
	static const char *const edits[] = { EDIT ROWS, EDIT ", sum = NULL" ROWS };

	for (unsigned i = 0; i < ARRAY_SIZE(edits); i++) {
		struct world w;

		begin(&w, two_tiers(), 9);
		assert_on(&w, w.design->nswitches);
		stop_fabric(&w);
		assert_int_equal(rows_run(w.state_dir, edits[i]), 1);
		start_fabric(&w);
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(count_alerts(&w, "state-lost", "ar_packing: `"), 1);
		assert_int_equal(count_alerts(&w, "adaptive-routing", "fmctl probe ar"), 1);
		assert_int_equal(count_on(&w), 0);
		assert_hardware_holds_the_tables(&w);
		assert_int_equal(dead_pairs(&w), 0);
		world_fini(&w);
	}
}

static void a_switch_that_contradicts_itself_stays_plain(void **state)
{
	static const struct {
		unsigned top, cap, subgroups, subgroup_cap;
		const char *why;
	} rows[] = { { 9, 5, 1, 2, "contradicts itself" },
		     { 0, 9, 0, 2, "contradicts itself" },
		     { 0, 9, 3, 2, "contradicts itself" },
		     { 0, 1, 1, 2, "it has no groups" } };
	struct wire_ar_info info;
	struct world w;

	begin(&w, two_tiers(), 9);
	struct dnode *sw = double_node(w.hw, w.design->nodes[far_leaf(&w)].guid);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		double_reboot(w.hw, sw->guid);
		wire_ar_info_decode(sw->adaptive, &info);
		info.group_top = rows[i].top;
		info.group_cap = rows[i].cap;
		info.subgroups = rows[i].subgroups;
		info.subgroup_cap = rows[i].subgroup_cap;
		wire_ar_info_encode(&info, sw->adaptive);
		run_for(&w, 120 * SECOND_US);
		assert_false(adaptive_forwards(sw));
		assert_on(&w, w.design->nswitches - 1);
		assert_int_equal(count_alerts(&w, "adaptive-routing", rows[i].why), 1);
	}
	world_fini(&w);
}

/* A row of a time when firmware was not asked for counts for none. */
static void without_a_probe_of_its_firmware_nothing_is_written(void **state)
{
	static const char *const rows[] = {
		"", "0xd2f0 - {\"device\":\"0xd2f0\",\"lft\":{\"bit\":8},\"group\":{\"bit\":0}}\n"
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w;

		world_init(&w, two_tiers());
		run_for(&w, 5 * SECOND_US);
		for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
			able(&w, sw, 9);
			double_node(w.hw, w.design->nodes[sw].guid)->ni.device = 0xd2f0;
		}
		w.conf.routing.adaptive = 1;
		assert_true(restart_with(&w, "ar_packing", rows[i]));
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(count_on(&w), 0);
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_AR_GROUPS), 0);
		assert_int_equal(count_alerts(&w, "adaptive-routing", "fmctl probe ar"), 1);
		world_fini(&w);
	}
}

/* Others of its kind have it on, of another manager: with what they show it joins. */
static void who_waits_for_a_probe_joins_behind_it(void **state)
{
	const struct double_ar_plan plan = { .subgroups = 1 };
	struct reply reply = { 0 };
	struct world w;
	uint32_t waits;
	guid_t guid;

	world_init(&w, two_tiers());
	run_for(&w, 5 * SECOND_US);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		able(&w, sw, 9);
	w.conf.routing.adaptive = 1;
	assert_true(restart_with(&w, "ar_packing", ""));
	run_for(&w, 120 * SECOND_US);
	waits = far_leaf(&w);
	guid = w.design->nodes[waits].guid;
	double_adaptive_run(w.hw, &plan);
	adaptive_forget(double_node(w.hw, guid));
	adaptive_probe(w.fabric, TOPO_NONE, reply_cb, &reply);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(reply.count, 1);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(reply.result, 0), "result")),
		"found");
	json_decref(reply.result);
	assert_true(adaptive_forwards(double_node(w.hw, guid)));
	assert_true(written_to(&w, waits) > 0);
	world_fini(&w);
}

/* Nor is what another manager left on kept. */
static void without_its_firmware_no_switch_joins(void **state)
{
	const struct double_ar_plan plan = { .subgroups = 1 };
	struct world w;

	begin(&w, two_tiers(), 9);
	stop_fabric(&w);
	double_adaptive_run(w.hw, &plan);
	w.hw->vs_key = 5; /* their agents do not answer without it */
	start_fabric(&w);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(count_on(&w), 0);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(count_alerts(&w, "adaptive-routing", "which firmware it has"), 1);
	w.hw->vs_key = 0;
	fabric_request_reroute(w.fabric, "test");
	run_for(&w, 120 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* Also what another manager left: its groups are none of ours. */
static void a_restart_and_a_take_over_keep_it_on(void **state)
{
	struct double_ar_plan plan = double_ar_plan_draw(4);
	struct watch watch = { 0 };
	struct world w;

	begin(&w, two_tiers(), 10);
	watch.w = &w;
	stop_fabric(&w);
	double_on_set(w.hw, set_seen, &watch);
	start_fabric(&w);
	run_for(&w, 90 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	stop_fabric(&w);
	plan.hbf = false;
	plan.plfts = plan.tables = 1;
	double_adaptive_run(w.hw, &plan);
	start_fabric(&w);
	run_for(&w, 90 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(watch.plain + watch.off, 0);
	assert_int_equal(watch.loops, 0);
	world_fini(&w);
}

static void what_somebody_else_wrote_is_found_and_written_again(void **state)
{
	struct world w;
	struct dar *ar;
	uint16_t lid;

	begin(&w, two_tiers(), 11);
	ar = double_node(w.hw, w.design->nodes[far_leaf(&w)].guid)->ar;
	lid = lid_of(&w, 0);
	ar->lft[0].blocks[lid / WIRE_AR_LFT_BLOCK * WIRE_SMP_DATA +
			  lid % WIRE_AR_LFT_BLOCK * WIRE_AR_ENTRY_BYTES + 1] ^= 1;
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_logged(&w, "audit", "entries of adaptive routing"), 1);
	assert_on(&w, w.design->nswitches);
	memset(ar->groups[0][0].blocks, 0, WIRE_SMP_DATA);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_logged(&w, "audit", "groups of adaptive routing"), 1);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_entries_and_on_are_written_by_any_packing),
		cmocka_unit_test(off_writes_what_is_written_without_it),
		cmocka_unit_test(no_choice_loops_while_links_fall_and_come_back),
		cmocka_unit_test(no_choice_loops_in_a_storm),
		cmocka_unit_test(no_choice_loops_as_switches_come_back_that_were_out_of_reach),
		cmocka_unit_test(a_cut_writes_few_blocks),
		cmocka_unit_test(what_keeps_a_choice_is_written_once),
		cmocka_unit_test(no_entry_names_a_group_that_was_not_acknowledged),
		cmocka_unit_test(the_ports_of_a_choice_are_named),
		cmocka_unit_test(hcas_get_the_masks_of_sls_that_use_it),
		cmocka_unit_test(an_hca_with_other_masks_is_named),
		cmocka_unit_test(with_it_off_masks_stay),
		cmocka_unit_test(a_switch_that_boots_joins_again),
		cmocka_unit_test(on_a_fabric_without_tables_it_is_turned_on_in_quiet),
		cmocka_unit_test(it_goes_away_again_with_all_tables_in_place),
		cmocka_unit_test(a_mixture_delivers_and_names_who_stays_plain),
		cmocka_unit_test(a_switch_of_another_firmware_is_not_written),
		cmocka_unit_test(what_was_found_is_not_used_once_it_was_edited),
		cmocka_unit_test(a_switch_that_contradicts_itself_stays_plain),
		cmocka_unit_test(without_a_probe_of_its_firmware_nothing_is_written),
		cmocka_unit_test(who_waits_for_a_probe_joins_behind_it),
		cmocka_unit_test(without_its_firmware_no_switch_joins),
		cmocka_unit_test(a_restart_and_a_take_over_keep_it_on),
		cmocka_unit_test(what_somebody_else_wrote_is_found_and_written_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
