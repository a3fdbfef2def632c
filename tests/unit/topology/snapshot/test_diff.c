/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* diff: each difference once, told in words, faults first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/fabrics.h"
#include "tests/sim/view.h"
#include "topology/snapshot/diff.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

/* Two leaves under a spine, a host at each; %s are the places that tests change. */
#define BASE                                                                                       \
	"Switch 8 \"S-0000000000000001\" # \"leaf-1\"\n"                                           \
	"[1] \"H-0000000000000101\"[1] # \"a\" lid 0 4xHDR\n"                                      \
	"[3] \"S-0000000000000003\"[1] # \"spine\" lid 0 4xHDR\n"                                  \
	"[4] \"S-0000000000000003\"[2] # \"spine\" lid 0 4xHDR\n"                                  \
	"Switch 8 \"S-0000000000000002\" # \"leaf-2\"\n"                                           \
	"[1] \"H-0000000000000201\"[1] # \"b\" lid 0 4xHDR\n"                                      \
	"[3] \"S-0000000000000003\"[3] # \"spine\" lid 0 4xHDR\n"                                  \
	"Switch 8 \"S-0000000000000003\" # \"spine\"\n"                                            \
	"Ca 1 \"H-0000000000000101\" # \"a HCA-1\"\n"                                              \
	"Ca 1 \"H-0000000000000201\" # \"b HCA-1\"\n"

/* BASE with every `from` replaced by `to`. */
static struct topo *changed(const char *from, const char *to)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *p = BASE, *at;
	struct topo *t;

	for (; (at = strstr(p, from)); p = at + strlen(from))
		fprintf(out, "%.*s%s", (int)(at - p), p, to);
	fputs(p, out);
	fclose(out);
	t = parse_netfile(text);
	free(text);
	return t;
}

static struct topo *with_link_down(const struct topo *t, const char *node, unsigned port)
{
	struct topo_builder *b = topo_builder_from(t);
	char err[128];
	unsigned num;

	assert_int_equal(
		topo_builder_link_down(b, (int)topo_resolve(t, node, &num, err, sizeof(err)), port),
		0);
	return topo_freeze(b);
}

/* Compares and lets both snapshots go. */
static void assert_event(struct topo *older, struct topo *newer, const char *expected)
{
	struct diff *d = diff_new(older, newer);
	char *text = NULL, line[256];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < d->count; i++) {
		int len = diff_describe(older, newer, &d->items[i], line, sizeof(line));

		assert_int_equal(len, strlen(line));
		fprintf(out, "%s\n", line);
	}
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	diff_free(d);
	topo_unref(older);
	topo_unref(newer);
}

static void equal_snapshots_differ_in_nothing(void **state)
{
	assert_event(parse_netfile(BASE), parse_netfile(BASE), "");
	assert_event(topo_freeze(topo_builder_new()), topo_freeze(topo_builder_new()), "");
}

static void a_link_going_down_and_up_is_reported_once(void **state)
{
	struct topo *t = parse_netfile(BASE);

	assert_event(topo_ref(t), with_link_down(t, "spine", 2), "leaf-1 p4 - spine p2: down\n");
	assert_event(with_link_down(t, "leaf-1", 4), topo_ref(t), "leaf-1 p4 - spine p2: up\n");
	topo_unref(t);
}

static void items_carry_both_indices_and_the_lower_guids_port(void **state)
{
	struct topo *t = parse_netfile(BASE), *cut = with_link_down(t, "spine", 2);
	struct diff *d = diff_new(t, cut);

	assert_int_equal(d->count, 1);
	assert_int_equal(d->items[0].kind, DIFF_LINK_DOWN);
	assert_int_equal(d->items[0].old_node, 0);
	assert_int_equal(d->items[0].new_node, 0);
	assert_int_equal(d->items[0].port, 4);
	diff_free(d);
	diff_free(NULL);
	topo_unref(cut);
	topo_unref(t);
}

static void a_node_that_goes_takes_its_cables_along(void **state)
{
	const char *host = "Ca 1 \"H-0000000000000201\" # \"b HCA-1\"\n";
	char *text = mem_strdup(BASE), *end = strstr(text, host);
	char *cable = strstr(text, "[1] \"H-0000000000000201\"");

	memset(end, '\n', strlen(host));
	memset(cable, '\n', strcspn(cable, "\n"));
	assert_event(parse_netfile(BASE), parse_netfile(text),
		     "b HCA-1 0x0000000000000201: gone\n");
	assert_event(parse_netfile(text), parse_netfile(BASE), "b HCA-1 0x0000000000000201: new\n");
	free(text);
}

static void a_moved_cable_is_gone_and_new(void **state)
{
	assert_event(parse_netfile(BASE),
		     changed("[4] \"S-0000000000000003\"[2]", "[5] \"S-0000000000000003\"[2]"),
		     "leaf-1 p4 - spine p2: gone\nleaf-1 p5 - spine p2: new\n");
	assert_event(parse_netfile(BASE),
		     changed("[4] \"S-0000000000000003\"[2]", "[4] \"S-0000000000000003\"[7]"),
		     "leaf-1 p4 - spine p2: gone\nleaf-1 p4 - spine p7: new\n");
}

static void a_slower_link_and_a_new_name_are_reported(void **state)
{
	assert_event(parse_netfile(BASE),
		     changed("\"S-0000000000000003\"[3] # \"spine\" lid 0 4xHDR",
			     "\"S-0000000000000003\"[3] # \"spine\" lid 0 1xEDR"),
		     "leaf-2 p3 - spine p3: 1xEDR, was 4xHDR\n");
	assert_event(parse_netfile(BASE), changed("# \"leaf-2\"", "# \"leaf-9\""),
		     "leaf-9 0x0000000000000002: name changed, was 'leaf-2'\n");
}

/* Its ports are read behind the first snapshot that has it. */
static void a_link_whose_speed_was_not_known_has_not_changed_it(void **state)
{
	for (unsigned known_before = 0; known_before < 2; known_before++) {
		struct topo *t = parse_netfile(BASE), *other = topo_with_ports(t);

		for (uint32_t p = 0; p < other->nports; p++) {
			((struct topo_port *)other->ports)[p].speed = 0;
			((struct topo_port *)other->ports)[p].width = 0;
		}
		if (known_before)
			assert_event(t, other, "");
		else
			assert_event(other, t, "");
	}
}

static void a_self_link_is_reported_at_its_lower_port(void **state)
{
	assert_event(parse_netfile(BASE),
		     changed("Ca 1 \"H-0000000000000101\"",
			     "[7] \"S-0000000000000003\"[6]\nCa 1 \"H-0000000000000101\""),
		     "spine p6 - spine p7: new\n");
}

/* The same ports in a snapshot that shares nothing with the older one. */
static struct topo *apart(const struct topo *t)
{
	return topo_freeze(topo_builder_from(t));
}

static void snapshots_made_again_differ_as_others_do(void **state)
{
	struct topo *older = parse_netfile(BASE), *newer = topo_with_ports(older), *other;
	struct diff *quick, *slow;

	for (uint32_t i = 0; i < older->nports; i++) {
		const struct topo_port *was = &older->ports[i];
		uint32_t cable = was->peer < i ? was->peer : i;
		bool up = was->link_up && cable % 3;
		struct topo_port attr = { .state = up ? TOPO_ACTIVE : TOPO_DOWN,
					  .speed = up ? TOPO_EDR + cable % 2 : 0,
					  .width = was->width };

		topo_with_port(newer, i, &attr, up);
	}
	other = apart(newer);
	quick = diff_new(older, newer);
	slow = diff_new(older, other);
	assert_true(quick->count >= 4);
	assert_int_equal(quick->count, slow->count);
	for (uint32_t i = 0; i < slow->count; i++) {
		assert_int_equal(quick->items[i].kind, slow->items[i].kind);
		assert_int_equal(quick->items[i].old_node, slow->items[i].old_node);
		assert_int_equal(quick->items[i].new_node, slow->items[i].new_node);
		assert_int_equal(quick->items[i].port, slow->items[i].port);
	}
	diff_free(quick);
	diff_free(slow);
	topo_unref(older); /* what the newer one has of it stays */
	quick = diff_new(newer, other);
	assert_int_equal(quick->count, 0);
	diff_free(quick);
	topo_unref(newer);
	topo_unref(other);
}

static void faults_come_first(void **state)
{
	struct topo *older = parse_netfile(BASE), *newer;
	struct topo *other = changed("# \"a HCA-1\"", "# \"z HCA-1\"");
	struct topo_builder *b = topo_builder_from(other);
	struct topo_node attr = { .guid = 0x55, .type = TOPO_SWITCH, .nports = 4, .desc = "fresh" };

	assert_true(topo_builder_node(b, &attr) >= 0);
	assert_int_equal(topo_builder_link(b, 0, 8, 2, 8, true), 0);
	assert_int_equal(topo_builder_link_down(b, 1, 3), 0);
	newer = topo_freeze(b);
	topo_unref(other);
	assert_event(older, newer,
		     "leaf-2 p3 - spine p3: down\nfresh 0x0000000000000055: new\n"
		     "leaf-1 p8 - spine p8: new\nz HCA-1 0x0000000000000101: name changed, was 'a "
		     "HCA-1'\n");
}

static void nodes_are_matched_by_guid_whatever_their_index(void **state)
{
	struct topo *t = parse_netfile(BASE), *newer;
	struct topo_builder *b = topo_builder_from(t);
	struct topo_node attr = { .guid = 0, .type = TOPO_SWITCH, .nports = 4, .desc = "first" };

	assert_true(topo_builder_node(b, &attr) >= 0); /* all indices move up by one */
	assert_int_equal(topo_builder_link_down(b, 0, 4), 0);
	newer = topo_freeze(b);
	assert_event(t, newer, "leaf-1 p4 - spine p2: down\nfirst 0x0000000000000000: new\n");
}

static void a_large_fabric_differs_in_its_one_fault(void **state)
{
	char err[128];
	struct topo *t = generate_superpod(GENERATE_H100, 16, true, err, sizeof(err));
	struct topo *cut = with_link_down(t, "leaf-su03-rail5", 40);

	assert_event(t, cut, "leaf-su03-rail5 p40 - spine-p03-08 p6: down\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_snapshots_differ_in_nothing),
		cmocka_unit_test(a_link_going_down_and_up_is_reported_once),
		cmocka_unit_test(items_carry_both_indices_and_the_lower_guids_port),
		cmocka_unit_test(a_node_that_goes_takes_its_cables_along),
		cmocka_unit_test(a_moved_cable_is_gone_and_new),
		cmocka_unit_test(a_slower_link_and_a_new_name_are_reported),
		cmocka_unit_test(a_link_whose_speed_was_not_known_has_not_changed_it),
		cmocka_unit_test(a_self_link_is_reported_at_its_lower_port),
		cmocka_unit_test(snapshots_made_again_differ_as_others_do),
		cmocka_unit_test(faults_come_first),
		cmocka_unit_test(nodes_are_matched_by_guid_whatever_their_index),
		cmocka_unit_test(a_large_fabric_differs_in_its_one_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
