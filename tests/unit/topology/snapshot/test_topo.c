/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* topo: builder, freezing, look-ups and what operators write; mem and names beneath them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/topo_equal.h"
#include "tests/sim/view.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

static int add_node(struct topo_builder *b, guid_t guid, const char *desc, uint8_t type,
		    uint8_t nports)
{
	struct topo_node attr = { .guid = guid, .desc = desc, .type = type, .nports = nports };

	return topo_builder_node(b, &attr);
}

static int add_ca(struct topo_builder *b, guid_t guid, const char *desc)
{
	int ca = add_node(b, guid, desc, TOPO_CA, 2);

	topo_builder_port(b, ca, 1, &(struct topo_port){ .guid = guid + 1, .lid = 7 });
	topo_builder_port(b, ca, 2, &(struct topo_port){ .guid = guid + 2 });
	return ca;
}

/* Two switches with two cables between them, and a host at each. */
static struct topo_builder *small_builder(void)
{
	struct topo_builder *b = topo_builder_new();
	int s2 = add_node(b, 0x20, "MF0;leaf-2:MQM8700/U1", TOPO_SWITCH, 8);
	int a = add_ca(b, 0x100, "node-1 HCA-1");
	int s1 = add_node(b, 0x10, "MF0;leaf-1:MQM8700/U1", TOPO_SWITCH, 8);
	int c = add_ca(b, 0x200, "node-10 HCA-1");

	assert_int_equal(topo_builder_link(b, s1, 1, a, 1, true), 0);
	assert_int_equal(topo_builder_link(b, s2, 1, c, 1, true), 0);
	assert_int_equal(topo_builder_link(b, s1, 7, s2, 7, true), 0);
	assert_int_equal(topo_builder_link(b, s1, 8, s2, 8, true), 0);
	return b;
}

static struct topo *small_topo(void)
{
	return topo_freeze(small_builder());
}

/* ---- Building and freezing ---------------------------------------------------------- */

static void freeze_puts_switches_first_by_guid(void **state)
{
	struct topo *t = small_topo();

	assert_int_equal(t->nswitches, 2);
	assert_int_equal(t->nodes[0].guid, 0x10);
	assert_int_equal(t->nodes[1].guid, 0x20);
	assert_int_equal(t->nodes[2].guid, 0x100);
	assert_int_equal(t->nodes[3].guid, 0x200);
	assert_int_equal(t->nlinks, 4);
	assert_int_equal(t->ncas, 2);
	assert_ptr_equal(topo_peer(t, topo_port(t, 0, 7)), topo_port(t, 1, 7));
	assert_ptr_equal(topo_peer(t, topo_port(t, 2, 1)), topo_port(t, 0, 1));
	assert_null(topo_peer(t, topo_port(t, 2, 2)));
	topo_unref(t);
}

static void an_empty_builder_freezes(void **state)
{
	struct topo *t = topo_freeze(topo_builder_new());
	struct topo *again;

	assert_int_equal(t->nnodes, 0);
	assert_int_equal(topo_find(t, 1), TOPO_NONE);
	assert_int_equal(topo_find_port(t, 1), TOPO_NONE);
	again = topo_freeze(topo_builder_from(t));
	assert_same_topo(t, again);
	topo_unref(again);
	topo_unref(t);
}

static void a_taken_guid_is_refused(void **state)
{
	struct topo_builder *b = small_builder();

	assert_int_equal(add_node(b, 0x10, "again", TOPO_SWITCH, 4), -EEXIST);
	assert_int_equal(topo_builder_find(b, 0x10), 2);
	assert_int_equal(topo_builder_find(b, 0x11), -ENOENT);
	topo_builder_free(b);
}

static void an_impossible_node_is_refused(void **state)
{
	struct topo_builder *b = topo_builder_new();

	assert_int_equal(add_node(b, 1, "x", 0, 4), -EINVAL);
	assert_int_equal(add_node(b, 1, "x", 4, 4), -EINVAL);
	assert_int_equal(add_node(b, 1, "x", TOPO_SWITCH, 255), -EINVAL);
	assert_int_equal(add_node(b, 1, "x", TOPO_SWITCH, 254), 0);
	topo_builder_free(b);
}

static void a_port_has_one_cable(void **state)
{
	struct topo_builder *b = small_builder(); /* handles: s2, a, s1, c */

	assert_int_equal(topo_builder_link(b, 2, 7, 0, 7, true), 0); /* the same again */
	assert_int_equal(topo_builder_link(b, 0, 7, 2, 7, true), 0);
	assert_int_equal(topo_builder_link(b, 2, 7, 0, 6, true), -EEXIST);
	assert_int_equal(topo_builder_link(b, 0, 6, 2, 7, true), -EEXIST);
	topo_builder_free(b);
}

static void a_port_outside_its_node_is_refused(void **state)
{
	struct topo_builder *b = small_builder();

	assert_int_equal(topo_builder_link(b, 0, 9, 2, 2, true), -ERANGE);
	assert_int_equal(topo_builder_link(b, 0, 2, 2, 0, true), -ERANGE);
	assert_int_equal(topo_builder_link(b, 0, 2, 4, 1, true), -ERANGE);
	assert_int_equal(topo_builder_link(b, -1, 2, 2, 2, true), -ERANGE);
	assert_int_equal(topo_builder_port(b, 1, 3, &(struct topo_port){ 0 }), -ERANGE);
	topo_builder_free(b);
}

static void a_switch_may_be_cabled_to_itself_but_no_port(void **state)
{
	struct topo_builder *b = small_builder();
	struct topo *t;

	assert_int_equal(topo_builder_link(b, 2, 3, 2, 3, true), -EEXIST);
	assert_int_equal(topo_builder_link(b, 2, 3, 2, 4, true), 0);
	t = topo_freeze(b);
	assert_ptr_equal(topo_peer(t, topo_port(t, 0, 3)), topo_port(t, 0, 4));
	assert_int_equal(t->nlinks, 5);
	topo_unref(t);
}

static void a_down_link_stays_known(void **state)
{
	struct topo_builder *b = small_builder();
	struct topo *t;

	assert_int_equal(topo_builder_link_down(b, 2, 7), 0);
	assert_int_equal(topo_builder_link_down(b, 2, 5), -ENOENT);
	t = topo_freeze(b);
	assert_int_equal(t->nlinks, 4);
	assert_int_equal(t->nlinks_down, 1);
	assert_false(topo_port(t, 0, 7)->link_up);
	assert_false(topo_port(t, 1, 7)->link_up);
	assert_ptr_equal(topo_peer(t, topo_port(t, 0, 7)), topo_port(t, 1, 7));
	topo_unref(t);
}

static void a_builder_from_a_snapshot_makes_the_same_again(void **state)
{
	char err[128];
	struct topo *t = generate_superpod(GENERATE_H100, 2, true, err, sizeof(err));
	struct topo_builder *b = topo_builder_from(t);
	struct topo *again;

	assert_int_equal(topo_builder_find(b, t->nodes[100].guid), 100);
	again = topo_freeze(b);
	assert_same_topo(t, again);
	topo_unref(t); /* the new one stands alone */
	assert_string_equal(again->nodes[0].desc, "leaf-su01-rail0");
	topo_unref(again);
}

static void control_bytes_of_a_description_become_dots(void **state)
{
	struct topo_builder *b = topo_builder_new();
	struct topo *t;

	add_node(b, 1, "a\nb\x7f", TOPO_SWITCH, 1);
	add_node(b, 2, NULL, TOPO_SWITCH, 1);
	t = topo_freeze(b);
	assert_string_equal(t->nodes[0].desc, "a.b.");
	assert_string_equal(t->nodes[1].desc, "");
	topo_unref(t);
}

static void a_reference_keeps_the_snapshot(void **state)
{
	struct topo *t = small_topo();
	struct topo *second = topo_ref(t);

	topo_unref(t);
	assert_int_equal(second->nodes[0].guid, 0x10);
	topo_unref(second);
	topo_unref(NULL);
}

/* ---- Order of arrival --------------------------------------------------------------- */

static void shuffle(uint32_t *list, uint32_t count, unsigned seed)
{
	srand(seed);
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)rand() % i, swap = list[i - 1];

		list[i - 1] = list[j];
		list[j] = swap;
	}
}

static void copy_node(struct topo_builder *b, const struct topo_node *node)
{
	struct topo_node attr = {
		.guid = node->guid,
		.sys_guid = node->sys_guid,
		.desc = node->desc,
		.vendor = node->vendor,
		.device = node->device,
		.type = node->type,
		.nports = node->nports,
		.enhanced_port0 = node->enhanced_port0,
		.sharp = node->sharp,
	};

	assert_true(topo_builder_node(b, &attr) >= 0);
}

static void copy_port(struct topo_builder *b, const struct topo *t, const struct topo_port *p)
{
	struct topo_port attr = {
		.guid = p->guid,
		.lid = p->lid,
		.lmc = p->lmc,
		.state = p->state,
		.speed = p->speed,
		.width = p->width,
		.mtu = p->mtu,
	};
	int node = topo_builder_find(b, t->nodes[p->node].guid), peer;

	assert_int_equal(topo_builder_port(b, node, p->num, &attr), 0);
	if (p->peer == TOPO_NONE)
		return;
	peer = topo_builder_find(b, t->nodes[topo_peer(t, p)->node].guid);
	assert_int_equal(topo_builder_link(b, node, p->num, peer, topo_peer(t, p)->num, true), 0);
}

static struct topo *rebuild_in_other_order(const struct topo *t, unsigned seed)
{
	uint32_t *nodes = mem_alloc(t->nnodes, sizeof(*nodes));
	uint32_t *ports = mem_alloc(t->nports, sizeof(*ports));
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++)
		nodes[n] = n;
	for (uint32_t p = 0; p < t->nports; p++)
		ports[p] = p;
	shuffle(nodes, t->nnodes, seed);
	shuffle(ports, t->nports, seed + 1);
	for (uint32_t n = 0; n < t->nnodes; n++)
		copy_node(b, &t->nodes[nodes[n]]);
	for (uint32_t p = 0; p < t->nports; p++)
		copy_port(b, t, &t->ports[ports[p]]);
	free(nodes);
	free(ports);
	return topo_freeze(b);
}

static void order_of_arrival_does_not_show(void **state)
{
	char err[128];
	struct topo *t = generate_superpod(GENERATE_H100, 4, true, err, sizeof(err));

	for (unsigned seed = 1; seed <= 3; seed++) {
		struct topo *other = rebuild_in_other_order(t, seed);

		assert_same_topo(t, other);
		topo_unref(other);
	}
	topo_unref(t);
}

/* ---- Finding ------------------------------------------------------------------------ */

static void every_node_and_end_port_is_found(void **state)
{
	char err[128];
	struct topo *t = generate_superpod(GENERATE_B200, 1, true, err, sizeof(err));

	for (uint32_t n = 0; n < t->nnodes; n++)
		assert_int_equal(topo_find(t, t->nodes[n].guid), n);
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].guid)
			assert_int_equal(topo_find_port(t, t->ports[p].guid), p);
	assert_int_equal(topo_find(t, 0), TOPO_NONE);
	assert_int_equal(topo_find(t, UINT64_MAX), TOPO_NONE);
	assert_int_equal(topo_find_port(t, 0), TOPO_NONE);
	topo_unref(t);
}

static void of_equal_port_guids_the_cabled_one_is_found(void **state)
{
	struct topo_builder *b = small_builder();
	int ca = add_node(b, 0x80, "node-3 HCA-1", TOPO_CA, 4);
	struct topo *t;

	for (unsigned num = 1; num <= 4; num++)
		topo_builder_port(b, ca, num, &(struct topo_port){ .guid = 0x101 });
	t = topo_freeze(b);
	assert_int_equal(topo_find_port(t, 0x101), topo_port(t, topo_find(t, 0x100), 1) - t->ports);
	topo_unref(t);
}

/* ---- What operators write ----------------------------------------------------------- */

static void assert_resolves(const struct topo *t, const char *what, guid_t guid, unsigned port)
{
	char err[256] = "";
	unsigned num = 99;
	uint32_t node = topo_resolve(t, what, &num, err, sizeof(err));

	if (node == TOPO_NONE)
		fail_msg("%s: %s", what, err);
	assert_int_equal(t->nodes[node].guid, guid);
	assert_int_equal(num, port);
}

static void nodes_resolve_by_guid_name_word_and_prefix(void **state)
{
	struct topo *t = small_topo();

	assert_resolves(t, "0x10", 0x10, 0);
	assert_resolves(t, "0x0000000000000010:3", 0x10, 3);
	assert_resolves(t, "S-0000000000000010", 0x10, 0);
	assert_resolves(t, "H-0000000000000100:1", 0x100, 1);
	assert_resolves(t, "0x101", 0x100, 1); /* a port's GUID */
	assert_resolves(t, "node-1 HCA-1", 0x100, 0);
	assert_resolves(t, "node-1", 0x100, 0); /* a word, though node-10 begins so too */
	assert_resolves(t, "leaf-2", 0x20, 0);
	assert_resolves(t, "leaf-2:8", 0x20, 8);
	assert_resolves(t, "MF0;leaf-1", 0x10, 0);
	assert_resolves(t, "MF0;leaf-1:MQM8700/U1", 0x10, 0);
	assert_resolves(t, "MF0;leaf-1:MQM8700/U1:4", 0x10, 4);
	assert_resolves(t, "\"MF0;leaf-1:MQM8700/U1\"[4]", 0x10, 4);
	assert_resolves(t, "\"node-10 HCA-1\":2", 0x200, 2);
	assert_resolves(t, "\"node-10 HCA-1\"", 0x200, 0);
	assert_resolves(t, "S-0000000000000020[5]", 0x20, 5);
	topo_unref(t);
}

static void assert_refused(const struct topo *t, const char *what, const char *reason)
{
	char err[256] = "";
	unsigned num;

	assert_int_equal(topo_resolve(t, what, &num, err, sizeof(err)), TOPO_NONE);
	if (!strstr(err, reason))
		fail_msg("%s: '%s' does not say '%s'", what, err, reason);
}

static void what_resolves_to_no_single_port_is_refused(void **state)
{
	struct topo *t = small_topo();

	assert_refused(t, "leaf-3", "no node matches 'leaf-3'");
	assert_refused(t, "", "no node matches");
	assert_refused(t, "\"", "no node matches");
	assert_refused(t, "\"leaf-1\"x", "no node matches");
	assert_refused(t, "0x999", "no node matches");
	assert_refused(t, "MQM8700", "matches 2 nodes, among them 'leaf-1/U1'");
	assert_refused(t, "leaf-1:9", "has ports 1 to 8, not 9");
	assert_refused(t, "node-1:0", "has ports 1 to 2, not 0");
	assert_refused(t, "leaf-1:0", "has ports 1 to 8, not 0"); /* is not the whole switch */
	assert_refused(t, "leaf-1:999", "has ports 1 to 8, not 999");
	topo_unref(t);
}

static void names_of_codes_round_trip(void **state)
{
	for (int s = TOPO_SDR; s <= TOPO_XDR; s++) {
		assert_int_equal(topo_speed_parse(topo_speed_name((enum topo_speed)s)), s);
		assert_in_range(topo_lane_mbps((enum topo_speed)s),
				topo_lane_signalling_mbps((enum topo_speed)s) * 4 / 5,
				topo_lane_signalling_mbps((enum topo_speed)s) - 1);
		assert_true(topo_lane_mbps((enum topo_speed)s) >
			    topo_lane_mbps((enum topo_speed)(s - 1)));
	}
	assert_int_equal(topo_speed_parse("ndr"), TOPO_NDR);
	assert_int_equal(topo_speed_parse("warp"), TOPO_SPEED_NONE);
	assert_string_equal(topo_role_name(TOPO_LEAF), "leaf");
	assert_string_equal(topo_state_name(TOPO_ACTIVE), "Active");
	assert_string_equal(topo_speed_name((enum topo_speed)77), "?");
}

/* ---- Beneath ------------------------------------------------------------------------ */

static void an_arena_is_zeroed_and_aligned_and_counts(void **state)
{
	struct arena *arena = arena_new();

	for (size_t size = 1; size < 100000; size = size * 3 + 1) {
		unsigned char *p = arena_alloc(arena, size, 1);

		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	assert_string_equal(arena_strdup(arena, "text"), "text");
	arena_free(arena);
	arena_free(NULL);
}

static int compare(const char *a, const char *b)
{
	return names_compare(a, strlen(a), b, strlen(b));
}

static void names_sort_as_people_count(void **state)
{
	static const char *const sorted[] = {
		"",	  "a",	"a01",	  "a1",	     "a2", "a2b",	   "a10",	   "a10b2",
		"a10b10", "ab", "mlx5_3", "mlx5_10", "n9", "n12345678901", "n22345678901",
	};

	for (int i = 0; i < (int)(sizeof(sorted) / sizeof(sorted[0])); i++)
		for (int j = 0; j < (int)(sizeof(sorted) / sizeof(sorted[0])); j++) {
			int order = compare(sorted[i], sorted[j]);

			assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
		}
}

static void ranks_follow_natural_order_past_the_packed_key(void **state)
{
	static const char *const texts[] = { "a-long-common-prefix-10", "a-long-common-prefix-9",
					     "b", "a-long-common-prefix-9b" };
	static const uint32_t expected[] = { 2, 0, 3, 1 };
	struct names names = { 0 };
	uint32_t *rank;

	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(names_id(&names, texts[i], strlen(texts[i])), i);
		assert_int_equal(names_id(&names, texts[i], strlen(texts[i])), i);
	}
	rank = names_rank(&names);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(rank[i], expected[i]);
	free(rank);
	names_fini(&names);
}

static void a_thousand_names_are_kept_apart(void **state)
{
	char text[1000][8];
	struct names names = { 0 };

	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(text[i], sizeof(text[i]), "n%u", i);
		assert_int_equal(names_id(&names, text[i], strlen(text[i])), i);
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(names_id(&names, text[i], strlen(text[i])), i);
	names_fini(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freeze_puts_switches_first_by_guid),
		cmocka_unit_test(an_empty_builder_freezes),
		cmocka_unit_test(a_taken_guid_is_refused),
		cmocka_unit_test(an_impossible_node_is_refused),
		cmocka_unit_test(a_port_has_one_cable),
		cmocka_unit_test(a_port_outside_its_node_is_refused),
		cmocka_unit_test(a_switch_may_be_cabled_to_itself_but_no_port),
		cmocka_unit_test(a_down_link_stays_known),
		cmocka_unit_test(a_builder_from_a_snapshot_makes_the_same_again),
		cmocka_unit_test(control_bytes_of_a_description_become_dots),
		cmocka_unit_test(a_reference_keeps_the_snapshot),
		cmocka_unit_test(order_of_arrival_does_not_show),
		cmocka_unit_test(every_node_and_end_port_is_found),
		cmocka_unit_test(of_equal_port_guids_the_cabled_one_is_found),
		cmocka_unit_test(nodes_resolve_by_guid_name_word_and_prefix),
		cmocka_unit_test(what_resolves_to_no_single_port_is_refused),
		cmocka_unit_test(names_of_codes_round_trip),
		cmocka_unit_test(an_arena_is_zeroed_and_aligned_and_counts),
		cmocka_unit_test(names_sort_as_people_count),
		cmocka_unit_test(ranks_follow_natural_order_past_the_packed_key),
		cmocka_unit_test(a_thousand_names_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
