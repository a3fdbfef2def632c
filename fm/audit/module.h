/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: the audit of all that was written to devices, and what is repaired because of it, as a
 * room (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/program/audit.h"

/*
 * repair: blocks of forwarding tables that their switch did not hold, from the finding to the
 * answer that they are held.
 *
 * A block that was found different is written again by an update, of a multicast table by a round
 * of multicast's. When that is acknowledged it is read once more: it is repaired if it is as
 * written, and an event says so. If not, the block was wrong twice, and is reported
 * (audit_listen()). What is not answered, or may be older than a write, is the audit's to find
 * again.
 */

extern const struct fabric_module audit_module;

/* A switch holds another block of its forwarding table than it acknowledged. */
void audit_mismatch(struct fabric *fabric, guid_t sw, uint32_t block);
/*
 * fn is called, from the loop, with each block that was wrong twice; one room, which stands behind
 * this one in the table of rooms. NULL = none.
 */
typedef void audit_unheld_fn(void *arg, const struct table_block *block);
void audit_listen(struct fabric *fabric, audit_unheld_fn *fn, void *arg);
/*
 * Compares the tables with what switches hold, and repairs what differs. fn is called once, with a
 * document (borrowed) or an error.
 */
void audit_readback(struct fabric *fabric, waiter_fn *fn, void *arg);
