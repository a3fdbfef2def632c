/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wrong_tables: switches that acknowledge forwarding tables and do not hold them. One whose block
 * was written again and was wrong twice, or whose LinearFDBTop is reset as often as it is set, is
 * isolated, and not repaired again. Once in a minute that block, or LinearFDBTop, is written and
 * read: when it is held, the isolation ends and all its tables are written anew.
 *
 * No tree leads through what is isolated, so its multicast blocks are to be empty, and a switch
 * that takes nothing may hold that by chance. Ahead of such a trial an entry for port 0, which
 * makes no ring, is changed in the block of the first ports, read, and changed back.
 */
#ifndef FMD_ISOLATION_WRONG_TABLES_H
#define FMD_ISOLATION_WRONG_TABLES_H

#include "fm/isolation/wrong_list.h"

/* Its switch does not hold that block, though it was written twice. */
void wrong_tables_add(struct isolation *is, const struct table_block *at);
/* A sweep has met switches that do not keep LinearFDBTop. */
void wrong_tables_swept(struct isolation *is);
/*
 * Ahead of a snapshot: those of before the restart that are met by now are isolated; repairs know
 * by inv_node.wrong_tables.
 */
void wrong_tables_mark(struct isolation *is);
void wrong_tables_load(struct isolation *is);
void wrong_tables_init(struct isolation *is);
void wrong_tables_fini(struct isolation *is);

#endif
