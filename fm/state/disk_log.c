/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/disk_log.h"
#include <stdint.h>
#include <stdlib.h>
#include "topology/base/mem.h"

/*
 * SQLite's file format, "WAL format": a head of 32 bytes, with its own sum in the last 8 of them,
 * and frames of 24 bytes and a page. A frame of this log has both salts of the head, and the sum of
 * all before it; each first frame behind a checkpoint has other salts.
 */
#define HEAD	  32
#define FRAME	  24
#define MAGIC_LOW 0x377f0682 /* its sums are of little-endian words; one more: big-endian */

static uint32_t word(const uint8_t *at, bool big)
{
	return big ? (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]
		   : (uint32_t)at[3] << 24 | at[2] << 16 | at[1] << 8 | at[0];
}

static void add(uint32_t sum[2], const uint8_t *at, size_t length, bool big)
{
	for (size_t i = 0; i < length; i += 8) {
		sum[0] += word(at + i, big) + sum[1];
		sum[1] += word(at + i + 4, big) + sum[0];
	}
}

static bool has_sum(const uint8_t *at, const uint32_t sum[2])
{
	return word(at, true) == sum[0] && word(at + 4, true) == sum[1];
}

static bool look(const uint8_t *log, size_t size)
{
	bool big = word(log, true) != MAGIC_LOW, fine = true;
	size_t page = word(log + 8, true), frame = FRAME + page;
	uint32_t sum[2] = { 0, 0 };

	add(sum, log, HEAD - 8, big);
	if (!has_sum(log + HEAD - 8, sum))
		return size < HEAD + FRAME; /* there were no frames yet */
	for (size_t at = HEAD; at + frame <= size; at += frame) {
		const uint8_t *f = log + at;
		bool salts[2] = { word(f + 8, true) == word(log + 16, true),
				  word(f + 12, true) == word(log + 20, true) };

		if (!fine && salts[0] && salts[1] && word(f + 4, true))
			return false; /* a change that ended here */
		if (!salts[0] && !salts[1])
			return true; /* of before the latest checkpoint */
		add(sum, f, 8, big);
		add(sum, f + FRAME, page, big);
		fine &= salts[0] && salts[1] && has_sum(f + 16, sum);
		if (!fine && word(f + 4, true))
			return false;
	}
	return true;
}

bool disk_log_is_whole(const char *path)
{
	char *name = mem_printf("%s-wal", path);
	size_t size;
	char *log = mem_read_path(name, &size);
	bool whole = !log || size < HEAD || look((const uint8_t *)log, size);

	free(log);
	free(name);
	return whole;
}
