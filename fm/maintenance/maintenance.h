/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* maintenance: the state of this room; for its own files. */
#ifndef FMD_MAINTENANCE_MAINTENANCE_H
#define FMD_MAINTENANCE_MAINTENANCE_H

#include "fm/fabric/operation.h"
#include "fm/maintenance/cordon.h"
#include "fm/maintenance/flap.h"
#include "fm/maintenance/hold.h"
#include "fm/maintenance/quarantine.h"

struct maintenance {
	struct fabric *fabric;
	struct fabric_services services;
	struct cordons cordons;
	struct quarantines quarantines;
	struct holds holds;
	struct flaps flaps;
};

enum change_kind { CHANGE_CORDON, CHANGE_UNCORDON, CHANGE_RELEASE };

/*
 * change.c: cordons that were added or removed, or quarantines that were released, from the command
 * to its answer.
 */
struct change {
	struct maintenance *room;
	enum change_kind kind;
	const char *note; /* why nothing changes; NULL = something does */
	char what[256];	  /* the target's name */
	guid_t node;	  /* the target */
	uint8_t port;	  /* of it, 0 = all */
	unsigned links;	  /* number of its links */
	struct cordon_list cordons;
	struct quarantine_list released;
	uint64_t asked_us, blocks_before;
};

/* The caller owns it and gives it to one of the other three functions, which frees it. */
struct change *change_new(struct maintenance *room, const struct target *target,
			  enum change_kind kind);
void change_free(struct change *change);
/*
 * Starts the operation for a change that was made: fn is called once, when it is programmed and
 * saved, or with an error when the tables were refused and the change was taken back.
 */
void change_start(struct change *change, waiter_fn *fn, void *arg);
/* Answers that nothing is to be changed; note, a literal, says why. */
void change_unchanged(struct change *change, const char *note, waiter_fn *fn, void *arg);

#endif
