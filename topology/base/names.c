/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <stdbool.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"

/* ---- Near names: compared by the letters that would have to be changed ----------------------- */

#define LETTERS	   64
#define FAR	   99
#define WORD_MARKS " ;:/'\""

/* Letters apart, if at most `limit`; else FAR. */
static unsigned letters_apart(const char *a, size_t na, const char *b, size_t nb, unsigned limit)
{
	unsigned row[LETTERS + 1];

	if (na > LETTERS || nb > LETTERS || (na > nb ? na - nb : nb - na) > limit)
		return FAR;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned corner = row[0], best = row[0] = i;

		for (size_t j = 1; j <= nb; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);
			unsigned above = row[j],
				 step = (above < row[j - 1] ? above : row[j - 1]) + 1;

			row[j] = corner + !same < step ? corner + !same : step;
			corner = above;
			best = row[j] < best ? row[j] : best;
		}
		if (best > limit)
			return FAR;
	}
	return row[nb] <= limit ? row[nb] : FAR;
}

/* The name as a whole, or the nearest of its words. */
static unsigned apart(const char *text, size_t len, const char *name, unsigned limit)
{
	unsigned best = letters_apart(text, len, name, strlen(name), limit);

	for (const char *word = name; *word && best;) {
		size_t n = strcspn(word, WORD_MARKS);
		unsigned d = n ? letters_apart(text, len, word, n, limit) : FAR;

		best = d < best ? d : best;
		word += n;
		word += strspn(word, WORD_MARKS);
	}
	return best;
}

void near_names_add(struct near_names *near, const char *text, const char *name)
{
	size_t len = strlen(text);
	unsigned limit = len < 4 ? 1 : len < 12 ? 2 : 3;
	unsigned d = len ? apart(text, len, name, limit) : FAR;
	unsigned at = near->count;

	while (at > 0 && near->apart[at - 1] > d)
		at--;
	if (d == FAR || at == NEAR_NAMES)
		return;
	if (near->count < NEAR_NAMES)
		near->count++;
	for (unsigned i = near->count - 1; i > at; i--) {
		near->apart[i] = near->apart[i - 1];
		near->name[i] = near->name[i - 1];
	}
	near->apart[at] = d;
	near->name[at] = name;
}

void near_names_say(const struct near_names *near, char *err, size_t size)
{
	size_t used = strlen(err);

	for (unsigned i = 0; i < near->count && used < size; i++) {
		snprintf(err + used, size - used, "%s'%s'", i ? ", " : "; near: ", near->name[i]);
		used += strlen(err + used);
	}
}

/* ---- Natural order --------------------------------------------------------------------------- */

/*
 * Natural order is the byte order of a key: every byte stands for itself, a run of digits stands
 * for '0' + its length without leading zeros, then these digits. A longer number is thus a greater
 * key, "a2" < "a10" < "ab". Runs over DIGITS_MAX are cut into several (GUIDs written in hexadecimal
 * fit). Texts with equal keys ("a01", "a1") fall back to their bytes.
 *
 * Ranking 11,664 host names takes part in every snapshot, so the first 16 key bytes are packed into
 * two integers, which decide nearly every comparison.
 */

#define DIGITS_MAX 16
#define KEY_MAX	   192 /* NodeDescriptions have at most 64 bytes, each is at most two of the key */

/* Returns the key's length; keys over `size` are cut. */
static size_t natural_key(const char *text, size_t len, unsigned char *key, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < size;) {
		size_t run = 0;

		while (i + run < len && run < DIGITS_MAX && isdigit((unsigned char)text[i + run])) {
			if (run == 0 && text[i] == '0' && i + 1 < len &&
			    isdigit((unsigned char)text[i + 1]))
				i++;
			else
				run++;
		}
		if (!run) {
			key[n++] = text[i++];
			continue;
		}
		key[n++] = '0' + run;
		while (run-- && n < size)
			key[n++] = text[i++];
	}
	return n;
}

static int compare_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
	return memcmp(a, b, a_len < b_len ? a_len : b_len) ?: sort_order(a_len, b_len);
}

int names_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned char a_key[KEY_MAX], b_key[KEY_MAX];
	size_t a_n = natural_key(a, a_len, a_key, KEY_MAX),
	       b_n = natural_key(b, b_len, b_key, KEY_MAX);

	return compare_bytes(a_key, a_n, b_key, b_n) ?: compare_bytes(a, a_len, b, b_len);
}

/* ---- The set --------------------------------------------------------------------------------- */

static uint32_t hash_text(const char *text, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15u, word;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, text, len);
	h = (h ^ word) * 0xff51afd7ed558ccdu;
	return h >> 32;
}

/* Where the text is, or the free slot where it would go. */
static uint32_t find_slot(const struct names *names, const char *text, size_t len, uint32_t hash)
{
	uint32_t slot;

	for (slot = hash & names->mask; names->slots[slot]; slot = (slot + 1) & names->mask) {
		const struct name *name = &names->list[names->slots[slot] - 1];

		if (name->hash == hash && name->len == len && !memcmp(name->text, text, len))
			break;
	}
	return slot;
}

uint32_t names_id(struct names *names, const char *text, size_t len)
{
	uint32_t hash = hash_text(text, len), slot;

	if (names->count == names->capacity) {
		uint32_t slots = names->slots ? (names->mask + 1) * 2 : 64;

		free(names->slots);
		names->slots = mem_array(names->slots, slots);
		names->mask = slots - 1;
		names->capacity = slots / 2;
		names->list = mem_array_resize(names->list, names->capacity);
		for (uint32_t id = 0; id < names->count; id++) {
			uint32_t to = names->list[id].hash & names->mask;

			while (names->slots[to])
				to = (to + 1) & names->mask;
			names->slots[to] = id + 1;
		}
	}
	slot = find_slot(names, text, len, hash);
	if (names->slots[slot])
		return names->slots[slot] - 1;
	names->list[names->count] = (struct name){ text, len, hash };
	names->slots[slot] = names->count + 1;
	return names->count++;
}

uint32_t names_find(const struct names *names, const char *text, size_t len)
{
	if (!names->slots)
		return NAMES_NONE;

	uint32_t slot = find_slot(names, text, len, hash_text(text, len));

	return names->slots[slot] ? names->slots[slot] - 1 : NAMES_NONE;
}

void names_fini(struct names *names)
{
	free(names->list);
	free(names->slots);
	mem_zero(names, 1);
}

/* ---- Ranking --------------------------------------------------------------------------------- */

struct ranked {
	uint64_t high, low; /* the key's first 16 bytes */
	const struct name *name;
};

SORT_BY(compare_ranked, struct ranked,
	sort_order(a->high, b->high) ?: sort_order(a->low, b->low) ?:
	names_compare(a->name->text, a->name->len, b->name->text, b->name->len))

uint32_t *names_rank(const struct names *names)
{
	struct ranked *ranked = mem_array(ranked, names->count);
	uint32_t *rank = mem_array(rank, names->count);

	for (uint32_t id = 0; id < names->count; id++) {
		unsigned char key[16] = { 0 };

		natural_key(names->list[id].text, names->list[id].len, key, sizeof(key));
		ranked[id].name = &names->list[id];
		for (unsigned i = 0; i < 8; i++) {
			ranked[id].high = ranked[id].high << 8 | key[i];
			ranked[id].low = ranked[id].low << 8 | key[8 + i];
		}
	}
	sort_if_needed(ranked, names->count, sizeof(*ranked), compare_ranked);
	for (uint32_t i = 0; i < names->count; i++)
		rank[ranked[i].name - names->list] = i;
	free(ranked);
	return rank;
}

/* ---- Names that differ in a number at their end, written once -------------------------------- */

/*
 * Names with the same text before their last digits form a run while they follow one another;
 * within it, numbers that count up by one with the same width (n01 n02 n03, or n8 n9 n10 without
 * leading zeros) form a range. Slurm takes ranges only at a name's end, so a name that ends
 * otherwise stands for itself.
 */

#define NUMBER_DIGITS 18 /* what fits an uint64_t that one can be added to */

struct part { /* of one name */
	const char *name;
	size_t prefix; /* bytes before the number */
	size_t digits; /* 0 = the name does not end in a number */
	uint64_t number;
};

/* Does the next follow in a range? Widths must agree, but for 9 -> 10 without leading zeros. */
static bool goes_on(const struct part *a)
{
	const struct part *b = a + 1;

	return b->number == a->number + 1 &&
	       (a->digits == b->digits || (a->name[a->prefix] != '0' && b->name[b->prefix] != '0'));
}

char *hostlist_format(const char *const *names, uint32_t count)
{
	struct part *parts = mem_array(parts, count);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < count; i++) {
		const char *name = names[i];
		struct part p = { .name = name, .prefix = strlen(name) };

		while (p.prefix && p.digits < NUMBER_DIGITS &&
		       isdigit((unsigned char)name[p.prefix - 1])) {
			p.prefix--;
			p.digits++;
		}
		p.number = p.digits ? strtoull(name + p.prefix, NULL, 10) : 0;
		parts[i] = p;
	}
	for (uint32_t i = 0, end; i < count && out; i = end) {
		for (end = i + 1; end < count && parts[i].digits && parts[end].digits &&
				  parts[i].prefix == parts[end].prefix &&
				  !memcmp(parts[i].name, parts[end].name, parts[i].prefix);)
			end++;
		if (i)
			fputc(',', out);
		if (end == i + 1) {
			fputs(names[i], out);
			continue;
		}
		fprintf(out, "%.*s[", (int)parts[i].prefix, names[i]);
		for (uint32_t j = i; j < end;) {
			uint32_t last = j;

			if (j > i)
				fputc(',', out);
			while (last + 1 < end && goes_on(&parts[last]))
				last++;
			fputs(parts[j].name + parts[j].prefix, out);
			if (last > j)
				fprintf(out, "-%s", parts[last].name + parts[last].prefix);
			j = last + 1;
		}
		fputc(']', out);
	}
	free(parts);
	if (out)
		fclose(out);
	return text ? text : mem_strdup("");
}

#define HOSTLIST_NAME 256

struct hostlist_reading {
	hostlist_fn *fn;
	void *arg;
	uint32_t count;
	char name[HOSTLIST_NAME];
};

/* The first `length` bytes of the name stand; `rest` is what follows, up to `end`. */
static bool read_names(struct hostlist_reading *r, size_t length, const char *rest, const char *end)
{
	const char *open = memchr(rest, '[', end - rest), *close;
	size_t plain = (open ?: end) - rest;

	if (length + plain >= sizeof(r->name))
		return false;
	memcpy(r->name + length, rest, plain);
	length += plain;
	r->name[length] = '\0';
	if (!open) {
		if (!length || memchr(r->name, ']', length) || ++r->count > HOSTLIST_MAX)
			return false;
		r->fn(r->arg, r->name);
		return true;
	}
	close = memchr(open, ']', end - open);
	for (const char *part = open + 1; close && part <= close; part++) {
		size_t digits = strspn(part, "0123456789"), more = digits;
		unsigned long from = strtoul(part, NULL, 10), to = from;

		part += digits;
		if (*part == '-') {
			more = strspn(++part, "0123456789");
			to = strtoul(part, NULL, 10);
			part += more;
		}
		if (!digits || !more || digits > NUMBER_DIGITS || more > NUMBER_DIGITS ||
		    to < from || (*part != ',' && part != close))
			return false;
		for (; from <= to; from++) {
			int n = snprintf(r->name + length, sizeof(r->name) - length, "%0*lu",
					 (int)digits, from);

			if ((size_t)n >= sizeof(r->name) - length ||
			    !read_names(r, length + n, close + 1, end))
				return false;
		}
	}
	return close;
}

void hostlist_add_job(json_t *jobs, char *line)
{
	char *rest, *job = strtok_r(line, " \t\n", &rest), *word, *last = NULL;

	while (job && (word = strtok_r(NULL, " \t\n", &rest)))
		last = word;
	if (last && *last != '(' && strcmp(job, "JOBID"))
		json_array_append_new(jobs, json_pack("[ss]", job, last));
}

bool hostlist_each(const char *list, hostlist_fn *fn, void *arg)
{
	struct hostlist_reading r = { .fn = fn, .arg = arg };

	while (true) {
		bool within = false;
		const char *end = list;

		for (; *end && (within || *end != ','); end++)
			within = *end == '[' || (within && *end != ']');
		if (!read_names(&r, 0, list, end))
			return false;
		if (!*end)
			return true;
		list = end + 1;
	}
}
