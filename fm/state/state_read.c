/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_read: files of state_dir that are read, and what becomes of those that are not what was
 * written (state_store.h).
 */
#include <errno.h>
#include <unistd.h>
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

/* Out of the way, for people to look at. */
static void lose(struct state_store *s, const struct state_file *file, const char *why, bool keep)
{
	char *path = mem_printf("%s/%s", s->folder, file->name),
	     *aside = mem_printf("%s.bad", path);
	const char *summary = state_manifest_summary(s, file->name);
	bool kept = keep && !rename(path, aside);

	state_alerts_lost(s, file->name, why, kept ? aside : NULL, summary ? summary : "");
	free(path);
	free(aside);
}

/* Whole or old, and nothing speaks against using it. */
static int judge(struct state_store *s, const struct state_file *file, enum state_result said,
		 const struct state_content *c)
{
	bool listed = state_manifest_summary(s, file->name);

	if (said == STATE_ABSENT && !listed)
		return -ENOENT;
	if (said == STATE_ABSENT)
		lose(s, file, "the file is missing", false);
	else if (said == STATE_DAMAGED)
		lose(s, file, c->why, true);
	else if (said == STATE_OLD && listed && !c->length)
		lose(s, file, "the file is empty", true);
	else if (said == STATE_OLD && listed && !file->read && !file->line)
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
	path = mem_printf("%s/%s", s->folder, file->name);
	said = state_file_load(path, file->name, &c);
	status = judge(s, file, said, &c);
	free(path);
	if (!status && said == STATE_WHOLE && !s->manifest.on_disk && !s->manifest.due)
		state_manifest_lose(s, "the file is missing");
	if (!status && said == STATE_OLD && state_manifest_summary(s, file->name))
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

unsigned state_lines(FILE *in, bool (*take)(void *owner, const char *line), void *owner)
{
	char *line = NULL;
	size_t room = 0;
	unsigned number = 1, bad = 0;

	for (; !bad && getline(&line, &room, in) > 0; number++)
		if (line[strspn(line, " \t\n")] && *line != '#' && !take(owner, line))
			bad = number;
	free(line);
	return bad;
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
	bad = !in ? 1 : file->line ? state_lines(in, file->line, owner) : file->read(owner, in);
	if (bad) {
		array_printf(why, "line %u is not %s", bad, file->form);
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
