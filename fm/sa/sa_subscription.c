/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The store of subscriptions to notices, by subscribing port, and the lists of subscriptions that
 * have notices to report (sa_report.c). A second subscription of a port to the same notices changes
 * nothing.
 */
#include <stdlib.h>
#include "fm/mad/wire_inform.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_line.h"
#include "fm/sa/sa_state.h"
#include "topology/mem.h"

#define SUBSCRIPTIONS_MAX  (128u << 10) /* of all ports */
#define SUBSCRIPTIONS_EACH 64

static struct subscriber *subscriber_find(const struct sa *sa, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&sa->subscribers, guid);

	return item == cl_qmap_end(&sa->subscribers) ? NULL : (struct subscriber *)item;
}

static struct subscriber *subscriber_get(struct sa *sa, guid_t guid)
{
	struct subscriber *sub = subscriber_find(sa, guid);

	if (sub)
		return sub;
	sub = mem_alloc(1, sizeof(*sub));
	sub->sa = sa;
	cl_qlist_init(&sub->held);
	cl_qmap_insert(&sa->subscribers, guid, &sub->item);
	return sub;
}

static bool gid_equal(struct wire_gid a, struct wire_gid b)
{
	return a.prefix == b.prefix && a.guid == b.guid;
}

/* Whether both ask for the same notices at the same QP. */
static bool same(const struct wire_inform_info *a, const struct wire_inform_info *b)
{
	return gid_equal(a->gid, b->gid) && a->lid_begin == b->lid_begin &&
	       a->lid_end == b->lid_end && a->generic == b->generic && a->type == b->type &&
	       a->trap == b->trap && a->producer == b->producer && a->qpn == b->qpn;
}

static struct subscription *subscription_find(const struct subscriber *sub,
					      const struct wire_inform_info *info)
{
	for (unsigned i = 0; sub && i < sub->count; i++)
		if (same(&sub->subs[i]->info, info))
			return sub->subs[i];
	return NULL;
}

struct subscription *sa_subscription_find(const struct sa *sa, guid_t guid,
					  const struct wire_inform_info *info)
{
	return subscription_find(subscriber_find(sa, guid), info);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Who has notices to look at is due, who saw all is idle. */
cl_qlist_t *sa_subscription_list(struct reports *r, const struct subscription *s)
{
	if (s->held)
		return &s->by->held;
	return s->next < r->end ? &r->due : &r->idle;
}

void sa_subscription_hold(struct subscription *s)
{
	s->held = true;
	cl_qlist_insert_tail(&s->by->held, &s->item);
}

/* A Report to the port is over. */
void sa_subscription_let_go(struct sa *sa, struct subscriber *sub)
{
	struct reports *r = &sa->reports;

	r->in_flight--;
	sub->in_flight--;
	while (cl_qlist_count(&sub->held)) {
		struct subscription *s = (struct subscription *)cl_qlist_remove_head(&sub->held);

		s->held = false;
		cl_qlist_insert_tail(sa_subscription_list(r, s), &s->item);
	}
	loop_timer_set(r->step, 0);
}

/* ---- Coming and going ------------------------------------------------------------------------ */

static void report_join(struct subscription *s)
{
	struct reports *r = &s->by->sa->reports;

	s->next = r->end;
	cl_qlist_insert_tail(&r->idle, &s->item);
}

static void report_leave(struct subscription *s)
{
	struct sa *sa = s->by->sa;
	struct reports *r = &sa->reports;

	if (!s->token) {
		cl_qlist_remove_item(sa_subscription_list(r, s), &s->item);
		return;
	}
	mad_cancel(sa->mad, s->token);
	sa_subscription_let_go(sa, s->by);
}

struct subscription *sa_subscribe(struct sa *sa, guid_t guid, const struct subscription *wish)
{
	struct subscriber *sub = subscriber_find(sa, guid);
	struct subscription *s = subscription_find(sub, &wish->info);

	if (s)
		return s;
	if (sa->stats.subscriptions >= SUBSCRIPTIONS_MAX ||
	    (sub && sub->count >= SUBSCRIPTIONS_EACH))
		return NULL;
	sub = subscriber_get(sa, guid);
	s = mem_alloc(1, sizeof(*s));
	*s = *wish;
	s->by = sub;
	sub->subs = mem_resize(sub->subs, sub->count + 1, sizeof(struct subscription *));
	sub->subs[sub->count++] = s;
	sa->stats.subscriptions++;
	report_join(s);
	sa_subscription_record(sa, s, false);
	return s;
}

void sa_unsubscribe(struct subscription *s)
{
	struct subscriber *sub = s->by;
	struct sa *sa = sub->sa;
	unsigned i = 0;

	report_leave(s);
	sa_subscription_record(sa, s, true);
	while (sub->subs[i] != s)
		i++;
	sub->subs[i] = sub->subs[--sub->count];
	free(s);
	sa->stats.subscriptions--;
	if (!sub->count) {
		cl_qmap_remove_item(&sa->subscribers, &sub->item);
		free(sub->subs);
		free(sub);
	}
}

void sa_subscriptions_forget(struct sa *sa)
{
	while (cl_qmap_count(&sa->subscribers))
		sa_unsubscribe(((struct subscriber *)cl_qmap_head(&sa->subscribers))->subs[0]);
}
