/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The components of SA records (tables of IBA 15.2.5): bit n of a component mask is the n-th width
 * below, and as components follow each other without gaps, widths are all there is to say. Reserved
 * fields have a number too and are never compared; nor are padding and bits past the last component.
 *
 * A mask compiles to two rows of words, so that a candidate is decided by a handful of ands however
 * many components are asked for. Two kinds of component bend the plain comparison, both at compile
 * time: a LID stands for the port that has it, and a capability mask may ask for "at least these
 * bits" by comparing under itself.
 */
#include <string.h>
#include "fm/mad/wire_sa.h"

#define WIDTH  0x0fff
#define R      0x8000 /* reserved: skipped */
#define LID    0x4000
#define ENOUGH 0x2000

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint16_t node_comps[] = {
	LID | 16, R | 16, 8,   8,  8,  8,  /* versions, type, ports */
	64,	  64,	  64,  16, 16, 32, /* GUIDs, PartitionCap, DeviceID, Revision */
	8,	  24,	  512,		   /* local port, VendorID, description */
};

static const uint16_t port_info_comps[] = {
	LID | 16,    8,	    R | 8,	      /* options say how to answer, not what to match */
	64,	     64,    16,	   16,	      /* M_Key, GID prefix, LID, SM LID */
	ENOUGH | 32, 16,    16,		      /* CapabilityMask, diagnostics, M_Key lease */
	8,	     8,	    8,	   8,	      /* local port, width enabled, supported, active */
	4,	     4,	    4,	   4,	      /* speed supported, state, physical, down default */
	2,	     R | 3, 3,		      /* M_Key protection, LMC */
	4,	     4,	    4,	   4,	      /* speed active, enabled, NeighborMTU, SM SL */
	4,	     4,	    8,	   8,	  8,  /* VLCap, InitType, high limit, arbitration caps */
	4,	     4,	    3,	   5,	      /* InitTypeReply, MTUCap, VLStallCount, HOQLife */
	4,	     1,	    1,	   1,	  1,  /* OperationalVLs, enforcement, raw filters */
	16,	     16,    16,	   8,	      /* violations, GUIDCap */
	1,	     R | 2, 5,	   R | 3, 5,  /* re-register, SubnetTimeOut, RespTimeValue */
	4,	     4,	    16,	   R | 8, 24, /* thresholds, credit hint, round trip */
	ENOUGH | 16, 4,	    4,	   R | 3, 5,  /* CapabilityMask2, extended speeds */
};

static const uint16_t switch_info_comps[] = {
	LID | 16, R | 16, 16, 16, 16, 16, /* caps, LinearFDBTop */
	8,	  8,	  8,  5,  1,  2,  /* default ports, life time, change, SL2VL */
	16,	  16,	  1,  1,  1,  1,  1, R | 3, R | 8, 16, /* .. EnhancedPort0, MFDBTop */
};

static const uint16_t lft_comps[] = { LID | 16, 16, R | 32, 512 };
static const uint16_t mft_comps[] = { LID | 16, 4, R | 3, 9, R | 32, 512 };
static const uint16_t sm_info_comps[] = { LID | 16, R | 16, 64, 64, 32, 4, 4 };
static const uint16_t link_comps[] = { LID | 16, 8, 8, LID | 16 };
static const uint16_t guid_info_comps[] = {
	LID | 16, 8, R | 8, R | 32, 64, 64, 64, 64, 64, 64, 64, 64,
};
static const uint16_t pkey_comps[] = { LID | 16, 16, 8, R | 8, R | 16, 512 };
static const uint16_t inform_comps[] = {
	128, 16, R | 48, 128, 16, 16, R | 16, 8, 8, 16, 16, 24, R | 3, 5, R | 8, 24,
};

static const uint16_t sl2vl_comps[] = { LID | 16, 8, 8, R | 32, 64 };
static const uint16_t vl_arb_comps[] = { LID | 16, 8, 8, R | 32, 512 };
static const uint16_t service_comps[] = {
	64, 128, 16, R | 16, R | 32, 128, 512, /* the lease runs: nothing to compare with */
	8,  8,	 8,  8,	     8,	     8,	  8,   8,  8,  8,  8,  8,  8,  8,  8, 8, /* data */
	16, 16,	 16, 16,     16,     16,  16,  16, 32, 32, 32, 32, 64, 64,
};

#define LAYOUT(id, bytes, table)                                                                   \
	{                                                                                          \
		id, bytes, COUNT(table), table                                                     \
	}
static const struct wire_sa_layout layouts[] = {
	LAYOUT(WIRE_SA_NODE, 112, node_comps),
	LAYOUT(WIRE_SA_PORT_INFO, 72, port_info_comps),
	LAYOUT(WIRE_SA_SWITCH_INFO, 24, switch_info_comps),
	LAYOUT(WIRE_SA_LFT, 72, lft_comps),
	LAYOUT(WIRE_SA_MFT, 72, mft_comps),
	LAYOUT(WIRE_SA_SM_INFO, 32, sm_info_comps),
	LAYOUT(WIRE_SA_LINK, 8, link_comps),
	LAYOUT(WIRE_SA_GUID_INFO, 72, guid_info_comps),
	LAYOUT(WIRE_SA_PKEY, 72, pkey_comps),
	LAYOUT(WIRE_SA_SL2VL, 16, sl2vl_comps),
	LAYOUT(WIRE_SA_VL_ARB, 72, vl_arb_comps),
	LAYOUT(WIRE_SA_SERVICE, 176, service_comps),
	LAYOUT(WIRE_SA_INFORM_INFO_RECORD, 64, inform_comps),
};

const struct wire_sa_layout *wire_sa_layout(uint16_t attr_id)
{
	for (unsigned i = 0; i < COUNT(layouts); i++)
		if (layouts[i].attr_id == attr_id)
			return &layouts[i];
	return NULL;
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

		if (comp_mask & WIRE_BIT(i) && !(comp & R)) {
			if (comp & LID)
				lid_replace(want, first, base_lid, arg);
			if (comp & ENOUGH && enough)
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
