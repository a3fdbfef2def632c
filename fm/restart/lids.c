/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/restart/lids.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "routing/tables.h"
#include "topology/mem.h"

#define LINE 128

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

unsigned lids_read(struct lid_memory *memory, FILE *in)
{
	uint8_t *taken = mem_alloc(TABLES_MAX_LID + 1, 1);
	unsigned number = 0, bad = 0;
	char line[LINE];

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
	if (memory->count)
		qsort(memory->entries, memory->count, sizeof(*memory->entries), compare_guid);
	return bad;
}

void lids_write(const struct lid_memory *memory, FILE *out)
{
	for (uint32_t i = 0; i < memory->count; i++) {
		const struct lid_entry *entry = &memory->entries[i];

		fprintf(out, "0x%016" PRIx64 " %u %u", entry->port_guid, entry->lid, entry->lmc);
		if (entry->away)
			fprintf(out, " %" PRId64, entry->away);
		fputc('\n', out);
	}
}
