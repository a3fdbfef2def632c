/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wrong_list: switches that acknowledge a block of a forwarding table, linear or multicast, or
 * LinearFDBTop, and do not hold it, with the block that showed it.
 *
 * state_dir/untrue has those whose isolation is in force, `GUID BLOCK` each: a number, `top`, or
 * `BLOCK.POSITION` of a multicast table. After a restart they are isolated from the first tables
 * on.
 */
#ifndef FMD_ISOLATION_WRONG_LIST_H
#define FMD_ISOLATION_WRONG_LIST_H

#include "fm/isolation/list.h"
#include "fm/program/table_block.h"

struct wrong_table {
	struct wrong_table *next;
	struct isolation *isolation;
	struct table_block at;
	bool met; /* isolation has it; false: read from the file, and not found by a sweep since */
	/* Of module.c: the step of a trial; the last two are of multicast trials only. */
	enum { TRY_BLOCK, TRY_CHANGED, TRY_BACK } step;
	bool failed; /* a step of this trial */
	mad_token token;
};

/*
 * The list owns its entries, at most one for each switch. find: NULL = there is none. add: the
 * switch must not have one. remove: frees it.
 */
struct wrong_table *wrong_list_find(const struct isolation *is, guid_t sw);
struct wrong_table *wrong_list_add(struct isolation *is, const struct table_block *at);
void wrong_list_remove(struct wrong_table *wrong);
/* Reads the file; marks it as changed; ends all trials and frees all entries. */
void wrong_list_load(struct isolation *is);
void wrong_list_changed(struct isolation *is);
void wrong_list_fini(struct isolation *is);

#endif
