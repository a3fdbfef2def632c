/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_log: a ring of JSON objects. Sequence numbers never repeat, so a follower asks for more by
 * the last it saw and notices when it was too slow. Times are wall-clock UTC with milliseconds (RFC
 * 3339): people compare them with other logs.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <sys/uio.h>
#include "fm/events/event_log.h"
#include "fm/events/event_query.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define LEVELS	(LOG_DEBUG - LOG_ERR + 1)
#define SEQ_END (1LL << 53) /* JSON's numbers end there for most */

struct event_log {
	unsigned capacity;
	uint64_t next; /* sequence number of the next event */
	uint64_t added[LEVELS];
	json_t **ring;
	char manager[64]; /* "" = not set */
	event_log_fn *fn;
	void *arg;
};

struct event_log *event_log_new(unsigned capacity)
{
	struct event_log *events = mem_new(events);

	events->capacity = capacity;
	events->ring = mem_array(events->ring, capacity);
	return events;
}

void event_log_free(struct event_log *events)
{
	if (!events)
		return;
	for (unsigned i = 0; i < events->capacity; i++)
		json_decref(events->ring[i]);
	free(events->ring);
	free(events);
}

static const char *const level_names[] = { "error", "warning", "notice", "info", "debug" };

struct event_subject event_subject_node(const struct topo *t, uint32_t node)
{
	const struct topo_node *it = node == TOPO_NONE ? NULL : &t->nodes[node];
	bool hosted = it && it->host != TOPO_NONE;

	return it ? (struct event_subject){ .node = it->guid,
					    .node_name = it->name,
					    .host = hosted ? t->hosts[it->host].name : NULL }
		  : (struct event_subject){ 0 };
}

struct event_subject event_subject_port(const struct topo *t, uint32_t port)
{
	const struct topo_port *it = port == TOPO_NONE ? NULL : &t->ports[port];
	const struct topo_port *far = it ? topo_peer(t, it) : NULL;
	struct event_subject subject = event_subject_node(t, it ? it->node : TOPO_NONE);
	struct event_subject peer = event_subject_node(t, far ? far->node : TOPO_NONE);

	subject.port = it ? it->num : 0;
	subject.peer = peer.node;
	subject.peer_name = peer.node_name;
	subject.peer_port = far ? far->num : 0;
	subject.host = subject.host ? subject.host : peer.host;
	return subject;
}

static void put_name(json_t *to, const char *key, const char *name)
{
	if (name && *name)
		json_object_set_new(to, key, json_string(name));
}

void event_subject_put(const struct event_subject *subject, json_t *to)
{
	if (!subject)
		return;
	if (subject->node)
		json_object_set_new(to, "node", json_guid(subject->node));
	put_name(to, "node_name", subject->node_name);
	if (subject->port)
		json_object_set_new(to, "port", json_integer(subject->port));
	if (subject->peer)
		json_object_set_new(to, "peer", json_guid(subject->peer));
	put_name(to, "peer_name", subject->peer_name);
	if (subject->peer_port)
		json_object_set_new(to, "peer_port", json_integer(subject->peer_port));
	put_name(to, "host", subject->host);
	if (subject->mlid)
		json_object_set_new(to, "mlid", json_integer(subject->mlid));
	if (subject->pkey)
		json_object_set_new(to, "pkey", json_sprintf("0x%04x", subject->pkey));
}

void event_subject_copy(const json_t *event, json_t *to)
{
	static const char *const keys[] = { "node",	 "node_name", "port", "peer",
					    "peer_name", "peer_port", "host" };

	for (size_t i = 0; event && i < ARRAY_SIZE(keys); i++)
		if (json_object_get(event, keys[i]))
			json_object_set(to, keys[i], json_object_get(event, keys[i]));
}

/* A line in the log; in the journal with the kind and the subject as fields. */
static void log_event(enum log_level level, const char *kind, const struct event_subject *subject,
		      const char *text)
{
	static const struct event_subject none;
	const struct event_subject *is = subject ?: &none;
	uint64_t hash = 0xcbf29ce484222325;

	/* A MESSAGE_ID for each kind, fmd-events(7): half of it is the kind's FNV-1a hash. */
	for (const char *at = kind; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3;

	char *fields[] = {
		mem_printf("MESSAGE_ID=5f6d1c6a8a2e4b0d%016" PRIx64, hash),
		mem_printf("FMD_KIND=%s", kind),
		is->node ? mem_printf("FMD_NODE=0x%016" PRIx64, is->node) : NULL,
		is->node_name ? mem_printf("FMD_NODE_NAME=%s", is->node_name) : NULL,
		is->port ? mem_printf("FMD_PORT=%u", is->port) : NULL,
		is->host ? mem_printf("FMD_HOST=%s", is->host) : NULL,
	};
	struct iovec list[ARRAY_SIZE(fields)];
	unsigned count = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i])
			list[count++] = (struct iovec){ fields[i], strlen(fields[i]) };
	log_fields(LOG_CORE, level, text, list, count);
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
		free(fields[i]);
}

void event_log_add(struct event_log *events, enum log_level level, const char *kind,
		   const struct event_subject *subject, json_t *details, const char *format, ...)
{
	char text[512], when[EVENT_TIME];
	json_t **place = &events->ring[events->next % events->capacity];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_clean(text, sizeof(text), text); /* a long one may be cut within a character */
	log_event(level, kind, subject, text);
	event_now(when);
	events->added[level - LOG_ERR]++;
	json_decref(*place);
	*place = json_pack("{sI ss ss ss so}", "seq", (json_int_t)events->next++, "time", when,
			   "level", level_names[level - LOG_ERR], "kind", kind, "text",
			   json_string(text));
	if (*events->manager)
		json_object_set_new(*place, "manager", json_string(events->manager));
	event_subject_put(subject, *place);
	if (details) {
		json_object_update(*place, details);
		json_decref(details);
	}
	if (events->fn)
		events->fn(events->arg, *place);
}

void event_log_set_manager(struct event_log *events, const char *name)
{
	array_printf(events->manager, "%s", name);
	text_clean(events->manager, sizeof(events->manager), events->manager);
}

void event_log_listen(struct event_log *events, event_log_fn *fn, void *arg)
{
	events->fn = fn;
	events->arg = arg;
}

json_t *event_log_counts(const struct event_log *events)
{
	json_t *doc = json_object();

	for (int level = LOG_ERR; level <= LOG_DEBUG; level++)
		json_object_set_new(doc, level_names[level - LOG_ERR],
				    json_integer((json_int_t)events->added[level - LOG_ERR]));
	return doc;
}

uint64_t event_log_next(const struct event_log *events)
{
	return events->next;
}

const json_t *event_log_at(const struct event_log *events, uint64_t seq)
{
	const json_t *event = events->ring[seq % events->capacity];

	/* What was restored may have gaps, in which older events stand. */
	return event && seq + events->capacity >= events->next &&
			       (uint64_t)json_number(event, "seq") == seq
		       ? event
		       : NULL;
}

json_t *event_log_find(const struct event_log *events, const struct event_query *query,
		       unsigned count)
{
	uint64_t first = events->next < events->capacity ? 0 : events->next - events->capacity;
	json_t *out = json_array(), *newest = json_array();

	for (uint64_t seq = events->next; seq-- > first && json_array_size(newest) < count;) {
		const json_t *event = event_log_at(events, seq);

		if (event && event_query_has(query, event))
			json_array_append(newest, (json_t *)event);
	}
	for (size_t i = json_array_size(newest); i-- > 0;)
		json_array_append(out, json_array_get(newest, i));
	json_decref(newest);
	return out;
}

json_t *event_log_json(const struct event_log *events, unsigned count)
{
	static const struct event_query all;

	return event_log_find(events, &all, count);
}

/* ---- Another life ---------------------------------------------------------------------------- */

static bool is_event(const json_t *row)
{
	json_int_t seq = json_number(row, "seq");

	return json_is_integer(json_object_get(row, "seq")) && seq >= 0 && seq < SEQ_END &&
	       json_is_string(json_object_get(row, "time")) &&
	       json_is_string(json_object_get(row, "kind")) &&
	       json_is_string(json_object_get(row, "level")) &&
	       json_is_string(json_object_get(row, "text"));
}

static void put(struct event_log *events, json_t *row, uint64_t seq)
{
	json_t **place = &events->ring[seq % events->capacity];

	json_decref(*place);
	*place = row;
	events->next = seq + 1;
}

static void clear(struct event_log *events)
{
	for (unsigned at = 0; at < events->capacity; at++) {
		json_decref(events->ring[at]);
		events->ring[at] = NULL;
	}
	events->next = 0;
}

static void put_behind(struct event_log *events, json_t *row)
{
	json_object_set_new(row, "seq", json_integer((json_int_t)events->next));
	put(events, json_incref(row), events->next);
}

void event_log_restore(struct event_log *events, const json_t *rows)
{
	json_t *present = event_log_json(events, events->capacity);

	clear(events);
	JSON_EACH (row, rows) {
		uint64_t seq = json_number(row, "seq");

		if (is_event(row) && seq >= events->next)
			put(events, json_incref(row), seq);
	}
	JSON_EACH (row, present)
		put_behind(events, row);
	json_decref(present);
}

/* What one event has that no other has; the caller's. */
static char *key_of(const json_t *event)
{
	const char *manager = json_text(event, "manager");

	return mem_printf("%s %s %s %s", json_text(event, "time"), json_text(event, "kind"),
			  manager ? manager : "", json_text(event, "text"));
}

/* Those that are not among the rows, oldest first. */
static json_t *besides(const struct event_log *events, const json_t *rows)
{
	json_t *known = json_object(), *out = json_array();
	json_t *present = event_log_json(events, events->capacity);

	JSON_EACH (row, rows) {
		char *key = is_event(row) ? key_of(row) : NULL;

		if (key)
			json_object_set_new(known, key, json_true());
		free(key);
	}
	JSON_EACH (row, present) {
		char *key = key_of(row);

		if (!json_object_get(known, key))
			json_array_append(out, row);
		free(key);
	}
	json_decref(known);
	json_decref(present);
	return out;
}

void event_log_merge(struct event_log *events, const json_t *rows)
{
	json_t *own = besides(events, rows), *mine;
	uint64_t next = events->next;
	size_t at = 0;

	clear(events);
	JSON_EACH (row, rows) {
		uint64_t seq = json_number(row, "seq");

		if (!is_event(row))
			continue;
		for (; (mine = json_array_get(own, at)) &&
		       strcmp(json_text(mine, "time"), json_text(row, "time")) < 0;
		     at++)
			put_behind(events, mine);
		if (seq >= events->next)
			put(events, json_incref(row), seq);
		else
			put_behind(events, row);
	}
	while (at < json_array_size(own))
		put_behind(events, json_array_get(own, at++));
	json_decref(own);
	events->next = events->next > next ? events->next : next;
}
