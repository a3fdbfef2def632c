/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_kept: the list of files that the store knows, by name. */
#include <stdlib.h>
#include <string.h>
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

static void free_foreign(struct kept *k)
{
	free((char *)k->file->name);
	free((struct state_file *)k->file);
	k->foreign = false;
}

struct kept *state_store_kept(struct state_store *s, const struct state_file *file)
{
	struct kept **link = &s->files;

	while (*link && strcmp((*link)->file->name, file->name) != 0)
		link = &(*link)->next;
	if (!*link)
		*link = mem_alloc(1, sizeof(**link));
	else if ((*link)->foreign)
		free_foreign(*link);
	(*link)->file = file;
	return *link;
}

struct kept *state_store_named(struct state_store *s, const char *name)
{
	struct state_file *file;
	struct kept *k = s->files;

	while (k && strcmp(k->file->name, name) != 0)
		k = k->next;
	if (k)
		return k;
	file = mem_alloc(1, sizeof(*file));
	*file = (struct state_file){ .name = mem_strdup(name) };
	k = state_store_kept(s, file);
	k->foreign = true;
	return k;
}

void state_store_kept_free(struct state_store *s)
{
	while (s->files) {
		struct kept *k = s->files;

		s->files = k->next;
		if (k->foreign)
			free_foreign(k);
		free(k->held);
		free(k->records.bytes);
		free(k);
	}
}
