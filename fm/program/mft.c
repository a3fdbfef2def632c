/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast tables (see mft.h). One record a switch, of those blocks alone that hold something or
 * are to. Of a block it is known what the switch holds for certain (`must`) and what it may hold
 * (`may`); they differ while a write is on its way and after one was lost.
 *
 *   reads  switches not known: block by block over all of them, up to the last block in use and on
 *          to the first that is empty on all. Managers give MLIDs out from the lowest, so nothing
 *          is behind it; reading whole tables would take a thousand times as long. MulticastFDBTop
 *          is raised where it is in the way (IBA 14.2.5.4; 0 = the switch has none).
 *   cuts   entries of MLIDs for which some switch may hold too much: what it must and what it shall
 *          have in common. MLIDs that only gain take what they gain here already.
 *   adds   the rest. A MLID that some switch would not let go of stays as it is, for parts of two
 *          trees can make a ring, and packets have no end in a ring.
 *
 * Each stage begins when all requests of the one before are answered.
 */
#include <assert.h>
#include "fm/mad/batch.h"
#include "fm/mad/wire_sa.h"
#include "fm/program/mft.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

struct mft_switch {
	cl_map_item_t item; /* key = GUID */
	guid_t guid;
	struct inv_node *node;	   /* NULL: not in the inventory */
	struct mft_block **blocks; /* by key */
	uint32_t nblocks;
	uint8_t reboots; /* the node's, when its tables were read */
	bool known;	 /* its tables were read */
	bool fresh;	 /* read since the last apply */
	bool reading;	 /* in this apply */
	bool here;	 /* in this apply's snapshot, with a path to it */
	bool failed;	 /* sent nothing until an apply is to try again */
	bool written;	 /* in this apply */
};

struct mft_block {
	struct mft_switch *sw;
	uint16_t key; /* block << 4 | position */
	bool listed;  /* among the dirty ones */
	uint16_t want[MCAST_BLOCK], must[MCAST_BLOCK], may[MCAST_BLOCK], sent[MCAST_BLOCK];
};

/* ---- The store ------------------------------------------------------------------------------- */

/*
 * One record a switch, by GUID, for as long as the daemon lives; of its blocks those
 * that hold something or are to.
 */

/* The switch of that GUID, made if there is none. */
static struct mft_switch *mft_switch_get(cl_qmap_t *switches, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(switches, guid);
	struct mft_switch *sw = (struct mft_switch *)item;

	if (item != cl_qmap_end(switches))
		return sw;
	sw = mem_new(sw);
	sw->guid = guid;
	cl_qmap_insert(switches, guid, &sw->item);
	return sw;
}

/* The block of that key, NULL where there is none; mft_block_get() makes it. */
static struct mft_block *mft_block_find(const struct mft_switch *sw, uint16_t key)
{
	uint32_t at = sort_place(0, sw->nblocks, i, sw->blocks[i]->key < key);

	return at < sw->nblocks && sw->blocks[at]->key == key ? sw->blocks[at] : NULL;
}

static struct mft_block *mft_block_get(struct mft_switch *sw, uint16_t key)
{
	uint32_t at = sort_place(0, sw->nblocks, i, sw->blocks[i]->key < key);

	if (at < sw->nblocks && sw->blocks[at]->key == key)
		return sw->blocks[at];
	sw->blocks = mem_grow(sw->blocks, sw->nblocks);

	struct mft_block *block = mem_new(block);

	block->sw = sw;
	block->key = key;
	memmove(sw->blocks + at + 1, sw->blocks + at,
		(sw->nblocks - at) * sizeof(struct mft_block *));
	sw->blocks[at] = block;
	sw->nblocks++;
	return block;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* There are no more MLIDs, whatever a device says. */
static unsigned mft_cap_of(const struct inv_node *node)
{
	return node->sw.mft_cap < MFT_MLIDS ? node->sw.mft_cap : MFT_MLIDS - 1u;
}

/* Bits of ports that the switch has: it may answer anything for the others. */
static uint16_t ports_of(const struct inv_node *node, unsigned position)
{
	unsigned first = position * MCAST_POSITION, nports = node->nports;

	if (first > nports)
		return 0;
	return nports - first >= MCAST_POSITION - 1 ? 0xffff
						    : (uint16_t)((2u << (nports - first)) - 1);
}

void mft_decode(const struct inv_node *node, unsigned position, const uint8_t *data,
		uint16_t masks[MCAST_BLOCK])
{
	wire_words_decode(data, masks);
	for (unsigned i = 0; i < MCAST_BLOCK; i++)
		masks[i] &= ports_of(node, position);
}

#define TRIES	  2
#define LOG_BURST 20
#define TOP_NONE  0 /* MulticastFDBTop of a switch that has no such thing */

enum mft_job { JOB_TOP, JOB_READ, JOB_WRITE }; /* of a switch, arg = block's key; of a block */
enum mft_stage { STAGE_READS, STAGE_CUTS, STAGE_ADDS };

struct mft {
	struct loop *loop;
	struct inventory *inv;
	struct batch *batch;
	cl_qmap_t switches;
	struct mft_block **dirty; /* those that differ are all among them */
	uint32_t ndirty;
	uint64_t blocks_written;
	struct log_limit failed_log;
	/* the apply that runs */
	bool busy;
	enum mft_stage stage;
	bool only_reads;
	uint16_t top;
	unsigned read_block;   /* the block number of this round of reads */
	bool read_some;	       /* this round has found an entry */
	bool *shrinks, *stays; /* [MFT_MLIDS] some switch may hold too much; and does not let go */
	struct mft_result result;
	uint64_t started_us, smps_before;
	mft_done_fn *fn;
	void *arg;
};

/* ---- Blocks ---------------------------------------------------------------------------------- */

static bool block_is(const struct mft_block *block, const uint16_t masks[MCAST_BLOCK])
{
	return !memcmp(block->must, masks, sizeof(block->must)) &&
	       !memcmp(block->may, masks, sizeof(block->may));
}

static void block_list(struct mft *m, struct mft_block *block)
{
	if (block->listed)
		return;
	m->dirty = mem_grow(m->dirty, m->ndirty);
	block->listed = true;
	m->dirty[m->ndirty++] = block;
}

void mft_want(struct mft *m, guid_t guid, uint16_t mlid, const uint16_t ports[MCAST_POSITIONS])
{
	struct mft_switch *sw = mft_switch_get(&m->switches, guid);
	unsigned row = mlid - MCAST_FIRST_MLID;

	assert(!m->busy);
	for (unsigned position = 0; position < MCAST_POSITIONS; position++) {
		uint16_t key = row / MCAST_BLOCK << 4 | position;
		uint16_t mask = ports ? ports[position] : 0;
		struct mft_block *block = mask ? mft_block_get(sw, key) : mft_block_find(sw, key);

		if (!block || block->want[row % MCAST_BLOCK] == mask)
			continue;
		block->want[row % MCAST_BLOCK] = mask;
		block_list(m, block);
	}
}

void mft_want_tree(struct mft *m, const struct mcast_tree *tree, bool wanted)
{
	for (uint32_t h = 0; h < tree->nhops; h++)
		mft_want(m, tree->hops[h].guid, tree->mlid, wanted ? tree->hops[h].ports : NULL);
}

/* ---- Failing --------------------------------------------------------------------------------- */

static void switch_fail(struct mft *m, struct mft_switch *sw, const char *why)
{
	if (sw->failed)
		return;
	sw->failed = true;
	if (log_allow(&m->failed_log, loop_now_us(m->loop), LOG_BURST))
		log_line(LOG_PROGRAM, LOG_WARNING, "%s: %s; its multicast table is not up to date",
			 sw->node ? inventory_name(sw->node, -1).text : "a removed switch", why);
}

static bool is_usable(const struct mft_switch *sw)
{
	return sw->here && !sw->failed;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void block_holds(struct mft *m, struct mft_block *block, const uint16_t masks[MCAST_BLOCK])
{
	memcpy(block->must, masks, sizeof(block->must));
	memcpy(block->may, masks, sizeof(block->may));
	if (!block_is(block, block->want))
		block_list(m, block);
}

/* Its blocks count as empty until they are read: then what is missing shows. */
static void switch_forget(struct mft *m, struct mft_switch *sw)
{
	sw->known = false;
	sw->failed = false;
	for (uint32_t i = 0; i < sw->nblocks; i++) {
		mem_zero(&sw->blocks[i]->must, 1);
		mem_zero(&sw->blocks[i]->may, 1);
		block_list(m, sw->blocks[i]);
	}
}

/* One block of all switches that are being read; false: there is none to ask. */
static bool ask_round(struct mft *m)
{
	bool any = false;

	m->read_some = false;
	QMAP_EACH (&m->switches, mft_switch, sw) {
		if (!sw->reading || !is_usable(sw) ||
		    m->read_block * MCAST_BLOCK >= mft_cap_of(sw->node))
			continue;
		for (unsigned position = 0; position < sw->node->nports / MCAST_POSITION + 1u;
		     position++)
			batch_add(m->batch,
				  &(struct batch_job){ .object = sw,
						       .kind = JOB_READ,
						       .arg = m->read_block << 4 | position });
		any = true;
	}
	return any;
}

/* True while there is more to read. */
static bool read_on(struct mft *m)
{
	if (m->read_some || m->top >= MCAST_FIRST_MLID + (m->read_block + 1) * MCAST_BLOCK) {
		m->read_block++;
		if (ask_round(m))
			return true;
	}
	QMAP_EACH (&m->switches, mft_switch, sw) {
		sw->known |= sw->reading && is_usable(sw);
		sw->fresh |= sw->reading && is_usable(sw);
		sw->reading = false;
	}
	return false;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void mark_excess(struct mft *m, bool *marks)
{
	for (uint32_t d = 0; d < m->ndirty; d++) {
		const struct mft_block *block = m->dirty[d];

		for (unsigned i = 0; block->sw->here && i < MCAST_BLOCK; i++) {
			bool excess = (block->may[i] & ~block->want[i]) != 0;

			marks[(unsigned)(block->key >> 4) * MCAST_BLOCK + i] |= excess;
			m->result.cleared += excess && block->sw->fresh && m->stage == STAGE_CUTS;
		}
	}
}

static void send_dirty(struct mft *m)
{
	for (uint32_t d = 0; d < m->ndirty; d++)
		if (is_usable(m->dirty[d]->sw) && m->dirty[d]->sw->known) {
			/*
			 * Sends what this stage makes of a block, if that is not what the switch
			 * holds.
			 */
			struct mft_block *block = m->dirty[d];
			uint16_t content[MCAST_BLOCK];

			for (unsigned i = 0; i < MCAST_BLOCK; i++) {
				bool only_what_both_have =
					(m->stage == STAGE_CUTS ? m->shrinks : m->stays)
						[(unsigned)(block->key >> 4) * MCAST_BLOCK + i];
				content[i] = only_what_both_have ? block->must[i] & block->want[i]
								 : block->want[i];
			}
			if (block_is(block, content))
				continue;
			memcpy(block->sent, content, sizeof(content));
			for (unsigned i = 0; i < MCAST_BLOCK; i++) {
				block->must[i] &= content[i];
				block->may[i] |= content[i];
			}
			batch_add(m->batch,
				  &(struct batch_job){ .object = block, .kind = JOB_WRITE });
		}
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void fill_block(uint16_t key, struct batch_request *request)
{
	request->mad.attr_id = WIRE_MFT;
	request->mad.attr_mod = WIRE_MFT_MODIFIER(key & 0xf, key >> 4);
}

static struct mft_switch *job_switch(const struct batch_job *job)
{
	return job->kind == JOB_WRITE ? ((struct mft_block *)job->object)->sw : job->object;
}

static bool mft_path(void *owner, const struct batch_job *job, struct batch_path *via)
{
	const struct mft *m = owner;
	const struct mft_switch *sw = job_switch(job);

	via->stamp = m->inv->clock;
	return sw->node && inventory_port_path(m->inv, sw->node, 0, &via->path);
}

static bool mft_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct mft *m = owner;
	struct mft_switch *sw = job_switch(job);
	const struct mft_block *block = job->object;

	if (!is_usable(sw) || sw->node->removed || !mft_path(m, job, &request->via)) {
		if (is_usable(sw))
			switch_fail(m, sw, "unreachable");
		return false;
	}
	request->mad.method = job->kind == JOB_READ ? WIRE_GET : WIRE_SET;
	request->mad.device = sw->guid;
	request->mad.doubtful = job->tries > 0;
	request->mad.retries = 1;
	if (job->kind == JOB_TOP) {
		const struct inv_wanted *wanted = inv_wanted(sw->node);
		struct wire_switch_info info = sw->node->sw;

		if (wanted->top) { /* program may be at it right now */
			info.lft_top = wanted->top;
			info.life_time = wanted->life_time;
		}
		info.mft_top = MCAST_FIRST_MLID + mft_cap_of(sw->node) - 1;
		info.port_state_change = false; /* a 1 would clear it: sweep's business */
		wire_switch_info_encode(&info, request->data);
		request->mad.attr_id = WIRE_SWITCH_INFO;
	} else if (job->kind == JOB_READ) {
		fill_block(job->arg, request);
	} else {
		fill_block(block->key, request);
		wire_words_encode(block->sent, request->data);
	}
	return true;
}

static bool job_succeeded(struct mft *m, const struct batch_job *job, const uint8_t *data)
{
	switch (job->kind) {
	case JOB_TOP: {
		struct mft_switch *sw = job->object;
		bool change = sw->node->sw.port_state_change;

		inv_wanted(sw->node)->mft_top = MCAST_FIRST_MLID + mft_cap_of(sw->node) - 1;
		wire_switch_info_decode(data, &sw->node->sw);
		sw->node->sw.port_state_change = change;
		return sw->node->sw.mft_top >= m->top;
	}
	case JOB_READ: {
		struct mft_switch *sw = job->object;
		uint16_t key = job->arg;
		uint16_t masks[MCAST_BLOCK];
		bool any = false;

		mft_decode(sw->node, key & 0xf, data, masks);
		for (unsigned i = 0; i < MCAST_BLOCK; i++)
			any |= masks[i] != 0;
		m->result.read++;
		m->read_some |= any;

		struct mft_block *block = any ? mft_block_get(sw, key) : mft_block_find(sw, key);

		if (block)
			block_holds(m, block, masks);
	}
		return true;
	default: {
		struct mft_block *block = job->object;
		uint16_t masks[MCAST_BLOCK];

		mft_decode(block->sw->node, block->key & 0xf, data, masks);
		if (memcmp(masks, block->sent, sizeof(masks)))
			return false;
		memcpy(block->must, masks, sizeof(masks));
		memcpy(block->may, masks, sizeof(masks));
		m->blocks_written++;
		m->result.blocks++;
		m->result.switches += !block->sw->written;
		block->sw->written = true;
		return true;
	}
	}
}

static void mft_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
		       const struct mad_answer *answer)
{
	struct mft *m = owner;
	struct batch_job again = *job;

	inventory_path_result(m->inv, &via->path,
			      answer->result == MAD_OK || answer->result == MAD_STATUS, via->stamp);
	if (answer->result == MAD_OK && job_succeeded(m, job, answer->data))
		return;
	if (++again.tries < TRIES && is_usable(job_switch(job)))
		batch_add(m->batch, &again);
	else
		switch_fail(m, job_switch(job),
			    answer->result == MAD_OK ? "holds other entries than it was sent"
						     : "rejects blocks or does not answer");
}

/* ---- Stages ---------------------------------------------------------------------------------- */

static void apply_end(struct mft *m)
{
	/* Keeps those on the list that are not as wanted, and counts them. */
	uint32_t kept = 0;

	for (uint32_t d = 0; d < m->ndirty; d++) {
		struct mft_block *block = m->dirty[d];

		block->listed = !block_is(block, block->want);
		if (!block->listed)
			continue;
		m->dirty[kept++] = block;
		m->result.failed += block->sw->here;
	}
	m->ndirty = kept;

	QMAP_EACH (&m->switches, mft_switch, sw)
		sw->fresh &= m->only_reads;
	for (unsigned i = 0; i < MFT_MLIDS; i++)
		m->result.held += m->stays[i];
	m->busy = false;

	struct mft_result result = m->result;

	result.smps = batch_smps(m->batch) - m->smps_before;
	result.took_us = loop_now_us(m->loop) - m->started_us;
	m->fn(m->arg, &result); /* may free m */
}

static void mft_idle(void *owner)
{
	struct mft *m = owner;

	if (m->stage == STAGE_READS && read_on(m))
		return;
	switch (m->stage) {
	case STAGE_READS:
		if (m->only_reads) {
			apply_end(m);
			return;
		}
		m->stage = STAGE_CUTS;
		mark_excess(m, m->shrinks);
		send_dirty(m);
		break;
	case STAGE_CUTS:
		m->stage = STAGE_ADDS;
		mark_excess(m, m->stays);
		send_dirty(m);
		break;
	case STAGE_ADDS:
		apply_end(m);
		return;
	}
	batch_wake(m->batch);
}

static const struct batch_ops mft_ops = {
	.make = mft_make,
	.path_of = mft_path,
	.done = mft_answer,
	.idle = mft_idle,
};

static void begin(struct mft *m, const struct topo *t, uint16_t top, bool again, mft_done_fn *fn,
		  void *arg)
{
	assert(!m->busy);
	m->busy = true;
	m->fn = fn;
	m->arg = arg;
	m->top = top;
	m->result = (struct mft_result){ 0 };
	m->started_us = loop_now_us(m->loop);
	m->smps_before = batch_smps(m->batch);
	m->stage = STAGE_READS;
	m->read_block = 0;
	mem_zero(m->shrinks, MFT_MLIDS);
	mem_zero(m->stays, MFT_MLIDS);
	QMAP_EACH (&m->switches, mft_switch, sw)
		sw->here = sw->written = sw->reading = false;
	for (uint32_t i = 0; i < t->nswitches; i++) {
		/* Its node, and whether its table is to be read. */
		guid_t guid = t->nodes[i].guid;
		struct mft_switch *sw = mft_switch_get(&m->switches, guid);

		if (!sw->node || sw->node->removed)
			sw->node = inventory_find(m->inv, guid);
		if (!sw->node || sw->node->gone || inv_node_is(sw->node, INV_NO_SETS) ||
		    !sw->node->sw.mft_cap)
			continue;
		sw->here = true;
		if (again)
			sw->failed = false;
		sw->failed |= sw->node->silent;
		if (sw->known && sw->reboots != sw->node->reboots)
			switch_forget(m, sw);
		sw->reboots = sw->node->reboots;
		sw->reading = !sw->known && !sw->failed;
		if (sw->node->sw.mft_top != TOP_NONE && sw->node->sw.mft_top < m->top &&
		    !sw->failed)
			batch_add(m->batch, &(struct batch_job){ .object = sw, .kind = JOB_TOP });
	}
	ask_round(m);
	batch_wake(m->batch);
}

void mft_apply(struct mft *m, const struct topo *t, uint16_t top, bool again, mft_done_fn *fn,
	       void *arg)
{
	m->only_reads = false;
	begin(m, t, top, again, fn, arg);
}

void mft_read(struct mft *m, const struct topo *t, uint16_t top, mft_done_fn *fn, void *arg)
{
	m->only_reads = true;
	begin(m, t, top, false, fn, arg);
}

void mft_held(struct mft *m, guid_t guid, mft_held_fn *fn, void *arg)
{
	const struct mft_switch *sw = mft_switch_get(&m->switches, guid);

	for (uint32_t k = 0; k < sw->nblocks; k++)
		for (unsigned i = 0; i < MCAST_BLOCK; i++)
			if (sw->blocks[k]->must[i])
				fn(arg,
				   MCAST_FIRST_MLID +
					   ((unsigned)(sw->blocks[k]->key >> 4) * MCAST_BLOCK + i),
				   sw->blocks[k]->key & 0xf, sw->blocks[k]->must[i]);
}

unsigned mft_blocks(const struct mft *m)
{
	return m->top < MCAST_FIRST_MLID ? 0 : (m->top - MCAST_FIRST_MLID) / MCAST_BLOCK + 1u;
}

bool mft_expected(struct mft *m, guid_t guid, uint16_t number, unsigned position,
		  uint16_t masks[MCAST_BLOCK])
{
	const struct mft_switch *sw = mft_switch_get(&m->switches, guid);
	const struct mft_block *block = mft_block_find(sw, number << 4 | position);

	if (m->busy || !sw->node || !is_usable(sw) || !sw->known || sw->node->removed ||
	    sw->node->gone || sw->node->silent || sw->reboots != sw->node->reboots ||
	    position >= sw->node->nports / MCAST_POSITION + 1u ||
	    number * MCAST_BLOCK >= mft_cap_of(sw->node) || (block && block->listed))
		return false;
	mem_zero(masks, MCAST_BLOCK);
	if (block)
		memcpy(masks, block->must, sizeof(block->must));
	return true;
}

void mft_found(struct mft *m, guid_t guid, uint16_t number, unsigned position,
	       const uint16_t masks[MCAST_BLOCK])
{
	struct mft_switch *sw = mft_switch_get(&m->switches, guid);

	assert(!m->busy);
	block_holds(m, mft_block_get(sw, number << 4 | position), masks);
}

void mft_forget(struct mft *m, guid_t guid)
{
	assert(!m->busy);
	switch_forget(m, mft_switch_get(&m->switches, guid));
}

bool mft_busy(const struct mft *m)
{
	return m->busy;
}

uint64_t mft_blocks_written(const struct mft *m)
{
	return m->blocks_written;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct mft *mft_new(struct loop *loop, struct mad *mad, struct inventory *inv)
{
	struct mft *m = mem_new(m);

	m->loop = loop;
	m->inv = inv;
	m->batch = batch_new(loop, mad, &mft_ops, m);
	m->shrinks = mem_array(m->shrinks, MFT_MLIDS);
	m->stays = mem_array(m->stays, MFT_MLIDS);
	cl_qmap_init(&m->switches);
	return m;
}

void mft_free(struct mft *m)
{
	if (!m)
		return;
	batch_free(m->batch);

	while (cl_qmap_count(&m->switches)) {
		struct mft_switch *sw = (void *)cl_qmap_head(&m->switches);

		cl_qmap_remove_item(&m->switches, &sw->item);
		for (uint32_t i = 0; i < sw->nblocks; i++)
			free(sw->blocks[i]);
		free(sw->blocks);
		free(sw);
	}

	free(m->dirty);
	free(m->shrinks);
	free(m->stays);
	free(m);
}
