/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/audit/module.h"
#include "fm/audit/ports.h"
#include <inttypes.h>
#include "fm/multicast/module.h"
#include "topology/base/mem.h"

#define LOGGED_ONE_BY_ONE 20

struct repair {
	struct repair *next;
	struct table_block at;
	bool written; /* again, and is being read; else it waits to be written */
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
	audit_unheld_fn *unheld;
	void *unheld_arg;
	bool settled; /* once, in this role */
};

static struct repair **find(struct audit_room *r, const struct table_block *at)
{
	struct repair **link = &r->repairs;

	while (*link && !((*link)->at.sw == at->sw && (*link)->at.kind == at->kind &&
			  (*link)->at.block == at->block && (*link)->at.position == at->position))
		link = &(*link)->next;
	return link;
}

static void drop(struct repair **link)
{
	struct repair *it = *link;

	*link = it->next;
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

/* ---- Findings -------------------------------------------------------------------------------- */

/* All that was written of this kind of table is acknowledged: what was found of it is read. */
static void repairs_written(struct audit_room *r, enum table_kind kind)
{
	for (struct repair *it = r->repairs; it; it = it->next)
		if (it->at.kind == kind) {
			it->written = true;
			audit_read(r->audit, &it->at);
		}
}

/* Written again and read so, and no other content is to be written by now. */
static bool was_repaired(const struct audit_room *r, const struct repair *it)
{
	return it && it->written &&
	       (it->at.kind == TABLE_MFT ||
		(!fabric_programming(r->fabric) && !fabric_updating(r->fabric)));
}

static void holds(void *room, const struct table_block *block)
{
	struct audit_room *r = room;
	struct repair **it = find(r, block);
	char what[96];

	if (!was_repaired(r, *it)) /* nearly always: nothing is to be repaired */
		return;

	const struct event_subject subject =
		inventory_link_subject(r->services.inventory, block->sw, 0);
	const struct inv_node *sw = inventory_find(r->services.inventory, block->sw);

	if (block->kind == TABLE_MFT)
		array_printf(what,
			     "multicast block %u, ports from %u, differs from what was written: "
			     "repaired",
			     block->block, block->position * MCAST_POSITION);
	else
		array_printf(what, "block %u differs from what was written: repaired",
			     block->block);
	report(r, &subject, inventory_name(sw, -1).text, what,
	       block->kind == TABLE_MFT ? json_pack("{si si}", "mft_block", block->block,
						    "position", block->position)
					: json_pack("{si}", "block", block->block),
	       &(*it)->at.change);
	drop(it);
}

static uint64_t idle_since(void *arg)
{
	const struct audit_room *r = arg;

	return r->readers.first || multicast_busy(r->fabric) ? 0 : fabric_quiet_since_us(r->fabric);
}

static bool differs(void *room, const struct table_block *block)
{
	struct audit_room *r = room;
	struct repair **it = find(r, block), *finding;
	const struct inv_node *sw = inventory_find(r->services.inventory, block->sw);
	bool twice = was_repaired(r, *it);

	/* It does not hold what it acknowledges, and is isolated for that. */
	if (sw && inv_node_is(sw, INV_WRONG_TABLES))
		return false;
	if (*it)
		drop(it); /* what was found of it is older */
	if (twice) {
		if (r->unheld)
			r->unheld(r->unheld_arg, block);
		return false;
	}
	finding = mem_new(finding);
	*finding = (struct repair){ .next = r->repairs, .at = *block };
	r->repairs = finding;
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

void audit_listen(struct fabric *fabric, audit_unheld_fn *fn, void *arg)
{
	struct audit_room *r = fabric_room(fabric, &audit_module);

	if (!r)
		return;
	r->unheld = fn;
	r->unheld_arg = arg;
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
	static const struct audit_ops ops = {
		.idle_since = idle_since, .differs = differs, .holds = holds, .ports = ask_ports
	};
	struct audit_room *r = ROOM_NEW(r, fabric);

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
		drop(&r->repairs);
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
