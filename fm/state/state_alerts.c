/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/state_alerts.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "topology/base/mem.h"

#define LOST	 "state-lost"
#define CHECK_US 10000000

struct lost_file { /* of which something is kept */
	struct lost_file *next;
	char *subject, *kept;
};

struct state_alerts {
	struct alerts *alerts;
	struct event_log *events;
	struct lost_file *lost;
	struct loop_timer *check;
};

static char *subject_of(const char *name)
{
	return mem_printf("state_dir/%s", name);
}

/* ---- What could not be written --------------------------------------------------------------- */

void state_alerts_wrote(struct state_alerts *a, const char *name, int status)
{
	char *subject = subject_of(name), *error = mem_printf("not saved: %s", strerror(-status));

	trouble_set(a->alerts, subject, status ? error : NULL);
	free(subject);
	free(error);
}

const char *state_alerts_error(const struct state_alerts *a, const char *name)
{
	char *subject = subject_of(name);
	const char *error = trouble_error(a->alerts, subject);

	free(subject);
	return error;
}

/* ---- What was lost --------------------------------------------------------------------------- */

static void lost_free(struct lost_file *lost)
{
	free(lost->subject);
	free(lost->kept);
	free(lost);
}

/* Who has taken away what was kept has seen it. */
static void check(void *arg)
{
	struct state_alerts *a = arg;
	struct lost_file **link = &a->lost;

	while (*link) {
		struct lost_file *it = *link;

		if (access(it->kept, F_OK) == 0) {
			link = &it->next;
			continue;
		}
		alert_end(a->alerts, LOST, &(struct event_subject){ .name = it->subject });
		*link = it->next;
		lost_free(it);
	}
	if (a->lost)
		loop_timer_set(a->check, CHECK_US);
}

void state_alerts_lost(struct state_alerts *a, const char *name, const char *why, const char *kept,
		       const char *summary)
{
	char *subject = subject_of(name);
	struct lost_file *it;

	alert_raise(a->alerts, LOST, &(struct event_subject){ .name = subject }, "%s: %s%s%s%s%s",
		    subject, why, kept ? "; the file is not used and was saved as " : "",
		    kept ? kept : "", *summary ? "; it had: " : "", summary);
	if (kept) {
		it = mem_alloc(1, sizeof(*it));
		*it = (struct lost_file){ a->lost, mem_strdup(subject), mem_strdup(kept) };
		a->lost = it;
		loop_timer_set(a->check, CHECK_US);
	}
	free(subject);
}

void state_alerts_edited(struct state_alerts *a, const char *name)
{
	event_log_add(a->events, LOG_NOTICE, "state-edited", NULL, json_pack("{ss}", "file", name),
		      "state_dir/%s: no header and checksum (edited, or written by an older fmd); "
		      "read anyway",
		      name);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct state_alerts *state_alerts_new(struct loop *loop, struct alerts *alerts,
				      struct event_log *events)
{
	struct state_alerts *a = mem_alloc(1, sizeof(*a));

	a->alerts = alerts;
	a->events = events;
	a->check = loop_timer_new(loop, check, a);
	return a;
}

void state_alerts_free(struct state_alerts *a)
{
	if (!a)
		return;
	loop_timer_free(a->check);
	while (a->lost) {
		struct lost_file *it = a->lost;

		a->lost = it->next;
		lost_free(it);
	}
	free(a);
}
