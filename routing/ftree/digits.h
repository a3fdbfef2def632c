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

#endif
