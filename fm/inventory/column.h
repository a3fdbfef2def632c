/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * column: what a part of fmd concludes about each node or port. A part's cells are an array of its
 * own, by the dense numbers of nodes and ports; the inventory knows their size alone. A cell is all
 * zero for what is new, and stays at its address until inventory_fini(), as nodes do. No number is
 * used twice: the answer of a request that was on its way is still written to the cell of a node
 * that was removed meanwhile. Columns are the inventory's, for what they hold is true as long as
 * the record is: it outlives a room that begins again.
 */
#ifndef FMD_INVENTORY_COLUMN_H
#define FMD_INVENTORY_COLUMN_H

#include <stddef.h>
#include <stdint.h>

enum inv_columns {
	/* a cell a node */
	INV_MET,	/* private to inventory.c: the last walk that met it */
	INV_NODE_MARKS, /* enum inv_node_mark */
	INV_WANTED,	/* struct inv_wanted */
	INV_ADAPTIVE,	/* fm/adaptive */
	INV_LABELS,	/* fm/naming */
	INV_SWEEP_NODE, /* struct sweep_node */
	INV_LANES,	/* private to fm/sweep/lanes.c */
	INV_NODE_COLUMNS,
	/* a cell a port */
	INV_MARKS = INV_NODE_COLUMNS, /* enum inv_mark */
	INV_SWEEP_PORT,		      /* struct sweep_port */
	INV_SETUP,		      /* struct port_setup */
	INV_COLUMNS
};

#define INV_CELLS 4096 /* a block: the cells of a node's ports are in one */

struct inv_column {
	char **blocks;
	uint32_t nblocks;
	size_t bytes;		     /* of a cell; 0 = not open */
	void (*removed)(void *cell); /* frees what the cell owns; or NULL */
};

/* The cell of that number, never NULL; `bytes` as when the column was opened. */
static inline void *inv_cell(const struct inv_column *column, uint32_t number, size_t bytes)
{
	return column->blocks[number / INV_CELLS] + number % INV_CELLS * bytes;
}

#endif
