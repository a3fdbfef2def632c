/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * waiters: clients that wait for one and the same result; each is called once, or not at all once
 * it went away.
 */
#ifndef FMD_FABRIC_WAITERS_H
#define FMD_FABRIC_WAITERS_H

#include <jansson.h>

struct waiter;
struct waiters { /* all zero = nobody waits */
	struct waiter *first;
};

/* error NULL: result, borrowed, is the document. */
typedef void waiter_fn(void *arg, json_t *result, const char *error);

/* Adds a client, which is called once. */
void waiters_add(struct waiters *waiters, waiter_fn *fn, void *arg);
/* All that wait now; they may ask again from their callback. */
void waiters_answer(struct waiters *waiters, json_t *result, const char *error);
/* Those of `from` join `to`; nobody is in `from` then. */
void waiters_move(struct waiters *from, struct waiters *to);
void waiters_cancel(struct waiters *waiters,
		    const void *arg);	    /* that client is gone: no callback */
void waiters_fini(struct waiters *waiters); /* nobody is called */

#endif
