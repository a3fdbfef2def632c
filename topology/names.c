/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * names: interned texts and natural order.
 *
 * Natural order is the byte order of a key: every byte stands for itself, a run of digits stands
 * for '0' + its length without leading zeros, then these digits. A longer number is thus a greater
 * key, "a2" < "a10" < "ab". Runs over DIGITS_MAX are cut into several (GUIDs written in hexadecimal
 * fit). Texts with equal keys ("a01", "a1") fall back to their bytes.
 *
 * Ranking 11,664 host names takes part in every snapshot, so the first 16 key bytes are packed into
 * two integers, which decide nearly every comparison.
 */
#include "topology/names.h"
#include "topology/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 16
#define KEY_MAX	   192 /* NodeDescriptions have at most 64 bytes, each is at most two of the key */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the key's length; keys over `room` are cut. */
static size_t natural_key(const char *text, size_t len, unsigned char *key, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < room;) {
		size_t run = 0;

		while (i + run < len && run < DIGITS_MAX && is_digit(text[i + run])) {
			if (run == 0 && text[i] == '0' && i + 1 < len && is_digit(text[i + 1]))
				i++;
			else
				run++;
		}
		if (!run) {
			key[n++] = (unsigned char)text[i++];
			continue;
		}
		key[n++] = (unsigned char)('0' + run);
		while (run-- && n < room)
			key[n++] = (unsigned char)text[i++];
	}
	return n;
}

static int compare_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	if (order)
		return order;
	return a_len < b_len ? -1 : a_len > b_len;
}

int names_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned char a_key[KEY_MAX], b_key[KEY_MAX];
	size_t a_n = natural_key(a, a_len, a_key, KEY_MAX),
	       b_n = natural_key(b, b_len, b_key, KEY_MAX);
	int order = compare_bytes(a_key, a_n, b_key, b_n);

	return order ? order : compare_bytes(a, a_len, b, b_len);
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
	return (uint32_t)(h >> 32);
}

static void grow(struct names *names)
{
	uint32_t slots = names->slots ? (names->mask + 1) * 2 : 64;

	free(names->slots);
	names->slots = mem_alloc(slots, sizeof(*names->slots));
	names->mask = slots - 1;
	names->room = slots / 2;
	names->list = mem_resize(names->list, names->room, sizeof(*names->list));
	for (uint32_t id = 0; id < names->count; id++) {
		uint32_t slot = names->list[id].hash & names->mask;

		while (names->slots[slot])
			slot = (slot + 1) & names->mask;
		names->slots[slot] = id + 1;
	}
}

/* Where the text is, or the free slot where it would go. */
static uint32_t find_slot(const struct names *names, const char *text, size_t len, uint32_t hash)
{
	uint32_t slot;

	for (slot = hash & names->mask; names->slots[slot]; slot = (slot + 1) & names->mask) {
		const struct name *name = &names->list[names->slots[slot] - 1];

		if (name->hash == hash && name->len == len && memcmp(name->text, text, len) == 0)
			break;
	}
	return slot;
}

uint32_t names_id(struct names *names, const char *text, size_t len)
{
	uint32_t hash = hash_text(text, len), slot;

	if (names->count == names->room)
		grow(names);
	slot = find_slot(names, text, len, hash);
	if (names->slots[slot])
		return names->slots[slot] - 1;
	names->list[names->count] = (struct name){ text, (uint32_t)len, hash };
	names->slots[slot] = names->count + 1;
	return names->count++;
}

uint32_t names_find(const struct names *names, const char *text, size_t len)
{
	uint32_t slot;

	if (!names->slots)
		return NAMES_NONE;
	slot = find_slot(names, text, len, hash_text(text, len));
	return names->slots[slot] ? names->slots[slot] - 1 : NAMES_NONE;
}

void names_fini(struct names *names)
{
	free(names->list);
	free(names->slots);
	memset(names, 0, sizeof(*names));
}

/* ---- Ranking --------------------------------------------------------------------------------- */

struct ranked {
	uint64_t high, low; /* the key's first 16 bytes */
	const struct name *name;
};

static int compare_ranked(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return names_compare(a->name->text, a->name->len, b->name->text, b->name->len);
}

static void pack_key(struct ranked *r, const struct name *name)
{
	unsigned char key[16] = { 0 };

	natural_key(name->text, name->len, key, sizeof(key));
	r->name = name;
	for (unsigned i = 0; i < 8; i++) {
		r->high = r->high << 8 | key[i];
		r->low = r->low << 8 | key[8 + i];
	}
}

uint32_t *names_rank(const struct names *names)
{
	struct ranked *ranked = mem_alloc(names->count, sizeof(*ranked));
	uint32_t *rank = mem_alloc(names->count, sizeof(*rank));
	bool sorted = true;

	for (uint32_t id = 0; id < names->count; id++) {
		pack_key(&ranked[id], &names->list[id]);
		sorted = sorted && (id == 0 || compare_ranked(&ranked[id - 1], &ranked[id]) < 0);
	}
	if (!sorted)
		qsort(ranked, names->count, sizeof(*ranked), compare_ranked);
	for (uint32_t i = 0; i < names->count; i++)
		rank[ranked[i].name - names->list] = i;
	free(ranked);
	return rank;
}
