/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_make: an order from its parts (see order.h), in calls of a few milliseconds: the rounds of
 * each column (order.c), a trial whether they could close a circle of waiting channels
 * (order_turns.c), and if so rounds that can't (order_cycle_free.c).
 */
#include <stdlib.h>
#include <string.h>
#include "routing/order/order_rounds.h"
#include "topology/mem.h"

struct order_making {
	struct order_work w;
	struct order out;
	struct order_beyond beyond;
	/* One of these at a time. */
	struct order_columns *columns;
	struct order_trial *trial;
	struct order_cycle_free *cycle_free;
};

struct order_making *order_begin(const struct topo *t, const struct tables *newer,
				 const struct order_block *changed, uint32_t count,
				 const struct order_proof *proof)
{
	struct order_making *m = mem_alloc(1, sizeof(*m));

	m->beyond.proof = *proof;
	order_work_init(&m->w, t, newer, changed, count);
	m->columns = order_columns_begin(&m->w, &m->out);
	return m;
}

static bool columns_done(struct order_making *m)
{
	order_columns_end(m->columns);
	m->columns = NULL;
	m->trial = order_trial_begin(&m->w, ORDER_FROM, NULL, &m->beyond);
	return true;
}

static bool trial_done(struct order_making *m)
{
	bool safe = order_trial_end(m->trial);

	m->trial = NULL;
	if (!safe)
		m->cycle_free = order_cycle_free_begin(&m->w, &m->beyond, &m->out);
	return !safe;
}

bool order_go(struct order_making *m)
{
	if (m->columns)
		return order_columns_go(m->columns) || columns_done(m);
	if (m->trial)
		return order_trial_go(m->trial) || trial_done(m);
	return m->cycle_free && order_cycle_free_go(m->cycle_free);
}

static void making_free(struct order_making *m)
{
	order_columns_end(m->columns);
	if (m->trial)
		order_trial_end(m->trial);
	order_cycle_free_end(m->cycle_free);
	order_work_fini(&m->w);
	free(m->beyond.turns);
	free(m);
}

void order_end(struct order_making *m, struct order *out)
{
	*out = m->out;
	making_free(m);
}

void order_drop(struct order_making *m)
{
	if (!m)
		return;
	order_fini(&m->out);
	making_free(m);
}

void order_make(const struct topo *t, const struct tables *newer, const struct order_block *changed,
		uint32_t count, struct order *out)
{
	struct order_making *m = order_begin(t, newer, changed, count, &(struct order_proof){ 0 });

	while (order_go(m))
		;
	order_end(m, out);
}

void order_fini(struct order *o)
{
	free(o->steps);
	free(o->first);
	*o = (struct order){ 0 };
}

uint32_t order_compare(const struct tables *older, const struct tables *newer,
		       struct order_block **out)
{
	uint32_t count = 0, size = 0;

	*out = NULL;
	for (uint32_t sw = 0; sw < newer->nswitches; sw++)
		for (uint32_t b = 0; b < tables_blocks(newer); b++) {
			const uint8_t *old = tables_row(older, sw) + (size_t)b * TABLES_BLOCK;
			const uint8_t *new = tables_row(newer, sw) + (size_t)b *TABLES_BLOCK;

			if (!memcmp(old, new, TABLES_BLOCK))
				continue;
			if (count == size) {
				size = size ? 2 * size : 256;
				*out = mem_resize(*out, size, sizeof(**out));
			}
			(*out)[count++] = (struct order_block){ sw, b, old };
		}
	return count;
}
