/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* update: from the inventory to what is published, in steps (see update.c). */
#ifndef FMD_FABRIC_UPDATE_H
#define FMD_FABRIC_UPDATE_H

#include <jansson.h>
#include "fm/loop/loop.h"

struct check_base;
struct fabric;
struct tables;

/* f->update; ended: called with f behind the last step. */
void fabric_update_init(struct fabric *f, loop_fn *ended);
void fabric_update_fini(struct fabric *f);
/* Begins with the inventory as it is; not while one is in the making (fabric_updating()). */
void fabric_update(struct fabric *f);
/* While nobody waits: touches memory for the next update's tables. True: there is more to do. */
bool fabric_update_room(struct fabric *f);
/* While nobody waits, and all is settled: frees what the proof keeps of earlier tables. */
void fabric_update_tidy(struct fabric *f);
struct check_base *fabric_update_proofs(const struct fabric *f); /* belongs to the update */
/*
 * A child has ended that shared all memory: tables' memory is made ready again, while nobody waits.
 */
void fabric_update_unshare(struct fabric *f);

const char *fabric_update_step(const struct fabric *f); /* that is due, a literal; NULL = none */
/* The tables being computed; they belong to the update, and are published when they are proven. */
struct tables *fabric_update_tables(const struct fabric *f);
json_t *fabric_update_stages(const struct fabric *f); /* milliseconds by step, the caller's */

#endif
