/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_kept: the list of files that the store knows, what operators hear of them, and the manifest
 * that says which are to be there.
 */
#include <errno.h>
#include <unistd.h>
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

/* ---- The list of files that the store knows, by name ----------------------------------------- */

void state_kept_free_foreign(struct kept *k)
{
	free((char *)k->file->name);
	free((struct state_file *)k->file);
	k->foreign = false;
}

struct kept *state_store_kept(struct state_store *s, const struct state_file *file)
{
	struct kept **link = &s->files;

	while (*link && strcmp((*link)->file->name, file->name))
		link = &(*link)->next;
	if (!*link)
		*link = mem_alloc(1, sizeof(**link));
	else if ((*link)->foreign)
		state_kept_free_foreign(*link);
	(*link)->file = file;
	return *link;
}

struct kept *state_store_named(struct state_store *s, const char *name)
{
	struct state_file *file;
	struct kept *k = s->files;

	while (k && strcmp(k->file->name, name))
		k = k->next;
	if (k)
		return k;
	file = mem_new(file);
	*file = (struct state_file){ .name = mem_strdup(name) };
	k = state_store_kept(s, file);
	k->foreign = true;
	return k;
}

char *state_kept_render(const struct kept *k, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);

	k->file->write(k->owner, out);
	fclose(out);
	return text;
}

/* ---- What operators hear --------------------------------------------------------------------- */

#define LOST	 "state-lost"
#define CHECK_US 10000000

struct lost_file { /* of which something is kept */
	struct lost_file *next;
	char *subject, *kept;
};

void state_alerts_wrote(struct state_store *s, const char *name, int status)
{
	char *subject = mem_printf("state_dir/%s", name),
	     *error = mem_printf("not saved: %s", strerror(-status));

	trouble_set(s->alerts, subject, status ? error : NULL);
	free(subject);
	free(error);
}

void state_store_report(const struct state_store *s, const char *name, json_t *result)
{
	char *subject = mem_printf("state_dir/%s", name);
	const char *error = trouble_error(s->alerts, subject);

	if (error)
		json_object_set_new(result, "not_saved", json_string(error));
	free(subject);
}

static void lost_free(struct lost_file *lost)
{
	free(lost->subject);
	free(lost->kept);
	free(lost);
}

/* Who has taken away what was kept has seen it. */
void state_lost_check(void *store)
{
	struct state_store *s = store;
	struct lost_file **link = &s->lost;

	while (*link) {
		struct lost_file *it = *link;

		if (access(it->kept, F_OK) == 0) {
			link = &it->next;
			continue;
		}
		alert_end(s->alerts, LOST, &(struct event_subject){ .name = it->subject });
		*link = it->next;
		lost_free(it);
	}
	if (s->lost)
		loop_timer_set(s->recheck, CHECK_US);
}

void state_alerts_lost(struct state_store *s, const char *name, const char *why, const char *kept,
		       const char *summary)
{
	char *subject = mem_printf("state_dir/%s", name);
	struct lost_file *it;

	alert_raise(s->alerts, LOST, &(struct event_subject){ .name = subject }, "%s: %s%s%s%s%s",
		    subject, why, kept ? "; the file is not used and was saved as " : "",
		    kept ? kept : "", *summary ? "; it had: " : "", summary);
	if (kept) {
		it = mem_new(it);
		*it = (struct lost_file){ s->lost, mem_strdup(subject), mem_strdup(kept) };
		s->lost = it;
		loop_timer_set(s->recheck, CHECK_US);
	}
	free(subject);
}

/* ---- The manifest ---------------------------------------------------------------------------- */

struct listed {
	struct listed *next;
	char *name, *summary;
};

static struct listed *listed_of(const struct state_store *s, const char *name)
{
	struct listed *it = s->manifest.list;

	while (it && strcmp(it->name, name))
		it = it->next;
	return it;
}

const char *state_manifest_summary(const struct state_store *s, const char *name)
{
	const struct listed *it = listed_of(s, name);

	return it ? it->summary : NULL;
}

/* It lists that file from now on. summary: taken over; true: it, or the file, is new there. */
static bool list_file(struct state_store *s, const char *name, char *summary)
{
	struct listed *it = listed_of(s, name);
	bool fresh = !it || strcmp(it->summary, summary);

	if (!it) {
		it = mem_new(it);
		*it = (struct listed){ s->manifest.list, mem_strdup(name), NULL };
		s->manifest.list = it;
	}
	free(it->summary);
	it->summary = summary;
	return fresh;
}

void state_manifest_lose(struct state_store *s, const char *why)
{
	s->manifest.on_disk = true;
	state_alerts_lost(s, STATE_MANIFEST, why, NULL, "");
}

void state_manifest_read(struct state_store *s)
{
	char *path = mem_printf("%s/%s", s->folder, STATE_MANIFEST), *rest = NULL;
	struct state_content c;
	enum state_result said = state_file_load(path, STATE_MANIFEST, &c);
	char *line = said == STATE_WHOLE ? strtok_r(c.bytes, "\n", &rest) : NULL;

	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		char *space = strchr(line, ' ');

		if (space)
			*space++ = '\0';
		if (*line)
			list_file(s, line, mem_strdup(space ? space : ""));
	}
	s->manifest.on_disk = said == STATE_WHOLE;
	if (said != STATE_WHOLE && said != STATE_ABSENT)
		state_manifest_lose(s, said == STATE_OLD ? "its first and last line are missing"
							 : c.why);
	free(c.bytes);
	free(path);
}

static void write_list(void *arg, FILE *out)
{
	const struct state_manifest *m = arg;

	for (const struct listed *it = m->list; it; it = it->next)
		fprintf(out, "%s%s%s\n", it->name, *it->summary ? " " : "", it->summary);
}

int state_manifest_write(struct state_store *s)
{
	char *path = mem_printf("%s/%s", s->folder, STATE_MANIFEST);
	int status = state_file_save(path, STATE_MANIFEST, write_list, &s->manifest);

	free(path);
	return status;
}

void state_manifest_note(struct state_store *s, const struct state_file *file, const void *owner)
{
	const struct listed *it = listed_of(s, file->name);
	char *text = NULL;
	size_t length = 0;
	FILE *out;

	if (file->summary) {
		out = open_memstream(&text, &length);
		file->summary(owner, out);
		fclose(out);
		for (char *c = text; *c; c++)
			if (*c == '\n')
				*c = ' ';
	} else {
		text = mem_strdup(it ? it->summary : "");
	}
	s->manifest.due |= list_file(s, file->name, text);
}

void state_store_each(const struct state_store *s, state_name_fn *fn, void *arg)
{
	for (const struct kept *k = s->files, *next; k; k = next) {
		next = k->next;
		if (k->records.length && !listed_of(s, k->file->name))
			fn(arg, k->file->name);
	}
	for (const struct listed *it = s->manifest.list; it; it = it->next)
		fn(arg, it->name);
}

void state_read_free(struct state_store *s)
{
	for (struct lost_file *it; (it = s->lost); lost_free(it))
		s->lost = it->next;
	for (struct listed *it; (it = s->manifest.list); free(it)) {
		s->manifest.list = it->next;
		free(it->name);
		free(it->summary);
	}
}
