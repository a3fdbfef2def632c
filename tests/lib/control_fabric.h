/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * control_fabric: a fake of the fabric and rooms that control calls; the test sets what it answers.
 * It defines the functions of fm/fabric/fabric.h.
 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/audit/module.h"
#include "fm/fabric/view.h"
#include "fm/links_out/module.h"
#include "fm/control/control.h"
#include "fm/hosts/module.h"
#include "fm/inforce/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/adaptive/module.h"
#include "fm/perf/module.h"
#include "fm/restart/module.h"
#include "fm/sm/module.h"
#include "fm/sa/module.h"
#include "routing/proof/check.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"

#define HOSTS 3 /* that may be cut off: port n of switch 0 leads to LID n + 1 */

struct fabric {
	struct topo *topo;
	struct lid_map lids;
	struct tables tables;
	fabric_done_fn *act_fn; /* of the operation under way */
	void *act_arg;
	unsigned acts;
	bool instant; /* operations end before they return */
	char cordoned[32];
	fabric_event_fn *event_fn; /* of the follower */
	void *event_arg;
	bool cordon_on;
	guid_t cordoned_node;		/* whose cordon has a time of its own */
	const char *refusal;		/* it is not master */
	struct port_counters *counters; /* by port; NULL = nothing was read */
	uint64_t now_us;
	guid_t alias, alias_port; /* of that port */
	struct fec_mode *fec;	  /* by port; NULL = nobody has told */
	uint32_t unhealthy_host;  /* + 1, 0 = none */
	unsigned pairs_waiting;	  /* not 0: leaf-1 takes no Sets, and no path is in force */
	json_t *unhealthy;	  /* rows of links; NULL = one of no known link */
	json_t *events;		  /* NULL = numbers */
	const char *down_since;	  /* of any link; NULL = not known */
	uint8_t *classes;	  /* of its policy, by port: taken when asked for */
};

void finish_operation(struct fabric *f, json_t *result, const char *error);
