/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * digits: see digits.h. Topological numbers mostly follow each other as LIDs do, so a digit is
 * counted on from the one before, and divided out only where a sequence begins.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/digits.h"
#include "topology/mem.h"

struct digit_row {
	uint32_t pitch;
	unsigned modulus;
	uint8_t *digit;
};

void digits_init(struct digits *digits, const struct dests *d, uint32_t row_bytes)
{
	*digits = (struct digits){ .d = d, .row_bytes = row_bytes };
}

void digits_fini(struct digits *digits)
{
	for (unsigned i = 0; i < digits->nrows; i++)
		free(digits->rows[i].digit);
	free(digits->rows);
}

static void count_on(const struct dests *d, const struct digit_row *row)
{
	uint32_t expected = TOPO_NONE,
		 left = 0; /* next number of the sequence; numbers left with this digit */
	unsigned digit = 0;

	for (uint32_t lid = 1; lid <= d->top; lid++) {
		uint32_t order = d->order[lid];

		if (d->sw[lid] == TOPO_NONE)
			continue;
		if (order != expected) {
			digit = order / row->pitch % row->modulus;
			left = row->pitch - order % row->pitch;
		} else if (!left) {
			digit = digit + 1 < row->modulus ? digit + 1 : 0;
			left = row->pitch;
		}
		row->digit[lid] = digit;
		expected = order + 1;
		left--;
	}
}

const uint8_t *digits_row(struct digits *digits, uint32_t pitch, unsigned modulus)
{
	struct digit_row row = { .pitch = pitch, .modulus = modulus };

	for (unsigned i = 0; i < digits->nrows; i++)
		if (digits->rows[i].pitch == pitch && digits->rows[i].modulus == modulus)
			return digits->rows[i].digit;
	row.digit = mem_alloc_unset(digits->row_bytes, 1);
	memset(row.digit, DIGITS_NONE, digits->row_bytes);
	count_on(digits->d, &row);
	digits->rows = mem_resize(digits->rows, digits->nrows + 1, sizeof(*digits->rows));
	digits->rows[digits->nrows++] = row;
	return row.digit;
}
