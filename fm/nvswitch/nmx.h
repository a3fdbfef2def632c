/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nmx: what NMX-T on a switch tray of an NVL72 reports about a whole rack's NVLinks: a row for each
 * port and metric, some megabytes in all, of which only the ports of GPUs are kept. A rack is
 * requested once for all of its hosts; tray and slot say which rows belong to a host.
 *
 * A port's state is the label logical_state of any of its rows, the cause down_blame. Link_Down is
 * a counter that only grows: it counts if it rose within a window. Ports that were reported once
 * and are in no row any more count as missing.
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
/* Reads "tray=17", "slot=27" or "chassis=1820325172739"; false = the word is none of these. */
bool nmx_place_parse(struct nmx_place *place, const char *word);
/* Whether it has a tray or a slot. */
bool nmx_place_is_set(const struct nmx_place *place);

/* What is known of one rack: nothing at first. The caller frees it; NULL is fine. */
struct nmx *nmx_new(void);
void nmx_free(struct nmx *nmx);

extern const struct exposition_ops nmx_ops; /* arg: the nmx */
/* Starts a response, one at a time; and ends one that was complete: it counts from then on. */
void nmx_begin(struct nmx *nmx, uint64_t now_us);
void nmx_end(struct nmx *nmx);
/*
 * Sets *verdict for a host; UNKNOWN if no row ever was the host's. window_us: how long the rise of
 * a counter counts.
 */
void nmx_judge(const struct nmx *nmx, const struct nmx_place *place, uint64_t window_us,
	       struct nvswitch_verdict *verdict);

#endif
