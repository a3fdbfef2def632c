/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/program/table_row.h"
#include <inttypes.h>
#include <openssl/evp.h>
#include "topology/base/mem.h"

struct image {
	struct store_set blocks, empty;
	uint8_t content[STORE_BLOCKS * TABLES_BLOCK];
};
#define SETS (2 * sizeof(struct store_set))

static struct image image; /* for one call */

static unsigned count(const struct store_set *set)
{
	unsigned n = 0;

	for (unsigned i = 0; i < STORE_WORDS; i++)
		n += __builtin_popcountll(set->words[i]);
	return n;
}

char *table_row_write(const struct store_switch *sw, const struct store_set *blocks)
{
	static const uint8_t none[TABLES_BLOCK] = { [0 ... TABLES_BLOCK - 1] = TABLES_NO_ROUTE };
	uint8_t *at = image.content;
	char *line;
	int begin;

	if (store_next(blocks, 0) == STORE_BLOCKS)
		return NULL;
	image.blocks = *blocks;
	mem_zero(&image.empty, 1);
	for (uint32_t b = store_next(blocks, 0); b < STORE_BLOCKS; b = store_next(blocks, b + 1)) {
		const uint8_t *block = store_block(sw, b);
		bool empty = !memcmp(block, none, TABLES_BLOCK);

		store_put(&image.empty, b, empty);
		memcpy(at, block, TABLES_BLOCK);
		at += empty ? 0 : TABLES_BLOCK;
	}
	line = mem_alloc_unset(32 + (at - (uint8_t *)&image + 2) / 3 * 4, 1);
	begin = sprintf(line, "0x%016" PRIx64 " ", sw->guid);
	EVP_EncodeBlock((unsigned char *)line + begin, (const unsigned char *)&image,
			at - (uint8_t *)&image);
	return line;
}

bool table_row_read(const char *line, struct table_record *record)
{
	size_t length, digits;
	int used = 0;

	if (sscanf(line, "0x%" SCNx64 " %n", &record->guid, &used) != 1 || !used)
		return false;
	digits = strlen(line + used);
	length = digits / 4 * 3;
	/* Blocks and sets are no multiple of three bytes: the last two may be filling. */
	if (digits % 4 || length < SETS || length > sizeof(image) / 3 * 3 ||
	    EVP_DecodeBlock((unsigned char *)&image, (const unsigned char *)line + used, digits) !=
		    (int)length)
		return false;
	for (unsigned i = 0; i < STORE_WORDS; i++)
		if (image.empty.words[i] & ~image.blocks.words[i])
			return false;
	*record = (struct table_record){ record->guid, image.blocks, image.empty, image.content };
	length -= SETS;
	return length == ((count(&image.blocks) - count(&image.empty)) * TABLES_BLOCK + 2) / 3 * 3;
}
