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
#include "fm/program/audit.h"
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

struct spoilt { /* a block that the audit found changed, until it is repaired */
	guid_t sw;
	uint32_t block;
};

/* deploy.c */
void fabric_programmed(void *arg, const struct program_result *result);
void fabric_brought_up(void *arg, const struct bringup_result *result);

/* fabric.c: begins what is wanted next, if nothing is under way. */
void fabric_look(struct fabric *f);

/* held.c: devices that do not hold what they acknowledged, but for forwarding tables. */
void fabric_held_fini(struct fabric *f);
void fabric_held_note(struct fabric *f,
		      const struct bringup_result *result); /* bring-up has ended */
void fabric_held_polled(struct fabric *f); /* a master, while nothing is being programmed */

/* verify.c: what was answered once. */
void fabric_verify_init(struct fabric *f);
void fabric_verify_fini(struct fabric *f);
void fabric_verify_later(struct fabric *f); /* a look has ended, or what was published is settled */

/* untrue.c: switches that do not hold what they acknowledge. */
void fabric_untrue_init(struct fabric *f);
void fabric_untrue_fini(struct fabric *f);
bool fabric_untrue(const struct fabric *f, guid_t sw); /* it is one of these */
void fabric_untrue_tops(struct fabric *f); /* a look has met some that do not keep LinearFDBTop */
/* The block was found spoilt, written again and acknowledged: is it held? */
void fabric_untrue_repaired(struct fabric *f, guid_t sw, uint32_t block);
void fabric_untrue_load(struct fabric *f);    /* those of an earlier life, from state_dir/untrue */
void fabric_untrue_changed(struct fabric *f); /* which of them are isolated is to be saved */
void fabric_untrue_met(
	struct fabric *f); /* of those from the file some may be known by now: they are isolated */
void fabric_untrue_mft_repaired(struct fabric *f, guid_t sw, uint16_t block, unsigned position);

/*
 * isolate.c: a switch (port 0) or a link, by either end, that is there and can not be worked with. It carries no transit, as
 * if it were cordoned, and is named in an alert for as long as it lasts, unless too many are: then nothing is moved, and
 * that is the alert. To say so again changes nothing. Whoever said so releases it when the fault is over, but for
 *   ISOLATED_NOT_ACTIVE   ends by itself when both ends are Active, and when the link is down
 *   ISOLATED_NO_SETS      such a switch is sent no Set any more but one probe a minute, and is released by the first that it takes
 * An update follows by itself. Both may be called at any time, from any callback.
 */
enum isolation_cause { ISOLATED_NOT_ACTIVE, ISOLATED_NO_SETS, ISOLATED_WRONG_TABLES };
void fabric_isolate(struct fabric *f, guid_t node, uint8_t port, enum isolation_cause cause);
/* A switch that was isolated in an earlier life: in force at once, for it was judged then. */
void fabric_isolate_again(struct fabric *f, guid_t sw, enum isolation_cause cause);
bool fabric_isolated(const struct fabric *f, guid_t sw,
		     enum isolation_cause cause); /* listed, and in force */
void fabric_isolate_release(struct fabric *f, guid_t node, uint8_t port,
			    enum isolation_cause cause);
void fabric_isolate_refusing(
	struct fabric *f); /* switches whose PortStateChange can't be cleared */
/* A Set was not taken: if it answers a Get, it is isolated by ISOLATED_NO_SETS. */
void fabric_isolate_suspect(void *arg, guid_t sw);
void fabric_isolate_links(
	struct fabric
		*f); /* judges at once those that bring-up has given up and that are not Active */
void fabric_isolate_mark(struct fabric *f); /* before a snapshot */
json_t *fabric_isolated_json(
	const struct fabric *f); /* {"what", "why", "in_force", "since_s"} each */
void fabric_isolation_init(struct fabric *f);
void fabric_isolation_fini(struct fabric *f);

/* mcast.c */
void fabric_mcast_init(struct fabric *f); /* behind the SA's */
void fabric_mcast_fini(struct fabric *f); /* ahead of it */
void fabric_mcast_start(struct fabric *f);
bool fabric_mcast_known(const struct fabric *f); /* the groups of an earlier life were read */
void fabric_mcast_configure(struct fabric *f);
void fabric_mcast_published(struct fabric *f, const struct topo *older); /* older NULL: the first */
void fabric_mcast_keep_proof(struct fabric *f);				 /* before the next one */
void fabric_mcast_shown(struct fabric *f, const struct topo *older); /* its like, port by port */
void fabric_mcast_wake(struct fabric *f);			     /* begins what is due */
void fabric_mcast_again(struct fabric *f); /* a block is to be written again */
bool fabric_mcast_busy(const struct fabric *f);
json_t *fabric_mcast_figures(const struct fabric *f);

/* audit.c */
void fabric_audit_init(struct fabric *f);
void fabric_audit_configure(struct fabric *f);
void fabric_audit_fini(struct fabric *f); /* before the ends of program and multicast */
/* A switch does not hold what it acknowledged: an update writes it again. */
void fabric_audit_found(struct fabric *f, guid_t sw, uint32_t block);
void fabric_audit_repaired(struct fabric *f);
void fabric_audit_tell(struct fabric *f, guid_t sw,
		       uint32_t block); /* it was read: it is repaired */
void fabric_audit_tell_mft(struct fabric *f, guid_t sw, unsigned block, unsigned position);
void fabric_audit_mft_repaired(struct fabric *f);

/* adaptive.c: adaptive routing that another manager left on */
void fabric_adaptive_init(struct fabric *f);
void fabric_adaptive_fini(struct fabric *f);
void fabric_adaptive_load(struct fabric *f);
void fabric_adaptive_ask(struct fabric *f);	/* at the beginning of an update */
void fabric_adaptive_program(struct fabric *f); /* programs what is published, behind that */

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
