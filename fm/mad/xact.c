/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transactions are allocated in chunks that stay where they are and go back to a free ring. A token
 * is the generation of the place (upper half) and its index (lower half), so that a finished token
 * never finds the place's next user.
 *
 * TIDs are random numbers of 32 bits, never 0. The table they are found in is direct-mapped by
 * their low bits: a number whose place is held by another transaction is drawn again, and the table
 * doubles when it is half full, so both lookups and new TIDs cost a step or two. The upper 32 bits
 * of a MAD's TID belong to the kernel, which finds the sending agent by them.
 */
#include <unistd.h>
#include "fm/mad/xact.h"
#include "topology/base/mem.h"

#define XACT_CHUNK    256
#define TID_TABLE_MIN 256

void xact_table_init(struct xact_table *table)
{
	*table = (struct xact_table){ .tid_mask = TID_TABLE_MIN - 1 };
	link_init(&table->free);
	table->by_tid = mem_array(table->by_tid, TID_TABLE_MIN);
}

void xact_table_fini(struct xact_table *table)
{
	for (unsigned i = 0; i < table->nchunks; i++)
		free(table->chunks[i]);
	free(table->chunks);
	free(table->by_tid);
}

struct xact *xact_new(struct xact_table *table)
{
	if (link_empty(&table->free)) {
		struct xact *chunk = mem_array(chunk, XACT_CHUNK);

		for (uint32_t i = 0; i < XACT_CHUNK; i++) {
			chunk[i].index = table->nchunks * XACT_CHUNK + i;
			chunk[i].generation = 1;
			link_insert(table->free.prev, &chunk[i].link);
		}
		table->chunks = mem_array_resize(table->chunks, table->nchunks + 1);
		table->chunks[table->nchunks++] = chunk;
	}

	struct xact *x = (struct xact *)table->free.next;

	link_remove(&x->link);
	*x = (struct xact){ .index = x->index, .generation = x->generation };
	link_init(&x->link);
	return x;
}

void xact_free(struct xact_table *table, struct xact *x)
{
	link_remove(&x->link);
	if (x->tid) {
		table->by_tid[x->tid & table->tid_mask] = NULL;
		table->tids--;
	}
	x->state = XACT_FREE;
	x->generation += x->generation == UINT32_MAX ? 2 : 1; /* 0 would make the token none */
	link_insert(&table->free, &x->link);
}

struct xact *xact_by_token(const struct xact_table *table, mad_token token)
{
	uint32_t index = token;

	if (index / XACT_CHUNK >= table->nchunks)
		return NULL;

	struct xact *x = &table->chunks[index / XACT_CHUNK][index % XACT_CHUNK];

	return x->generation == token >> 32 && x->state != XACT_FREE ? x : NULL;
}

void xact_give_tid(struct xact_table *table, struct xact *x)
{
	if (++table->tids * 2 > table->tid_mask) {
		uint32_t old = table->tid_mask + 1;
		struct xact **by_tid = mem_array(by_tid, old * 2);

		table->tid_mask = old * 2 - 1;
		for (uint32_t i = 0; i < old; i++)
			if (table->by_tid[i])
				by_tid[table->by_tid[i]->tid & table->tid_mask] = table->by_tid[i];
		free(table->by_tid);
		table->by_tid = by_tid;
	}
	do {
		if (!table->nrandom) {
			if (getentropy(table->random, sizeof(table->random)))
				abort(); /* no kernel that runs this lacks it, once it has booted */
			table->nrandom = XACT_RANDOM;
		}
		x->tid = table->random[--table->nrandom];
	} while (!x->tid || table->by_tid[x->tid & table->tid_mask]);
	table->by_tid[x->tid & table->tid_mask] = x;
}

struct xact *xact_by_tid(const struct xact_table *table, uint32_t tid)
{
	struct xact *x = table->by_tid[tid & table->tid_mask];

	return x && x->tid == tid ? x : NULL;
}

/* ---- The queue ------------------------------------------------------------------------------- */

/*
 * What holds between calls: a device that has requests parked has one that is not urgent in the
 * queue, or is at its cap.
 */

struct xact_device *xact_device_get(struct xact_queue *q, guid_t guid)
{
	if (!guid)
		return NULL;

	cl_map_item_t *item = cl_qmap_get(&q->devices, guid);
	struct xact_device *device = (struct xact_device *)item;

	if (item == cl_qmap_end(&q->devices)) {
		device = mem_new(device);
		for (int p = 0; p < PRIORITIES; p++)
			link_init(&device->parked[p]);
		cl_qmap_insert(&q->devices, guid, &device->item);
	}
	device->users++;
	return device;
}

void xact_device_put(struct xact_queue *q, struct xact_device *device)
{
	if (!device || --device->users || device->proven[0] || device->proven[1] ||
	    device->key[0] || device->key[1])
		return;
	cl_qmap_remove_item(&q->devices, &device->item);
	free(device);
}

static bool has_slot(const struct xact_queue *q, const struct xact_device *device)
{
	return !device || device->in_flight < q->cap;
}

static void turn_enter(struct link *where, struct xact *x)
{
	link_remove(&x->link);
	link_insert(where, &x->link);
	x->state = XACT_QUEUED;
	if (x->device && !x->urgent)
		x->device->in_turn++;
}

static void turn_leave(struct xact *x)
{
	link_remove(&x->link);
	if (x->device && !x->urgent)
		x->device->in_turn--;
}

static void park(struct link *where, struct xact *x)
{
	link_remove(&x->link);
	link_insert(where, &x->link);
	x->state = XACT_PARKED;
}

/* Queues the device's next parked request, if it has none in the queue. */
static void turn_pass(struct xact_queue *q, struct xact_device *device)
{
	struct xact *x = device ? link_first(&device->parked[NORMAL]) : NULL;
	struct link *turns = &q->turns[NORMAL];

	if (!x || device->in_turn || !has_slot(q, device))
		return;
	turn_enter(device->missed ? turns : turns->prev, x);
	device->missed = false;
}

static void urgent_unpark(struct xact_queue *q, struct xact_device *device)
{
	struct xact *x = device ? link_first(&device->parked[URGENT]) : NULL;

	if (x && has_slot(q, device))
		turn_enter(&q->turns[URGENT], x);
}

void xact_queue_add(struct xact_queue *q, struct xact *x)
{
	q->count++;
	if (!x->urgent && x->device &&
	    (x->device->in_turn || !link_empty(&x->device->parked[NORMAL])))
		park(x->device->parked[NORMAL].prev, x);
	else
		turn_enter(q->turns[x->urgent].prev, x);
}

void xact_queue_again(struct xact_queue *q, struct xact *x)
{
	q->count++;
	turn_enter(&q->turns[x->urgent], x);
}

void xact_queue_leave(struct xact_queue *q, struct xact *x)
{
	q->count--;
	if (x->state == XACT_PARKED) {
		link_remove(&x->link);
		return;
	}
	turn_leave(x);
	turn_pass(q, x->device);
	urgent_unpark(q, x->device);
}

struct xact *xact_queue_next(struct xact_queue *q, bool held)
{
	for (struct link *it = q->turns[URGENT].next; held; it = it->next)
		if (it == &q->turns[URGENT])
			return NULL;
		else if (((struct xact *)it)->own & XACT_HELD_NOT)
			return (struct xact *)it;
	for (int p = URGENT; p >= NORMAL; p--) {
		struct xact *x;

		while ((x = link_first(&q->turns[p]))) {
			if (has_slot(q, x->device))
				return x;

			/* In front of the device's parked requests, an urgent one behind them. */
			struct link *parked = &x->device->parked[x->urgent];

			turn_leave(x);
			park(x->urgent ? parked->prev : parked, x);
			x->device->missed |= !x->urgent;
		}
	}
	return NULL;
}

void xact_queue_sent(struct xact_queue *q, struct xact *x)
{
	q->count--;
	turn_leave(x);
	if (!x->device)
		return;
	x->device->in_flight++;
	turn_pass(q, x->device);
}

void xact_queue_ended(struct xact_queue *q, struct xact *x)
{
	link_remove(&x->link);
	if (!x->device)
		return;
	x->device->in_flight--;
	turn_pass(q, x->device);
	urgent_unpark(q, x->device);
}

void xact_queue_init(struct xact_queue *q)
{
	*q = (struct xact_queue){ 0 };
	cl_qmap_init(&q->devices);
	for (int p = 0; p < PRIORITIES; p++)
		link_init(&q->turns[p]);
}

void xact_queue_fini(struct xact_queue *q)
{
	cl_map_item_t *item;

	while ((item = cl_qmap_head(&q->devices)) != cl_qmap_end(&q->devices)) {
		cl_qmap_remove_item(&q->devices, item);
		free(item);
	}
}

/* ---- M_Keys ---------------------------------------------------------------------------------- */

static void keys_forget(struct xact_device *device)
{
	mem_zero(&device->key, 1);
	mem_zero(&device->proven, 1);
}

static void keys_of(const struct xact_keys *keys, const struct xact *x, struct mad_keys *list)
{
	*list = (struct mad_keys){ .count = 0 };
	if (keys->fn)
		keys->fn(keys->arg, x->mgmt_class == WIRE_SMI_DR ? &x->path : NULL, x->lid, list);
}

static unsigned place_of(const struct mad_keys *list, uint64_t key)
{
	unsigned i = 0;

	while (i < list->count && list->key[i] != key)
		i++;
	return i;
}

static uint64_t key_next(const struct mad_keys *list, uint64_t key)
{
	unsigned i = place_of(list, key);

	return list->key[i < list->count ? (i + 1) % list->count : 0];
}

static uint64_t key_first(const struct mad_keys *list, const struct xact *x)
{
	uint64_t known = x->device ? x->device->key[x->method == WIRE_SET] : 0;

	return !list->shown && known && place_of(list, known) < list->count ? known : list->key[0];
}

void xact_key_choose(const struct xact_keys *keys, struct xact *x)
{
	struct mad_keys list;

	if (x->key_given || !wire_is_smi(x->mgmt_class))
		return;
	keys_of(keys, x, &list);
	if (!list.count)
		x->key = 0;
	else if (!x->tries || (x->device && !list.shown))
		x->key = key_first(&list, x);
	else
		x->key = key_next(&list, x->key);
}

bool xact_key_failed(const struct xact_keys *keys, const struct xact *x)
{
	bool set = x->method == WIRE_SET;
	struct mad_keys list;

	if (x->key_given || !wire_is_smi(x->mgmt_class))
		return false;
	keys_of(keys, x, &list);
	if (list.count < 2)
		return false;
	if (x->device && key_first(&list, x) == x->key) {
		bool proven = x->device->proven[set] || list.shown;

		x->device->key[set] = key_next(&list, x->key);
		x->device->proven[set] = false;
		return !proven;
	}
	return true;
}

/* A late answer may be to another try than the last: then the next loss corrects the choice. */
void xact_key_worked(const struct xact_keys *keys, const struct xact *x, bool done)
{
	bool set = x->method == WIRE_SET;
	struct wire_port_info info;
	struct mad_keys list;

	if (!x->device || x->key_given || !wire_is_smi(x->mgmt_class))
		return;
	keys_of(keys, x, &list);
	if (list.count < 2) {
		keys_forget(x->device);
		return;
	}
	x->device->key[set] = x->key;
	x->device->proven[set] = true;
	if (!done || !set || x->attr_id != WIRE_PORT_INFO)
		return;
	wire_port_info_decode(x->data, &info);
	if (info.mkey != x->key)
		keys_forget(x->device);
}

/* ---- On the wire ----------------------------------------------------------------------------- */

/*
 * A SMP goes by its directed route or to a LID, on QP 0, under the M_Key. A request of another
 * class goes to QP 1 of a LID, or another, under the Q_Key that all QP 1 have (IBA 3.5.3), with the
 * partition and SL that the request names; all behind the common header comes from the request.
 *
 * Its answer has the same class, attribute and modifier; the method is the request's with the
 * response bit, but for Set, which is answered as a Get is (IBA 13.4.5). A directed one is on its
 * way back (IBA 14.2.1.2).
 */

#define LID_PERMISSIVE 0xffff
#define QP1_QKEY       0x80010000u

void xact_take_request(struct xact *x, const struct mad_request *request)
{
	x->method = request->method;
	x->attr_id = request->attr_id;
	x->attr_mod = request->attr_mod;
	x->lid = request->lid;
	x->urgent = request->urgent;
	x->doubtful = request->doubtful;
	x->own = (request->local ? XACT_LOCAL : 0) | (request->held_not ? XACT_HELD_NOT : 0);
	x->key = request->key;
	x->key_given = request->key;
	x->path_of = request->path_of;
	if (!request->mgmt_class) {
		x->mgmt_class = request->path ? WIRE_SMI_DR : WIRE_SMI_LID;
		if (request->path) {
			x->path.hops = request->path->hops;
			memcpy(x->path.ports, request->path->ports, request->path->hops);
		}
		if (request->data)
			memcpy(x->data, request->data, sizeof(x->data));
		return;
	}
	x->mgmt_class = request->mgmt_class;
	x->sl = request->sl;
	x->pkey_index = request->pkey_index;
	x->qp = request->qp ? request->qp : 1;
	if (request->data)
		memcpy(x->gmp, request->data, sizeof(x->gmp));
}

void xact_encode(const struct xact *x, uint8_t buf[WIRE_MAD_SIZE])
{
	struct wire_mad header = {
		.mgmt_class = x->mgmt_class,
		.class_version = x->mgmt_class == WIRE_SA ? 2 : 1,
		.method = x->method,
		.tid = x->tid,
		.attr_id = x->attr_id,
		.attr_mod = x->attr_mod,
	};

	memset(buf, 0, WIRE_MAD_SIZE);
	if (x->mgmt_class == WIRE_SMI_DR) {
		header.hop_count = x->path.hops;
		header.dr_slid = header.dr_dlid = LID_PERMISSIVE;
		memcpy(header.path + 1, x->path.ports, x->path.hops);
	}
	if (wire_is_smi(x->mgmt_class)) {
		header.key = x->key;
		wire_mad_encode(&header, buf);
		memcpy(wire_smp_data(buf), x->data, sizeof(x->data));
	} else {
		wire_mad_encode(&header, buf);
		memcpy(wire_gmp_data(buf), x->gmp, sizeof(x->gmp));
	}
}

struct io_addr xact_address(const struct xact *x)
{
	if (x->mgmt_class == WIRE_SMI_DR)
		return (struct io_addr){ .lid = LID_PERMISSIVE };
	if (x->mgmt_class == WIRE_SMI_LID)
		return (struct io_addr){ .lid = x->lid };
	return (struct io_addr){ .lid = x->lid,
				 .qp = x->qp,
				 .qkey = QP1_QKEY,
				 .sl = x->sl,
				 .pkey_index = x->pkey_index };
}

bool xact_answered_by(const struct xact *x, const struct wire_mad *m, uint16_t from)
{
	uint8_t method = x->method == WIRE_SET ? WIRE_GET : x->method;

	return m->mgmt_class == x->mgmt_class && m->method == (method | WIRE_RESPONSE) &&
	       (x->mgmt_class == WIRE_SMI_DR ? m->returning : from == x->lid) &&
	       m->attr_id == x->attr_id && m->attr_mod == x->attr_mod;
}
