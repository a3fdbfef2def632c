/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attributes that are tables: LFT, multicast, P_Keys, SL2VL, VL arbitration. */
#include <string.h>
#include "tests/fabric/double_smp.h"
#include "topology/base/mem.h"

#define PKEYS_BLOCK 32

uint16_t smp_lft_get(struct smp_request *r)
{
	uint32_t first = r->mod * WIRE_LFT_BLOCK;

	if (r->mod > 0xffff || first >= r->node->si.lft_cap)
		return STATUS_BAD_FIELD;
	memset(r->data, LFT_NONE, WIRE_SMP_DATA);
	if (first < r->node->lft_size)
		memcpy(r->data, r->node->lft + first, WIRE_LFT_BLOCK);
	return 0;
}

/* Blocks come one after the other: there is room for some more each time. */
static void lft_fit(struct dnode *node, uint32_t size)
{
	if (size <= node->lft_size)
		return;
	size += size / 2 / WIRE_LFT_BLOCK * WIRE_LFT_BLOCK;
	node->lft = mem_resize(node->lft, size, 1);
	memset(node->lft + node->lft_size, LFT_NONE, size - node->lft_size);
	node->lft_size = size;
}

/* The first plain write ends adaptive routing, and till then the rest of the table was not kept. */
static void end_adaptive(struct dnode *node)
{
	if (!(node->adaptive[3] & 1))
		return;
	node->adaptive[3] &= (uint8_t)~1;
	if (node->lft_size)
		memset(node->lft, LFT_NONE, node->lft_size);
}

uint16_t smp_lft_set(struct smp_request *r)
{
	uint32_t first = r->mod * WIRE_LFT_BLOCK;

	if (r->mod > 0xffff || first >= r->node->si.lft_cap)
		return STATUS_BAD_FIELD;
	end_adaptive(r->node);
	lft_fit(r->node, first + WIRE_LFT_BLOCK);
	memcpy(r->node->lft + first, r->data, WIRE_LFT_BLOCK);
	return 0;
}

void double_set_lft(struct double_fabric *d, guid_t guid, uint16_t lid, uint8_t port)
{
	struct dnode *node = double_node(d, guid);

	lft_fit(node, (lid / WIRE_LFT_BLOCK + 1u) * WIRE_LFT_BLOCK);
	node->lft[lid] = port;
	ways_changed(d);
}

/* Modifier: block of 32 MLIDs [8:0], column of 16 ports [31:28]. */
static uint16_t *mft_block(struct smp_request *r)
{
	struct dnode *node = r->node;
	unsigned row = (r->mod & 0x1ff) * MFT_BLOCK, column = r->mod >> 28;

	if (row + MFT_BLOCK > node->si.mft_cap || column >= node->columns)
		return NULL;
	if (!node->mft)
		node->mft = mem_alloc((size_t)node->si.mft_cap * node->columns, sizeof(uint16_t));
	return &node->mft[row * node->columns + column];
}

uint16_t smp_mft_get(struct smp_request *r)
{
	const uint16_t *entry = mft_block(r);
	uint16_t masks[MFT_BLOCK];

	if (!entry)
		return STATUS_BAD_FIELD;
	for (unsigned i = 0; i < MFT_BLOCK; i++)
		masks[i] = entry[i * r->node->columns];
	wire_words_encode(masks, r->data); /* 32 words, as a block of P_Keys */
	return 0;
}

uint16_t smp_mft_set(struct smp_request *r)
{
	uint16_t *entry = mft_block(r);
	uint16_t masks[MFT_BLOCK];

	if (!entry)
		return STATUS_BAD_FIELD;
	wire_words_decode(r->data, masks);
	for (unsigned i = 0; i < MFT_BLOCK; i++)
		entry[i * r->node->columns] = masks[i];
	return 0;
}

unsigned double_pkey_cap(const struct dport *port)
{
	return smp_is_external(port) ? port->node->si.enforce_cap : port->node->ni.partition_cap;
}

/* Modifier: block [15:0], port [31:16]. */
static uint16_t *pkey_block(struct smp_request *r)
{
	unsigned num = r->mod >> 16, block = r->mod & 0xffff;
	unsigned cap;
	struct dport *port = r->arrival;

	if (is_switch(r->node)) {
		if (num > r->node->ni.nports)
			return NULL;
		port = &r->node->ports[num];
	}
	cap = double_pkey_cap(port);
	if (block * PKEYS_BLOCK >= cap)
		return NULL;
	if (!port->pkeys) {
		port->pkeys = mem_alloc((cap + PKEYS_BLOCK - 1) / PKEYS_BLOCK,
					PKEYS_BLOCK * sizeof(uint16_t));
		port->pkeys[0] = 0xffff;
	}
	return port->pkeys + block * PKEYS_BLOCK;
}

uint16_t smp_pkeys_get(struct smp_request *r)
{
	const uint16_t *pkeys = pkey_block(r);

	if (!pkeys)
		return STATUS_BAD_FIELD;
	wire_words_encode(pkeys, r->data);
	return 0;
}

uint16_t smp_pkeys_set(struct smp_request *r)
{
	uint16_t *pkeys = pkey_block(r);

	if (!pkeys)
		return STATUS_BAD_FIELD;
	wire_words_decode(r->data, pkeys);
	return 0;
}

/* ---- SL2VL, VL arbitration ------------------------------------------------------------------- */

/*
 * Modifier: output port [7:0], input port [15:8]; bits 17 and 16: all of either, where the switch
 * says it knows them.
 */
static bool sl2vl_ports(struct smp_request *r, unsigned *in, unsigned *out)
{
	unsigned nports = r->node->ni.nports;

	*in = *out = 0;
	if (!is_switch(r->node))
		return true;
	*in = r->mod >> 8 & 0xff;
	*out = r->mod & 0xff;
	return *in <= nports && *out <= nports && (r->node->si.opt_sl2vl || !(r->mod >> 16));
}

uint16_t smp_sl2vl_get(struct smp_request *r)
{
	unsigned in, out;

	if (!sl2vl_ports(r, &in, &out) || r->mod >> 16)
		return STATUS_BAD_FIELD;
	memset(r->data, 0, WIRE_SMP_DATA);
	memcpy(r->data, (is_switch(r->node) ? &r->node->ports[out] : r->arrival)->sl2vl[in], 8);
	return 0;
}

uint16_t smp_sl2vl_set(struct smp_request *r)
{
	bool all_in = r->mod & 0x20000, all_out = r->mod & 0x10000;
	unsigned in, out, last = r->node->ni.nports;

	if (!sl2vl_ports(r, &in, &out))
		return STATUS_BAD_FIELD;
	if (!is_switch(r->node)) {
		memcpy(r->arrival->sl2vl[0], r->data, 8);
		return 0;
	}
	for (unsigned o = all_out ? 0 : out; o <= (all_out ? last : out); o++)
		for (unsigned i = all_in ? 0 : in; i <= (all_in ? last : in); i++)
			memcpy(r->node->ports[o].sl2vl[i], r->data, 8);
	return 0;
}

/*
 * Modifier: block [31:16], 1 .. 4; port of a switch [15:0]. The entries that are there, 0 = no such
 * block.
 */
static unsigned arb_find(struct smp_request *r, uint8_t **block)
{
	unsigned num = r->mod & 0xffff, which = (r->mod >> 16) - 1, cap = r->d->conf.arb_cap;
	struct dport *port = r->arrival;

	if (which > 3 || (is_switch(r->node) && num > r->node->ni.nports) || cap <= which % 2 * 32)
		return 0;
	if (is_switch(r->node))
		port = &r->node->ports[num];
	*block = port->arb[which];
	cap -= which % 2 * 32;
	return cap < 32 ? cap : 32;
}

uint16_t smp_arb_get(struct smp_request *r)
{
	uint8_t *block;
	unsigned entries = arb_find(r, &block);

	if (!entries)
		return STATUS_BAD_FIELD;
	memset(r->data, 0xff, WIRE_SMP_DATA); /* what is not there, or reserved, may be anything */
	for (unsigned i = 0; i < 2 * entries; i++)
		r->data[i] = block[i] | (i % 2 ? 0 : 0xf0);
	return 0;
}

uint16_t smp_arb_set(struct smp_request *r)
{
	uint8_t *block;
	unsigned entries = arb_find(r, &block);

	if (!entries)
		return STATUS_BAD_FIELD;
	memcpy(block, r->data, 2 * entries);
	return smp_arb_get(r);
}
