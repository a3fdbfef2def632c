/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_state: what survives a restart, in files of state_dir (fm/state/state_store.h): what becomes of a file that can't be written or is
 * not what was written, and the LIDs.
 *
 * A full disk, or another, keeps nothing from being in force: what could not be written is a trouble, told to whoever asked for it, and
 * written again until it works. A file that was lost is an alert until what is left of it (NAME.bad) was taken away.
 *
 * Only a master writes: a standby knows less than its files, which serve it when it takes over.
 *
 * lids has the LID of every port ever met, sorted by GUID: `0x<port GUID> <LID> <LMC>`, and for a port that is away since when (Unix time). A wrong LID is
 * worse than a new one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

#define STATE_LINE 128
#define LOST	   "state-lost"
#define LOOK_US	   10000000

/* ---- Files that were lost -------------------------------------------------------------------------- */

struct lost_file {
	struct lost_file *next;
	char *subject, *kept;
};

struct fabric_files {
	struct fabric *f;
	struct state_store *store;
	struct lost_file *lost; /* those of which something is kept */
	struct loop_timer *look;
};

static char *subject_of(const char *name)
{
	return mem_printf("state_dir/%s", name);
}

static void lost_free(struct lost_file *lost)
{
	free(lost->subject);
	free(lost->kept);
	free(lost);
}

/* Who has taken away what was kept has seen it. */
static void look(void *arg)
{
	struct fabric_files *files = arg;
	struct lost_file **link = &files->lost;

	while (*link) {
		struct lost_file *it = *link;

		if (access(it->kept, F_OK) == 0) {
			link = &it->next;
			continue;
		}
		alert_end(files->f->alerts, LOST, it->subject);
		*link = it->next;
		lost_free(it);
	}
	if (files->lost)
		loop_timer_set(files->look, LOOK_US);
}

static void lost(void *arg, const struct state_file *file, const char *why, const char *kept,
		 const char *summary)
{
	struct fabric *f = arg;
	struct fabric_files *files = f->files;
	char *subject = subject_of(file->name);
	struct lost_file *it;

	alert_raise(f->alerts, LOST, subject, "%s: %s%s%s%s%s", subject, why,
		    kept ? "; not used, kept as " : "", kept ? kept : "",
		    *summary ? "; it held: " : "", summary);
	if (kept) {
		it = mem_alloc(1, sizeof(*it));
		*it = (struct lost_file){ files->lost, mem_strdup(subject), mem_strdup(kept) };
		files->lost = it;
		loop_timer_set(files->look, LOOK_US);
	}
	free(subject);
}

static void foreign(void *arg, const struct state_file *file)
{
	struct fabric *f = arg;

	event_log_add(
		f->events, LOG_NOTICE, "state-edited", json_pack("{ss}", "file", file->name),
		"state_dir/%s: without its first and last line, by hand or by another version of "
		"fmd: taken as it is",
		file->name);
}

/* ---- What could not be written ------------------------------------------------------------------- */

static void wrote(void *arg, const struct state_file *file, int status)
{
	struct fabric *f = arg;
	char *what = subject_of(file->name),
	     *error = mem_printf("not saved: %s", strerror(-status));

	fabric_trouble(f, what, status ? error : NULL);
	free(what);
	free(error);
	operations_saved(f->operations);
	fabric_update_unshare(f);
}

/* ---- For others ------------------------------------------------------------------------------------ */

struct state_store *fabric_state_store(const struct fabric *f)
{
	return f->files->store;
}

int fabric_state_read(struct fabric *f, const struct state_file *file)
{
	return state_store_read(f->files->store, file, f);
}

int fabric_state_content(struct fabric *f, const struct state_file *file, char **content,
			 size_t *length)
{
	return state_store_load(f->files->store, file, f, content, length);
}

void fabric_state_changed(struct fabric *f, const struct state_file *file)
{
	state_store_changed(f->files->store, file, f);
}

void fabric_state_unchanged(struct fabric *f, const struct state_file *file)
{
	state_store_unchanged(f->files->store, file);
}

/* ---- LIDs ---------------------------------------------------------------------------------------- */

static int compare_guid(const void *a, const void *b)
{
	const struct lid_entry *x = a, *y = b;

	return x->port_guid < y->port_guid ? -1 : x->port_guid > y->port_guid;
}

/* 1 = an entry, 0 = an empty line or a comment, -1 = neither. */
static int parse_line(const char *line, struct lid_entry *entry)
{
	unsigned lid, lmc;
	char rest;
	int fields;

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return 0;
	entry->away = 0;
	fields = sscanf(line, "0x%" SCNx64 " %u %u %" SCNd64 " %c", &entry->port_guid, &lid, &lmc,
			&entry->away, &rest);
	if (fields < 3 || fields > 4 || !lid || lid > TABLES_MAX_LID || lmc > 7 || entry->away < 0)
		return -1;
	if (fields == 3 && strspn(line, "0123456789abcdefABCDEFx \t\n") != strlen(line))
		return -1;
	entry->lid = lid;
	entry->lmc = lmc;
	return 1;
}

static unsigned read_lids(void *arg, FILE *in)
{
	struct fabric *f = arg;
	uint8_t *taken = mem_alloc(TABLES_MAX_LID + 1, 1);
	struct lid_memory *memory = &f->memory;
	char line[STATE_LINE];
	unsigned number = 0, bad = 0;

	while (!bad && fgets(line, sizeof(line), in)) {
		struct lid_entry entry;
		int kind = parse_line(line, &entry);

		number++;
		if (kind < 0 || (kind > 0 && taken[entry.lid]++))
			bad = number;
		if (kind <= 0 || bad)
			continue;
		memory->entries = mem_resize(memory->entries, memory->count + 1, sizeof(entry));
		memory->entries[memory->count++] = entry;
	}
	free(taken);
	return bad;
}

static void forget_lids(void *arg)
{
	struct fabric *f = arg;

	lid_memory_fini(&f->memory);
}

static void write_lids(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	for (uint32_t i = 0; i < f->memory.count; i++) {
		const struct lid_entry *entry = &f->memory.entries[i];

		fprintf(out, "0x%016" PRIx64 " %u %u", entry->port_guid, entry->lid, entry->lmc);
		if (entry->away)
			fprintf(out, " %" PRId64, entry->away);
		fputc('\n', out);
	}
}

static const struct state_file lids_file = {
	.name = "lids",
	.form = "`GUID LID LMC [AWAY]`, or a LID twice",
	.read = read_lids,
	.forget = forget_lids,
	.write = write_lids,
};

int fabric_state_load(struct fabric *f)
{
	int status = fabric_state_read(f, &lids_file);

	if (f->memory.count)
		qsort(f->memory.entries, f->memory.count, sizeof(*f->memory.entries), compare_guid);
	return status;
}

void fabric_state_save(struct fabric *f)
{
	fabric_state_changed(f, &lids_file);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_state_configure(struct fabric *f)
{
	state_store_retry(f->files->store, f->conf.retry_interval_ms * 1000ull);
}

void fabric_state_renew(struct fabric *f)
{
	state_store_detach(f->files->store, !fabric_rules(f));
}

void fabric_state_end(struct fabric *f)
{
	state_store_flush(f->files->store, !fabric_rules(f));
}

static bool may_write(const void *arg)
{
	return fabric_rules(arg);
}

void fabric_state_init(struct fabric *f)
{
	static const struct state_ops ops = {
		.wrote = wrote, .lost = lost, .foreign = foreign, .may_write = may_write
	};
	struct fabric_files *files = mem_alloc(1, sizeof(*files));

	files->f = f;
	f->files = files;
	files->look = loop_timer_new(f->loop, look, files);
	files->store = state_store_new(f->loop, f->conf.state_dir, f, &ops);
	fabric_state_configure(f);
}

void fabric_state_fini(struct fabric *f)
{
	struct fabric_files *files = f->files;

	state_store_free(files->store);
	loop_timer_free(files->look);
	while (files->lost) {
		struct lost_file *it = files->lost;

		files->lost = it->next;
		lost_free(it);
	}
	free(files);
}
