/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_state: what survives a restart, in files of state_dir.
 *
 * Files are lines that people can read, compare and edit. One is written beside and renamed, after
 * fsync: a crash leaves the old one or the new one. A file with a bad line is not used in part.
 *
 * A full disk, or another, keeps nothing from being in force: what could not be written is a trouble, told to whoever asked for it, and
 * written again until it works.
 *
 * Only a master writes: a standby knows less than its files, which serve it when it takes over.
 *
 * lids has the LID of every port ever met, sorted by GUID: `0x<port GUID> <LID> <LMC>`. A wrong LID is
 * worse than a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/fabric_own.h"
#include "topology/mem.h"

#define STATE_LINE 128
#define REAP_US	   100000

/* ---- Files --------------------------------------------------------------------------------------- */

char *fabric_state_path(const struct fabric *f, const char *name)
{
	return mem_printf("%s/%s", f->conf.state_dir, name);
}

static void set_aside(const struct state_file *file, const char *path, unsigned bad)
{
	char *aside = mem_printf("%s.bad", path);

	log_line(LOG_CORE, LOG_ERR, "%s:%u: not %s; not used, kept as %s", path, bad, file->form,
		 aside);
	rename(path, aside);
	free(aside);
}

int fabric_state_read(struct fabric *f, const struct state_file *file)
{
	char *path = fabric_state_path(f, file->name);
	FILE *in = fopen(path, "r");
	int status = in || errno == ENOENT ? 0 : -errno;
	unsigned bad = in ? file->read(f, in) : 0;

	if (bad) {
		set_aside(file, path, bad);
		file->forget(f);
		status = -EINVAL;
	} else if (status) {
		log_line(LOG_CORE, LOG_ERR, "%s: %s", path, strerror(-status));
	}
	if (in)
		fclose(in);
	free(path);
	return status;
}

/* 0 or -errno. What could not be written whole leaves nothing behind. */
static int write_file(const struct fabric *f, const struct state_file *file)
{
	char *path = fabric_state_path(f, file->name), *beside = mem_printf("%s.new", path);
	FILE *out = fopen(beside, "w");
	int status = out ? 0 : -errno;

	if (out) {
		file->write(f, out);
		if (fflush(out) || fsync(fileno(out)))
			status = -errno;
		else if (ferror(out))
			status = -EIO;
		if (fclose(out) && !status)
			status = -errno;
	}
	if (!status && rename(beside, path))
		status = -errno;
	if (status && out)
		unlink(beside);
	free(path);
	free(beside);
	return status;
}

/* ---- What could not be written ------------------------------------------------------------------- */

struct unsaved {
	struct unsaved *next;
	const struct state_file *file;
};

static void forget_unsaved(struct fabric *f, const struct state_file *file)
{
	struct unsaved **link = &f->unsaved.list;

	while (*link) {
		struct unsaved *it = *link;

		if (it->file != file) {
			link = &it->next;
			continue;
		}
		*link = it->next;
		free(it);
	}
}

static char *trouble_name(const char *file)
{
	return mem_printf("state_dir/%s", file);
}

/* What a write came to. One that failed is done again until it works. */
static void note(struct fabric *f, const struct state_file *file, int status)
{
	char *what = trouble_name(file->name),
	     *error = mem_printf("not saved: %s", strerror(-status));
	struct unsaved *it;
	bool waits; /* for the others: who fails often does not put off their turn */

	fabric_trouble(f, what, status ? error : NULL);
	forget_unsaved(f, file);
	waits = f->unsaved.list != NULL;
	if (status) {
		it = mem_alloc(1, sizeof(*it));
		*it = (struct unsaved){ f->unsaved.list, file };
		f->unsaved.list = it;
		if (f->conf.retry_interval_ms && !waits)
			loop_timer_set(f->unsaved.retry, f->conf.retry_interval_ms * 1000ull);
	}
	free(what);
	free(error);
}

static void retry(void *arg)
{
	struct fabric *f = arg;
	struct unsaved *list = f->unsaved.list;

	f->unsaved.list = NULL;
	while (list) {
		struct unsaved *it = list;

		list = it->next;
		if (it->file->again)
			it->file->again(f);
		else
			fabric_state_write(f, it->file);
		free(it);
	}
}

void fabric_state_tell(const struct fabric *f, const char *name, json_t *result)
{
	char *what = trouble_name(name);
	const char *error = trouble_error(f->alerts, what);

	if (error)
		json_object_set_new(result, "not_saved", json_string(error));
	free(what);
}

/* ---- Writing ------------------------------------------------------------------------------------- */

/* Who is not master knows less than the files say. */
void fabric_state_write(struct fabric *f, const struct state_file *file)
{
	if (!fabric_rules(f))
		return;
	note(f, file, write_file(f, file));
}

/* False: it is at it still. What became of it is told. */
static bool reap(struct state_writer *w, int how)
{
	int status, code;
	pid_t done;

	do
		done = waitpid(w->pid, &status, how);
	while (done < 0 && errno == EINTR);
	if (!done)
		return false;
	w->pid = 0;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	for (unsigned i = 0; done > 0 && w->files[i]; i++)
		note(w->fabric, w->files[i], -code);
	return true;
}

static void reap_cb(void *arg)
{
	struct state_writer *w = arg;

	if (w->pid && !reap(w, WNOHANG))
		loop_timer_set(w->timer, REAP_US);
}

void fabric_state_wait(struct state_writer *w)
{
	if (w->pid)
		reap(w, 0);
	loop_timer_free(w->timer);
	w->timer = NULL;
}

/* The child: its exit status is the reason why it ended ahead of the last. */
static void write_and_exit(const struct fabric *f, const struct state_file *const *files)
{
	int status = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the next daemon writes beside as well */
	while (!status && *files)
		status = write_file(f, *files++);
	_exit(-status);
}

/* The copy that fork() makes holds still while it is written. Without one it is written here. */
bool fabric_state_write_aside(struct fabric *f, const struct state_file *const *files,
			      struct state_writer *w)
{
	unsigned count = 0;

	if (!fabric_rules(f) || (w->pid && !reap(w, WNOHANG)))
		return false;
	if (!w->timer)
		w->timer = loop_timer_new(f->loop, reap_cb, w);
	w->fabric = f;
	while (files[count] && count < STATE_FILES) {
		w->files[count] = files[count];
		count++;
	}
	w->files[count] = NULL;
	w->pid = fork();
	if (!w->pid)
		write_and_exit(f, w->files);
	if (w->pid > 0) {
		loop_timer_set(w->timer, REAP_US);
		return true;
	}
	w->pid = 0;
	for (; *files; files++)
		fabric_state_write(f, *files);
	return true;
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

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return 0;
	if (sscanf(line, "0x%" SCNx64 " %u %u %c", &entry->port_guid, &lid, &lmc, &rest) != 3)
		return -1;
	if (!lid || lid > TABLES_MAX_LID || lmc > 7)
		return -1;
	entry->lid = lid;
	entry->lmc = lmc;
	return 1;
}

static unsigned read_lids(struct fabric *f, FILE *in)
{
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

static void forget_lids(struct fabric *f)
{
	lid_memory_fini(&f->memory);
}

static void write_lids(const struct fabric *f, FILE *out)
{
	for (uint32_t i = 0; i < f->memory.count; i++)
		fprintf(out, "0x%016" PRIx64 " %u %u\n", f->memory.entries[i].port_guid,
			f->memory.entries[i].lid, f->memory.entries[i].lmc);
}

static const struct state_file lids_file = {
	.name = "lids",
	.form = "`GUID LID LMC`, or a LID twice",
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
	fabric_state_write(f, &lids_file);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_state_init(struct fabric *f)
{
	f->unsaved.retry = loop_timer_new(f->loop, retry, f);
}

/* Behind those who write at the end. */
void fabric_state_fini(struct fabric *f)
{
	loop_timer_free(f->unsaved.retry);
	while (f->unsaved.list)
		forget_unsaved(f, f->unsaved.list->file);
}
