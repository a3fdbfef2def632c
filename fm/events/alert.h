/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * alert: what an operator has to know for as long as it lasts. An alert is named by what is wrong
 * ("switch-takes-no-set") and by its subject: a device, port, link or host, whatever its name is by
 * now; without any of these by subject->name (a file). NULL = the whole fabric. One fault is one
 * alert: the ports at which a faulty device shows are its members, subject->ports. A room that sees
 * it raises it again each time; an event is added when it begins and when it ends. The list belongs
 * to its maker, and outlives a change of role.
 */
#pragma once

#include "fm/events/event_log.h"
#include "fm/loop/loop.h"

struct alerts;

/* An empty list of the caller's, never NULL. Loop and events are borrowed and outlive it. */
struct alerts *alerts_new(struct loop *loop, struct event_log *events);
void alerts_free(struct alerts *alerts); /* NULL is fine; ends nothing */

/*
 * Begins it (event "alert", level error), or replaces the text of one that lasts. The text begins
 * with its subject, if it has one.
 */
void alert_raise(struct alerts *alerts, const char *what, const struct event_subject *subject,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Over (event "alert-over"); without effect when there is no such alert. */
void alert_end(struct alerts *alerts, const char *what, const struct event_subject *subject);
/* Raises it, or ends it; what the text is made from is read only where it is raised. */
#define alert_set(alerts, on, what, subject, ...)                                                  \
	((on) ? alert_raise(alerts, what, subject, __VA_ARGS__) : alert_end(alerts, what, subject))
/* Its text, NULL = it does not last. Valid until it is raised or ended. */
const char *alert_text(const struct alerts *alerts, const char *what,
		       const struct event_subject *subject);

/*
 * For rooms that find all alerts of a kind again each time: between alerts_review() and
 * alerts_reviewed() of the same `what` those that are still so are raised; the others end then.
 */
void alerts_review(struct alerts *alerts, const char *what);
void alerts_reviewed(struct alerts *alerts, const char *what);
/* Of `count` the first ALERTS_NAMED were raised: one alert has how many more there are, if any. */
#define ALERTS_NAMED 20
void alert_more(struct alerts *alerts, const char *what, unsigned count, const char *more);
/* Ends all of that kind. */
void alerts_end(struct alerts *alerts, const char *what);

/*
 * An alert of kind "trouble" is about a part that does not work as configured: `name` and the
 * reason. Its events are "trouble" and "trouble-over" with the members "what" and "error".
 */
/* Begins it, or replaces its error; error NULL ends it. */
void trouble_set(struct alerts *alerts, const char *name, const char *error);
/* Its error, valid until it is set again; NULL = there is no such alert. */
const char *trouble_error(const struct alerts *alerts, const char *name);

/*
 * Oldest first, {"what","subject","since","text"}, "ports" where it has some, and
 * event_subject_put()'s members each; those of kind "trouble" too. The caller owns it.
 */
json_t *alerts_json(const struct alerts *alerts);
/* Those of kind "trouble", {"what","error","since_s"} each; the caller owns it. */
json_t *troubles_json(const struct alerts *alerts);
