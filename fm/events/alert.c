/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* alert: one list, oldest first. There are few at a time, so it is searched from its head. */
#include <stdarg.h>
#include "fm/events/alert.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define TROUBLE "trouble"

struct alert {
	struct alert *next;
	char *what, *text;
	struct event_subject subject; /* its texts are its own; name "" = none */
	char *error;		      /* of kind "trouble": the text without its subject */
	bool stale;		      /* under review, and not raised again yet */
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
	struct alerts *a = mem_new(a);

	*a = (struct alerts){ .loop = loop, .events = events };
	return a;
}

static void alert_free(struct alert *it)
{
	free(it->what);
	free((char *)it->subject.node_name);
	free((char *)it->subject.peer_name);
	free((char *)it->subject.host);
	free((char *)it->subject.name);
	json_decref(it->subject.ports);
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

	text_clean(copy, strlen(copy), copy);

	json_t *value = json_string(copy);

	free(copy);
	return value;
}

static const struct event_subject whole_fabric = { .name = "" };

static bool same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* Where the link to it is, or would be: by its device and port, else its host, else its name. */
static struct alert **find(struct alerts *a, const char *what, const struct event_subject *subject)
{
	const struct event_subject *of = subject ? subject : &whole_fabric;
	struct alert **link = &a->list;

	for (; *link; link = &(*link)->next) {
		const struct event_subject *its = &(*link)->subject;

		if (strcmp((*link)->what, what) || its->node != of->node || its->port != of->port)
			continue;
		if (its->node ||
		    (same(its->host, of->host) && (its->host || same(its->name, of->name))))
			break;
	}
	return link;
}

static json_t *details(const struct alert *it)
{
	return it->error
		       ? json_pack("{so so}", "what", clean(it->subject.name), "error",
				   clean(it->error))
		       : json_pack("{ss so}", "what", it->what, "subject", clean(it->subject.name));
}

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static void replace(char **text, const char *with)
{
	char *with_copy = copy(with);

	free(*text);
	*text = with_copy;
}

static void raise_text(struct alerts *a, const char *what, const struct event_subject *subject,
		       const char *text, const char *error)
{
	struct alert **link = find(a, what, subject), *it = *link;

	subject = subject ? subject : &whole_fabric;
	if (it) {
		replace(&it->text, text);
		replace(&it->error, error);
		json_decref(it->subject.ports);
		it->subject.ports = json_incref(subject->ports);
		it->stale = false;
		return;
	}
	it = *link = mem_new(it);
	*it = (struct alert){ .what = mem_strdup(what),
			      .subject = *subject,
			      .text = mem_strdup(text),
			      .error = copy(error),
			      .since_us = loop_now_us(a->loop) };
	it->subject.node_name = copy(subject->node_name);
	it->subject.peer_name = copy(subject->peer_name);
	it->subject.host = copy(subject->host);
	it->subject.name = mem_strdup(subject->name ? subject->name : "");
	json_incref(it->subject.ports);
	event_now(it->since);
	event_log_add(a->events, LOG_ERR, error ? TROUBLE : "alert", subject, details(it), "%s",
		      text);
}

void alert_raise(struct alerts *a, const char *what, const struct event_subject *subject,
		 const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	raise_text(a, what, subject, text, NULL);
}

static void over(struct alerts *a, struct alert **link)
{
	struct alert *it = *link;

	*link = it->next;
	if (it->error)
		event_log_add(a->events, LOG_NOTICE, "trouble-over", &it->subject,
			      json_pack("{so}", "what", clean(it->subject.name)), "%s: cleared: %s",
			      it->subject.name, it->error);
	else
		event_log_add(a->events, LOG_NOTICE, "alert-over", &it->subject, details(it),
			      "cleared: %s", it->text);
	alert_free(it);
}

void alert_end(struct alerts *a, const char *what, const struct event_subject *subject)
{
	struct alert **link = find(a, what, subject);

	if (*link)
		over(a, link);
}

const char *alert_text(const struct alerts *a, const char *what,
		       const struct event_subject *subject)
{
	const struct alert *it = *find((struct alerts *)a, what, subject);

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

void alert_more(struct alerts *a, const char *what, unsigned count, const char *more)
{
	if (count > ALERTS_NAMED)
		alert_raise(a, what, NULL, "%u more %s", count - ALERTS_NAMED, more);
}

void alerts_end(struct alerts *a, const char *what)
{
	alerts_review(a, what);
	alerts_reviewed(a, what);
}

/* ---- Parts that do not work as configured ---------------------------------------------------- */

void trouble_set(struct alerts *a, const char *name, const char *error)
{
	struct event_subject subject = { .name = name };

	if (!error) {
		alert_end(a, TROUBLE, &subject);
		return;
	}

	char *text = mem_printf("%s: %s", name, error);

	raise_text(a, TROUBLE, &subject, text, error);
	free(text);
}

const char *trouble_error(const struct alerts *a, const char *name)
{
	const struct alert *it =
		*find((struct alerts *)a, TROUBLE, &(struct event_subject){ .name = name });

	return it ? it->error : NULL;
}

/* ---- Documents ------------------------------------------------------------------------------- */

json_t *alerts_json(const struct alerts *a)
{
	json_t *list = json_array();

	for (const struct alert *it = a->list; it; it = it->next) {
		json_t *row = json_pack("{ss so ss so}", "what", it->what, "subject",
					clean(it->subject.name), "since", it->since, "text",
					clean(it->text));

		event_subject_put(&it->subject, row);
		if (it->subject.ports)
			json_object_set(row, "ports", it->subject.ports);
		json_array_append_new(list, row);
	}
	return list;
}

json_t *troubles_json(const struct alerts *a)
{
	json_t *list = json_array();

	for (const struct alert *it = a->list; it; it = it->next)
		if (it->error)
			json_add(list, "{so so sf}", "what", clean(it->subject.name), "error",
				 clean(it->error), "since_s",
				 (loop_now_us(a->loop) - it->since_us) / 1e6);
	return list;
}
