/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_query.h"
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
	unsigned debt;	     /* rows, beyond what its turns were worth */
};

static struct lid_queue *of_turn(cl_list_item_t *item)
{
	return (struct lid_queue *)((char *)item - offsetof(struct lid_queue, turn));
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

static uint64_t mix_bytes(uint64_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + sizeof(sum) <= len; i += sizeof(sum)) {
		uint64_t word;

		mem_copy(&word, bytes + i, 1);
		sum = hash_word(sum ^ word);
	}
	return sum;
}

static uint64_t question_of(const uint8_t *mad)
{
	return mix_bytes(mix_bytes(mad[METHOD_AT], mad + ATTR_AT, ATTR_LEN), mad + MASK_AT,
			 MASK_LEN);
}

bool sa_queue_is_full(const struct sa_queue *queue, uint16_t lid)
{
	const struct lid_queue *l = sa_map_find(&queue->lids, lid);

	return queue->count >= SA_QUEUE_MAX || (l && cl_qlist_count(&l->requests) >= queue->each);
}

bool sa_queue_add(struct sa_queue *queue, const struct io_addr *from, const uint8_t *mad)
{
	struct lid_queue *l = sa_map_find(&queue->lids, from->lid);

	if (sa_queue_is_full(queue, from->lid))
		return false;
	for (cl_list_item_t *at = l ? cl_qlist_head(&l->requests) : NULL;
	     l && at != cl_qlist_end(&l->requests); at = cl_qlist_next(at)) {
		const struct sa_waiting *other = (const struct sa_waiting *)at;

		if (sa_same_request(&other->from, other->mad, from, mad))
			return false; /* it waits already */
	}
	if (!l) {
		l = mem_new(l);
		cl_qlist_init(&l->requests);
		cl_qmap_insert(&queue->lids, from->lid, &l->item);
		cl_qlist_insert_tail(&queue->turns, &l->turn);
	}

	struct sa_waiting *request = mem_new(request);

	request->from = *from;
	request->question = question_of(mad);
	memcpy(request->mad, mad, sizeof(request->mad));
	cl_qlist_insert_tail(&l->requests, &request->item);
	queue->count++;
	return true;
}

struct sa_waiting *sa_queue_take(struct sa_queue *queue, bool (*may)(void *arg, uint16_t lid),
				 void *arg)
{
	cl_list_item_t *item, *next;
	bool indebted = true;

	while (indebted) {
		indebted = false;
		for (item = cl_qlist_head(&queue->turns); item != cl_qlist_end(&queue->turns);
		     item = next) {
			struct lid_queue *l = of_turn(item);

			next = cl_qlist_next(item);
			if (may && !may(arg, cl_qmap_key(&l->item)))
				continue;
			if (l->debt > SA_QUANTUM) {
				l->debt -= SA_QUANTUM;
				indebted = true;
				continue;
			}
			l->debt = 0;

			struct sa_waiting *request =
				(struct sa_waiting *)cl_qlist_remove_head(&l->requests);

			queue->count--;
			if (!cl_qlist_count(&l->requests)) {
				end_lid(queue, l);
			} else { /* behind the others */
				cl_qlist_remove_item(&queue->turns, item);
				cl_qlist_insert_tail(&queue->turns, item);
			}
			return request;
		}
	}
	return NULL;
}

void sa_queue_charge(struct sa_queue *queue, uint16_t lid, unsigned rows)
{
	struct lid_queue *l = sa_map_find(&queue->lids, lid);

	if (l)
		l->debt += rows;
}

void sa_queue_take_same(struct sa_queue *queue, const uint8_t *mad, cl_qlist_t *list,
			bool (*may)(void *arg, uint16_t lid), void *arg)
{
	uint64_t question = question_of(mad);
	cl_list_item_t *turn, *next_turn;
	cl_list_item_t *item, *next;

	for (turn = cl_qlist_head(&queue->turns); turn != cl_qlist_end(&queue->turns);
	     turn = next_turn) {
		struct lid_queue *l = of_turn(turn);

		next_turn = cl_qlist_next(turn);
		if (!may(arg, cl_qmap_key(&l->item)))
			continue;
		for (item = cl_qlist_head(&l->requests); item != cl_qlist_end(&l->requests);
		     item = next) {
			const struct sa_waiting *request = (const struct sa_waiting *)item;
			const uint8_t *other = request->mad;

			next = cl_qlist_next(item);
			if (request->question != question || other[METHOD_AT] != mad[METHOD_AT] ||
			    memcmp(other + ATTR_AT, mad + ATTR_AT, ATTR_LEN) ||
			    memcmp(other + KEY_AT, mad + KEY_AT, sizeof(uint64_t)) ||
			    memcmp(other + MASK_AT, mad + MASK_AT, MASK_LEN))
				continue;
			cl_qlist_remove_item(&l->requests, item);
			cl_qlist_insert_tail(list, item);
			queue->count--;
		}
		if (!cl_qlist_count(&l->requests))
			end_lid(queue, l);
	}
}

void sa_queue_clear(struct sa_queue *queue)
{
	while (queue->count)
		free(sa_queue_take(queue, NULL, NULL));
}

void sa_queue_init(struct sa_queue *queue, unsigned each)
{
	cl_qmap_init(&queue->lids);
	cl_qlist_init(&queue->turns);
	queue->count = 0;
	queue->each = each;
}

/*
 * The limit that keeps one host from taking the SA away from the others.
 *
 * Requests of a LID below rate_limit a second are served as they come; a burst may have a tenth of
 * a second's worth. The limit (GCRA) needs one number for each LID: the time at which the host
 * would be even if it had kept to the rate all along. What is above the rate is served at once as
 * long as none waits and this round of the loop has had little to do, so an idle SA serves a lone
 * client as fast as it can. The rest waits: some of it is served in each round, LID by LID in turn.
 * Where a LID's own queue is full its newest request stays unanswered, which costs little, and
 * clients repeat it. A host that this happens to is reported once an hour.
 */

#define SECOND_NS   1000000000ull
#define BURST_PART  10
#define BURST_MIN   64	 /* requests: a usual window of a client */
#define IDLE_ROWS   1024 /* looked at in this round of the loop: a hundred paths */
#define LOG_AGAIN_S 3600
#define LOG_BURST   20

bool sa_limit_admits(struct sa *sa, const struct io_addr *from, const uint8_t *mad)
{
	struct limit *l = &sa->limit;
	uint64_t now_us = loop_now_us(sa->loop);
	uint64_t now = now_us * 1000;
	uint32_t second = now_us / 1000000;
	const struct topo *t = sa->view.topo;

	if (!sa->conf.rate_limit)
		return true;
	if (!l->even)
		l->even = mem_array(l->even, UINT16_MAX + 1);

	uint64_t interval = SECOND_NS / sa->conf.rate_limit;
	uint64_t burst = SECOND_NS / BURST_PART > BURST_MIN * interval ? SECOND_NS / BURST_PART
								       : BURST_MIN * interval;
	uint64_t *even = &l->even[from->lid];

	if (*even < now)
		*even = now;
	if (*even - now < burst) {
		*even += interval;
		return true;
	}
	if (!l->late.count && sa->engine.round < IDLE_ROWS)
		return true;
	if (sa_queue_add(&l->late, from, mad))
		return false;
	sa->stats.busy++;
	if (!sa_queue_is_full(&l->late, from->lid)) /* it waits already */
		return false;
	if (!l->reported)
		l->reported = mem_array(l->reported, UINT16_MAX + 1);
	if (second < l->reported[from->lid] || !log_allow(&l->burst, now_us, LOG_BURST))
		return false;
	l->reported[from->lid] = second + LOG_AGAIN_S;

	uint32_t port = t ? sa_port_by_lid(sa, from->lid) : TOPO_NONE;

	sa_log(sa, event_subject_port(t, port),
	       "%s LID %u: more SA requests than there is time for, above its %u a second "
	       "(sa_rate_limit); the newest are dropped",
	       port == TOPO_NONE ? "" : t->nodes[t->ports[port].node].name, from->lid,
	       sa->conf.rate_limit);
	return false;
}
