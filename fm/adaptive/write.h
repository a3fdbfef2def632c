/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * write: brings groups and entries of adaptive routing to the switches (adaptive_routing = "on").
 *
 * A switch that joins gets its groups, then its entries, each read back, and is turned on last. It
 * joins in quiet, and only with what the proof allows (routing/proof/check_groups.c) for the tables
 * in force. From then on its entries, which have the ports of the tables, are written in the place
 * of its LFT, in the same order (program.h).
 *
 * When tables change, a LID is one of these, by the choices that each switch has for it:
 *   less   all that it may choose from now on it could choose before: groups shrink at once, for
 *          each mixture of old and new is a part of what was proven
 *   more   all that it could choose it may choose from now on: entries stay as they are until the
 *          new tables are written and their groups proven, then groups grow
 *   other  neither: its entries become Static ahead of the new tables, which then come in the order
 *          that is safe for them, and Free behind the proof
 *   apart  the same, of few LIDs: entries that keep some of their choices, and lead by these to
 *          such entries alone, do as those of "less" or "more"
 * Choices are compared with those of the latest publication that was proven; what came between
 * counts as well. A link that is down is no choice.
 *
 * HCAs get the masks of SLs whose packets may come out of order: what a manager before has set
 * stays, and the SLs that use adaptive routing are added.
 *
 * A switch that rejects or does not hold what it was sent is turned off, and one that boots has
 * forgotten all: it joins again.
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/inventory/inventory.h"

struct writer;

/*
 * packings: rows of probe.h by device, then firmware, borrowed. leave: the switch has it on, with
 * that AdaptiveRoutingInfo, and is to be turned off; writer_left() follows before its LFT is
 * written.
 */
typedef void writer_leave_fn(void *arg, const struct inv_node *sw, const uint8_t info[64]);
struct writer *writer_new(struct fabric *fabric, const json_t *packings, writer_leave_fn *leave,
			  void *arg);
void writer_free(struct writer *w); /* NULL is fine; what is on stays on */

/* The switch has adaptive routing, which is off, with that AdaptiveRoutingInfo. */
void writer_offer(struct writer *w, const struct inv_node *sw, const uint8_t info[64]);
/*
 * It is on, and stays so, if fmd can write it; true: nobody is to turn it off. firmware "": that is
 * not known.
 */
bool writer_adopt(struct writer *w, const struct inv_node *sw, const uint8_t info[64],
		  const char *firmware);
void writer_left(struct writer *w, const struct inv_node *sw);
/* NULL: it does not have it on. */
struct ar_switch *writer_on(const struct inv_node *sw);
/* What the switch is to be turned on for is over, or begins: by the configuration. */
void writer_configure(struct writer *w);

/* In the hooks of these names, behind FABRIC_PUBLISHED and FABRIC_SETTLED. */
void writer_published(struct writer *w);
/* The same, of tables. */
void writer_programmed(struct writer *w, const struct program_result *result);
/* In quiet: who can joins. */
void writer_settled(struct writer *w);
