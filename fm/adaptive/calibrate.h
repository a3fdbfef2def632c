/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * calibrate: learns the packing (probe.h) of a kind of device that no manager has set up yet, by
 * what one leaf of it forwards (adaptive_routing = "calibrate").
 *
 * The leaf is one that comes up. The links to its HCAs stay in Init: they carry no data there, and
 * an SMP that goes by LID passes them all the same, by the tables of switches. A GMP does not, so
 * it is NodeInfo that HCAs are asked for. Once all else is up the leaf gets all entries, Static and
 * as its LFT is, at the place of a hypothesis, and is turned on. Then:
 *
 *   all of its HCAs have to answer
 *   two whose LIDs are in one block are silent while these entries are exchanged, for each gets
 *   what is for the other; with them back they answer: so this block of this table forwards. Block
 *   0, which is the same at any place, shows nothing
 *   a Static entry says nothing of groups. So one becomes Free, with the other HCA's port for its
 *   static one: its HCA has to answer by a group that has its own port alone, to be silent with the
 *   other's port in that group, and to answer with its own again
 *
 * A Set that is rejected, or not held, or after which the wrong HCAs answer, refutes a hypothesis.
 * All else is the end: a switch that does not answer, other tables, PATIENCE_US since the links
 * were held. Behind the end the leaf's LFT is written, adaptive routing turned off, and the links
 * go on. Where this manager dies the next one turns it off, like all that was left on.
 *
 * What it cannot know: the bytes of private LFTs and of group tables, which fmd leaves 0; where
 * further sub-groups lie, so that a switch with several in use is left out; and what a device does
 * that treats SMPs otherwise than data: then it finds nothing.
 */
#pragma once

#include "fm/fabric/module.h"

struct calibrate;
/*
 * It is over: the leaf is on, with that AdaptiveRoutingInfo before, and is to be turned off. row:
 * as of a probe, the callee's; NULL = nothing was found.
 */
typedef void calibrate_done_fn(void *arg, const struct inv_node *leaf, const uint8_t *info,
			       json_t *row);
/* packings: rows of probe.h by device, then firmware, borrowed. */
struct calibrate *calibrate_new(struct fabric *fabric, const json_t *packings,
				calibrate_done_fn *done, void *arg);
/* NULL is fine. A leaf that is on is sent, once, that it be off. */
void calibrate_free(struct calibrate *c);
/* A switch is off, or could not be turned off: if it is that leaf, the links to its HCAs go on. */
void calibrate_turned_off(struct calibrate *c, guid_t node);

/* In the hook annotate(): holds links of a leaf that comes up. The others: in theirs. */
void calibrate_choose(struct calibrate *c);
void calibrate_published(struct calibrate *c);
void calibrate_settled(struct calibrate *c);
