/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Queues writes of a block and of LinearFDBTop, and gives up a switch that fails.
 */
#include "fm/program/program_priv.h"

#define LOG_BURST 20

void program_turn_add(struct program *p, struct store_switch *sw)
{
	if (sw->in_turn || sw->top_due)
		return;
	sw->in_turn = true;
	p->turn.list[p->turn.count++] = sw;
}

void program_send_block(struct program *p, struct store_switch *sw, uint32_t block)
{
	if (!store_has(&sw->todo, block))
		sw->ntodo++;
	store_put(&sw->todo, block, true);
	program_turn_add(p, sw);
}

void program_send_top(struct program *p, struct store_switch *sw)
{
	struct batch_job job = { .object = sw, .kind = JOB_TOP, .urgent = true };
	struct inv_wanted *wanted = inv_wanted(sw->node);

	if (wanted->top != p->wanted->top || wanted->life_time != p->life_time) {
		wanted->top = p->wanted->top;
		wanted->life_time = p->life_time;
	}
	if (sw->node->sw.lft_top == wanted->top && sw->node->sw.life_time == wanted->life_time)
		return;
	sw->top_due = true;
	batch_add(p->batch, &job);
}

void program_fail(struct program *p, struct store_switch *sw, const char *why)
{
	struct inv_name name;

	p->trouble = true;
	cached_drop(sw);
	if (sw->failed)
		return;
	sw->failed = true;
	p->result.failed_switches++;
	if (!log_allow(&p->failed_log, loop_now_us(p->loop), LOG_BURST))
		return;
	if (sw->node)
		name = inventory_name(sw->node, -1);
	log_line(LOG_PROGRAM, LOG_WARNING, "%s: %s; its forwarding table is not up to date",
		 sw->node ? name.text : "a removed switch", why);
}
