/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * request: what a concern of the fabric manager may ask the pipe to do.
 *
 * No request sweeps, computes or programs in the caller's stack: requests are merged, and the loop
 * serves them after the caller has returned. So each may be made from any callback, as often as one
 * likes. A quarantine is noted, and its event logged, at once. A sweep of all covers refreshes of
 * single nodes; a sweep is followed by an update in any case, which a reroute alone begins at once.
 * While an update is under way the request is served by the next one. `reason` is a string literal;
 * the log shows it at level debug.
 */
#ifndef FMD_FABRIC_REQUEST_H
#define FMD_FABRIC_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/fabric/progress.h"
#include "topology/topo.h"

struct fabric;
struct wire_notice;
struct mft_result;
struct partition_set;
struct pkey_map;
struct table_block;

/* A heavy sweep: all nodes are asked again. */
void fabric_request_sweep(struct fabric *fabric, const char *reason);
/* A partial sweep: this node is asked again, and what is found behind its ports. */
void fabric_request_refresh(struct fabric *fabric, guid_t node, const char *reason);
/*
 * An update that computes, proves and programs tables even if the sweep before it found nothing
 * new.
 */
void fabric_request_reroute(struct fabric *fabric, const char *reason);
/*
 * The next light sweep is followed by an update: something was not acknowledged. Light sweeps come
 * sooner until it is.
 */
void fabric_request_retry(struct fabric *fabric, const char *reason);

/*
 * At the next bring-up all hosts are asked to register with the SA anew
 * (PortInfo:ClientReregister).
 */
void fabric_request_reregister(struct fabric *fabric, const char *reason);

/* At the next bring-up this host's port is asked to. */
void fabric_request_reregister_port(struct fabric *fabric, guid_t node, uint8_t port);

/*
 * A link, by either end, is unhealthy: it carries no transit for as long as configured, twice as
 * long as the last time. An event tells why, and an update follows by itself.
 */
void fabric_request_quarantine(struct fabric *fabric, guid_t node, uint8_t port, const char *why);

/*
 * The hook improves() is called once nothing else is requested nor under way: a room has an answer
 * ready.
 */
void fabric_request_improvement(struct fabric *fabric, const char *reason);

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
 * The LIDs of that port are free for others: it is no part of the fabric any more, and shall be new
 * when it comes back. At once; services.lids is without it then.
 */
void fabric_request_lids_free(struct fabric *fabric, guid_t port_guid);
/*
 * In the hook publishing() alone: what the view says of partitions, and what bring-up writes to
 * P_Key tables. Both stay the caller's, and those before stay readable for as long as rooms are
 * being told (published()).
 */
void fabric_publish_partitions(struct fabric *fabric, const struct partition_set *set,
			       const struct pkey_map *pkeys);

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

/*
 * The tables that a room held back (may_program() of module.h) are programmed now, as they are
 * published. Begins at once.
 */
void fabric_request_program(struct fabric *fabric, const char *reason);

/*
 * What devices answered or acknowledged once is asked a second time, at once: that many ports (0 =
 * none), and with `refused` who is behind ports where somebody answers who cannot be there. Nodes
 * that answer otherwise are swept again by themselves; the hook verified() tells how many. False:
 * nothing is left that was answered or acknowledged once. Only while fabric_is_quiet().
 */
bool fabric_request_verification(struct fabric *fabric, unsigned ports, bool refused);

/*
 * Something was requested and has not begun yet; a retry that waits for its light sweep does not
 * count.
 */
bool fabric_requests_wait(const struct fabric *fabric);

#endif
