/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hold: which links with a persistently high error rate are quarantined until they are clean
 * (maintenance_hold()): no host's link, none that is excluded or needed, and few at once. A
 * refusal is an event once, and each further request is judged again. A link that an operator has
 * released is not held until it was clean.
 */
#ifndef FMD_MAINTENANCE_HOLD_H
#define FMD_MAINTENANCE_HOLD_H

#include "fm/maintenance/quarantine.h"

enum hold_answer {
	HOLD_YES,
	HOLD_HOST_LINK,
	HOLD_EXCLUDED,
	HOLD_RELEASED, /* by an operator */
	HOLD_NEEDED,
	HOLD_FULL, /* so many are held already */
	HOLD_DRY_RUN
};

struct hold_refused {
	guid_t node; /* the end with the lower GUID */
	uint8_t port;
	enum hold_answer why;
	uint64_t clean_us; /* maintenance_clean() */
};

struct holds {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct quarantines *quarantines;
	struct hold_refused *refused;
	unsigned nrefused;
	struct loop_timer *timer; /* checks whether links have become clean */
};

#endif
