/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_allowed: ports that show a subnet manager (IsSM) which allowed_sm_guids does not name.
 *
 * Each is an alert (kind "sm-not-allowed") and an event, and a master hands over to none of them.
 * With foreign_sm_action = "isolate" the master also takes the link of such an adapter out of
 * service: it is brought down once, and stays in Init, where it carries SMPs and no data. So it is
 * seen when the manager there ends, and the link comes up again then, or when it is allowed. Its
 * SMPs are kept from ports by M_Keys alone. A switch is never touched, nor the adapter that this
 * manager is on.
 */
#ifndef FMD_SM_MODULE_ALLOWED_H
#define FMD_SM_MODULE_ALLOWED_H

#include "fm/inventory/inventory.h"

struct sm_room;

#define STRANGERS 64

struct stranger { /* a manager that is not allowed */
	guid_t port_guid, node;
	uint8_t num; /* of its port; 0 = a switch's own */
	bool shut;   /* its link is out of service, or is to be */
	char name[NAMING_MAX];
};

struct strangers {
	struct stranger list[STRANGERS]; /* more are left out, and come when others go */
	unsigned count;
	bool marked;	   /* some port has INV_SHUT */
	uint64_t asked_us; /* their ports were last to be read again */
};

/* Whether allowed_sm_guids names the port with that GUID, or is empty. */
bool sm_is_allowed(const struct sm_room *r, guid_t port_guid);
/* The port with that GUID, for events; of what the inventory does not know: nothing. */
struct event_subject sm_subject(const struct sm_room *r, guid_t port_guid);
/* All others were asked, or the configuration may be another. */
void sm_allowed_review(struct sm_room *r);
/* A snapshot is about to be made: sets INV_SHUT, and lets go of those that are no managers. */
void sm_allowed_mark(struct sm_room *r, struct inventory *inventory);

#endif
