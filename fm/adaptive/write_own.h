/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * write's own parts (write.h): entries.c says what a switch is to hold and compares publications,
 * write.c brings it there step by step, masks.c does so for HCAs.
 */
#pragma once

#include "fm/adaptive/write.h"
#include "fm/mad/batch.h"
#include "fm/mad/wire_optional.h"
#include "fm/program/program.h"
#include "fm/registers/module.h"
#include "routing/adaptive/groups.h"

enum stage { PLAIN, JOINS, READY, TURNING, ON };
enum phase { SETTLED, SHRINKS, TABLES, ASKS, GROUPS, STATES, READS, TURNS };
/* JOB_MASKS: of an HCA, arg is its port. */
enum request { JOB_INFO, JOB_GROUPS, JOB_GROUPS_READ, JOB_ENTRIES_READ, JOB_ON, JOB_ON_READ };
enum { JOB_FIRMWARE = JOB_ON_READ + 1, JOB_MASKS, JOB_MASKS_SET };
/* Of a LID's choices, by `changes`. */
enum { GAINS = 1, LOSES = 2, OTHER = GAINS | LOSES, STRAYS = 4, APART = 8, ALL = UINT8_MAX };
#define APART_MOST 40 /* LIDs, numbered from APART on: a few milliseconds */

struct block {
	uint8_t data[WIRE_SMP_DATA]; /* as it was sent last, or read */
	bool known;		     /* acknowledged */
	bool filled;		     /* of entries: it was sent this, or read */
	bool busy;		     /* of groups: it was sent, and not answered */
	bool reads;		     /* of entries: a Get is on its way */
};

struct ar_switch {
	guid_t guid;
	uint32_t row; /* in the published snapshot, TOPO_NONE = not there */
	enum stage stage;
	const char *why;		/* it cannot join, a literal */
	bool failed;			/* it was tried, and why says what it did not do */
	char firmware[DEVICE_FIRMWARE]; /* "" = not known */
	bool was_set;	 /* of TURNING: that it is on was acknowledged, or timed out */
	bool strays;	 /* it may hold something else than the base has */
	bool gone, away; /* out of reach: of this publication, and when the base was made */
	uint8_t raw[WIRE_SMP_DATA], reboots;
	struct wire_ar_info info;
	unsigned lft_bit, group_bit;
	bool stacked;	   /* its sub-groups, or where others than the first lie is not known */
	unsigned differed; /* findings of the audit */
	struct block *entries, *groups;
	uint32_t nentries, ngroups;
};

struct ar_row {		    /* of the published snapshot */
	struct ar_ports up; /* ports whose links are up */
	uint32_t old;	    /* its row in the base */
	bool alike;	    /* its groups, and those of its entries, are as in the base */
	bool moves;	    /* some entry of a LID that is apart */
};

struct ar_changes {    /* from the base to what was published */
	uint8_t *of;   /* by LID */
	uint8_t *most; /* by part: the highest of them, ALL where one is OTHER */
	uint32_t count;
	bool *moves;	   /* by number of a LID that is apart, then row */
	bool in_place;	   /* destinations have the LIDs that they have in the base */
	uint64_t known_us; /* when tables began to wait for groups */
};

struct ar_lap {		 /* over masks of HCAs */
	unsigned set;	 /* ports whose masks were, since the last event */
	bool changed;	 /* some, since they were judged */
	uint32_t at;	 /* of all ports: those that a lap has read */
	uint64_t lap_us; /* end of the latest lap */
};

struct writer {
	struct fabric *fabric;
	struct fabric_services services;
	const json_t *packings;
	writer_leave_fn *leave;
	void *arg;
	struct batch *batch;
	struct loop_timer *patience, *audit;
	uint32_t audited;	    /* of all entries and groups: those that were read again */
	struct job *job;	    /* what takes longer; a publication ends it */
	struct check_groups *proof; /* of its steps */
	struct check_report report;
	uint8_t *compared; /* changes by the rows before `row` */
	uint32_t row;
	struct ar_row *rows;
	struct program_entries entries;
	enum phase phase;
	const struct topo *topo; /* published, referenced */
	struct lid_map *lids;
	struct ar_maker *maker;
	struct ar_groups *next; /* of it; NULL = all is Static */
	struct ar_changes changes;
	bool grows; /* GROUPS was reached, and the base is what is being written */
	bool proven;
	unsigned turned; /* on, since the last event */
	struct ar_lap masks;
	struct { /* the latest publication that was written and proven */
		const struct topo *topo;
		struct tables tables, spare; /* spare: the next ones in the making */
		struct ar_groups *groups;    /* NULL: there is none */
	} base;
};

/* NULL: it is not known to have adaptive routing. */
static inline struct ar_switch **ar_cell(const struct inv_node *node)
{
	return inv_node_cell(node, INV_AR_SWITCH, sizeof(struct ar_switch *));
}
static inline struct ar_switch *ar_of(const struct inv_node *node)
{
	return *ar_cell(node);
}

#define AR_EACH(w, node, ar)                                                                       \
	INVENTORY_EACH ((w)->services.inventory, node)                                             \
		for (struct ar_switch *ar = ar_of(node); ar; ar = NULL)

/* The same of those that are in the published snapshot, which are fewer nodes to look at. */
#define AR_EACH_ROW(w, node, ar)                                                                   \
	for (uint32_t node##_row = 0; node##_row < (w)->topo->nswitches; node##_row++)             \
		for (struct inv_node *node = inventory_find((w)->services.inventory,               \
							    (w)->topo->nodes[node##_row].guid);    \
		     node; node = NULL)                                                            \
			for (struct ar_switch *ar = ar_of(node); ar; ar = NULL)

/* ---- entries.c ------------------------------------------------------------------------------- */

/* What program asks (program.h); arg is the writer. */
extern const struct program_entries ar_entries;

/* Queues a request (enum request, or of an HCA) to the node. */
void ar_add_job(struct writer *w, unsigned kind, guid_t node, uint32_t arg);
/* It did not do what it has to, a literal: it stays plain, or is turned off. */
void ar_fails(struct writer *w, const struct inv_node *node, const char *why);
/* Sends groups that the switch is to hold by now and does not. */
void ar_write_groups(struct writer *w, struct ar_switch *ar);
/* Whether the highest LID has a place in the modifier. */
bool ar_fits(const struct writer *w, const struct ar_switch *ar);
/* What the switch is known to hold of a group, and of a LID's entry; false: not known, or none. */
bool ar_held_group(const struct ar_switch *ar, unsigned id, struct ar_ports *ports);
bool ar_held_entry(const struct ar_switch *ar, uint32_t lid, struct wire_ar_entry *entry);
/* By LID (malloc), up to that LID; NULL = there are none. */
void ar_set_changes(struct ar_changes *changes, uint8_t *of, uint32_t top);
/* Finds the rows of the published snapshot, which are not compared yet. */
void ar_place_rows(struct writer *w);
/*
 * Compares what was published with the base, by LID, some switches a call; false: that was all, and
 * writer.changes has it.
 */
void ar_compare_begin(struct writer *w);
bool ar_compare_go(struct writer *w, const struct tables *tables);

/* ---- masks.c --------------------------------------------------------------------------------- */

#define AR_MASKS "hca-masks"	    /* the alert */
struct ar_masks {		    /* of an HCA's port */
	uint8_t raw[WIRE_SMP_DATA]; /* MlnxExtendedPortInfo */
	/* REFUSES: it does not answer, or refuses; LACKS: it does not have what was sent. */
	enum { UNREAD, REFUSES, LACKS, HOLDS } state;
};

/* SLs that use adaptive routing. */
#define SLS(w) ((uint32_t)(w)->services.conf->routing.adaptive_sl)

/* Of ports whose links are up, once each time, and when more SLs use it. */
void ar_masks_read(struct writer *w);
/* The same of each, so many at most, and of all of them every ten minutes. */
void ar_masks_audit(struct writer *w, int most);
/* Of JOB_MASKS and JOB_MASKS_SET: what is sent, and what came (NULL = nothing). */
void ar_masks_fill(const struct writer *w, const struct inv_node *node, unsigned num,
		   uint8_t *data);
void ar_masks_answered(struct writer *w, const struct inv_node *node, const struct batch_job *job,
		       const uint8_t *data);
/* Names the ports that are not well. */
void ar_masks_judge(struct writer *w);
