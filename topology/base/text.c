/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <strings.h>
#include "topology/base/text.h"
#include "topology/base/mem.h"

/* ---- Words: all works within the text, what is cut off ends in a zero byte there ------------- */

#define BLANKS " \t\r\n\v\f"

char *words_trim(char *text)
{
	text += strspn(text, BLANKS);

	char *end = text + strlen(text);

	while (end > text && strchr(BLANKS, end[-1]))
		*--end = '\0';
	return text;
}

char *words_cut(char *text, char mark)
{
	char *at = strchr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + 1;
}

char *words_split(char *text, char **value)
{
	*value = words_cut(text, '=');
	if (*value)
		*value = words_trim(*value);
	return words_trim(text);
}

bool words_abbreviate(const char *text, const char *word)
{
	return *text && !strncmp(text, word, strlen(text));
}

bool words_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false; /* no sign, no blank */
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !*end && !errno && *value <= max;
}

const char *words_plural(uint64_t count, const char *one, const char *several)
{
	return count == 1 ? one : several;
}

/* ---- Lex: nothing reads at or past `end`; lines need no zero byte behind them ---------------- */

void lex_skip_blanks(struct lex *l)
{
	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
}

bool lex_take_char(struct lex *l, char c)
{
	if (!lex_is(l, c))
		return false;
	l->p++;
	return true;
}

bool lex_take_word(struct lex *l, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(l->end - l->p) < len || memcmp(l->p, word, len))
		return false;
	l->p += len;
	return true;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20; /* in lower case */
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads digits of one base; the count of them, 0 when there is none or 64 bits do not hold them. */
static unsigned read_digits(struct lex *l, unsigned base, uint64_t *value)
{
	const char *start = l->p;
	unsigned digits = 0;
	uint64_t v = 0;

	for (; l->p < l->end; l->p++, digits++) {
		int d = digit_value(*l->p);

		if (d < 0 || (unsigned)d >= base)
			break;
		if (v > (UINT64_MAX - (unsigned)d) / base) {
			l->p = start;
			return 0;
		}
		v = v * base + (unsigned)d;
	}
	*value = v;
	return digits;
}

bool lex_take_hex(struct lex *l, uint64_t *value)
{
	struct lex try = *l;

	if (!lex_take_word(&try, "0x"))
		lex_take_word(&try, "0X");
	if (!read_digits(&try, 16, value))
		return false;
	*l = try;
	return true;
}

bool lex_take_number(struct lex *l, uint64_t *value)
{
	struct lex try = *l;

	if (lex_take_word(&try, "0x") || lex_take_word(&try, "0X"))
		return lex_take_hex(l, value);
	if (!read_digits(&try, 10, value))
		return false;
	if (!lex_done(&try) && digit_value(*try.p) >= 10)
		return lex_take_hex(l, value);
	*l = try;
	return true;
}

bool lex_take_quoted(struct lex *l, struct lex_text *text)
{
	if (!lex_is(l, '"'))
		return false;

	const char *close = memchr(l->p + 1, '"', l->end - l->p - 1);

	if (!close)
		return false;
	*text = (struct lex_text){ l->p + 1, close - l->p - 1 };
	l->p = close + 1;
	return true;
}

static const char *find_word(const struct lex *l, const char *word)
{
	size_t len = l->end - l->p;

	return len ? memmem(l->p, len, word, strlen(word)) : NULL;
}

bool lex_find_number(const struct lex *l, const char *word, uint64_t *value)
{
	const char *at = find_word(l, word);

	if (!at)
		return false;

	struct lex rest = (struct lex){ at + strlen(word), l->end };

	lex_skip_blanks(&rest);
	return lex_take_number(&rest, value);
}

bool lex_contains(const struct lex *l, const char *word)
{
	return find_word(l, word) != NULL;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

/*
 * ADDRESS:PORT. The last colon separates the two, since an IPv6 address has colons itself.
 * Whether this machine has the address shows when it is bound.
 */
bool address_parse(const char *text, struct address *address)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (colon - text) : 0, digits;

	if (!colon)
		return false;
	digits = strspn(colon + 1, "0123456789");

	unsigned long port = strtoul(colon + 1, NULL, 10);

	if (!digits || digits > 5 || colon[1 + digits] || !port || port > UINT16_MAX)
		return false;
	address->port = port;
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		text++, len -= 2;
	if (len >= sizeof(address->host))
		return false;
	memcpy(address->host, text, len);
	address->host[len] = '\0';
	return !strpbrk(address->host, " \t[]/");
}

bool address_is_numeric(const char *host)
{
	uint8_t bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

void address_print(const struct sockaddr *from, char *text, size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	*text = '\0';
	if (from->sa_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, size);
	else if (from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text, size);
	else if (from->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, text, size);
}

/* ---- Text ------------------------------------------------------------------------------------ */

#define HOST_NAME_MAX_LEN 253

static const struct {
	uint32_t first, last;
} unsafe[] = {
	{ 0, 0x1f },	    /* C0 */
	{ 0x7f, 0x9f },	    /* DEL, C1: terminals take 0x9b for the start of a command */
	{ 0x61c, 0x61c },   /* Arabic letter mark */
	{ 0x200b, 0x200f }, /* zero width, left-to-right and right-to-left marks */
	{ 0x2028, 0x202e }, /* line and paragraph separators, bidirectional embedding */
	{ 0x2060, 0x2069 }, /* word joiner, invisible operators, bidirectional isolates */
	{ 0xfeff, 0xfeff }, /* byte order mark */
	{ 0xfff9, 0xfffb }, /* interlinear annotation */
};

size_t text_decode(const char *text, size_t len, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const uint8_t *at = (const uint8_t *)text;
	size_t size = *at < 0x80   ? 1
		      : *at < 0xc2 ? 0
		      : *at < 0xe0 ? 2
		      : *at < 0xf0 ? 3
		      : *at < 0xf5 ? 4
				   : 0;

	if (!size || size > len)
		return 0;
	*c = size == 1 ? *at : *at & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (at[i] & 0x3f);
	}
	return *c < least[size] || *c > 0x10ffff || (*c >= 0xd800 && *c <= 0xdfff) ? 0 : size;
}

void text_clean(const char *from, size_t len, char *to)
{
	size_t used = 0;

	len = strnlen(from, len);
	for (size_t i = 0, size; i < len; i += size ? size : 1) {
		uint32_t c = 0;

		if (from[i] >= ' ' && from[i] <= '~') { /* mostly */
			to[used++] = from[i];
			size = 1;
			continue;
		}
		size = text_decode(from + i, len - i, &c);

		bool safe = size;

		for (size_t u = 0; u < ARRAY_SIZE(unsafe); u++)
			safe &= c < unsafe[u].first || c > unsafe[u].last;
		if (safe) {
			memmove(to + used, from + i, size);
			used += size;
		} else {
			to[used++] = '.';
		}
	}
	to[used] = '\0';
}

bool text_is_host_name(const char *name)
{
	size_t len = strlen(name);

	if (len > HOST_NAME_MAX_LEN || !isalnum((unsigned char)*name) || !strncmp(name, "0x", 2))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-._", name[i]))
			return false;
	return strcasecmp(name, "ALL") && strcasecmp(name, "DEFAULT");
}

void text_node_name(const char *host, bool shortened, char to[TEXT_NODE_NAME])
{
	size_t i = 0;

	for (; host[i] && i + 1 < TEXT_NODE_NAME && !(shortened && host[i] == '.'); i++)
		to[i] = shortened ? tolower((unsigned char)host[i]) : host[i];
	to[i] = '\0';
}

bool text_has_word(const char *list, char between, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, between)) {
		at += *at == between;
		if (!strncmp(at, word, len) && (!at[len] || at[len] == between))
			return true;
	}
	return false;
}

/* ---- Texts that are put together ------------------------------------------------------------- */

void text_add(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

bool text_refuse(char *err, size_t size, const char *file, unsigned line, const char *format, ...)
{
	size_t used = snprintf(err, size, "%s:%u: ", file, line);
	va_list args;

	va_start(args, format);
	if (used < size)
		vsnprintf(err + used, size - used, format, args);
	va_end(args);
	return false;
}

/* ---- Documents ------------------------------------------------------------------------------- */

json_t *json_guid(uint64_t guid)
{
	return json_sprintf("0x%016" PRIx64, guid);
}

uint64_t json_guid_of(const json_t *object, const char *key)
{
	return strtoull(json_text(object, key) ?: "", NULL, 16);
}

const char *json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

json_int_t json_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

json_t *json_index(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

json_t *json_figure(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

void json_put(json_t *object, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_object_update_new(object, json_vpack_ex(NULL, 0, format, args));
	va_end(args);
}

void json_add(json_t *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_array_append_new(list, json_vpack_ex(NULL, 0, format, args));
	va_end(args);
}
