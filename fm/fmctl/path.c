/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fmctl path: hop by hop; between machines with several HCAs a row for each pair. */
#include <stdlib.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"

/* "leaf-01 > spine-02 > leaf-07", or why there is none. */
static json_t *via_text(const json_t *row)
{
	const json_t *list = json_object_get(row, "via"), *name;
	char text[512] = "";
	size_t i;

	if (json_object_get(row, "error"))
		return json_incref(json_object_get(row, "error"));
	json_array_foreach ((json_t *)list, i, name)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " > " : "",
			 json_string_value(name));
	return json_string(text);
}

static void show_path(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "FROM", "from" }, { "TO", "to" }, { "LID", "dlid" }, { "BY", "by" }, { 0 },
	};
	json_t *paths = json_object_get(result, "paths"), *rows, *row;
	size_t i;

	if (!paths) {
		show_columns(ctl, result);
		return;
	}
	rows = json_deep_copy(paths);
	json_array_foreach (rows, i, row)
		json_object_set_new(row, "by", via_text(row));
	table_print(ctl, rows, columns);
	json_decref(rows);
}
const struct fmctl_view path_view = { .show = show_path };
