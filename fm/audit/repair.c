/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/audit/repair.h"
#include <inttypes.h>
#include <stdlib.h>
#include "fm/core/log.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "topology/mem.h"

#define LOGGED_ONE_BY_ONE 20

struct repair {
	struct repair *next;
	struct repairs *repairs;
	struct table_block at;
	bool reading;	/* it was written again, and is being read; else it waits to be written */
	uint64_t stamp; /* multicast blocks written when it was asked */
	mad_token token;
};

struct repairs {
	struct fabric *fabric;
	struct fabric_services services;
	struct repair *list; /* the latest first */
	struct log_limit log;
	uint64_t made;
};

static void drop(struct repair *it)
{
	struct repair **link = &it->repairs->list;

	while (*link != it)
		link = &(*link)->next;
	*link = it->next;
	mad_cancel(it->repairs->services.mad, it->token);
	free(it);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static const char *name_of(const struct repairs *r, guid_t guid)
{
	const struct topo *t = fabric_view(r->fabric).topo;
	uint32_t sw = t ? topo_find(t, guid) : TOPO_NONE;

	return sw == TOPO_NONE ? "gone" : t->nodes[sw].name;
}

static void report_lft(const struct repairs *r, const struct table_block *at)
{
	event_log_add(r->services.events, LOG_WARNING, "audit",
		      json_pack("{si}", "block", (int)at->block),
		      "sw %s 0x%016" PRIx64 ": block %" PRIu32
		      " differs from what was written: repaired",
		      name_of(r, at->sw), at->sw, at->block);
}

static void report_mft(const struct repairs *r, const struct table_block *at)
{
	event_log_add(
		r->services.events, LOG_WARNING, "audit",
		json_pack("{si si}", "mft_block", (int)at->block, "position", (int)at->position),
		"sw %s 0x%016" PRIx64 ": multicast block %" PRIu32
		", ports from %u, differs from what was written: repaired",
		name_of(r, at->sw), at->sw, at->block, at->position * MCAST_POSITION);
}

static void report(struct repairs *r, const struct table_block *at)
{
	r->made++;
	if (!log_allow(&r->log, loop_now_us(r->services.loop), LOGGED_ONE_BY_ONE))
		return;
	if (at->kind == TABLE_MFT)
		report_mft(r, at);
	else
		report_lft(r, at);
}

/* ---- Read once more -------------------------------------------------------------------------- */

/* False: the answer may be of before a write, or another content is to be written by now. */
static bool is_of_now(const struct repair *it)
{
	const struct repairs *r = it->repairs;
	uint16_t masks[MCAST_BLOCK];

	if (it->at.kind == TABLE_MFT)
		return it->stamp == mft_blocks_written(r->services.mft) &&
		       mft_expected(r->services.mft, it->at.sw, (uint16_t)it->at.block,
				    it->at.position, masks);
	return !fabric_programming(r->fabric) && !fabric_updating(r->fabric);
}

static struct table_source source_of(const struct repairs *r)
{
	struct fabric_view view = fabric_view(r->fabric);

	return (struct table_source){ .mad = r->services.mad,
				      .inventory = r->services.inventory,
				      .mft = r->services.mft,
				      .topo = view.topo,
				      .tables = view.tables };
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct repair *it = arg;
	struct repairs *r = it->repairs;
	struct table_source source = source_of(r);
	struct table_block at = it->at;
	bool judged = answer->result == MAD_OK && is_of_now(it);
	bool held = judged && table_block_held(&source, &at, answer->data);

	it->token = 0;
	drop(it);
	if (held)
		report(r, &at);
	else if (judged)
		fabric_report_table_unheld(r->fabric, &at);
}

static void read_again(struct repair *it)
{
	struct repairs *r = it->repairs;
	struct table_source source = source_of(r);

	it->reading = true;
	it->stamp = mft_blocks_written(r->services.mft);
	it->token = table_block_get(&source, &it->at, was_read, it);
	if (!it->token)
		drop(it);
}

void repairs_written(struct repairs *r, enum table_kind kind)
{
	struct repair *it, *next;

	for (it = r->list; it; it = next) {
		next = it->next;
		if (!it->reading && it->at.kind == kind)
			read_again(it);
	}
}

void repairs_found(struct repairs *r, const struct table_block *block)
{
	struct repair *it = r->list;

	while (it && !table_block_same(&it->at, block))
		it = it->next;
	if (it)
		drop(it); /* what is being read of it is older */
	it = mem_alloc(1, sizeof(*it));
	*it = (struct repair){ .next = r->list, .repairs = r, .at = *block };
	r->list = it;
}

/* ---- Life ------------------------------------------------------------------------------------ */

uint64_t repairs_made(const struct repairs *r)
{
	return r->made;
}

struct repairs *repairs_new(struct fabric *fabric)
{
	struct repairs *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	return r;
}

void repairs_free(struct repairs *r)
{
	while (r->list)
		drop(r->list);
	free(r);
}
