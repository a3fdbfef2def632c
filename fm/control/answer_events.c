/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_events: what happened, and which of it is asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/events.h"
#include "fm/control/place.h"
#include "fm/core/log.h"
#include "fm/fabric/view.h"

#define COUNT_DEFAULT 20
#define COUNT_MAX     10000
#define COUNT_AT_ONCE 1000 /* some 5 ms */

/* By its name, and a node by its GUID as well; what there is not (any more) by what was typed. */
static void set_subjects(const struct fabric *fabric, const char *what, struct event_query *query)
{
	const struct command_env env = { .fabric = (struct fabric *)fabric };
	const struct topo *t = fabric_view(fabric).topo;
	char err[COMMAND_ERROR_SIZE];
	struct place place;

	snprintf(query->subjects[0], sizeof(query->subjects[0]), "%s", what);
	if (!t || !place_read(&env, what, &place, err))
		return;
	snprintf(query->subjects[0], sizeof(query->subjects[0]), "%s",
		 place.host != TOPO_NONE ? t->hosts[place.host].name : t->nodes[place.node].name);
	if (place.host == TOPO_NONE)
		snprintf(query->subjects[1], sizeof(query->subjects[1]), "0x%016" PRIx64,
			 t->nodes[place.node].guid);
}

bool events_query(const struct fabric *fabric, json_t *args, struct event_query *query, int *count,
		  char *err)
{
	const char *since = NULL, *kind = "", *node = NULL, *level = NULL;

	*query = (struct event_query){ 0 };
	*count = -1;
	if (!command_unpack(args, err, "{s?i s?s s?s s?s s?s}", "count", count, "since", &since,
			    "kind", &kind, "node", &node, "level", &level))
		return false;
	if (since && !event_query_since(query, since))
		command_refuse(err, "since %s: not a time (2026-11-23T05:00) nor a duration (2h)",
			       since);
	else if (level && log_level_parse(level) < 0)
		command_refuse(err, "unknown level %s", level);
	else if (strlen(kind) >= sizeof(query->kinds))
		command_refuse(err, "too many kinds");
	else if (json_object_get(args, "count") && (*count < 0 || *count > COUNT_MAX))
		command_refuse(err, "count is not in 0..%d", COUNT_MAX);
	else
		err = NULL;
	if (err)
		return false;
	if (*count < 0)
		*count = since ? COUNT_MAX : COUNT_DEFAULT;
	strcpy(query->kinds, kind);
	query->level = level ? log_level_parse(level) : 0;
	if (node)
		set_subjects(fabric, node, query);
	return true;
}

static json_t *answer_events(const struct command_env *env, json_t *args, char *err)
{
	struct event_query query;
	int count;

	if (!events_query(env->fabric, args, &query, &count, err))
		return NULL;
	return fabric_find_events(env->fabric, &query, (unsigned)count);
}
const struct command_run events_run = { .answer = answer_events, .long_count = COUNT_AT_ONCE };

/* The loop writes what is there already: no more than it can at once. */
static json_t *answer_follow(const struct command_env *env, json_t *args, char *err)
{
	struct event_query query;
	int count;

	if (!events_query(env->fabric, args, &query, &count, err))
		return NULL;
	return fabric_find_events(env->fabric, &query,
				  count > COUNT_AT_ONCE ? COUNT_AT_ONCE : (unsigned)count);
}
const struct command_run follow_run = { .answer = answer_follow, .follows = true };
