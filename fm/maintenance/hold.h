/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hold: which links whose error rate is too high for a long time are quarantined until they are
 * clean (fabric_request_hold()): none of a host's, none excluded or needed, and few at once. What
 * is refused is an event once, and judged anew each time that it is asked for. A link that an
 * operator has released is left alone until it was clean.
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
};

struct holds {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct quarantines *quarantines;
	struct hold_refused *refused;
	unsigned nrefused;
	struct loop_timer *timer; /* looks whether links have become clean */
};

void holds_init(struct holds *holds, struct fabric *fabric, const struct fabric_services *services,
		struct quarantines *quarantines);
void holds_fini(struct holds *holds);
/* What was held in an earlier life is looked after. */
void holds_load(struct holds *holds);
/* By either end; why: cut to QUARANTINE_WHY. */
void holds_ask(struct holds *holds, guid_t node, uint8_t port, const char *why);
/* Links that have too many errors and are needed, or are too many: an alert. */
void holds_review(struct holds *holds);
/* An operator has released those, held or quarantined for a time. */
void holds_released(struct holds *holds, const struct quarantine_list *released);

#endif
