/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_remember: what is large and survives a restart, so that one moves nothing: the tables that switches hold, the cables that
 * are known (cables.c), and what re-balancing has in force (overrides.c).
 *
 * The tables the engine makes depend on snapshot, LIDs, marks and overrides alone. With all of these remembered, the first tables
 * of a new daemon are the last ones of the old, damage or none; what the switches hold is read, not written (fm/program/claims.c).
 *
 * The file of the tables may lag behind: a restart asks the switches.
 */
#include "fm/fabric/own.h"

/* ---- Tables -------------------------------------------------------------------------------------- */

static void write_tables(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	program_write_tables(f->program, out);
}

static const struct state_file tables_file = {
	.name = "tables", .write = write_tables, .gather_us = 5000000, .gather_max_us = 60000000
};

static void changed(struct fabric *f)
{
	f->tables_blocks = program_blocks_written(f->program);
	fabric_state_changed(f, &tables_file);
}

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
	if (result->differed || written != f->tables_blocks)
		changed(f);
}

void fabric_remember_end(struct fabric *f)
{
	if (program_blocks_written(f->program) != f->tables_blocks)
		changed(f);
}

void fabric_remember_load(struct fabric *f)
{
	char *content;
	size_t length;

	if (!fabric_state_content(f, &tables_file, &content, &length))
		program_remember(f->program, content, length);
	fabric_cables_load(f);
	fabric_overrides_load(f);
}
