/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_state: what survives a restart, in files of state_dir.
 *
 * Files are lines that people can read, compare and edit. One is written beside and renamed, after
 * fsync: a crash leaves the old one or the new one. A file with a bad line is not used in part.
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

void fabric_state_write(const struct fabric *f, const struct state_file *file)
{
	char *path = fabric_state_path(f, file->name), *beside = mem_printf("%s.new", path);
	FILE *out = fopen(beside, "w");
	int status = out ? 0 : -errno;

	if (out) {
		file->write(f, out);
		if (fflush(out) || ferror(out) || fsync(fileno(out)))
			status = -EIO;
		if (fclose(out) && !status)
			status = -errno;
	}
	if (!status && rename(beside, path))
		status = -errno;
	if (status)
		log_line(LOG_CORE, LOG_ERR, "%s: not saved: %s", path, strerror(-status));
	free(path);
	free(beside);
}

void fabric_state_wait(pid_t *writer)
{
	int status;

	while (*writer && waitpid(*writer, &status, 0) < 0 && errno == EINTR)
		;
	*writer = 0;
}

/* The copy that fork() makes holds still while it is written. Without one it is written here. */
bool fabric_state_write_aside(const struct fabric *f, const struct state_file *const *files,
			      pid_t *writer)
{
	int status;

	if (*writer && !waitpid(*writer, &status, WNOHANG))
		return false;
	*writer = fork();
	if (*writer > 0)
		return true;
	if (!*writer)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the next daemon writes beside as well */
	for (; *files; files++)
		fabric_state_write(f, *files);
	if (!*writer)
		_exit(EXIT_SUCCESS);
	*writer = 0;
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
