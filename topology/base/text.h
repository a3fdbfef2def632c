/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * text: names as people and machines on the fabric write them, made safe to show; words, lines and
 * addresses that people write, taken apart.
 *
 * A NodeDescription (IBA 14.2.5.2) is 64 bytes that anybody with a port may choose. It reaches
 * terminals, JSON, topology files, the scheduler and hooks, so it is cleaned once, where it enters;
 * everything behind that relies on it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at `text`, and its number; 0 = malformed, or beyond `len` bytes. */
size_t text_decode(const char *text, size_t len, uint32_t *c);
/*
 * Copies `len` bytes, or fewer if a zero byte comes first, to `to`, of len + 1 bytes.
 * What is well-formed UTF-8 (RFC 3629) stays. Each byte that is not, and each control (C0, DEL,
 * C1), line or paragraph separator, bidirectional or zero-width mark becomes one '.'. `to` may be
 * `from`: a result is never longer.
 */
void text_clean(const char *from, size_t len, char *to);

/*
 * Whether a name may be given to a scheduler, a hook or a URL as a host's: letters, digits, '-',
 * '.' and '_', the first a letter or digit, 253 characters at most (RFC 1123). Not a GUID ("0x.."),
 * and no word that a scheduler takes for more than one host (ALL, DEFAULT).
 */
bool text_is_host_name(const char *name);
#define TEXT_NODE_NAME 256
/*
 * What schedulers and hooks call a host's node: its name as it is, or in lower case up to the first
 * dot (short_node_names).
 */
void text_node_name(const char *host, bool shortened, char to[TEXT_NODE_NAME]);

/* Whether the word is one of a list, with that character between its words. */
bool text_has_word(const char *list, char between, const char *word);

/* ---- Words: parses lines that people write, and chooses words for those that they read ------- */

/* The text without blanks around it: points into text, which is shortened. */
char *words_trim(char *text);
/* Ends the text at `mark`, and points into it behind that; NULL = there is no mark. */
char *words_cut(char *text, char mark);
/* Of NAME or NAME=VALUE: NAME, and *value, NULL without one. Both point into text, trimmed. */
char *words_split(char *text, char **value);
/* Whether the text is the word, or a beginning of it; not "". */
bool words_abbreviate(const char *text, const char *word);
/* Decimal, 0x or 0 for octal; no sign, no blank. False also for NULL. */
bool words_number(const char *text, uint64_t max, uint64_t *value);

/* `one` for a count of 1, else `several`: one of its arguments ("1 link", "0 links"). */
const char *words_plural(uint64_t count, const char *one, const char *several);

/* ---- Lex ------------------------------------------------------------------------------------- */

/*
 * A cursor over one line of text, for readers of files. A take_ function returns true and
 * moves the cursor behind what it read, or returns false and leaves the cursor where it was if the
 * line does not continue with that. The text stays the caller's and needs no zero byte at its end.
 */
struct lex {
	const char *p, *end;
};

struct lex_text {
	const char *p;
	size_t len;
};

static inline bool lex_done(const struct lex *l)
{
	return l->p == l->end;
}

static inline bool lex_is(const struct lex *l, char c)
{
	return l->p < l->end && *l->p == c;
}

/* Skips spaces and tabs. */
void lex_skip_blanks(struct lex *l);
/* True if the text begins with that character, or with that word (a longer word too). */
bool lex_take_char(struct lex *l, char c);
bool lex_take_word(struct lex *l, const char *word);
/*
 * Read a number below 2^64; false for a greater one. lex_take_number(): decimal, or hexadecimal
 * with 0x or a letter in it. lex_take_hex(): hexadecimal, with 0x or without.
 */
bool lex_take_number(struct lex *l, uint64_t *value);
bool lex_take_hex(struct lex *l, uint64_t *value);
/* Reads what is between two double quotes, which lies in the line itself; false without both. */
bool lex_take_quoted(struct lex *l, struct lex_text *text);
/* The number behind the first `word` in the rest of the line ("lid 4"); false if there is none. */
bool lex_find_number(const struct lex *l, const char *word, uint64_t *value);
/* Whether `word` is anywhere in the rest of the line. */
bool lex_contains(const struct lex *l, const char *word);

/* ---- Texts that are put together ------------------------------------------------------------- */

/* Appends to a text in `size` bytes, in which it is cut. */
void text_add(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define array_add(array, ...) text_add(array, sizeof(array), __VA_ARGS__)
/* Writes the reason to err. It is false, as what was checked is. */
#define text_wrong(err, size, ...) (snprintf(err, size, __VA_ARGS__), false)
/* Writes `FILE:LINE: reason` to err. Returns false, as readers of files do. */
bool text_refuse(char *err, size_t size, const char *file, unsigned line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* ---- Documents ------------------------------------------------------------------------------- */

/* A GUID as all documents have it: "0x" and 16 digits. The caller owns the reference. */
json_t *json_guid(uint64_t guid);
/* A member's GUID, or another number that is a text of hexadecimal digits; 0 = it has none. */
uint64_t json_guid_of(const json_t *object, const char *key);
/* A member's text, which is the document's, and number; NULL and 0: it has none. */
const char *json_text(const json_t *object, const char *key);
json_int_t json_number(const json_t *object, const char *key);
/* A number, or null where it is negative or NaN: that is not known. */
json_t *json_index(int value);
json_t *json_figure(double value);
/* Sets members of an object, and adds a row to a list, that json_pack(3) would make. */
void json_put(json_t *object, const char *format, ...);
void json_add(json_t *list, const char *format, ...);

/* ---- Addresses ------------------------------------------------------------------------------- */

struct sockaddr;

/* Where a server listens, as people write it: ADDRESS:PORT, an IPv6 address in brackets. */
struct address {
	char host[64]; /* without brackets; "" = all addresses of this machine */
	uint16_t port;
};
/* False: the text is not ADDRESS:PORT; what is in *address then does not count. */
bool address_parse(const char *text, struct address *address);
/* True: an IPv4 or IPv6 address, so that no name has to be resolved. */
bool address_is_numeric(const char *host);
/*
 * Writes the address without its port; one that is IPv4 mapped into IPv6 as IPv4. "" = it is of
 * another family.
 */
void address_print(const struct sockaddr *from, char *text, size_t size);
