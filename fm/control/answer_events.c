/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_events: what happened, and which of it is asked for. */
#include <strings.h>
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/control/option.h"
#include "fm/loop/log.h"
#include "fm/fabric/view.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define COUNT_DEFAULT 20
#define COUNT_MAX     10000
#define COUNT_AT_ONCE 1000 /* some 5 ms */

/* What there is not (any more): by a GUID that was typed, or by what events of its time call it. */
static struct event_about find_about(const struct fabric *fabric, const char *what)
{
	const struct command_env env = { .fabric = (struct fabric *)fabric };
	const struct topo *t = fabric_view(fabric).topo;
	struct event_about about = { 0 };
	char err[COMMAND_ERROR_SIZE], *end;
	struct what place;

	if (t && command_find_what(&env, what, WHAT_PLACE, &place, err)) {
		if (place.host != TOPO_NONE)
			return event_about_host(t, place.host);
		about = event_about_node(t, place.node);
		about.ends[0].port = place.port;
		about.whole = true;
		return about;
	}
	array_printf(about.name, "%s", what);
	about.ends[0].node = strtoull(what, &end, 16);
	about.count = !strncasecmp(what, "0x", 2) && end > what + 2 && !*end;
	return about;
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
	if ((since && !value_check("TIME|DURATION", since, err, COMMAND_ERROR_SIZE)) ||
	    (level && !value_check("LEVEL", level, err, COMMAND_ERROR_SIZE)) ||
	    (*kind && !value_check("KIND", kind, err, COMMAND_ERROR_SIZE)))
		return false;
	if (json_object_get(args, "count") && (*count < 0 || *count > COUNT_MAX))
		return command_refuse(err, "count is not in 0..%d", COUNT_MAX);
	if (since)
		event_query_since(query, since);
	if (*count < 0)
		*count = since ? COUNT_MAX : COUNT_DEFAULT;
	strcpy(query->kinds, kind);
	query->level = level ? log_level_parse(level) : 0;
	if (node)
		query->about = find_about(fabric, node);
	return true;
}

static json_t *find(const struct command_env *env, json_t *args, int most, char *err)
{
	const char *node = json_text(args, "node");
	struct event_query query, any = { 0 };
	struct what place;
	bool found = true;
	int count;

	if (!events_query(env->fabric, args, &query, &count, err))
		return NULL;
	if (node && fabric_view(env->fabric).topo &&
	    !command_find_what(env, node, WHAT_PLACE, &place, err)) {
		/* What the fabric has not, an event may tell of. */
		any.about = query.about;

		json_t *rows = fabric_find_events(env->fabric, &any, 1);

		found = json_array_size(rows);
		json_decref(rows);
	}
	return found ? fabric_find_events(env->fabric, &query, count > most ? most : count) : NULL;
}

static json_t *answer_events(const struct command_env *env, json_t *args, char *err)
{
	return find(env, args, COUNT_MAX, err);
}
const struct command_run events_run = { .answer = answer_events, .long_count = COUNT_AT_ONCE };

/* The loop writes what is there already: no more than it can at once. */
static json_t *answer_follow(const struct command_env *env, json_t *args, char *err)
{
	return find(env, args, COUNT_AT_ONCE, err);
}
const struct command_run follow_run = { .answer = answer_follow, .follows = true };
