/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * watch: the guard: if very many hosts are cut off at once, the manager itself is more likely cut
 * off, with its own leaf, and jobs on those hosts go on.
 */
#include "fm/hosts/watch.h"
#include <stdlib.h>
#include <string.h>
#include "topology/mem.h"

#define GUARD_MIN 1 /* this many hosts may always be cut off */

void watch_init(struct watch *w)
{
	*w = (struct watch){ 0 };
}

static void free_list(struct watched *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(list[i].name);
	free(list);
}

void watch_fini(struct watch *w)
{
	free_list(w->list, w->count);
	free_list(w->next, w->nnext);
	names_fini(&w->names);
}

static struct watched *find(const struct watch *w, const char *host)
{
	uint32_t id = names_find(&w->names, host, strlen(host));

	return id == NAMES_NONE ? NULL : &w->list[id];
}

void watch_recall(struct watch *w, const char *host, enum host_state reported)
{
	struct watched *it = find(w, host);

	if (!it) {
		w->list = mem_resize(w->list, w->count + 1, sizeof(*w->list));
		it = &w->list[w->count++];
		*it = (struct watched){ .name = mem_strdup(host) };
		names_id(&w->names, it->name, strlen(it->name));
	}
	it->reported = it->now = reported;
}

/* ---- Passes ---------------------------------------------------------------------------------- */

void watch_begin(struct watch *w)
{
	for (unsigned i = 0; i < w->nnext; i++)
		free(w->next[i].name);
	w->nnext = 0;
}

static int8_t side_of(enum host_state now, enum host_state reported)
{
	if (reported == HOST_STATES)
		return now == HOST_HEALTHY ? 0 : 1;
	return (int8_t)((now > reported) - (now < reported));
}

void watch_take(struct watch *w, const char *host, enum host_state now, uint64_t now_us)
{
	const struct watched *before = find(w, host);
	struct watched it = { .reported = HOST_STATES, .since_us = now_us };
	int8_t side;

	if (before)
		it = *before;
	side = side_of(now, it.reported);
	if (side != it.side || (now == HOST_UNKNOWN) != (it.now == HOST_UNKNOWN))
		it.since_us = now_us;
	it.side = side;
	it.now = now;
	it.due = false;
	if (!side)
		it.reported = now;
	it.name = mem_strdup(host);
	if (w->nnext == w->room)
		w->next =
			mem_resize(w->next, w->room = w->room ? 2 * w->room : 64, sizeof(*w->next));
	w->next[w->nnext++] = it;
}

/* What was taken is the list. Names of hosts in a snapshot are unique. */
static void exchange(struct watch *w)
{
	free_list(w->list, w->count);
	names_fini(&w->names);
	w->names = (struct names){ 0 };
	w->list = w->next;
	w->count = w->nnext;
	w->next = NULL;
	w->nnext = w->room = 0;
	w->cut_off = 0;
	for (unsigned i = 0; i < w->count; i++) {
		names_id(&w->names, w->list[i].name, strlen(w->list[i].name));
		w->cut_off += w->list[i].now == HOST_CUT_OFF && w->list[i].reported != HOST_CUT_OFF;
	}
}

static uint64_t hold_of(const struct watch_conf *conf, const struct watched *it)
{
	uint64_t hold = it->side > 0 ? conf->worsen_us : conf->recover_us;

	return it->now == HOST_UNKNOWN && hold < conf->unknown_us ? conf->unknown_us : hold;
}

uint64_t watch_end(struct watch *w, const struct watch_conf *conf, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;

	exchange(w);
	w->guarded = w->cut_off > GUARD_MIN &&
		     (uint64_t)w->cut_off * 100 > (uint64_t)w->count * conf->guard_percent;
	for (unsigned i = 0; i < w->count; i++) {
		struct watched *it = &w->list[i];
		uint64_t due_us = it->since_us + hold_of(conf, it);

		if (!it->side || (w->guarded && it->now == HOST_CUT_OFF))
			continue;
		it->due = due_us <= now_us;
		if (!it->due && due_us - now_us < next_us)
			next_us = due_us - now_us;
	}
	return next_us;
}

enum host_state watch_report(struct watched *it)
{
	enum host_state before = it->reported;

	it->reported = it->now;
	it->side = 0;
	it->due = false;
	return before;
}
