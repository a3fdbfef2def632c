/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_untrue: switches that acknowledge a block of a forwarding table, linear or multicast, and do not hold it. A block that the audit or a readback
 * found spoilt is written again, and then read: it is repaired if it is as written. If not, the same block was wrong twice: the switch is
 * isolated (isolate.c), which names it, and is not repaired again. So is one whose LinearFDBTop is reset as often as it is set. Once in
 * TRIAL_US that block, or LinearFDBTop, is written and read: when it is held, the isolation ends and all its tables are written anew.
 *
 * No tree leads through what is isolated, so its multicast blocks are to be empty, and a switch that takes nothing may hold that by
 * chance. Ahead of such a trial an entry for port 0, which makes no ring, is changed in the block of the first ports, read,
 * and changed back.
 *
 * state_dir/untrue has those whose isolation is in force, `GUID BLOCK` each: a number, `top`, or `BLOCK.POSITION` of a multicast table. After
 * a restart they are isolated from the first tables on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/isolate.h"
#include "fm/fabric/own.h"
#include "fm/core/log.h"
#include "fm/mad/wire_mcast.h"
#include "topology/mem.h"

#define TRIAL_US    55000000
#define MLID_BLOCKS ((0x10000 - MCAST_FIRST_MLID) / MCAST_BLOCK)
#define DIGITS_MAX  8
#define TOP	    UINT32_MAX /* in place of a block: LinearFDBTop */
#define MFT	    (1u << 31) /* and block * MCAST_POSITIONS + position of a multicast table */

struct untrue { /* a block: being read after its repair, or of a switch that is isolated for it */
	struct untrue *next;
	struct fabric *f;
	guid_t sw;
	uint32_t block;
	bool isolated;
	bool met; /* isolate.c has it; false: read from the file, and not met since */
	enum { TRY_BLOCK, TRY_CHANGED, TRY_BACK } step; /* the last two of a multicast trial */
	bool failed;					/* a step of this trial */
	uint64_t stamp; /* multicast blocks written when it was asked */
	mad_token token;
};

static struct untrue *find(const struct fabric *f, guid_t sw)
{
	struct untrue *u = f->untrue.list;

	while (u && (u->sw != sw || !u->isolated))
		u = u->next;
	return u;
}

bool fabric_untrue(const struct fabric *f, guid_t sw)
{
	return find(f, sw) != NULL;
}

static void drop(struct untrue *u)
{
	struct untrue **link = &u->f->untrue.list;

	while (*link != u)
		link = &(*link)->next;
	*link = u->next;
	mad_cancel(u->f->mad, u->token);
	free(u);
}

static const struct inv_node *node_of(const struct untrue *u)
{
	return inventory_find(sweep_inventory(u->f->sweep), u->sw);
}

static bool is_mft(const struct untrue *u)
{
	return u->block != TOP && u->block & MFT;
}

static unsigned mft_block_of(const struct untrue *u)
{
	return (u->block & ~MFT) / MCAST_POSITIONS;
}

static unsigned position_of(const struct untrue *u)
{
	return u->step != TRY_BLOCK ? 0 : (u->block & ~MFT) % MCAST_POSITIONS;
}

static bool wanted_mft(const struct untrue *u, uint16_t masks[MCAST_BLOCK])
{
	struct mft *mft = u->f->mft;

	if (!node_of(u) ||
	    !mft_expected(mft, u->sw, (uint16_t)mft_block_of(u), position_of(u), masks))
		return false;
	if (u->step == TRY_CHANGED)
		masks[0] ^= 1;
	return true;
}

static bool holds_mft(const struct untrue *u, const uint8_t *data)
{
	uint16_t held[MCAST_BLOCK], right[MCAST_BLOCK];

	if (!wanted_mft(u, right))
		return false;
	mft_decode(node_of(u), position_of(u), data, held);
	return !memcmp(held, right, sizeof(held));
}

/* What the switch is to hold; false: nothing is published for it. */
static bool wanted(const struct untrue *u, uint8_t data[64])
{
	const struct fabric *f = u->f;
	uint32_t sw = f->topo ? topo_find(f->topo, u->sw) : TOPO_NONE;
	const struct inv_node *node = node_of(u);
	struct wire_switch_info info;
	uint16_t masks[MCAST_BLOCK];

	if (is_mft(u)) {
		if (!wanted_mft(u, masks))
			return false;
		wire_mft_encode(masks, data);
		return true;
	}
	if (sw >= (f->topo ? f->topo->nswitches : 0) || !node)
		return false;
	if (u->block == TOP) {
		info = node->sw;
		info.lft_top = f->tables.top;
		info.port_state_change = false;
		wire_switch_info_encode(&info, data);
		return true;
	}
	if (u->block >= tables_blocks(&f->tables))
		return false;
	memcpy(data, tables_row(&f->tables, sw) + (size_t)u->block * TABLES_BLOCK, TABLES_BLOCK);
	return true;
}

/* Entries above LinearFDBTop mean nothing. */
static bool holds(const struct untrue *u, const uint8_t *data)
{
	uint32_t first = u->block * TABLES_BLOCK, top = u->f->tables.top;
	uint32_t count = top < first ? 0 : top - first + 1;
	struct wire_switch_info info;
	uint8_t right[64];

	if (is_mft(u))
		return holds_mft(u, data);
	if (!wanted(u, right))
		return false;
	if (u->block == TOP) {
		wire_switch_info_decode(data, &info);
		return info.lft_top == top;
	}
	return !memcmp(data, right, count < TABLES_BLOCK ? count : TABLES_BLOCK);
}

static bool send(struct untrue *u, uint8_t method, const uint8_t *data, mad_done_fn *fn)
{
	const struct inv_node *node = node_of(u);
	struct mad_request request = { .method = method,
				       .attr_id = u->block == TOP ? WIRE_SWITCH_INFO : WIRE_LFT,
				       .attr_mod = u->block == TOP ? 0 : u->block };
	struct mad_path path;

	if (is_mft(u)) {
		request.attr_id = WIRE_MFT;
		request.attr_mod = WIRE_MFT_MODIFIER(position_of(u), mft_block_of(u));
	}
	u->stamp = mft_blocks_written(u->f->mft);

	if (!node || node->gone || node->silent ||
	    !inventory_port_path(sweep_inventory(u->f->sweep), node, 0, &path))
		return false;
	request.path = &path;
	request.device = u->sw;
	request.data = data;
	u->token = mad_send(u->f->mad, &request, fn, u);
	return true;
}

/* ---- Behind a repair ----------------------------------------------------------------------------- */

static void isolate(struct untrue *u)
{
	struct fabric *f = u->f;

	if (find(f, u->sw)) {
		drop(u);
		return;
	}
	u->isolated = u->met = true;
	fabric_isolate(f, u->sw, 0, ISOLATED_WRONG_TABLES);
	if (!loop_timer_armed(f->untrue.timer))
		loop_timer_set(f->untrue.timer, TRIAL_US);
}

/* False: what was read may be of before a write, or another tree is wanted by now. */
static bool is_of_now(const struct untrue *u)
{
	const struct mft *mft = u->f->mft;
	uint16_t masks[MCAST_BLOCK];

	if (is_mft(u))
		return u->stamp == mft_blocks_written(mft) && wanted_mft(u, masks);
	return !u->f->programming && !fabric_updates(u->f);
}

static void tell(const struct untrue *u)
{
	if (is_mft(u))
		fabric_audit_tell_mft(u->f, u->sw, mft_block_of(u), position_of(u));
	else
		fabric_audit_tell(u->f, u->sw, u->block);
}

static void read_again(void *arg, const struct mad_answer *answer)
{
	struct untrue *u = arg;

	u->token = 0;
	if (answer->result == MAD_OK && is_of_now(u)) {
		if (!holds(u, answer->data)) {
			isolate(u);
			return;
		}
		tell(u);
	}
	drop(u); /* what was not answered is the audit's to find again */
}

static struct untrue *add(struct fabric *f, guid_t sw, uint32_t block)
{
	struct untrue *u = mem_alloc(1, sizeof(*u));

	*u = (struct untrue){ .next = f->untrue.list, .f = f, .sw = sw, .block = block };
	f->untrue.list = u;
	return u;
}

void fabric_untrue_tops(struct fabric *f)
{
	for (struct inv_node *node = inventory_first(sweep_inventory(f->sweep)); node;
	     node = inventory_next(sweep_inventory(f->sweep), node)) {
		if (node->keeps_no_top)
			isolate(add(f, node->guid, TOP));
		node->keeps_no_top = false;
	}
}

void fabric_untrue_repaired(struct fabric *f, guid_t sw, uint32_t block)
{
	struct untrue *u = add(f, sw, block);

	if (!send(u, WIRE_GET, NULL, read_again))
		drop(u);
}

void fabric_untrue_mft_repaired(struct fabric *f, guid_t sw, uint16_t block, unsigned position)
{
	fabric_untrue_repaired(f, sw, MFT | (block * MCAST_POSITIONS + position));
}

/* ---- Trials -------------------------------------------------------------------------------------- */

static void tried(void *arg, const struct mad_answer *answer);

static void try_it(struct untrue *u)
{
	uint8_t data[64];

	if (wanted(u, data))
		send(u, WIRE_SET, data, tried);
}

static void release(struct untrue *u)
{
	struct fabric *f = u->f;
	guid_t sw = u->sw;

	drop(u);
	program_forget(f->program, sw);
	mft_forget(f->mft, sw);
	fabric_isolate_release(f, sw, 0, ISOLATED_WRONG_TABLES);
	fabric_untrue_changed(f);
	fabric_request_reroute(f, "a switch does not hold its tables");
}

static void tried_read(void *arg, const struct mad_answer *answer)
{
	struct untrue *u = arg;

	u->token = 0;
	u->failed |= answer->result != MAD_OK || !holds(u, answer->data);
	if (u->step == TRY_CHANGED) {
		u->step = TRY_BACK; /* whatever was read */
		try_it(u);
	} else if (u->failed) {
		return;
	} else if (u->step == TRY_BACK) {
		u->step = TRY_BLOCK;
		try_it(u);
	} else if (!mft_busy(u->f->mft)) {
		release(u);
	}
}

static void tried(void *arg, const struct mad_answer *answer)
{
	struct untrue *u = arg;

	u->token = 0;
	if (answer->result == MAD_OK)
		send(u, WIRE_GET, NULL, tried_read);
}

static bool has_left(const struct untrue *u)
{
	return u->isolated && !inventory_find(sweep_inventory(u->f->sweep), u->sw);
}

static void trial_cb(void *arg)
{
	struct fabric *f = arg;
	struct untrue *u, *next;
	bool any = false;

	for (u = f->untrue.list; u; u = next) {
		next = u->next;
		if (fabric_rules(f) && f->topo && has_left(u)) {
			drop(u);
			fabric_untrue_changed(f);
			continue;
		}
		any |= u->isolated;
		if (!u->isolated || u->token || !fabric_rules(f))
			continue;
		u->failed = false;
		u->step = is_mft(u) ? TRY_CHANGED : TRY_BLOCK;
		try_it(u);
	}
	if (any)
		loop_timer_set(f->untrue.timer, TRIAL_US);
}

/* ---- Over a restart ------------------------------------------------------------------------------ */

static bool parse_block(const char *word, uint32_t *block)
{
	unsigned number, position;
	int end = -1;

	if (!strcmp(word, "top")) {
		*block = TOP;
		return true;
	}
	if (strlen(word) > DIGITS_MAX)
		return false; /* sscanf() takes a number that is too large for another one */
	if (sscanf(word, "%u.%u%n", &number, &position, &end) == 2 && !word[end]) {
		*block = MFT | (number * MCAST_POSITIONS + position);
		return number < MLID_BLOCKS && position < MCAST_POSITIONS;
	}
	if (sscanf(word, "%u%n", &number, &end) != 1 || word[end])
		return false;
	*block = number;
	return number <= TABLES_MAX_LID / TABLES_BLOCK;
}

static unsigned read_untrue(void *arg, FILE *in)
{
	struct fabric *f = arg;
	char line[128], word[32], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		uint32_t block;
		guid_t sw;

		if (sscanf(line, "0x%" SCNx64 " %31s %c", &sw, word, &rest) != 2 || !sw ||
		    !parse_block(word, &block))
			return number;
		if (!find(f, sw))
			add(f, sw, block)->isolated = true;
	}
	return 0;
}

static void forget_untrue(void *arg)
{
	struct fabric *f = arg;

	while (f->untrue.list)
		drop(f->untrue.list);
}

static bool is_saved(const struct untrue *u)
{
	return u->isolated && (!u->met || fabric_isolated(u->f, u->sw, ISOLATED_WRONG_TABLES));
}

/* By name, for whom the file was lost. */
static void sum_up(const void *arg, FILE *out)
{
	const struct fabric *f = arg;
	const char *comma = "";

	for (const struct untrue *u = f->untrue.list; u; u = u->next) {
		const struct inv_node *node = node_of(u);

		if (!is_saved(u))
			continue;
		if (node)
			fprintf(out, "%s%s", comma, node->desc);
		else
			fprintf(out, "%s0x%016" PRIx64, comma, u->sw);
		comma = ", ";
	}
}

static void write_untrue(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	for (const struct untrue *u = f->untrue.list; u; u = u->next) {
		if (!is_saved(u))
			continue;
		fprintf(out, "0x%016" PRIx64 " ", u->sw);
		if (u->block == TOP)
			fprintf(out, "top\n");
		else if (is_mft(u))
			fprintf(out, "%u.%u\n", mft_block_of(u),
				(u->block & ~MFT) % MCAST_POSITIONS);
		else
			fprintf(out, "%u\n", u->block);
	}
}

static const struct state_file untrue_file = {
	.name = "untrue",
	.summary = sum_up,
	.form = "`GUID BLOCK`",
	.read = read_untrue,
	.forget = forget_untrue,
	.write = write_untrue,
};

void fabric_untrue_changed(struct fabric *f)
{
	fabric_state_changed(f, &untrue_file);
}

void fabric_untrue_load(struct fabric *f)
{
	fabric_state_read(f, &untrue_file);
	if (f->untrue.list)
		loop_timer_set(f->untrue.timer, TRIAL_US);
}

void fabric_untrue_met(struct fabric *f)
{
	for (struct untrue *u = f->untrue.list; u; u = u->next) {
		if (u->met || !u->isolated || !node_of(u))
			continue;
		u->met = true;
		fabric_isolate_again(f, u->sw, ISOLATED_WRONG_TABLES);
		log_line(LOG_SWEEP, LOG_WARNING,
			 "%s: did not hold the tables that it acknowledged before the restart",
			 node_of(u)->desc);
	}
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_untrue_init(struct fabric *f)
{
	f->untrue.timer = loop_timer_new(f->loop, trial_cb, f);
}

void fabric_untrue_fini(struct fabric *f)
{
	while (f->untrue.list)
		drop(f->untrue.list);
	loop_timer_free(f->untrue.timer);
}
