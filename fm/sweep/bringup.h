/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bringup: makes every port what the subnet wants: LID, LMC, SM LID and SL, M_Key, GID prefix, MTU
 * and VLs (the lower of both ends), time-outs, its P_Key table, and the link Active. It works link
 * by link: a link goes Active as soon as both its ports are configured and Armed; no link waits for
 * another. A port gets at most two Sets, and none if it already has the wanted settings. A port
 * that rejects its settings or does not answer is given up, and retried later.
 */
#pragma once

#include "fm/loop/loop.h"
#include "fm/conf/partition.h"
#include "fm/conf/qos.h"
#include "fm/mad/mad.h"
#include "fm/inventory/inventory.h"
#include "fm/inventory/port_setup.h"
#include "routing/lid_plan.h"

struct bringup_conf {
	uint64_t gid_prefix;
	uint8_t subnet_timeout; /* 4.096 us * 2^n, default 18 */
	uint8_t max_op_vls;	/* OperationalVLs code, default 5 = VL0-14 */
	uint8_t packet_life_time;
	uint8_t hoq_life;
	uint8_t leaf_hoq_life;
	uint8_t vl_stall;
	uint8_t leaf_vl_stall;
	uint8_t sm_sl;
	bool pkey_enforce_in, pkey_enforce_out; /* at switch ports that lead to end ports */
	struct qos_set qos;
};

/* So many refusals in a row, or deaf: the port is named, or its link isolated. */
#define BRINGUP_REFUSES 3
static inline bool bringup_refuses(const struct port_setup *setup)
{
	return setup->given_up >= BRINGUP_REFUSES ||
	       (setup->given_up && setup->obstacle == INV_OBSTACLE_DEAF);
}

struct bringup_result {
	unsigned ports_set, links_activated;
	unsigned links_failed; /* links with a port that was given up, now or earlier */
	unsigned links_fresh;  /* failed links that were given up less than a minute ago */
	unsigned links_new;    /* failed links that are so since this apply; named in the log */
	char first_new[160];   /* one of links_new: "NAME: why" */
	uint64_t retry_at_us;  /* when the first failed link is tried again; 0 = none failed */
	unsigned cured;	       /* ports that had been given up, and accept Sets again */
	unsigned unheld;       /* ports that acknowledge what they do not hold (.unheld) */
	unsigned pkeys_set;    /* ports whose P_Key table was written */
	unsigned lanes_set;    /* SL2VL and VL arbitration tables written */
	uint64_t smps, took_us;
};
typedef void bringup_done_fn(void *arg, const struct bringup_result *result);

struct bringup;

/* Opens the columns that bring-up keeps, also where none is made; sweep_new() does that. */
void bringup_open_columns(struct inventory *inv);
/*
 * PortInfo was read: takes it to the record. What was acknowledged, or shown by a port that was
 * as it should be, is compared, and what differs reported (inv_listener), to be set by the next
 * apply; a port that begins again has nothing of what was set.
 */
void bringup_port_read(const struct inventory *inv, struct inv_node *node, uint8_t num,
		       const uint8_t data[64]);
/* The caller's, never NULL. conf is copied; the others are borrowed. */
struct bringup *bringup_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			    const struct bringup_conf *conf);
void bringup_free(struct bringup *b); /* NULL is fine */
/*
 * The next apply asks every host once to register with the SA again (PortInfo:ClientReregister):
 * the former master had registrations that this one lacks. A host whose link has come up, or whose
 * LID or SM LID changes, is asked in any case.
 */
void bringup_reregister(struct bringup *b);
/* The same for one port; no effect on switches and hosts without the capability. */
void bringup_reregister_port(struct bringup *b, guid_t node, uint8_t port);
/* Copies conf, which holds from the next apply on. */
void bringup_configure(struct bringup *b, const struct bringup_conf *conf);

/*
 * Called when a link between switches has become Active at both ends, from within an answer: it may
 * not call bringup.
 */
void bringup_on_active(struct bringup *b, void (*fn)(void *arg), void *arg);

/*
 * Sets the P_Keys of ports, for the next apply's snapshot; borrowed as long as that apply's lids.
 * NULL = all ports are in the default partition.
 */
void bringup_set_pkeys(struct bringup *b, const struct pkey_map *map);

/*
 * Brings up the ports of a snapshot. A newer apply supersedes a running one, whose callback does
 * not come; outstanding Sets are taken over. sm_lid: LID of the SM's own port. lids is borrowed
 * until the callback or the next apply; t is referenced.
 */
void bringup_apply(struct bringup *b, const struct topo *t, const struct lid_map *lids,
		   uint16_t sm_lid, bringup_done_fn *fn, void *arg);
/*
 * Delays the rest of the running apply by so many microseconds, for others that need the loop and
 * the SMP window first. 0 = continue now.
 */
void bringup_wait(struct bringup *b, uint64_t us);

/*
 * A port that was given up rests before it is tried again: RETRY_US, twice as long each time, up to
 * a minute; where tries get no answer the first LOST_MAX of them follow each other after RETRY_US.
 * An apply leaves it out. This tries those that are due, by one Set each, once; one that rejects
 * it is read, for an earlier Set, whose answer was lost, may have been executed. False: an apply is
 * under way, or nothing is due; fn is not called then.
 */
bool bringup_retry(struct bringup *b, bringup_done_fn *fn, void *arg);

/* ---- What a port has shown to hold ----------------------------------------------------------- */

struct port_table {	/* one attribute of a port, by one MAD */
	uint8_t method; /* bring-up's: what is due; 0 = nothing */
	uint16_t attr_id;
	uint32_t modifier;
	unsigned entries,
		bits; /* that count, of so many bits each; 0 = PortInfo, by its settings */
	uint64_t mask;
	struct inv_change change; /* attribute, field, and which is the first entry */
	uint8_t want[WIRE_SMP_DATA];
};

/* Whether an entry of the answer differs; *change: the first. Not for PortInfo. */
bool port_table_differs(const struct port_table *table, const uint8_t *data,
			struct inv_change *change);
/*
 * What the port has shown to hold of that attribute: of P_Keys the block `part`, of lanes the
 * arbitration block or, behind these, SL2VL of one input port, by `round` another each time. False:
 * nothing, or not now, for something is being written, or it does not hold what it acknowledges.
 */
bool bringup_held(const struct bringup *b, const struct inv_node *node, uint8_t port,
		  enum inv_set what, unsigned part, unsigned round, struct port_table *table);
/*
 * The port has answered that, last: and all of its kind. True if it differs. A table is then
 * reported (inv_listener) and forgotten, for the next apply to write; but for one that differs a
 * second time, which waits for bringup_retry(). Of PortInfo nothing is changed: a sweep compares
 * it.
 */
bool bringup_compare(struct bringup *b, struct inv_node *node, uint8_t port, enum inv_set what,
		     const struct port_table *table, const uint8_t data[64], bool last);
/* Whether some port acknowledged settings that were not read back. */
bool bringup_has_unread(const struct bringup *b);
void bringup_all_read(struct bringup *b); /* all but ports that can't be asked */
/* Whether anything is sent to that port: it answers, has a link, and was not given up. */
bool bringup_port_workable(const struct inv_node *node, unsigned num);
