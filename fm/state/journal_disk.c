/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/journal_disk.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "fm/loop/thread.h"
#include "topology/base/mem.h"

#define ORDERS 8

struct order {
	int fd;
	atomic_bool *under_way; /* NULL = fdatasync() */
};

struct journal_disk {
	struct loop *loop;
	bool started;
	pthread_t thread;

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t given; /* there is an order, or the end */
	struct order orders[ORDERS];
	unsigned count;
	bool ends;
};

/* A failed fdatasync() or ftruncate() is told by the whole files, which are on the same disk. */
static void carry_out(const struct order *order)
{
	if (!order->under_way) {
		(void)!fdatasync(order->fd);
		return;
	}
	(void)!ftruncate(order->fd, 0);
	atomic_store(order->under_way, false);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static bool next_order(struct journal_disk *d, struct order *order)
{
	bool any;

	pthread_mutex_lock(&d->lock);
	while (!d->ends && !d->count)
		pthread_cond_wait(&d->given, &d->lock);
	any = d->count;
	if (any) {
		*order = d->orders[0];
		d->count--;
		for (unsigned i = 0; i < d->count; i++)
			d->orders[i] = d->orders[i + 1];
	}
	pthread_mutex_unlock(&d->lock);
	return any;
}

static void *thread_main(void *arg)
{
	struct journal_disk *d = arg;
	struct order order;

	while (next_order(d, &order))
		carry_out(&order);
	return NULL;
}

static bool begin(struct journal_disk *d)
{
	if (!d->started && !loop_is_simulated(d->loop))
		d->started = !thread_start(&d->thread, thread_main, d);
	return d->started;
}

/* ---- Its owner ------------------------------------------------------------------------------- */

static bool is_ordered(const struct journal_disk *d, const struct order *order)
{
	for (unsigned i = 0; i < d->count; i++)
		if (d->orders[i].fd == order->fd && d->orders[i].under_way == order->under_way)
			return true;
	return d->count == ORDERS;
}

/* Where there is no thread to be had, its owner waits: late is better than never. */
static void give(struct journal_disk *d, const struct order *order)
{
	if (!begin(d)) {
		carry_out(order);
		return;
	}
	pthread_mutex_lock(&d->lock);
	if (!is_ordered(d, order))
		d->orders[d->count++] = *order;
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
}

void journal_disk_sync(struct journal_disk *d, int fd)
{
	give(d, &(struct order){ fd, NULL });
}

void journal_disk_clear(struct journal_disk *d, int fd, atomic_bool *under_way)
{
	atomic_store(under_way, true);
	give(d, &(struct order){ fd, under_way });
}

struct journal_disk *journal_disk_new(struct loop *loop)
{
	struct journal_disk *d = mem_alloc(1, sizeof(*d));

	d->loop = loop;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->given, NULL);
	return d;
}

void journal_disk_free(struct journal_disk *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->ends = true;
	pthread_cond_signal(&d->given);
	pthread_mutex_unlock(&d->lock);
	if (d->started)
		pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->given);
	pthread_mutex_destroy(&d->lock);
	free(d);
}
