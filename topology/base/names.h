/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * names: texts as small numbers, and their order as people expect it ("leaf-2" before "leaf-10");
 * names near to another, and many names in Slurm's short form.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
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
	uint32_t count, capacity;
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

#define NEAR_NAMES 3

/*
 * Of many names, those that look most like a text that is none of them: the fewest letters apart
 * (changed, left out, too many), in upper or lower case, as a whole or by one of their words. For
 * `no such .., near: ..` in refusals.
 */
struct near_names { /* zeroed = none yet; names are borrowed */
	unsigned count;
	unsigned apart[NEAR_NAMES]; /* ascending */
	const char *name[NEAR_NAMES];
};

/* Takes the name if it looks like the text, and more so than one of those that are in. */
void near_names_add(struct near_names *near, const char *text, const char *name);
/* Appends `; near: 'leaf-01', 'leaf-11'` to err, which is cut where it does not fit; or nothing. */
void near_names_say(const struct near_names *near, char *err, size_t size);

/*
 * Slurm's short form of names ("dgx-su01-[01-32],login1"), which are best in natural order. The
 * caller frees the text.
 */
char *hostlist_format(const char *const *names, uint32_t count);

#define HOSTLIST_MAX 65536 /* names in one list */

typedef void hostlist_fn(void *arg, const char *name);
/*
 * Calls fn for each name of such a list, in its order; Slurm's form with several brackets in a name
 * too. False: the text is no list, or of too many names; fn has been called for those before.
 */
bool hostlist_each(const char *list, hostlist_fn *fn, void *arg);
/*
 * Adds [JOB, HOSTLIST] of a line that begins with a job and ends with its hosts, as squeue prints
 * them; nothing of other lines: jobs that have no hosts yet end with a reason in brackets. Words of
 * the line are cut.
 */
void hostlist_add_job(json_t *jobs, char *line);
