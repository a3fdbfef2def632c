/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cached blocks: what switches held when an earlier fmd ended, by its rows (table_row.h). Since
 * then a switch may have rebooted, and another subnet manager may have written to it. So each block
 * is read, by one Get in the place of the Set that it would take otherwise, and only what the
 * switch answers counts as known.
 *
 *   the rows     are read by the first apply, in steps, and compared with the rows that are wanted
 *                by then: of a block that is as wanted nothing is kept but a bit
 *                (store_switch.cached)
 *   read first   are cached blocks that are not as wanted; then what is to change is written in the
 *                order's rounds. So a fault that happened while fmd was down, or happens now, does
 *                not wait for the rest. Of the rest it is assumed that it is as cached, until one
 *                block differs. From then on blocks of the same numbers are read of all switches
 *                before any is written, so that the order knows what there is
 *   the rest     is read when nothing is left to write. What differs from the cache is written, in
 *                rounds again
 *
 * Of a switch that is met for the first time, each block that no row has is assumed to
 * be as wanted, so that it is read: another manager may have written it. Where one was at work
 * until now, the rows are not relied on unread either.
 *
 * A block is cached until it was read, or is written. Where a switch does not answer what it holds,
 * or its LinearFDBTop is 0 (it has lost its tables), its blocks are not cached any more, but
 * unknown, as without a row.
 */
#include "fm/program/program_priv.h"
#include "fm/program/table_row.h"
#include "topology/base/mem.h"

#define BLOCKS_A_STEP 4096
#define MORE	      64 /* jobs queued at a time */

/* ---- From the rows --------------------------------------------------------------------------- */

void program_remember(struct program *p, const char *line)
{
	struct program_cached *c = &p->cached;

	c->lines = mem_grow(c->lines, c->nlines);
	c->lines[c->nlines++] = mem_strdup(line);
}

static bool is_open(const struct store_switch *sw, uint32_t block)
{
	return block < sw->nblocks && !store_has(&sw->known, block) && !store_has(&sw->busy, block);
}

bool cached_load(struct program *p)
{
	static const uint8_t none[TABLES_BLOCK] = { [0 ... TABLES_BLOCK - 1] = TABLES_NO_ROUTE };
	struct program_cached *c = &p->cached;
	struct table_record record;
	unsigned blocks = 0;

	if (c->at == c->nlines)
		return false;
	c->some = true;
	while (c->at < c->nlines && blocks < BLOCKS_A_STEP) {
		bool fine = table_row_read(c->lines[c->at++], &record);
		struct store_switch *sw = fine ? store_find(&p->store, record.guid) : NULL;
		const uint8_t *content = record.content;

		if (!fine)
			continue;
		for (uint32_t b = store_next(&record.blocks, 0); b < STORE_BLOCKS;
		     b = store_next(&record.blocks, b + 1)) {
			bool empty = store_has(&record.empty, b);

			if (sw && is_open(sw, b)) {
				store_sent(sw, b, empty ? none : content);
				store_put(&sw->cached, b, true);
			}
			content += empty ? 0 : TABLES_BLOCK;
			blocks++;
		}
	}
	if (c->at < c->nlines)
		return true;
	cached_forget_rows(p);
	return false;
}

/* Called behind the rows, whose blocks stay as they are there. */
void cached_assume(struct program *p)
{
	for (uint32_t row = 0; row < p->topo->nswitches; row++) {
		struct store_switch *sw = store_find(&p->store, p->topo->nodes[row].guid);

		for (uint32_t b = 0; sw && !sw->met && b < sw->nblocks; b++)
			if (is_open(sw, b) && !store_has(&sw->cached, b)) {
				store_put(&sw->cached, b, true);
				p->cached.some = p->cached.first = p->cached.wrong = true;
				sw->top_due = true; /* a Set, if there is no other */
			}
		if (sw)
			sw->met = true;
	}
}

void program_read_first(struct program *p)
{
	p->cached.first = p->cached.wrong = true;
}

void cached_forget_rows(struct program *p)
{
	struct program_cached *c = &p->cached;

	for (unsigned i = 0; i < c->nlines; i++)
		free(c->lines[i]);
	free(c->lines);
	c->lines = NULL;
	c->nlines = c->at = 0;
}

/* ---- Which to read --------------------------------------------------------------------------- */

bool cached_is_other(const struct store_switch *sw, uint32_t block)
{
	return store_has(&sw->own, block) &&
	       memcmp(store_own_block(sw, block), sw->row_wanted + (size_t)block * TABLES_BLOCK,
		      TABLES_BLOCK) != 0;
}

static bool is_there(const struct store_switch *sw)
{
	return sw && sw->node && !sw->node->gone && !sw->node->silent && !sw->failed;
}

void cached_recheck_none(struct program *p)
{
	mem_zero(&p->cached.columns, 1);
	p->cached.every = p->cached.wrong;
}

/*
 * Chooses the numbers of blocks that are known or cached to differ from what is wanted; known ones
 * matter only for the blocks of the same number at other switches. Those of a silent switch do not
 * count: they can't be read, and the reading would begin again and again.
 */
void cached_recheck(struct program *p, const struct store_switch *sw)
{
	bool all = program_by_entries(p, sw); /* their groups are not assumed */
	const struct store_set *set = all ? &sw->cached : &sw->own;

	for (uint32_t b = is_there(sw) ? store_next(set, 0) : STORE_BLOCKS; b < STORE_BLOCKS;
	     b = store_next(set, b + 1))
		if ((all || cached_is_other(sw, b)) &&
		    (store_has(&sw->cached, b) || (p->cached.every && store_has(&sw->known, b))))
			store_put(&p->cached.columns, b, true);
}

bool cached_begin(struct program *p)
{
	struct program_cached *c = &p->cached;
	bool any = false;

	for (uint32_t row = 0; row < p->topo->nswitches; row++)
		for (unsigned i = 0; is_there(p->rows[row]) && i < STORE_WORDS; i++)
			any |= p->rows[row]->cached.words[i] & c->columns.words[i];
	c->block = c->row = 0;
	if (any)
		p->stage = PROGRAM_READS;
	return any;
}

bool cached_rest(struct program *p)
{
	if (!p->cached.some)
		return false;
	memset(&p->cached.columns, 0xff, sizeof(p->cached.columns));
	p->cached.every = true;
	if (cached_begin(p))
		return true;
	/* Those of switches that are away stay, for when they come back. */
	p->cached.some = false;
	QMAP_EACH (&p->store.switches, store_switch, sw)
		p->cached.some |= store_next(&sw->cached, 0) < STORE_BLOCKS;
	return false;
}

unsigned program_unread(const struct program *p)
{
	unsigned count = 0;

	QMAP_EACH (&p->store.switches, store_switch, sw)
		for (unsigned i = 0; p->cached.some && is_there(sw) && i < STORE_WORDS; i++)
			count += __builtin_popcountll(sw->cached.words[i]);
	return count;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The next question, block by block over all switches; false: all were asked. */
static bool next_job(struct program *p, struct batch_job *job)
{
	struct program_cached *c = &p->cached;

	for (; (c->block = store_next(&c->columns, c->block)) < STORE_BLOCKS;
	     c->block++, c->row = 0) {
		while (c->row < p->topo->nswitches) {
			struct store_switch *sw = p->rows[c->row++];

			if (!is_there(sw) || !store_has(&sw->cached, c->block) ||
			    !(c->every || cached_is_other(sw, c->block) ||
			      program_by_entries(p, sw)))
				continue;
			*job = (struct batch_job){ .object = sw,
						   .arg = c->block,
						   .kind = JOB_READ };
			return true;
		}
	}
	return false;
}

bool cached_more(struct program *p)
{
	struct batch_job job;
	unsigned added = 0;

	while (added < MORE && next_job(p, &job)) {
		batch_add(p->batch, &job);
		added++;
	}
	return added > 0;
}

bool cached_make(const struct program *p, const struct store_switch *sw,
		 const struct batch_job *job, struct batch_request *request)
{
	request->mad.method = WIRE_GET;
	request->mad.attr_id = WIRE_LFT;
	request->mad.attr_mod = job->arg;
	if (program_by_entries(p, sw))
		p->entries->request(p->entries->arg, sw->node, job->arg * PROGRAM_PARTS + job->wave,
				    NULL, &request->mad, request->data);
	return store_has(&sw->cached, job->arg);
}

void cached_drop(struct store_switch *sw)
{
	mem_zero(&sw->cached, 1);
}

void cached_answer(struct program *p, struct store_switch *sw, const struct batch_job *job,
		   const uint8_t *data)
{
	uint32_t block = job->arg;
	struct batch_job next = *job;
	uint8_t ports[TABLES_BLOCK];

	if (!store_has(&sw->cached, block))
		return; /* written meanwhile, or forgotten */
	if (program_by_entries(p, sw)) {
		p->entries->answered(p->entries->arg, sw->node, block * PROGRAM_PARTS + job->wave,
				     data);
		if (++next.wave < PROGRAM_PARTS) {
			batch_add(p->batch, &next);
			return;
		}
		p->entries->ports(p->entries->arg, sw->node, block, ports);
		data = ports;
	}
	p->cached.read++;
	if (!program_same(sw, block, data)) {
		p->cached.differed++;
		p->cached.wrong = true;
		p->proof.older = false; /* somebody wrote it: its turns are in no proof */
		store_sent(sw, block, data);
	}
	store_put(&sw->cached, block, false);
	store_put(&sw->known, block, true);
}

/* ---- To the rows ----------------------------------------------------------------------------- */

char *program_next_table(const struct program *p, guid_t *at)
{
	const struct store_switch *sw;
	struct store_set blocks;
	char *line = NULL;

	while (!line && (sw = store_behind(&p->store, *at))) {
		*at = sw->guid;
		for (unsigned i = 0; i < STORE_WORDS; i++)
			blocks.words[i] =
				(sw->known.words[i] | sw->cached.words[i]) & ~sw->busy.words[i];
		line = table_row_write(sw, &blocks);
	}
	return line;
}
