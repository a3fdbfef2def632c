/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A file is written by a forked child, and read a record at a time: neither side holds more of it
 * than one switch's blocks, 48 KB at most.
 *
 * Each word's place and value change the sum for certain as long as no other word differs; what
 * else comes of a disk or of an editor is found with all but one chance in 2^64. Whoever reads
 * relies on neither: a file only decides what is to be read.
 */
#include "fm/program/table_file.h"
#include "topology/base/mem.h"

#define BYTE_ORDER_MARK 0x01020304u

static const char magic[8] = { 'f', 'm', 'd', '-', 'l', 'f', 't', 's' };

struct header {
	char magic[8];
	uint32_t version, order;
};

struct head { /* of a switch, or with GUID 0 the end */
	guid_t guid;
	uint32_t count, zero; /* blocks that follow; switches */
};

struct sets {
	struct store_set blocks, empty;
};

uint64_t table_sum(uint64_t sum, const void *words, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += sizeof(sum)) {
		uint64_t word;

		mem_copy(&word, (const char *)words + at, 1);
		sum = (sum + word + 1) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 32;
	}
	return sum;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put(struct table_writer *w, const void *words, size_t bytes)
{
	w->sum = table_sum(w->sum, words, bytes);
	fwrite(words, 1, bytes, w->out);
}

void table_write_begin(struct table_writer *w, FILE *out)
{
	struct header header = { .version = TABLE_FILE_VERSION, .order = BYTE_ORDER_MARK };

	*w = (struct table_writer){ .out = out };
	memcpy(header.magic, magic, sizeof(magic));
	put(w, &header, sizeof(header));
}

void table_write_switch(struct table_writer *w, const struct store_switch *sw,
			const struct store_set *blocks)
{
	static const uint8_t none[TABLES_BLOCK] = { [0 ... TABLES_BLOCK - 1] = TABLES_NO_ROUTE };
	struct head head = { .guid = sw->guid };
	struct sets sets = { .blocks = *blocks };
	uint32_t b;

	if (store_next(blocks, 0) == STORE_BLOCKS)
		return;
	for (b = store_next(blocks, 0); b < STORE_BLOCKS; b = store_next(blocks, b + 1)) {
		bool empty = !memcmp(store_block(sw, b), none, TABLES_BLOCK);

		store_put(&sets.empty, b, empty);
		head.count += !empty;
	}
	put(w, &head, sizeof(head));
	put(w, &sets, sizeof(sets));
	for (b = store_next(blocks, 0); b < STORE_BLOCKS; b = store_next(blocks, b + 1))
		if (!store_has(&sets.empty, b))
			put(w, store_block(sw, b), TABLES_BLOCK);
	w->switches++;
}

void table_write_end(struct table_writer *w)
{
	const struct head end = { .count = w->switches };

	put(w, &end, sizeof(end));

	uint64_t sum = w->sum;

	put(w, &sum, sizeof(sum));
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct table_reader {
	FILE *in;
	bool begun;
	uint64_t sum;
	guid_t last;
	uint32_t switches;
	uint8_t content[STORE_BLOCKS * TABLES_BLOCK];
};

struct table_reader *table_reader_new(FILE *in)
{
	struct table_reader *r = mem_new(r);

	r->in = in;
	return r;
}

void table_reader_free(struct table_reader *r)
{
	if (!r)
		return;
	fclose(r->in);
	free(r);
}

static bool get(struct table_reader *r, void *words, size_t bytes)
{
	if (fread(words, 1, bytes, r->in) != bytes)
		return false;
	r->sum = table_sum(r->sum, words, bytes);
	return true;
}

/* NULL, or what is wrong. */
static const char *get_header(struct table_reader *r)
{
	struct header header;

	if (!get(r, &header, sizeof(header)))
		return "truncated";
	if (memcmp(header.magic, magic, sizeof(magic)) || header.order != BYTE_ORDER_MARK)
		return "not a table file of this machine";
	return header.version == TABLE_FILE_VERSION ? NULL : "written by another version of fmd";
}

static unsigned count(const struct store_set *set)
{
	unsigned n = 0;

	for (unsigned i = 0; i < STORE_WORDS; i++)
		n += __builtin_popcountll(set->words[i]);
	return n;
}

static bool is_sane(const struct table_reader *r, const struct head *head, const struct sets *sets)
{
	if (head->guid <= r->last || head->zero)
		return false;
	for (unsigned i = 0; i < STORE_WORDS; i++)
		if (sets->empty.words[i] & ~sets->blocks.words[i])
			return false;
	return head->count == count(&sets->blocks) - count(&sets->empty);
}

static const char *get_switch(struct table_reader *r, const struct head *head,
			      struct table_record *record)
{
	struct sets sets;

	if (!get(r, &sets, sizeof(sets)))
		return "truncated";
	if (!is_sane(r, head, &sets))
		return "damaged";
	if (!get(r, r->content, (size_t)head->count * TABLES_BLOCK))
		return "truncated";
	r->last = head->guid;
	r->switches++;
	*record = (struct table_record){ head->guid, sets.blocks, sets.empty, r->content };
	return NULL;
}

enum table_result table_reader_next(struct table_reader *r, struct table_record *record,
				    const char **why)
{
	struct head head;
	uint64_t stored;

	*why = r->begun ? NULL : get_header(r);
	r->begun = true;
	if (*why)
		return TABLE_BAD;
	if (!get(r, &head, sizeof(head)))
		*why = "truncated";

	uint64_t sum = r->sum;

	if (*why)
		return TABLE_BAD;
	if (head.guid)
		*why = get_switch(r, &head, record);
	else if (!get(r, &stored, sizeof(stored)))
		*why = "truncated";
	else if (stored != sum || head.count != r->switches || head.zero)
		*why = "damaged";
	else
		*why = fgetc(r->in) == EOF ? NULL : "longer than expected";
	return *why ? TABLE_BAD : head.guid ? TABLE_SWITCH : TABLE_END;
}
