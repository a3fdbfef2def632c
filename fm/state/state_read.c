/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_read: files of state_dir that are read, what becomes of those that are not what was written
 * (state_store.h), the manifest that says which are to be there, and what operators hear of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

/* ---- What operators hear --------------------------------------------------------------------- */

#define LOST	 "state-lost"
#define CHECK_US 10000000

struct lost_file { /* of which something is kept */
	struct lost_file *next;
	char *subject, *kept;
};

static char *subject_of(const char *name)
{
	return mem_printf("state_dir/%s", name);
}

void state_alerts_wrote(struct state_store *s, const char *name, int status)
{
	char *subject = subject_of(name), *error = mem_printf("not saved: %s", strerror(-status));

	trouble_set(s->alerts, subject, status ? error : NULL);
	free(subject);
	free(error);
}

void state_store_report(const struct state_store *s, const char *name, json_t *result)
{
	char *subject = subject_of(name);
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
	char *subject = subject_of(name);
	struct lost_file *it;

	alert_raise(s->alerts, LOST, &(struct event_subject){ .name = subject }, "%s: %s%s%s%s%s",
		    subject, why, kept ? "; the file is not used and was saved as " : "",
		    kept ? kept : "", *summary ? "; it had: " : "", summary);
	if (kept) {
		it = mem_alloc(1, sizeof(*it));
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

bool state_manifest_lists(const struct state_store *s, const char *name)
{
	return listed_of(s, name) != NULL;
}

/* It lists that file from now on. summary: taken over; true: it, or the file, is new there. */
static bool list_file(struct state_store *s, const char *name, char *summary)
{
	struct listed *it = listed_of(s, name);
	bool fresh = !it || strcmp(it->summary, summary) != 0;

	if (!it) {
		it = mem_alloc(1, sizeof(*it));
		*it = (struct listed){ s->manifest.list, mem_strdup(name), NULL };
		s->manifest.list = it;
	}
	free(it->summary);
	it->summary = summary;
	return fresh;
}

static void lose_manifest(struct state_store *s, const char *why)
{
	s->manifest.on_disk = true;
	state_alerts_lost(s, STATE_MANIFEST, why, NULL, "");
}

void state_manifest_read(struct state_store *s)
{
	char *path = state_store_path(s, STATE_MANIFEST), *rest = NULL;
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
		lose_manifest(s, said == STATE_OLD ? "its first and last line are missing" : c.why);
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
	char *path = state_store_path(s, STATE_MANIFEST);
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
		if (k->records.length && !state_manifest_lists(s, k->file->name))
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

/* ---- Reading --------------------------------------------------------------------------------- */

/* Out of the way, for people to look at. */
static void lose(struct state_store *s, const struct state_file *file, const char *why, bool keep)
{
	char *path = state_store_path(s, file->name), *aside = mem_printf("%s.bad", path);
	const struct listed *it = listed_of(s, file->name);
	bool kept = keep && rename(path, aside) == 0;

	state_alerts_lost(s, file->name, why, kept ? aside : NULL, it ? it->summary : "");
	free(path);
	free(aside);
}

/* Whole or old, and nothing speaks against using it. */
static int judge(struct state_store *s, const struct state_file *file, enum state_result said,
		 const struct state_content *c)
{
	bool listed = state_manifest_lists(s, file->name);

	if (said == STATE_ABSENT && !listed)
		return -ENOENT;
	if (said == STATE_ABSENT)
		lose(s, file, "the file is missing", false);
	else if (said == STATE_DAMAGED)
		lose(s, file, c->why, true);
	else if (said == STATE_OLD && listed && !c->length)
		lose(s, file, "the file is empty", true);
	else if (said == STATE_OLD && listed && !file->read)
		lose(s, file, "its first and last line are missing", true);
	else
		return 0;
	return -EINVAL;
}

/* Its owner is known by then. */
static void reform(struct state_store *s, const struct state_file *file)
{
	struct kept *k = state_store_kept(s, file);

	k->reform = true;
	state_store_changed(s, file, k->owner);
}

int state_store_load(struct state_store *s, const struct state_file *file, void *owner,
		     char **content, size_t *length)
{
	struct kept *k = state_store_kept(s, file);
	struct state_content c;
	enum state_result said;
	char *path;
	int status;

	k->owner = owner;
	if (k->held) { /* a change of role may come before the disk has what was true before */
		*content = state_store_held(k, length);
		return 0;
	}
	path = state_store_path(s, file->name);
	said = state_file_load(path, file->name, &c);
	status = judge(s, file, said, &c);
	free(path);
	if (!status && said == STATE_WHOLE && !s->manifest.on_disk && !s->manifest.due)
		lose_manifest(s, "the file is missing");
	if (!status && said == STATE_OLD && state_manifest_lists(s, file->name))
		event_log_add(s->events, LOG_NOTICE, "state-edited", NULL,
			      json_pack("{ss}", "file", file->name),
			      "state_dir/%s: no header and checksum (edited, or written by an "
			      "older fmd); read anyway",
			      file->name);
	if (said == STATE_OLD || status == -EINVAL)
		reform(s, file);
	if (status)
		free(c.bytes);
	*content = status ? NULL : c.bytes;
	*length = status ? 0 : c.length;
	return status;
}

/* True: there were some, and the disk has yet to have them. */
static bool take_records(struct state_store *s, const struct state_file *file, void *owner)
{
	struct kept *k = state_store_kept(s, file);

	if (!state_store_records_left(k).length)
		return false;
	s->reading = true;
	state_store_records_apply(s, k, owner);
	s->reading = false;
	reform(s, file);
	return true;
}

int state_store_read(struct state_store *s, const struct state_file *file, void *owner)
{
	char *content, why[128];
	size_t length;
	int status = state_store_load(s, file, owner, &content, &length);
	unsigned bad;
	FILE *in;

	if (status == -ENOENT && take_records(s, file, owner))
		return 0; /* all there is of it are changes */
	if (status)
		return status;
	s->reading = true;
	in = fmemopen(content, length, "r"); /* also where it is empty: glibc 2.22 */
	bad = in ? file->read(owner, in) : 1;
	if (bad) {
		snprintf(why, sizeof(why), "line %u is not %s", bad, file->form);
		file->forget(owner);
		lose(s, file, why, true);
		reform(s, file);
		status = -EINVAL;
	}
	if (in)
		fclose(in);
	free(content);
	s->reading = false;
	if (!bad)
		take_records(s, file, owner);
	return status;
}
