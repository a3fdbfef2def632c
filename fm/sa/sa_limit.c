/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The limits that keep one host from taking the SA away from the others.
 *
 * Requests of a LID above rate_limit a second stay unanswered, which costs little, and clients
 * repeat them. A burst may have a tenth of a second's worth. The limit (GCRA) needs one number for
 * each LID: the time at which the host would be even if it had kept to the rate all along. A host
 * above the limit is reported once an hour.
 *
 * The work in one round of the loop is bounded too. After SA_ROUND rows a query gets a short slice
 * only. That is enough for a query that names what it wants; one that walks the fabric continues as
 * a job.
 */
#include <stdlib.h>
#include "fm/sa/sa_impl.h"
#include "topology/mem.h"

#define SECOND_NS   1000000000ull
#define BURST_PART  10
#define BURST_MIN   64 /* requests: a usual window of a client */
#define SLICE_SHORT 64
#define LOG_AGAIN_S 3600
#define LOG_BURST   20

static const char *name_of(const struct sa *sa, uint16_t lid)
{
	const struct topo *t = sa->view.topo;
	uint32_t port = t ? sa_port_by_lid(sa, lid) : TOPO_NONE;

	return port == TOPO_NONE ? "" : t->nodes[t->ports[port].node].name;
}

static void log_limited(struct sa *sa, uint16_t lid)
{
	struct limit *l = &sa->limit;
	uint64_t now = loop_now_us(sa->loop);
	uint32_t second = (uint32_t)(now / 1000000);

	if (!l->reported)
		l->reported = mem_alloc(UINT16_MAX + 1, sizeof(*l->reported));
	if (second < l->reported[lid] || !log_allow(&l->burst, now, LOG_BURST))
		return;
	l->reported[lid] = second + LOG_AGAIN_S;
	sa_log(sa,
	       "%s LID %u: more than %u SA requests a second (sa_rate_limit); the rest is dropped",
	       name_of(sa, lid), lid, sa->conf.rate_limit);
}

bool sa_limit_admits(struct sa *sa, uint16_t lid)
{
	struct limit *l = &sa->limit;
	uint64_t now = loop_now_us(sa->loop) * 1000, interval, burst, *even;

	if (!sa->conf.rate_limit)
		return true;
	if (!l->even)
		l->even = mem_alloc(UINT16_MAX + 1, sizeof(*l->even));
	interval = SECOND_NS / sa->conf.rate_limit;
	burst = SECOND_NS / BURST_PART > BURST_MIN * interval ? SECOND_NS / BURST_PART
							      : BURST_MIN * interval;
	even = &l->even[lid];
	if (*even < now)
		*even = now;
	if (*even - now >= burst) {
		log_limited(sa, lid);
		return false;
	}
	*even += interval;
	return true;
}

unsigned sa_round_slice(const struct sa *sa)
{
	return sa->limit.round < SA_ROUND && !sa->queue.count ? SA_SLICE : SLICE_SHORT;
}

void sa_round_add(struct sa *sa, unsigned work)
{
	sa->limit.round += work + 1;
	if (!loop_timer_armed(sa->limit.next))
		loop_timer_set(sa->limit.next, 0);
}

static void round_over(void *arg)
{
	((struct sa *)arg)->limit.round = 0;
}

void sa_limit_init(struct sa *sa)
{
	sa->limit.next = loop_timer_new(sa->loop, round_over, sa);
}

void sa_limit_fini(struct sa *sa)
{
	loop_timer_free(sa->limit.next);
	free(sa->limit.even);
	free(sa->limit.reported);
}
