/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Twenty times a second (less often at low rates) a handful of blocks is asked for: block by block
 * over all switches, round and round, so that no switch is asked for two blocks in a row. Multicast
 * tables come behind the linear ones, a block and position at a time, those that should be empty as
 * well. Nothing is asked until the fabric has been idle for a while: after a change there are
 * things of more use to be sent. While clients ask much (jobs that start), they come first.
 *
 * Requests go by LID, which switches forward as they do data: the agents of those between would
 * have to handle each directed one, thousands a second at the leaf of this manager. One without an
 * answer goes by its directed route, for the tables on the way may be what was changed. So is
 * asked, at once, what an apply wrote: at a cold start no table leads there yet.
 *
 * An answer counts only if nothing was written since its request left: else it may be of before or
 * after the write. One that has no answer then is dropped: sweeps find silent switches, and the
 * block's turn comes again.
 */
#include "fm/keys/lookup.h"
#include "fm/mad/wire_sa.h"
#include "fm/program/audit.h"
#include "fm/program/program_priv.h"
#include "topology/base/mem.h"

/* ---- A block of a table ---------------------------------------------------------------------- */

static const struct inv_node *node_of(const struct table_source *s, const struct table_block *b)
{
	return inventory_find(s->inventory, b->sw);
}

static bool wanted_mft(const struct table_source *s, const struct table_block *b,
		       uint16_t masks[MCAST_BLOCK])
{
	if (!node_of(s, b) || !mft_expected(s->mft, b->sw, b->block, b->position, masks))
		return false;
	if (b->altered)
		masks[0] ^= 1;
	return true;
}

static bool wanted(const struct table_source *s, const struct table_block *b, uint8_t data[64])
{
	const struct inv_node *node = node_of(s, b);
	uint32_t sw = node && s->topo ? topo_find(s->topo, b->sw) : TOPO_NONE;
	struct wire_switch_info info;
	uint16_t masks[MCAST_BLOCK];

	if (b->kind == TABLE_MFT) {
		if (!wanted_mft(s, b, masks))
			return false;
		wire_words_encode(masks, data);
		return true;
	}
	if (!s->topo || sw >= s->topo->nswitches)
		return false; /* nothing is published for it */
	if (b->kind == TABLE_LFT) {
		if (b->block >= tables_blocks(s->tables))
			return false;
		memcpy(data, tables_block(s->tables, sw, b->block), TABLES_BLOCK);
		return true;
	}
	info = node->sw;
	info.lft_top = s->tables->top;
	info.port_state_change = false;
	wire_switch_info_encode(&info, data);
	return true;
}

bool table_block_held(const struct table_source *s, const struct table_block *b,
		      const uint8_t *data)
{
	uint32_t first = b->block * TABLES_BLOCK, top = s->tables ? s->tables->top : 0;
	uint32_t count = top < first ? 0 : top - first + 1;
	struct wire_switch_info info;
	uint8_t right[64];

	if (b->kind == TABLE_MFT) {
		uint16_t held[MCAST_BLOCK], mft_right[MCAST_BLOCK];

		if (!wanted_mft(s, b, mft_right))
			return false;
		mft_decode(node_of(s, b), b->position, data, held);
		return !memcmp(held, mft_right, sizeof(held));
	}
	if (!wanted(s, b, right))
		return false;
	if (b->kind == TABLE_TOP) {
		wire_switch_info_decode(data, &info);
		return info.lft_top == top;
	}
	return !memcmp(data, right, count < TABLES_BLOCK ? count : TABLES_BLOCK);
}

static void address(const struct table_block *b, struct mad_request *request)
{
	static const uint16_t attributes[] = { WIRE_LFT, WIRE_MFT, WIRE_SWITCH_INFO };

	request->attr_id = attributes[b->kind];
	request->attr_mod =
		b->kind == TABLE_MFT ? WIRE_MFT_MODIFIER(b->position, b->block) : b->block;
	request->device = b->sw;
}

static mad_token send(const struct table_source *s, const struct table_block *b, uint8_t method,
		      const uint8_t *data, mad_done_fn *fn, void *arg)
{
	const struct inv_node *node = node_of(s, b);
	struct mad_path path;
	struct mad_request request = { .method = method, .path = &path, .data = data };

	address(b, &request);
	if (!node || node->gone || node->silent ||
	    !inventory_port_path(s->inventory, node, 0, &path))
		return 0;
	return mad_send(s->mad, &request, fn, arg);
}

mad_token table_block_get(const struct table_source *s, const struct table_block *b,
			  mad_done_fn *fn, void *arg)
{
	return send(s, b, WIRE_GET, NULL, fn, arg);
}

mad_token table_block_set(const struct table_source *s, const struct table_block *b,
			  mad_done_fn *fn, void *arg)
{
	uint8_t data[64];

	return wanted(s, b, data) ? send(s, b, WIRE_SET, data, fn, arg) : 0;
}

#define TICKS_PER_S 20
#define STEPS_MAX   4096 /* places looked at in one tick, for those that have nothing to ask */
#define PASS_TICKS  30	 /* a pass takes as many at least: 1.5 seconds */
#define HURRY	    10	 /* so many times as fast behind a finding */
#define HURRY_TICKS 60	 /* for so long */
#define TRIED_MOST  300	 /* blocks that are read behind an apply */
#define REQUESTS    100	 /* of others since the last tick: then it yields */
#define YIELD_TICKS 8	 /* one tick of so many is used then, for as many blocks at most */
#define MORE	    64	 /* blocks of an audit_read_all() that wait to be asked for */
#define TRIES	    3	 /* for each of these */

struct audit {
	struct program *program;
	struct mad *mad;
	struct mft *mft;
	const struct audit_ops *ops;
	void *arg;
	struct batch *batch;
	struct loop_timer *tick;
	uint64_t requests; /* of others, until the last tick */
	unsigned yielded;  /* ticks */
	unsigned rate;
	uint64_t after_us;
	guid_t at; /* the switch that was last in turn */
	enum table_kind kind;
	uint32_t block;		/* of all of them now, as a job's arg */
	unsigned asked, before; /* blocks: in this pass, and in the whole one before */
	unsigned hurry;
	bool dropped; /* answers amid writes: their blocks are unread again */
	uint64_t compared;
	struct audit_result result; /* of audit_read_all(); its jobs are of wave 1 */
	guid_t all_at;
	uint32_t all_block;
	audit_done_fn *done;
	void *done_arg;
};

/* ---- Whose turn it is ------------------------------------------------------------------------ */

static uint32_t blocks_of_all(const struct audit *a, enum table_kind kind)
{
	uint32_t most = 0;

	if (kind == TABLE_MFT)
		return mft_blocks(a->mft) * MCAST_POSITIONS;
	QMAP_EACH (&a->program->store.switches, store_switch, sw)
		most = sw->nblocks > most ? sw->nblocks : most;
	return most;
}

static uint32_t positions(enum table_kind kind)
{
	return kind == TABLE_MFT ? MCAST_POSITIONS : 1;
}

/* Of which block a job is; its arg: block; of a multicast table block << 4 | position. */
static struct table_block block_of(const struct batch_job *job)
{
	const struct store_switch *sw = job->object;

	return (struct table_block){ .sw = sw->guid,
				     .kind = job->kind,
				     .block = job->arg / positions(job->kind),
				     .position = job->arg % positions(job->kind) };
}

static bool may_ask(const struct audit *a, const struct batch_job *job)
{
	const struct store_switch *sw = job->object;
	const struct table_block at = block_of(job);
	uint16_t masks[MCAST_BLOCK];

	if (!sw->node || sw->node->removed || sw->node->gone || sw->node->silent)
		return false;
	if (at.kind == TABLE_MFT)
		return mft_expected(a->mft, at.sw, at.block, at.position, masks);
	return at.block < sw->nblocks && !program_by_entries(a->program, sw) &&
	       !store_has(&sw->cached, at.block) && !store_has(&sw->busy, at.block) &&
	       store_shown(sw, at.block);
}

/* ---- Questions and answers ------------------------------------------------------------------- */

/* Blocks written so far, of both kinds of tables: they tell whether one was since. */
static uint32_t stamp_now(const struct audit *a)
{
	return a->program->blocks_written + mft_blocks_written(a->mft);
}

static bool audit_make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct audit *a = owner;
	const struct store_switch *sw = job->object;
	const struct table_block at = block_of(job);

	/* What waited for its turn is dropped where something else is to be done by now. */
	if ((!job->wave && !job->urgent && !a->ops->idle_since(a->arg)) || !may_ask(a, job) ||
	    !inventory_port_path(a->program->inv, sw->node, 0, &request->via.path))
		return false;
	request->via.stamp = stamp_now(a);
	request->mad.method = WIRE_GET;
	address(&at, &request->mad);
	request->mad.doubtful = true;
	request->mad.once = !job->wave;
	if (!job->tries && !job->urgent)
		port_key_by_lid(a->program->inv, sw->node, 0, &request->mad);
	return true;
}

static bool lft_differs(struct audit *a, struct store_switch *sw, struct table_block *at,
			const uint8_t *data)
{
	const uint32_t block = at->block;

	/* One that is to be written; or all blocks of that switch are from now on. */
	if (!store_has(&sw->known, block)) {
		store_read(sw, block, data);
		return false;
	}
	if (program_same(sw, block, data)) {
		a->ops->holds(a->arg, at);
		return false;
	}
	at->change = (struct inv_change){ .attribute = "LinearForwardingTable",
					  .field = "LID",
					  .at = block * TABLES_BLOCK };
	inventory_entry_differs(&at->change, data, store_block(sw, block), TABLES_BLOCK, 8,
				UINT8_MAX);
	for (uint32_t b = 0; b < sw->nblocks; b++) {
		store_leave(sw, b);
		audit_read(a,
			   &(struct table_block){ .sw = sw->guid, .kind = TABLE_LFT, .block = b });
	}
	mem_zero(&sw->known, 1);
	cached_drop(sw);
	store_read(sw, block, data);
	a->ops->differs(a->arg, at);
	return true;
}

static bool mft_differs(struct audit *a, struct store_switch *sw, struct table_block *at,
			const uint8_t *data)
{
	uint16_t held[MCAST_BLOCK], right[MCAST_BLOCK];
	unsigned i = 0;

	mft_decode(sw->node, at->position, data, held);
	mft_expected(a->mft, sw->guid, at->block, at->position, right);
	if (!memcmp(held, right, sizeof(held))) {
		a->ops->holds(a->arg, at);
		return false;
	}
	while (held[i] == right[i])
		i++;
	at->change = (struct inv_change){ .attribute = "MulticastForwardingTable",
					  .field = "MLID",
					  .at = MCAST_FIRST_MLID + at->block * MCAST_BLOCK + i,
					  .found = held[i],
					  .wanted = right[i] };
	if (a->ops->differs(a->arg, at))
		mft_found(a->mft, sw->guid, at->block, at->position, held);
	return true;
}

static void audit_answer(void *owner, const struct batch_job *job, const struct batch_path *via,
			 const struct mad_answer *answer)
{
	struct audit *a = owner;
	struct store_switch *sw = job->object;
	struct batch_job again = *job;
	struct table_block at = block_of(job);

	if (answer->result == MAD_OK && via->stamp == stamp_now(a) &&
	    (job->wave || !(a->program->busy || mft_busy(a->mft))) && may_ask(a, job)) {
		a->compared++;
		a->result.blocks += job->wave;
		if ((job->kind == TABLE_LFT ? lft_differs : mft_differs)(a, sw, &at,
									 answer->data)) {
			a->result.differ += job->wave;
			audit_hurry(a);
		}
	} else if (job->urgent && job->kind == TABLE_LFT && answer->result == MAD_OK) {
		store_put(&sw->unread, at.block, true); /* tables are written: again behind that */
		a->dropped = true;
	} else if ((job->wave || answer->result == MAD_TIMEOUT) &&
		   ++again.tries < (job->wave ? TRIES : 2)) {
		batch_add(a->batch, &again);
	} else {
		a->result.failed += job->wave;
	}
}

/* True: if that may be read by now, it is going to be. */
static bool ask(struct audit *a, const struct batch_job *job)
{
	bool may = may_ask(a, job);

	if (may)
		batch_add(a->batch, job);
	return may;
}

/* ---- All blocks, for an operator ------------------------------------------------------------- */

static bool audit_more(void *owner)
{
	struct audit *a = owner;
	uint32_t most = a->done ? blocks_of_all(a, TABLE_LFT) : 0;
	unsigned added = 0;

	while (added < MORE && a->all_block < most) {
		struct store_switch *sw = store_behind(&a->program->store, a->all_at);

		a->all_at = sw ? sw->guid : 0;
		if (!sw) {
			a->all_block++;
		} else {
			added += ask(a, &(struct batch_job){ .object = sw,
							     .kind = TABLE_LFT,
							     .arg = a->all_block,
							     .wave = 1 });
		}
	}
	return added > 0;
}

static void audit_idle(void *owner)
{
	struct audit *a = owner;
	audit_done_fn *done = a->done;

	a->done = NULL;
	if (done)
		done(a->done_arg, &a->result);
}

void audit_read_all(struct audit *a, audit_done_fn *fn, void *arg)
{
	a->result = (struct audit_result){ 0 };
	a->all_at = a->all_block = 0;
	a->done = fn;
	a->done_arg = arg;
	batch_wake(a->batch);
}

static const struct batch_ops audit_batch_ops = {
	.make = audit_make,
	.done = audit_answer,
	.more = audit_more,
	.idle = audit_idle,
};

/* ---- The clock ------------------------------------------------------------------------------- */

static void schedule(struct audit *a)
{
	unsigned ticks = a->rate < TICKS_PER_S ? a->rate : TICKS_PER_S;

	if (ticks)
		loop_timer_set(a->tick, 1000000 / ticks);
	else
		loop_timer_stop(a->tick);
}

static void tick_cb(void *arg)
{
	struct audit *a = arg;
	uint64_t since = a->program->busy || mft_busy(a->mft) ? 0 : a->ops->idle_since(a->arg);
	uint64_t before = a->requests;
	bool yield;

	schedule(a);
	a->requests = mad_stats(a->mad).unsolicited;
	yield = a->requests - before > REQUESTS;
	if (since && a->dropped)
		audit_try(a);
	if (yield && ++a->yielded < YIELD_TICKS)
		return;
	a->yielded = 0;
	if (since && loop_now_us(a->program->loop) - since >= a->after_us &&
	    !batch_in_flight(a->batch)) {
		unsigned count = a->rate < TICKS_PER_S ? 1 : a->rate / TICKS_PER_S;

		count *= a->hurry ? HURRY : 1;
		a->hurry -= a->hurry > 0;
		count = yield && count > REQUESTS ? REQUESTS : count;
		a->ops->ports(a->arg, count, (count + 15) / 16);
		if (a->before && count > a->before / PASS_TICKS + 1)
			count = a->before / PASS_TICKS + 1;
		for (unsigned steps = 0; count && steps < STEPS_MAX; steps++) {
			struct store_switch *sw = store_behind(&a->program->store, a->at);

			if (!sw) {
				/* The next block of all switches; multicast's behind the last. */
				a->at = 0;
				if (++a->block < blocks_of_all(a, a->kind))
					continue;
				a->block = 0;
				a->kind = a->kind == TABLE_LFT && mft_blocks(a->mft) ? TABLE_MFT
										     : TABLE_LFT;
				if (a->kind == TABLE_LFT) {
					a->before = a->asked;
					a->asked = 0;
				}
				continue;
			}
			a->at = sw->guid;
			if (ask(a, &(struct batch_job){
					   .object = sw, .kind = a->kind, .arg = a->block })) {
				a->asked++;
				count--;
			}
		}
	}
}

void audit_try(struct audit *a)
{
	unsigned tried = 0;

	a->dropped = false;
	QMAP_EACH (&a->program->store.switches, store_switch, sw) {
		uint32_t first = store_next(&sw->unread, 0), block = first;

		for (; a->rate && block < STORE_BLOCKS && (block == first || tried < TRIED_MOST);
		     block = store_next(&sw->unread, block + 1), tried++)
			batch_add(a->batch, &(struct batch_job){ .object = sw,
								 .kind = TABLE_LFT,
								 .urgent = true,
								 .arg = block });
		mem_zero(&sw->unread, 1);
	}
}

void audit_read(struct audit *a, const struct table_block *block)
{
	const struct batch_job job = { .object = store_find(&a->program->store, block->sw),
				       .kind = block->kind,
				       .urgent = true,
				       .arg = block->block * positions(block->kind) +
					      block->position };

	if (job.object)
		batch_add(a->batch, &job);
}

void audit_hurry(struct audit *a)
{
	a->hurry = HURRY_TICKS;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct audit *audit_new(struct loop *loop, struct mad *mad, struct program *program,
			struct mft *mft, const struct audit_ops *ops, void *arg)
{
	struct audit *a = mem_new(a);

	a->program = program;
	a->mad = mad;
	a->mft = mft;
	a->ops = ops;
	a->arg = arg;
	a->batch = batch_new(loop, mad, &audit_batch_ops, a);
	a->tick = loop_timer_new(loop, tick_cb, a);
	return a;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	batch_free(a->batch);
	loop_timer_free(a->tick);
	free(a);
}

void audit_configure(struct audit *a, unsigned blocks_per_s, uint64_t after_us)
{
	a->after_us = after_us;
	if (a->rate == blocks_per_s)
		return;
	a->rate = blocks_per_s;
	schedule(a);
}

uint64_t audit_blocks(const struct audit *a)
{
	return a->compared;
}
