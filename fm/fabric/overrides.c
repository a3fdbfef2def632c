/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_overrides: the entries that re-balancing has moved (rebalance.c), in state_dir/overrides: a line each, `GUID LID PORT`, by
 * GUID and LID, as many as may be at most. After a restart the first tables have them again; the pass that follows finds the same ones, or better.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "fm/fabric/own.h"
#include "topology/mem.h"

static bool parse_line(const char *line, struct kept_override *override)
{
	unsigned lid, port;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %u %u %c", &override->sw, &lid, &port, &rest) != 3)
		return false;
	override->lid = (uint16_t)lid;
	override->port = (uint8_t)port;
	return override->sw && lid && lid <= TABLES_MAX_LID && port && port < TABLES_NO_ROUTE;
}

static bool comes_after(const struct kept_override *a, const struct kept_override *b)
{
	return a->sw > b->sw || (a->sw == b->sw && a->lid > b->lid);
}

static unsigned read_overrides(void *arg, FILE *in)
{
	struct fabric *f = arg;
	struct fabric_rebalance *r = &f->rebalance;
	uint32_t size = 0;
	char line[128];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct kept_override override;

		if (r->nkept == REBALANCE_MOST || !parse_line(line, &override) ||
		    (r->nkept && !comes_after(&override, &r->kept[r->nkept - 1])))
			return number;
		if (r->nkept == size) {
			size = size ? 2 * size : 64;
			r->kept = mem_resize(r->kept, size, sizeof(*r->kept));
		}
		r->kept[r->nkept++] = override;
	}
	return 0;
}

static void forget_overrides(void *arg)
{
	struct fabric *f = arg;

	f->rebalance.nkept = 0;
}

static void write_overrides(const void *arg, FILE *out)
{
	const struct fabric *f = arg;
	const struct fabric_rebalance *r = &f->rebalance;

	for (uint32_t i = 0; i < r->nkept; i++)
		fprintf(out, "0x%016" PRIx64 " %u %u\n", r->kept[i].sw, r->kept[i].lid,
			r->kept[i].port);
}

static const struct state_file overrides_file = {
	.name = "overrides",
	.form = "`GUID LID PORT`, by GUID and LID, or too many",
	.read = read_overrides,
	.forget = forget_overrides,
	.write = write_overrides,
	.gather_us = 5000000,
	.gather_max_us = 60000000,
};

void fabric_overrides_load(struct fabric *f)
{
	fabric_state_read(f, &overrides_file);
}

void fabric_overrides_changed(struct fabric *f)
{
	fabric_state_changed(f, &overrides_file);
}
