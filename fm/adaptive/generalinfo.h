/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generalinfo: switches that do not answer GeneralInfo, over restarts, so that the next start asks
 * none of them ahead of anything.
 *
 * state_dir/generalinfo has `GUID DEVICE REVISION` of each, by GUID. Another device or firmware in
 * its place counts as one that was not asked.
 */
#ifndef FMD_ADAPTIVE_GENERALINFO_H
#define FMD_ADAPTIVE_GENERALINFO_H

#include "fm/state/state_store.h"
#include "fm/sweep/inventory.h"

struct unanswered;

struct unanswered *unanswered_new(struct state_store *state); /* empty; state is borrowed */
void unanswered_free(struct unanswered *list);
void unanswered_load(struct unanswered *list); /* the file; a lost one leaves the list empty */
bool unanswered_has(const struct unanswered *list, const struct inv_node *node);
/* That switch was asked: it is listed, or no more, and the file follows. */
void unanswered_note(struct unanswered *list, const struct inv_node *node, bool silent);

#endif
