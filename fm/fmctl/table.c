/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables for people out of JSON rows. A column is a title and the way to its value ("a.name" goes
 * into an object); widths are those of the longest cell, in columns of the terminal: a Chinese or
 * Japanese character takes two. Numbers stand right, all else left.
 */
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "fm/fmctl/table.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define COLUMNS_MAX 16
#define CELL_SIZE   256

long long table_int(const json_t *object, const char *key)
{
	return json_integer_value(table_value(object, key));
}

double table_number(const json_t *object, const char *key)
{
	return json_number_value(table_value(object, key));
}

const char *table_text(const json_t *object, const char *key)
{
	return json_string_value(table_value(object, key)) ?: "";
}

bool table_is(const json_t *object, const char *key)
{
	return json_is_true(table_value(object, key));
}

static const char *cell_text(const json_t *row, const char *key, char buf[CELL_SIZE])
{
	const json_t *value = table_value(row, key);

	if (strchr(key, '/')) {
		snprintf(buf, CELL_SIZE, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
			 json_integer_value(table_value(row, key)),
			 json_integer_value(table_value(row, strchr(key, '/') + 1)));
		return buf;
	}
	if (strchr(key, '[')) {
		size_t used = 0;

		buf[0] = '\0';
		JSON_EACH (item, value)
			if (used < CELL_SIZE)
				used += snprintf(buf + used, CELL_SIZE - used, "%s%s",
						 item_at ? "; " : "", json_string_value(item));
		return buf;
	}
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		return json_string_value(value);
	case JSON_INTEGER:
		snprintf(buf, CELL_SIZE, "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value) + (strchr(key, '+') != NULL));
		return buf;
	case JSON_REAL:
		snprintf(buf, CELL_SIZE, "%.2f", json_real_value(value));
		return buf;
	case JSON_ARRAY:
		snprintf(buf, CELL_SIZE, "%zu", json_array_size(value));
		return buf;
	case JSON_TRUE:
		return "yes";
	case JSON_FALSE:
		return "no";
	default:
		return "-";
	}
}

/*
 * The columns that the text takes on a terminal. Names are UTF-8 whatever the locale of the shell
 * is. A byte that is none, and a character that this C library does not know, takes one column;
 * without a locale of UTF-8 each character does.
 */
static int text_width(const char *text)
{
	mbstate_t state = { 0 };
	wchar_t character;
	int width = 0;

	while (*text) {
		size_t size = mbrtowc(&character, text, strlen(text), &state);
		bool good = size != (size_t)-1 && size != (size_t)-2;
		int columns = good ? wcwidth(character) : -1;

		if (columns >= 0)
			width += columns;
		else
			width += ((unsigned char)*text & 0xc0) != 0x80; /* not a continuation */
		if (!good)
			state = (mbstate_t){ 0 };
		text += good ? size : 1;
	}
	return width;
}

struct layout {
	unsigned count;
	int width[COLUMNS_MAX];
	bool number[COLUMNS_MAX];
};

static void print_cell(const struct layout *layout, unsigned i, const char *text)
{
	int pad = layout->width[i] - text_width(text);
	bool last = i + 1 == layout->count;

	if (i)
		fputs("  ", stdout);
	if (layout->number[i])
		printf("%*s%s", pad, "", text);
	else
		printf("%s%*s", text, last ? 0 : pad, "");
}

void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns)
{
	struct layout layout = { 0 };
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	char buf[CELL_SIZE];

	while (layout.count < COLUMNS_MAX && columns[layout.count].title) {
		layout.width[layout.count] = text_width(columns[layout.count].title);
		layout.count++;
	}
	JSON_EACH (row, rows) {
		for (unsigned i = 0; i < layout.count; i++) {
			const char *key = columns[i].key;
			int width = text_width(cell_text(row, key, buf));

			const json_t *value = strchr(key, '[') ? NULL : table_value(row, key);

			if (width > layout.width[i])
				layout.width[i] = width;
			/* Or how many of something there are. */
			layout.number[i] |= json_is_number(value) || json_is_array(value);
		}
	}
	if (ctl->colour)
		fputs("\033[1m", stdout);
	for (unsigned i = 0; i < layout.count; i++)
		print_cell(&layout, i, columns[i].title);
	puts(ctl->colour ? "\033[0m" : "");
	JSON_EACH (row, rows) {
		for (unsigned i = 0; i < layout.count; i++)
			print_cell(&layout, i, cell_text(row, columns[i].key, buf));
		putchar('\n');
	}
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
}

void table_print_change(uint64_t entries, uint64_t least, uint64_t blocks, uint64_t switches)
{
	printf("change      %" PRIu64 " %s (least possible %" PRIu64 ") in %" PRIu64
	       " %s on %" PRIu64 " %s\n",
	       entries, words_plural(entries, "entry", "entries"), least, blocks,
	       words_plural(blocks, "block", "blocks"), switches,
	       words_plural(switches, "switch", "switches"));
}
