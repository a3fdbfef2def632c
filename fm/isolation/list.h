/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * list: what cannot be worked with, and the room's state around it (fm/isolation/module.h). The
 * files of the room stand in this order, and each calls those before it alone:
 *   list            what is listed; its marks in the inventory, of which snapshots are made
 *   judge           pure: how much may be isolated at once
 *   report          names, alerts, the status
 *   wrong_list      switches that do not hold their tables, over restarts
 *   isolation       what is said is gathered, judged together, and released
 *   refusing        switches that take no Set: asked before they are listed, probed while they are
 *   wrong_tables    trials of switches that do not hold their tables
 *   module          the hooks
 */
#ifndef FMD_ISOLATION_LIST_H
#define FMD_ISOLATION_LIST_H

#include "fm/fabric/module.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"

#define ISOLATION_LISTED_MAX 4096

struct isolated {
	guid_t node;
	uint8_t port; /* 0 = the switch */
	enum isolation_cause cause;
	bool judged, in_force; /* in force: it carries no transit */
	uint64_t since_us;
	mad_token probe; /* refusing.c's */
	struct isolation *list;
};

/* Whether one that refuses counts packets with a wrong M_Key (IBA 14.2.4), as it answered. */
enum isolation_keys { KEYS_UNKNOWN, KEYS_GOOD, KEYS_VIOLATED };

struct suspect { /* a switch that did not take a Set, and is asked whether it answers a Get */
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
	unsigned count, size;
	struct loop_timer *judge, *probe;
	enum isolation_keys keys;
	mad_token asked_keys;
	struct suspect *suspects;  /* refusing.c's */
	struct wrong_table *wrong; /* wrong_list.c's */
	struct loop_timer *trial;  /* wrong_tables.c's */
};

struct isolated *isolated_find(const struct isolation *is, guid_t node, uint8_t port,
			       enum isolation_cause cause); /* NULL = it is not listed */
/* NULL: the list is full. */
struct isolated *isolated_add(struct isolation *is, guid_t node, uint8_t port,
			      enum isolation_cause cause);
void isolated_remove(struct isolated *it); /* its marks go, too */

/* Its node in the inventory; NULL = there is no such node or port. */
struct inv_node *isolated_node(const struct isolated *it);
/* That port's link leads from one switch to another. */
bool isolated_is_transit(const struct inv_node *node, unsigned port);
/* Both ends of that port's link are Active. */
bool isolated_is_active(const struct inv_port *port);
/* It is listed as a switch that takes no Set: it is sent none from now on, or may be again. */
void isolated_set_no_sets(const struct isolated *it, bool on);
/* Sets the marks of all that is listed anew. */
void isolated_mark_all(struct isolation *is);

#endif
