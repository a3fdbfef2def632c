/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal: records of journald.
 *
 *   _HOSTNAME=dgx-01\n                            FIELD=value, up to the end of the line
 *   MESSAGE\n <8 bytes, little-endian: size> ..\n   a value that has a newline in it
 *   \n                                            ends a record
 *
 *   {"_HOSTNAME":"dgx-01","MESSAGE":"..", ..}\n    MESSAGE is a list of bytes where it is no UTF-8
 */
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/journal.h"
#include "topology/mem.h"

enum at { NAME, VALUE, SIZE, BINARY, BINARY_END, LOST, JSON };
enum field { OTHER, HOST, MESSAGE };

bool journal_begins(char first)
{
	return first == '{' || first == '_' || isupper((unsigned char)first);
}

/* ---- A record -------------------------------------------------------------------------------- */

static void deliver(struct journal_stream *s, journal_fn *fn, void *arg)
{
	s->message.text = s->text;
	s->message.len = s->text_used;
	if (s->any)
		fn(arg, s->text_used > 0, &s->message);
	s->any = false;
	s->text_used = s->host_used = 0;
	*s->message.host = '\0';
}

static void keep(struct journal_stream *s, const char *data, size_t len)
{
	size_t room = sizeof(s->text) - s->text_used;

	if (s->field == MESSAGE) {
		len = len < room ? len : room;
		memcpy(s->text + s->text_used, data, len);
		s->text_used += (uint32_t)len;
	} else if (s->field == HOST) {
		room = sizeof(s->message.host) - 1 - s->host_used;
		len = len < room ? len : room;
		memcpy(s->message.host + s->host_used, data, len);
		s->host_used += (uint32_t)len;
		s->message.host[s->host_used] = '\0';
		if (!syslog_host_is_text(s->message.host))
			*s->message.host = '?', s->message.host[1] = '\0';
	}
}

static enum field field_of(const struct journal_stream *s)
{
	static const char host[] = "_HOSTNAME", message[] = "MESSAGE";

	if (s->name_used == sizeof(host) - 1 && !memcmp(s->name, host, s->name_used))
		return HOST;
	if (s->name_used == sizeof(message) - 1 && !memcmp(s->name, message, s->name_used))
		return MESSAGE;
	return OTHER;
}

/* ---- The export format ----------------------------------------------------------------------- */

static void feed_name(struct journal_stream *s, char c, journal_fn *fn, void *arg)
{
	if (c == '\n' && !s->name_used) {
		deliver(s, fn, arg);
		return;
	}
	s->any = true;
	if (c == '=' || c == '\n') {
		s->field = (uint8_t)field_of(s);
		s->at = c == '=' ? VALUE : SIZE;
		s->name_used = s->size_used = 0;
		s->left = 0;
	} else if (s->name_used == sizeof(s->name) || (unsigned char)c <= ' ') {
		fn(arg, false, &s->message); /* no field's name: all up to an empty line is lost */
		s->any = false;
		s->name_used = 0;
		s->at = LOST;
	} else {
		s->name[s->name_used++] = c;
	}
}

static void feed_size(struct journal_stream *s, char c)
{
	s->left |= (uint64_t)(uint8_t)c << 8 * s->size_used;
	if (++s->size_used == sizeof(s->size))
		s->at = s->left ? BINARY : BINARY_END;
}

/* name_used counts newlines in a row. */
static void feed_lost(struct journal_stream *s, char c)
{
	s->name_used = c == '\n' ? s->name_used + 1 : 0;
	if (s->name_used < 2)
		return;
	s->name_used = 0;
	s->at = NAME;
}

static size_t feed_value(struct journal_stream *s, const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len;

	keep(s, data, part);
	if (!newline)
		return len;
	s->at = NAME;
	return part + 1;
}

static size_t feed_binary(struct journal_stream *s, const char *data, size_t len)
{
	size_t part = len < s->left ? len : (size_t)s->left;

	keep(s, data, part);
	s->left -= part;
	if (!s->left)
		s->at = BINARY_END;
	return part;
}

static size_t feed_export(struct journal_stream *s, const char *data, size_t len, journal_fn *fn,
			  void *arg)
{
	if (s->at == VALUE)
		return feed_value(s, data, len);
	if (s->at == BINARY)
		return feed_binary(s, data, len);
	if (s->at == SIZE)
		feed_size(s, *data);
	else if (s->at == BINARY_END)
		s->at = NAME; /* a newline */
	else if (s->at == LOST)
		feed_lost(s, *data);
	else
		feed_name(s, *data, fn, arg);
	return 1;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void keep_json(struct journal_stream *s, enum field field, const json_t *value)
{
	json_t *byte;
	size_t index;

	s->field = (uint8_t)field;
	if (json_is_string(value))
		keep(s, json_string_value(value), json_string_length(value));
	json_array_foreach ((json_t *)value, index, byte) {
		char c = (char)json_integer_value(byte);

		keep(s, &c, 1);
	}
}

static void take_json(struct journal_stream *s, journal_fn *fn, void *arg)
{
	json_t *doc = s->json_used < JOURNAL_JSON_MAX
			      ? json_loadb(s->json, s->json_used, JSON_ALLOW_NUL, NULL)
			      : NULL;

	if (!s->json_used)
		return;
	s->any = true;
	if (json_is_object(doc)) {
		keep_json(s, HOST, json_object_get(doc, "_HOSTNAME"));
		keep_json(s, MESSAGE, json_object_get(doc, "MESSAGE"));
	}
	json_decref(doc);
	s->json_used = 0;
	deliver(s, fn, arg);
}

static size_t feed_json(struct journal_stream *s, const char *data, size_t len, journal_fn *fn,
			void *arg)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len;
	size_t room = JOURNAL_JSON_MAX - s->json_used;

	memcpy(s->json + s->json_used, data, part < room ? part : room);
	s->json_used += (uint32_t)(part < room ? part : room);
	if (!newline)
		return len;
	take_json(s, fn, arg);
	return part + 1;
}

void journal_feed(struct journal_stream *s, const char *data, size_t len, journal_fn *fn, void *arg)
{
	if (len && s->at == NAME && !s->any && !s->name_used && *data == '{') {
		s->at = JSON;
		if (!s->json)
			s->json = mem_alloc(JOURNAL_JSON_MAX, 1);
	}
	while (len) {
		size_t taken = s->at == JSON ? feed_json(s, data, len, fn, arg)
					     : feed_export(s, data, len, fn, arg);

		data += taken;
		len -= taken;
	}
}

void journal_fini(struct journal_stream *s)
{
	free(s->json);
	s->json = NULL;
}
