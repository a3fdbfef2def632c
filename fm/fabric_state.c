/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_state: what survives a restart: the LID of every port ever met, in state_dir/lids.
 *
 * One line a port: `0x<port GUID> <LID> <LMC>`, sorted by GUID, so that people can read, compare and edit it. It is written beside
 * and renamed, after fsync: a crash leaves the old map or the new one. A map with a bad line is not used in part: a
 * wrong LID is worse than a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fabric_own.h"
#include "topology/mem.h"

#define STATE_LINE 128

static char *state_path(const struct fabric *f, const char *name)
{
	return mem_printf("%s/%s", f->conf.state_dir, name);
}

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

/* The number of the line that can't be, 0 when all is well. */
static unsigned read_lids(FILE *in, struct lid_memory *memory)
{
	uint8_t *taken = mem_alloc(TABLES_MAX_LID + 1, 1);
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

int fabric_state_load(struct fabric *f)
{
	char *path = state_path(f, "lids");
	FILE *in = fopen(path, "r");
	int status = in || errno == ENOENT ? 0 : -errno;
	unsigned bad = in ? read_lids(in, &f->memory) : 0;

	if (bad) {
		char *aside = state_path(f, "lids.bad");

		log_line(LOG_CORE, LOG_ERR,
			 "%s:%u: not `GUID LID LMC`, or a LID twice; not used, kept as %s", path,
			 bad, aside);
		rename(path, aside);
		free(aside);
		lid_memory_fini(&f->memory);
		status = -EINVAL;
	} else if (status) {
		log_line(LOG_CORE, LOG_ERR, "%s: %s", path, strerror(-status));
	}
	if (f->memory.count)
		qsort(f->memory.entries, f->memory.count, sizeof(*f->memory.entries), compare_guid);
	if (in)
		fclose(in);
	free(path);
	return status;
}

static int write_lids(FILE *out, const struct lid_memory *memory)
{
	for (uint32_t i = 0; i < memory->count; i++)
		fprintf(out, "0x%016" PRIx64 " %u %u\n", memory->entries[i].port_guid,
			memory->entries[i].lid, memory->entries[i].lmc);
	return fflush(out) || ferror(out) || fsync(fileno(out)) ? -EIO : 0;
}

void fabric_state_save(struct fabric *f)
{
	char *path = state_path(f, "lids"), *beside = state_path(f, "lids.new");
	FILE *out = fopen(beside, "w");
	int status = out ? write_lids(out, &f->memory) : -errno;

	if (out && fclose(out) && !status)
		status = -errno;
	if (!status && rename(beside, path))
		status = -errno;
	if (status)
		log_line(LOG_CORE, LOG_ERR, "%s: LID map not saved: %s", path, strerror(-status));
	free(path);
	free(beside);
}
