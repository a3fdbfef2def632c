/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/intake_exposition.h"

/*
 *   NAME [{ LABEL="value" , .. }] VALUE [TIMESTAMP]
 *
 * with blanks between any two of these, `# ..` for remarks, and \\ \" \n in label values. Values
 * are strtod's, with NaN, +Inf and -Inf; words that exporters write for no value ("N/A",
 * "<<<NOT_SUPPORTED>>>") are NaN.
 *
 * Two thousand hosts say 100 KB each every quarter of a minute, nearly all of it of no interest
 * here. So a line costs a memchr for its end and one comparison with the name of the line before;
 * labels and value are looked at only where the name is wanted.
 */

#define NUMBER_MAX 63 /* characters of a value */

void exposition_init(struct exposition *e, const struct exposition_ops *ops, void *arg)
{
	e->ops = ops;
	e->arg = arg;
	e->lines = 0;
	e->fault = NULL;
	e->kind = -1;
	e->name_len = e->carried = 0;
}

static bool fail(struct exposition *e, const char *words)
{
	e->fault = words;
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

static const char *skip_name(const char *p, const char *end)
{
	if (p < end && is_letter(*p))
		while (p < end && (is_letter(*p) || (*p >= '0' && *p <= '9')))
			p++;
	return p;
}

/* The quote that ends a value: one with an even number of backslashes before it. */
static const char *find_quote(const char *p, const char *end)
{
	const char *start = p;

	for (; (p = memchr(p, '"', end - p)); p++) {
		const char *back = p;

		while (back > start && back[-1] == '\\')
			back--;
		if ((p - back) % 2 == 0)
			return p;
	}
	return NULL;
}

/* One `NAME="value"`; behind it, or NULL. */
static const char *read_label(const char *p, const char *end, struct exposition_sample *sample)
{
	struct exposition_text name = { .at = p }, value;
	const char *quote;

	p = skip_name(p, end);
	name.len = p - name.at;
	p = skip_blanks(p, end);
	if (!name.len || p == end || *p != '=')
		return NULL;
	p = skip_blanks(p + 1, end);
	if (p == end || *p != '"')
		return NULL;
	quote = find_quote(p + 1, end);
	if (!quote)
		return NULL;
	value = (struct exposition_text){ p + 1, quote - p - 1 };
	if (sample->nlabels < EXPOSITION_LABELS) {
		sample->labels[sample->nlabels].name = name;
		sample->labels[sample->nlabels++].value = value;
	}
	return quote + 1;
}

/* From behind `{` to behind `}`; a comma may stand behind the last label. NULL = wrong. */
static const char *read_labels(const char *p, const char *end, struct exposition_sample *sample)
{
	for (;;) {
		p = skip_blanks(p, end);
		if (p < end && *p == '}')
			return p + 1;
		p = p < end ? read_label(p, end, sample) : NULL;
		if (!p)
			return NULL;
		p = skip_blanks(p, end);
		if (p < end && *p == ',')
			p++;
		else if (p == end || *p != '}')
			return NULL;
	}
}

/* What exporters write where they have no value; DCGM's own texts are in angle brackets. */
static const char blank_words[] = "|N/A|[N/A]|NA|null|nil|None|-|blank|<<<NULL>>>|<<<NOT_FOUND>>>|"
				  "<<<NOT_SUPPORTED>>>|<<<NOT_PERM>>>|NotSupported|not_supported|"
				  "unsupported|";
/* These go to the end of the line. */
static const char blank_texts[] = "|Not Supported|[Not Supported]|Not Available|No Value|No data|";

static bool is_one_of(const char *words, const char *p, size_t len)
{
	char word[NUMBER_MAX + 3];

	if (!len || len > NUMBER_MAX || memchr(p, '|', len))
		return false;
	snprintf(word, sizeof(word), "|%.*s|", (int)len, p);
	return strcasestr(words, word);
}

static bool read_number(const char *p, size_t len, double *value)
{
	char copy[NUMBER_MAX + 1], *end;
	size_t digits = 0;
	long number = 0;

	/* Most values are short whole numbers. */
	for (; digits < len && digits < 9 && p[digits] >= '0' && p[digits] <= '9'; digits++)
		number = number * 10 + (p[digits] - '0');
	*value = digits && digits == len ? (double)number : NAN;
	if ((digits && digits == len) || is_one_of(blank_words, p, len))
		return true;
	if (!len || len > NUMBER_MAX)
		return false;
	memcpy(copy, p, len);
	copy[len] = '\0';
	*value = strtod(copy, &end);
	return end == copy + len;
}

static const char *skip_word(const char *p, const char *end)
{
	while (p < end && !is_blank(*p))
		p++;
	return p;
}

/* Value and timestamp, to the end of the line. */
static bool read_value(const char *p, const char *end, double *value)
{
	double timestamp;
	const char *word = skip_blanks(p, end);

	*value = NAN;
	if (is_one_of(blank_texts, word, end - word))
		return true;
	p = skip_word(word, end);
	if (!read_number(word, p - word, value))
		return false;
	word = skip_blanks(p, end);
	p = skip_word(word, end);
	if (word < end && !read_number(word, p - word, &timestamp))
		return false;
	return skip_blanks(p, end) == end;
}

/* Behind the metric's name, its kind found; NULL = there is none. */
static const char *read_name(struct exposition *e, const char *p, const char *end)
{
	struct exposition_text name = { .at = p };

	if (e->name_len && (size_t)(end - p) > e->name_len &&
	    (p[e->name_len] == '{' || is_blank(p[e->name_len])) && !memcmp(p, e->name, e->name_len))
		return p + e->name_len; /* as in the line before */
	p = skip_name(p, end);
	name.len = p - name.at;
	if (!name.len || p == end || (*p != '{' && !is_blank(*p)))
		return NULL;
	e->kind = e->ops->kind(e->arg, name);
	e->name_len = name.len < sizeof(e->name) ? name.len : 0;
	memcpy(e->name, name.at, e->name_len);
	return p;
}

static bool read_line(struct exposition *e, const char *line, size_t len)
{
	const char *end = line + len, *p = skip_blanks(line, end);
	struct exposition_sample sample;

	e->lines++;
	if (len && end[-1] == '\r')
		end--;
	if (p >= end || *p == '#')
		return true;
	p = read_name(e, p, end);
	if (!p)
		return fail(e, "a line has no metric name");
	if (e->kind < 0)
		return true;
	sample.nlabels = 0;
	p = skip_blanks(p, end);
	if (p < end && *p == '{')
		p = read_labels(p + 1, end, &sample);
	if (!p)
		return fail(e, "labels are malformed");
	if (!read_value(p, end, &sample.value))
		return fail(e, "a value is not a number");
	e->ops->sample(e->arg, e->kind, &sample);
	return true;
}

/* Of a line that is longer than `carry`, which has its beginning. */
static bool is_wanted(struct exposition *e)
{
	const char *end = e->carry + sizeof(e->carry), *p = skip_blanks(e->carry, end);

	return p < end && *p != '#' && (!read_name(e, p, end) || e->kind >= 0);
}

/*
 * The piece's beginning ends the line that was begun, or not even that. Returns how much of it was
 * taken. What is too long is passed over, `carry` full to its end, unless it is wanted.
 */
static size_t complete_line(struct exposition *e, const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len;
	size_t room = sizeof(e->carry) - e->carried;

	if (part >= room) {
		memcpy(e->carry + e->carried, data, room);
		if (room && is_wanted(e))
			fail(e, "a line is too long");
		e->carried = newline ? 0 : sizeof(e->carry);
		return newline ? part + 1 : len;
	}
	memcpy(e->carry + e->carried, data, part);
	e->carried += part;
	if (!newline)
		return len;
	read_line(e, e->carry, e->carried);
	e->carried = 0;
	return part + 1;
}

bool exposition_feed(struct exposition *e, const char *data, size_t len)
{
	const char *end = data + len, *newline;

	if (e->carried && !e->fault && len)
		data += complete_line(e, data, len);
	while (!e->fault && data < end && (newline = memchr(data, '\n', end - data))) {
		if (newline - data < EXPOSITION_LINE)
			read_line(e, data, newline - data);
		else
			complete_line(e, data, newline - data + 1);
		data = newline + 1;
	}
	if (!e->fault && data < end)
		complete_line(e, data, end - data);
	return !e->fault;
}

bool exposition_end(struct exposition *e)
{
	if (!e->fault && e->carried)
		return fail(e, "it ends within a line");
	return !e->fault;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

bool exposition_is(struct exposition_text text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.at, word, text.len);
}

struct exposition_text exposition_label(const struct exposition_sample *sample, const char *name)
{
	for (unsigned i = 0; i < sample->nlabels; i++)
		if (exposition_is(sample->labels[i].name, name))
			return sample->labels[i].value;
	return (struct exposition_text){ 0 };
}

void exposition_copy(struct exposition_text text, char *to, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < text.len && used + 1 < size; i++) {
		char c = text.at[i];

		if (c == '\\' && i + 1 < text.len) {
			c = text.at[++i];
			c = c == 'n' ? '\n' : c;
		}
		to[used++] = c;
	}
	to[used] = '\0';
}

void exposition_copy_shown(struct exposition_text text, char *to, size_t size)
{
	exposition_copy(text, to, size);
	for (; *to; to++)
		if (*to <= ' ' || *to > '~')
			*to = '?';
}
