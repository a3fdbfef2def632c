/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * digits: see digits.h. Topological numbers mostly ascend with LIDs. In such a sequence the digits
 * are periodic: the first period is counted, and copied for the others.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/digits.h"
#include "topology/mem.h"

struct digit_row {
	uint32_t pitch;
	unsigned modulus;
	uint8_t *digit;
};

struct digit_sequence { /* LIDs that follow each other, as their topological numbers do */
	uint32_t lid, count, order;
};

static void find_sequences(struct digits *digits)
{
	const struct dests *d = digits->d;
	struct digit_sequence now = { 0 }, *next = digits->sequences;

	for (uint32_t lid = 1; lid <= d->top; lid++) {
		bool used = d->sw[lid] != TOPO_NONE;

		if (now.count && !(used && d->order[lid] == now.order + now.count)) {
			*next++ = now;
			now.count = 0;
		}
		if (used && !now.count)
			now = (struct digit_sequence){ lid, 0, d->order[lid] };
		now.count += used;
	}
	if (now.count)
		*next++ = now;
	digits->nsequences = next - digits->sequences;
}

void digits_init(struct digits *digits, const struct dests *d, uint32_t row_bytes)
{
	*digits = (struct digits){ .d = d, .row_bytes = row_bytes };
	digits->sequences = mem_alloc_unset(d->top + 1u, sizeof(*digits->sequences));
	find_sequences(digits);
}

void digits_fini(struct digits *digits)
{
	for (unsigned i = 0; i < digits->nrows; i++)
		free(digits->rows[i].digit);
	free(digits->rows);
	free(digits->sequences);
}

/* Digits of `count` numbers from `order` on. */
static void count_up(const struct digit_row *row, uint8_t *at, uint32_t count, uint32_t order)
{
	unsigned digit = order / row->pitch % row->modulus;
	uint32_t left = row->pitch - order % row->pitch; /* numbers with this digit */

	while (count) {
		uint32_t n = left < count ? left : count;

		if (n == 1)
			*at = digit;
		else
			memset(at, digit, n);
		at += n;
		count -= n;
		digit = digit + 1 < row->modulus ? digit + 1 : 0;
		left = row->pitch;
	}
}

/* Counts one period, then copies what is there behind itself. */
static void fill_sequence(const struct digit_row *row, const struct digit_sequence *s)
{
	uint64_t round = (uint64_t)row->pitch * row->modulus;
	uint32_t done = round < s->count ? round : s->count;
	uint8_t *at = row->digit + s->lid;

	count_up(row, at, done, s->order);
	while (done < s->count) {
		uint32_t n = done < s->count - done ? done : s->count - done;

		memcpy(at + done, at, n);
		done += n;
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
	for (uint32_t i = 0; i < digits->nsequences; i++)
		fill_sequence(&row, &digits->sequences[i]);
	digits->rows = mem_resize(digits->rows, digits->nrows + 1, sizeof(*digits->rows));
	digits->rows[digits->nrows++] = row;
	return row.digit;
}
