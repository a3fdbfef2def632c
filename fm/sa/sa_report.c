/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * The store of subscriptions to notices, by subscribing port, and the lists of subscriptions that
 * have notices to report (sa_report.c). A second subscription of a port to the same notices changes
 * nothing.
 */

#define SUBSCRIPTIONS_MAX (128u << 10) /* of all ports */

/* The one for the same notices at the same QP. */
struct subscription *sa_subscription_find(const struct sa *sa, guid_t guid,
					  const struct wire_inform_info *info)
{
	const struct subscriber *sub = sa_map_find(&sa->reports.subscribers, guid);

	for (unsigned i = 0; sub && i < sub->count; i++) {
		const struct wire_inform_info *a = &sub->subs[i]->info;

		if (wire_gid_equal(&a->gid, &info->gid) && a->lid_begin == info->lid_begin &&
		    a->lid_end == info->lid_end && a->generic == info->generic &&
		    a->type == info->type && a->trap == info->trap &&
		    a->producer == info->producer && a->qpn == info->qpn)
			return sub->subs[i];
	}
	return NULL;
}

static void subscription_record(struct sa *sa, const struct subscription *s, bool gone)
{
	char line[SA_LINE];

	sa_subscription_line(cl_qmap_key(&s->by->item), s, line);
	sa_record(sa, SA_SUBSCRIPTIONS, gone, line);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Who has notices to look at is due, who saw all is idle. */
static cl_qlist_t *list_of(struct reports *r, const struct subscription *s)
{
	if (s->held)
		return &s->by->held;
	return s->next < r->end ? &r->due : &r->idle;
}

/* A Report to the port is over. */
static void report_over(struct sa *sa, struct subscriber *sub)
{
	struct reports *r = &sa->reports;

	r->in_flight--;
	sub->in_flight--;
	while (cl_qlist_count(&sub->held)) {
		struct subscription *s = (struct subscription *)cl_qlist_remove_head(&sub->held);

		s->held = false;
		cl_qlist_insert_tail(list_of(r, s), &s->item);
	}
	loop_timer_set(r->step, 0);
}

/* ---- Coming and going ------------------------------------------------------------------------ */

struct subscription *sa_subscribe(struct sa *sa, guid_t guid, const struct subscription *wish)
{
	struct subscription *s = sa_subscription_find(sa, guid, &wish->info);
	struct subscriber *sub = sa_map_find(&sa->reports.subscribers, guid);
	struct reports *r = &sa->reports;
	unsigned most = sa->conf.subscriptions_limit;

	if (s)
		return s;
	if (sa->stats.subscriptions >= SUBSCRIPTIONS_MAX ||
	    (sub && (sub->count >= sa_share(SUBSCRIPTIONS_MAX, sa->stats.subscriptions) ||
		     (most && sub->count >= most))))
		return NULL;
	if (!sub) {
		sub = mem_new(sub);
		sub->sa = sa;
		cl_qlist_init(&sub->held);
		cl_qmap_insert(&r->subscribers, guid, &sub->item);
	}
	s = mem_new(s);
	*s = *wish;
	s->by = sub;
	sub->subs = mem_resize(sub->subs, sub->count + 1, sizeof(struct subscription *));
	sub->subs[sub->count++] = s;
	sa->stats.subscriptions++;
	s->next = r->end;
	cl_qlist_insert_tail(&r->idle, &s->item);
	subscription_record(sa, s, false);
	return s;
}

void sa_unsubscribe(struct subscription *s)
{
	struct subscriber *sub = s->by;
	struct sa *sa = sub->sa;
	unsigned i = 0;

	if (s->token) {
		mad_cancel(sa->mad, s->token);
		report_over(sa, sub);
	} else {
		cl_qlist_remove_item(list_of(&sa->reports, s), &s->item);
	}
	subscription_record(sa, s, true);
	while (sub->subs[i] != s)
		i++;
	sub->subs[i] = sub->subs[--sub->count];
	free(s);
	sa->stats.subscriptions--;
	if (!sub->count) {
		cl_qmap_remove_item(&sa->reports.subscribers, &sub->item);
		free(sub->subs);
		free(sub);
	}
}

void sa_subscriptions_forget(void *sa)
{
	cl_qmap_t *map = &((struct sa *)sa)->reports.subscribers;

	while (cl_qmap_count(map))
		sa_unsubscribe(((struct subscriber *)cl_qmap_head(map))->subs[0]);
}

/*
 * Notices to those who subscribed to them (IBA 13.4.9, 15.3): traps of the subnet, ports that come
 * into service or leave it (64, 65), multicast groups made and gone (66, 67).
 *
 * A ring holds each notice once, by sequence number, however many subscriptions wait for it. Each
 * subscription has a cursor. It takes notice after notice and has one Report under way at a time,
 * so its owner gets the notices in their order. When thousands of ports come up at once, that costs
 * the ring's memory and a window of Reports, and no burst. A subscription that the ring has
 * overtaken skips the notices that were lost, and this is reported.
 *
 * A Report is a transaction and is repeated until it is acknowledged. After FAILURES_MAX failures
 * in a row the subscription ends: its owner has gone without ending it. A port that cannot be
 * reached misses the notices of that time and nothing else. A port has at most EACH Reports under
 * way; its other subscriptions wait until one of these is over, so a port that never answers leaves
 * the window to others.
 *
 * A port of a host is in service when its link is Active, a switch when any of its links is up. The
 * tables for it are programmed before it is reported.
 */

#define WINDOW	      32
#define EACH	      4 /* Reports on their way to one port */
#define RING_MIN      64
#define RING_MAX      32768 /* two for each port of a large fabric */
#define LOG_BURST     20
#define FAILURES_MAX  3
#define ANY	      0xffff
#define ANY_PRODUCER  0xffffff
#define TYPE_SUBNET   3 /* Notice.Type: subnet management */
#define CLASS_MANAGER 4 /* Notice.ProducerType */

enum { IN_SERVICE = 64, OUT_OF_SERVICE, GROUP_CREATED, GROUP_DELETED };

/* ---- The ring -------------------------------------------------------------------------------- */

static struct sa_notice *ring_at(const struct reports *r, uint64_t number)
{
	return &r->ring[number & (r->size - 1)];
}

static void notice_add(struct sa *sa, const struct sa_notice *notice)
{
	struct reports *r = &sa->reports;

	if (!sa->stats.subscriptions)
		return;
	if (r->end - r->first == r->size && r->size >= RING_MAX) {
		r->first++;
	} else if (r->end - r->first == r->size) {
		const struct reports old = *r;

		r->size = old.size ? old.size * 2 : RING_MIN;
		r->ring = mem_array(r->ring, r->size);
		for (uint64_t n = old.first; n < old.end; n++)
			*ring_at(r, n) = *ring_at(&old, n);
		free(old.ring);
	}
	*ring_at(r, r->end++) = *notice;
	cl_qlist_insert_list_tail(&r->due, &r->idle);
	if (!loop_timer_armed(r->step))
		loop_timer_set(r->step, 0);
}

/* ---- Who wants what (IBA 13.4.8.3) ----------------------------------------------------------- */

/*
 * A port is notified of others that it shares a partition with, and of groups of its own
 * (o13-17.1.1).
 */
static bool wanted(const struct sa *sa, const struct subscription *s, uint32_t port,
		   const struct sa_notice *n)
{
	const struct wire_inform_info *info = &s->info;
	const struct wire_notice *notice = &n->notice;

	if (info->generic != notice->generic || (info->type != ANY && info->type != notice->type) ||
	    (info->trap != ANY && info->trap != notice->trap) ||
	    (info->producer != ANY_PRODUCER && info->producer != notice->producer))
		return false;
	if (info->gid.prefix || info->gid.guid) {
		if (!wire_gid_equal(&info->gid, &n->issuer))
			return false;
	} else if (info->lid_begin != ANY &&
		   (notice->issuer_lid < info->lid_begin || notice->issuer_lid > info->lid_end)) {
		return false;
	}
	if (!s->trusted && sa_trap_is_secret(notice->generic, notice->trap))
		return false;
	if (n->pkey)
		return pkey_map_member(sa->view.pkeys, port, n->pkey);
	return !n->about || sa_may_know(sa, port, topo_find_port(sa->view.topo, n->about));
}

/* ---- Reports --------------------------------------------------------------------------------- */

static uint32_t port_of(const struct sa *sa, const struct subscription *s)
{
	return sa->view.topo ? topo_find_port(sa->view.topo, cl_qmap_key(&s->by->item)) : TOPO_NONE;
}

static bool in_reach(const struct sa *sa, uint32_t port)
{
	const struct topo *t = sa->view.topo;

	return port != TOPO_NONE && sa_port_lid(sa, port) &&
	       (t->ports[port].node < t->nswitches || t->ports[port].link_up);
}

static void reported(void *arg, const struct mad_answer *answer)
{
	struct subscription *s = arg;
	struct sa *sa = s->by->sa;
	struct reports *r = &sa->reports;
	bool heard = answer->result == MAD_OK || answer->result == MAD_STATUS;

	s->token = 0;
	cl_qlist_insert_tail(list_of(r, s), &s->item);
	report_over(sa, s->by);
	if (heard) {
		s->failures = 0;
		return;
	}
	sa->stats.reports_unanswered++;
	if (!in_reach(sa, port_of(sa, s)) || ++s->failures < FAILURES_MAX)
		return;
	if (log_allow(&r->limit, loop_now_us(sa->loop), LOG_BURST))
		sa_log(sa, event_subject_port(sa->view.topo, port_of(sa, s)),
		       "port 0x%016" PRIx64
		       ": does not answer reports of trap %u, subscription ended",
		       cl_qmap_key(&s->by->item), s->info.trap);
	sa_unsubscribe(s);
}

/*
 * To the next notice that is wanted, which is sent, or to the end. A port that can't be reached
 * misses all.
 */
static void advance(struct sa *sa, struct subscription *s, unsigned *budget)
{
	struct reports *r = &sa->reports;
	uint32_t port = port_of(sa, s);

	if (s->by->in_flight >= EACH) { /* until a Report to its port is over */
		s->held = true;
		cl_qlist_insert_tail(&s->by->held, &s->item);
		return;
	}
	if (s->next < r->first) {
		sa->stats.reports_skipped += r->first - s->next;
		if (log_allow(&r->limit, loop_now_us(sa->loop), LOG_BURST))
			sa_log(sa, event_subject_port(sa->view.topo, port),
			       "port 0x%016" PRIx64 ": too slow to acknowledge, %" PRIu64
			       " notices were skipped",
			       cl_qmap_key(&s->by->item), r->first - s->next);
		s->next = r->first;
	}
	if (!in_reach(sa, port))
		s->next = r->end;
	while (s->next < r->end && *budget) {
		const struct sa_notice *n = ring_at(r, s->next++);

		--*budget;
		if (wanted(sa, s, port, n)) {
			uint16_t lid = sa_port_lid(sa, port);
			uint8_t data[WIRE_GMP_DATA];
			const struct mad_request request = {
				.lid = lid,
				.mgmt_class = WIRE_SA,
				.method = WIRE_REPORT,
				.attr_id = WIRE_NOTICE,
				.qp = s->info.qpn,
				.sl = s->sl,
				.pkey_index = s->pkey_index,
				.data = data,
				.device = cl_qmap_key(&s->by->item),
				/* a subscriber that has gone is no sign of a full network */
				.doubtful = true,
			};

			wire_report_encode(&n->notice, &n->issuer, data);
			sa->reports.in_flight++;
			s->by->in_flight++;
			sa->stats.reports++;
			s->token = mad_send(sa->mad, &request, reported, s);

			return;
		}
	}
	cl_qlist_insert_tail(list_of(r, s), &s->item);
}

static void step_cb(void *arg)
{
	struct sa *sa = arg;
	struct reports *r = &sa->reports;
	unsigned budget = SA_SLICE;

	if (!sa->view.topo || sa->frozen)
		return;
	while (budget && r->in_flight < WINDOW && cl_qlist_count(&r->due)) {
		budget--;
		advance(sa, (struct subscription *)cl_qlist_remove_head(&r->due), &budget);
	}
	if (!budget) {
		loop_timer_set(r->step, 0);
	} else if (!cl_qlist_count(&r->due) && !r->in_flight) { /* all saw all there is */
		free(r->ring);
		r->ring = NULL;
		r->size = 0;
		r->first = r->end;
	}
}

/* ---- Notices of the SA itself ---------------------------------------------------------------- */

/* mgid NULL: about a port; else about a group, of that P_Key. */
static void own_notice(struct sa *sa, uint16_t trap, guid_t about, const struct wire_gid *mgid,
		       uint16_t pkey)
{
	const struct wire_gid gid = { sa->conf.gid_prefix, about };
	uint32_t port = sa_port_by_lid(sa, sa->view.sm_lid);
	struct sa_notice n = {
		.notice = { .generic = true,
			    .type = TYPE_SUBNET,
			    .producer = CLASS_MANAGER,
			    .trap = trap,
			    .issuer_lid = sa->view.sm_lid },
		.issuer = { .prefix = sa->conf.gid_prefix },
		.about = about,
		.pkey = pkey,
	};

	if (port != TOPO_NONE)
		n.issuer.guid = sa->view.topo->ports[port].guid;
	wire_gid_encode(mgid ? mgid : &gid, n.notice.gid);
	notice_add(sa, &n);
}

void sa_group_kept(void *arg, const struct sa_group *group, bool kept)
{
	struct sa *sa = arg;

	if (sa->view.topo)
		own_notice(sa, kept ? GROUP_CREATED : GROUP_DELETED, 0, &group->attr.mgid,
			   group->attr.pkey);
}

void sa_notice(struct sa *sa, const struct wire_notice *notice, uint16_t issuer_lid)
{
	struct sa_notice n = { .notice = *notice, .issuer = { .prefix = sa->conf.gid_prefix } };
	uint32_t port = sa->view.topo ? sa_port_by_lid(sa, issuer_lid) : TOPO_NONE;

	if (port == TOPO_NONE)
		return; /* the port has no name that a notice could have */
	n.issuer.guid = n.about = sa->view.topo->ports[port].guid;
	n.notice.issuer_lid = issuer_lid;
	notice_add(sa, &n);
}

static bool in_service(const struct topo *t, const struct topo_node *node, unsigned num)
{
	if (node->type != TOPO_SWITCH)
		return num && t->ports[node->port0 + num].link_up &&
		       t->ports[node->port0 + num].state == TOPO_ACTIVE;
	for (unsigned p = 1; !num && p <= node->nports; p++)
		if (t->ports[node->port0 + p].link_up)
			return true;
	return false;
}

SORT_BY(guid_compare, guid_t, sort_order(*a, *b))

/* The first view makes no notices: fmd has come into service, not the ports. */
void sa_reports_compare(struct sa *sa)
{
	struct reports *r = &sa->reports;
	const struct topo *t = sa->view.topo;
	uint32_t count = 0, i = 0, j = 0;
	const guid_t *was = r->serving;

	if (!t)
		return;

	guid_t *serving = mem_array(serving, t->nports);

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p];

		if (port->guid && in_service(t, &t->nodes[port->node], port->num))
			serving[count++] = port->guid;
	}
	sort_if_needed(serving, count, sizeof(*serving), guid_compare);
	while (r->compare && (i < r->nserving || j < count)) { /* two sorted lists side by side */
		if (j == count || (i < r->nserving && was[i] < serving[j]))
			own_notice(sa, OUT_OF_SERVICE, was[i++], NULL, 0);
		else if (i == r->nserving || serving[j] < was[i])
			own_notice(sa, IN_SERVICE, serving[j++], NULL, 0);
		else
			i++, j++;
	}
	free(r->serving);
	r->serving = serving;
	r->nserving = count;
	r->compare = true;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void sa_reports_init(struct sa *sa)
{
	cl_qmap_init(&sa->reports.subscribers);
	cl_qlist_init(&sa->reports.due);
	cl_qlist_init(&sa->reports.idle);
	sa->reports.step = loop_timer_new(sa->loop, step_cb, sa);
}
