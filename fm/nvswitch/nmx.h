/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nmx: what NMX-T on a switch tray of an NVL72 says of a whole rack's NVLinks: a row a port and
 * metric, some megabytes in all, of which the ports of GPUs are kept and nothing else. A rack is
 * asked once for all of its hosts; tray and slot say which rows are a host's.
 *
 * State is the label logical_state of any row of a port, the blame down_blame. Link_Down is a
 * counter that only grows: what counts is that it rose a while ago at most. Ports that were there
 * once and are in no row any more are missed.
 */
#ifndef FMD_NVSWITCH_NMX_H
#define FMD_NVSWITCH_NMX_H

#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/state.h"

#define NMX_PORTS_MAX 16384 /* of a rack; an NVL72 has 1,296 at its GPUs */

struct nmx;

struct nmx_place {	  /* of a host; at least one of tray and slot is there */
	int tray, slot;	  /* tray_index, chassis_slot_index; -1 = any */
	char chassis[32]; /* chassis_id; "" = any */
};
/* "tray=17", "slot=27", "chassis=1820325172739": false = none of these. */
bool nmx_place_parse(struct nmx_place *place, const char *word);
bool nmx_place_is_set(const struct nmx_place *place);

struct nmx *nmx_new(void);
void nmx_free(struct nmx *nmx); /* NULL is fine */

extern const struct exposition_ops nmx_ops;	  /* arg: the nmx */
void nmx_begin(struct nmx *nmx, uint64_t now_us); /* an answer; one at a time */
void nmx_end(struct nmx *nmx);			  /* it was whole: it counts */
/* UNKNOWN where no row ever was the host's. window_us: how long a counter that rose counts. */
void nmx_judge(const struct nmx *nmx, const struct nmx_place *place, uint64_t window_us,
	       struct nvswitch_verdict *verdict);

#endif
