/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sm: the visible part of a subnet manager: IsSM, SMInfo answered, TrapRepress; traps decoded and handed on. */
#ifndef FMD_SM_SM_H
#define FMD_SM_SM_H

#include "fm/core/loop.h"
#include "fm/mad/mad.h"

enum sm_state { SM_NOT_ACTIVE = 0, SM_DISCOVERING = 1, SM_STANDBY = 2, SM_MASTER = 3 };

struct sm_conf {
	uint64_t sm_key, mkey;
	uint8_t priority;
};
/* A trap was received, or several of the same kind (trap, sender, port) that were folded into one. */
typedef void sm_trap_fn(void *arg, const struct wire_notice *notice, uint16_t from_lid,
			unsigned times);

struct sm;
struct sm *sm_new(struct loop *loop, struct mad *mad, const struct sm_conf *conf, sm_trap_fn *trap,
		  void *arg);
void sm_free(struct sm *sm); /* takes IsSM back */
void sm_set_state(struct sm *sm, enum sm_state state);
enum sm_state sm_state(const struct sm *sm);
const char *sm_state_name(enum sm_state state);

struct sm_stats {
	uint64_t sm_info_answered, traps;
	uint64_t traps_repeated;      /* of these: folded, or the same again */
	uint64_t traps_not_repressed; /* too many of a kind */
};
struct sm_stats sm_stats(const struct sm *sm);

#endif
