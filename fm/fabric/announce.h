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
struct table_block;
struct wire_notice;

/*
 * Quarantines an unhealthy link, named by either port: it carries no transit for the configured
 * time, doubled for each repetition. An event has the reason, and an update follows.
 */
void fabric_request_quarantine(struct fabric *fabric, guid_t node, uint8_t port, const char *why);

/*
 * Holds a link between switches, named by either port, whose error rate has long been too high;
 * called again with each reading. The link carries no transit until it is clean, unless it is
 * needed or excluded, or too many links are held. A change of that decision is an event, and an
 * update follows.
 */
void fabric_request_hold(struct fabric *fabric, guid_t node, uint8_t port, const char *why);
/*
 * Microseconds for which the error rates at both ports of a link have been read and were below
 * their limits; 0 = they are above a limit, or were not read.
 */
uint64_t fabric_link_clean_us(struct fabric *fabric, guid_t node, uint8_t port);

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
 * For the room that writes multicast tables (services.mft): a round of writes has ended; a block
 * differs from what its switch acknowledged. The pipe calls mft_written() and mft_mismatch().
 */
void fabric_report_mft_written(struct fabric *fabric, const struct mft_result *result);
void fabric_report_mft_mismatch(struct fabric *fabric);

/*
 * Sets the partitions of the view and of bring-up; called in the hook publishing() only. The
 * caller keeps both objects, and keeps the former ones readable until published() has returned.
 */
void fabric_publish_partitions(struct fabric *fabric, const struct partition_set *set,
			       const struct pkey_map *pkeys);

/*
 * The answers of this room's hook host() (fm/fabric/hooks_report.h) have changed without a
 * publication. Rooms are called at once and merge frequent calls themselves.
 */
void fabric_report_hosts_changed(struct fabric *fabric);

/*
 * Hands a received trap (`times` equal ones) to the rooms, with the pipe's verdict whether the
 * port that the trap names has sent it.
 */
void fabric_trap_received(struct fabric *fabric, const struct wire_notice *notice,
			  uint16_t from_lid, unsigned times);

/*
 * Isolates a switch (port 0) or a link, named by either port, that is present and unusable: it
 * carries no transit while that lasts, an alert names it, and an update follows; unless too much
 * is isolated already. A second request changes nothing. Isolation ends as follows:
 *   ISOLATED_NOT_ACTIVE    both ends are Active, or the link is down
 *   ISOLATED_NO_SETS       the switch accepts a Set: it is sent one a minute, and no other
 *   ISOLATED_WRONG_TABLES  the switch holds the block that it did not hold; it follows from
 *                          fabric_report_table_unheld(), and is not asked for
 *   ISOLATED_FOREIGN_KEY   the switch shows no M_Key of another manager any more; until then it is
 *                          sent no Set. It follows from the inventory, and is not asked for
 */
enum isolation_cause {
	ISOLATED_NOT_ACTIVE,
	ISOLATED_NO_SETS,
	ISOLATED_WRONG_TABLES,
	ISOLATED_FOREIGN_KEY,
};
/* See above. Served from the loop; the cause is what the alert names. */
void fabric_request_isolate(struct fabric *fabric, guid_t node, uint8_t port,
			    enum isolation_cause cause);

/*
 * A switch acknowledged that block of a forwarding table twice and holds another content. The pipe
 * calls table_unheld().
 */
void fabric_report_table_unheld(struct fabric *fabric, const struct table_block *block);

#endif
