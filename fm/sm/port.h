/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port: opens and reads the manager's own port, and asks the switch behind it who it is. What these
 * answers mean is decided by fm/sm/own_port.h; who has the port hears of it by callbacks.
 */
#ifndef FMD_SM_PORT_H
#define FMD_SM_PORT_H

#include "fm/events/alert.h"
#include "fm/conf/conf.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/sm/own_port.h"
#include "fm/sm/sm.h"
#include "fm/inventory/inventory.h"

/* From the loop or from within a call of port_swept(). */
struct port_ops {
	void (*opened)(void *arg, guid_t port_guid);
	/*
	 * The port is in no fabric, or in another: nothing may be sent any more by the paths that
	 * are known. At once; left() follows.
	 */
	void (*leaving)(void *arg);
	void (*left)(void *arg); /* from the loop */
	void (*entered)(
		void *arg); /* it has a link; from the loop, behind left() where both are due */
	/* The port's state, or what port_missing() says, may be another. */
	void (*changed)(void *arg);
	/* Another manager has disabled this one: nothing is sent on the wire. */
	bool (*disabled)(const void *arg);
};

struct port_services { /* borrowed */
	struct loop *loop;
	struct mad *mad;
	struct sm *sm; /* whose IsSM the port shows */
	struct alerts *alerts;
	const struct conf *conf;
};

struct port;
/* The caller's, to port_free(). */
struct port *port_new(const struct port_services *services, const struct port_ops *ops, void *arg);
void port_free(struct port *port);

/* Opens the device, and tries again each second. It may be absent for as long as it likes. */
void port_start(struct port *port);
/*
 * Reads its PortInfo, by a local MAD: before a sweep's first request, so that this answer is the
 * first.
 */
void port_check(struct port *port);
/* Asks the neighbour who it is, by one SMP; not while one is on its way. */
void port_probe(struct port *port);
/*
 * A sweep has ended. fresh: nothing was known before it. NULL: the port is where it was. Else what
 * was found is of no use, and why: the port is in no fabric, or in another place. Until the next
 * callback.
 */
const char *port_swept(struct port *port, const struct inventory *inventory, bool fresh);

/*
 * Why nothing can be managed; NULL = it has a link, or that is about to be known. Until the next
 * callback.
 */
const char *port_missing(struct port *port);
enum own_port_state port_state(const struct port *port);
/* Why this process can't go on, though another may; the loop was stopped for it. NULL = it can. */
const char *port_failed(const struct port *port);

#endif
