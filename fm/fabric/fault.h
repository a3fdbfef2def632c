/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fault: the steps of a fault, or of a repair, as the pipe comes to them (see fault.c). Rooms open
 * one by fm/fabric/request.h.
 */
#ifndef FMD_FABRIC_FAULT_H
#define FMD_FABRIC_FAULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct fabric;

/* f->faults; its end frees it. */
void fabric_faults_init(struct fabric *f);
void fabric_faults_fini(struct fabric *f);

/*
 * A snapshot differs from the published one by that; loss: something is down, gone or slower. Opens
 * a fault if none is open. event: number of the first event about it, 0 = there is none.
 */
void fabric_fault_name(struct fabric *f, bool loss, const char *what, uint64_t event);
/* A link has come up and is not Active yet: its repair is logged when tables lead over it. */
void fabric_fault_training(struct fabric *f);
/*
 * Bring-up has ended, and no update follows from it; a sweep found nothing; new tables are
 * published; their last block is acknowledged or given up. waits_since_us: traps_pending_since().
 */
void fabric_fault_trained(struct fabric *f, uint64_t waits_since_us);
void fabric_fault_none(struct fabric *f, uint64_t waits_since_us);
void fabric_fault_published(struct fabric *f, uint64_t waits_since_us);
void fabric_fault_programmed(struct fabric *f);

/* Adds the latest fault and the latest repair to the document of `fmctl --json status`. */
void fabric_faults_status(const struct fabric *f, json_t *doc);

#endif
