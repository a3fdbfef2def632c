/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files that come from another manager, or go there. */
#include "fm/state/state_copy.h"
#include <stdlib.h>
#include <string.h>
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

/* Who owns it has no part in that, so neither has its summary. */
static bool list(struct state_store *s, const char *name)
{
	const struct state_file bare = { .name = name };

	return state_manifest_note(&s->manifest, &bare, NULL);
}

void state_store_put(struct state_store *s, const char *name, const char *content, size_t length)
{
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
	s->manifest_due |= list(s, name);
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

void state_store_each(const struct state_store *s, state_name_fn *fn, void *arg)
{
	for (const struct kept *k = s->files, *next; k; k = next) {
		next = k->next;
		if (k->records.length && !state_manifest_lists(&s->manifest, k->file->name))
			fn(arg, k->file->name);
	}
	state_manifest_each(&s->manifest, fn, arg);
}

void state_store_set_copied(struct state_store *s, bool copied)
{
	s->copied = copied;
}

void state_store_set_read(struct state_store *s, bool read)
{
	s->read = read;
}

bool state_store_is_read(const struct state_store *s)
{
	return s->read;
}

bool state_store_is_copied(const struct state_store *s)
{
	return s->copied;
}

char *state_store_on_disk(const struct state_store *s, const char *name, size_t *length)
{
	char *path = state_store_path(s, name);
	struct state_content c;
	enum state_result said = state_file_load(path, name, &c);

	free(path);
	*length = said == STATE_WHOLE ? c.length : 0;
	if (said == STATE_WHOLE)
		return c.bytes;
	free(c.bytes);
	return NULL;
}

static char *render(const struct kept *k, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);

	k->file->write(k->owner, out);
	fclose(out);
	return text;
}

static char *copy(const struct kept *k, size_t *length)
{
	char *text = mem_alloc(k->held_length + 1, 1);

	*length = k->held_length;
	return memcpy(text, k->held, k->held_length);
}

/* As take_up() would write it. */
char *state_store_text(const struct state_store *s, const char *name, size_t *length)
{
	for (const struct kept *k = s->files; k; k = k->next) {
		if (strcmp(k->file->name, name) != 0)
			continue;
		if (s->writable && k->failed && k->due && !k->in_memory && k->owner)
			return render(k, length);
		if (k->held)
			return copy(k, length);
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

void state_store_expect_copy(struct state_store *s, bool expected)
{
	s->expected = expected;
}

static bool hurry(struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop);
	bool settled = true, sooner = false;

	for (struct kept *k = s->files; k; k = k->next) {
		settled &= !k->due && !k->held && !k->lane;
		if ((k->due || k->held) && !k->failed && k->at_us > now) {
			k->at_us = now;
			sooner = true;
		}
	}
	if (sooner) /* else it would put off what is under way */
		state_store_schedule(s);
	return settled;
}

bool state_store_passed_on(struct state_store *s)
{
	if (s->haste == STATE_CALM && !s->expected)
		return true;
	return hurry(s) && s->copied;
}
