/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_record: changes of files of state_dir, record by record (state_store.h). They are kept
 * until the disk has a file with all of them, for another manager that begins to copy; and of
 * another manager, until it has sent that file.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/loop/log.h"
#include "fm/state/state_store_own.h"
#include "topology/base/mem.h"

struct records state_store_records_left(const struct kept *k)
{
	return (struct records){ .bytes = k->records.length ? k->records.bytes + k->held_records
							    : NULL,
				 .length = k->records.length - k->held_records };
}

/*
 * The disk has had no room for long: the text that the records led to takes their place, here and
 * at followers.
 */
static void replace_records(struct state_store *s, struct kept *k)
{
	state_store_render(s, k);
	if (s->pushed)
		s->pushed(s->follower, k->file->name, k->held, k->held_length);
	k->records.length = k->held_records = k->lane_records = 0;
	k->untold = true;
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
	if (k->records.length > STATE_RECORDS_MOST)
		replace_records(s, k);
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
