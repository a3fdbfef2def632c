/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/audit/module.h"
#include "fm/audit/ports.h"
#include <inttypes.h>
#include "fm/isolation/module.h"
#include "fm/multicast/module.h"
#include "topology/base/mem.h"

#define LOGGED_ONE_BY_ONE 20

struct repair {
	struct repair *next;
	struct audit_room *room;
	struct table_block at;
	bool reading;	/* it was written again, and is being read; else it waits to be written */
	uint64_t stamp; /* multicast blocks written when it was asked */
	mad_token token;
};

struct audit_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct audit *audit;
	struct port_audit *ports;
	struct inv_listener listener;
	struct repair *repairs; /* the latest first */
	struct log_limit log;
	uint64_t repaired;
	struct waiters readers; /* answered when the readback ends */
	bool settled;		/* once, in this role */
};

static void drop(struct repair *it)
{
	struct repair **link = &it->room->repairs;

	while (*link != it)
		link = &(*link)->next;
	*link = it->next;
	mad_cancel(it->room->services.mad, it->token);
	free(it);
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* what: of a forwarding table the block. Takes the reference of the details. */
static void report(struct audit_room *r, const struct event_subject *subject, const char *name,
		   const char *what, json_t *details, const struct inv_change *change)
{
	char text[96] = "";

	if (change->attribute) {
		array_printf(text, ": %s %u: 0x%" PRIx64 " instead of 0x%" PRIx64, change->field,
			     change->at, change->found, change->wanted);
		json_object_update_new(
			details, json_pack("{ss ss si so so}", "attribute", change->attribute,
					   "field", change->field, "at", change->at, "found",
					   json_sprintf("0x%" PRIx64, change->found), "wanted",
					   json_sprintf("0x%" PRIx64, change->wanted)));
	}
	r->repaired++;
	if (log_allow(&r->log, loop_now_us(r->services.loop), LOGGED_ONE_BY_ONE))
		event_log_add(r->services.events, LOG_WARNING, "audit", subject,
			      json_incref(details), "%s: %s%s", name, what, text);
	json_decref(details);
}

/* ---- Read once more -------------------------------------------------------------------------- */

/* False: the answer may be of before a write, or another content is to be written by now. */
static bool is_of_now(const struct repair *it)
{
	const struct audit_room *r = it->room;
	uint16_t masks[MCAST_BLOCK];

	if (it->at.kind == TABLE_MFT)
		return it->stamp == mft_blocks_written(r->services.mft) &&
		       mft_expected(r->services.mft, it->at.sw, it->at.block, it->at.position,
				    masks);
	return !fabric_programming(r->fabric) && !fabric_updating(r->fabric);
}

static struct table_source source_of(const struct audit_room *r)
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
	struct audit_room *r = it->room;
	struct table_source source = source_of(r);
	struct table_block at = it->at;
	bool judged = answer->result == MAD_OK && is_of_now(it);
	bool held = judged && table_block_held(&source, &at, answer->data);

	it->token = 0;
	drop(it);
	if (held) {
		const struct event_subject subject =
			inventory_link_subject(r->services.inventory, at.sw, 0);
		const struct inv_node *sw = inventory_find(r->services.inventory, at.sw);
		char what[96];

		if (at.kind == TABLE_MFT)
			array_printf(what,
				     "multicast block %u, ports from %u, differs from what was "
				     "written: repaired",
				     at.block, at.position * MCAST_POSITION);
		else
			array_printf(what, "block %u differs from what was written: repaired",
				     at.block);
		report(r, &subject, inventory_name(sw, -1).text, what,
		       at.kind == TABLE_MFT ? json_pack("{si si}", "mft_block", at.block,
							"position", at.position)
					    : json_pack("{si}", "block", at.block),
		       &at.change);
	} else if (judged)
		isolation_table_unheld(r->fabric, &at);
}

/* All that was written of this kind of table is acknowledged: what was found of it is read. */
static void repairs_written(struct audit_room *r, enum table_kind kind)
{
	struct table_source source = source_of(r);
	struct repair *it, *next;

	for (it = r->repairs; it; it = next) {
		next = it->next;
		if (it->reading || it->at.kind != kind)
			continue;
		it->reading = true;
		it->stamp = mft_blocks_written(r->services.mft);
		it->token = table_block_get(&source, &it->at, was_read, it);
		if (!it->token)
			drop(it);
	}
}

/* ---- Findings -------------------------------------------------------------------------------- */

static uint64_t idle_since(void *arg)
{
	const struct audit_room *r = arg;

	return r->readers.first || multicast_busy(r->fabric) ? 0 : fabric_quiet_since_us(r->fabric);
}

static bool differs(void *room, const struct table_block *block)
{
	struct audit_room *r = room;
	struct repair *it = r->repairs;
	const struct inv_node *sw = inventory_find(r->services.inventory, block->sw);

	/* It does not hold what it acknowledges, and is isolated for that. */
	if (sw && inv_node_is(sw, INV_WRONG_TABLES))
		return false;
	while (it && !(it->at.sw == block->sw && it->at.kind == block->kind &&
		       it->at.block == block->block && it->at.position == block->position))
		it = it->next;
	if (it)
		drop(it); /* what is being read of it is older */
	it = mem_new(it);
	*it = (struct repair){ .next = r->repairs, .room = r, .at = *block };
	r->repairs = it;
	if (block->kind == TABLE_MFT)
		multicast_rewrite(r->fabric);
	else
		fabric_request_reroute(r->fabric, "a table block differs from what was written");
	return true;
}

void audit_mismatch(struct fabric *fabric, guid_t sw, uint32_t block)
{
	differs(fabric_room(fabric, &audit_module),
		&(struct table_block){ .sw = sw, .kind = TABLE_LFT, .block = block });
}

/* What the device was given is written again; one that does not keep it is an alert. */
static void port_changed(void *room, const struct inv_node *node, uint8_t port,
			 const struct inv_change *change)
{
	struct audit_room *r = room;
	const struct event_subject subject = inventory_subject(node, port);
	char what[96];

	array_printf(what, "%s differs from what was written, is written again", change->attribute);
	report(r, &subject, inventory_name(node, port).text, what, json_object(), change);
	fabric_request_reroute(r->fabric, "a port holds other settings than were written");
	audit_hurry(r->audit);
}

static void ask_ports(void *room, unsigned ends, unsigned others)
{
	port_audit_ask(((struct audit_room *)room)->ports, ends, others);
}

/* ---- An operator's readback ------------------------------------------------------------------ */

static void read_back(void *arg, const struct audit_result *result)
{
	struct audit_room *r = arg;
	json_t *doc = json_pack("{si si si}", "blocks", result->blocks, "differ", result->differ,
				"failed", result->failed);

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
		audit_read_all(r->audit, read_back, r);
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
		repairs_written(r, TABLE_LFT);
		if (r->settled)
			audit_try(r->audit);
	}
	if (programmed->multicast && !programmed->multicast->failed)
		repairs_written(r, TABLE_MFT);
}

/* At a cold start the ports that wait to be brought up come before what is read back. */
static void settled(void *room, enum fabric_settle_step step)
{
	struct audit_room *r = room;

	if (step != FABRIC_SETTLED)
		return;
	r->settled = true;
	audit_try(r->audit);
}

/* Who waits for a readback. */
static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct audit_room *r = room;

	r->settled &= step != FABRIC_ROLE_LEFT;
	if (step == FABRIC_ROLE_LEFT)
		waiters_answer(&r->readers, NULL, FABRIC_ROLE_CHANGED);
}

static void status(const void *room, json_t *doc)
{
	const struct audit_room *r = room;

	/* since start */
	json_object_set_new(doc, "audit",
			    json_pack("{sI sI}", "blocks", (json_int_t)audit_blocks(r->audit),
				      "repaired", (json_int_t)r->repaired));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void configure(void *room)
{
	struct audit_room *r = room;
	const struct conf_audit *conf = &r->services.conf->audit;

	audit_configure(r->audit, conf->rate, (uint64_t)conf->after_ms * 1000);
}

static void *init(struct fabric *fabric)
{
	static const struct audit_ops ops = { .idle_since = idle_since,
					      .differs = differs,
					      .ports = ask_ports };
	struct audit_room *r = mem_new(r);

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->audit = audit_new(r->services.loop, r->services.mad, r->services.program,
			     r->services.mft, &ops, r);
	r->ports = port_audit_new(fabric);
	r->listener = (struct inv_listener){ .changed = port_changed, .arg = r };
	r->services.inventory->listener = &r->listener;
	configure(r);
	return r;
}

static void fini(void *room)
{
	struct audit_room *r = room;

	r->services.inventory->listener = NULL;
	port_audit_free(r->ports);
	audit_free(r->audit);
	waiters_fini(&r->readers);
	while (r->repairs)
		drop(r->repairs);
	free(r);
}

const struct fabric_module audit_module = { .name = "audit",
					    .init = init,
					    .fini = fini,
					    .configure = configure,
					    .programmed = programmed,
					    .settled = settled,
					    .status = status,
					    .role = role };
