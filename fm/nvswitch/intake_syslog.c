/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include "fm/nvswitch/intake_syslog.h"
#include "topology/base/mem.h"

/* ---- Lines of files -------------------------------------------------------------------------- */

/*
 * A line that does not fit into the buffer is wrong: its end, read as a line of
 * its own, might pass for one.
 */

#define LINE_SIZE 4096

int lines_read(const char *path, lines_fn *fn, void *arg, char *err, size_t err_size)
{
	FILE *in = fopen(path, "r");
	const char *wrong = NULL;
	char line[LINE_SIZE];
	unsigned number = 0;
	int error = in ? 0 : errno;

	while (in && !wrong && fgets(line, sizeof(line), in)) {
		bool whole = strlen(line) < LINE_SIZE - 1;

		number++;
		line[strcspn(line, "#\r\n")] = '\0';
		wrong = whole ? fn(arg, line) : "the line is too long";
	}
	if (in) {
		error = ferror(in) ? errno : 0;
		fclose(in);
	}
	if (wrong)
		snprintf(err, err_size, "%s:%u: %s", path, number, wrong);
	else if (error)
		snprintf(err, err_size, "%s: %s", path, strerror(error));
	return wrong || error ? -1 : 0;
}

/* ---- Headers of syslog ----------------------------------------------------------------------- */

/*
 *
 *   <3>Nov 21 01:02:03 dgx-01 kernel: text            RFC 3164; the day may be padded by a blank
 *   <3>2024-07-23T07:53:55.12+00:00 dgx-01 kernel: text   rsyslog's forward format
 *   <3>1 2024-07-23T07:53:55Z dgx-01 kernel - - - text     RFC 5424, structured data passed over
 *
 *   <3>dgx-01 kernel: text     <3>kernel: text             without a time; without a host
 *
 * The host is the header's where it has one: relays forward for others. syslog-ng's put their own
 * name beside it, `host/relay`, and the name of the source before it, `s_sys@host`. What a tag or a
 * process id says is left in the text: who looks for words finds them behind it.
 */

struct cursor {
	const char *at, *end;
};

static bool take_char(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

/* A word up to a blank, which is taken too; len 0 = there is none. */
static size_t take_word(struct cursor *c, const char **word)
{
	const char *blank = memchr(c->at, ' ', c->end - c->at);
	size_t len;

	*word = c->at;
	len = (blank ? blank : c->end) - c->at;
	c->at = blank ? blank + 1 : c->end;
	return len;
}

bool syslog_host_is_text(const char *host)
{
	for (; *host; host++)
		if (!isalnum((unsigned char)*host) && !strchr("-._:/", *host))
			return false;
	return true;
}

/* What stands before an @ is the relay's name of its source. */
static bool take_host(struct cursor *c, char *host)
{
	const char *word, *at;
	size_t len = take_word(c, &word);

	at = len ? memrchr(word, '@', len) : NULL;
	if (at) {
		len -= at + 1 - word;
		word = at + 1;
	}
	if (!len || len >= SYSLOG_HOST)
		return false;
	memcpy(host, word, len);
	host[len] = '\0';
	return strlen(host) == len && syslog_host_is_text(host);
}

/* "kernel:", "kernel[123]:": who speaks, not whose machine. */
static bool is_tag(const struct cursor *c)
{
	const char *word;
	struct cursor ahead = *c;
	size_t len = take_word(&ahead, &word);

	return len > 1 && (word[len - 1] == ':' || memchr(word, '[', len));
}

static bool take_host_or_none(struct cursor *c, char *host)
{
	*host = '\0';
	return is_tag(c) || take_host(c, host);
}

/* "Nov 21 01:02:03 ", fifteen characters and a blank. */
static bool take_bsd_time(struct cursor *c)
{
	static const char shape[] = "Aaa dd dd:dd:dd ";

	if ((size_t)(c->end - c->at) < sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		unsigned char got = c->at[i];
		bool fits = isalpha((unsigned char)shape[i]) && shape[i] != 'd' ? isalpha(got)
			    : shape[i] == 'd' ? isdigit(got) || (i == 4 && got == ' ')
					      : got == (unsigned char)shape[i];

		if (!fits)
			return false;
	}
	c->at += sizeof(shape) - 1;
	return true;
}

static bool take_iso_time(struct cursor *c)
{
	const char *word;
	struct cursor ahead = *c;
	size_t len = take_word(&ahead, &word);

	if (len < 19 || word[4] != '-' || word[10] != 'T')
		return false;
	*c = ahead;
	return true;
}

static bool read_5424(struct cursor *c, struct syslog_message *m)
{
	const char *word;

	if (!take_word(c, &word) || !take_host(c, m->host))
		return false;
	if (!strcmp(m->host, "-"))
		*m->host = '\0';	 /* not said */
	for (unsigned i = 0; i < 3; i++) /* application, process, message */
		if (!take_word(c, &word))
			return false;

	/* `-`, or elements in brackets; a quoted value may hold brackets. */
	bool quoted = false;

	if (take_char(c, '-')) {
		take_char(c, ' ');
		return true;
	}
	while (take_char(c, '[')) {
		for (; c->at < c->end && (quoted || *c->at != ']'); c->at++) {
			if (*c->at == '\\' && c->at + 1 < c->end)
				c->at++;
			else if (*c->at == '"')
				quoted = !quoted;
		}
		if (!take_char(c, ']'))
			return false;
	}
	take_char(c, ' ');
	return true;
}

bool syslog_read(const char *line, size_t len, struct syslog_message *m)
{
	struct cursor c = { line, line + len };
	bool good = take_char(&c, '<');
	unsigned digits = 0; /* of the priority */

	while (c.at < c.end && isdigit((unsigned char)*c.at) && digits++ < 3)
		c.at++;
	if (!good || !digits || !take_char(&c, '>'))
		return false;
	if (c.end - c.at > 2 && c.at[0] == '1' && c.at[1] == ' ') {
		c.at += 2;
		good = read_5424(&c, m);
	} else if (take_bsd_time(&c) || take_iso_time(&c)) {
		good = take_host_or_none(&c, m->host);
	} else {
		/* Without a time there is nothing to know a header by but its tag. */
		good = take_host_or_none(&c, m->host) && is_tag(&c);
	}
	m->text = c.at;
	m->len = c.end - c.at;
	return good;
}

/* ---- Framing --------------------------------------------------------------------------------- */

void syslog_stream_feed(struct syslog_stream *s, const char *data, size_t len, syslog_line_fn *fn,
			void *arg)
{
	while (len) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline ? (size_t)(newline - data) : len;
		size_t room = sizeof(s->line) - s->used;

		memcpy(s->line + s->used, data, part < room ? part : room);
		s->used += (uint32_t)(part < room ? part : room);
		if (newline && s->used)
			fn(arg, s->line, s->used);
		if (newline)
			s->used = 0;
		part += newline != NULL;
		data += part;
		len -= part;
	}
}

/* ---- Records of journald --------------------------------------------------------------------- */

/*
 * _HOSTNAME=dgx-01\n                            FIELD=value, up to the end of the line
 *   MESSAGE\n <8 bytes, little-endian: size> ..\n   a value that has a newline in it
 *   \n                                            ends a record
 *
 *   {"_HOSTNAME":"dgx-01","MESSAGE":"..", ..}\n    MESSAGE is a list of bytes where it is no UTF-8
 */

enum at { NAME, VALUE, SIZE, BINARY, BINARY_END, LOST, JSON };
enum field { OTHER, HOST, MESSAGE };

bool journal_begins(char first)
{
	return first == '{' || first == '_' || isupper((unsigned char)first);
}

/* ---- A record -------------------------------------------------------------------------------- */

static void journal_deliver(struct journal_stream *s, journal_fn *fn, void *arg)
{
	s->message.text = s->text;
	s->message.len = s->text_used;
	if (s->any)
		fn(arg, s->text_used > 0, &s->message);
	s->any = false;
	s->text_used = s->host_used = 0;
	*s->message.host = '\0';
}

static void journal_keep(struct journal_stream *s, const char *data, size_t len)
{
	size_t room = sizeof(s->text) - s->text_used;

	if (s->field == MESSAGE) {
		len = len < room ? len : room;
		memcpy(s->text + s->text_used, data, len);
		s->text_used += len;
	} else if (s->field == HOST) {
		room = sizeof(s->message.host) - 1 - s->host_used;
		len = len < room ? len : room;
		memcpy(s->message.host + s->host_used, data, len);
		s->host_used += len;
		s->message.host[s->host_used] = '\0';
		if (!syslog_host_is_text(s->message.host))
			*s->message.host = '?', s->message.host[1] = '\0';
	}
}

/* ---- The export format ----------------------------------------------------------------------- */

static void feed_name(struct journal_stream *s, char c, journal_fn *fn, void *arg)
{
	if (c == '\n' && !s->name_used) {
		journal_deliver(s, fn, arg);
		return;
	}
	s->any = true;
	if (c == '=' || c == '\n') {
		if (s->name_used == 9 && !memcmp(s->name, "_HOSTNAME", 9))
			s->field = HOST;
		else
			s->field = s->name_used == 7 && !memcmp(s->name, "MESSAGE", 7) ? MESSAGE
										       : OTHER;
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

static size_t feed_export(struct journal_stream *s, const char *data, size_t len, journal_fn *fn,
			  void *arg)
{
	const char *newline = s->at == VALUE ? memchr(data, '\n', len) : NULL;
	size_t part = 1;

	if (s->at == VALUE) {
		part = newline ? (size_t)(newline - data) : len;
		journal_keep(s, data, part);
		s->at = newline ? NAME : VALUE;
		part += newline != NULL;
	} else if (s->at == BINARY) {
		part = len < s->left ? len : s->left;
		journal_keep(s, data, part);
		s->left -= part;
		s->at = s->left ? BINARY : BINARY_END;
	} else if (s->at == SIZE) {
		s->left |= (uint64_t)(uint8_t)*data << 8 * s->size_used;
		if (++s->size_used == sizeof(s->size))
			s->at = s->left ? BINARY : BINARY_END;
	} else if (s->at == BINARY_END) {
		s->at = NAME; /* a newline */
	} else if (s->at == LOST) {
		/* name_used counts newlines in a row. */
		s->name_used = *data == '\n' ? s->name_used + 1 : 0;
		if (s->name_used == 2) {
			s->name_used = 0;
			s->at = NAME;
		}
	} else {
		feed_name(s, *data, fn, arg);
	}
	return part;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void keep_json(struct journal_stream *s, enum field field, const json_t *value)
{
	json_t *byte;
	size_t index;

	s->field = field;
	if (json_is_string(value))
		journal_keep(s, json_string_value(value), json_string_length(value));
	json_array_foreach ((json_t *)value, index, byte) {
		char c = json_integer_value(byte);

		journal_keep(s, &c, 1);
	}
}

static size_t feed_json(struct journal_stream *s, const char *data, size_t len, journal_fn *fn,
			void *arg)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len;
	size_t room = JOURNAL_JSON_MAX - s->json_used;
	json_t *doc;

	memcpy(s->json + s->json_used, data, part < room ? part : room);
	s->json_used += (uint32_t)(part < room ? part : room);
	if (!newline)
		return len;
	if (!s->json_used)
		return part + 1;
	doc = s->json_used < JOURNAL_JSON_MAX
		      ? json_loadb(s->json, s->json_used, JSON_ALLOW_NUL, NULL)
		      : NULL;
	s->any = true;
	if (json_is_object(doc)) {
		keep_json(s, HOST, json_object_get(doc, "_HOSTNAME"));
		keep_json(s, MESSAGE, json_object_get(doc, "MESSAGE"));
	}
	json_decref(doc);
	s->json_used = 0;
	journal_deliver(s, fn, arg);
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
