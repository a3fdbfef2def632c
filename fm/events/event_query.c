/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* event_query: which events are asked for. Their times compare as texts. */
#include <inttypes.h>
#include "fm/events/event_query.h"
#include <ctype.h>
#include <strings.h>
#include "topology/base/mem.h"
#include "topology/base/text.h"

void event_time(char when[EVENT_TIME], const struct tm *utc, unsigned ms)
{
	size_t used = strftime(when, EVENT_TIME, "%Y-%m-%dT%H:%M:%S", utc);

	snprintf(when + used, EVENT_TIME - used, ".%03uZ", ms % 1000);
}

void event_now(char when[EVENT_TIME])
{
	struct timespec now;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	event_time(when, &utc, now.tv_nsec / 1000000);
}

#define DAY_S	     86400
#define DURATION_MAX (1000 * 366.0 * DAY_S)

/* ---- Since ----------------------------------------------------------------------------------- */

/* "90s"; false = it is none. */
static bool read_duration(const char *text, double *seconds)
{
	static const struct {
		char unit;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY_S }, { 'w', 7 * DAY_S } };
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*seconds = strtod(text, &end);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (units[i].unit == *end) {
			*seconds *= units[i].seconds;
			return !end[1] && *seconds <= DURATION_MAX;
		}
	return false;
}

/* What follows a time of day, "05:00", ":10", ".5", "Z"; all but the first may be missing. */
static const char *read_clock(const char *text, struct tm *utc, unsigned *ms)
{
	const char *at = strptime(text, "%H:%M", utc);
	char *end;

	utc->tm_sec = 0;
	*ms = 0;
	if (at && *at == ':')
		at = strptime(at, ":%S", utc);
	if (at && *at == '.' && isdigit((unsigned char)at[1])) {
		*ms = strtod(at, &end) * 1000;
		at = end;
	}
	return at && *at == 'Z' ? at + 1 : at;
}

/* With its date, or the latest such time of day. */
static bool read_time(const char *text, time_t now, struct tm *utc, unsigned *ms)
{
	const char *at = text;
	bool dated = strchr(text, '-');

	gmtime_r(&now, utc);
	utc->tm_hour = utc->tm_min = utc->tm_sec = 0;
	*ms = 0;
	if (dated)
		at = strptime(text, "%Y-%m-%d", utc);
	if (at && dated && (*at == 'T' || *at == ' '))
		at = read_clock(at + 1, utc, ms);
	else if (at && !dated)
		at = read_clock(at, utc, ms);
	if (!at || *at)
		return false;

	time_t when = timegm(utc);

	if (!dated && when > now)
		when -= DAY_S;
	return gmtime_r(&when, utc);
}

bool event_query_since(struct event_query *query, const char *text)
{
	struct timespec now;
	struct tm utc;
	double seconds;
	unsigned ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (read_duration(text, &seconds)) {
		double then = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - seconds;
		time_t when = then;

		ms = (unsigned)((then - (double)when) * 1000) % 1000;
		if (then < 0 || !gmtime_r(&when, &utc))
			return false;
	} else if (!read_time(text, now.tv_sec, &utc, &ms)) {
		return false;
	}
	event_time(query->since, &utc, ms);
	return true;
}

/* ---- Matching -------------------------------------------------------------------------------- */

static const char *text_of(const json_t *event, const char *key)
{
	const char *text = json_text(event, key);

	return text ? text : "";
}

/* ---- Of whom --------------------------------------------------------------------------------- */

struct event_about event_about_node(const struct topo *t, uint32_t node)
{
	struct event_about about = { .ends = { { t->nodes[node].guid, 0 } }, .count = 1 };

	array_printf(about.name, "%s", t->nodes[node].name);
	return about;
}

struct event_about event_about_port(const struct topo *t, uint32_t port)
{
	const struct topo_port *it = &t->ports[port], *far = topo_peer(t, it);
	struct event_about about = event_about_node(t, it->node);

	about.ends[0].port = it->num;
	array_printf(about.name, "%s p%u", t->nodes[it->node].name, it->num);
	if (far)
		about.ends[about.count++] =
			(struct event_end){ t->nodes[far->node].guid, far->num };
	return about;
}

struct event_about event_about_host(const struct topo *t, uint32_t host)
{
	const struct topo_host *it = &t->hosts[host];
	struct event_about about = { 0 };

	array_printf(about.host, "%s", it->name);
	array_printf(about.name, "%s", it->name);
	for (uint32_t i = 0; i < it->ncas && about.count < EVENT_ENDS; i++)
		about.ends[about.count++].node = t->nodes[t->host_cas[it->first + i]].guid;
	return about;
}

static bool is_end(const struct event_about *about, guid_t node, unsigned port)
{
	for (unsigned i = 0; node && i < about->count; i++) {
		const struct event_end *end = &about->ends[i];

		if (end->node == node &&
		    (!end->port || end->port == port || (about->whole && !port)))
			return true;
	}
	return false;
}

/*
 * Whether a text of a version that wrote no subject begins with that name, or has it as the far end
 * of a link: "leaf 1" is neither of "leaf 1 b" nor of "my leaf 1". Behind a machine's name its
 * devices' are met as well.
 */
static bool leads(const char *text, const char *name, bool machine)
{
	static const char *const kinds[] = { "", "sw ", "ca ", "rt ", "host " };
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t skip = strlen(kinds[i]);
		const char *at = text + skip;

		if (strncmp(text, kinds[i], skip) || strncasecmp(at, name, len))
			continue;
		at += len;
		if (!*at || *at == ':' || !strncmp(at, " - ", 3) || (machine && *at == ' ') ||
		    !strncmp(at, " 0x", 3) || !strncmp(at, " LID ", 5) || !strncmp(at, " (", 2) ||
		    (!strncmp(at, " p", 2) && isdigit((unsigned char)at[2])))
			return true;
	}
	return false;
}

bool event_is_about(const json_t *row, const struct event_about *about)
{
	static const char *const names[] = { "node_name", "peer_name", "host" };
	const guid_t node = json_guid_of(row, "node"), peer = json_guid_of(row, "peer");
	const char *host = text_of(row, "host");
	bool called = false;

	if (about->mlid || about->pkey)
		return about->mlid ? json_number(row, "mlid") == about->mlid
				   : json_guid_of(row, "pkey") == about->pkey;
	if (!about->count && !*about->host && !*about->name)
		return true;
	JSON_EACH (port, json_object_get(row, "ports"))
		if (is_end(about, json_guid_of(port, "node"), json_number(port, "port")) ||
		    is_end(about, json_guid_of(port, "peer"), json_number(port, "peer_port")))
			return true;
	if (!node && !*host) {
		const char *text = text_of(row, "text"), *far = strstr(text, " - ");
		const size_t named = strcspn(text, ":");
		char guid[24];

		if (!strncmp(text, "fabric: ", 8))
			return false;
		for (unsigned i = 0; i < about->count && !about->ends[i].port; i++) {
			array_printf(guid, "0x%016" PRIx64, about->ends[i].node);

			const char *at = strstr(text, guid);

			if (at && at < text + named)
				return true;
		}
		return *about->name &&
		       (leads(text, about->name, *about->host) ||
			(far && far < text + named && leads(far + 3, about->name, *about->host)));
	}
	/* What the fabric has no more goes by its name of the time. */
	for (size_t i = 0; !about->count && !*about->host && i < ARRAY_SIZE(names); i++)
		called |= !strcasecmp(text_of(row, names[i]), about->name);
	return called || is_end(about, node, json_number(row, "port")) ||
	       is_end(about, peer, json_number(row, "peer_port")) ||
	       (*about->host && !strcmp(host, about->host));
}

bool event_query_has(const struct event_query *query, const json_t *event)
{
	int level = query->level ? log_level_parse(text_of(event, "level")) : 0;

	return (!query->level || (level >= 0 && level <= query->level)) &&
	       strcmp(text_of(event, "time"), query->since) >= 0 &&
	       (!*query->kinds || text_has_word(query->kinds, ',', text_of(event, "kind"))) &&
	       event_is_about(event, &query->about);
}
