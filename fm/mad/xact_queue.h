/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * xact_queue: transactions that wait to be sent, urgent ones before the others, and how many each
 * device has on their way. Private to fm/mad.
 *
 * A device works at one MAD after the other, so devices take turns: of each the queue has one
 * request, and the others are parked behind that, out of the others' way, in the order they came.
 * When it has left the next one goes to the queue's end. Where a device is at its cap when its turn
 * comes, it has it as soon as one of its requests ends. So each send costs the same however long
 * the queues are. Urgent ones go before all others, in the order they came, as far as their
 * devices' caps allow. Requests of no device have a turn each, and no cap.
 */
#ifndef FMD_MAD_XACT_QUEUE_H
#define FMD_MAD_XACT_QUEUE_H

#include <complib/cl_qmap.h>
#include "fm/mad/xact.h"

enum { NORMAL, URGENT, PRIORITIES };

struct xact_device {
	cl_map_item_t item; /* in xact_queue.devices, key = GUID */
	unsigned users;	    /* transactions that name it */
	unsigned in_flight;
	uint64_t key[2];  /* xact_key.c: M_Key to try first, for Gets and for Sets; 0 = none */
	bool proven[2];	  /* an SMP with that key was answered */
	unsigned in_turn; /* of its requests that are not urgent, in the queue: > 1 after losses */
	bool missed;	  /* it was at its cap when its turn came */
	struct link parked[PRIORITIES];
};

struct xact_queue {
	cl_qmap_t devices;
	struct link turns[PRIORITIES];
	unsigned count; /* parked ones too */
	unsigned cap;	/* of a device's requests on their way */
};

/* The queue is the caller's memory; at its end it frees all devices, whoever still names one. */
void xact_queue_init(struct xact_queue *q);
void xact_queue_fini(struct xact_queue *q);

/* The queue's; one put for each get, and it is valid in between. NULL for GUID 0: no device. */
struct xact_device *xact_device_get(struct xact_queue *q, guid_t guid);
void xact_device_put(struct xact_queue *q, struct xact_device *device);

/* Behind the others of its device; after a lost try in front of all; out of the queue for good. */
void xact_queue_add(struct xact_queue *q, struct xact *x);
void xact_queue_again(struct xact_queue *q, struct xact *x);
void xact_queue_leave(struct xact_queue *q, struct xact *x);

/* The first whose device is below its cap; it stays queued. NULL: there is none. */
struct xact *xact_queue_next(struct xact_queue *q);
/* A try was sent: counts it for its device. A try has ended: x is in no ring then. */
void xact_queue_sent(struct xact_queue *q, struct xact *x);
void xact_queue_ended(struct xact_queue *q, struct xact *x);

#endif
