/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <math.h>
#include "fm/nvswitch/intake_exposition.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/*
 *   NAME [{ LABEL="value" , .. }] VALUE [TIMESTAMP] [# EXEMPLAR]
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

static struct exposition_text take_name(struct lex *l)
{
	struct exposition_text name = { .at = l->p };

	while (l->p < l->end && (isalpha((unsigned char)*l->p) || *l->p == '_' || *l->p == ':' ||
				 (l->p > name.at && isdigit((unsigned char)*l->p))))
		l->p++;
	name.len = l->p - name.at;
	return name;
}

/* From behind `{` to behind `}`: NAME="value", with a comma behind each, the last one or not. */
static bool read_labels(struct lex *l, struct exposition_sample *sample)
{
	do {
		struct exposition_text name, value;
		const char *quote = NULL;

		lex_skip_blanks(l);
		if (lex_take_char(l, '}'))
			return true;
		name = take_name(l);
		lex_skip_blanks(l);
		if (!name.len || !lex_take_char(l, '='))
			return false;
		lex_skip_blanks(l);
		if (!lex_take_char(l, '"'))
			return false;
		/* The quote that ends it has an even number of backslashes before it. */
		for (const char *p = l->p; !quote && (p = memchr(p, '"', l->end - p)); p++) {
			const char *back = p;

			while (back > l->p && back[-1] == '\\')
				back--;
			quote = (p - back) % 2 ? NULL : p;
		}
		if (!quote)
			return false;
		value = (struct exposition_text){ l->p, quote - l->p };
		l->p = quote + 1;
		if (sample->nlabels < EXPOSITION_LABELS) {
			sample->labels[sample->nlabels].name = name;
			sample->labels[sample->nlabels++].value = value;
		}
		lex_skip_blanks(l);
	} while (lex_take_char(l, ','));
	return lex_take_char(l, '}');
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
	array_printf(word, "|%.*s|", (int)len, p);
	return strcasestr(words, word);
}

/* A word up to a blank. */
static bool take_number(struct lex *l, double *value)
{
	const char *p = l->p;
	char copy[NUMBER_MAX + 1], *end;
	size_t len, digits = 0;
	long number = 0;

	while (l->p < l->end && *l->p != ' ' && *l->p != '\t')
		l->p++;
	len = l->p - p;
	/* Most values are short whole numbers. */
	for (; digits < len && digits < 9 && p[digits] >= '0' && p[digits] <= '9'; digits++)
		number = number * 10 + (p[digits] - '0');
	*value = digits && digits == len ? number : NAN;
	if ((digits && digits == len) || is_one_of(blank_words, p, len))
		return true;
	if (!len || len > NUMBER_MAX)
		return false;
	memcpy(copy, p, len);
	copy[len] = '\0';
	*value = strtod(copy, &end);
	return end == copy + len;
}

/* Value and timestamp; OpenMetrics may have an exemplar behind these. */
static bool read_value(struct lex *l, double *value)
{
	double timestamp;

	*value = NAN;
	lex_skip_blanks(l);
	if (is_one_of(blank_texts, l->p, l->end - l->p))
		return true;
	if (!take_number(l, value))
		return false;
	lex_skip_blanks(l);
	if (!lex_done(l) && *l->p != '#' && !take_number(l, &timestamp))
		return false;
	lex_skip_blanks(l);
	return lex_done(l) || *l->p == '#';
}

static bool is_behind_name(const char *p)
{
	return *p == '{' || *p == ' ' || *p == '\t';
}

/* Takes the metric's name, and finds its kind. False: there is none. */
static bool read_name(struct exposition *e, struct lex *l)
{
	struct exposition_text name;

	if (e->name_len && (size_t)(l->end - l->p) > e->name_len &&
	    is_behind_name(l->p + e->name_len) && !memcmp(l->p, e->name, e->name_len)) {
		l->p += e->name_len; /* as in the line before */
		return true;
	}
	name = take_name(l);
	if (!name.len || lex_done(l) || !is_behind_name(l->p))
		return false;
	e->kind = e->ops->kind(e->arg, name);
	e->name_len = name.len < sizeof(e->name) ? name.len : 0;
	memcpy(e->name, name.at, e->name_len);
	return true;
}

static bool read_line(struct exposition *e, const char *line, size_t len)
{
	struct lex l = { line, line + len };
	struct exposition_sample sample;

	e->lines++;
	if (len && l.end[-1] == '\r')
		l.end--;
	lex_skip_blanks(&l);
	if (lex_done(&l) || *l.p == '#')
		return true;
	if (!read_name(e, &l))
		return fail(e, "a line has no metric name");
	if (e->kind < 0)
		return true;
	sample.nlabels = 0;
	lex_skip_blanks(&l);
	if (lex_take_char(&l, '{') && !read_labels(&l, &sample))
		return fail(e, "labels are malformed");
	if (!read_value(&l, &sample.value))
		return fail(e, "a value is not a number");
	e->ops->sample(e->arg, e->kind, &sample);
	return true;
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
		struct lex l = { e->carry, e->carry + sizeof(e->carry) };

		memcpy(e->carry + e->carried, data, room);
		lex_skip_blanks(&l);
		if (room && !lex_done(&l) && *l.p != '#' && (!read_name(e, &l) || e->kind >= 0))
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
