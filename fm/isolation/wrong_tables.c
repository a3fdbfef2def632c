/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/wrong_tables.h"
#include "fm/core/log.h"
#include "fm/isolation/isolation.h"
#include "fm/program/program.h"

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
		node->wrong_tables = on;
}

void wrong_tables_add(struct isolation *is, const struct table_block *at)
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

void wrong_tables_swept(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node)) {
		if (node->keeps_no_top)
			wrong_tables_add(
				is, &(struct table_block){ .sw = node->guid, .kind = TABLE_TOP });
		node->keeps_no_top = false;
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

static bool is_held(const struct wrong_table *wrong, const struct mad_answer *answer)
{
	struct table_source source = source_of(wrong);
	struct table_block at = block_of(wrong);

	return answer->result == MAD_OK && table_block_held(&source, &at, answer->data);
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct wrong_table *wrong = arg;

	wrong->token = 0;
	wrong->failed |= !is_held(wrong, answer);
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

static void try_now(struct wrong_table *wrong)
{
	wrong->failed = false;
	wrong->step = wrong->at.kind == TABLE_MFT ? TRY_CHANGED : TRY_BLOCK;
	write_block(wrong);
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
			try_now(wrong);
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

void wrong_tables_mark(struct isolation *is)
{
	for (struct wrong_table *wrong = is->wrong; wrong; wrong = wrong->next) {
		if (!node_of(wrong))
			continue;
		set_mark(wrong, true);
		if (!wrong->met)
			meet(wrong);
	}
}

void wrong_tables_load(struct isolation *is)
{
	wrong_list_load(is);
	if (is->wrong)
		loop_timer_set(is->trial, TRIAL_US);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void wrong_tables_init(struct isolation *is)
{
	is->trial = loop_timer_new(is->services.loop, trial_cb, is);
}

void wrong_tables_fini(struct isolation *is)
{
	wrong_list_fini(is);
	loop_timer_free(is->trial);
}
