/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generalinfo: switches that do not answer GeneralInfo, kept over restarts, so that the next start
 * does not wait for them.
 *
 * state_dir/generalinfo has `GUID DEVICE REVISION` of each, by GUID. A switch with another device
 * ID or firmware counts as one that was not queried.
 */
#ifndef FMD_ADAPTIVE_GENERALINFO_H
#define FMD_ADAPTIVE_GENERALINFO_H

#include "fm/state/state_store.h"
#include "fm/sweep/inventory.h"

struct unanswered;

/* An empty list, which the caller owns; state is borrowed. */
struct unanswered *unanswered_new(struct state_store *state);
void unanswered_free(struct unanswered *list);
/* Reads the file; a lost one leaves the list empty. */
void unanswered_load(struct unanswered *list);
/* Whether a switch is listed, with that device ID and revision. */
bool unanswered_has(const struct unanswered *list, const struct inv_node *node);
/* Adds a silent switch or removes one that answered, and marks the file as changed. */
void unanswered_note(struct unanswered *list, const struct inv_node *node, bool silent);

#endif
