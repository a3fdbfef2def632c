/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/module.h"
#include <stdlib.h>
#include "fm/inventory/port_setup.h"
#include "fm/loop/log.h"
#include "fm/isolation/isolation.h"
#include "fm/isolation/list.h"
#include "fm/program/program.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

static void suspect(void *arg, guid_t sw);
static void suspect_answered(void *arg, const struct mad_answer *answer);

#define TRIAL_US 55000000

static struct inv_node *node_of(const struct wrong_table *wrong)
{
	return inventory_find(wrong->isolation->services.inventory, wrong->at.sw);
}

static struct table_source source_of(const struct wrong_table *wrong)
{
	const struct fabric_services *services = &wrong->isolation->services;
	struct fabric_view view = fabric_view(wrong->isolation->fabric);

	return (struct table_source){ .mad = services->mad,
				      .inventory = services->inventory,
				      .mft = services->mft,
				      .topo = view.topo,
				      .tables = view.tables };
}

static void set_mark(const struct wrong_table *wrong, bool on)
{
	struct inv_node *node = node_of(wrong);

	if (node)
		inv_node_mark(node, INV_WRONG_TABLES, on);
}

/* Lists the switch of a block that it does not hold although it was written twice. */
static void wrong_tables_add(struct isolation *is, const struct table_block *at)
{
	struct wrong_table *wrong;

	if (wrong_list_find(is, at->sw))
		return;
	wrong = wrong_list_add(is, at);
	wrong->met = true;
	set_mark(wrong, true);
	isolation_add(is, at->sw, 0, ISOLATED_WRONG_TABLES);
	if (!loop_timer_armed(is->trial))
		loop_timer_set(is->trial, TRIAL_US);
}

/* A sweep found switches that do not keep LinearFDBTop: lists them. */
static void wrong_tables_swept(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		if (sweep_node(node)->keeps_no_top)
			wrong_tables_add(
				is, &(struct table_block){ .sw = node->guid, .kind = TABLE_TOP });
		sweep_node(node)->keeps_no_top = false;
	}
}

/* ---- Trials ---------------------------------------------------------------------------------- */

/*
 * The content to write in this step of the trial; in a multicast trial entries of the first ports
 * are changed and changed back.
 */
static struct table_block block_of(const struct wrong_table *wrong)
{
	struct table_block at = wrong->at;

	if (wrong->step != TRY_BLOCK)
		at.position = 0;
	at.altered = wrong->step == TRY_CHANGED;
	return at;
}

static void written(void *arg, const struct mad_answer *answer);

static void write_block(struct wrong_table *wrong)
{
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	wrong->token = table_block_set(&source, &at, written, wrong);
}

static void release(struct wrong_table *wrong)
{
	struct isolation *is = wrong->isolation;
	guid_t sw = wrong->at.sw;

	set_mark(wrong, false);
	wrong_list_remove(wrong);
	program_forget(is->services.program, sw);
	mft_forget(is->services.mft, sw);
	isolation_release(is, sw, 0, ISOLATED_WRONG_TABLES);
	wrong_list_changed(is);
	fabric_request_reroute(is->fabric, "a switch holds its tables again");
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct wrong_table *wrong = arg;
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	wrong->token = 0;
	wrong->failed |= answer->result != MAD_OK || !table_block_held(&source, &at, answer->data);
	if (wrong->step == TRY_CHANGED) {
		wrong->step = TRY_BACK; /* whatever was read */
		write_block(wrong);
	} else if (wrong->failed) {
		return;
	} else if (wrong->step == TRY_BACK) {
		wrong->step = TRY_BLOCK;
		write_block(wrong);
	} else if (!mft_busy(wrong->isolation->services.mft)) {
		release(wrong);
	}
}

static void written(void *arg, const struct mad_answer *answer)
{
	struct wrong_table *wrong = arg;
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	wrong->token = 0;
	if (answer->result == MAD_OK)
		wrong->token = table_block_get(&source, &at, was_read, wrong);
}

static void trial_cb(void *arg)
{
	struct isolation *is = arg;
	bool is_published = fabric_view(is->fabric).topo != NULL;
	bool is_master = fabric_is_master(is->fabric);
	struct wrong_table *wrong, *next;

	for (wrong = is->wrong; wrong; wrong = next) {
		next = wrong->next;
		if (is_master && is_published && !node_of(wrong)) { /* it has left the fabric */
			wrong_list_remove(wrong);
			wrong_list_changed(is);
		} else if (is_master && !wrong->token) {
			wrong->failed = false;
			wrong->step = wrong->at.kind == TABLE_MFT ? TRY_CHANGED : TRY_BLOCK;
			write_block(wrong);
		}
	}
	if (is->wrong)
		loop_timer_set(is->trial, TRIAL_US);
}

/* ---- Over a restart -------------------------------------------------------------------------- */

static void meet(struct wrong_table *wrong)
{
	wrong->met = true;
	isolation_add_judged(wrong->isolation, wrong->at.sw, ISOLATED_WRONG_TABLES);
	log_line(LOG_SWEEP, LOG_WARNING,
		 "%s: did not hold the tables that it acknowledged before the restart",
		 node_of(wrong)->name);
}

/*
 * Called before a snapshot: isolates switches of the state file that the sweep has found; sets
 * INV_WRONG_TABLES, by which repairs leave them out.
 */
static void wrong_tables_mark(struct isolation *is)
{
	for (struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		if (!node_of(wrong))
			continue;
		set_mark(wrong, true);
		if (!wrong->met)
			meet(wrong);
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

#define SETS_LOST 4 /* Sets, all tries of each, between Gets that are answered: that is no loss */

/* 0 = no path leads there. */
static mad_token set_switch_info(struct isolation *is, const struct inv_node *node,
				 const struct wire_switch_info *info, bool once, mad_done_fn *fn,
				 void *arg)
{
	uint8_t data[64];
	struct mad_path path;
	const struct mad_request request = { .method = WIRE_SET,
					     .attr_id = WIRE_SWITCH_INFO,
					     .path = &path,
					     .device = node->guid,
					     .data = data,
					     .once = once,
					     .doubtful = true };

	if (!inventory_port_path(is->services.inventory, node, 0, &path))
		return 0;
	wire_switch_info_encode(info, data);
	return mad_send(is->services.mad, &request, fn, arg);
}

/* ---- Suspects -------------------------------------------------------------------------------- */

static void suspect_free(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	struct suspect **link = &is->suspects;

	while (*link != suspect)
		link = &(*link)->next;
	*link = suspect->next;
	mad_cancel(is->services.mad, suspect->token);
	free(suspect);
}

static void suspect_drop(struct suspect *suspect)
{
	struct isolation *is = suspect->list;

	suspect_free(suspect);
	if (!is->suspects)
		isolation_judge_soon(is);
}

static void suspect_get(struct suspect *suspect, uint16_t attr_id, mad_done_fn *fn)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);
	struct mad_request request = { .method = WIRE_GET, .attr_id = attr_id };
	struct mad_path path;

	if (!node || !inventory_port_path(is->services.inventory, node, 0, &path)) {
		suspect_drop(suspect);
		return;
	}
	request.path = &path;
	request.device = suspect->node;
	suspect->token = mad_send(is->services.mad, &request, fn, suspect);
}

/* Lists it for its key, if that is somebody else's, otherwise as one that takes no Set. */
static void suspect_judge(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);

	if (node)
		isolation_add(is, suspect->node, 0,
			      isolated_has_foreign_key(is, node) ? ISOLATED_FOREIGN_KEY
								 : ISOLATED_NO_SETS);
	suspect_drop(suspect);
}

static mad_done_fn suspect_answered;

static void suspect_ask(struct suspect *suspect)
{
	suspect_get(suspect, WIRE_SWITCH_INFO, suspect_answered);
}

/*
 * PortInfo behind a Set that got no answer. A port that hides its key has counted the Set as a
 * violation, if the key is somebody else's (inventory.c).
 */
static void key_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	struct inventory *inv = suspect->list->services.inventory;
	struct inv_node *node = inventory_find(inv, suspect->node);

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		bringup_port_read(node, 0, answer->data);
		inventory_port_changed(inv, node, 0);
	}
	if (suspect->lost < SETS_LOST && !(node && isolated_has_foreign_key(suspect->list, node)))
		suspect_ask(suspect);
	else
		suspect_judge(suspect);
}

static void set_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;

	suspect->token = 0;
	if (answer->result == MAD_TIMEOUT) {
		suspect->lost++;
		suspect_get(suspect, WIRE_PORT_INFO, key_answered);
	} else if (answer->result == MAD_STATUS) {
		suspect_judge(suspect);
	} else {
		suspect_drop(suspect);
	}
}

/*
 * The suspect answered a Get: sends it a Set of what the answer contained, as the inventory may be
 * older. PortStateChange is left for the sweep to clear.
 */
static void suspect_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	const struct inv_node *node =
		inventory_find(suspect->list->services.inventory, suspect->node);
	struct wire_switch_info info;

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		wire_switch_info_decode(answer->data, &info);
		info.port_state_change = false;
		suspect->token =
			set_switch_info(suspect->list, node, &info, false, set_answered, suspect);
	}
	if (!suspect->token)
		suspect_drop(suspect);
}

/*
 * A switch did not take a Set: probes it, and lists it if it takes none now. A switch that does not
 * answer a Get either is left to the sweep.
 */
static void refusing_suspect(struct isolation *is, guid_t sw)
{
	struct suspect *suspect;

	if (isolation_is_suspect(is, sw))
		return;
	suspect = mem_alloc(1, sizeof(*suspect));
	*suspect = (struct suspect){ .next = is->suspects, .list = is, .node = sw };
	is->suspects = suspect;
	suspect_ask(suspect);
}

/* A sweep found switches whose PortStateChange cannot be cleared: suspects them. */
static void refusing_swept(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		if (sweep_node(node)->keeps_change && !inv_node_is(node, INV_NO_SETS) &&
		    !node->gone)
			refusing_suspect(is, node->guid);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

/* The probe has cleared PortStateChange: all its ports are read. */
static void probe_answered(void *arg, const struct mad_answer *answer)
{
	struct isolated *it = arg;
	struct inv_node *node = isolated_node(it);

	it->probe = 0;
	if (answer->result != MAD_OK || !node)
		return;
	sweep_node(node)->ports_read = false;
	fabric_request_refresh(it->list->fabric, it->node, "accepts Sets again");
	isolation_release_it(it, "accepts Sets again");
}

static void probe(struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);
	struct wire_switch_info info;

	if (it->cause != ISOLATED_NO_SETS || it->probe || !node || node->gone || node->silent)
		return;
	if (isolated_has_foreign_key(it->list, node))
		return; /* listed for that by the next snapshot */
	info = node->sw;
	info.port_state_change = true;
	it->probe = set_switch_info(it->list, node, &info, true, probe_answered, it);
}

/* A loop_fn: probes all listed switches, if fmd is master. */
static void refusing_probe(void *isolation)
{
	struct isolation *is = isolation;

	loop_timer_set(is->probe, ISOLATION_PROBE_US);
	for (unsigned i = 0; i < is->count && fabric_is_master(is->fabric); i++)
		probe(is->all[i]);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static const char *swept(void *room, const struct fabric_swept *swept)
{
	const struct sweep_result *result = swept->result;

	if (!result)
		return NULL;
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

/* Links that bring-up has given up again and again; it names other ports. */
static void given_up(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	for (const struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		for (unsigned p = 1; !n->gone && p <= n->nports; p++)
			if (port_setup(n, p)->given_up >= BRINGUP_REFUSES && n->ports[p].link_up &&
			    n->ports[p].state != TOPO_ACTIVE)
				isolation_add(is, n->guid, (uint8_t)p, ISOLATED_NOT_ACTIVE);
}

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	struct isolation *is = room;

	if (programmed->tables && programmed->tables->failed)
		program_refusers(is->services.program, suspect, is);
	if (programmed->ports && programmed->ports->links_failed)
		given_up(is);
}

void isolation_table_unheld(struct fabric *fabric, const struct table_block *block)
{
	struct isolation *is = fabric_room(fabric, &isolation_module);

	if (is)
		wrong_tables_add(is, block);
}

/*
 * From now on links count by being Active: those that bring-up has given up are judged before they
 * cease to count.
 */
static void settled(void *room, enum fabric_settle_step step)
{
	struct isolation *is = room;

	if (step == FABRIC_SETTLED && !fabric_view(is->fabric).active_decides)
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

static void load(void *room, enum fabric_load_step step)
{
	struct isolation *is = room;

	if (step != FABRIC_LOAD)
		return;
	wrong_list_load(is);
	if (is->wrong)
		loop_timer_set(is->trial, TRIAL_US);
}

static void *init(struct fabric *fabric)
{
	struct isolation *is = mem_alloc(1, sizeof(*is));

	is->fabric = fabric;
	is->services = fabric_services(fabric);
	isolation_init(is, refusing_probe);
	is->trial = loop_timer_new(is->services.loop, trial_cb, is);
	return is;
}

static void fini(void *room)
{
	struct isolation *is = room;

	while (is->suspects)
		suspect_free(is->suspects); /* and ends its probes */
	wrong_list_fini(is);
	loop_timer_free(is->trial);
	isolation_fini(is);
	free(is);
}

const struct fabric_module isolation_module = { .name = "isolation",
						.init = init,
						.fini = fini,
						.load = load,
						.swept = swept,
						.annotate = annotate,
						.programmed = programmed,
						.settled = settled,
						.status = status };
