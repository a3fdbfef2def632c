/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * When the audit of forwarding tables (fm/program/audit.h) may run, and what follows from a finding
 * of it, or of an operator's readback: an update, of a multicast table a round of multicast's,
 * which writes what the switch does not hold; and what repair.h says.
 */
#include "fm/audit/module.h"
#include <stdlib.h>
#include "fm/audit/repair.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/program/audit.h"
#include "topology/mem.h"

struct audit_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct audit *audit;
	struct repairs *repairs;
};

/* ---- Findings -------------------------------------------------------------------------------- */

static uint64_t idle_since(void *arg)
{
	const struct audit_room *r = arg;

	return fabric_quiet_since_us(r->fabric);
}

/* True: the switch does not hold what it acknowledges, and is isolated for that. */
static bool is_known(const struct audit_room *r, guid_t sw)
{
	const struct inv_node *node = inventory_find(r->services.inventory, sw);

	return node && node->wrong_tables;
}

static void mismatch(void *room, guid_t sw, uint32_t block)
{
	struct audit_room *r = room;

	if (is_known(r, sw))
		return;
	repairs_found(r->repairs,
		      &(struct table_block){ .sw = sw, .kind = TABLE_LFT, .block = block });
	fabric_request_reroute(r->fabric, "a table block differs from what was written");
}

static bool mft_differs(void *arg, guid_t sw, uint16_t block, unsigned position)
{
	struct audit_room *r = arg;

	if (is_known(r, sw))
		return false;
	repairs_found(r->repairs,
		      &(struct table_block){
			      .sw = sw, .kind = TABLE_MFT, .block = block, .position = position });
	fabric_report_mft_mismatch(r->fabric);
	return true;
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void programmed(void *room, const struct program_result *result)
{
	struct audit_room *r = room;

	if (!result->failed)
		repairs_written(r->repairs, TABLE_LFT);
}

static void mft_written(void *room, const struct mft_result *result)
{
	struct audit_room *r = room;

	if (!result->failed)
		repairs_written(r->repairs, TABLE_MFT);
}

static void status(const void *room, json_t *doc)
{
	const struct audit_room *r = room;

	json_object_set_new(doc, "audit",
			    json_pack("{sI sI}", "blocks", (json_int_t)audit_blocks(r->audit),
				      "repaired", (json_int_t)repairs_made(r->repairs)));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void configure(void *room)
{
	struct audit_room *r = room;
	const struct conf *conf = r->services.conf;

	audit_configure(r->audit, (unsigned)conf->audit.rate,
			(uint64_t)conf->audit.after_ms * 1000);
}

static void *init(struct fabric *fabric)
{
	static const struct audit_ops ops = { .idle_since = idle_since,
					      .differs = mismatch,
					      .mft_differs = mft_differs };
	struct audit_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->repairs = repairs_new(fabric);
	r->audit = audit_new(r->services.loop, r->services.mad, r->services.program,
			     r->services.mft, &ops, r);
	configure(r);
	return r;
}

static void fini(void *room)
{
	struct audit_room *r = room;

	audit_free(r->audit);
	repairs_free(r->repairs);
	free(r);
}

const struct fabric_module audit_module = { .name = "audit",
					    .init = init,
					    .fini = fini,
					    .configure = configure,
					    .deploy.programmed = programmed,
					    .deploy.mft_written = mft_written,
					    .deploy.mismatch = mismatch,
					    .report.status = status };
