/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_remember: what is large and survives a restart, so that one moves nothing: the tables that switches hold, the cables that
 * are known (fabric_cables.c), and what re-balancing has in force (fabric_overrides.c).
 *
 * The tables the engine makes depend on snapshot, LIDs, marks and overrides alone. With all of these remembered, the first tables
 * of a new daemon are the last ones of the old, damage or none; what the switches hold is read, not written (fm/program/claims.c).
 *
 * Files are written when nothing has changed for SAVE_US, or some of it waits for SAVE_MAX_US, by one child for all that is due: its
 * copy of the memory holds still meanwhile and costs nothing but what changes, and fsync() keeps nobody waiting. At a
 * clean end they are written at once. None needs to be up to date: a restart asks the switches and the cables.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/fabric_own.h"

#define SAVE_US	    5000000
#define SAVE_MAX_US 60000000

/* ---- Tables -------------------------------------------------------------------------------------- */

static void write_tables(const struct fabric *f, FILE *out)
{
	program_write_tables(f->program, out);
}

static void write_tables_again(struct fabric *f)
{
	fabric_remember(f, FABRIC_TABLES);
}

static const struct state_file tables_file = { .name = "tables",
					       .write = write_tables,
					       .again = write_tables_again };

void fabric_remember_programmed(struct fabric *f, const struct program_result *result)
{
	uint64_t written = program_blocks_written(f->program);

	if (result->read)
		event_log_add(
			f->events, LOG_NOTICE, "tables-held",
			json_pack("{si si sI}", "read", (int)result->read, "differed",
				  (int)result->differed, "written", (json_int_t)written),
			"fabric: tables of before the restart: %u blocks read, %u differ from "
			"what was remembered, %llu written",
			result->read, result->differed, (unsigned long long)written);
	if (result->differed || written != f->memory_files.blocks)
		fabric_remember(f, FABRIC_TABLES);
}

/* ---- Files --------------------------------------------------------------------------------------- */

static const struct state_file *const files[FABRIC_REMEMBERED] = {
	[FABRIC_TABLES] = &tables_file,
	[FABRIC_CABLES] = &fabric_cables_file,
	[FABRIC_OVERRIDES] = &fabric_overrides_file,
};

/* Those that are due, NULL behind the last; true: there are some. */
static bool list_due(const struct fabric_memory *m,
		     const struct state_file *list[FABRIC_REMEMBERED + 1])
{
	unsigned count = 0;

	for (unsigned i = 0; i < FABRIC_REMEMBERED; i++)
		if (m->due[i])
			list[count++] = files[i];
	list[count] = NULL;
	return count > 0;
}

static void save(void *arg)
{
	struct fabric *f = arg;
	struct fabric_memory *m = &f->memory_files;
	const struct state_file *list[FABRIC_REMEMBERED + 1];

	if (!list_due(m, list))
		return;
	if (fabric_state_write_aside(f, list, &m->writer))
		memset(m->due, 0, sizeof(m->due));
	else
		loop_timer_set(m->save, SAVE_US);
}

void fabric_remember(struct fabric *f, enum fabric_remembered what)
{
	struct fabric_memory *m = &f->memory_files;
	uint64_t now = loop_now_us(f->loop), wait;

	if (!loop_timer_armed(m->save))
		m->since_us = now;
	m->due[what] = true;
	if (what == FABRIC_TABLES)
		m->blocks = program_blocks_written(f->program);
	wait = m->since_us + SAVE_MAX_US > now ? m->since_us + SAVE_MAX_US - now : 0;
	loop_timer_set(m->save, wait < SAVE_US ? wait : SAVE_US);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_remember_init(struct fabric *f)
{
	f->memory_files.save = loop_timer_new(f->loop, save, f);
}

void fabric_remember_load(struct fabric *f)
{
	char *path = fabric_state_path(f, tables_file.name);

	program_remember(f->program, path);
	free(path);
	fabric_cables_load(f);
	fabric_overrides_load(f);
}

/* Programming may have been under way. */
void fabric_remember_fini(struct fabric *f)
{
	struct fabric_memory *m = &f->memory_files;
	const struct state_file *list[FABRIC_REMEMBERED + 1];

	loop_timer_free(m->save);
	fabric_state_wait(&m->writer);
	m->due[FABRIC_TABLES] |= program_blocks_written(f->program) != m->blocks;
	list_due(m, list);
	for (unsigned i = 0; list[i]; i++)
		fabric_state_write(f, list[i]);
}
