/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* modules: the pipe's calls of the rooms' hooks (fm/fabric/module.h), each in the table's order. */
#ifndef FMD_FABRIC_MODULES_H
#define FMD_FABRIC_MODULES_H

#include "fm/fabric/module.h"

/* Owned by the pipe. The table is the caller's, for as long. */
struct modules;
struct modules *modules_new(fabric_modules table);
void modules_begin(struct modules *modules,
		   struct fabric *fabric); /* the rooms that are not there, in order */
/* The last one first; not all: those that last stay. */
void modules_end(struct modules *modules, bool all);
void modules_free(struct modules *modules); /* all have ended */

/* Each calls the hook of that name, see module.h and hooks_*.h. */
void modules_start(struct modules *modules);
void modules_role(struct modules *modules, enum fabric_role role);
void modules_sweeping(struct modules *modules, bool light);
void modules_unchanged(struct modules *modules);
const char *modules_refusal(const struct modules *modules);    /* of the first that has one */
uint64_t modules_pending_since(const struct modules *modules); /* the first of them */
bool modules_ready(struct modules *modules);
bool modules_swept(struct modules *modules, const struct sweep_result *result);
void modules_polled(struct modules *modules);
void modules_verified(struct modules *modules, unsigned changed);
void modules_table_unheld(struct modules *modules, const struct table_block *block);
void modules_isolate(struct modules *modules, guid_t node, uint8_t port,
		     enum isolation_cause cause);
void modules_updating(struct modules *modules);
void modules_annotate(struct modules *modules, struct inventory *inventory);
const char *modules_admit(struct modules *modules, const struct topo *next);
void modules_compared(struct modules *modules, bool differs);
void modules_link_fell(struct modules *modules, guid_t node, uint8_t port);
/* without: a room that is left out; NULL = none. */
void modules_route_input(const struct modules *modules, const struct fabric_module *without,
			 const struct topo *next, struct fabric_policy *policy);
void modules_lids_changed(struct modules *modules);
void modules_proving(struct modules *modules);
void modules_refused(struct modules *modules);
void modules_publishing(struct modules *modules, const struct topo *before);
void modules_mft_written(struct modules *modules, const struct mft_result *result);
void modules_mft_mismatch(struct modules *modules);
bool modules_busy(const struct modules *modules);
bool modules_may_program(struct modules *modules); /* all rooms are asked */
void modules_brought_up(struct modules *modules, const struct bringup_result *result);
bool modules_improves(struct modules *modules);

void modules_load(struct modules *modules);
void modules_configure(struct modules *modules);
void modules_published(struct modules *modules, const struct topo *before);
void modules_shown(struct modules *modules, const struct topo *before);
void modules_settled(struct modules *modules);
void modules_mismatch(struct modules *modules, guid_t sw, uint32_t block);
void modules_quarantine(struct modules *modules, guid_t node, uint8_t port, const char *why);
void modules_hold(struct modules *modules, guid_t node, uint8_t port, const char *why);
uint64_t modules_link_clean_us(const struct modules *modules, guid_t node, uint8_t port);
void modules_review(struct modules *modules);
void modules_cancel(struct modules *modules, const void *arg);
void modules_abandon(struct modules *modules, const char *why);
void *modules_room(const struct modules *modules, const struct fabric_module *module);
void modules_restore(struct modules *modules);
void modules_programmed(struct modules *modules, const struct program_result *result);
void modules_settled_later(struct modules *modules);
void modules_checkpoint(struct modules *modules);
void modules_trap(struct modules *modules, const struct wire_notice *notice, uint16_t from_lid,
		  unsigned times, bool forged);
void modules_unhealthy(const struct modules *modules, json_t *rows);
void modules_host(struct modules *modules, uint32_t host, struct host_verdict *verdict);
void modules_hosts_changed(struct modules *modules);
void modules_status(const struct modules *modules, json_t *doc);

#endif
