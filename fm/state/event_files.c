/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_files: a line of JSON an event. Event number n stands in file n / EVENTS_PER_FILE of those
 * in turn; a file has the newest that belong there, and begins anew when its turn comes again.
 */
#include <inttypes.h>
#include "fm/state/event_files.h"
#include "topology/base/mem.h"

#define GATHER_US 1000000

struct ring_file { /* the owner of a file */
	struct event_files *files;
	unsigned number;
	json_t *read; /* rows, until they are in the log */
};

struct event_files {
	struct state_store *store;
	struct event_log *events;
	struct ring_file ring[EVENT_FILES];
};

/* ---- Reading --------------------------------------------------------------------------------- */

static unsigned read_rows(void *owner, FILE *in)
{
	struct ring_file *file = owner;
	unsigned number = 0, bad = 0;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	file->read = json_array();
	while (!bad && (len = getline(&line, &size, in)) > 0) {
		json_t *row = json_loadb(line, len, 0, NULL);

		number++;
		if (json_is_object(row))
			json_array_append(file->read, row);
		else
			bad = number;
		json_decref(row);
	}
	free(line);
	return bad;
}

static uint64_t seq_of(const json_t *row)
{
	return json_integer_value(json_object_get(row, "seq"));
}

/* The first of a turn takes the place of all that are there. */
static bool take_row(void *owner, const char *line)
{
	struct ring_file *file = owner;
	json_t *row = json_loads(line, 0, NULL);
	bool taken = json_is_object(row);

	if (taken && !file->read)
		file->read = json_array();
	if (taken) {
		if (json_array_size(file->read) &&
		    seq_of(json_array_get(file->read, 0)) / EVENTS_PER_FILE !=
			    seq_of(row) / EVENTS_PER_FILE)
			json_array_clear(file->read);
		json_array_append(file->read, row);
	}
	json_decref(row);
	return taken;
}

static void forget_rows(void *owner)
{
	struct ring_file *file = owner;

	json_decref(file->read);
	file->read = NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The first event of the file's latest turn; the log's end = it had none yet. */
static uint64_t first_of(const struct ring_file *file)
{
	uint64_t next = event_log_next(file->files->events);
	uint64_t turn = next ? (next - 1) / EVENTS_PER_FILE : 0;
	uint64_t back = (turn + EVENT_FILES - file->number) % EVENT_FILES;

	return back > turn ? next : (turn - back) * EVENTS_PER_FILE;
}

static void write_rows(const void *owner, FILE *out)
{
	const struct ring_file *file = owner;
	uint64_t first = first_of(file);

	for (uint64_t seq = first; seq < first + EVENTS_PER_FILE; seq++) {
		const json_t *event = event_log_at(file->files->events, seq);

		if (event && json_dumpf(event, out, JSON_COMPACT) == 0)
			fputc('\n', out);
	}
}

static void summarize(const void *owner, FILE *out)
{
	const struct ring_file *file = owner;
	uint64_t first = first_of(file), count = 0;
	const char *since = NULL;

	for (uint64_t seq = first; seq < first + EVENTS_PER_FILE; seq++) {
		const json_t *event = event_log_at(file->files->events, seq);

		count += event != NULL;
		if (event && !since)
			since = json_string_value(json_object_get(event, "time"));
	}
	fprintf(out, "%" PRIu64 " events since %s", count, since ? since : "never");
}

#define RING_FILE(number_)                                                                         \
	{                                                                                          \
		.name = "events-" #number_, .form = "an event", .read = read_rows,                 \
		.forget = forget_rows, .write = write_rows, .summary = summarize,                  \
		.record = take_row, .gather_us = GATHER_US, .gather_max_us = GATHER_US             \
	}
static const struct state_file ring_files[EVENT_FILES] = {
	RING_FILE(0), RING_FILE(1), RING_FILE(2), RING_FILE(3),
	RING_FILE(4), RING_FILE(5), RING_FILE(6), RING_FILE(7),
};

void event_files_added(struct event_files *files)
{
	uint64_t seq = event_log_next(files->events) - 1;
	unsigned number = seq / EVENTS_PER_FILE % EVENT_FILES;
	char *line = json_dumps(event_log_at(files->events, seq), JSON_COMPACT);

	if (line)
		state_store_record(files->store, &ring_files[number], &files->ring[number], line);
	free(line);
}

static void all_changed(struct event_files *files)
{
	uint64_t next = event_log_next(files->events);

	for (unsigned i = 0; i < EVENT_FILES; i++)
		if (first_of(&files->ring[i]) < next)
			state_store_changed(files->store, &ring_files[i], &files->ring[i]);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int compare_files(const void *va, const void *vb)
{
	const struct ring_file *const *a = va, *const *b = vb;
	uint64_t first = seq_of(json_array_get((*a)->read, 0));
	uint64_t other = seq_of(json_array_get((*b)->read, 0));

	return first < other ? -1 : first > other;
}

/* Rows of the files, in the order of their events; the caller's. */
static json_t *read_all(struct event_files *files)
{
	struct ring_file *order[EVENT_FILES];
	json_t *rows = json_array();

	for (unsigned i = 0; i < EVENT_FILES; i++) {
		state_store_read(files->store, &ring_files[i], &files->ring[i]);
		order[i] = &files->ring[i];
	}
	qsort(order, EVENT_FILES, sizeof(*order), compare_files);
	for (unsigned i = 0; i < EVENT_FILES; i++) {
		if (order[i]->read)
			json_array_extend(rows, order[i]->read);
		forget_rows(order[i]);
	}
	return rows;
}

void event_files_merge(struct event_files *files)
{
	json_t *rows = read_all(files);

	event_log_merge(files->events, rows);
	all_changed(files);
	json_decref(rows);
}

struct event_files *event_files_new(struct state_store *store, struct event_log *events)
{
	struct event_files *files = mem_new(files);
	json_t *rows;
	uint64_t had;

	files->store = store;
	files->events = events;
	for (unsigned i = 0; i < EVENT_FILES; i++)
		files->ring[i] = (struct ring_file){ .files = files, .number = i };
	rows = read_all(files);
	had = event_log_next(events);
	event_log_restore(events, rows);
	if (had)
		all_changed(files);
	json_decref(rows);
	return files;
}
