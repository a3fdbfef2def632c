/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * senders: a table with four places for each hash of an address. Who comes when all four are taken
 * has the place of the one that was silent longest, one that may not send before one that may; what
 * it had counted stays in the totals.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/senders.h"
#include "topology/base/mem.h"

#define WAYS	    4
#define KNOWN_MAX   65536
#define LIST_TEXT   1024
#define UNDECIDE_US (600 * 1000000ull) /* a refusal is thought over: names get other addresses */

/* ---- Addresses ------------------------------------------------------------------------------- */

static void map_v4(struct sender_address *to, const void *v4)
{
	*to = (struct sender_address){ { [10] = 0xff, [11] = 0xff } };
	memcpy(to->bytes + 12, v4, 4);
}

void sender_address_of(struct sender_address *to, const struct sockaddr *from)
{
	*to = (struct sender_address){ 0 };
	if (from->sa_family == AF_INET)
		map_v4(to, &((const struct sockaddr_in *)from)->sin_addr);
	else if (from->sa_family == AF_INET6)
		memcpy(to->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr, 16);
}

bool sender_address_parse(struct sender_address *to, const char *text)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		map_v4(to, &v4);
		return true;
	}
	return inet_pton(AF_INET6, text, to->bytes) == 1;
}

static void write_address(const struct sender_address *a, char *text, size_t size)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)a->bytes);

	if (!inet_ntop(v4 ? AF_INET : AF_INET6, a->bytes + (v4 ? 12 : 0), text, (socklen_t)size))
		*text = '\0';
}

static bool same(const struct sender_address *a, const struct sender_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool within(const struct sender_address *a, const struct sender_prefix *p)
{
	unsigned whole = p->bits / 8, rest = p->bits % 8;
	uint8_t mask = (uint8_t)(0xff00 >> rest);

	if (memcmp(a->bytes, p->address.bytes, whole))
		return false;
	return !rest || !((a->bytes[whole] ^ p->address.bytes[whole]) & mask);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static bool parse_prefix(struct sender_prefix *p, char *word)
{
	char *slash = strchr(word, '/'), *end = NULL;
	unsigned long bits;
	bool v4;

	if (!strcmp(word, "any")) {
		*p = (struct sender_prefix){ 0 };
		return true;
	}
	if (slash)
		*slash = '\0';
	v4 = !strchr(word, ':');
	if (!sender_address_parse(&p->address, word))
		return false;
	bits = slash ? strtoul(slash + 1, &end, 10) : v4 ? 32 : 128;
	if (slash) {
		bool good = end != slash + 1 && !*end && slash[1] != '-' && slash[1] != '+';

		*slash = '/'; /* the word is shown as it stands */
		if (!good)
			return false;
	}
	p->bits = (uint8_t)(bits + (v4 ? 96 : 0));
	return bits <= (v4 ? 32 : 128);
}

bool senders_allow(struct senders *s, const char *list, char *err, size_t err_size)
{
	char copy[LIST_TEXT], *rest = copy, *word;
	struct sender_prefix *allow = NULL;
	unsigned count = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((word = strtok_r(rest, ", \t", &rest))) {
		allow = mem_resize(allow, count + 1, sizeof(*allow));
		if (parse_prefix(&allow[count++], word))
			continue;
		snprintf(err, err_size, "`%.80s` is not an address or ADDRESS/BITS", word);
		free(allow);
		return false;
	}
	free(s->allow);
	s->allow = allow;
	s->nallow = count;
	s->listed = count > 0;
	for (unsigned i = 0; s->table && i < SENDERS_MAX; i++)
		s->table[i].verdict = SENDER_NEW;
	return true;
}

void senders_forget_known(struct senders *s)
{
	free(s->known);
	s->known = NULL;
	s->nknown = 0;
}

static bool is_known(const struct senders *s, const struct sender_address *address)
{
	for (unsigned i = 0; i < s->nknown; i++)
		if (same(&s->known[i], address))
			return true;
	return false;
}

void senders_know(struct senders *s, const struct sender_address *address)
{
	if (s->nknown >= KNOWN_MAX || is_known(s, address))
		return;
	s->known = mem_resize(s->known, s->nknown + 1, sizeof(*s->known));
	s->known[s->nknown++] = *address;
}

void senders_know_text(struct senders *s, const char *text)
{
	struct sender_address address;

	if (sender_address_parse(&address, text))
		senders_know(s, &address);
}

void senders_know_own(struct senders *s)
{
	struct ifaddrs *all, *one;

	if (getifaddrs(&all))
		return;
	for (one = all; one; one = one->ifa_next) {
		struct sender_address address;

		if (!one->ifa_addr ||
		    (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
			continue;
		sender_address_of(&address, one->ifa_addr);
		senders_know(s, &address);
	}
	freeifaddrs(all);
}

void senders_fini(struct senders *s)
{
	free(s->table);
	free(s->allow);
	free(s->known);
	*s = (struct senders){ 0 };
}

/* ---- The table ------------------------------------------------------------------------------- */

static bool is_loopback(const struct sender_address *a)
{
	static const struct sender_prefix v4 = { { { [10] = 0xff, [11] = 0xff, [12] = 127 } },
						 104 };
	static const struct sender_prefix v6 = { { { [15] = 1 } }, 128 };

	return within(a, &v4) || within(a, &v6);
}

static void decide(const struct senders *s, struct sender *sender, uint64_t now_us)
{
	bool good = !s->listed && (is_loopback(&sender->address) || is_known(s, &sender->address));

	for (unsigned i = 0; i < s->nallow && !good; i++)
		good = within(&sender->address, &s->allow[i]);
	if (good)
		sender->verdict = s->listed ? SENDER_LISTED : SENDER_ALLOWED;
	else
		sender->verdict = s->listed ? SENDER_REFUSED : SENDER_NEW;
	sender->decided_us = now_us;
}

static void add_counts(struct sender *to, const struct sender *from)
{
	to->understood += from->understood;
	to->ignored += from->ignored;
	to->malformed += from->malformed;
	to->refused += from->refused;
}

static bool gives_way_to(const struct sender *a, const struct sender *b)
{
	if (a->used != b->used)
		return !a->used;
	if (sender_may(a) != sender_may(b))
		return !sender_may(a);
	return a->heard_us < b->heard_us;
}

static struct sender *place_of(struct senders *s, const struct sender_address *address)
{
	uint32_t hash = 2166136261u;
	struct sender *row, *victim;

	for (unsigned i = 0; i < sizeof(address->bytes); i++)
		hash = (hash ^ address->bytes[i]) * 16777619u;
	if (!s->table)
		s->table = mem_alloc(SENDERS_MAX, sizeof(*s->table));
	row = victim = s->table + (hash ^ hash >> 15) % (SENDERS_MAX / WAYS) * WAYS;
	for (unsigned i = 0; i < WAYS; i++) {
		if (row[i].used && same(&row[i].address, address))
			return &row[i];
		if (gives_way_to(&row[i], victim))
			victim = &row[i];
	}
	add_counts(&s->gone, victim);
	*victim = (struct sender){ .used = true, .address = *address };
	write_address(address, victim->name, sizeof(victim->name));
	return victim;
}

struct sender *senders_find(struct senders *s, const struct sender_address *address,
			    uint64_t now_us)
{
	struct sender *sender = place_of(s, address);
	bool old = sender->verdict == SENDER_REFUSED && now_us - sender->decided_us >= UNDECIDE_US;

	sender->heard_us = now_us;
	if (sender->verdict == SENDER_NEW || old)
		decide(s, sender, now_us);
	return sender;
}

/* ---- Documents ------------------------------------------------------------------------------- */

static uint64_t useless(const struct sender *s)
{
	return s->malformed + s->refused;
}

static int compare(const void *a, const void *b)
{
	const struct sender *const *one = a, *const *other = b;
	uint64_t x = useless(*one), y = useless(*other);

	return x != y ? (x < y ? 1 : -1) : strcmp((*one)->name, (*other)->name);
}

/* All that ever sent, sorted; the caller frees the list. */
static const struct sender **sorted(const struct senders *s, unsigned *count)
{
	const struct sender **list = mem_alloc(SENDERS_MAX + 1, sizeof(struct sender *));

	*count = 0;
	if (s->devices.used)
		list[(*count)++] = &s->devices;
	for (unsigned i = 0; s->table && i < SENDERS_MAX; i++)
		if (s->table[i].used)
			list[(*count)++] = &s->table[i];
	qsort(list, *count, sizeof(*list), compare);
	return list;
}

static json_t *counts_json(const struct sender *s)
{
	return json_pack("{sI sI sI sI}", "understood", (json_int_t)s->understood, "ignored",
			 (json_int_t)s->ignored, "malformed", (json_int_t)s->malformed, "refused",
			 (json_int_t)s->refused);
}

json_t *senders_json(const struct senders *s, uint64_t now_us)
{
	json_t *rows = json_array();
	unsigned count;
	const struct sender **list = sorted(s, &count);

	for (unsigned i = 0; i < count; i++) {
		json_t *row = counts_json(list[i]);

		json_object_set_new(row, "sender", json_string(list[i]->name));
		json_object_set_new(row, "allowed", json_boolean(sender_may(list[i])));
		json_object_set_new(row, "heard_s", json_real((now_us - list[i]->heard_us) / 1e6));
		json_array_append_new(rows, row);
	}
	free(list);
	return rows;
}

json_t *senders_totals(const struct senders *s)
{
	struct sender sum = s->gone;
	unsigned count;
	const struct sender **list = sorted(s, &count);

	for (unsigned i = 0; i < count; i++)
		add_counts(&sum, list[i]);
	free(list);
	return counts_json(&sum);
}

json_t *senders_worst(const struct senders *s, unsigned most)
{
	json_t *doc = json_object();
	unsigned count;
	const struct sender **list = sorted(s, &count);

	for (unsigned i = 0; i < count && i < most && useless(list[i]); i++)
		json_object_set_new(doc, list[i]->name, json_integer((json_int_t)useless(list[i])));
	free(list);
	return doc;
}
