/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: switches and links that are present but unusable, as a room (fm/fabric/module.h): a port
 * that does not become Active, a switch that takes no Set or does not hold the tables that it
 * acknowledged.
 */
#ifndef FMD_ISOLATION_MODULE_H
#define FMD_ISOLATION_MODULE_H

#include "fm/fabric/module.h"
#include "fm/isolation/list.h"

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

/*
 * refusing: switches that answer Gets but take no Set. A switch that did not take a Set is probed
 * first, by Get(SwitchInfo) and Set of the same content, as all tries of a Set may be lost on a bad
 * path. Each Set without an answer is followed by Get(PortInfo): a switch whose M_Key is somebody
 * else's is listed for that, and sent no further Set. Any other is sent one probe a minute while it
 * is isolated, and nothing else; the first that it takes ends the isolation.
 */

extern const struct fabric_module isolation_module;

/*
 * A switch acknowledged that block of a forwarding table twice and holds another content: it is
 * isolated as ISOLATED_WRONG_TABLES until it holds the block.
 */
void isolation_table_unheld(struct fabric *fabric, const struct table_block *block);

#endif
