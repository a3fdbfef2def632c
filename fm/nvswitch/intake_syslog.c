/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include "fm/nvswitch/intake_sources.h"
#include "topology/base/sort.h"

/* ---- Headers of syslog ----------------------------------------------------------------------- */

/*
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

/* A word up to a blank, which is taken too; len 0 = there is none. */
static size_t take_word(struct lex *c, const char **word)
{
	const char *blank = memchr(c->p, ' ', (size_t)(c->end - c->p));
	size_t len = (size_t)((blank ? blank : c->end) - c->p);

	*word = c->p;
	c->p = blank ? blank + 1 : c->end;
	return len;
}

bool syslog_host_is_text(const char *host)
{
	return !host[strspn(host, SOURCE_LETTERS ":/")];
}

/* What stands before an @ is the relay's name of its source. */
static bool take_host(struct lex *c, char *host)
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
static bool is_tag(struct lex c)
{
	const char *word;
	size_t len = take_word(&c, &word);

	return len > 1 && (word[len - 1] == ':' || memchr(word, '[', len));
}

/* Behind the version. Structured data: `-`, or elements in brackets; quotes may hold some. */
static bool read_5424(struct lex *c, struct syslog_message *m)
{
	const char *word;
	bool quoted = false;

	if (!take_word(c, &word) || !take_host(c, m->host))
		return false;
	if (!strcmp(m->host, "-"))
		*m->host = '\0';	 /* not given */
	for (unsigned i = 0; i < 3; i++) /* application, process, message */
		if (!take_word(c, &word))
			return false;
	lex_take_char(c, '-');
	while (lex_is(c, '[')) {
		for (; c->p < c->end && (quoted || *c->p != ']'); c->p++) {
			if (*c->p == '\\' && c->p + 1 < c->end)
				c->p++;
			else if (*c->p == '"')
				quoted = !quoted;
		}
		if (c->p++ >= c->end)
			return false;
	}
	lex_take_char(c, ' ');
	return true;
}

bool syslog_read(const char *line, size_t len, struct syslog_message *m)
{
	struct lex c = { line, line + len }, ahead;
	uint64_t priority;
	bool good, timed = false;

	*m->host = '\0';
	if (!lex_take_char(&c, '<') || !lex_take_number(&c, &priority) || priority > 191 ||
	    !lex_take_char(&c, '>'))
		return false;
	if (lex_take_word(&c, "1 ")) {
		good = read_5424(&c, m);
	} else {
		/* "Nov 21 01:02:03 ", or "2024-07-23T07:53:55.12+00:00 ". */
		ahead = c;

		const char *at = c.p;

		if (c.end - at >= 16 && isalpha((unsigned char)*at) && at[3] == ' ' &&
		    at[6] == ' ' && at[9] == ':' && at[12] == ':' && at[15] == ' ') {
			c.p += 16;
			timed = true;
		} else if (take_word(&ahead, &at) >= 19 && at[4] == '-' && at[10] == 'T') {
			c = ahead;
			timed = true;
		}
		good = is_tag(c) || take_host(&c, m->host);
		/* Without a time there is nothing to know a header by but its tag. */
		good = good && (timed || is_tag(c));
	}
	m->text = c.p;
	m->len = c.end - c.p;
	return good;
}

/* ---- Records of journald --------------------------------------------------------------------- */

/*
 * _HOSTNAME=dgx-01\n                            FIELD=value, up to the end of the line
 *   MESSAGE\n <8 bytes, little-endian: size> ..\n   a value that has a newline in it
 *   \n                                            ends a record
 *
 *   {"_HOSTNAME":"dgx-01","MESSAGE":"..", ..}\n    MESSAGE is a list of bytes where it is no UTF-8
 */

#define FIELD_MAX 64 /* bytes of its name */

enum form { UNDECIDED, SYSLOG, EXPORT, JSON };
enum field { OTHER, HOST, MESSAGE };

static void deliver(struct log_stream *s, bool known, log_stream_fn *fn, void *arg)
{
	s->message.text = s->text;
	s->message.len = s->text_used;
	if (s->any)
		fn(arg, known && s->text_used, &s->message);
	s->any = false;
	s->text_used = 0;
	*s->message.host = '\0';
}

static void keep_value(struct log_stream *s, const char *data, size_t len)
{
	char *host = s->message.host;

	if (s->field == MESSAGE) {
		s->text_used = (uint32_t)(len < sizeof(s->text) ? len : sizeof(s->text));
		memcpy(s->text, data, s->text_used);
	} else if (s->field == HOST) {
		len = len < SYSLOG_HOST ? len : SYSLOG_HOST - 1;
		memcpy(host, data, len);
		host[len] = '\0';
		if (!syslog_host_is_text(host))
			strcpy(host, "?");
	}
}

/* ---- Streams --------------------------------------------------------------------------------- */

static void end_line(struct log_stream *s, log_stream_fn *fn, void *arg)
{
	struct syslog_message m;

	if (s->form == EXPORT && !s->used) {
		s->lost = false;
		deliver(s, true, fn, arg);
	} else if (s->form == EXPORT && !s->lost) {
		const char *equals = memchr(s->line, '=', s->used);
		size_t len = equals ? (size_t)(equals - s->line) : s->used;

		s->any = true;
		s->lost = !len || len > FIELD_MAX ||
			  any_of(i, 0, len, (unsigned char)s->line[i] <= ' ');
		if (s->lost) {
			deliver(s, false, fn, arg);
		} else {
			s->field = len == 9 && !memcmp(s->line, "_HOSTNAME", 9) ? HOST
				   : len == 7 && !memcmp(s->line, "MESSAGE", 7) ? MESSAGE
										: OTHER;
			s->sizing = !equals;
			s->left = equals ? 0 : 8;
			if (equals)
				keep_value(s, equals + 1, s->used - len - 1);
		}
	} else if (s->form == JSON && s->used) {
		json_t *doc = json_loadb(s->line, s->used, JSON_ALLOW_NUL, NULL);
		json_t *message = json_object_get(doc, "MESSAGE");
		json_t *host = json_object_get(doc, "_HOSTNAME");

		s->field = HOST;
		keep_value(s, json_is_string(host) ? json_string_value(host) : "",
			   json_string_length(host));
		s->field = MESSAGE;
		if (json_is_string(message))
			keep_value(s, json_string_value(message), json_string_length(message));
		JSON_EACH (byte, message)
			if (s->text_used < sizeof(s->text))
				s->text[s->text_used++] = (char)json_integer_value(byte);
		json_decref(doc);
		s->any = true;
		deliver(s, true, fn, arg);
	} else if (s->form == SYSLOG && s->used) {
		bool known =
			syslog_read(s->line, s->used < SYSLOG_LINE ? s->used : SYSLOG_LINE, &m);

		fn(arg, known, &m);
	}
	s->used = 0;
}

void log_stream_feed(struct log_stream *s, const char *data, size_t len, log_stream_fn *fn,
		     void *arg)
{
	if (len && !s->form) {
		s->form = *data == '{'					  ? JSON
			  : *data == '_' || isupper((unsigned char)*data) ? EXPORT
									  : SYSLOG;
		s->line = mem_alloc_unset(LOG_STREAM_LINE, 1);
	}
	while (len) {
		const char *newline = s->left ? NULL : memchr(data, '\n', len);
		size_t part = newline ? (size_t)(newline - data) : len, space, kept;

		part = s->left && s->left < part ? s->left : part;
		space = LOG_STREAM_LINE - s->used;
		kept = part < space ? part : space;
		memcpy(s->line + s->used, data, kept);
		s->used += kept;
		if (newline) {
			end_line(s, fn, arg);
			part++;
		} else if (s->left && !(s->left -= part)) {
			/* Of a binary value: its size, 8 bytes; or itself and a newline. */
			if (!s->sizing)
				keep_value(s, s->line, s->used - 1);
			for (unsigned i = 8; i-- > 0 && s->sizing;)
				s->left = s->left << 8 | (uint8_t)s->line[i];
			s->left += s->sizing && s->left < UINT64_MAX;
			s->sizing = false;
			s->used = 0;
		}
		data += part;
		len -= part;
	}
}

void log_stream_end(struct log_stream *s, log_stream_fn *fn, void *arg)
{
	if (s->form == SYSLOG)
		end_line(s, fn, arg);
	free(s->line);
	*s = (struct log_stream){ 0 };
}
