/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What survives a restart, so that one moves nothing: LIDs (lids.h), the tables that switches hold,
 * and the links that are known (links.c).
 *
 * The tables the engine makes depend on snapshot, LIDs, marks and overrides alone. With all of
 * these restored, the first tables of a new daemon are the last ones of the old, damage or none;
 * what the switches hold is read, not written (fm/program/cached.c).
 *
 * The file of the tables may lag behind: a restart asks the switches.
 */
#include "fm/restart/module.h"
#include <stdlib.h>
#include "fm/fabric/view.h"
#include "fm/program/program.h"
#include "fm/restart/lids.h"
#include "fm/restart/links.h"
#include "topology/mem.h"

struct restart {
	struct fabric *fabric;
	struct fabric_services services;
	struct known_links links;
	uint64_t blocks; /* written to switches, when their file was last due */
};

/* ---- LIDs ------------------------------------------------------------------------------------ */

static unsigned read_lids(void *arg, FILE *in)
{
	struct restart *r = arg;

	return lids_read(r->services.lids, in);
}

static void forget_lids(void *arg)
{
	struct restart *r = arg;

	lid_memory_fini(r->services.lids);
}

static void write_lids(const void *arg, FILE *out)
{
	const struct restart *r = arg;

	lids_write(r->services.lids, out);
}

/* A LID that is wrong is worse than a new one: a file that is not whole is lost. */
static const struct state_file lids_file = {
	.name = "lids",
	.small = true,
	.form = "`GUID LID LMC [AWAY]`, or a LID twice",
	.read = read_lids,
	.forget = forget_lids,
	.write = write_lids,
};

static void lids_changed(void *room)
{
	struct restart *r = room;

	state_store_changed(r->services.state, &lids_file, r);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void write_tables(const void *arg, FILE *out)
{
	const struct restart *r = arg;

	program_write_tables(r->services.program, out);
}

static const struct state_file tables_file = {
	.name = "tables", .write = write_tables, .gather_us = 5000000, .gather_max_us = 60000000
};

static void changed(struct restart *r)
{
	r->blocks = program_blocks_written(r->services.program);
	state_store_changed(r->services.state, &tables_file, r);
}

static void programmed(void *room, const struct program_result *result)
{
	struct restart *r = room;
	uint64_t written = program_blocks_written(r->services.program);

	if (result->read)
		event_log_add(r->services.events, LOG_NOTICE, "tables-held",
			      json_pack("{si si sI}", "read", (int)result->read, "differed",
					(int)result->differed, "written", (json_int_t)written),
			      "fabric: warm restart: %u LFT blocks read back, %u differed, %llu "
			      "rewritten",
			      result->read, result->differed, (unsigned long long)written);
	if (result->differed || written != r->blocks)
		changed(r);
}

/* Programming may have been under way. */
static void checkpoint(void *room)
{
	struct restart *r = room;

	if (program_blocks_written(r->services.program) != r->blocks)
		changed(r);
}

static void restore(void *room)
{
	struct restart *r = room;
	char *content;
	size_t length;

	state_store_read(r->services.state, &lids_file, r);
	if (!state_store_load(r->services.state, &tables_file, r, &content, &length))
		program_remember(r->services.program, content, length);
	known_links_restore(&r->links, r->services.lids);
}

static void settled_later(void *room)
{
	struct restart *r = room;

	known_links_settled(&r->links, fabric_view(r->fabric).topo);
}

json_t *links_down(const struct fabric *fabric)
{
	const struct restart *r = fabric_room(fabric, &restart_module);

	return known_links_down(&r->links, fabric_view(fabric).topo);
}

void link_down_since(const struct fabric *fabric, uint32_t port, char since[LINK_SINCE])
{
	const struct restart *r = fabric_room(fabric, &restart_module);

	known_links_down_since(&r->links, fabric_view(fabric).topo, port, since);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct restart *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->links.services = &r->services;
	return r;
}

static void fini(void *room)
{
	struct restart *r = room;

	known_links_fini(&r->links);
	free(r);
}

const struct fabric_module restart_module = { .name = "restart",
					      .init = init,
					      .fini = fini,
					      .restore = restore,
					      .update.lids_changed = lids_changed,
					      .checkpoint = checkpoint,
					      .deploy.programmed = programmed,
					      .deploy.settled_later = settled_later };
