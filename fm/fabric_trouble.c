/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_trouble: what does not work as configured while the rest goes on: an address that somebody else has, a file that can't be written.
 *
 * Whoever meets a trouble says so each time it does; an event tells of it when it begins and when it is over, the status as long as it lasts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric_own.h"
#include "topology/mem.h"

struct trouble {
	struct trouble *next;
	char *what, *error;
	uint64_t since_us;
};

static struct trouble **find(struct fabric *f, const char *what)
{
	struct trouble **link = &f->troubles;

	while (*link && strcmp((*link)->what, what))
		link = &(*link)->next;
	return link;
}

static void trouble_free(struct trouble *t)
{
	free(t->what);
	free(t->error);
	free(t);
}

static void begin(struct fabric *f, struct trouble **link, const char *what, const char *error)
{
	struct trouble *t = mem_alloc(1, sizeof(*t));

	*t = (struct trouble){ .what = mem_strdup(what),
			       .error = mem_strdup(error),
			       .since_us = loop_now_us(f->loop) };
	*link = t;
	event_log_add(f->events, LOG_ERR, "trouble",
		      json_pack("{ss ss}", "what", what, "error", error), "%s: %s", what, error);
}

static void end(struct fabric *f, struct trouble **link)
{
	struct trouble *t = *link;

	*link = t->next;
	event_log_add(f->events, LOG_NOTICE, "trouble-over", json_pack("{ss}", "what", t->what),
		      "%s: over: %s", t->what, t->error);
	trouble_free(t);
}

void fabric_trouble(struct fabric *f, const char *what, const char *error)
{
	struct trouble **link = find(f, what);

	if (!*link && error) {
		begin(f, link, what, error);
	} else if (*link && error) {
		free((*link)->error);
		(*link)->error = mem_strdup(error);
	} else if (*link) {
		end(f, link);
	}
}

const char *fabric_trouble_error(const struct fabric *f, const char *what)
{
	for (const struct trouble *t = f->troubles; t; t = t->next)
		if (!strcmp(t->what, what))
			return t->error;
	return NULL;
}

json_t *fabric_troubles_json(const struct fabric *f)
{
	json_t *list = json_array();

	for (const struct trouble *t = f->troubles; t; t = t->next)
		json_array_append_new(list, json_pack("{ss ss sf}", "what", t->what, "error",
						      t->error, "since_s",
						      (loop_now_us(f->loop) - t->since_us) / 1e6));
	return list;
}

void fabric_troubles_fini(struct fabric *f)
{
	while (f->troubles) {
		struct trouble *t = f->troubles;

		f->troubles = t->next;
		trouble_free(t);
	}
}
