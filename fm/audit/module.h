/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: the audit of forwarding tables, and what is repaired because of it, as a room
 * (fm/fabric/module.h).
 */
#ifndef FMD_AUDIT_MODULE_H
#define FMD_AUDIT_MODULE_H

#include "fm/fabric/module.h"
#include "fm/program/table_block.h"

/*
 * repair: blocks of forwarding tables that their switch did not hold, from the finding to the
 * answer that they are held.
 *
 * A block that was found different is written again by an update, of a multicast table by a round
 * of multicast's. When that is acknowledged it is read once more: it is repaired if it is as
 * written, and an event says so. If not, the block was wrong twice, and is reported
 * (fabric_report_table_unheld()). What is not answered, or may be older than a write, is the
 * audit's to find again.
 */

struct repairs;

extern const struct fabric_module audit_module;

#endif
