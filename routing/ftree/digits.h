/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* digits: D-Mod-K's digits of all LIDs, made on demand and kept. Private to routing/. */
#ifndef FMD_ROUTING_DIGITS_H
#define FMD_ROUTING_DIGITS_H

#include "routing/ftree/engine.h"

#define DIGITS_NONE 255 /* no port has this LID */

struct digits {
	const struct dests *d;
	struct digit_sequence *sequences;
	uint32_t nsequences;
	uint32_t row_bytes;
	struct digit_row *rows;
	unsigned nrows;
};

/* Without rows so far; d is borrowed. row_bytes: length of a forwarding row. _fini() frees. */
void digits_init(struct digits *digits, const struct dests *d, uint32_t row_bytes);
void digits_fini(struct digits *digits);

/* By LID: topological number / pitch mod modulus. The row belongs to `digits` and lives as long. */
const uint8_t *digits_row(struct digits *digits, uint32_t pitch, unsigned modulus);

#endif
