/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/waiters.h"
#include <stdlib.h>
#include "topology/base/mem.h"

struct waiter {
	struct waiter *next;
	waiter_fn *fn; /* NULL: the client is gone */
	void *arg;
};

void waiters_add(struct waiters *waiters, waiter_fn *fn, void *arg)
{
	struct waiter *it = mem_alloc(1, sizeof(*it));

	*it = (struct waiter){ .next = waiters->first, .fn = fn, .arg = arg };
	waiters->first = it;
}

void waiters_answer(struct waiters *waiters, json_t *result, const char *error)
{
	struct waiters now = *waiters;

	waiters->first = NULL;
	while (now.first) {
		struct waiter *it = now.first;

		now.first = it->next;
		if (it->fn)
			it->fn(it->arg, result, error);
		free(it);
	}
}

void waiters_move(struct waiters *from, struct waiters *to)
{
	while (from->first) {
		struct waiter *it = from->first;

		from->first = it->next;
		it->next = to->first;
		to->first = it;
	}
}

void waiters_cancel(struct waiters *waiters, const void *arg)
{
	for (struct waiter *it = waiters->first; it; it = it->next)
		if (it->arg == arg)
			it->fn = NULL;
}

void waiters_fini(struct waiters *waiters)
{
	while (waiters->first) {
		struct waiter *it = waiters->first;

		waiters->first = it->next;
		free(it);
	}
}
