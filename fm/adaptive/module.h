/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: adaptive routing that another manager left on, as a room (fm/fabric/module.h). */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/mad/mad.h"
#include "fm/state/state.h"
#include "fm/inventory/inventory.h"
#include "routing/tables.h"

/*
 * generalinfo: switches that do not answer GeneralInfo, kept over restarts, so that the next start
 * does not wait for them.
 *
 * state_dir/generalinfo has `GUID DEVICE REVISION` of each, by GUID. A switch with another device
 * ID or firmware counts as one that was not queried.
 */

/*
 * adaptive: switches that another manager left with adaptive routing, private LFTs or hash-based
 * forwarding on.
 *
 * Such a switch does not forward by its LFT: reading the LFT says nothing, and the first plain
 * write ends adaptive routing while the rest of the table is not valid. So before anything else all
 * blocks of such a switch are written in one burst, then these modes are turned off and read back;
 * one switch after another, as its own paths are broken meanwhile.
 *
 * NVIDIA switches that have tables when a sweep finds them are queried once (enum adaptive_mode):
 * one SMP each, two more if the first says so. A switch that does not answer, or rejects the query,
 * has none of these modes. An agent that supports the attribute answers it as fast as any other:
 * after PATIENCE_US without an answer fmd no longer waits, and handles later answers when they
 * come. So a silent switch does not delay bring-up by its time-out. Switches that were silent, had
 * no tables, or are known not to answer are queried when the fabric is idle.
 */

extern const struct fabric_module adaptive_module;

/*
 * The document of `fmctl --json switches`, with the adaptive routing of each switch; the caller
 * owns it. A snapshot must be published.
 */
json_t *adaptive_switches(const struct fabric *fabric);

/*
 * Writes what switches hold in the form of ibdiagnet2.far; those that do not have it on go by the
 * tables in force, and where none has it nothing is written. Returns 0, or -errno when the stream
 * has an error.
 */
int adaptive_write_far(struct fabric *fabric, const struct tables *in_force, FILE *out);

/* Among which ports a switch chooses for a LID: a text, the caller's; NULL = it has no choice. */
json_t *adaptive_choices(struct fabric *fabric, guid_t sw, uint16_t lid);
/*
 * Adds to a document on which SLs an HCA's port (0 = each of them) takes packets out of order, if
 * that was read.
 */
void adaptive_show_hca(struct fabric *fabric, guid_t hca, unsigned port, json_t *doc);

/*
 * Learns how the modifiers of tables for adaptive routing are packed (probe.h), of all switches or
 * (not TOPO_NONE) of one; also as an observer. What was found is kept by the kind of device. fn is
 * called once, with a document (borrowed) or an error.
 */
void adaptive_probe(struct fabric *fabric, uint32_t sw, waiter_fn *fn, void *arg);
