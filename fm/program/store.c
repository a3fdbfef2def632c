/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One record a switch, by GUID, for as long as the daemon lives: a switch that is away keeps its
 * tables, and so does its record, while the snapshot has it. At 1,620 switches and 13,300 LIDs a
 * copy of all tables would be 21 MB; what differs from the wanted ones is a few hundred blocks
 * after a fault, and nothing when all is written.
 */
#include "fm/program/program_priv.h"
#include "topology/base/mem.h"

void store_fini(struct store *store)
{
	cl_map_item_t *item, *next;

	for (item = cl_qmap_head(&store->switches); item != cl_qmap_end(&store->switches);
	     item = next) {
		struct store_switch *sw = (struct store_switch *)item;

		next = cl_qmap_next(item);
		free(sw->kept);
		free(sw->past);
		free(sw);
	}
	cl_qmap_init(&store->switches);
	free(store->newer);
	free(store->older);
}

void store_take_spanning(struct store *store, uint32_t nports, struct order_proof *proof)
{
	free(store->older);
	store->older = store->newer;
	store->newer = NULL;
	if (store->given) {
		store->newer = mem_array(store->newer, nports);
		mem_copy(store->newer, store->given, nports);
	}
	proof->spanning = store->newer;
	proof->spanning_older = store->nports == nports ? store->older : NULL;
	store->nports = nports;
}

struct store_switch *store_find(const struct store *store, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&store->switches, guid);

	return item == cl_qmap_end(&store->switches) ? NULL : (struct store_switch *)item;
}

struct store_switch *store_behind(const struct store *store, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get_next(&store->switches, guid);

	return item == cl_qmap_end(&store->switches) ? NULL : (struct store_switch *)item;
}

struct store_switch *store_get(struct store *store, guid_t guid)
{
	struct store_switch *sw = store_find(store, guid);

	if (!sw) {
		sw = mem_new(sw);
		sw->guid = guid;
		cl_qmap_insert(&store->switches, guid, &sw->item);
	}
	return sw;
}

/* ---- Blocks that are not as wanted ----------------------------------------------------------- */

static unsigned rank_of(const struct store_switch *sw, uint32_t block)
{
	uint64_t ahead = ((uint64_t)1 << block % 64) - 1;

	return sw->before[block / 64] +
	       (unsigned)__builtin_popcountll(sw->own.words[block / 64] & ahead);
}

const uint8_t *store_own_block(const struct store_switch *sw, uint32_t block)
{
	return sw->kept + (size_t)rank_of(sw, block) * TABLES_BLOCK;
}

void store_sent(struct store_switch *sw, uint32_t block, const uint8_t content[TABLES_BLOCK])
{
	if (!store_has(&sw->own, block)) {
		if (!memcmp(store_block(sw, block), content, TABLES_BLOCK))
			return;

		unsigned count = sw->before[STORE_WORDS - 1] +
				 (unsigned)__builtin_popcountll(sw->own.words[STORE_WORDS - 1]),
			 rank = rank_of(sw, block), word;

		if (!(count & (count + 1))) /* room grows by powers of two */
			sw->kept = mem_resize(sw->kept, 2 * count + 2, TABLES_BLOCK);
		memmove(sw->kept + (rank + 1) * TABLES_BLOCK, sw->kept + rank * TABLES_BLOCK,
			(count - rank) * TABLES_BLOCK);
		store_put(&sw->own, block, true);
		for (word = block / 64 + 1; word < STORE_WORDS; word++)
			sw->before[word]++;
	}
	memcpy(sw->kept + (size_t)rank_of(sw, block) * TABLES_BLOCK, content, TABLES_BLOCK);
}

const uint8_t *store_shown(const struct store_switch *sw, uint32_t block)
{
	if (store_has(&sw->known, block) || store_has(&sw->cached, block))
		return store_block(sw, block);
	for (uint32_t i = 0; i < sw->npast; i++)
		if (sw->past[i].block == block)
			return sw->past[i].content;
	return NULL;
}

void store_past_end(struct store_switch *sw, uint32_t block)
{
	for (uint32_t i = sw->npast; i-- > 0;)
		if (sw->past[i].block == block)
			sw->past[i] = sw->past[--sw->npast];
}

void store_read(struct store_switch *sw, uint32_t block, const uint8_t content[TABLES_BLOCK])
{
	store_past_end(sw, block);
	sw->past = mem_array_resize(sw->past, sw->npast + 1);
	sw->past[sw->npast].block = block;
	memcpy(sw->past[sw->npast++].content, content, TABLES_BLOCK);
}

void store_leave(struct store_switch *sw, uint32_t block)
{
	if (store_has(&sw->known, block) || store_has(&sw->cached, block))
		store_read(sw, block, store_block(sw, block));
}

void store_rebase(struct store_switch *sw, const uint8_t *row, uint32_t nblocks)
{
	struct store_switch was = *sw;
	uint32_t block;

	mem_zero(&sw->own, 1);
	mem_zero(&sw->before, 1);
	sw->kept = NULL;

	sw->row_wanted = row;
	sw->nblocks = nblocks;
	for (block = 0; block < was.nblocks; block++) {
		if (block >= nblocks) {
			store_put(&sw->known, block, false);
			store_put(&sw->cached, block, false);
		} else if (store_has(&was.known, block) || store_has(&was.busy, block) ||
			   store_has(&was.cached, block)) {
			store_sent(sw, block, store_block(&was, block));
		}
	}
	free(was.kept);
}

uint32_t store_next(const struct store_set *set, uint32_t from)
{
	uint32_t word = from / 64;

	if (word >= STORE_WORDS)
		return STORE_BLOCKS;

	uint64_t left = set->words[word] & ~(uint64_t)0 << from % 64;

	while (!left && ++word < STORE_WORDS)
		left = set->words[word];
	return left ? word * 64 + __builtin_ctzll(left) : STORE_BLOCKS;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

bool program_same(const struct store_switch *sw, uint32_t block, const uint8_t *data)
{
	uint32_t first = block * TABLES_BLOCK, count = TABLES_BLOCK;
	uint32_t top = sw->node ? inv_wanted(sw->node)->top : 0;

	if (top && top < first + count)
		count = top < first ? 0 : top - first + 1;
	return !memcmp(data, store_block(sw, block), count);
}

bool program_differs(const struct program *p, const struct store_switch *sw, uint32_t block)
{
	return (!store_has(&sw->known, block) && !store_has(&sw->cached, block)) ||
	       (store_has(&sw->own, block) &&
		memcmp(store_block(sw, block), tables_block(p->wanted, sw->row, block),
		       TABLES_BLOCK)) ||
	       program_parts(p, sw, block, tables_block(p->wanted, sw->row, block));
}

unsigned program_parts(const struct program *p, const struct store_switch *sw, uint32_t block,
		       const uint8_t *ports)
{
	return program_by_entries(p, sw)
		       ? p->entries->differ(p->entries->arg, sw->node, block, ports)
		       : 0;
}

void program_know_entries(struct program *p, struct store_switch *sw, uint32_t first, uint32_t end)
{
	uint8_t ports[TABLES_BLOCK];

	for (uint32_t block = first; block < end; block++)
		if (!store_has(&sw->known, block) && !store_has(&sw->busy, block) &&
		    !store_has(&sw->cached, block) && program_by_entries(p, sw) &&
		    p->entries->ports(p->entries->arg, sw->node, block, ports)) {
			store_past_end(sw, block);
			store_sent(sw, block, ports);
			store_put(&sw->known, block, true);
		}
}

/* ---- What switches hold ---------------------------------------------------------------------- */

/* It was shown to hold these rows, block by block; mostly it was. */
static bool holds_wanted(const struct store_switch *sw, const uint8_t *row, uint32_t blocks)
{
	if (!sw || sw->row_wanted != row || sw->nblocks < blocks)
		return false;
	for (uint32_t w = 0; w * 64 < blocks; w++) {
		uint64_t all = blocks - w * 64 < 64 ? ((uint64_t)1 << (blocks - w * 64)) - 1
						    : ~(uint64_t)0;

		if (((sw->known.words[w] | sw->cached.words[w]) & all) != all ||
		    (sw->own.words[w] & all))
			return false;
	}
	return true;
}

bool program_held(const struct program *p, const struct topo *t, const struct tables *tables,
		  uint32_t row, struct tables *out)
{
	const struct store_switch *sw = store_find(&p->store, t->nodes[row].guid);
	uint32_t blocks = tables_blocks(tables);
	bool differs = false;

	for (uint32_t b = holds_wanted(sw, tables_row(tables, row), blocks) ? blocks : 0;
	     b < blocks; b++) {
		const uint8_t *shown = sw && b < sw->nblocks ? store_shown(sw, b) : NULL;
		const uint8_t *want = tables_block(tables, row, b);

		if (shown == want || (shown && !memcmp(shown, want, TABLES_BLOCK)))
			continue;
		if (!differs)
			memcpy(tables_row(out, row), tables_row(tables, row), tables->stride);
		differs = true;
		if (shown)
			memcpy(tables_block(out, row, b), shown, TABLES_BLOCK);
		else
			memset(tables_block(out, row, b), TABLES_NO_ROUTE, TABLES_BLOCK);
	}
	return differs;
}

/* ---- Once something failed ------------------------------------------------------------------ */

/* Whether all switches further on the new path have acknowledged it. */
static bool path_in_place(const struct program *p, uint32_t row, uint32_t lid)
{
	const struct topo *t = p->topo;

	for (uint32_t hops = 0; hops <= t->nswitches; hops++) {
		unsigned out = tables_row(p->wanted, row)[lid];

		if (!out || out > t->nodes[row].nports || !topo_port(t, row, out)->link_up)
			return true;

		const struct topo_port *peer = topo_peer(t, topo_port(t, row, out));

		if (peer->node >= t->nswitches)
			return true;
		row = peer->node;

		const struct store_switch *sw = p->rows[row];
		uint32_t block = lid / TABLES_BLOCK;
		if (!(sw && store_has(&sw->known, block) &&
		      store_block(sw, block)[lid % TABLES_BLOCK] ==
			      tables_row(p->wanted, row)[lid]))
			return false;
	}
	return true;
}

uint64_t program_allowed(const struct program *p, const struct program_part *part)
{
	uint64_t mask = part->take & ~part->last;

	if (!p->any_failed)
		return part->take;
	if (p->order.strict)
		return 0;
	for (uint64_t left = mask; left; left &= left - 1) {
		uint32_t bit = __builtin_ctzll(left);

		if (!path_in_place(p, part->sw, part->block * TABLES_BLOCK + bit))
			mask &= ~(1ull << bit);
	}
	return mask;
}

unsigned program_count_failed(const struct program *p)
{
	unsigned failed = 0;

	for (uint32_t row = 0; row < p->topo->nswitches; row++)
		for (uint32_t block = 0;
		     p->rows[row] && p->rows[row]->failed && block < tables_blocks(p->wanted);
		     block++)
			failed += program_differs(p, p->rows[row], block);
	return failed;
}

/* ---- For others ------------------------------------------------------------------------------ */

void program_refusers(const struct program *p, void (*fn)(void *arg, guid_t sw), void *arg)
{
	QMAP_EACH (&p->store.switches, store_switch, sw)
		if (sw->refuses && sw->node && !sw->node->gone && !sw->node->silent)
			fn(arg, sw->guid);
}

uint64_t program_blocks_written(const struct program *p)
{
	return p->blocks_written;
}

void program_forget(struct program *p, guid_t guid)
{
	struct store_switch *sw = store_find(&p->store, guid);

	if (!sw)
		return;
	mem_zero(&sw->known, 1);
	sw->npast = 0;
	mem_zero(&sw->cached, 1);
}
