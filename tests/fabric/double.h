/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double: a fabric inside the process, for unit tests. Made from a snapshot, it stands in for the
 * hardware behind `struct io`, on a simulated loop.
 *
 * It carries SMPs hop by hop (IBA 14.2.2) and LID-routed MADs by the tables that were programmed,
 * holds the state a subnet manager sets, and misbehaves on demand. Nodes are named by the GUID they
 * have in the snapshot; ports by number. All that happens is a function of the snapshot, the calls
 * and the seed. Faults of the caller (no such node) abort.
 */
#pragma once

#include "tests/fabric/double_adaptive.h"
#include "tests/fabric/double_agents.h"
#include "tests/fabric/double_events.h"
#include "tests/fabric/double_held.h"
#include "tests/fabric/double_life.h"
#include "tests/fabric/double_misbehave.h"
#include "tests/fabric/double_traffic.h"
#include "tests/fabric/double_watch.h"
