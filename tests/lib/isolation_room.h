/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * isolation_room: the room of fm/isolation, with a pipe that only looks like one and switches that
 * misbehave. Behind <cmocka.h>.
 */
#ifndef FMD_TESTS_ISOLATION_ROOM_H
#define FMD_TESTS_ISOLATION_ROOM_H

#include <inttypes.h>
#include "fm/isolation/module.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/program/table_block.h"
#include "tests/lib/sweep_bench.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull
#define MINUTE_US (60 * SECOND_US)
#define TRIES	  4 /* of a request, with mad_conf of the bench */

struct room {
	struct bench b;
	struct fabric f;
	struct program *program;
	struct mft *mft;
	struct tables tables;
	guid_t sw; /* one that misbehaves */
};

/* 16 leaves below 8 spines, so that a leaf's links are few of their tier. */
static inline struct topo *wide_tree(void)
{
	unsigned m[] = { 1, 16 }, w[] = { 1, 8 }, p[] = { 1, 1 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

static inline void begin_on(struct room *r, struct topo *design)
{
	*r = (struct room){ 0 };
	bench_init(&r->b, design, NULL);
	bench_discover(&r->b);
	r->program = program_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), 18);
	r->mft = mft_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep));
	tables_resize(&r->tables, r->b.found->nswitches, 127);
	fake_pipe_init_on(&r->f, &isolation_module, topo_ref(r->b.found),
			  &(struct fabric_services){ .loop = r->b.loop,
						     .mad = r->b.mad,
						     .program = r->program,
						     .mft = r->mft,
						     .inventory = sweep_inventory(r->b.sweep) });
	r->f.view.tables = &r->tables;
	r->sw = r->b.found->nodes[r->b.found->nswitches - 1].guid; /* a spine */
	double_sent_reset(r->b.d);
}

static inline void begin(struct room *r)
{
	begin_on(r, wide_tree());
}

static inline void end(struct room *r)
{
	fake_pipe_fini(&r->f);
	tables_fini(&r->tables);
	mft_free(r->mft);
	program_free(r->program);
	bench_fini(&r->b);
}

static inline json_t *rows_of(const struct room *r)
{
	json_t *doc = json_object(), *rows;

	r->f.module->report.status(r->f.room, doc);
	rows = json_incref(json_object_get(doc, "isolated"));
	json_decref(doc);
	return rows;
}

static inline unsigned count_rows(const struct room *r)
{
	json_t *rows = rows_of(r);
	unsigned count = (unsigned)json_array_size(rows);

	json_decref(rows);
	return count;
}

static inline unsigned count_in_force(const struct room *r)
{
	json_t *rows = rows_of(r), *row;
	unsigned count = 0;
	size_t i;

	json_array_foreach (rows, i, row)
		count += json_is_true(json_object_get(row, "in_force"));
	json_decref(rows);
	return count;
}

/* As the pipe does ahead of each snapshot. */
static inline void annotate(struct room *r)
{
	r->f.module->update.annotate(r->f.room, sweep_inventory(r->b.sweep));
}

static inline bool refusing_is_told(const struct room *r)
{
	return alert_text(r->f.services.alerts, "refusing", "") != NULL;
}

#endif
