/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transactions are allocated in chunks that stay where they are and go back to a free ring. A token
 * is the generation of the place (upper half) and its index (lower half), so that a finished token
 * never finds the place's next user.
 *
 * TIDs are random numbers of 32 bits, never 0. The table they are found in is direct-mapped by
 * their low bits: a number whose place is held by another transaction is drawn again, and the table
 * doubles when it is half full, so both lookups and new TIDs cost a step or two. The upper 32 bits
 * of a MAD's TID belong to the kernel, which finds the sending agent by them.
 */
#include <stdlib.h>
#include <unistd.h>
#include "fm/mad/xact.h"
#include "topology/base/mem.h"

#define XACT_CHUNK    256
#define TID_TABLE_MIN 256

void xact_table_init(struct xact_table *table)
{
	*table = (struct xact_table){ .tid_mask = TID_TABLE_MIN - 1 };
	link_init(&table->free);
	table->by_tid = mem_alloc(TID_TABLE_MIN, sizeof(*table->by_tid));
}

void xact_table_fini(struct xact_table *table)
{
	for (unsigned i = 0; i < table->nchunks; i++)
		free(table->chunks[i]);
	free(table->chunks);
	free(table->by_tid);
}

static void chunk_add(struct xact_table *table)
{
	struct xact *chunk = mem_alloc(XACT_CHUNK, sizeof(*chunk));

	for (uint32_t i = 0; i < XACT_CHUNK; i++) {
		chunk[i].index = table->nchunks * XACT_CHUNK + i;
		chunk[i].generation = 1;
		link_insert(table->free.prev, &chunk[i].link);
	}
	table->chunks = mem_resize(table->chunks, table->nchunks + 1, sizeof(*table->chunks));
	table->chunks[table->nchunks++] = chunk;
}

struct xact *xact_new(struct xact_table *table)
{
	struct xact *x;

	if (link_empty(&table->free))
		chunk_add(table);
	x = (struct xact *)table->free.next;
	link_remove(&x->link);
	*x = (struct xact){ .index = x->index, .generation = x->generation };
	link_init(&x->link);
	return x;
}

void xact_free(struct xact_table *table, struct xact *x)
{
	link_remove(&x->link);
	if (x->tid) {
		table->by_tid[x->tid & table->tid_mask] = NULL;
		table->tids--;
	}
	x->state = XACT_FREE;
	x->generation += x->generation == UINT32_MAX ? 2 : 1; /* 0 would make the token none */
	link_insert(&table->free, &x->link);
}

mad_token xact_token(const struct xact *x)
{
	return (mad_token)x->generation << 32 | x->index;
}

struct xact *xact_by_token(const struct xact_table *table, mad_token token)
{
	uint32_t index = (uint32_t)token;
	struct xact *x;

	if (index / XACT_CHUNK >= table->nchunks)
		return NULL;
	x = &table->chunks[index / XACT_CHUNK][index % XACT_CHUNK];
	return x->generation == token >> 32 && x->state != XACT_FREE ? x : NULL;
}

static void tids_grow(struct xact_table *table)
{
	uint32_t old = table->tid_mask + 1;
	struct xact **by_tid = mem_alloc(old * 2, sizeof(*by_tid));

	table->tid_mask = old * 2 - 1;
	for (uint32_t i = 0; i < old; i++)
		if (table->by_tid[i])
			by_tid[table->by_tid[i]->tid & table->tid_mask] = table->by_tid[i];
	free(table->by_tid);
	table->by_tid = by_tid;
}

static uint32_t random_word(struct xact_table *table)
{
	if (!table->nrandom) {
		if (getentropy(table->random, sizeof(table->random)))
			abort(); /* no kernel that runs this lacks it, once it has booted */
		table->nrandom = XACT_RANDOM;
	}
	return table->random[--table->nrandom];
}

void xact_give_tid(struct xact_table *table, struct xact *x)
{
	if (++table->tids * 2 > table->tid_mask)
		tids_grow(table);
	do
		x->tid = random_word(table);
	while (!x->tid || table->by_tid[x->tid & table->tid_mask]);
	table->by_tid[x->tid & table->tid_mask] = x;
}

struct xact *xact_by_tid(const struct xact_table *table, uint32_t tid)
{
	struct xact *x = table->by_tid[tid & table->tid_mask];

	return x && x->tid == tid ? x : NULL;
}
