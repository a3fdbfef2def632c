/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * list: faulty switches and links, and the room's state around them (fm/isolation/module.h). The
 * files of the room, each of which calls only files before it:
 *   list            the list, and its marks in the inventory, of which snapshots are made
 *   judge           pure: how much may be isolated at once
 *   report          names, alerts, the status
 *   wrong_list      switches that do not hold their tables, over restarts
 *   isolation       collects findings, judges them together, releases
 *   refusing        switches that take no Set: probed before they are listed and while they are
 *   wrong_tables    trials of switches that do not hold their tables
 *   module          the hooks
 */
#ifndef FMD_ISOLATION_LIST_H
#define FMD_ISOLATION_LIST_H

#include "fm/fabric/module.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/program/audit.h"

#define ISOLATION_LISTED_MAX 4096

/*
 * Why a switch (port 0) or a link, named by either port, is isolated that is present and unusable:
 * it carries no transit while that lasts, an alert names it, and an update follows; unless too much
 * is isolated already. When it ends:
 */
enum isolation_cause {
	/* Both ends are Active, or the link is down. */
	ISOLATED_NOT_ACTIVE,
	/* The switch accepts a Set: it is sent one a minute, and no other. */
	ISOLATED_NO_SETS,
	/* The switch holds the block that it did not hold (isolation_table_unheld()). */
	ISOLATED_WRONG_TABLES,
	/* The switch shows no M_Key of another manager any more; until then it is sent no Set. */
	ISOLATED_FOREIGN_KEY,
};

struct isolated {
	guid_t node;
	uint8_t port; /* 0 = the switch */
	enum isolation_cause cause;
	bool judged, in_force; /* in force: it carries no transit */
	uint64_t since_us;
	mad_token probe; /* of module.c */
	struct isolation *list;
};

/* Whether a device that refuses Sets counts M_Key violations (IBA 14.2.4), as it answered. */
enum isolation_keys { KEYS_UNKNOWN, KEYS_GOOD, KEYS_VIOLATED };

struct suspect { /* a switch that did not take a Set, while it is probed with Gets */
	struct suspect *next;
	struct isolation *list;
	guid_t node;
	unsigned lost; /* Sets */
	mad_token token;
};

struct wrong_table;

struct isolation {
	struct fabric *fabric;
	struct fabric_services services;
	struct isolated **all; /* oldest first */
	unsigned count;
	struct loop_timer *judge, *probe;
	uint64_t probe_us; /* until the next probe */
	enum isolation_keys keys;
	mad_token asked_keys;
	struct suspect *suspects;  /* of module.c */
	struct wrong_table *wrong; /* of wrong_list.c */
	struct loop_timer *trial;  /* of module.c */
};

/* The entry, owned by the list until it is removed; NULL = it is not listed. */
struct isolated *isolated_find(const struct isolation *is, guid_t node, uint8_t port,
			       enum isolation_cause cause);
/* Adds an entry, which the list owns; NULL = the list is full. */
struct isolated *isolated_add(struct isolation *is, guid_t node, uint8_t port,
			      enum isolation_cause cause);
/* Removes and frees an entry and clears its marks. */
void isolated_remove(struct isolated *it);

/* The entry's node, owned by the inventory; NULL = there is no such node or port. */
struct inv_node *isolated_node(const struct isolated *it);
/* Whether that port's link leads from one switch to another. */
bool isolated_is_transit(const struct inv_node *node, unsigned port);
/* Whether both ends of that port's link are Active. */
bool isolated_is_active(const struct inv_port *port);
/* Whether it is a switch that is present, and its M_Key is somebody else's. */
bool isolated_has_foreign_key(const struct isolation *is, const struct inv_node *node);
/* Sets the marks of all entries anew. */
void isolated_mark_all(struct isolation *is);

/* ---- Wrong tables ---------------------------------------------------------------------------- */

/*
 * Switches that acknowledge a block of a forwarding table, linear or multicast, or
 * LinearFDBTop, and do not hold it, with the block that showed it.
 *
 * state_dir/untrue has those whose isolation is in force, `GUID BLOCK` each: a number, `top`, or
 * `BLOCK.POSITION` of a multicast table. After a restart they are isolated from the first tables
 * on.
 */

struct wrong_table {
	struct wrong_table *next;
	struct isolation *isolation;
	struct table_block at;
	bool met; /* isolation has it; false: read from the file, and not found by a sweep since */
	/* Of module.c: the step of a trial; the last two are of multicast trials only. */
	enum { TRY_BLOCK, TRY_CHANGED, TRY_BACK } step;
	bool failed; /* a step of this trial */
	mad_token token;
};

/*
 * The list owns its entries, at most one for each switch. find: NULL = there is none. add: the
 * switch must not have one. remove: frees it.
 */
struct wrong_table *wrong_list_find(const struct isolation *is, guid_t sw);
struct wrong_table *wrong_list_add(struct isolation *is, const struct table_block *at);
void wrong_list_remove(struct wrong_table *wrong);
/* Reads the file; marks it as changed; ends all trials and frees all entries. */
void wrong_list_load(struct isolation *is);
void wrong_list_changed(struct isolation *is);
void wrong_list_fini(void *is);

/* ---- Alerts and the status ------------------------------------------------------------------- */

/* Raises or ends the alerts `isolated`, for what is in force, and `refusing`, for all others. */
void isolation_raise_alerts(struct isolation *is);
/*
 * Reads from a device that refuses Sets whether it counts M_Key violations; the alert says so when
 * it has answered. One device at a time.
 */
void isolation_ask_keys(struct isolation *is, const struct isolated *it);
/* The name of an entry's switch or link. */
struct inv_link_name isolated_name(const struct isolated *it);
/* A new list of {"what", "why", "in_force", "since_s"}; the caller owns it. */
json_t *isolation_json(const struct isolation *is);

#endif
