/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sort: the rows of an answer in the order of one of their columns. */
#include <stdlib.h>
#include <string.h>
#include "fm/control/option.h"
#include "fm/control/sort.h"
#include "topology/mem.h"
#include "topology/names.h"

enum kind { NUMBER, TEXT, NOTHING };

struct item {
	json_t *row;
	const char *text;
	double number;
	size_t at; /* where it was */
	enum kind kind;
	bool down;
};

static struct item item_of(json_t *row, size_t at, const struct row_order *order)
{
	const json_t *value = table_value(row, order->key);
	struct item item = { .row = row, .at = at, .down = order->down, .kind = NUMBER };

	if (json_is_string(value)) {
		item.kind = TEXT;
		item.text = json_string_value(value);
	} else if (json_is_array(value)) {
		item.number = (double)json_array_size(value);
	} else if (json_is_boolean(value)) {
		item.number = json_is_true(value);
	} else if (json_is_number(value)) {
		item.number = json_number_value(value);
	} else {
		item.kind = NOTHING;
	}
	return item;
}

static int compare_values(const struct item *a, const struct item *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == TEXT)
		return names_compare(a->text, strlen(a->text), b->text, strlen(b->text));
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_items(const void *va, const void *vb)
{
	const struct item *a = va, *b = vb;
	bool nothing = a->kind == NOTHING || b->kind == NOTHING;
	int order = compare_values(a, b);

	if (!order)
		return a->at < b->at ? -1 : 1;
	return a->down && !nothing ? -order : order;
}

void sort_rows(json_t *rows, const struct row_order *order)
{
	size_t count = json_array_size(rows);
	struct item *items = mem_alloc(count + 1, sizeof(*items));

	for (size_t i = 0; i < count; i++)
		items[i] = item_of(json_incref(json_array_get(rows, i)), i, order);
	qsort(items, count, sizeof(*items), compare_items);
	for (size_t i = 0; i < count; i++)
		json_array_set_new(rows, i, items[i].row);
	free(items);
}
