/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_own: what the files module*.c of the room share. */
#ifndef FMD_NVSWITCH_MODULE_OWN_H
#define FMD_NVSWITCH_MODULE_OWN_H

#include "fm/nvswitch/module.h"
#include "fm/nvswitch/nvswitch.h"

struct nvlink_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct nvswitch *nvswitch;
	bool refused;	/* the own port leads into an NVLink subnet, and that was logged */
	bool requested; /* a reroute, by the call that is under way */
};

/* module.c: reads the state files; marks one for writing: states and overrides, memories. */
#define NVLINK_STATES_FILE "nvswitch"

#endif
