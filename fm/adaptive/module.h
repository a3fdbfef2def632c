/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: adaptive routing that another manager left on, as a room (fm/fabric/module.h). */
#ifndef FMD_ADAPTIVE_MODULE_H
#define FMD_ADAPTIVE_MODULE_H

#include "fm/fabric/module.h"
#include "fm/mad/mad.h"
#include "fm/state/state_store.h"
#include "fm/inventory/inventory.h"
#include "routing/tables.h"

/*
 * generalinfo: switches that do not answer GeneralInfo, kept over restarts, so that the next start
 * does not wait for them.
 *
 * state_dir/generalinfo has `GUID DEVICE REVISION` of each, by GUID. A switch with another device
 * ID or firmware counts as one that was not queried.
 */

struct unanswered;

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

struct adaptive;

struct adaptive_switch { /* the result for a switch that had a mode on */
	guid_t guid;
	bool failed;	  /* a mode is still on */
	uint64_t took_us; /* from its first block to the answer that all is off */
};
struct adaptive_ops {
	/* A switch's modes were turned off, or not. */
	void (*turned)(void *arg, const struct adaptive_switch *result);
	/* The answer to adaptive_check(): all modes are off, or their switches refuse. */
	void (*done)(void *arg);
	/* Whether a switch did not answer GeneralInfo in an earlier run. */
	bool (*is_silent)(void *arg, const struct inv_node *node);
	/* A switch has answered GeneralInfo, or (silent) has not. */
	void (*asked)(void *arg, const struct inv_node *node, bool silent);
};

extern const struct fabric_module adaptive_module;

/*
 * The document of `fmctl --json switches`, with the adaptive routing of each switch; the caller
 * owns it. A snapshot must be published.
 */
json_t *adaptive_switches(const struct fabric *fabric);

#endif
