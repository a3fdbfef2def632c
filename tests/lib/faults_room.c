/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/module.h"
#include "tests/lib/faults_room.h"

/* The room of fm/sm, which admission calls. */
guid_t sm_met_by(struct fabric *f, uint8_t *port)
{
	return 0;
}

uint64_t sm_met_us(const struct fabric *f)
{
	return 0;
}

void sm_allow(struct fabric *f, guid_t port, bool on)
{
}

void sm_meet(struct fabric *f, guid_t port, uint16_t lid, const struct mad_path *path)
{
}

bool sm_is_outranked(const struct fabric *f, const struct wire_sm_info *by)
{
	return false;
}

struct topo *wide_tree(void)
{
	unsigned m[] = { 1, 16 }, w[] = { 1, 8 }, p[] = { 1, 1 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

void isolation_begin_on(struct room *r, struct topo *design)
{
	*r = (struct room){ 0 };
	bench_init(&r->b, design, NULL);
	bench_discover(&r->b);
	r->program = program_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), 18);
	r->mft = mft_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep));
	tables_resize(&r->tables, r->b.found->nswitches, 127);
	fake_pipe_init_on(&r->f, &links_out_module, topo_ref(r->b.found),
			  &(struct fabric_services){ .loop = r->b.loop,
						     .mad = r->b.mad,
						     .program = r->program,
						     .mft = r->mft,
						     .inventory = sweep_inventory(r->b.sweep) });
	r->f.view.tables = &r->tables;
	r->sw = r->b.found->nodes[r->b.found->nswitches - 1].guid; /* a spine */
	double_sent_reset(r->b.d);
}

void isolation_begin(struct room *r)
{
	isolation_begin_on(r, wide_tree());
}

void isolation_end(struct room *r)
{
	fake_pipe_fini(&r->f);
	tables_fini(&r->tables);
	mft_free(r->mft);
	program_free(r->program);
	bench_fini(&r->b);
}

json_t *isolated_rows(const struct room *r)
{
	json_t *doc = json_object(), *rows;

	r->f.module->status(r->f.room, doc);
	rows = json_incref(json_object_get(doc, "isolated"));
	json_decref(doc);
	return rows;
}

unsigned count_rows(const struct room *r)
{
	json_t *rows = isolated_rows(r);
	unsigned count = (unsigned)json_array_size(rows);

	json_decref(rows);
	return count;
}

unsigned count_in_force(const struct room *r)
{
	json_t *rows = isolated_rows(r), *row;
	unsigned count = 0;
	size_t i;

	json_array_foreach (rows, i, row)
		count += json_is_true(json_object_get(row, "in_force"));
	json_decref(rows);
	return count;
}

void isolation_annotate(struct room *r)
{
	r->f.module->annotate(r->f.room, sweep_inventory(r->b.sweep));
}

bool refusing_is_alerted(const struct room *r)
{
	return alert_text(r->f.services.alerts, "refusing", NULL) != NULL;
}
