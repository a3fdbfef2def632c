/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* whatif: what a failure, a cordon or ill NVLinks of hosts would do to the fabric, without touching it. */
#ifndef FMD_CONTROL_WHATIF_H
#define FMD_CONTROL_WHATIF_H

#include "fm/control/command.h"

command_answer_fn
	whatif_answer; /* {"fail": [WHAT ..], "cordon": [WHAT ..], "nvswitch": ["HOST=STATE" ..]}; long: for a child */

#endif
