/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pkeys: P_Key tables (IBA 14.2.5.7), a block at a time: what is not known is read, then what
 * differs from pkey_plan() is written, in its order; a port has one request on its way. What the
 * inventory keeps is what ports answered, so a restart reads and writes nothing.
 *
 * Whose tables:
 *   CA and router ports  always. Without partitions one block is read, and the others only if that
 *                        one shows keys that somebody wrote; a table as after power-on is not even
 *                        kept
 *   a switch's port 0    where there are partitions
 *   its other ports      where there are partitions, the port leads to an end port and the switch
 *                        can enforce: what the peer may use, and PortInfo's enforcement bits only
 *                        once the table is written. A table that does not fit leaves the bits off
 *
 * With partitions a link goes Active once both its ends have their tables, so that no port is on
 * the fabric with more than it may use.
 */
#include "fm/conf/partition.h"
#include "fm/sweep/bringup_priv.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/* ---- The plan: the fewest blocks (IBA 10.9.2, 14.2.5.7) -------------------------------------- */

/*
 * First what is fixed: index 0, then keys that are there as they are, then those that are there in
 * their other membership. What the table holds beyond that is not wanted any more, so its blocks
 * differ whatever happens: they take the new keys first, and if they can't take all, the first
 * block that can follows, else those with the most free entries. No other choice needs fewer
 * blocks.
 *
 * A table that is too small leaves out the keys that would be new, from the highest on; for the
 * default partition, without which a port can't ask anybody anything, another one has to go.
 */

struct plan {
	const uint16_t *have;
	const struct pkey_wish *wish;
	uint16_t *want;
	unsigned nblocks;
	unsigned begin;	  /* the first entry without a fixed key: 1 behind index 0's key */
	unsigned pending; /* new keys still to be placed */
	bool *placed;	  /* [wish->nkeys] */
};

static bool is_default(uint16_t key)
{
	return PKEY_BASE(key) == PKEY_BASE(PKEY_DEFAULT);
}

/* ---- What is fixed --------------------------------------------------------------------------- */

/* The first wish of that partition or behind it. */
static unsigned wish_find(const struct pkey_wish *wish, uint16_t key)
{
	return sort_place(0, wish->nkeys, at, PKEY_BASE(wish->keys[at]) < PKEY_BASE(key));
}

static bool put(struct plan *p, unsigned at, unsigned key)
{
	if (p->placed[key])
		return false;
	p->placed[key] = true;
	p->want[at] = p->wish->keys[key];
	return true;
}

/* Puts a wish of have[at]'s partition there: that very key, or its other membership. */
static void keep(struct plan *p, unsigned at, bool exactly)
{
	const struct pkey_wish *wish = p->wish;
	uint16_t has = p->have[at];

	if (!PKEY_BASE(has) || p->want[at])
		return;
	for (unsigned i = wish_find(wish, has);
	     i < wish->nkeys && PKEY_BASE(wish->keys[i]) == PKEY_BASE(has); i++)
		if ((wish->keys[i] == has) == exactly && put(p, at, i))
			return;
}

/* ---- What is new ----------------------------------------------------------------------------- */

struct room { /* free entries of a block */
	unsigned count;
	int unused, left; /* the first that was free before, and that somebody left; -1 = none */
};

/* The entry for the next new key, -1 = the table is full. */
static int entry_find(const struct plan *p)
{
	int left = -1, fresh = -1;
	unsigned most = 0;

	for (unsigned block = 0; block < p->nblocks; block++) {
		struct room room = { .unused = -1, .left = -1 };
		unsigned at = block * PKEYS_A_BLOCK, end = at + PKEYS_A_BLOCK;

		for (at = at < p->begin ? p->begin : at; at < end && at < p->wish->cap; at++) {
			int *first = p->have[at] ? &room.left : &room.unused;

			if (p->want[at])
				continue;
			room.count++;
			if (*first < 0)
				*first = at;
		}

		if (memcmp(p->have + block * PKEYS_A_BLOCK, p->want + block * PKEYS_A_BLOCK,
			   PKEYS_A_BLOCK * sizeof(*p->have))) {
			if (room.unused >= 0)
				return room.unused;
			left = left < 0 ? room.left : left;
		} else if (room.count > most && most < p->pending) {
			most = room.count;
			fresh = room.unused;
		}
	}
	return left >= 0 ? left : fresh;
}

/* The last entry that is not the default partition's nor bound to index 0. */
static int entry_to_clear(const struct plan *p)
{
	for (unsigned at = p->wish->cap; at-- > p->begin;)
		if (!is_default(p->want[at]))
			return at;
	return -1;
}

static unsigned place_new(struct plan *p, unsigned key)
{
	if (p->placed[key])
		return 0;

	int at = entry_find(p);

	p->pending--;
	if (at >= 0) {
		put(p, at, key);
		return 0;
	}
	if (is_default(p->wish->keys[key]) && (at = entry_to_clear(p)) >= 0)
		put(p, at, key);
	return 1;
}

unsigned pkey_plan(const uint16_t *have, const struct pkey_wish *wish, uint16_t *want)
{
	struct plan p = { .have = have, .wish = wish, .want = want };
	unsigned first_default = wish_find(wish, PKEY_DEFAULT), without = 0;
	const uint16_t base = PKEY_BASE(wish->index0 ? wish->index0 : PKEY_DEFAULT);

	p.nblocks = (wish->cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK;
	p.placed = mem_array(p.placed, wish->nkeys);
	mem_zero(want, p.nblocks * PKEYS_A_BLOCK);
	for (unsigned i = wish_find(wish, base);
	     i < wish->nkeys && PKEY_BASE(wish->keys[i]) == base; i++)
		if (!wish->index0 || wish->keys[i] == wish->index0) {
			p.begin = put(&p, 0, i);
			break;
		}
	for (int exactly = 1; exactly >= 0; exactly--)
		for (unsigned at = p.begin; at < p.wish->cap; at++)
			keep(&p, at, exactly);
	for (unsigned i = 0; i < wish->nkeys; i++)
		p.pending += !p.placed[i];
	for (unsigned i = first_default; i < wish->nkeys; i++)
		without += place_new(&p, i);
	for (unsigned i = 0; i < first_default; i++)
		without += place_new(&p, i);
	free(p.placed);
	return without;
}

/*
 * ---- The path there ---------------------------------------------------------------------------
 */

int pkey_plan_next(const uint16_t *have, const uint16_t *want, unsigned nblocks)
{
	int next = -1;

	for (unsigned block = nblocks; block-- > 0;) {
		unsigned at = block * PKEYS_A_BLOCK;

		if (!memcmp(have + at, want + at, PKEYS_A_BLOCK * sizeof(*have)))
			continue;
		if (any_of(i, at, at + PKEYS_A_BLOCK, is_default(want[i])))
			return block;
		next = block;
	}
	return next;
}

static bool is_external(const struct inv_node *node, unsigned num)
{
	return inv_is_switch(node) && num;
}

/* ---- What is wanted -------------------------------------------------------------------------- */

/* Enforced at the switch's side of a link to an end port. */
static bool is_enforced(const struct bringup *b, const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return (b->conf.pkey_enforce_in || b->conf.pkey_enforce_out) && node->sw.enforce_cap &&
	       port->peer && !inv_is_switch(port->peer);
}

/* Tables that are not ours to write keep what they have. */
static bool is_ours(const struct bringup *b, const struct inv_node *node, unsigned num,
		    uint32_t port)
{
	if (port == TOPO_NONE)
		return false;
	if (!inv_is_switch(node))
		return num > 0;
	return num ? b->pkeys && is_enforced(b, node, num) : b->pkeys || port_setup(node, 0)->pkeys;
}

static struct inv_pkeys *table_of(struct inv_node *node, unsigned num)
{
	struct port_setup *setup = port_setup(node, num);
	struct inv_pkeys *table = setup->pkeys;

	if (table)
		return table;
	table = setup->pkeys = mem_new(table);

	unsigned cap = is_external(node, num) ? node->sw.enforce_cap : node->info.partition_cap;

	cap = cap || is_external(node, num)
		      ? cap
		      : PKEYS_A_BLOCK; /* at least one entry is there (IBA 14.2.5.3) */
	table->cap =
		(uint16_t)(cap < PKEY_BLOCKS_MAX * PKEYS_A_BLOCK ? cap
								 : PKEY_BLOCKS_MAX * PKEYS_A_BLOCK);

	table->nblocks = (table->cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK;
	table->have = mem_alloc((size_t)table->nblocks * PKEYS_A_BLOCK, 2 * sizeof(uint16_t));
	table->want = table->have + table->nblocks * PKEYS_A_BLOCK;
	return table;
}

static void table_wish(struct port_setup *setup, struct inv_pkeys *table, const uint16_t *keys,
		       unsigned n, uint16_t index0)
{
	if (table->nkeys == n && table->index0 == index0 &&
	    !memcmp(table->keys, keys, n * sizeof(*keys)))
		return;
	table->keys = mem_resize(table->keys, n, sizeof(*keys));
	memcpy(table->keys, keys, n * sizeof(*keys));
	table->nkeys = n;
	table->index0 = index0;
	table->planned = false;
	setup->pkey_state = INV_PKEYS_OPEN;
}

static void table_wish_fullest(struct port_setup *setup, struct inv_pkeys *table,
			       const uint16_t *keys, unsigned n)
{
	uint16_t *fullest = mem_array(fullest, n);

	/*
	 * A switch lets pass what the full membership lets pass: the limited one next to it would
	 * only take room.
	 */
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++)
		if (!i || keys[i - 1] != (keys[i] | PKEY_FULL))
			fullest[count++] = keys[i];
	n = count;

	table_wish(setup, table, fullest, n, 0);
	free(fullest);
}

void pkeys_want(struct bringup *b, struct inv_node *node, uint8_t num, uint32_t port)
{
	struct port_setup *setup = port_setup(node, num);

	if (setup->pkey_state == INV_PKEYS_FAILED)
		setup->pkey_state = INV_PKEYS_OPEN;
	if (setup->enforced && !(b->pkeys && is_enforced(b, node, num)))
		setup->enforced = setup->settled = false;
	if (!is_ours(b, node, num, port))
		setup_forget_pkeys(setup);
	else if (is_external(node, num)) {
		uint32_t peer = b->topo->ports[port].peer;
		const uint16_t *keys;

		if (peer == TOPO_NONE)
			return;

		unsigned n = pkey_map_keys(b->pkeys, peer, &keys);

		table_wish_fullest(port_setup(node, num), table_of(node, num), keys, n);
	} else {
		const uint16_t *keys;
		unsigned n = pkey_map_keys(b->pkeys, port, &keys);
		uint16_t index0 = b->pkeys && b->pkeys->index0 ? b->pkeys->index0[port] : 0;

		/* The default partition, and no more: what a port has after power-on. */
		if (!setup->pkeys && !b->pkeys && n == 1 && keys[0] == PKEY_DEFAULT && !index0)
			return; /* made when its turn comes: most have nothing to keep */
		if (!setup->pkeys)
			setup->pkey_state = INV_PKEYS_OPEN;
		table_wish(setup, table_of(node, num), keys, n, index0);
	}
}

/* ---- The step that is due -------------------------------------------------------------------- */

/* Somebody wrote to it: there is more than the default partition at index 0. */
static bool looks_written(const struct inv_pkeys *table)
{
	return table->have[0] != PKEY_DEFAULT || any_of(i, 1, PKEYS_A_BLOCK, table->have[i]);
}

/* The first block to be read, -1 = what is known will do. */
static int block_unknown(const struct bringup *b, const struct inv_pkeys *table)
{
	unsigned needed = table->nblocks;

	if (!b->pkeys && (!(table->known & 1) || !looks_written(table)))
		needed = 1;
	for (unsigned i = 0; i < needed; i++)
		if (!(table->known >> i & 1))
			return i;
	return -1;
}

/* The table is as it should be, or can't be made so now. */
static void table_close(struct bringup *b, struct inv_node *node, uint8_t num,
			enum inv_pkey_state state)
{
	struct port_setup *setup = port_setup(node, num);
	struct inv_pkeys *table = setup->pkeys;

	setup->pkey_state = state;
	if (state == INV_PKEYS_DONE && setup->unheld & INV_SET_PKEYS &&
	    !(setup->unread & INV_SET_PKEYS)) { /* by itself */
		b->result.cured++;
		setup_was_read(setup, INV_SET_PKEYS, true);
	}
	b->result.pkeys_set += table->wrote;
	table->wrote = false;
	if (is_external(node, num)) {
		setup->enforced = state == INV_PKEYS_DONE && !table->without;
		setup->settled = false; /* PortInfo's enforcement bits may be due */
	} else if (!b->pkeys && state == INV_PKEYS_DONE && !looks_written(table)) {
		setup_forget_pkeys(setup);
		setup->pkey_state = state;
	}
	bringup_step_link(b, node, num);
}

/* What is due: the method, and the block; 0 = nothing. */
static uint8_t table_step(struct bringup *b, const struct inv_node *node, unsigned num,
			  struct inv_pkeys *table, int *block)
{
	*block = block_unknown(b, table);
	if (*block >= 0)
		return WIRE_GET;

	const struct pkey_wish wish = { .keys = table->keys,
					.nkeys = table->nkeys,
					.index0 = table->index0,
					.cap = table->cap };

	if (!table->planned) {
		table->planned = true;
		table->without = pkey_plan(table->have, &wish, table->want);
		if (table->without &&
		    log_allow(&b->pkeys_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
			log_line(LOG_SWEEP, LOG_WARNING,
				 "%s: its P_Key table has %u entries, %u partitions do not fit%s",
				 inventory_name(node, num).text, table->cap, table->without,
				 is_external(node, num) ? ": not enforced here" : "");
	}

	*block = pkey_plan_next(table->have, table->want, table->nblocks);
	return *block >= 0 ? WIRE_SET : 0;
}

/*
 * Of hosts that the snapshot does not know yet nothing is written where there are partitions:
 * theirs are not known either.
 */
static bool is_due(const struct bringup *b, const struct inv_node *node, unsigned num)
{
	const struct port_setup *setup = port_setup(node, num);

	return setup->pkey_state == INV_PKEYS_OPEN && (!setup->pkeys || !setup->pkeys->job) &&
	       (setup->pkeys || (!b->pkeys && !inv_is_switch(node) && num)) &&
	       bringup_port_workable(node, num);
}

void pkeys_step(struct bringup *b, struct inv_node *node, uint8_t num)
{
	if (is_due(b, node, num))
		bringup_ask(b, node, num, JOB_PKEYS, false);
}

bool pkeys_make(struct bringup *b, const struct batch_job *job, struct batch_request *request)
{
	struct inv_node *node = job->object;
	uint8_t num = job->arg;
	int block;

	if (!is_due(b, node, num))
		return false;

	static const uint16_t plain[] = { PKEY_DEFAULT };
	struct port_setup *setup = port_setup(node, num);

	if (!setup->pkeys)
		table_wish(setup, table_of(node, num), plain, 1, 0);

	struct inv_pkeys *table = setup->pkeys;

	request->mad.method = table_step(b, node, num, table, &block);
	if (!request->mad.method) {
		table_close(b, node, num, INV_PKEYS_DONE);
		return false;
	}
	if (!inventory_port_path(b->inv, node, num, &request->via.path))
		return false;
	request->mad.attr_id = WIRE_PKEY_TABLE;
	request->mad.attr_mod = block | (inv_is_switch(node) ? (uint32_t)num << 16 : 0);
	if (request->mad.method == WIRE_SET)
		wire_words_encode(table->want + block * PKEYS_A_BLOCK, request->data);
	table->job = request->mad.method;
	table->block = block;
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void table_failed(struct bringup *b, struct inv_node *node, uint8_t num, const char *why)
{
	if (log_allow(&b->pkeys_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING, "%s: its P_Key table %s",
			 inventory_name(node, num).text, why);
	table_close(b, node, num, INV_PKEYS_FAILED);
}

/* A Set answers what the table holds afterwards. */
static bool table_store(struct inv_pkeys *table, uint8_t job, const uint8_t data[64])
{
	uint16_t *have = table->have + table->block * PKEYS_A_BLOCK, got[PKEYS_A_BLOCK];

	wire_words_decode(data, got);

	bool same = !memcmp(got, table->want + table->block * PKEYS_A_BLOCK, sizeof(got));

	memcpy(have, got, sizeof(got));
	table->known |= 1ull << table->block;
	if (job == WIRE_GET)
		return true;
	table->wrote = true;
	return same || !table->planned; /* else another one is wanted meanwhile */
}

void pkeys_answered(struct bringup *b, const struct batch_job *job, const struct mad_answer *answer)
{
	struct inv_node *node = job->object;
	uint8_t num = job->arg;
	struct inv_pkeys *table = port_setup(node, num)->pkeys;
	uint8_t was = table ? table->job : 0;
	int block;

	if (!was)
		return; /* nobody wants it any more */
	table->job = 0;
	if (answer->result != MAD_OK) {
		table_failed(b, node, num, "is unreachable");
		return;
	}
	if (!table_store(table, was, answer->data)) {
		table_failed(b, node, num, "keeps other values than it was sent");
		return;
	}
	if (was == WIRE_SET) {
		struct port_setup *setup = port_setup(node, num);

		setup->at_once |= setup->doubted & INV_SET_PKEYS;
		setup->unread |= INV_SET_PKEYS;
		b->any_unread = true;
	}
	if (is_due(b, node, num) && !table_step(b, node, num, table, &block))
		table_close(b, node, num, INV_PKEYS_DONE); /* mostly, and forgotten then */
	else
		pkeys_step(b, node, num);
}

/* Tried again; one that holds it by now has nothing to be set. */
void pkeys_retry(struct bringup *b, struct inv_node *node, uint8_t num)
{
	if (port_setup(node, num)->pkey_state == INV_PKEYS_FAILED)
		port_setup(node, num)->pkey_state = INV_PKEYS_OPEN;
	pkeys_step(b, node, num);
}

bool pkeys_held(const struct inv_node *node, uint8_t num, unsigned block, struct port_table *table)
{
	static const uint16_t plain[PKEYS_A_BLOCK] = { PKEY_DEFAULT };
	const struct port_setup *setup = port_setup(node, num);
	const struct inv_pkeys *pkeys = setup->pkeys;

	if (setup->pkey_state != INV_PKEYS_DONE ||
	    (setup->unheld & ~setup->unread & INV_SET_PKEYS) ||
	    (pkeys ? block >= pkeys->nblocks || !(pkeys->known >> block & 1) : block))
		return false;
	*table = (struct port_table){ .attr_id = WIRE_PKEY_TABLE,
				      .modifier = block |
						  (inv_is_switch(node) ? (uint32_t)num << 16 : 0),
				      .entries = PKEYS_A_BLOCK,
				      .bits = 16,
				      .mask = UINT16_MAX,
				      .change = { .attribute = "P_KeyTable",
						  .field = "P_Key",
						  .at = block * PKEYS_A_BLOCK } };
	wire_words_encode(pkeys ? pkeys->have + block * PKEYS_A_BLOCK : plain, table->want);
	return true;
}

void pkeys_forget(struct port_setup *setup, bool failed)
{
	setup->pkey_state = failed ? INV_PKEYS_FAILED : INV_PKEYS_OPEN;
	if (setup->pkeys)
		setup->pkeys->known = setup->pkeys->planned = 0;
}
