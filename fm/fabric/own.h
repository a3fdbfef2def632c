/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * own: what concerns that are not yet rooms of their own (fm/fabric/module.h) share. Each
 * section below is headed by the file that has it. Nothing outside of fm/fabric/ includes this.
 */
#ifndef FMD_FABRIC_OWN_H
#define FMD_FABRIC_OWN_H

#include <sys/types.h>
#include "fm/core/alert.h"
#include "fm/core/event_log.h"
#include "fm/core/guid_list.h"
#include "fm/core/job.h"
#include "fm/core/log.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/modules.h"
#include "fm/fabric/operations.h"
#include "fm/fabric/pipe.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/role.h"
#include "fm/fabric/update.h"
#include "fm/fabric/view.h"
#include "fm/fabric/waiters.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/state/state_store.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "routing/proof/check_change.h"
#include "routing/ftree/route.h"
#include "topology/cutoff.h"

/* The old name of fabric_is_master(). */
static inline bool fabric_rules(const struct fabric *f)
{
	return fabric_is_master(f);
}

/* The old name of fabric_updating(). */
static inline bool fabric_updates(const struct fabric *f)
{
	return fabric_updating(f);
}

/* deploy.c */
void fabric_programmed(void *arg, const struct program_result *result);
void fabric_brought_up(void *arg, const struct bringup_result *result);

/* fabric.c: begins what is wanted next, if nothing is under way. */
void fabric_look(struct fabric *f);

/* Files of concerns that are not rooms yet; their owner is the pipe. */
static inline int fabric_state_read(struct fabric *f, const struct state_file *file)
{
	return state_store_read(f->store, file, f);
}

static inline void fabric_state_changed(struct fabric *f, const struct state_file *file)
{
	state_store_changed(f->store, file, f);
}

static inline void fabric_state_unchanged(struct fabric *f, const struct state_file *file)
{
	state_store_unchanged(f->store, file);
}

#endif
