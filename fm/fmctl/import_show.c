/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The report of `fmctl import-opensm`, and its table of options. */
#include <string.h>
#include "fm/core/words.h"
#include "fm/fmctl/import.h"

json_t *import_document(const struct import *im)
{
	return json_pack("{ss sO sO sO sO sO si si si}", "output", im->out, "read", im->read,
			 "missing", im->missing, "taken", im->taken, "not_taken", im->not_taken,
			 "warnings", im->warnings, "standard", (int)im->standard, "ports",
			 (int)im->lids.count, "ports_left_out", (int)im->lids.left_out);
}

static const char *text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value ? value : "";
}

static long long number(const json_t *doc, const char *key)
{
	return json_integer_value(json_object_get(doc, key));
}

void import_show(const json_t *doc)
{
	size_t keys = json_array_size(json_object_get(doc, "taken")), i;
	const json_t *row;

	json_array_foreach (json_object_get(doc, "read"), i, row)
		printf("read       %-16s %s: %s\n", text(row, "what"), text(row, "path"),
		       text(row, "said"));
	json_array_foreach (json_object_get(doc, "missing"), i, row)
		printf("missing    %s\n", json_string_value(row));
	json_array_foreach (json_object_get(doc, "taken"), i, row)
		printf("taken      %s %s: %s = %s\n", text(row, "option"), text(row, "value"),
		       text(row, "key"), text(row, "setting"));
	json_array_foreach (json_object_get(doc, "not_taken"), i, row)
		printf("not taken  %s %s: %s\n", text(row, "option"), text(row, "value"),
		       text(row, "why"));
	json_array_foreach (json_object_get(doc, "warnings"), i, row)
		printf("warning    %s %s: %s\n", text(row, "option"), text(row, "value"),
		       text(row, "why"));
	printf("as is      %lld options are OpenSM's defaults and need nothing\n",
	       number(doc, "standard"));
	printf("written    %s/fmd.conf: %zu %s\n", text(doc, "output"), keys,
	       words_plural(keys, "key", "keys"));
	if (number(doc, "ports"))
		printf("written    %s/state/lids: %lld %s\n", text(doc, "output"),
		       number(doc, "ports"),
		       words_plural((uint64_t)number(doc, "ports"), "port", "ports"));
}

/* ---- The table ------------------------------------------------------------------------------- */

static const char *becomes(const struct osm_option *option)
{
	return option->key ? option->key : "";
}

json_t *import_options_document(void)
{
	json_t *rows = json_array();
	const struct osm_option *o;

	for (size_t i = 0; (o = osm_option(i)); i++)
		json_array_append_new(rows,
				      json_pack("{ss ss* ss ss ss}", "option", o->name, "standard",
						o->standard, "fate", osm_fate_name(o->fate), "key",
						becomes(o), "note", o->note));
	return rows;
}

void import_show_options(void)
{
	const struct osm_option *o;

	for (size_t i = 0; (o = osm_option(i)); i++) {
		printf("%-40s %s", o->name, osm_fate_name(o->fate));
		if (o->key)
			printf(" as %s", o->key);
		printf("%s%s\n", *o->note ? ": " : "", o->note);
	}
}
