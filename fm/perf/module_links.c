/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* All that makes links unhealthy, as the rooms that find it add rows: `fmctl links --sick`. */
#include "fm/fabric/view.h"
#include "fm/keys/module.h"
#include "fm/links_out/module.h"
#include "fm/perf/module.h"
#include "fm/traps/module.h"
#include "topology/base/mem.h"

/* How bad the counters of a link are; 0 = the word is no verdict on counters. */
static unsigned badness(const json_t *row)
{
	static const char *const words[] = { "errors", "warn", "sick" };
	const char *word = json_string_value(json_object_get(row, "sick"));

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return i + 1;
	return 0;
}

json_t *link_health_links(const struct fabric *fabric)
{
	json_t *rows = json_array();

	if (fabric_view(fabric).topo) {
		links_out_rows(fabric, rows);
		error_traps_unhealthy(fabric, rows);
		link_health_unhealthy(fabric, rows);
		port_keys_unhealthy(fabric, rows);
	}

	/*
	 * One row of a link for its quarantine and its counters; what is no such row stays by
	 * itself.
	 */
	json_t *links = json_object(), *joined = json_array(), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *end = json_object_get(row, "a");
		bool counters = json_object_get(row, "ber");
		char key[32];

		array_printf(key, "%.20s %d", json_string_value(json_object_get(end, "guid")),
			     (int)json_integer_value(json_object_get(end, "port")));
		if (counters && json_object_get(links, key)) {
			/*
			 * Adds a verdict on counters to the row of a quarantine, or to that of the
			 * link's other end. The reason of a quarantine that lasts until the link is
			 * clean has the error rate already.
			 */
			json_t *entry = json_object_get(links, key);
			const char *why = json_string_value(json_object_get(entry, "why"));
			const char *more = json_string_value(json_object_get(row, "why"));
			bool known = json_is_true(json_object_get(entry, "until_clean")) &&
				     badness(row) == 1;

			if (!known && why && more && strcmp(why, more))
				json_object_set_new(entry, "why",
						    json_sprintf("%s; %s", why, more));
			if (badness(entry) && badness(entry) < badness(row))
				json_object_set(entry, "sick", json_object_get(row, "sick"));
			json_object_update_missing(entry, row);

			continue;
		}
		if (counters || json_object_get(row, "seconds"))
			json_object_set(links, key, row);
		json_array_append(joined, row);
	}
	json_decref(links);
	json_decref(rows);
	return joined;
}
