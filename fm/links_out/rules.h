/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rules: links that are out of routing, as one table: a row has a link, or all links of a switch,
 * and the cause. What is out carries no transit: routing uses it only for destinations that nothing
 * else reaches (routing/ftree/route.h), so no pair of hosts is cut off. Links to hosts carry no
 * transit and are never marked.
 *
 *   cause         who asks for it, when it is over, and what limits it
 *   CORDON        An operator asks, for a switch or a link, and ends it.
 *   QUARANTINE    A link falls too often, or its counters are bad (fm/perf). It ends by time, which
 *                 doubles with each repetition until the link was in use for as long as the last
 *                 quarantine took, or by an operator. A leaf keeps `quarantine_min_uplinks` percent
 *                 of its uplinks: a quarantine that would leave it less, at once or later when
 *                 other links go down, is waived, the newest first, and stays waived so that it
 *                 does not oscillate. A host's link is only reported.
 *   HOLD          The error rate of a link between switches has long been too high (fm/perf). It
 *                 ends when the link was clean for `health_ber_clean_time`, doubled each time, or
 *                 by an operator. No link that is excluded or needed is held, and few are at once.
 *   EXEMPT        A link would be held, and a limit or an operator who released it keeps it in use.
 *                 It ends when the link was clean. Nothing is marked.
 *   NOT_ACTIVE    Bring-up has given up an end of a link. It ends when both ends are Active, or the
 *                 link is down.
 *   NO_SETS       A switch answers Gets and takes no Set: it is sent one a minute, and no other. It
 *                 ends when the switch takes one, is gone, or was reset.
 *   WRONG_TABLES  A switch acknowledged a block of a forwarding table, linear or multicast, or
 *                 LinearFDBTop, and does not hold it (fm/audit, the sweep). It ends when a trial,
 *                 once a minute, shows that it holds the block: all its tables are written again.
 *                 After a restart it is isolated from the first tables on.
 *   FOREIGN_KEY   A switch shows an M_Key of another manager, and is sent no Set. It ends when it
 *                 shows none any more.
 *                 These four faults take at most a quarter of the known links of a tier, and no
 *                 leaf's last uplink in use: else no new one is put in force (isolate_judge()).
 *   SUSPECT       A switch did not take a Set, and is probed (faults.c). Nothing is marked.
 *   FOREIGN, HOSTS, MISWIRED, STRICT, PLAN, UNSEEN
 *                 Admission keeps a new link out of the fabric (admission.h): it is in no snapshot,
 *                 and its row names both ends. It ends when an operator or a plan admits it, or
 *                 when its cable was pulled.
 *   ADMITTED      An operator has admitted a link that is not met yet. Node 0: any link to a switch
 *                 that was forgotten.
 *   MANAGER       No link: an operator has admitted the manager at the port GUID `peer`.
 *   REOPENED      The port of a link that is not listed any more is still to be enabled.
 *
 *   cause         row of state           mark         events, or alerts
 *   CORDON        cordons                cordoned     cordoned, uncordoned, cordons-bent
 *   QUARANTINE    quarantine             quarantined  quarantined, flapping, released,
 *                                                     quarantine-waived
 *   HOLD          quarantine, UNTIL -1   quarantined  quarantined, released, quarantine-waived
 *   EXEMPT        none                   none         quarantine-refused; links-errors
 *   NOT_ACTIVE    none                   kept in use, where it may not go out; isolated, refusing
 *   NO_SETS, ..   untrue: WRONG_TABLES   isolated     isolated, refusing
 *   admission     held                   none         link-held, link-admitted, manager-revoked
 *
 * JSON: `links --sick` has quarantines and holds, `show` since when a link is cordoned, the status
 * the faults (`isolated`), `held` the new links.
 */
#pragma once

#include "fm/events/event_log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/view.h"
#include "fm/links_out/admission.h"
#include "fm/links_out/module.h"
#include "fm/program/audit.h"

enum out_state {
	OUT_IN_FORCE, /* marked in snapshots, if it carries transit */
	OUT_WAIVED,   /* a limit keeps it in use */
	OUT_OVER,     /* a quarantine that has ended: the next one is longer */
	OUT_LISTED,   /* a fault that is not judged yet */
	OUT_ABSENT,   /* a switch that the inventory does not have: met again it is in force */
};

#define OUT_WHY	 96
#define OUT_KIND 5 /* kinds of rows of state; 0 is none */

/* A link, or all links of a switch, that is out for that cause; at most one for each cause. */
struct out {
	struct links_out *table;
	const struct out_rule *rule; /* of the cause */
	guid_t node;
	uint8_t port; /* 0 = the switch */
	uint8_t cause, state;
	unsigned seconds;	/* how long it lasts; of a hold how long the link has to be clean */
	uint64_t until_us;	/* when it ends, or ended */
	uint64_t due_us;	/* when rule->due() is called; 0 = in rule->wait_us */
	uint64_t clean_us;	/* links_out_clean_us() */
	char since[EVENT_TIME]; /* CORDON, admission: as in events; "" = not known */
	char why[OUT_WHY];
	/* EXEMPT: why it stays in use, of limits.c; admission: NULL = that of the rule */
	const char *reason;
	/* Of admission. */
	guid_t peer; /* the other end; 0 = not met yet */
	uint8_t peer_port;
	uint8_t shut,
		sent;	/* enum held_port: of our port, and what the Set under way makes of it */
	unsigned hosts; /* unknown ones behind it, as far as that was seen */
	/* Of faults.c: since when it is listed; until the next probe; a request under way. */
	uint64_t since_us, wait_us;
	mad_token token;
	unsigned lost;	       /* SUSPECT: Sets */
	struct table_block at; /* WRONG_TABLES */
	/* The step of a trial; the last two are of multicast trials only. failed: one of them. */
	enum { TRY_BLOCK, TRY_CHANGED, TRY_BACK } step;
	bool failed;
};

enum out_group { OUT_TRANSIT, OUT_FAULT, OUT_NOT_ADMITTED };

struct out_rule {
	uint8_t kind;			    /* of the rows of state; 0 = none is kept */
	uint8_t mark;			    /* enum inv_mark, of ports at links between switches */
	unsigned most;			    /* rows */
	uint8_t node_mark;		    /* enum inv_node_mark */
	const char *again;		    /* reason of the reroute that follows a change */
	uint8_t group;			    /* enum out_group */
	const char *name;		    /* of admission: as in rows of state and for programs */
	const char *word;		    /* what is wrong, for people */
	bool (*over)(const struct out *it); /* asked before each snapshot */
	/* How long it lasts after that one, NULL = it is the first. */
	unsigned (*seconds)(const struct out *last, const struct conf *conf);
	/* Called at due_us, and again each wait_us; 0 = the row alone has the time. */
	void (*due)(struct out *it);
	uint64_t wait_us;
};

struct links_out { /* the room */
	struct fabric *fabric;
	struct fabric_services services;
	struct out **all; /* oldest first */
	unsigned count, counts[OUT_CAUSES];
	const struct out_rule *rules;	  /* by cause */
	const struct state_kind *kinds;	  /* by out_rule.kind */
	struct links_out *kept[OUT_KIND]; /* owners of the kinds: each points here */
	struct loop_timer *judge, *due;
	uint64_t due_us; /* when the timer is, UINT64_MAX = it is not armed */
	/* Whether a device that refuses Sets counts M_Key violations (IBA 14.2.4): its answer. */
	enum { KEYS_UNKNOWN, KEYS_GOOD, KEYS_VIOLATED } keys;
	mad_token asked_keys;
	struct admission admission;
};

/* Each row: the oldest first, or the newest, which may be removed. `break` leaves neither. */
#define OUT_ROWS(table, it)                                                                        \
	for (unsigned it##_at = 0; it##_at < (table)->count; it##_at++)                            \
		for (struct out *it = (table)->all[it##_at]; it; it = NULL)
#define OUT_EACH(table, it)                                                                        \
	for (unsigned it##_at = (table)->count; it##_at-- > 0;)                                    \
		for (struct out *it = (table)->all[it##_at]; it; it = NULL)

/* ---- table.c --------------------------------------------------------------------------------- */

/* An empty table in the caller's memory, without rules; out_fini() frees the rows. */
void out_init(struct links_out *table, struct fabric *fabric);
void out_fini(struct links_out *table);
/* The row, valid until it is removed; NULL = there is none. */
struct out *out_find(const struct links_out *table, guid_t node, uint8_t port,
		     enum out_cause cause);
/* Adds a copy; NULL = the table has as many of that cause as may be. */
struct out *out_add(struct links_out *table, const struct out *row);
/* Removes and frees a row, and clears its marks at once. */
void out_remove(struct out *it);
/* When its rule's due() is called next. */
void out_set_due(struct out *it, uint64_t at_us);
/* Rows of that cause have changed: the rows of state follow; with out_changed() a reroute too. */
void out_keep(struct links_out *table, enum out_cause cause);
void out_changed(struct links_out *table, enum out_cause cause);
/* Sets or clears the marks of a row's ports; those of its switch alone. */
void out_mark_ports(const struct out *it, bool on);
void out_mark_node(const struct out *it, bool on);
/* The row's node, owned by the inventory; NULL = there is no such node or port. */
struct inv_node *out_node(const struct out *it);
/* Whether that port's link leads from one switch to another. */
bool out_is_transit(const struct inv_node *node, unsigned num);
/*
 * Replaces an end of a link by that of which a row is: the end with the lower GUID; of a fault that
 * at a switch, where the other end is none.
 */
void out_take_end(const struct links_out *table, enum out_cause cause, guid_t *node, uint8_t *port);
/* The quarantine or hold of a link, by its lower end, in force, waived or over; or NULL. */
struct out *out_quarantine(const struct links_out *table, guid_t node, uint8_t port);

/*
 * Lists a link, by its lower end, that may not be held for that reason, of limits.c, until it is
 * clean. True: it was not listed for that reason yet.
 */
bool out_exempt(struct links_out *table, guid_t node, uint8_t port, const char *reason);

#define TARGET_ERROR_SIZE WHAT_ERROR_SIZE

struct target {	       /* the node or port that an operator's command names */
	guid_t guid;   /* of the node */
	uint32_t node; /* index in the snapshot; TOPO_NONE = it is not there */
	unsigned port; /* 0 = the node as a whole */
	char name[256];
};

/*
 * Finds a node or a port (topology/what/what.h). False: there is none, or nothing is published yet;
 * err, of TARGET_ERROR_SIZE bytes, has the reason.
 */
bool target_find(const struct fabric_view *view, const char *what, struct target *target,
		 char *err);
/*
 * Finds a node, a port or a host: its HCAs, each with the host's name. Returns their number; the
 * caller frees *targets. 0 = none: the reason is in err.
 */
unsigned target_find_all(const struct fabric_view *view, const char *what, unsigned kinds,
			 struct target **targets, char *err);

/* ---- limits.c -------------------------------------------------------------------------------- */

extern const char limit_released[], limit_needed[], limit_full[];
/*
 * Whether a leaf would have too few uplinks without that link between switches; of a hold also
 * whether a switch would have no other to the next tier.
 */
bool limit_is_needed(const struct links_out *table, const struct inv_node *node, unsigned num,
		     enum out_cause cause);
/* Why that link, by its lower end, may not be held, a literal; NULL = it may. */
const char *limit_hold(const struct links_out *table, guid_t node, uint8_t port);

/*
 * Judges switches, and links between them, of that snapshot: a row is OUT_IN_FORCE already, which
 * counts against the others and stays, or becomes OUT_LISTED, it may go out, or OUT_WAIVED. Rows
 * may take at most a quarter of the known links of each tier (between two neighbouring levels), and
 * no leaf's last uplink that is up and in use (unless the leaf itself is isolated). Where they
 * would take more, nothing new of that tier or leaf may. Returns how many are waived. Pure.
 */
uint32_t isolate_judge(const struct topo *t, struct out *const *rows, uint32_t count);

/* Sets the marks of all rows for a snapshot that is about to be made: the one place that does. */
void out_mark_all(struct links_out *table);

/* ---- faults.c -------------------------------------------------------------------------------- */

/*
 * Lists a switch (port 0) or a link, by either end, and judges it soon. NULL = it is listed, the
 * table has too many, or a switch at its end is suspect.
 */
struct out *faults_add(struct links_out *table, guid_t node, uint8_t port, enum out_cause cause);
/* Before a snapshot: lists switches with an M_Key of another manager, drops what is over. */
void faults_review(struct links_out *table);
/* Of rules: whether the fault is over; a Set to see whether the switch takes it; a trial. */
bool fault_is_over(const struct out *it);
void fault_probe(struct out *it);
void fault_try(struct out *it);
/* A block of a forwarding table that its switch acknowledged, and does not hold. */
void faults_unheld(void *table, const struct table_block *block);
/* The hooks. */
void faults_init(struct links_out *table);
void faults_fini(struct links_out *table);
void faults_swept(struct links_out *table, const struct sweep_result *result);
void faults_programmed(void *table, const struct fabric_programmed *programmed);
void faults_settled(struct links_out *table);
/* A new list of {"what", "why", "in_force", "since_s"}; the caller owns it. */
json_t *faults_json(const struct links_out *table);

/* ---- rules.c --------------------------------------------------------------------------------- */

/* Gives the table its rules and kinds; reads the rows of state. */
void out_use_rules(struct links_out *table);
void out_load(struct links_out *table);
/* Takes a line of the cause's kind. False: it is none. */
bool out_take(struct links_out *table, enum out_cause cause, const char *line);

/* ---- Ends ------------------------------------------------------------------------------------ */

/* A quarantine, hold or exemption is due: it ends, is forgotten, or goes on. */
void out_check(struct out *it);
