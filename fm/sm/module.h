/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: which subnet manager is master, as a room (fm/fabric/module.h): this manager's own port,
 * the election, M_Keys of another manager. It alone sets the role of this manager
 * (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/loop/loop.h"

extern const struct fabric_module sm_module;

/*
 * An operator's wish: that standby is made master, whatever its rank. manager: its node, host or
 * port (topology/what/what.h); NULL = the highest. fn is called once, perhaps before this returns,
 * unless the client (arg) is gone: {"to","port_guid","took_ms"}, or why the other is not master.
 */
void sm_hand_over(struct fabric *fabric, const char *manager, waiter_fn *fn, void *arg);

/*
 * An operator's wish: a standby becomes master although another one says that it is, which does
 * nothing (alert master-idle). manager: that one's name or port GUID, by which the operator
 * confirms. fn as above: {"from","port_guid","took_ms"}, or why it is not.
 */
void sm_take_over(struct fabric *fabric, const char *manager, waiter_fn *fn, void *arg);

/*
 * Why this manager changes nothing: who is master instead. NULL = it is master, or about to know.
 * Valid until control returns to the loop.
 */
const char *sm_refuses(const struct fabric *fabric);

/*
 * fn once, perhaps before this returns: no host asks this manager any more that has handed the
 * fabric over, and the process may end. One call at a time.
 */
void sm_when_parted(struct fabric *fabric, loop_fn *fn, void *arg);

/* From now on a manager at that port is allowed, as if allowed_sm_guids named it, or not (on). */
void sm_allow(struct fabric *fabric, guid_t port_guid, bool on);

/*
 * A link is in use that leads to another manager: it is asked before its fabric is swept, so that
 * one of the two hands over and writes nothing there.
 */
void sm_meet(struct fabric *fabric, guid_t port_guid, uint16_t lid, const struct mad_path *path);

/*
 * The switch, and its port, by which another manager has asked this one, where nothing is known to
 * be behind that port; 0 = none did since this was last called. The switch is read again.
 */
guid_t sm_met_by(struct fabric *fabric, uint8_t *port);
/* When one asked that way, by the loop's clock, up to 0.1 s early; 0 = never. */
uint64_t sm_met_us(const struct fabric *fabric);

/* Whether that manager would be the master where both are met. */
bool sm_is_outranked(const struct fabric *fabric, const struct wire_sm_info *by);

/*
 * Why this process can't go on, though another may (exit code 1); the loop was stopped for it. NULL
 * = it can.
 */
const char *sm_failed(const struct fabric *fabric);

/* ---- Module lids ----------------------------------------------------------------------------- */

/*
 * LIDs that another manager left, confirmed before the first update after a take-over,
 * as a room (fm/fabric/module.h).
 */

extern const struct fabric_module lids_module;

/* The manager goes on at another port: ports show its LID of before until they are set. */
void lids_moved(struct fabric *fabric, uint16_t before);
