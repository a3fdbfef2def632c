/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* near_names: names are compared by the letters that would have to be changed. */
#include "topology/near_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LETTERS	   64
#define FAR	   99
#define WORD_MARKS " ;:/'\""

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Letters apart, if at most `limit`; else FAR. */
static unsigned letters_apart(const char *a, size_t na, const char *b, size_t nb, unsigned limit)
{
	unsigned row[LETTERS + 1];

	if (na > LETTERS || nb > LETTERS || (na > nb ? na - nb : nb - na) > limit)
		return FAR;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned corner = row[0], best = row[0] = (unsigned)i;

		for (size_t j = 1; j <= nb; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);
			unsigned above = row[j];

			row[j] = least(above + 1, row[j - 1] + 1, corner + !same);
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

static void offer(struct near_names *near, const char *name, unsigned d)
{
	unsigned at = near->count < NEAR_NAMES ? near->count : NEAR_NAMES;

	while (at > 0 && near->apart[at - 1] > d)
		at--;
	if (at == NEAR_NAMES)
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

void near_names_add(struct near_names *near, const char *text, const char *name)
{
	size_t len = strlen(text);
	unsigned limit = len < 4 ? 1 : len < 12 ? 2 : 3;
	unsigned d = len ? apart(text, len, name, limit) : FAR;

	if (d != FAR)
		offer(near, name, d);
}

void near_names_say(const struct near_names *near, char *err, size_t size)
{
	size_t used = strlen(err);

	for (unsigned i = 0; i < near->count && used < size; i++) {
		snprintf(err + used, size - used, "%s'%s'", i ? ", " : "; near: ", near->name[i]);
		used += strlen(err + used);
	}
}
