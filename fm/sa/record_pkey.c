/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * P_KeyTableRecord (IBA 15.2.5), for requests with the SM_Key: the tables as ports acknowledged
 * them.
 */
#include <string.h>
#include "fm/mad/wire_sa_rows.h"
#include "fm/sa/sa_nodes.h"

#define PKEYS_A_BLOCK 32

static const uint16_t pkey_comps[] = { WIRE_LID | 16, 16, 8, WIRE_R | 8, WIRE_R | 16, 512 };

/* What the port last said; of one that keeps its table to itself, what it has after power-on. */
static void pkeys_of(const struct inv_port *port, unsigned block, uint16_t pkeys[PKEYS_A_BLOCK])
{
	const struct inv_pkeys *table = port->pkeys;

	memset(pkeys, 0, PKEYS_A_BLOCK * sizeof(*pkeys));
	if (table && block < table->nblocks && table->known >> block & 1)
		memcpy(pkeys, table->have + block * PKEYS_A_BLOCK, PKEYS_A_BLOCK * sizeof(*pkeys));
	else if (!block)
		pkeys[0] = SA_DEFAULT_PKEY;
}

static void pkey_rows(struct sa_query *q, uint32_t port, const struct inv_port *inv, unsigned cap)
{
	for (unsigned b = 0; b < (cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK; b++) {
		uint8_t *row = sa_row(q);
		uint32_t before = q->nrows;
		uint16_t pkeys[PKEYS_A_BLOCK];

		if (!row)
			return;
		pkeys_of(inv, b, pkeys);
		wire_pkey_record_encode(sa_port_lid(q->sa, port), q->sa->view.topo->ports[port].num,
					(uint16_t)b, pkeys, row);
		sa_row_keep(q);
		if (q->nrows != before && q->sa->conf.pkey_host_order)
			wire_pkey_record_swap_block(row);
	}
}

/* A block is asked for by its number as the standard has it, or as OpenSM shows it. */
static enum wire_sa_status pkey_prepare(struct sa_query *q)
{
	wire_pkey_record_fix_block(q->data);
	return sa_walk_nodes(q);
}

static void pkey_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);

	for (unsigned num = sa_first_end(node); inv && num <= node->nports; num++)
		if (sa_port_info(inv, num) && sa_shown(q, node->port0 + num))
			pkey_rows(q, node->port0 + num, &inv->ports[num],
				  num <= sa_last_end(node) ? node->pkey_cap : inv->sw.enforce_cap);
}

const struct sa_record sa_record_pkey = {
	.attr_id = WIRE_SA_PKEY,
	.methods = SA_GET | SA_TABLE,
	.trusted = true,
	.layout = SA_COMPONENTS(pkey_comps),
	.prepare = pkey_prepare,
	.emit = pkey_emit,
};
