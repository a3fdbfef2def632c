/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What holds between calls: a device that has requests parked has one that is not urgent in the
 * queue, or is at its cap.
 */
#include <stdlib.h>
#include "fm/mad/xact_queue.h"
#include "topology/base/mem.h"

static struct xact *first_of(const struct link *head)
{
	return link_empty(head) ? NULL : (struct xact *)head->next;
}

/* ---- Devices --------------------------------------------------------------------------------- */

static struct xact_device *device_new(struct xact_queue *q, guid_t guid)
{
	struct xact_device *device = mem_alloc(1, sizeof(*device));

	for (int p = 0; p < PRIORITIES; p++)
		link_init(&device->parked[p]);
	cl_qmap_insert(&q->devices, guid, &device->item);
	return device;
}

struct xact_device *xact_device_get(struct xact_queue *q, guid_t guid)
{
	struct xact_device *device;
	cl_map_item_t *item;

	if (!guid)
		return NULL;
	item = cl_qmap_get(&q->devices, guid);
	device =
		item != cl_qmap_end(&q->devices) ? (struct xact_device *)item : device_new(q, guid);
	device->users++;
	return device;
}

void xact_device_put(struct xact_queue *q, struct xact_device *device)
{
	if (!device || --device->users || device->proven[0] || device->proven[1] ||
	    device->key[0] || device->key[1])
		return;
	cl_qmap_remove_item(&q->devices, &device->item);
	free(device);
}

static bool has_room(const struct xact_queue *q, const struct xact_device *device)
{
	return !device || device->in_flight < q->cap;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static unsigned *in_turn(const struct xact *x)
{
	return x->device && !x->urgent ? &x->device->in_turn : NULL;
}

static void turn_enter(struct link *where, struct xact *x)
{
	link_remove(&x->link);
	link_insert(where, &x->link);
	x->state = XACT_QUEUED;
	if (in_turn(x))
		++*in_turn(x);
}

static void turn_leave(struct xact *x)
{
	link_remove(&x->link);
	if (in_turn(x))
		--*in_turn(x);
}

static void park(struct link *where, struct xact *x)
{
	link_remove(&x->link);
	link_insert(where, &x->link);
	x->state = XACT_PARKED;
}

/* Queues the device's next parked request, if it has none in the queue. */
static void turn_pass(struct xact_queue *q, struct xact_device *device)
{
	struct xact *x = device ? first_of(&device->parked[NORMAL]) : NULL;
	struct link *turns = &q->turns[NORMAL];

	if (!x || device->in_turn || !has_room(q, device))
		return;
	turn_enter(device->missed ? turns : turns->prev, x);
	device->missed = false;
}

static void urgent_unpark(struct xact_queue *q, struct xact_device *device)
{
	struct xact *x = device ? first_of(&device->parked[URGENT]) : NULL;

	if (x && has_room(q, device))
		turn_enter(&q->turns[URGENT], x);
}

static bool waits_behind_its_like(const struct xact *x)
{
	return !x->urgent && x->device &&
	       (x->device->in_turn || !link_empty(&x->device->parked[NORMAL]));
}

void xact_queue_add(struct xact_queue *q, struct xact *x)
{
	q->count++;
	if (waits_behind_its_like(x))
		park(x->device->parked[NORMAL].prev, x);
	else
		turn_enter(q->turns[x->urgent].prev, x);
}

void xact_queue_again(struct xact_queue *q, struct xact *x)
{
	q->count++;
	turn_enter(&q->turns[x->urgent], x);
}

void xact_queue_leave(struct xact_queue *q, struct xact *x)
{
	q->count--;
	if (x->state == XACT_PARKED) {
		link_remove(&x->link);
		return;
	}
	turn_leave(x);
	turn_pass(q, x->device);
	urgent_unpark(q, x->device);
}

/*
 * Parks x, whose device is at the cap: in front of the device's parked requests, an urgent one
 * behind them.
 */
static void turn_missed(struct xact *x)
{
	struct link *parked = &x->device->parked[x->urgent];

	turn_leave(x);
	park(x->urgent ? parked->prev : parked, x);
	x->device->missed |= !x->urgent;
}

struct xact *xact_queue_next(struct xact_queue *q)
{
	for (int p = URGENT; p >= NORMAL; p--) {
		struct xact *x;

		while ((x = first_of(&q->turns[p]))) {
			if (has_room(q, x->device))
				return x;
			turn_missed(x);
		}
	}
	return NULL;
}

void xact_queue_sent(struct xact_queue *q, struct xact *x)
{
	q->count--;
	turn_leave(x);
	if (!x->device)
		return;
	x->device->in_flight++;
	turn_pass(q, x->device);
}

void xact_queue_ended(struct xact_queue *q, struct xact *x)
{
	link_remove(&x->link);
	if (!x->device)
		return;
	x->device->in_flight--;
	turn_pass(q, x->device);
	urgent_unpark(q, x->device);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void xact_queue_init(struct xact_queue *q)
{
	*q = (struct xact_queue){ 0 };
	cl_qmap_init(&q->devices);
	for (int p = 0; p < PRIORITIES; p++)
		link_init(&q->turns[p]);
}

void xact_queue_fini(struct xact_queue *q)
{
	cl_map_item_t *item;

	while ((item = cl_qmap_head(&q->devices)) != cl_qmap_end(&q->devices)) {
		cl_qmap_remove_item(&q->devices, item);
		free(item);
	}
}
