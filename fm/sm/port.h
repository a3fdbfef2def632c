/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port: opens and reads the manager's own port, and asks the switch behind it who it is. What these
 * answers mean is decided by struct own_port below; who has the port hears of it by callbacks.
 */
#pragma once

#include "fm/conf/conf.h"
#include "fm/events/alert.h"
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
	/* The port's PortInfo was read; before its state changes by it. */
	void (*read)(void *arg, const struct wire_port_info *info);
	/*
	 * The port that is open now leads to this neighbour. True: that is where the fabric that is
	 * known has this port, and the manager goes on from there. NULL: whether it could.
	 */
	bool (*moves)(void *arg, const struct wire_node_info *neighbour);
	/* Another manager has disabled this one: nothing is sent on the wire. */
	bool (*disabled)(const void *arg);
};

struct port_services { /* borrowed */
	struct loop *loop;
	struct mad *mad;
	struct sm *sm; /* whose IsSM the port shows */
	struct alerts *alerts;
	struct event_log *events;
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
/* Adds "own_port" to the status: which, since when, why, and how many others have a link. */
void port_status(const struct port *port, json_t *doc);
/* What is known of it, the port's own: until the next callback. */
const struct own_port *port_seen(const struct port *port);
/* Why this process can't go on, though another may; the loop was stopped for it. NULL = it can. */
const char *port_failed(const struct port *port);

/* ---- Is the manager's own port in the fabric? Decides only: no I/O, no clock ----------------- */

/*
 * What the
 * port's PortInfo and its neighbour's NodeInfo say goes in as events; what is to be done comes out.
 * Everything else asks this module whether there is a fabric to manage. The own adapter is
 * believed. What the neighbour says comes over a link: another one counts when it says so twice in
 * a row.
 */

enum own_port_state {
	OWN_PORT_NO_DEVICE, /* none that can be opened */
	OWN_PORT_BUSY,	    /* the kernel refuses it: another manager runs on it */
	OWN_PORT_NO_LINK,   /* open, and down */
	OWN_PORT_SILENT,    /* up, and nobody behind it has answered since it came up */
	OWN_PORT_IN_FABRIC, /* the neighbour has been met by a sweep */
	OWN_PORT_STATES
};
/* The state as a kind of alert, a literal; "unknown" for a number that is none. */
const char *own_port_state_name(enum own_port_state state); /* as in fmctl status */

enum own_port_event {
	OWN_PORT_NO_NEWS,
	/* The device */
	OWN_PORT_LOST, /* gone, or not there yet */
	OWN_PORT_REFUSED,
	OWN_PORT_OPENED,
	/* PortInfo */
	OWN_PORT_DOWN,
	OWN_PORT_UP,
	OWN_PORT_BOUNCED, /* up, and was down since it was last read */
	OWN_PORT_CHANGED, /* Active as before, with another LID or another manager's */
	/* The neighbour */
	OWN_PORT_MET,	  /* by a sweep, which began when the port was up */
	OWN_PORT_HEARD,	  /* its NodeInfo: the one that was met, or none was met yet */
	OWN_PORT_OTHER,	  /* another node, or another of its ports, twice in a row */
	OWN_PORT_STRANGE, /* the same, once: it is asked again */
	OWN_PORT_UNHEARD, /* no answer */
	OWN_PORT_EVENTS
};

enum own_port_action {
	OWN_PORT_STAY,	      /* nothing changes */
	OWN_PORT_WAIT,	      /* the state alone has changed */
	OWN_PORT_READ,	      /* its PortInfo, now */
	OWN_PORT_PROBE,	      /* the neighbour's NodeInfo */
	OWN_PORT_SWEEP,	      /* everything, from DISCOVERING; nothing is known of the fabric */
	OWN_PORT_LEAVE,	      /* nobody's master or standby any more: known paths are dropped */
	OWN_PORT_BEGIN_AGAIN, /* the two before this in one: leave, then sweep */
};

struct own_port {
	enum own_port_state state;
	bool is_switch;		    /* port 0 of a switch: has no link and no neighbour */
	bool silent;		    /* the neighbour did not answer when last asked */
	struct wire_port_info info; /* as last read; state 0 = not since it was opened */
	guid_t neighbour;	    /* node GUID; 0 = not met */
	uint8_t neighbour_port;
	guid_t seen; /* what its latest answer shows instead; 0 = nothing */
	uint8_t seen_port;
};

/* What a PortInfo that was read says; keeps it for the next. */
enum own_port_event own_port_read(struct own_port *p, const struct wire_port_info *info);
/* What an answer of the neighbour says; NULL = there was none. */
enum own_port_event own_port_heard(struct own_port *p, const struct wire_node_info *info);
/*
 * What a sweep says that found this node behind the port; neighbour 0 = nobody. `fresh`: nothing
 * was known before it.
 */
enum own_port_event own_port_swept(struct own_port *p, guid_t neighbour, uint8_t port, bool fresh);
/* Takes the step. */
enum own_port_action own_port_take(struct own_port *p, enum own_port_event event);

static inline bool own_port_has_link(const struct own_port *p)
{
	return p->state >= OWN_PORT_SILENT;
}
