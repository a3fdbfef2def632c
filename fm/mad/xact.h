/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * xact: one transaction, what it looks like on the wire, and where transactions are found: by token
 * (from mad_send() to its end) and by TID (from the first try to the end). Both in constant time;
 * memory is reused, never moved. Private to fm/mad.
 */
#ifndef FMD_MAD_XACT_H
#define FMD_MAD_XACT_H

#include "fm/mad/mad.h"

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
	XACT_QUEUED, /* in the queue of its priority; with a TID when a try was lost */
	XACT_PARKED, /* behind its device's cap, otherwise as queued */
	XACT_SENT,   /* a try is out */
	XACT_FAILED, /* could not be sent; the callback is due */
};

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
	bool urgent, doubtful, local;
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
mad_token xact_token(const struct xact *x);
struct xact *xact_by_token(const struct xact_table *table, mad_token token); /* or NULL */

/* Gives it a random TID: any host could forge an answer to one that can be guessed. */
void xact_give_tid(struct xact_table *table, struct xact *x);
struct xact *xact_by_tid(const struct xact_table *table, uint32_t tid); /* or NULL */

/* xact_wire.c: copies the request; encodes the whole MAD; gives where it goes. */
void xact_take_request(struct xact *x, const struct mad_request *request);
void xact_encode(const struct xact *x, uint8_t buf[WIRE_MAD_SIZE]);
struct io_addr xact_address(const struct xact *x);
/* The impossible field of an answer (wire_flaw()), NULL = none is; raw is that of m. */
const char *xact_flaw(const struct xact *x, const struct wire_mad *m, uint8_t *raw);
/*
 * Whether m answers x. A LID-routed request is answered from the LID that it went to (`from`); a
 * directed route has none.
 */
bool xact_answered_by(const struct xact *x, const struct wire_mad *m, uint16_t from);

#endif
