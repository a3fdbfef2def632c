/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * names: texts as small numbers, and their order as people expect it ("leaf-2" before "leaf-10").
 */
#ifndef FMD_TOPOLOGY_BASE_NAMES_H
#define FMD_TOPOLOGY_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAMES_NONE UINT32_MAX

struct name {
	const char *text; /* not owned, need not end with a zero byte */
	uint32_t len;
	uint32_t hash;
};

/* A set of texts; ids count up from 0 in order of arrival. Zero-initialised is empty. */
struct names {
	struct name *list; /* by id */
	uint32_t count, room;
	uint32_t *slots; /* id + 1, open addressing */
	uint32_t mask;
};

/* The id of a text. names_id() adds a new text: its bytes must live as long as the set. */
uint32_t names_id(struct names *names, const char *text, size_t len);
/* The id of a text, NAMES_NONE = it is not in the set. */
uint32_t names_find(const struct names *names, const char *text, size_t len);
/* Frees what the set allocated; the set is empty then. */
void names_fini(struct names *names);

/* By id, each name's place in natural order. The caller frees it. */
uint32_t *names_rank(const struct names *names);

/* Natural order: < 0, 0 or > 0. Runs of digits compare as numbers; 0 only for equal texts. */
int names_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
