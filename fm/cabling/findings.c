/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/cabling/findings.h"
#include <stdlib.h>
#include <string.h>
#include "topology/cabling.h"
#include "topology/mem.h"

#define TEXT_SIZE 1024

static bool is_wiring(enum cabling_kind kind)
{
	return kind != CABLING_DOWN && kind != CABLING_SPEED && kind != CABLING_WIDTH &&
	       kind != CABLING_ABSENT && kind != CABLING_NO_HCA;
}

static void write_end(const struct cabling_end *end, FILE *out)
{
	fprintf(out, "|%s:%u", end->name ? end->name : "", end->port);
}

static void write_item(const struct cabling_item *item, FILE *out)
{
	char text[TEXT_SIZE], what_to_do[TEXT_SIZE];

	cabling_describe(item, text, sizeof(text));
	cabling_instruct(item, what_to_do, sizeof(what_to_do));
	fputs(cabling_kind_name(item->kind), out);
	write_end(&item->at, out);
	write_end(&item->found, out);
	write_end(&item->other, out);
	fprintf(out, "\t%s: %s\n", text, what_to_do);
}

void findings_write(const struct topo *t, const struct topo *plan, FILE *out)
{
	struct cabling *c = plan ? cabling_compare(plan, t) : cabling_pattern(t);

	for (uint32_t i = 0; i < c->count; i++)
		if (is_wiring(c->items[i].kind))
			write_item(&c->items[i], out);
	cabling_free(c);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct finding *)a)->key, ((const struct finding *)b)->key);
}

struct findings findings_take(char *lines)
{
	struct findings f = { .lines = lines };
	unsigned room = 0;
	char *rest = lines, *line, *tab;

	while ((line = strsep(&rest, "\n"))) {
		if (!(tab = strchr(line, '\t')))
			continue;
		*tab = '\0';
		if (f.count == room)
			f.list = mem_resize(f.list, room = room ? 2 * room : 16, sizeof(*f.list));
		f.list[f.count++] = (struct finding){ line, tab + 1 };
	}
	if (f.count)
		qsort(f.list, f.count, sizeof(*f.list), by_key);
	return f;
}

void findings_fini(struct findings *f)
{
	free(f->lines);
	free(f->list);
	*f = (struct findings){ 0 };
}

bool findings_have(const struct findings *f, const char *key)
{
	const struct finding one = { .key = key };

	return f->count && bsearch(&one, f->list, f->count, sizeof(one), by_key);
}
