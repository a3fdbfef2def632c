/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/audit/module.h"
#include <inttypes.h>
#include <stdlib.h>
#include "fm/loop/log.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/isolation/module.h"
#include "fm/multicast/module.h"
#include "fm/program/audit.h"
#include "topology/base/mem.h"

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
	if (held) {
		const struct event_subject subject =
			inventory_link_subject(r->services.inventory, at.sw, 0);

		r->made++;
		if (!log_allow(&r->log, loop_now_us(r->services.loop), LOGGED_ONE_BY_ONE))
			return;
		if (at.kind == TABLE_MFT)
			event_log_add(r->services.events, LOG_WARNING, "audit", &subject,
				      json_pack("{si si}", "mft_block", (int)at.block, "position",
						(int)at.position),
				      "sw %s 0x%016" PRIx64 ": multicast block %" PRIu32
				      ", ports from %u, differs from what was written: repaired",
				      name_of(r, at.sw), at.sw, at.block,
				      at.position * MCAST_POSITION);
		else
			event_log_add(r->services.events, LOG_WARNING, "audit", &subject,
				      json_pack("{si}", "block", (int)at.block),
				      "sw %s 0x%016" PRIx64 ": block %" PRIu32
				      " differs from what was written: repaired",
				      name_of(r, at.sw), at.sw, at.block);
	} else if (judged)
		isolation_table_unheld(r->fabric, &at);
}

/* All that was written of this kind of table is acknowledged: what was found of it is read. */
static void repairs_written(struct repairs *r, enum table_kind kind)
{
	struct repair *it, *next;

	for (it = r->list; it; it = next) {
		next = it->next;
		if (!it->reading && it->at.kind == kind) {
			struct repairs *repairs = it->repairs;
			struct table_source source = source_of(repairs);

			it->reading = true;
			it->stamp = mft_blocks_written(repairs->services.mft);
			it->token = table_block_get(&source, &it->at, was_read, it);
			if (!it->token)
				drop(it);
		}
	}
}

/* That block differs from what was acknowledged. */
static void repairs_found(struct repairs *r, const struct table_block *block)
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

/*
 * When the audit of forwarding tables (fm/program/audit.h) may run, and what follows from a finding
 * of it, or of an operator's readback: an update, of a multicast table a round of multicast's,
 * which writes what the switch does not hold; and what module.h says.
 */

struct audit_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct audit *audit;
	struct repairs *repairs;
	struct waiters readers; /* answered when the readback ends */
};

/* ---- Findings -------------------------------------------------------------------------------- */

static uint64_t idle_since(void *arg)
{
	const struct audit_room *r = arg;

	if (r->readers.first || multicast_busy(r->fabric))
		return 0;
	return fabric_quiet_since_us(r->fabric);
}

/* True: the switch does not hold what it acknowledges, and is isolated for that. */
static bool is_known(const struct audit_room *r, guid_t sw)
{
	const struct inv_node *node = inventory_find(r->services.inventory, sw);

	return node && inv_node_is(node, INV_WRONG_TABLES);
}

static void lft_differs(void *room, guid_t sw, uint32_t block)
{
	struct audit_room *r = room;

	if (is_known(r, sw))
		return;
	repairs_found(r->repairs,
		      &(struct table_block){ .sw = sw, .kind = TABLE_LFT, .block = block });
	fabric_request_reroute(r->fabric, "a table block differs from what was written");
}

void audit_mismatch(struct fabric *fabric, guid_t sw, uint32_t block)
{
	lft_differs(fabric_room(fabric, &audit_module), sw, block);
}

static bool mft_differs(void *arg, guid_t sw, uint16_t block, unsigned position)
{
	struct audit_room *r = arg;

	if (is_known(r, sw))
		return false;
	repairs_found(r->repairs,
		      &(struct table_block){
			      .sw = sw, .kind = TABLE_MFT, .block = block, .position = position });
	multicast_rewrite(r->fabric);
	return true;
}

/* ---- An operator's readback ------------------------------------------------------------------ */

static void read_back(void *arg, const struct program_readback *result)
{
	struct audit_room *r = arg;
	json_t *doc = json_pack("{si si si}", "blocks", (int)result->blocks, "differ",
				(int)result->differ, "failed", (int)result->failed);

	for (unsigned i = 0; i < result->differ; i++)
		lft_differs(r, result->differing[i].sw, result->differing[i].block);
	waiters_answer(&r->readers, doc, NULL);
	json_decref(doc);
}

void audit_readback(struct fabric *fabric, waiter_fn *fn, void *arg)
{
	struct audit_room *r = fabric_room(fabric, &audit_module);
	const struct topo *t = fabric_view(fabric).topo;
	bool running = r->readers.first != NULL;

	waiters_add(&r->readers, fn, arg);
	if (!t)
		waiters_answer(&r->readers, NULL, "nothing is programmed yet");
	else if (!running)
		program_check_readback(r->services.program, t, read_back, r);
}

void audit_client_gone(struct fabric *fabric, const void *arg)
{
	struct audit_room *r = fabric_room(fabric, &audit_module);

	waiters_cancel(&r->readers, arg);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	struct audit_room *r = room;

	if (programmed->tables && !programmed->tables->failed) {
		repairs_written(r->repairs, TABLE_LFT);
		audit_try(r->audit);
	}
	if (programmed->multicast && !programmed->multicast->failed)
		repairs_written(r->repairs, TABLE_MFT);
}

/* Who waits for a readback. */
static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct audit_room *r = room;

	if (step == FABRIC_ROLE_LEFT)
		waiters_answer(&r->readers, NULL, FABRIC_ROLE_CHANGED);
}

static void status(const void *room, json_t *doc)
{
	const struct audit_room *r = room;

	/* since start */
	json_object_set_new(doc, "audit",
			    json_pack("{sI sI}", "blocks", (json_int_t)audit_blocks(r->audit),
				      "repaired", (json_int_t)r->repairs->made));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void configure(void *room)
{
	struct audit_room *r = room;
	const struct conf_audit *conf = &r->services.conf->audit;

	audit_configure(r->audit, (unsigned)conf->rate, (uint64_t)conf->after_ms * 1000);
}

static void *init(struct fabric *fabric)
{
	static const struct audit_ops ops = { .idle_since = idle_since,
					      .differs = lft_differs,
					      .mft_differs = mft_differs };
	struct audit_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);

	/* The caller's, never NULL; fabric is borrowed. Free drops what is under way. */
	struct repairs *repairs = mem_alloc(1, sizeof(*repairs));

	repairs->fabric = fabric;
	repairs->services = fabric_services(fabric);
	r->repairs = repairs;

	r->audit = audit_new(r->services.loop, r->services.mad, r->services.program,
			     r->services.mft, &ops, r);
	configure(r);
	return r;
}

static void fini(void *room)
{
	struct audit_room *r = room;

	audit_free(r->audit);
	waiters_fini(&r->readers);

	struct repairs *repairs = r->repairs;

	while (repairs->list)
		drop(repairs->list);
	free(repairs);

	free(r);
}

const struct fabric_module audit_module = { .name = "audit",
					    .init = init,
					    .fini = fini,
					    .configure = configure,
					    .programmed = programmed,
					    .status = status,
					    .role = role };
