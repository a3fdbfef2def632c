/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fec_modes: which forward error correction ports use, as they say in PortInfoExtended (IBA
 * 14.2.5.19). A port is asked when its link is Active and its device claims the attribute
 * (CapabilityMask2.IsPortInfoExtendedSupported), once in the life of the link: again when the link
 * fell, has another far end, or runs at another speed or width.
 *
 * It is asked while nothing else is to be done, RATE ports a second at most, and the first port of
 * a device alone. A device that refuses, or answers what can not be, is left alone; one that does
 * not answer is tried three times, at intervals. The mode of such a port is not known, which says
 * nothing against its link.
 */
#pragma once

#include "fm/perf/counters.h"
#include "fm/inventory/inventory.h"

struct fec_modes;

/*
 * Loop, mad and inventory are borrowed, and so is arg, which may_ask() is called with: nothing is
 * asked while that is false.
 */
struct fec_modes *fec_modes_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
				bool (*may_ask)(void *arg), void *arg);
void fec_modes_free(struct fec_modes *modes); /* NULL is fine; nothing is called any more */
/* There may be links that were not asked. */
void fec_modes_ask(struct fec_modes *modes);
/* The link at that port fell: the modes that both of its ends reported are dropped. */
void fec_modes_forget(struct fec_modes *modes, guid_t node, uint8_t port);
/*
 * Those of a node, by port number; *nports is the highest. NULL: nothing was asked of it. Borrowed
 * until control returns to the loop.
 */
const struct fec_mode *fec_modes_of(const struct fec_modes *modes, guid_t node, uint8_t *nports);
/* Since fec_modes_new(); ports that report no modes at all are among the refused. */
struct ask_counts fec_modes_counts(const struct fec_modes *modes);
