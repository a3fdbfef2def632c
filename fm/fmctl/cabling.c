/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl cabling: cables in the wrong place. fmd gives the fabric as it is, down cables too; a plan
 * is an ibnetdiscover file of the caller's, read here: fmd opens no files for others.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/cabling.h"
#include "topology/netfile.h"
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
		.desc = string(row, "name"),
		.nports = (uint8_t)json_integer_value(table_value(row, "ports")),
		.type = !strcmp(type, "switch")	  ? TOPO_SWITCH
			: !strcmp(type, "router") ? TOPO_ROUTER
						  : TOPO_CA,
		.sharp = !strcmp(string(row, "role"), "sharp"),
	};

	return topo_builder_node(b, &attr);
}

static int add_link(struct topo_builder *b, const json_t *row)
{
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

static json_t *end_json(const struct cabling_end *end)
{
	return end->name ? json_pack("{ss si}", "name", end->name, "port", (int)end->port)
			 : json_null();
}

static json_t *item_json(const struct cabling_item *item)
{
	char text[768];
	json_t *row;

	cabling_describe(item, text, sizeof(text));
	row = json_pack("{ss ss so so so so}", "kind", cabling_kind_name(item->kind), "text", text,
			"a", end_json(&item->a), "b", end_json(&item->b), "a_leads_to",
			end_json(&item->a_found), "b_leads_to", end_json(&item->b_found));
	if (item->kind != CABLING_RAIL)
		return row;
	json_object_del(row, "a_leads_to");
	json_object_del(row, "b_leads_to");
	json_object_set_new(row, "rail", json_integer(item->rail));
	json_object_set_new(row, "leaf_rail", json_integer(item->leaf_rail));
	json_object_set_new(row, "belongs_on",
			    item->a_found.name ? json_string(item->a_found.name) : json_null());
	return row;
}

static json_t *cabling_json(const struct cabling *c)
{
	json_t *items = json_array();

	for (uint32_t i = 0; i < c->count; i++)
		json_array_append_new(items, item_json(&c->items[i]));
	return json_pack("{si so si}", "compared", (int)c->compared, "differ", items, "not_unique",
			 (int)c->not_unique);
}

static void print_part(const char *label, const json_t *part, const char *what, const char *none)
{
	const json_t *rows = json_object_get(part, "differ"), *row;
	json_int_t left_out = json_integer_value(json_object_get(part, "not_unique"));
	size_t i;

	printf("%-12s%lld %s checked, ", label,
	       json_integer_value(json_object_get(part, "compared")), what);
	if (json_array_size(rows))
		printf("%zu findings\n", json_array_size(rows));
	else
		puts(none);
	if (left_out)
		printf("%-12s%lld nodes left out: others have the same name\n", "", left_out);
	json_array_foreach ((json_t *)rows, i, row)
		printf("  %s\n", string(row, "text"));
}

static void show_cabling(const struct fmctl *ctl, const json_t *result)
{
	const json_t *plan = json_object_get(result, "plan");

	print_part("rails", json_object_get(result, "rails"), "HCAs",
		   "no miswired rails found (uplinks are compared with --plan only)");
	if (plan)
		print_part("plan", plan, "links", "no difference from the plan");
}

static json_t *compare(const struct topo *t, const struct topo *plan)
{
	struct cabling *rails = cabling_rails(t);
	struct cabling *differ = plan ? cabling_compare(plan, t) : NULL;
	json_t *result = json_pack("{so}", "rails", cabling_json(rails));

	if (differ)
		json_object_set_new(result, "plan", cabling_json(differ));
	cabling_free(rails);
	cabling_free(differ);
	return result;
}

/* Takes nothing; says itself what is wrong. */
static enum fmctl_exit answer(const struct fmctl *ctl, const struct topo *plan)
{
	struct fmctl_answer asked =
		fmctl_ask(ctl, "topology", json_pack("{s:s}", "format", "json"));
	struct topo *t;
	json_t *result;

	if (asked.status != FMCTL_DONE)
		return asked.status;
	t = read_fabric(asked.result);
	json_decref(asked.result);
	if (!t) {
		fputs("fmctl: cabling: fmd's answer is no fabric\n", stderr);
		return FMCTL_FAILED;
	}
	result = compare(t, plan);
	(ctl->json ? show_json : show_cabling)(ctl, result);
	json_decref(result);
	topo_unref(t);
	return FMCTL_DONE;
}

static enum fmctl_exit run_cabling(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "plan", required_argument, NULL, 'p' }, { 0 } };
	const char *path = NULL;
	struct topo *plan = NULL;
	enum fmctl_exit status;
	char err[512];
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) == 'p')
		path = optarg;
	if (c != -1 || optind != argc)
		return FMCTL_USAGE;
	if (path)
		plan = netfile_read(path, err, sizeof(err));
	if (path && !plan) {
		fprintf(stderr, "fmctl: cabling: %s\n", err);
		return FMCTL_FAILED;
	}
	status = answer(ctl, plan);
	topo_unref(plan);
	return status;
}
const struct fmctl_view cabling_view = { .run = run_cabling };
