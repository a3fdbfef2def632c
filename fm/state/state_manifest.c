/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/state_manifest.h"
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"

struct listed {
	struct listed *next;
	char *name, *summary;
};

static struct listed *listed_of(const struct state_manifest *m, const char *name)
{
	struct listed *it = m->list;

	while (it && strcmp(it->name, name))
		it = it->next;
	return it;
}

static struct listed *list_file(struct state_manifest *m, const char *name)
{
	struct listed *it = listed_of(m, name);

	if (it)
		return it;
	it = mem_alloc(1, sizeof(*it));
	*it = (struct listed){ m->list, mem_strdup(name), mem_strdup("") };
	m->list = it;
	return it;
}

bool state_manifest_lists(const struct state_manifest *m, const char *name)
{
	return listed_of(m, name) != NULL;
}

const char *state_manifest_summary(const struct state_manifest *m, const char *name)
{
	const struct listed *it = listed_of(m, name);

	return it ? it->summary : "";
}

/* ---- Its file -------------------------------------------------------------------------------- */

static void take_line(struct state_manifest *m, char *line)
{
	char *space = strchr(line, ' ');
	struct listed *it;

	if (space)
		*space++ = '\0';
	if (!*line)
		return;
	it = list_file(m, line);
	free(it->summary);
	it->summary = mem_strdup(space ? space : "");
}

enum state_result state_manifest_load(struct state_manifest *m, const char *path,
				      struct state_content *c)
{
	enum state_result said = state_file_load(path, STATE_MANIFEST, c);
	char *rest = NULL;

	if (said == STATE_WHOLE)
		for (char *line = strtok_r(c->bytes, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			take_line(m, line);
	free(c->bytes);
	c->bytes = NULL;
	return said;
}

static void write_list(void *arg, FILE *out)
{
	const struct state_manifest *m = arg;

	for (const struct listed *it = m->list; it; it = it->next)
		fprintf(out, "%s%s%s\n", it->name, *it->summary ? " " : "", it->summary);
}

int state_manifest_save(struct state_manifest *m, const char *path)
{
	return state_file_save(path, STATE_MANIFEST, write_list, m);
}

void state_manifest_each(const struct state_manifest *m, state_name_fn *fn, void *arg)
{
	for (const struct listed *it = m->list; it; it = it->next)
		fn(arg, it->name);
}

/* ---- What is about to be written ------------------------------------------------------------- */

bool state_manifest_note(struct state_manifest *m, const struct state_file *file, const void *owner)
{
	bool fresh = !listed_of(m, file->name);
	struct listed *it = list_file(m, file->name);
	char *text = NULL;
	size_t length = 0;
	FILE *out;

	if (!file->summary)
		return fresh;
	out = open_memstream(&text, &length);
	file->summary(owner, out);
	fclose(out);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	fresh |= strcmp(text, it->summary) != 0;
	free(it->summary);
	it->summary = text;
	return fresh;
}

void state_manifest_fini(struct state_manifest *m)
{
	while (m->list) {
		struct listed *it = m->list;

		m->list = it->next;
		free(it->name);
		free(it->summary);
		free(it);
	}
}
