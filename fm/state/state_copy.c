/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files that come from another manager, or go there. */
#include "fm/state/state_copy.h"
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

/* ---- Changes of files of state_dir, record by record ----------------------------------------- */

/*
 * They are kept until the disk has a file with all of them, for another manager that begins to
 * copy; and of another manager, until it has sent that file.
 */

struct records state_store_records_left(const struct kept *k)
{
	return (struct records){ .bytes = k->records.length ? k->records.bytes + k->held_records
							    : NULL,
				 .length = k->records.length - k->held_records };
}

void state_store_record(struct state_store *s, const struct state_file *file, void *owner,
			const char *line)
{
	struct kept *k = state_store_kept(s, file);
	bool untold = k->untold;

	state_store_changed(s, file, owner);
	if (s->reading || !s->writable)
		return;
	records_add(&k->records, line, strlen(line));
	records_add(&k->records, "\n", 1);
	k->untold = !state_journal_record(s, k, line, strlen(line)) || untold;
	if (s->recorded)
		s->recorded(s->follower, file->name, line);
	if (k->records.length <= STATE_RECORDS_MOST)
		return;
	/*
	 * The disk has had no room for long: the text that the records led to takes their place,
	 * here and at followers.
	 */
	state_store_render(s, k);
	if (s->pushed)
		s->pushed(s->follower, k->file->name, k->held, k->held_length);
	k->records.length = k->held_records = k->lane_records = 0;
	k->untold = true;
}

void state_store_follow(struct state_store *s, state_record_fn *record, state_text_fn *text,
			void *arg)
{
	s->recorded = record;
	s->pushed = text;
	s->follower = arg;
}

void state_store_records_apply(struct state_store *s, struct kept *k, void *owner)
{
	struct records left = state_store_records_left(k);
	char *text = mem_alloc(left.length + 1, 1), *rest = NULL;
	unsigned unknown = 0;

	if (left.length)
		memcpy(text, left.bytes, left.length);
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		unknown += !k->file->record || !k->file->record(owner, line);
	free(text);
	if (unknown)
		log_line(LOG_CORE, LOG_WARNING,
			 "state_dir/%s: %u changes are not understood by this version of fmd and "
			 "were dropped",
			 k->file->name, unknown);
}

/* ---- Files of another manager ---------------------------------------------------------------- */

void state_store_put(struct state_store *s, const char *name, const char *content, size_t length)
{
	const struct state_file bare = { .name = name };
	struct kept *k = state_store_named(s, name);

	free(k->held);
	k->held = mem_alloc(length + 1, 1);
	memcpy(k->held, content, length);
	k->held_length = length;
	k->records.length = k->held_records = k->lane_records = 0;
	k->held_recorded = k->recorded;
	k->due = k->in_memory = true;
	k->lane_held = k->failed = false; /* what is on its way is older */
	k->at_us = loop_now_us(s->loop) + STATE_PUT_US;
	state_manifest_note(s, &bare, NULL); /* who owns it has no part in that: no summary */
	state_store_schedule(s);
}

void state_store_append(struct state_store *s, const char *name, const char *lines, size_t length)
{
	struct kept *k = state_store_named(s, name);
	const char *at = lines, *end = lines + length, *line;

	records_add(&k->records, lines, length);
	while ((line = records_line(&at, end, &length)))
		state_journal_record(s, k, line, length);
}

bool state_store_take_news(struct state_store *s, const char *name)
{
	struct kept *k = state_store_named(s, name);
	bool news = k->news;

	k->news = false;
	return news;
}

const char *state_store_records(const struct state_store *s, const char *name, size_t *length)
{
	*length = 0;
	for (const struct kept *k = s->files; k; k = k->next)
		if (!strcmp(k->file->name, name)) {
			*length = k->records.length;
			return k->records.bytes;
		}
	return NULL;
}

void state_store_mark(struct state_store *s, enum state_mark mark, bool on)
{
	s->marks[mark] = on;
}

bool state_store_is(const struct state_store *s, enum state_mark mark)
{
	return s->marks[mark];
}

bool state_store_holds(const struct state_store *s)
{
	for (const struct kept *k = s->files; k; k = k->next)
		if (k->held && !k->failed)
			return true;
	return false;
}

char *state_store_on_disk(const struct state_store *s, const char *name, size_t *length)
{
	char *path = mem_printf("%s/%s", s->folder, name);
	struct state_content c;
	enum state_result said = state_file_load(path, name, &c);

	free(path);
	*length = said == STATE_WHOLE ? c.length : 0;
	if (said == STATE_WHOLE)
		return c.bytes;
	free(c.bytes);
	return NULL;
}

char *state_store_held(const struct kept *k, size_t *length)
{
	char *text = mem_alloc(k->held_length + 1, 1);

	*length = k->held_length;
	return memcpy(text, k->held, k->held_length);
}

/* As fill() would have it written. */
char *state_store_text(const struct state_store *s, const char *name, size_t *length)
{
	for (const struct kept *k = s->files; k; k = k->next) {
		if (strcmp(k->file->name, name))
			continue;
		if (s->writable && k->failed && k->due && !k->in_memory && k->owner)
			return state_kept_render(k, length);
		if (k->held)
			return state_store_held(k, length);
	}
	return state_store_on_disk(s, name, length);
}

void state_store_set_haste(struct state_store *s, enum state_haste haste)
{
	bool begins = s->haste == STATE_CALM && haste != STATE_CALM;

	s->haste = haste;
	for (struct kept *k = begins ? s->files : NULL; k; k = k->next)
		if (k->owner && (k->due || k->lane))
			state_push_changed(s, k);
}

bool state_store_passed_on(struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop);
	bool settled = true, sooner = false;

	if (s->haste == STATE_CALM && !s->marks[STATE_EXPECTED])
		return true;
	for (struct kept *k = s->files; k; k = k->next) {
		settled &= !k->due && !k->held && !k->lane;
		if ((k->due || k->held) && !k->failed && k->at_us > now) {
			k->at_us = now;
			sooner = true;
		}
	}
	if (sooner) /* else it would put off what is under way */
		state_store_schedule(s);
	return settled && s->marks[STATE_COPIED];
}
