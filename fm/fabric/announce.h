/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * announce: a room reports a finding, and the pipe calls the hooks of the other rooms
 * (fm/fabric/module.h) before the function returns. Each may be called from any callback; none
 * fails or keeps a pointer, unless its comment says so.
 */
#ifndef FMD_FABRIC_ANNOUNCE_H
#define FMD_FABRIC_ANNOUNCE_H

#include <stdint.h>
#include "topology/snapshot/topo.h"

struct fabric;
struct mft_result;
struct partition_set;
struct pkey_map;
struct wire_notice;

/*
 * Starts timing a fault that may change paths. While a fault is open the SA gets only a share of
 * the loop's time. If a fault is open already, that one continues. The update renames the fault
 * after what it finds.
 */
void fabric_fault_open(struct fabric *fabric, const char *what);
/*
 * For an open fault of which nothing was found yet: sets the time of detection to `detected_us`
 * (loop time), if that is later.
 */
void fabric_fault_found_by(struct fabric *fabric, uint64_t detected_us);

/*
 * For the room that writes multicast tables (services.mft): a round of writes has ended. The pipe
 * calls programmed().
 */
void fabric_report_mft_written(struct fabric *fabric, const struct mft_result *result);

/*
 * Sets the partitions of the view and of bring-up; called in the hook publishing() only. The
 * caller keeps both objects, and keeps the former ones readable until published() has returned.
 */
void fabric_publish_partitions(struct fabric *fabric, const struct partition_set *set,
			       const struct pkey_map *pkeys);

/*
 * What this room adds to a verdict on a host (fm/hosts/module.h) is another without a publication:
 * published() is called at once with FABRIC_HOSTS_CHANGED, and rooms merge frequent calls.
 */
void fabric_report_hosts_changed(struct fabric *fabric);

/*
 * Hands a received trap (`times` equal ones) to the rooms, with the pipe's verdict whether the
 * port that the trap names has sent it.
 */
void fabric_trap_received(struct fabric *fabric, const struct wire_notice *notice,
			  uint16_t from_lid, unsigned times);

#endif
