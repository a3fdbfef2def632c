/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wrong_tables: switches that acknowledge forwarding tables and do not hold them. One whose block
 * was written again and was wrong twice, or whose LinearFDBTop is reset as often as it is set, is
 * isolated, and not repaired again. Once in a minute that block, or LinearFDBTop, is written and
 * read: when it is held, the isolation ends and all its tables are written anew.
 *
 * No tree leads through an isolated switch, so its multicast blocks are to be empty, and a switch
 * that takes nothing may hold that by chance. Before such a trial an entry for port 0, which closes
 * no loop, is changed in the block of the first ports, read, and changed back.
 */
#ifndef FMD_ISOLATION_WRONG_TABLES_H
#define FMD_ISOLATION_WRONG_TABLES_H

#include "fm/isolation/wrong_list.h"

/* Lists the switch of a block that it does not hold although it was written twice. */
void wrong_tables_add(struct isolation *is, const struct table_block *at);
/* A sweep found switches that do not keep LinearFDBTop: lists them. */
void wrong_tables_swept(struct isolation *is);
/*
 * Called before a snapshot: isolates switches of the state file that the sweep has found; sets
 * inv_node.wrong_tables, by which repairs leave them out.
 */
void wrong_tables_mark(struct isolation *is);
/* Reads the state file; makes the timer of trials; ends trials and frees all. */
void wrong_tables_load(struct isolation *is);
void wrong_tables_init(struct isolation *is);
void wrong_tables_fini(struct isolation *is);

#endif
