/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_print: finds changed blocks as a second copy of the tables would, in an eighth of the
 * memory.
 *
 * A block of 64 entries is hashed to 64 bits by NH (Black, Halevi, Krawczyk, Krovetz, Rogaway:
 * UMAC, 1999) over words of 64 bits, and its 128 bits folded by a multilinear function of keys of
 * 128. Both are universal: for any two different blocks that were made without knowledge of the
 * keys, the chance over the keys that their fingerprints agree is at most 2^-64 each. A proof by
 * fingerprints relies on nothing else, whatever the blocks look like. The chance of one error in a
 * year of a thousand changed blocks a second is below 2^-28. The keys are derived from the caller's
 * seed by splitmix64.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check_print.h"
#include "topology/mem.h"
#include "topology/random.h"

void check_prints_init(struct check_prints *p, uint64_t seed)
{
	*p = (struct check_prints){ 0 };
	for (unsigned i = 0; i < CHECK_PRINT_WORDS; i++)
		p->key[i] = random_next(&seed);
	for (unsigned i = 0; i < 3; i++) {
		p->fold[i] = random_next(&seed);
		p->fold[i] = p->fold[i] << 64 | random_next(&seed);
	}
}

void check_prints_fini(struct check_prints *p)
{
	free(p->of);
	p->of = NULL;
}

static uint64_t print(const struct check_prints *p, const uint8_t *block)
{
	unsigned __int128 sum = 0;
	uint64_t word[CHECK_PRINT_WORDS];

	memcpy(word, block, sizeof(word));
	for (unsigned i = 0; i < CHECK_PRINT_WORDS; i += 2)
		sum += (unsigned __int128)(word[i] + p->key[i]) * (word[i + 1] + p->key[i + 1]);
	sum = p->fold[0] + p->fold[1] * (uint64_t)sum + p->fold[2] * (uint64_t)(sum >> 64);
	return sum >> 64;
}

static void add(struct check_blocks *blocks, uint32_t sw, uint32_t block)
{
	if (blocks->count == blocks->room) {
		blocks->room = blocks->room ? blocks->room * 2 : 256;
		blocks->list = mem_resize(blocks->list, blocks->room, sizeof(*blocks->list));
	}
	blocks->list[blocks->count++] = (struct check_block){ sw, block };
}

void check_prints_take(struct check_prints *p, const struct tables *tables,
		       struct check_blocks *changed)
{
	uint32_t nblocks = tables_blocks(tables);

	if (p->nswitches != tables->nswitches || p->nblocks != nblocks || !p->of) {
		free(p->of);
		p->of = mem_alloc((size_t)tables->nswitches * nblocks + 1, sizeof(*p->of));
		p->nswitches = tables->nswitches;
		p->nblocks = nblocks;
	}
	for (uint32_t sw = 0; sw < tables->nswitches; sw++) {
		const uint8_t *row = tables_row(tables, sw);
		uint64_t *of = p->of + (size_t)sw * nblocks;

		for (uint32_t block = 0; block < nblocks; block++) {
			uint64_t is = print(p, row + block * TABLES_BLOCK);

			if (changed && is != of[block])
				add(changed, sw, block);
			of[block] = is;
		}
	}
}
