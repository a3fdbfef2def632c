/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_push: small files go to the follower (state_copy.h) when they change, not when the disk has
 * them: a child, fsync() and the look for its end are tenths of a second.
 */
#include <stdlib.h>
#include "fm/state/state_store_own.h"

static void push(struct state_store *s, struct kept *k)
{
	uint64_t begun_us = loop_clock_us(s->loop);
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	k->push = false;
	k->file->write(k->owner, out);
	fclose(out);
	s->pushed(s->follower, k->file->name, text, length);
	free(text);
	k->push_us = loop_now_us(s->loop) + STATE_SHARE * (loop_clock_us(s->loop) - begun_us);
}

static void schedule(struct state_store *s)
{
	uint64_t now = loop_now_us(s->loop), next = UINT64_MAX;

	for (const struct kept *k = s->files; k; k = k->next)
		if (k->push && k->push_us < next)
			next = k->push_us;
	if (next != UINT64_MAX)
		loop_timer_set(s->push, next > now ? next - now : 0);
}

/* One file in each turn of the loop. */
void state_push_due(void *store)
{
	struct state_store *s = store;
	uint64_t now = loop_now_us(s->loop);

	for (struct kept *k = s->files; k; k = k->next)
		if (k->push && k->push_us <= now) {
			k->push &= k->owner && s->pushed && s->writable;
			if (k->push)
				push(s, k);
			break;
		}
	schedule(s);
}

void state_push_changed(struct state_store *s, struct kept *k)
{
	uint64_t soon = loop_now_us(s->loop) + STATE_PUSH_US;

	if (!s->pushed || !k->file->small || s->haste == STATE_CALM || !s->writable || s->reading ||
	    k->push)
		return;
	k->push = true;
	k->push_us = k->push_us > soon ? k->push_us : soon;
	schedule(s);
}
