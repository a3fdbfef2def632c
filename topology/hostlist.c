/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hostlist: names that differ in a number at their end, written once.
 *
 * Names with the same text before their last digits form a run while they follow one another;
 * within it, numbers that count up by one with the same width (n01 n02 n03, or n8 n9 n10 without
 * leading zeros) form a range. Slurm takes ranges only at a name's end, so a name that ends
 * otherwise stands for itself.
 */
#include "topology/hostlist.h"
#include "topology/mem.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_DIGITS 18 /* what fits an uint64_t with room to add one */

struct part { /* of one name */
	const char *name;
	size_t prefix; /* bytes before the number */
	size_t digits; /* 0 = the name does not end in a number */
	uint64_t number;
};

static struct part split(const char *name)
{
	size_t len = strlen(name);
	struct part p = { .name = name, .prefix = len };

	while (p.prefix && p.digits < NUMBER_DIGITS && isdigit((unsigned char)name[p.prefix - 1])) {
		p.prefix--;
		p.digits++;
	}
	p.number = p.digits ? strtoull(name + p.prefix, NULL, 10) : 0;
	return p;
}

static bool same_prefix(const struct part *a, const struct part *b)
{
	return a->digits && b->digits && a->prefix == b->prefix &&
	       memcmp(a->name, b->name, a->prefix) == 0;
}

/* Does b follow a in a range? Widths must agree, but for 9 -> 10 without leading zeros. */
static bool follows(const struct part *a, const struct part *b)
{
	if (b->number != a->number + 1)
		return false;
	return a->digits == b->digits || (a->name[a->prefix] != '0' && b->name[b->prefix] != '0');
}

/* Prints one range from parts[i] and returns the index behind it. */
static uint32_t print_range(FILE *out, const struct part *parts, uint32_t i, uint32_t end)
{
	uint32_t last = i;

	while (last + 1 < end && follows(&parts[last], &parts[last + 1]))
		last++;
	fputs(parts[i].name + parts[i].prefix, out);
	if (last > i)
		fprintf(out, "-%s", parts[last].name + parts[last].prefix);
	return last + 1;
}

char *hostlist_format(const char *const *names, uint32_t count)
{
	struct part *parts = mem_alloc(count, sizeof(*parts));
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < count; i++)
		parts[i] = split(names[i]);
	for (uint32_t i = 0, end; i < count && out; i = end) {
		for (end = i + 1; end < count && same_prefix(&parts[i], &parts[end]);)
			end++;
		if (i)
			fputc(',', out);
		if (end == i + 1) {
			fputs(names[i], out);
			continue;
		}
		fprintf(out, "%.*s[", (int)parts[i].prefix, names[i]);
		for (uint32_t j = i; j < end;) {
			if (j > i)
				fputc(',', out);
			j = print_range(out, parts, j, end);
		}
		fputc(']', out);
	}
	free(parts);
	if (out)
		fclose(out);
	return text ? text : mem_strdup("");
}
