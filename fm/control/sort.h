/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sort: the rows of an answer in the order of one of their columns. */
#ifndef FMD_CONTROL_SORT_H
#define FMD_CONTROL_SORT_H

#include <jansson.h>
#include <stdbool.h>

struct row_order {
	const char *key; /* of a column (command.h); NULL = as they are */
	bool down;	 /* the largest first */
};

/*
 * Numbers by their value, texts naturally ("leaf-2" before "leaf-10"), false before true, lists by
 * their length; numbers before texts. Rows that are equal stay in their order, those that have
 * nothing there come last either way. rows NULL is fine.
 */
void sort_rows(json_t *rows, const struct row_order *order);

#endif
