/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/rooms.h"
#include "fm/adaptive/module.h"
#include "fm/audit/module.h"
#include "fm/cabling/module.h"
#include "fm/hosts/module.h"
#include "fm/inforce/module.h"
#include "fm/keys/module.h"
#include "fm/links_out/module.h"
#include "fm/mirror/module.h"
#include "fm/multicast/module.h"
#include "fm/naming/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/perf/module.h"
#include "fm/rebalance/module.h"
#include "fm/registers/module.h"
#include "fm/registrations/module.h"
#include "fm/restart/module.h"
#include "fm/sa/module.h"
#include "fm/sm/module.h"
#include "fm/traps/module.h"
#include "fm/verification/module.h"

#define AFTER(...)                                                                                 \
	.after = (const struct fabric_module *const[])                                             \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

/*
 * The order of hooks. What a row has to stand behind it names, with the reason; a table that says
 * otherwise does not start. All else may stand anywhere: tests/unit/daemon/test_fabric_trace.c
 * swaps each pair of neighbours, and finds the trace of hooks changed or the same effects.
 */
fabric_modules fabric_rooms = {
	{ .module = &naming_module },
	{ .module = &sm_module },
	{ .module = &lids_module,
	  /* Ports are asked for their LIDs when a take-over is certain: it holds updates before. */
	  AFTER(&sm_module) },
	{ .module = &verification_module,
	  /* What a sweep found is of no use where the own port has left its fabric. */
	  AFTER(&sm_module) },
	{ .module = &audit_module },
	{ .module = &partition_module },
	{ .module = &sa_module,
	  /* It serves by the partitions that are published. */
	  AFTER(&partition_module) },
	{ .module = &nvlink_module },
	{ .module = &links_out_module,
	  /*
	   * As verification; it listens to the audit; and a host's NVLinks are graver than links
	   * in use: their alerts come first.
	   */
	  AFTER(&sm_module, &audit_module, &nvlink_module) },
	{ .module = &adaptive_module },
	{ .module = &error_traps_module,
	  /* It adds to the object `traps` that sm has made in the status. */
	  AFTER(&sm_module) },
	{ .module = &link_health_module,
	  /* A link that falls is quarantined before what was read of it is forgotten. */
	  AFTER(&links_out_module) },
	{ .module = &registers_module },
	{ .module = &port_keys_module,
	  /* Alerts of links come first, then those of single ports. */
	  AFTER(&link_health_module) },
	{ .module = &mirror_module },
	{ .module = &registrations_module,
	  /* What peers have sent makes queries needless. */
	  AFTER(&mirror_module) },
	{ .module = &cabling_module },
	{ .module = &rebalance_module },
	{ .module = &multicast_module,
	  /* Who hears of groups that end goes by the new view. */
	  AFTER(&sa_module) },
	{ .module = &inforce_module },
	{ .module = &hosts_module },
	{ .module = &restart_module },
	{ 0 },
};
