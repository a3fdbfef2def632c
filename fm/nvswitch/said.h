/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * said: what an exporter reports on one GPU and on one NVSwitch, and the codes of DCGM and NVML in
 * such reports.
 */
#ifndef FMD_NVSWITCH_SAID_H
#define FMD_NVSWITCH_SAID_H

#include "fm/nvswitch/state.h"

#define MEMORY_GPUS	16
#define MEMORY_SWITCHES 16
#define MEMORY_LINKS	128 /* of an NVSwitch */

enum {			/* what is reported of a GPU, by bit */
       HAS_PRESENT = 1, /* by what only a GPU that answers has: its temperature, its power */
       HAS_P2P = 2,
       HAS_PAIRS = 4,
       HAS_FM = 8,
       HAS_MASK = 16,
       HAS_SUMMARY = 32,
       HAS_ACTION = 64,
       HAS_WATCH = 128,
       HAS_LINKS = 256,
       HAS_MIG = 512,
       HAS_STATES = HAS_P2P | HAS_PAIRS | HAS_FM | HAS_MASK | HAS_SUMMARY | HAS_ACTION | HAS_WATCH |
		    HAS_LINKS,
};

enum { /* DCGM's fabric manager status (dcgm_fields.h, 170) */
       FM_NOT_SUPPORTED,
       FM_NOT_STARTED,
       FM_IN_PROGRESS,
       FM_SUCCESS,
       FM_FAILURE,
       FM_UNRECOGNIZED,
       FM_NVML_TOO_OLD,
       FM_STATUSES
};
enum { SUMMARY_UNHEALTHY = 2, SUMMARY_LIMITED = 3 };	   /* fabric health summary (175) */
enum { WATCH_PASS = 0, WATCH_WARN = 10, WATCH_FAIL = 20 }; /* DCGM_EXP_GPU_HEALTH_STATUS */
enum { /* NVML's recovery action (nvmlDeviceGpuRecoveryAction_t) */
       ACTION_NONE,
       ACTION_GPU_RESET,
       ACTION_NODE_REBOOT,
       ACTION_DRAIN_P2P,
       ACTION_DRAIN_AND_RESET,
       ACTION_RECOVER_IMEX,
       ACTION_BUS_RESET,
       ACTION_SYSTEM_REBOOT,
       ACTIONS
};
/* NVIDIA's name of a recovery action, a static text; the state that it stands for; its remedy. */
const char *memory_action_name(unsigned action);
enum nvswitch_state memory_action_state(unsigned action);
enum nvswitch_remedy memory_action_remedy(unsigned action);

struct gpu_said {
	uint16_t has; /* HAS_PRESENT .. HAS_MIG */
	bool mig, has_mig_mode;
	bool probe_failed; /* the health watch names the fabric probe */
	uint8_t fm_status, summary, action, watch;
	uint16_t mask;
	uint32_t peers, pairs_lost;    /* GPUs by bit */
	uint64_t links_up, links_down; /* the GPU's own, by bit */
};
struct switch_said {
	bool present; /* by what each NVSwitch has at all times */
	bool has_reset, reset_required;
	uint64_t links_seen[MEMORY_LINKS / 64], links_down[MEMORY_LINKS / 64];
};

struct xid_count {	     /* DCGM_EXP_XID_ERRORS_COUNT: in a window of some minutes */
	uint8_t gpu, source; /* source: which of the host's exporters reported it */
	uint16_t xid;
	uint32_t count;
};

#endif
