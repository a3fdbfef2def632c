/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * table_row: the LFT of a switch as a row of the kind `tables`: its GUID, and in base 64 two sets
 * of blocks, 96 bytes each (those that the row has, and of these those without any entry, which
 * take no room), then the others by number, 64 entries a block. The words of sets have 64 bits in
 * the byte order of the machine: a row of another one is foreign.
 */
#pragma once

#include "fm/program/program_priv.h"

/* The line of those blocks of the switch, the caller's; NULL: the set is empty. */
char *table_row_write(const struct store_switch *sw, const struct store_set *blocks);

struct table_record {
	guid_t guid;
	struct store_set blocks, empty;
	const uint8_t *content; /* of those that are not empty; good until the next one is read */
};
bool table_row_read(const char *line, struct table_record *record); /* false: it is none */
