/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * announce: what one room has found and others are to know, through the pipe: it calls their hooks
 * (fm/fabric/module.h) before these return. They may be called from any callback.
 */
#ifndef FMD_FABRIC_ANNOUNCE_H
#define FMD_FABRIC_ANNOUNCE_H

#include <stdint.h>
#include "topology/topo.h"

struct fabric;
struct mft_result;
struct partition_set;
struct pkey_map;
struct table_block;
struct wire_notice;

/*
 * A link, by either end, is unhealthy: it carries no transit for as long as configured, twice as
 * long as the last time. An event tells why, and an update follows by itself.
 */
void fabric_request_quarantine(struct fabric *fabric, guid_t node, uint8_t port, const char *why);

/*
 * A link between switches, by either end, has had too many errors for a long time. Asked anew with
 * each reading: it carries no transit until it is clean, unless it is needed, excluded, or there
 * are too many of those. What was decided is an event when it changes; an update follows by itself.
 */
void fabric_request_hold(struct fabric *fabric, guid_t node, uint8_t port, const char *why);
/*
 * For how long a link's error rates, at both its ends, were read and below their limits; 0 = they
 * are not, or nobody knows.
 */
uint64_t fabric_link_clean_us(struct fabric *fabric, guid_t node, uint8_t port);

/*
 * What is wrong may change paths: the time of its reroute counts from now. Requests to the SA have
 * a part of the time only while it is open. One that is open already goes on. What the update finds
 * gives it another name.
 */
void fabric_fault_open(struct fabric *fabric, const char *what);
/*
 * Open, and nothing was found yet: what is found now was detected at that time, if that is later.
 */
void fabric_fault_found_by(struct fabric *fabric, uint64_t detected_us);

/*
 * For who works with multicast tables (services.mft): a round of writes has ended, and a block is
 * not as its switch acknowledged. Other rooms hear of it at once, by mft_written() and
 * mft_mismatch().
 */
void fabric_report_mft_written(struct fabric *fabric, const struct mft_result *result);
void fabric_report_mft_mismatch(struct fabric *fabric);

/*
 * In the hook publishing() alone: what the view says of partitions, and what bring-up writes to
 * P_Key tables. Both stay the caller's, and those before stay readable for as long as rooms are
 * being told (published()).
 */
void fabric_publish_partitions(struct fabric *fabric, const struct partition_set *set,
			       const struct pkey_map *pkeys);

/*
 * What this room says of hosts (hook host() of fm/fabric/hooks_report.h) has changed beside what a
 * publication changes: rooms hear of it at once, and merge what comes often.
 */
void fabric_report_hosts_changed(struct fabric *fabric);

/*
 * A trap has come, `times` of it at once: rooms hear of it at once, and whether the port that it
 * names sent it.
 */
void fabric_trap_received(struct fabric *fabric, const struct wire_notice *notice,
			  uint16_t from_lid, unsigned times);

/*
 * A switch (port 0) or a link, by either end, is there and cannot be worked with: it carries no
 * transit for as long as that lasts, is named in an alert, and an update follows by itself; unless
 * too much is isolated already. To ask again changes nothing. What ends it:
 *   ISOLATED_NOT_ACTIVE    both ends are Active, or the link is down
 *   ISOLATED_NO_SETS       the switch accepts a Set: it is sent one a minute, and no other
 *   ISOLATED_WRONG_TABLES  the switch holds the block that it did not hold; it follows from
 *                          fabric_report_table_unheld(), and is not asked for
 */
enum isolation_cause { ISOLATED_NOT_ACTIVE, ISOLATED_NO_SETS, ISOLATED_WRONG_TABLES };
void fabric_request_isolate(struct fabric *fabric, guid_t node, uint8_t port,
			    enum isolation_cause cause);

/*
 * A switch acknowledged that block of a forwarding table twice and holds something else. Rooms hear
 * of it at once, by table_unheld().
 */
void fabric_report_table_unheld(struct fabric *fabric, const struct table_block *block);

#endif
