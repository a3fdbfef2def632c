/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rows: facts in memory, by kind and key. A kind ("cordons") is what one owner keeps, a key names a
 * fact of it, and the value is a text. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "topology/base/mem.h"

struct row {
	struct row *next; /* in its bucket */
	uint64_t number;  /* of the change that made it so; the owner's of the rows */
	uint64_t sum;	  /* rows_sum() of kind, key and value */
	uint32_t pass;	  /* of the latest text of its kind that had it (state.c) */
	char *value;	  /* NULL: only the disk has it */
	char key[];
};

struct rows_kind {
	char *name;
	struct row **buckets;
	size_t nbuckets, count;
};

#define ROWS_KINDS 64

/* All 0 is empty. */
struct rowset {
	struct rows_kind kinds[ROWS_KINDS];
	unsigned nkinds;
};

/* The kind of that name; NULL = there is none, and `make` is false or there are too many. */
struct rows_kind *rows_kind(struct rowset *rows, const char *name, bool make);
/* The row, the rows' own until it is dropped; NULL = there is none. */
struct row *rows_find(const struct rows_kind *kind, const char *key);
/*
 * Makes or replaces it; the value is copied, of a row that is `cold` its sum alone is kept. Returns
 * the row, or NULL where it was so already.
 */
struct row *rows_set(struct rows_kind *kind, const char *key, const char *value, bool cold);
/* False: there was none. */
bool rows_drop(struct rows_kind *kind, const char *key);
/* All rows of a kind, kind->count, the caller's array; or in the order of keys (rows_compare()). */
struct row **rows_list(const struct rows_kind *kind, bool sorted);
struct rows_cursor { /* a place among rows that may change meanwhile; all 0 is the first */
	unsigned kind;
	size_t bucket, nbuckets;
};
/*
 * The first row of the next bucket, others are its ->next; NULL: that was all. Where rows were
 * added meanwhile some may come twice.
 */
const struct row *rows_step(const struct rowset *rows, struct rows_cursor *at, const char **kind);
void rows_clear(struct rows_kind *kind); /* no rows are left of it */
void rows_fini(struct rowset *rows);	 /* empty again */

/*
 * Returns below 0, 0 or above 0 as a comes before b, is b, or behind it: word by word; of two words
 * that begin with a digit the shorter one is first.
 */
int rows_compare(const char *a, const char *b);
/* 64 bits over kind, key and value; for certain others where one bit is another. */
uint64_t rows_sum(const char *kind, const char *key, const char *value);

/* ---- All kinds ------------------------------------------------------------------------------- */

/*
 * All kinds of facts that are kept in state_dir, each with what makes its key and whether managers
 * share it.
 *
 * A fact is a line: its first words are the key, the rest is the value. KIND_LINE: all of it is the
 * key. KIND_TEXT: the kind is one text, as it is.
 */
enum { KIND_LINE = 0, KIND_TEXT = -1 };

struct state_rule {
	const char *name;
	int words;		/* of the key; or as above */
	const char *long_first; /* lines that begin with this word have `long_words`; NULL = none */
	int long_words;
	bool own;    /* no other manager needs it, or has a say in it */
	bool cold;   /* large: only the disk has it */
	bool sealed; /* what a person has edited is not used */
};

extern const struct state_rule state_rules[]; /* ends with a name of NULL */

/* That kind's; NULL = this version does not know it. */
const struct state_rule *state_rule(const char *name);
/* How many bytes of a line its key takes. */
size_t state_key_length(const struct state_rule *rule, const char *line);

/* ---- Rows as bytes, as the disk is given them and managers send them ------------------------- */

/* A row that was put, or with value NULL one that was removed. */
struct row_change {
	const char *kind, *key, *value; /* borrowed from the bytes */
	uint64_t number; /* of the change; other managers are sent none, which is 0 */
};

void row_bytes_add(struct bytes *to, const struct row_change *change); /* copies */
/* The change at *at, which moves behind it. False: there is none, or *at is not the end. */
bool row_bytes_next(const char *bytes, size_t length, size_t *at, struct row_change *change);
