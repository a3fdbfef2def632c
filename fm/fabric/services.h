/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* services: what the pipe lends to all rooms (fm/fabric/module.h). */
#ifndef FMD_FABRIC_SERVICES_H
#define FMD_FABRIC_SERVICES_H

#include "fm/events/alert.h"
#include "fm/conf/conf.h"
#include "fm/events/event_log.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/state/state_store.h"
#include "fm/inventory/inventory.h"

struct bringup;
struct check_base;
struct fabric;
struct lid_memory;
struct mft;
struct program;
struct sa;
struct sweep;

/*
 * What all rooms work with; borrowed for as long as the room lives. conf is changed in place before
 * configure() is called.
 */
struct fabric_services {
	struct loop *loop;
	struct mad *mad;
	const struct conf *conf;
	struct event_log *events;
	struct alerts *alerts;
	struct sweep *sweep;
	struct inventory *inventory;
	struct bringup *bringup;
	struct program *program;
	struct mft *mft;	   /* multicast tables: what switches are to hold, and do */
	struct check_base *proofs; /* what the latest proof of unicast tables left to build upon */
	struct lid_memory *lids;   /* of every port ever met */
	struct sa *sa;		   /* answers from what sa_module gave it of the view */
	struct state_store *state; /* state_dir: rooms read it in load(), and report changes */
};

/* The same for all rooms, from their init() on. */
struct fabric_services fabric_services(struct fabric *fabric);

#endif
