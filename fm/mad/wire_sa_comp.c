/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The components of SA records (tables of IBA 15.2.5): bit n of a component mask is the n-th width
 * of a record's table, and as components follow each other without gaps, widths are all there is to
 * say. Reserved fields have a number too and are never compared; nor are padding and bits past the
 * last component.
 *
 * A mask compiles to two rows of words, so that a candidate is decided by a handful of ands however
 * many components are asked for. Two kinds of component bend the plain comparison, both at compile
 * time: a LID stands for the port that has it, and a capability mask may ask for "at least these
 * bits" by comparing under itself.
 */
#include <string.h>
#include "fm/mad/wire_sa_comp.h"

#define WIDTH 0x0fff /* of a component, in bits */

uint8_t wire_sa_layout_size(const struct wire_sa_layout *layout)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < layout->ncomps; i++)
		bits += layout->comps[i] & WIDTH;
	return (uint8_t)((bits + 63) / 64 * 8);
}

static uint64_t bits_get(const uint8_t *row, unsigned first, unsigned width)
{
	uint64_t value = 0;

	for (unsigned bit = first; bit < first + width; bit++)
		value = value << 1 | (row[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

static void bits_fill(uint8_t *row, unsigned first, unsigned width)
{
	for (unsigned bit = first; bit < first + width;) {
		if (bit % 8 == 0 && bit + 8 <= first + width) {
			row[bit / 8] = 0xff;
			bit += 8;
		} else {
			row[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
			bit++;
		}
	}
}

uint64_t wire_sa_get(const struct wire_sa_layout *layout, unsigned comp, const uint8_t *row)
{
	unsigned first = 0;

	for (unsigned i = 0; i < comp; i++)
		first += layout->comps[i] & WIDTH;
	return bits_get(row, first, layout->comps[comp] & WIDTH);
}

void wire_sa_put(const struct wire_sa_layout *layout, unsigned comp, uint64_t value, uint8_t *row)
{
	unsigned first = 0, width = layout->comps[comp] & WIDTH;

	for (unsigned i = 0; i < comp; i++)
		first += layout->comps[i] & WIDTH;
	for (unsigned bit = first + width; bit-- > first; value >>= 1) {
		uint8_t at = (uint8_t)(0x80 >> bit % 8);

		row[bit / 8] = (uint8_t)(value & 1 ? row[bit / 8] | at : row[bit / 8] & ~at);
	}
}

static void lid_replace(uint8_t *want, unsigned first, wire_sa_base_lid_fn *base_lid, void *arg)
{
	uint16_t lid = base_lid(arg, (uint16_t)bits_get(want, first, 16));

	want[first / 8] = (uint8_t)(lid >> 8);
	want[first / 8 + 1] = (uint8_t)lid;
}

void wire_sa_match_init(struct wire_sa_match *match, const struct wire_sa_layout *layout,
			uint64_t comp_mask, const uint8_t *request, bool enough,
			wire_sa_base_lid_fn *base_lid, void *arg)
{
	uint8_t *mask = (uint8_t *)match->mask, *want = (uint8_t *)match->want;
	unsigned first = 0;

	match->words = layout->size / 8;
	memset(mask, 0, layout->size);
	memcpy(want, request, layout->size);
	for (unsigned i = 0; i < layout->ncomps; i++) {
		uint16_t comp = layout->comps[i];
		unsigned width = comp & WIDTH;

		if (comp_mask & WIRE_BIT(i) && !(comp & WIRE_R)) {
			if (comp & WIRE_LID)
				lid_replace(want, first, base_lid, arg);
			if (comp & WIRE_AT_LEAST && enough)
				memcpy(mask + first / 8, want + first / 8, width / 8);
			else
				bits_fill(mask, first, width);
		}
		first += width;
	}
	for (unsigned i = 0; i < match->words; i++)
		match->want[i] &= match->mask[i];
}

bool wire_sa_match(const struct wire_sa_match *match, const uint8_t *row)
{
	for (unsigned i = 0; i < match->words; i++) {
		uint64_t word;

		memcpy(&word, row + i * 8, sizeof(word));
		if ((word & match->mask[i]) != match->want[i])
			return false;
	}
	return true;
}

void wire_sa_match_any(struct wire_sa_match *match, const struct wire_sa_layout *layout,
		       uint64_t comps)
{
	uint64_t any[WIRE_SA_ROW_MAX / 8] = { 0 };
	unsigned first = 0;

	for (unsigned i = 0; i < layout->ncomps; i++) {
		if (comps & WIRE_BIT(i))
			bits_fill((uint8_t *)any, first, layout->comps[i] & WIDTH);
		first += layout->comps[i] & WIDTH;
	}
	for (unsigned i = 0; i < match->words; i++) {
		match->mask[i] &= ~any[i];
		match->want[i] &= ~any[i];
	}
}
