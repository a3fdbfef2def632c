/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl cabling: cables in the wrong place. fmd compares the fabric with its own pattern. For a
 * plan, fmd sends the fabric with its links that are down, and fmctl reads the plan and compares:
 * fmd opens no files for its clients.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/cabling.h"
#include "topology/topo_builder.h"

/* ---- The fabric out of fmd's document -------------------------------------------------------- */

static const char *string(const json_t *object, const char *key)
{
	const char *text = json_string_value(table_value(object, key));

	return text ? text : "";
}

static guid_t guid(const json_t *object, const char *key)
{
	return strtoull(string(object, key), NULL, 16);
}

static int add_node(struct topo_builder *b, const json_t *row)
{
	const char *type = string(row, "type");
	const struct topo_node_attr attr = {
		.guid = guid(row, "guid"),
		.desc = string(row, "description"),
		.label = string(row, "name"),
		.nports = (uint8_t)json_integer_value(table_value(row, "ports")),
		.type = !strcmp(type, "switch")	  ? TOPO_SWITCH
			: !strcmp(type, "router") ? TOPO_ROUTER
						  : TOPO_CA,
		.sharp = !strcmp(string(row, "role"), "sharp"),
	};

	return topo_builder_node(b, &attr);
}

static void add_label(struct topo_builder *b, const json_t *row, const char *end)
{
	const json_t *at = json_object_get(row, end);
	const char *label = string(at, "label");

	if (*label)
		topo_builder_label(b, topo_builder_find(b, guid(at, "guid")),
				   (unsigned)json_integer_value(json_object_get(at, "port")),
				   label);
}

static int add_link(struct topo_builder *b, const json_t *row)
{
	add_label(b, row, "a");
	add_label(b, row, "b");
	return topo_builder_link(b, topo_builder_find(b, guid(row, "a.guid")),
				 (unsigned)json_integer_value(table_value(row, "a.port")),
				 topo_builder_find(b, guid(row, "b.guid")),
				 (unsigned)json_integer_value(table_value(row, "b.port")),
				 json_is_true(table_value(row, "up")));
}

/* NULL when the document is no fabric. */
static struct topo *read_fabric(const json_t *document)
{
	struct topo_builder *b = topo_builder_new();
	const json_t *row;
	int status = 0;
	size_t i;

	json_array_foreach (json_object_get(document, "nodes"), i, row)
		if (status >= 0)
			status = add_node(b, row);
	json_array_foreach (json_object_get(document, "links"), i, row)
		if (status >= 0)
			status = add_link(b, row);
	if (status >= 0)
		return topo_freeze(b);
	topo_builder_free(b);
	return NULL;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static size_t count_findings(const json_t *part)
{
	return json_array_size(json_object_get(part, "differ"));
}

static void print_finding(const json_t *row)
{
	const char *instruction = string(row, "instruction");
	json_int_t of = json_integer_value(table_value(row, "of"));

	printf("  %s\n", string(row, "text"));
	printf("      %s", instruction);
	if (of && !table_value(row, "expected.width") && strcmp(string(row, "kind"), "host") != 0)
		printf(" (%lld of %lld agree)", json_integer_value(table_value(row, "votes")), of);
	putchar('\n');
}

static void print_part(const char *label, const json_t *part)
{
	const json_t *rows = json_object_get(part, "differ"), *row;
	json_int_t expected = json_integer_value(json_object_get(part, "compared"));
	json_int_t left_out = json_integer_value(json_object_get(part, "not_unique"));
	json_int_t cables = json_integer_value(json_object_get(part, "cables"));
	size_t i;

	printf("%-12s%lld %s, %lld expected by the %s", label, cables,
	       words_plural((uint64_t)cables, "cable", "cables"), expected, label);
	if (json_array_size(rows))
		printf(": %zu finding%s\n", json_array_size(rows),
		       json_array_size(rows) == 1 ? "" : "s");
	else
		printf(": %s\n", expected ? "no cabling errors found" : "too little to compare");
	if (left_out)
		printf("%-12s%lld %s not unique\n", "", left_out,
		       words_plural((uint64_t)left_out, "node ignored: its name is",
				    "nodes ignored: their names are"));
	json_array_foreach ((json_t *)rows, i, row)
		print_finding(row);
}

static void show_cabling(const struct fmctl *ctl, const json_t *result)
{
	const json_t *plan = json_object_get(result, "plan");

	print_part("pattern", json_object_get(result, "pattern"));
	if (plan)
		print_part("plan", plan);
}

struct order {
	const char *plan; /* path, NULL = none */
	bool check;
};

/* The fabric, as fmd gives it; NULL when that failed: *status says how, stderr why. */
static struct topo *ask_fabric(const struct fmctl *ctl, enum fmctl_exit *status)
{
	struct fmctl_answer asked =
		fmctl_ask(ctl, "topology", json_pack("{s:s}", "format", "json"));
	struct topo *t;

	*status = asked.status;
	if (asked.status != FMCTL_DONE)
		return NULL;
	t = read_fabric(asked.result);
	json_decref(asked.result);
	if (!t) {
		fputs("fmctl: cabling: fmd's answer is not a topology\n", stderr);
		*status = FMCTL_FAILED;
	}
	return t;
}

static enum fmctl_exit add_plan(const struct fmctl *ctl, const char *path, json_t *result)
{
	enum fmctl_exit status;
	struct topo *t = ask_fabric(ctl, &status), *plan;
	struct cabling *differ;
	char err[512];

	if (!t)
		return status;
	plan = cabling_plan_read(path, t, err, sizeof(err));
	if (!plan) {
		fprintf(stderr, "fmctl: cabling: %s\n", err);
		topo_unref(t);
		return FMCTL_FAILED;
	}
	differ = cabling_compare(plan, t);
	json_object_set_new(result, "plan", cabling_json(differ));
	cabling_free(differ);
	topo_unref(plan);
	topo_unref(t);
	return FMCTL_DONE;
}

static enum fmctl_exit answer(const struct fmctl *ctl, const struct order *order)
{
	struct fmctl_answer asked = fmctl_ask(ctl, "cabling", json_object());
	size_t findings;

	if (asked.status == FMCTL_DONE && order->plan)
		asked.status = add_plan(ctl, order->plan, asked.result);
	if (asked.status != FMCTL_DONE) {
		json_decref(asked.result);
		return asked.status;
	}
	(ctl->json ? show_json : show_cabling)(ctl, asked.result);
	findings = count_findings(json_object_get(asked.result, "pattern")) +
		   count_findings(json_object_get(asked.result, "plan"));
	json_decref(asked.result);
	return order->check && findings ? FMCTL_FAILED : FMCTL_DONE;
}

static enum fmctl_exit run_cabling(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "plan", required_argument, NULL, 'p' },
					       { "check", no_argument, NULL, 'c' },
					       { 0 } };
	struct order order = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'p')
			order.plan = optarg;
		else if (c == 'c')
			order.check = true;
		else
			return FMCTL_USAGE;
	}
	return optind == argc ? answer(ctl, &order) : FMCTL_USAGE;
}
const struct fmctl_view cabling_view = { .run = run_cabling };
