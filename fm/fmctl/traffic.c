/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* traffic: counters of ports and the busiest links, as people read them. */
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"

#define ENDS	    4 /* of the columns of `counters`: which port */
#define VALUES	    8 /* behind these */
#define COLUMNS_MAX 16

/* Errors that no port has are left out. */
static void show_counters(const struct fmctl *ctl, const json_t *result)
{
	const struct table_column *all = ctl->command->columns;
	struct table_column shown[COLUMNS_MAX + 1] = { 0 };
	unsigned count = 0;

	for (unsigned i = 0; all[i].title && count < COLUMNS_MAX; i++)
		if (i < ENDS || (i >= ENDS + VALUES) == ctl->given)
			shown[count++] = all[i];
	show_rows(ctl, result, shown, ctl->given ? 0 : VALUES - 2);
}
const struct fmctl_view counters_view = { .show = show_counters };

static void show_top(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = {
		{ "FROM", "from.name" },      { "PORT", "from.port" },	    { "TO", "to.name" },
		{ "PORT", "to.port" },	      { "LOAD %", "load_percent" }, { "Gb/s", "gbps" },
		{ "BACK Gb/s", "back_gbps" }, { "WIDTH", "width" },	    { "SPEED", "speed" },
		{ "ERR/s", "errors_per_s" },  { "READ s AGO", "age_s" },    { 0 }
	};
	const json_t *hottest = json_object_get(result, "hottest");
	const json_t *errors = json_object_get(result, "errors");

	json_int_t links = json_integer_value(json_object_get(result, "links"));

	printf("%lld %s up, load known for %lld\n", (long long)links,
	       links == 1 ? "link is" : "links are",
	       (long long)json_integer_value(json_object_get(result, "known")));
	if (json_array_size(hottest))
		show_rows(ctl, hottest, columns, 0);
	if (!json_array_size(errors))
		return;
	puts("\nmost errors");
	show_rows(ctl, errors, columns, 0);
}
const struct fmctl_view top_view = { .show = show_top };
