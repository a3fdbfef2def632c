/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What fmd answers, printed for people: tables of rows, and texts by documents.def.
 *
 * A column of a table is a title and the path of its value ("a.name" goes into an object), or a
 * text as in documents.def. Widths are those of the longest cell, in columns of the terminal: a
 * Chinese or Japanese character takes two. Numbers stand right, all else left.
 */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "fm/fmctl/fmctl.h"
#include "topology/base/mem.h"

#define COLUMNS_MAX 20
#define CELL_SIZE   256
#define KEY_SIZE    64
#define CUT_LEAST   20 /* columns that a cut name keeps */

struct print {
	const struct fmctl *ctl;
	FILE *out;
	const char *member; /* the name of the member that a loop over an object is at */
};

static const char *print_text(struct print *p, const char *at, const json_t *row, bool shown);

enum fmctl_exit fmctl_fail(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "fmctl: %s: ", name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return FMCTL_FAILED;
}

long long table_int(const json_t *object, const char *key)
{
	return json_integer_value(table_value(object, key));
}

const char *table_text(const json_t *object, const char *key)
{
	return json_string_value(table_value(object, key)) ?: "";
}

bool table_is(const json_t *object, const char *key)
{
	return json_is_true(table_value(object, key));
}

static const char *cell_text(const struct fmctl *ctl, const json_t *row, const char *key,
			     char buf[CELL_SIZE])
{
	const json_t *value = table_value(row, key);
	double real;

	if (strchr(key, '{')) {
		struct print p = { .ctl = ctl, .out = fmemopen(buf, CELL_SIZE, "w") };

		*buf = '\0';
		print_text(&p, key, row, true);
		fclose(p.out);
		buf[CELL_SIZE - 1] = '\0';
		return buf;
	}
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
		real = json_real_value(value);
		snprintf(buf, CELL_SIZE, real && fabs(real) < 0.005 ? "%.1e" : "%.2f", real);
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
	int gap; /* blanks between columns */
	int width[COLUMNS_MAX];
	bool number[COLUMNS_MAX];
};

/* A table that is wider than the terminal has less between columns, then the longest cells cut. */
static void layout_fit(struct layout *layout, int columns)
{
	int total = -layout->gap;

	for (unsigned i = 0; i < layout->count; i++)
		total += layout->width[i] + layout->gap;
	if (!columns || total <= columns)
		return;
	layout->gap = 1;
	total -= (int)layout->count - 1;
	for (; total > columns; total--) {
		unsigned widest = 0;

		for (unsigned i = 1; i < layout->count; i++)
			if (layout->width[i] > layout->width[widest])
				widest = i;
		if (layout->width[widest] <= CUT_LEAST)
			return;
		layout->width[widest]--;
	}
}

static void print_cell(const struct layout *layout, unsigned i, const char *text)
{
	int pad = layout->width[i] - text_width(text);
	bool last = i + 1 == layout->count;
	char cut[CELL_SIZE];

	if (pad < 0) {
		snprintf(cut, sizeof(cut) - 2, "%s", text);
		for (size_t len = strlen(cut); text_width(cut) > layout->width[i] - 2;
		     cut[len] = '\0')
			while ((cut[--len] & 0xc0) == 0x80)
				;
		text = strcat(cut, "..");
		pad = layout->width[i] - text_width(text);
	}
	if (i)
		printf("%*s", layout->gap, "");
	if (layout->number[i])
		printf("%*s%s", pad, "", text);
	else
		printf("%s%*s", text, last ? 0 : pad, "");
}

void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns)
{
	struct layout layout = { .gap = 2 };
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
			int width = text_width(cell_text(ctl, row, key, buf));

			const json_t *value = strpbrk(key, "[{") ? NULL : table_value(row, key);

			if (width > layout.width[i])
				layout.width[i] = width;
			/* Or how many of something there are. */
			layout.number[i] |= json_is_number(value) || json_is_array(value);
		}
	}
	layout_fit(&layout, ctl->columns);
	if (ctl->colour)
		fputs("\033[1m", stdout);
	for (unsigned i = 0; i < layout.count; i++)
		print_cell(&layout, i, columns[i].title);
	puts(ctl->colour ? "\033[0m" : "");
	JSON_EACH (row, rows) {
		for (unsigned i = 0; i < layout.count; i++)
			print_cell(&layout, i, cell_text(ctl, row, columns[i].key, buf));
		putchar('\n');
	}
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static bool is_filled(const json_t *rows, const char *key)
{
	JSON_EACH (row, rows) {
		char path[64]; /* without the brackets of a list */
		const json_t *value;

		snprintf(path, sizeof(path), "%.*s", (int)strcspn(key, "["), key);
		value = table_value(row, path);
		if (json_is_true(value) || json_array_size(value) || json_is_string(value) ||
		    json_number_value(value) > 0)
			return true;
	}
	return false;
}

/* Quoted where it has to be (RFC 4180). */
static void print_field(const char *text, bool last)
{
	bool quoted = strpbrk(text, ",\"\r\n");

	if (quoted)
		putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	fputs(quoted ? "\"" : "", stdout);
	putchar(last ? '\n' : ',');
}

/* The command's, or those that were asked for. */
static const struct table_column *columns_of(const struct fmctl *ctl,
					     struct table_column only[COLUMNS_MAX + 1])
{
	char *names = mem_strdup(ctl->only ?: ""), *rest = names, *name;
	unsigned count = 0;

	while (ctl->only && count < COLUMNS_MAX && (name = strsep(&rest, ",")))
		only[count++] = *command_column_find(ctl->command, name);
	only[count] = (struct table_column){ 0 };
	free(names);
	return ctl->only ? only : ctl->command->columns;
}

void show_csv(const struct fmctl *ctl, const json_t *result)
{
	const struct command *command = ctl->command;
	struct table_column only[COLUMNS_MAX + 1];
	const struct table_column *c, *first = columns_of(ctl, only);
	char buf[CELL_SIZE];

	for (c = first; c->title; c++)
		print_field(c->key, !c[1].title);
	JSON_EACH (row, command->rows ? json_object_get(result, command->rows) : result)
		for (c = first; c->title; c++)
			print_field(cell_text(ctl, row, c->key, buf), !c[1].title);
}

static void show_columns(const struct fmctl *ctl, const json_t *result)
{
	const struct command *command = ctl->command;
	const json_t *rows = command->rows ? json_object_get(result, command->rows) : result;
	struct table_column only[COLUMNS_MAX + 1], shown[COLUMNS_MAX + 1] = { 0 };
	const struct table_column *columns = columns_of(ctl, only);
	unsigned optional = ctl->only ? 0 : command->optional_columns, count = 0, kept = 0;

	while (columns[count].title)
		count++;
	for (unsigned i = 0; i < count && kept < COLUMNS_MAX; i++)
		if (i + optional < count || is_filled(rows, columns[i].key))
			shown[kept++] = columns[i];
	table_print(ctl, rows, shown);
}

/* What the act says of itself, a line each. */
static void show_lines(const struct fmctl *ctl, const json_t *result)
{
	const char *key;
	json_t *value;

	if (!json_object_size(result))
		puts("done");
	json_object_foreach ((json_t *)result, key, value) {
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

		printf("%-28s %s\n", key, json_is_string(value) ? json_string_value(value) : text);
		free(text);
	}
}

/* ---- Texts: documents.def tells how they are written ----------------------------------------- */

static const char *take_key(const char *at, char key[KEY_SIZE])
{
	size_t len = strcspn(at, ":&,=>?<|}");

	snprintf(key, KEY_SIZE, "%.*s", (int)len, at);
	return at + len;
}

static const json_t *value_of(const json_t *row, const char *key)
{
	return *key ? table_value(row, key) : row;
}

static double number_of(const json_t *value)
{
	return json_is_array(value) ? (double)json_array_size(value) : json_number_value(value);
}

static const char *take_condition(const struct print *p, const char *at, const json_t *row,
				  bool *holds)
{
	bool all = true;

	for (*holds = false;; at++) {
		bool negated = *at == '!', is;
		char key[KEY_SIZE];
		const json_t *value;

		at = take_key(at + negated, key);
		value = value_of(row, key);
		if (*at == '=') {
			const char *text = json_string_value(value) ?: "";
			size_t len = strcspn(++at, "&,:");

			is = strlen(text) == len && !strncmp(text, at, len);
			at += len;
		} else if (*at == '>')
			is = number_of(value) > strtod(at + 1, (char **)&at);
		else
			is = !strcmp(key, "%given")
				     ? p->ctl->given
				     : json_is_true(value) || json_is_object(value) ||
					       json_string_length(value) || number_of(value) != 0;
		all &= is != negated;
		if (*at == '&')
			continue;
		*holds |= all;
		all = true;
		if (*at != ',')
			return at;
	}
}

static const char *print_each(struct print *p, const char *at, const json_t *row, bool shown)
{
	char key[KEY_SIZE];
	bool last = *at == '$', wanted = true;
	const char *filter = take_key(at + last, key), *member = NULL, *body, *between, *none;
	size_t most = last	       ? 1
		      : *filter == '<' ? strtoul(filter + 1, (char **)&filter, 10)
				       : SIZE_MAX;
	json_t *rows = (json_t *)value_of(row, key), *each;
	size_t count = json_is_array(rows) ? json_array_size(rows) : json_object_size(rows);
	void *member_at = json_object_iter(rows);
	size_t done = 0;

	body = strchr(filter, ':') + 1;
	between = print_text(p, body, NULL, false);
	none = *between == '|' ? print_text(p, between + 1, NULL, false) : between;
	for (size_t i = 0; i < count && done < most && shown; i++) {
		if (member_at) {
			member = json_object_iter_key(member_at);
			each = json_object_iter_value(member_at);
			member_at = json_object_iter_next(rows, member_at);
		} else
			each = json_array_get(rows, last ? count - 1 - i : i);
		if (*filter == '?')
			take_condition(p, filter + 1, each, &wanted);
		if (!wanted)
			continue;
		if (done++ && *between == '|')
			print_text(p, between + 1, row, true);
		p->member = member;
		print_text(p, body, each, true);
	}
	return *none == '|' ? print_text(p, none + 1, row, shown && !done) : none;
}

/* A column whose title begins with '?' is left out where no row has it. */
static const char *print_rows(struct print *p, const char *at, const json_t *row, bool shown)
{
	struct table_column columns[COLUMNS_MAX + 1] = { 0 };
	size_t depth = 0, len = 0, count = 0;
	char key[KEY_SIZE], *text, *c;

	for (; depth || at[len] != '}'; len++)
		depth += (at[len] == '{') - (at[len] == '}');
	if (!shown)
		return at + len;
	if (*at == '#') {
		show_columns(p->ctl, row);
		return at + len;
	}
	text = mem_printf("%.*s", (int)len, at);
	row = value_of(row, (take_key(at, key), key));
	c = text + strlen(key);
	for (bool more = *c; more && count < COLUMNS_MAX;) {
		struct table_column *column = &columns[count];

		column->title = ++c;
		c += strcspn(c, "=");
		*c++ = '\0';
		column->key = c;
		for (; *c && (depth || *c != ','); c++)
			depth += (*c == '{') - (*c == '}');
		more = *c;
		*c = '\0';
		if (*column->title != '?')
			count++;
		else if (is_filled(row, column->key)) {
			column->title++;
			count++;
		}
	}
	columns[count] = (struct table_column){ 0 };
	table_print(p->ctl, row, columns);
	free(text);
	return at + len;
}

/* Of "6.2/1000": the width, digits behind the point, and what the number is divided by. */
static const char *print_number(const struct print *p, const char *at, const json_t *row,
				double number, bool shown)
{
	bool zeros = *at == '0', whole;
	int width = strtol(at, (char **)&at, 10), digits = 0;
	char format[16];

	whole = *at != '.';
	if (!whole)
		digits = strtol(at + 1, (char **)&at, 10);
	array_printf(format, "%%%s*.*%c", zeros ? "0" : "",
		     isalpha((unsigned char)*at) ? *at++ : 'f');
	while (*at && *at != '}') {
		char operator= * at, *end, key[KEY_SIZE];
		double by = strtod(at + 1, &end);

		if (end == at + 1)
			by = number_of(value_of(row, (end = (char *)take_key(at + 1, key), key)));
		at = end;
		number = operator== '+' ? number + by
			 : by <= 0	? 0
			 :
			 operator== '%' ? fmod(number, by)
			 : whole	? trunc(number / by)
					: number / by;
	}
	if (shown)
		fprintf(p->out, format, width, digits, number);
	return at;
}

static const char *print_value(const struct print *p, const char *at, const json_t *row, bool shown)
{
	char key[KEY_SIZE];
	const json_t *value;
	const char *text;
	double number;
	size_t one;

	at = take_key(at, key);
	value = value_of(row, key);
	number = number_of(value);
	if (*at != ':') {
		text = *key == '@' ? p->member : json_string_value(value);
		if (shown && text)
			fputs(text, p->out);
		return at;
	}
	if (isdigit((unsigned char)*++at) || *at == '.')
		return print_number(p, at, row, number, shown);
	one = strcspn(at, "|");
	text = number == 1 ? at : at + one + 1;
	if (shown)
		fprintf(p->out, "%.0f %.*s", number, (int)strcspn(text, "|}"), text);
	return at + one + strcspn(at + one, "}");
}

/* Prints up to the end of the text, or of this part of a brace's. Returns where that is. */
static const char *print_text(struct print *p, const char *at, const json_t *row, bool shown)
{
	for (; *at && *at != '|' && *at != '}'; at++) {
		bool coloured = shown && p->ctl->colour, holds;

		if (*at != '{') {
			if (shown)
				fputc(*at, p->out);
			continue;
		}
		switch (*++at) {
		case '?':
			at = take_condition(p, at + 1, row, &holds);
			at = print_text(p, at + 1, row, shown && holds);
			if (*at == '|')
				at = print_text(p, at + 1, row, shown && !holds);
			break;
		case '*':
			at = print_each(p, at + 1, row, shown);
			break;
		case '#':
			at = print_rows(p, at + 1, row, shown);
			break;
		case '+':
		case '-':
			if (coloured)
				fputs(*at == '+' ? "\033[32m" : "\033[31m", p->out);
			at = print_text(p, at + 1, row, shown);
			if (coloured)
				fputs("\033[0m", p->out);
			break;
		default:
			at = print_value(p, at, row, shown);
		}
	}
	return at;
}

void show_document(const struct fmctl *ctl, const char *name, const json_t *result)
{
	static const struct {
		const char *name, *text;
	} documents[] = {
#define DOCUMENT(name_, text_) { name_, text_ },
#include "fm/control/documents.def"
#undef DOCUMENT
	};
	struct print p = { .ctl = ctl, .out = stdout };

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
		if (!strcmp(documents[i].name, name)) {
			print_text(&p, documents[i].text, result, true);
			return;
		}
	(ctl->command->columns ? show_columns : show_lines)(ctl, result);
}

void show_answer(const struct fmctl *ctl, const json_t *result)
{
	show_document(ctl, ctl->command->name, result);
}
