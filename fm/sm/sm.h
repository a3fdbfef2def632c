/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sm: the visible part of a subnet manager: IsSM, SMInfo answered, TrapRepress; traps decoded and
 * handed on.
 */
#pragma once

#include "fm/conf/conf.h"
#include "fm/inventory/inventory.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/sm/election.h"

struct sm_conf {
	uint64_t sm_key;
	const struct inventory *inventory; /* borrowed; NULL = the own port has no M_Key */
	uint8_t priority;
};
/*
 * A trap was received, or several of the same kind (trap, sender, port) that were folded into one;
 * came_us: the first of them.
 */
typedef void sm_trap_fn(void *arg, const struct wire_notice *notice, uint16_t from_lid,
			unsigned times, uint64_t came_us);

/*
 * A control packet that has our port's M_Key; why: a literal, where it is not obeyed. Its answer
 * leaves behind this; one that is doubted has none.
 */
typedef enum control_verdict sm_control_fn(void *arg, uint32_t control,
					   const struct wire_sm_info *sender, const char **why);

struct sm;
/*
 * The caller's, to sm_free(). loop and mad are borrowed, conf is copied; trap, with arg, is called
 * from the loop. IsSM is not shown yet.
 */
struct sm *sm_new(struct loop *loop, struct mad *mad, const struct sm_conf *conf, sm_trap_fn *trap,
		  void *arg);
void sm_free(struct sm *sm); /* takes IsSM back */
/* conf is copied: what is answered from now on. */
void sm_configure(struct sm *sm, const struct sm_conf *conf);
struct sm_ops {			/* all with the arg of traps */
	sm_control_fn *control; /* NULL: all are refused */
	/* Before a Get or Set of SMInfo is read: what this manager is may be old. May be NULL. */
	void (*asked)(void *arg, const struct wire_mad *mad, const uint8_t *raw);
	/* The M_Key of the port with a LID, for TrapRepress. NULL: all have the own port's. */
	uint64_t (*key_of)(void *arg, uint16_t lid);
};
void sm_follow(struct sm *sm, const struct sm_ops *ops); /* copies them */
/* Others were asked: whether the latest one that was doubted is borne out now. */
void sm_judge_doubted(struct sm *sm);
struct wire_sm_info sm_info(const struct sm *sm); /* as others see us */
/*
 * Tells the manager at a LID that there is one here, of another rank than it may know: trap 144.
 * capmask: our port's.
 */
void sm_announce(struct sm *sm, uint16_t to_lid, uint16_t own_lid, uint32_t capmask);
/* Another one, as each change of role has it; borrowed. */
void sm_set_inventory(struct sm *sm, const struct inventory *inventory);
void sm_set_priority(struct sm *sm, uint8_t priority); /* as others see it */
void sm_set_state(struct sm *sm, enum sm_state state);
enum sm_state sm_state(const struct sm *sm);

struct sm_stats {
	uint64_t sm_info_answered, traps;
	uint64_t traps_repeated;      /* of these: folded, or the same again */
	uint64_t traps_not_repressed; /* too many of a kind */
	uint64_t controls_refused;    /* or doubted */
};
/* Since sm_new(). */
struct sm_stats sm_stats(const struct sm *sm);
