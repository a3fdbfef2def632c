/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#ifndef FMD_AUDIT_REPAIR_H
#define FMD_AUDIT_REPAIR_H

#include "fm/fabric/module.h"
#include "fm/program/table_block.h"

struct repairs;

/* The caller's, never NULL; fabric is borrowed. Free drops what is under way. */
struct repairs *repairs_new(struct fabric *fabric);
void repairs_free(struct repairs *r);

/* That block differs from what was acknowledged. */
void repairs_found(struct repairs *r, const struct table_block *block);
/* All that was written of this kind of table is acknowledged: what was found of it is read. */
void repairs_written(struct repairs *r, enum table_kind kind);
uint64_t repairs_made(const struct repairs *r); /* since start */

#endif
