/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* admission: links that were not known before, and are kept out of the fabric. */
#pragma once

#include "fm/events/event_log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/view.h"
#include "fm/links_out/module.h"

struct links_out;
struct out;

/*
 * Links that were not known before, and are kept out of the fabric (`admission`), in
 * state_dir/held. Nothing is sent over them but the probe that found them; they are in no snapshot,
 * and what is known at their ports stays so. Where another manager set the LIDs behind one its
 * port here is disabled, after the file was written; others stay in Init. Judged are links of which
 * one end was known before: not what the first sweep of an empty state_dir finds.
 */

#define HELD_NAME 200

/* What becomes of the port at our end: the second and the last are on their way. */
enum held_port { HELD_IN_INIT, HELD_SHUTS, HELD_SHUT, HELD_OPENS };

/*
 * The plan of links, in state_dir/plan: all that are to be, so also those that are known.
 * Its links are in use as soon as they are met; new ones at ports for which it has others are held.
 */
enum plan_verdict {
	PLAN_SILENT,
	PLAN_MAY, /* the device that it expects there is not known yet, and nor is this one */
	PLAN_HAS,
	PLAN_NOT
};

struct plan {	    /* zeroed = there is none */
	char *text; /* of the file that was given */
	const struct topo *topo,
		*of;   /* what it says; NULL = not read yet. Whose GUIDs these are: */
	guid_t *guids; /* cabling_plan_guids() */
};

struct admission {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct links_out *table; /* it is a part of */
	struct plan plan;
	bool judges;  /* something was known before the present sweep, and the own port is there */
	bool starts;  /* nothing was published in this life */
	bool met_new; /* a switch that nobody knew was admitted: what is behind it is counted */
	uint16_t predecessor; /* LID of the master before this one; 0 = none was there */
	unsigned turn;	      /* whose port is set next */
	/*
	 * What was read behind a link to another fabric while its port was not disabled yet: its
	 * LIDs are those of which the switch beside its manager has an entry.
	 */
	struct {
		struct batch *batch;
		struct mad_path path;	/* towards that manager */
		bool beside;		/* it is at an HCA */
		bool whole;		/* all LIDs were read, in this life */
		uint64_t until_us;	/* ends that are to be disabled may wait until then */
		uint16_t sm_lid, left;	/* blocks that are not read yet */
		uint8_t *out;		/* by LID: the port of that switch, 0xff = nobody has it */
		struct wire_sm_info sm; /* guid 0 = not read */
	} sight;
	struct loop_timer *due;
};

/* Nothing is judged before admission_load(). The end of the room opens no port. */
void admission_init(struct links_out *table);
void admission_fini(struct admission *a); /* ports stay as they are */
/* The hooks; published: FABRIC_PUBLISHED; review: FABRIC_REVIEWED. */
void admission_load(struct admission *a);
void admission_configure(struct admission *a);
void admission_swept(struct admission *a);
void admission_published(struct admission *a);
void admission_review(struct admission *a);
/*
 * admission.c: what is known of the fabric behind a held link. Forgets its LIDs; takes a line of
 * the file (false: it is none of these); writes them.
 */
void beyond_clear(struct admission *a);
bool beyond_take(struct admission *a, const char *line);
void beyond_write(const struct admission *a, FILE *out);
/* The LID of the manager that this one took over from; whether a LID was set by neither. */
uint16_t beyond_predecessor(const struct admission *a);
bool beyond_is_foreign(const struct admission *a, guid_t guid, const struct wire_port_info *port0);
/*
 * Which LIDs move when that fabric and this one are joined: those that both have, of the one with
 * fewer, or else of the one whose manager is not the master. Null: its LIDs were not read.
 */
json_t *beyond_moves(const struct admission *a, bool is_master, unsigned *others);
/*
 * At a start. True: a link came up at that switch and went down again while no manager was here, as
 * where that of another fabric has disabled the other end. *only: its port, if one alone is down.
 */
bool beyond_missed(const struct admission *a, struct inv_node *node, uint8_t *only);
/* How many links are held. */
unsigned admission_held(const struct admission *a);
/* The row of the link of that one, by its ends, of which one may not be met yet; or NULL. */
struct out *admission_find(const struct admission *a, const struct out *row);
/*
 * OUT_ADMITTED: that switch is forgotten; when it returns with its LID it is not of another
 * fabric. OUT_MANAGER: lists a manager that is allowed.
 */
void admission_expect(struct admission *a, guid_t guid, enum out_cause cause);
/* The plan: its kind. The end: frees what it has. */
extern const struct state_kind plan_kind;
void plan_fini(struct plan *plan);
/*
 * Reads the text, once there is a snapshot, and finds the devices of that one (NULL = there is none
 * yet). False with `name:line: reason` in err: it is no plan.
 */
bool plan_read(struct plan *plan, const struct topo *t, const char *name, char *err, size_t size);
/* A link, by its ends: which devices, and at which of their ports (local_port). */
enum plan_verdict plan_judge(const struct plan *plan, const struct inventory *inv,
			     const struct wire_node_info *one, const struct wire_node_info *two);
/* A cable was pulled: ports are enabled again, and judged if it was not. How many. */
unsigned admission_forget(struct admission *a, guid_t guid, unsigned port);
