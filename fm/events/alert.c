/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* alert: one list, oldest first. There are few at a time, so it is searched from its head. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/events/alert.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define TROUBLE "trouble"

struct alert {
	struct alert *next;
	char *what, *subject, *text;
	char *error; /* of a trouble: the text without its subject */
	bool stale;  /* under review, and not raised again yet */
	uint64_t since_us;
	char since[EVENT_TIME];
};

struct alerts {
	struct loop *loop;
	struct event_log *events;
	struct alert *list;
};

struct alerts *alerts_new(struct loop *loop, struct event_log *events)
{
	struct alerts *a = mem_alloc(1, sizeof(*a));

	*a = (struct alerts){ .loop = loop, .events = events };
	return a;
}

static void alert_free(struct alert *it)
{
	free(it->what);
	free(it->subject);
	free(it->text);
	free(it->error);
	free(it);
}

void alerts_free(struct alerts *a)
{
	while (a && a->list) {
		struct alert *it = a->list;

		a->list = it->next;
		alert_free(it);
	}
	free(a);
}

/* A subject may be a file's name, which may be any bytes; a long text is cut anywhere. */
static json_t *clean(const char *text)
{
	char *copy = mem_strdup(text);
	json_t *value;

	text_clean(copy, strlen(copy), copy);
	value = json_string(copy);
	free(copy);
	return value;
}

static bool is_trouble(const struct alert *it)
{
	return it->error != NULL;
}

static bool is_named(const struct alert *it, const char *what, const char *subject)
{
	return !strcmp(it->what, what) && !strcmp(it->subject, subject);
}

/* Where the link to it is, or would be. */
static struct alert **find(struct alerts *a, const char *what, const char *subject)
{
	struct alert **link = &a->list;

	while (*link && !is_named(*link, what, subject))
		link = &(*link)->next;
	return link;
}

static const struct alert *lookup(const struct alerts *a, const char *what, const char *subject)
{
	const struct alert *it = a->list;

	while (it && !is_named(it, what, subject))
		it = it->next;
	return it;
}

static json_t *details(const struct alert *it)
{
	return is_trouble(it)
		       ? json_pack("{so so}", "what", clean(it->subject), "error", clean(it->error))
		       : json_pack("{ss so}", "what", it->what, "subject", clean(it->subject));
}

static void begin(struct alerts *a, struct alert **link, const char *what, const char *subject,
		  const char *text, const char *error)
{
	struct alert *it = mem_alloc(1, sizeof(*it));

	*it = (struct alert){ .what = mem_strdup(what),
			      .subject = mem_strdup(subject),
			      .text = mem_strdup(text),
			      .error = error ? mem_strdup(error) : NULL,
			      .since_us = loop_now_us(a->loop) };
	event_now(it->since);
	*link = it;
	event_log_add(a->events, LOG_ERR, error ? TROUBLE : "alert", details(it), "%s", text);
}

static void replace(char **text, const char *with)
{
	char *copy = with ? mem_strdup(with) : NULL;

	free(*text);
	*text = copy;
}

static void raise_text(struct alerts *a, const char *what, const char *subject, const char *text,
		       const char *error)
{
	struct alert **link = find(a, what, subject);

	if (!*link) {
		begin(a, link, what, subject, text, error);
		return;
	}
	replace(&(*link)->text, text);
	replace(&(*link)->error, error);
	(*link)->stale = false;
}

void alert_raise(struct alerts *a, const char *what, const char *subject, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	raise_text(a, what, subject ? subject : "", text, NULL);
}

static void over(struct alerts *a, struct alert **link)
{
	struct alert *it = *link;

	*link = it->next;
	if (is_trouble(it)) {
		event_log_add(a->events, LOG_NOTICE, "trouble-over",
			      json_pack("{so}", "what", clean(it->subject)), "%s: cleared: %s",
			      it->subject, it->error);
	} else {
		event_log_add(a->events, LOG_NOTICE, "alert-over", details(it), "cleared: %s",
			      it->text);
	}
	alert_free(it);
}

void alert_end(struct alerts *a, const char *what, const char *subject)
{
	struct alert **link = find(a, what, subject ? subject : "");

	if (*link)
		over(a, link);
}

const char *alert_text(const struct alerts *a, const char *what, const char *subject)
{
	const struct alert *it = lookup(a, what, subject ? subject : "");

	return it ? it->text : NULL;
}

/* ---- All of a kind --------------------------------------------------------------------------- */

void alerts_review(struct alerts *a, const char *what)
{
	for (struct alert *it = a->list; it; it = it->next)
		it->stale |= !strcmp(it->what, what);
}

void alerts_reviewed(struct alerts *a, const char *what)
{
	struct alert **link = &a->list;

	while (*link)
		if ((*link)->stale && !strcmp((*link)->what, what))
			over(a, link);
		else
			link = &(*link)->next;
}

/* ---- Troubles -------------------------------------------------------------------------------- */

void trouble_set(struct alerts *a, const char *name, const char *error)
{
	char *text;

	if (!error) {
		alert_end(a, TROUBLE, name);
		return;
	}
	text = mem_printf("%s: %s", name, error);
	raise_text(a, TROUBLE, name, text, error);
	free(text);
}

const char *trouble_error(const struct alerts *a, const char *name)
{
	const struct alert *it = lookup(a, TROUBLE, name);

	return it ? it->error : NULL;
}

/* ---- Documents ------------------------------------------------------------------------------- */

json_t *alerts_json(const struct alerts *a)
{
	json_t *list = json_array();

	for (const struct alert *it = a->list; it; it = it->next)
		json_array_append_new(list, json_pack("{ss so ss so}", "what", it->what, "subject",
						      clean(it->subject), "since", it->since,
						      "text", clean(it->text)));
	return list;
}

json_t *troubles_json(const struct alerts *a)
{
	json_t *list = json_array();

	for (const struct alert *it = a->list; it; it = it->next)
		if (is_trouble(it))
			json_array_append_new(
				list, json_pack("{so so sf}", "what", clean(it->subject), "error",
						clean(it->error), "since_s",
						(loop_now_us(a->loop) - it->since_us) / 1e6));
	return list;
}
