/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_limit.h"
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_queue.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

/*
 * The queue of waiting requests. It serves LIDs in turn, one request each, and the requests of one
 * LID in their order, so that a host with many requests does not delay those of others. A LID is in
 * the map and on the list of turns as long as it has requests here.
 */

/* Where a MAD of the SA has what (IBA 13.4.3, 15.2.1.1). */
#define METHOD_AT 3
#define TID_AT	  8  /* 8 bytes */
#define ATTR_AT	  16 /* AttributeID, AttributeModifier */
#define ATTR_LEN  8
#define KEY_AT	  36 /* SM_Key */
#define MASK_AT	  48 /* ComponentMask, record */
#define MASK_LEN  (WIRE_MAD_SIZE - MASK_AT)

struct lid_queue {
	cl_map_item_t item;  /* first; key: LID */
	cl_list_item_t turn; /* on sa_queue.turns */
	cl_qlist_t requests; /* never empty */
};

static struct lid_queue *of_turn(cl_list_item_t *item)
{
	return (struct lid_queue *)((char *)item - offsetof(struct lid_queue, turn));
}

static uint16_t lid_of(const struct lid_queue *l)
{
	return (uint16_t)cl_qmap_key(&l->item);
}

static struct lid_queue *find(const struct sa_queue *queue, uint16_t lid)
{
	cl_map_item_t *item = cl_qmap_get(&queue->lids, lid);

	return item == cl_qmap_end(&queue->lids) ? NULL : (struct lid_queue *)item;
}

static struct lid_queue *add_lid(struct sa_queue *queue, uint16_t lid)
{
	struct lid_queue *l = mem_alloc(1, sizeof(*l));

	cl_qlist_init(&l->requests);
	cl_qmap_insert(&queue->lids, lid, &l->item);
	cl_qlist_insert_tail(&queue->turns, &l->turn);
	return l;
}

static void end_lid(struct sa_queue *queue, struct lid_queue *l)
{
	cl_qlist_remove_item(&queue->turns, &l->turn);
	cl_qmap_remove_item(&queue->lids, &l->item);
	free(l);
}

bool sa_same_request(const struct io_addr *a, const uint8_t *mad_a, const struct io_addr *b,
		     const uint8_t *mad_b)
{
	return a->lid == b->lid && a->qp == b->qp && !memcmp(mad_a + TID_AT, mad_b + TID_AT, 8);
}

static bool same_question(const uint8_t *a, const uint8_t *b)
{
	return a[METHOD_AT] == b[METHOD_AT] && !memcmp(a + ATTR_AT, b + ATTR_AT, ATTR_LEN) &&
	       !memcmp(a + KEY_AT, b + KEY_AT, sizeof(uint64_t)) &&
	       !memcmp(a + MASK_AT, b + MASK_AT, MASK_LEN);
}

static uint64_t mix_bytes(uint64_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + sizeof(sum) <= len; i += sizeof(sum)) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		sum = hash_word(sum ^ word);
	}
	return sum;
}

static uint64_t question_of(const uint8_t *mad)
{
	return mix_bytes(mix_bytes(mad[METHOD_AT], mad + ATTR_AT, ATTR_LEN), mad + MASK_AT,
			 MASK_LEN);
}

static bool waits(const struct lid_queue *l, const struct io_addr *from, const uint8_t *mad)
{
	const cl_list_item_t *item;

	for (item = cl_qlist_head(&l->requests); item != cl_qlist_end(&l->requests);
	     item = cl_qlist_next(item)) {
		const struct sa_waiting *other = (const struct sa_waiting *)item;

		if (sa_same_request(&other->from, other->mad, from, mad))
			return true;
	}
	return false;
}

bool sa_queue_add(struct sa_queue *queue, const struct io_addr *from, const uint8_t *mad)
{
	struct lid_queue *l = find(queue, from->lid);
	struct sa_waiting *request;

	if (queue->count >= SA_QUEUE_MAX)
		return false;
	if (l && (cl_qlist_count(&l->requests) >= SA_QUEUE_EACH || waits(l, from, mad)))
		return false;
	if (!l)
		l = add_lid(queue, from->lid);
	request = mem_alloc(1, sizeof(*request));
	request->from = *from;
	request->question = question_of(mad);
	memcpy(request->mad, mad, sizeof(request->mad));
	cl_qlist_insert_tail(&l->requests, &request->item);
	queue->count++;
	return true;
}

static struct sa_waiting *take_first(struct sa_queue *queue, struct lid_queue *l)
{
	struct sa_waiting *request = (struct sa_waiting *)cl_qlist_remove_head(&l->requests);

	queue->count--;
	if (!cl_qlist_count(&l->requests)) {
		end_lid(queue, l);
	} else { /* behind the others */
		cl_qlist_remove_item(&queue->turns, &l->turn);
		cl_qlist_insert_tail(&queue->turns, &l->turn);
	}
	return request;
}

struct sa_waiting *sa_queue_take(struct sa_queue *queue, bool (*may)(void *arg, uint16_t lid),
				 void *arg)
{
	cl_list_item_t *item;

	for (item = cl_qlist_head(&queue->turns); item != cl_qlist_end(&queue->turns);
	     item = cl_qlist_next(item))
		if (may(arg, lid_of(of_turn(item))))
			return take_first(queue, of_turn(item));
	return NULL;
}

static void take_same_of(struct sa_queue *queue, struct lid_queue *l, const uint8_t *mad,
			 uint64_t question, cl_qlist_t *list)
{
	cl_list_item_t *item, *next;

	for (item = cl_qlist_head(&l->requests); item != cl_qlist_end(&l->requests); item = next) {
		struct sa_waiting *request = (struct sa_waiting *)item;

		next = cl_qlist_next(item);
		if (request->question != question || !same_question(request->mad, mad))
			continue;
		cl_qlist_remove_item(&l->requests, item);
		cl_qlist_insert_tail(list, item);
		queue->count--;
	}
}

void sa_queue_take_same(struct sa_queue *queue, const uint8_t *mad, cl_qlist_t *list,
			bool (*may)(void *arg, uint16_t lid), void *arg)
{
	uint64_t question = question_of(mad);
	cl_list_item_t *item, *next;

	for (item = cl_qlist_head(&queue->turns); item != cl_qlist_end(&queue->turns);
	     item = next) {
		struct lid_queue *l = of_turn(item);

		next = cl_qlist_next(item);
		if (may(arg, lid_of(l)))
			take_same_of(queue, l, mad, question, list);
		if (!cl_qlist_count(&l->requests))
			end_lid(queue, l);
	}
}

static bool anybody(void *arg, uint16_t lid)
{
	return true;
}

void sa_queue_clear(struct sa_queue *queue)
{
	while (queue->count)
		free(sa_queue_take(queue, anybody, NULL));
}

void sa_queue_init(struct sa_queue *queue)
{
	cl_qmap_init(&queue->lids);
	cl_qlist_init(&queue->turns);
	queue->count = 0;
}

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
