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
 * here. So a line costs a copy and one comparison with the name of the line before; labels and
 * value are looked at only where the name is wanted.
 */

#define NUMBER_MAX 63 /* characters of a value */

void exposition_init(struct exposition *e, const struct exposition_ops *ops, void *arg)
{
	e->ops = ops;
	e->arg = arg;
	e->fault = NULL;
	e->kind = -1;
	e->name_len = e->carried = 0;
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
		value.at = l->p;
		while (l->p < l->end && *l->p != '"')
			l->p += 1 + (*l->p == '\\');
		if (l->p >= l->end)
			return false;
		value.len = l->p++ - value.at;
		if (sample->nlabels < EXPOSITION_LABELS) {
			sample->labels[sample->nlabels].name = name;
			sample->labels[sample->nlabels++].value = value;
		}
		lex_skip_blanks(l);
	} while (lex_take_char(l, ','));
	return lex_take_char(l, '}');
}

/* What exporters write where they have no value; DCGM's own texts are in angle brackets. */
static const char blanks[] = "N/A|[N/A]|NA|null|nil|None|-|blank|<<<NULL>>>|<<<NOT_FOUND>>>|"
			     "<<<NOT_SUPPORTED>>>|<<<NOT_PERM>>>|NotSupported|not_supported|"
			     "unsupported|Not Supported|[Not Supported]|Not Available|No Value|"
			     "No data|";

static bool is_blank(const struct lex *l, size_t len)
{
	return l->p + len >= l->end || l->p[len] == ' ' || l->p[len] == '\t';
}

/* A number up to a blank, or words for none. */
static bool take_number(struct lex *l, double *value)
{
	char copy[NUMBER_MAX + 1], *end;
	size_t len;

	*value = NAN;
	for (const char *word = blanks; *word; word += len + 1) {
		len = strcspn(word, "|");
		if (l->p + len <= l->end && is_blank(l, len) && !strncasecmp(l->p, word, len)) {
			l->p += len;
			return true;
		}
	}
	for (len = 0; !is_blank(l, len); len++)
		;
	if (!len || len > NUMBER_MAX)
		return false;
	memcpy(copy, l->p, len);
	copy[len] = '\0';
	*value = strtod(copy, &end);
	l->p += len;
	return end == copy + len;
}

/* Value and timestamp; OpenMetrics may have an exemplar behind these. */
static bool read_value(struct lex *l, double *value)
{
	double timestamp;

	lex_skip_blanks(l);
	if (!take_number(l, value))
		return false;
	lex_skip_blanks(l);
	if (!lex_done(l) && *l->p != '#' && !take_number(l, &timestamp))
		return false;
	lex_skip_blanks(l);
	return lex_done(l) || *l->p == '#';
}

/* Takes the metric's name, and finds its kind. False: there is none. */
static bool read_name(struct exposition *e, struct lex *l)
{
	struct exposition_text name = take_name(l);

	if (!name.len || lex_done(l) || !strchr("{ \t", *l->p))
		return false;
	if (name.len == e->name_len && !memcmp(name.at, e->name, name.len))
		return true; /* as in the line before */
	e->kind = e->ops->kind(e->arg, name);
	e->name_len = name.len < sizeof(e->name) ? name.len : 0;
	memcpy(e->name, name.at, e->name_len);
	return true;
}

/* The line that is carried. Returns what is wrong with it; one that is too long is cut. */
static const char *read_line(struct exposition *e)
{
	struct lex l = { e->carry, e->carry + e->carried };
	struct exposition_sample sample;

	if (e->carried && l.end[-1] == '\r')
		l.end--;
	lex_skip_blanks(&l);
	if (lex_done(&l) || *l.p == '#')
		return NULL;
	if (!read_name(e, &l))
		return "a line has no metric name";
	if (e->kind < 0)
		return NULL;
	if (e->carried == sizeof(e->carry))
		return "a line is too long";
	sample.nlabels = 0;
	lex_skip_blanks(&l);
	if (lex_take_char(&l, '{') && !read_labels(&l, &sample))
		return "labels are malformed";
	if (!read_value(&l, &sample.value))
		return "a value is not a number";
	e->ops->sample(e->arg, e->kind, &sample);
	return NULL;
}

bool exposition_feed(struct exposition *e, const char *data, size_t len)
{
	while (len && !e->fault) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline ? (size_t)(newline - data) : len;
		size_t room = sizeof(e->carry) - e->carried, taken = part < room ? part : room;

		memcpy(e->carry + e->carried, data, taken);
		e->carried += taken;
		if (newline) {
			e->fault = read_line(e);
			e->carried = 0;
		}
		part += newline != NULL;
		data += part;
		len -= part;
	}
	return !e->fault;
}

bool exposition_end(struct exposition *e)
{
	if (!e->fault && e->carried)
		e->fault = "it ends within a line";
	return !e->fault;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

bool exposition_is(struct exposition_text text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.at, word, text.len);
}

struct exposition_text exposition_label(const struct exposition_sample *sample, const char *names)
{
	for (size_t len; *names; names += len + (names[len] == '|')) {
		len = strcspn(names, "|");
		ARRAY_EACH (label, sample->labels, sample->nlabels)
			if (label->name.len == len && !memcmp(label->name.at, names, len))
				return label->value;
	}
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
