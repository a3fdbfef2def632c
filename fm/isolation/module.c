/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/module.h"
#include <stdlib.h>
#include "fm/isolation/isolation.h"
#include "fm/isolation/refusing.h"
#include "fm/isolation/report.h"
#include "fm/isolation/wrong_tables.h"
#include "fm/program/program.h"
#include "fm/sweep/sweep.h"
#include "topology/mem.h"

/* ---- Findings -------------------------------------------------------------------------------- */

static void isolate(void *room, guid_t node, uint8_t port, enum isolation_cause cause)
{
	isolation_add(room, node, port, cause);
}

static const char *swept(void *room, const struct sweep_result *result)
{
	if (result->refusing)
		refusing_swept(room);
	if (result->untrue)
		wrong_tables_swept(room);
	return NULL;
}

static void suspect(void *arg, guid_t sw)
{
	refusing_suspect(arg, sw);
}

static void programmed(void *room, const struct program_result *result)
{
	struct isolation *is = room;

	if (result->failed)
		program_refusers(is->services.program, suspect, is);
}

static void table_unheld(void *room, const struct table_block *block)
{
	wrong_tables_add(room, block);
}

/*
 * From now on links count by being Active: those that bring-up has given up are judged before they
 * cease to count.
 */
static void settled(void *room)
{
	struct isolation *is = room;

	if (!fabric_view(is->fabric).active_decides)
		isolation_judge_links(is);
}

/* ---- What follows ---------------------------------------------------------------------------- */

static void annotate(void *room, struct inventory *inventory)
{
	wrong_tables_mark(room);
	isolation_mark(room);
}

static void status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "isolated", isolation_json(room));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void load(void *room)
{
	wrong_tables_load(room);
}

static void *init(struct fabric *fabric)
{
	struct isolation *is = mem_alloc(1, sizeof(*is));

	is->fabric = fabric;
	is->services = fabric_services(fabric);
	isolation_init(is, refusing_probe);
	wrong_tables_init(is);
	return is;
}

static void fini(void *room)
{
	struct isolation *is = room;

	refusing_fini(is);
	wrong_tables_fini(is);
	isolation_fini(is);
	free(is);
}

const struct fabric_module isolation_module = { .name = "isolation",
						.init = init,
						.fini = fini,
						.load = load,
						.sweep.swept = swept,
						.update.isolate = isolate,
						.deploy.table_unheld = table_unheld,
						.update.annotate = annotate,
						.deploy.programmed = programmed,
						.deploy.settled = settled,
						.report.status = status };
