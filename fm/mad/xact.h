/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * xact: one transaction, what it looks like on the wire, and where transactions are found: by token
 * (from mad_send() to its end) and by TID (from the first try to the end). Both in constant time;
 * memory is reused, never moved. Private to fm/mad.
 */
#pragma once

#include <complib/cl_qmap.h>
#include "fm/mad/mad.h"

struct xact;

/* A ring: its head is a link as well. An element that is in no ring links to itself. */
struct link {
	struct link *prev, *next;
};

static inline void link_init(struct link *link)
{
	link->prev = link->next = link;
}

static inline bool link_empty(const struct link *head)
{
	return head->next == head;
}

static inline struct xact *link_first(const struct link *head) /* NULL: it is empty */
{
	return link_empty(head) ? NULL : (struct xact *)head->next;
}

static inline void link_remove(struct link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link_init(link);
}

/*
 * Right behind `where`: at the front of a ring when that is its head, at the back when it is
 * head->prev.
 */
static inline void link_insert(struct link *where, struct link *link)
{
	link->prev = where;
	link->next = where->next;
	where->next->prev = link;
	where->next = link;
}

enum xact_state {
	XACT_FREE,
	XACT_QUEUED,  /* in the queue of its priority; with a TID when a try was lost */
	XACT_PARKED,  /* behind its device's cap, otherwise as queued */
	XACT_SENT,    /* a try is out */
	XACT_LINGERS, /* the same, for so long that it has no place in the window */
	XACT_FAILED,  /* could not be sent; the callback is due */
};

enum xact_own { XACT_LOCAL = 1, XACT_HELD_NOT = 2 }; /* as in the request */

struct xact_device;

struct xact {
	struct link link;	    /* first; in the ring its state names */
	struct xact_device *device; /* NULL = no cap */
	mad_done_fn *fn;
	void (*path_of)(void *arg, struct mad_path *path);
	void *arg;
	uint64_t sent_at, deadline; /* of the last try */
	uint32_t index, generation; /* the token */
	uint32_t tid;		    /* 0 before the first try */
	uint32_t attr_mod, qp;
	uint32_t timeout_us;
	unsigned tries, retries;
	uint16_t attr_id, lid, pkey_index;
	uint8_t state, mgmt_class, method, sl;
	bool urgent, doubtful;
	uint8_t own;	/* bits of enum xact_own */
	bool key_given; /* by the request */
	uint64_t key;	/* M_Key of the last try */
	union {
		struct { /* SMPs */
			struct mad_path path;
			uint8_t data[WIRE_SMP_DATA];
		};
		uint8_t gmp[WIRE_GMP_DATA];
	};
};

#define XACT_RANDOM 64 /* TIDs made of one call for random bytes */

struct xact_table {
	struct xact **chunks; /* XACT_CHUNK each */
	unsigned nchunks;
	struct link free;
	struct xact **by_tid; /* direct-mapped; a TID whose place is taken is passed over */
	uint32_t tid_mask, tids;
	uint32_t random[XACT_RANDOM]; /* from the kernel, not used up yet */
	unsigned nrandom;
};

/* The table is the caller's memory. It owns all transactions; each is valid until xact_free(). */
void xact_table_init(struct xact_table *table);
void xact_table_fini(struct xact_table *table);
struct xact *xact_new(struct xact_table *table); /* zeroed but for index and generation */
void xact_free(struct xact_table *table, struct xact *x);
struct xact *xact_by_token(const struct xact_table *table, mad_token token); /* or NULL */

/* Gives it a random TID: any host could forge an answer to one that can be guessed. */
void xact_give_tid(struct xact_table *table, struct xact *x);
struct xact *xact_by_tid(const struct xact_table *table, uint32_t tid); /* or NULL */

/* Copies the request, but for what mad_conf adds; encodes the whole MAD; gives where it goes. */
void xact_take_request(struct xact *x, const struct mad_request *request);
void xact_encode(const struct xact *x, uint8_t buf[WIRE_MAD_SIZE]);
struct io_addr xact_address(const struct xact *x);
/*
 * Whether m answers x. A LID-routed request is answered from the LID that it went to (`from`); a
 * directed route has none.
 */
bool xact_answered_by(const struct xact *x, const struct wire_mad *m, uint16_t from);

/* ---- The queue ------------------------------------------------------------------------------- */

/*
 * Transactions that wait to be sent, urgent ones before the others, and how many each device has on
 * their way.
 *
 * A device works at one MAD after the other, so devices take turns: of each the queue has one
 * request, and the others are parked behind that, out of the others' way, in the order they came.
 * When it has left the next one goes to the queue's end. Where a device is at its cap when its turn
 * comes, it has it as soon as one of its requests ends. So each send costs the same however long
 * the queues are. Urgent ones go before all others, in the order they came, as far as their
 * devices' caps allow. Requests of no device have a turn each, and no cap.
 */

enum { NORMAL, URGENT, PRIORITIES };

struct xact_device {
	cl_map_item_t item; /* in xact_queue.devices, key = GUID */
	unsigned users;	    /* transactions that name it */
	unsigned in_flight;
	uint64_t key[2];  /* M_Key to try first, for Gets and for Sets; 0 = none */
	bool proven[2];	  /* an SMP with that key was answered */
	unsigned in_turn; /* of its requests that are not urgent, in the queue: > 1 after losses */
	bool missed;	  /* it was at its cap when its turn came */
	struct link parked[PRIORITIES];
};

struct xact_queue {
	cl_qmap_t devices;
	struct link turns[PRIORITIES];
	unsigned count; /* parked ones too */
	unsigned cap;	/* of a device's requests on their way */
};

/* The queue is the caller's memory; at its end it frees all devices, also those still named. */
void xact_queue_init(struct xact_queue *q);
void xact_queue_fini(struct xact_queue *q);

/* The queue's; one put for each get, and it is valid in between. NULL for GUID 0: no device. */
struct xact_device *xact_device_get(struct xact_queue *q, guid_t guid);
void xact_device_put(struct xact_queue *q, struct xact_device *device);

/* Behind the others of its device; after a lost try in front of all; out of the queue for good. */
void xact_queue_add(struct xact_queue *q, struct xact *x);
void xact_queue_again(struct xact_queue *q, struct xact *x);
void xact_queue_leave(struct xact_queue *q, struct xact *x);

/* The first whose device is below its cap; it stays queued. NULL: there is none. */
struct xact *xact_queue_next(struct xact_queue *q, bool held);
/* A try was sent: counts it for its device. A try has ended: x is in no ring then. */
void xact_queue_sent(struct xact_queue *q, struct xact *x);
void xact_queue_ended(struct xact_queue *q, struct xact *x);

/* ---- With which M_Key an SMP goes ------------------------------------------------------------ */

/*
 * Where a port may hold one of several a lost try of an SMP is repeated with the next one, and what
 * was answered is the device's next first choice: of Sets, and apart from these of Gets, which most
 * ports answer whatever the key. A Set of PortInfo that gave the port another key ends that. What a
 * port has shown goes before what its device is remembered for.
 */

struct xact_keys {
	mad_keys_fn *fn; /* NULL: ports need none */
	void *arg;
};

/* Sets x->key; called before each try. */
void xact_key_choose(const struct xact_keys *keys, struct xact *x);
/* A try was lost. True: its key may be the reason, and the next try has another. */
bool xact_key_failed(const struct xact_keys *keys, const struct xact *x);
/* A try was answered. done: with status 0. */
void xact_key_worked(const struct xact_keys *keys, const struct xact *x, bool done);
