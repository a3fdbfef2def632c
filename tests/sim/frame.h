/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * frame: what fmsim and libfmsim-umad say to each other.
 *
 * A client connects to fmsim's socket and sends requests of fixed size, each answered by a reply of
 * fixed size, in turn. A connection whose first byte is no FRAME_MAGIC is a line of the control
 * protocol.
 *
 * An open port has three descriptors besides the connection, whose end is the file's: memory that
 * both map, an event to wake fmsim, and the descriptor that the program sees. That one is readable
 * while MADs are there to be read (if somebody waits), and fails when the device or fmsim is gone.
 *
 * In the memory are two rings of bytes, one for each direction, with one writer and one reader. A
 * record is a header and its bytes, in steps of 8; one that does not fit before the end of the ring
 * leaves a mark there and begins at its start. A longer message is several records. Its bytes are a
 * struct ib_user_mad and the MAD.
 *
 * The waker's rule, both ways: who goes to sleep says so first, then looks once more; who writes
 * does so first, then looks whether the other sleeps. A client that asks without waiting, while its
 * requests are on their way, may nap for some microseconds, woken by futex: where many processes
 * share the processors, whoever sleeps gives way to fmsim, and whoever spins does not.
 */
#ifndef FMD_TESTS_SIM_FRAME_H
#define FMD_TESTS_SIM_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define FRAME_MAGIC    0x01534d46u /* its first byte in memory is no letter */
#define FRAME_RING     (1u << 20)  /* bytes of a ring */
#define FRAME_RECORD   (1u << 17)  /* the longest record */
#define FRAME_NAME     64
#define FRAME_CA_NAME  20
#define FRAME_DEVICES  32
#define FRAME_PKEYS    128
#define FRAME_PORTS    10
#define FRAME_TID_BITS 13
#define FRAME_TIDS     (1u << FRAME_TID_BITS)

enum frame_kind {
	FRAME_DEVICES_ARE = 1, /* devices of the node's host */
	FRAME_CA,	       /* of one */
	FRAME_PORT,
	FRAME_OPEN,	/* the connection is a umad file from then on */
	FRAME_ISSM,	/* the connection is an issm file from then on */
	FRAME_REGISTER, /* of an open file */
	FRAME_UNREGISTER,
	FRAME_IS_BUSY, /* a request with this TID is on its way */
};

struct frame_register {
	uint8_t mgmt_class, class_version, qpn, rmpp_version;
	uint32_t flags, oui;
	uint64_t methods[2];
};

struct frame_request {
	uint32_t magic, kind;
	char node[FRAME_NAME]; /* whose host the client is on; empty = the first */
	char ca[FRAME_CA_NAME];
	uint32_t port; /* or the agent's number */
	struct frame_register reg;
	uint8_t header[64 + 24]; /* of a send: struct ib_user_mad, and the common header */
};

/* In host order, but for what struct umad_port keeps in the net's. */
struct frame_port {
	uint32_t there, port, base_lid, lmc, sm_lid, sm_sl, state, phys_state, rate, capmask;
	uint64_t gid_prefix, port_guid;
	uint32_t npkeys;
	uint16_t pkeys[FRAME_PKEYS];
};

struct frame_ca {
	uint32_t node_type, nports;
	uint64_t node_guid, system_guid;
	char fw_ver[20], ca_type[40], hw_ver[20];
};

struct frame_reply {
	int32_t status; /* >= 0, or -errno */
	uint32_t count;
	union {
		char names[FRAME_DEVICES][FRAME_CA_NAME];
		struct frame_ca ca;
		struct frame_port port;
	};
};

/* ---- Shared memory --------------------------------------------------------------------------- */

struct frame_end { /* alone in its cache line */
	_Alignas(64) _Atomic uint32_t at;
};

struct frame_ring {
	struct frame_end written, read; /* free-running counts of bytes */
	uint8_t bytes[FRAME_RING];
};

struct frame_memory {
	_Alignas(64) _Atomic uint32_t server_sleeps;
	_Alignas(64) _Atomic uint32_t client_waits; /* wants the descriptor to tell */
	_Atomic uint32_t told;			    /* the descriptor is readable */
	_Atomic uint32_t tell;			    /* it is to be made so again */
	_Atomic uint32_t gone;
	_Atomic uint32_t backlog;	    /* fmsim holds more than the ring had room for */
	_Alignas(64) _Atomic uint32_t done; /* so many requests are not on their way any more */
	_Alignas(64) _Atomic uint32_t client_naps; /* for a moment, on the count of down.written */
	_Atomic uint64_t tids[FRAME_TIDS];	   /* requests on their way: frame_tid_add() */
	struct frame_ring up, down;		   /* to fmsim, to the client */
};

struct frame_record {
	uint32_t len;  /* of the bytes behind; FRAME_WRAP: none up to the ring's end */
	uint32_t more; /* the message goes on in the next */
};

#define FRAME_WRAP	UINT32_MAX
#define FRAME_STEP(len) (((uint32_t)(len) + 7u) & ~7u)

/*
 * Of a request its TID's lower half, which is the client's, and class: the place is its upper bits.
 */
static inline uint64_t frame_tid_name(const uint8_t *mad)
{
	uint32_t low;

	memcpy(&low, mad + 12, sizeof(low));
	return ((uint64_t)low << 8 ^ mad[1]) * 0x9e3779b97f4a7c15u;
}

#define FRAME_TID_COUNT 0xffffu

/*
 * A place holds how many are on their way, and above that the names of all, one upon the other: so
 * that one alone is known by its name.
 */
static inline void frame_tid_change(struct frame_memory *m, const uint8_t *mad, int change)
{
	uint64_t name = frame_tid_name(mad), old, new;
	_Atomic uint64_t *place = &m->tids[name >> (64 - FRAME_TID_BITS)];

	old = atomic_load_explicit(place, memory_order_relaxed);
	do
		new = ((old ^ name) & ~(uint64_t)FRAME_TID_COUNT) |
		      ((old + (uint64_t)change) & FRAME_TID_COUNT);
	while (!atomic_compare_exchange_weak(place, &old, new));
}

/* false: none like it is on its way. true: it may be. */
static inline bool frame_tid_may_be(const struct frame_memory *m, const uint8_t *mad)
{
	uint64_t name = frame_tid_name(mad);
	uint64_t there = atomic_load(&m->tids[name >> (64 - FRAME_TID_BITS)]);

	if ((there & FRAME_TID_COUNT) != 1)
		return there & FRAME_TID_COUNT;
	return !((there ^ name) & ~(uint64_t)FRAME_TID_COUNT);
}

/* A record of two parts. false: there is no room now. */
static inline bool ring_write(struct frame_ring *ring, const void *head, uint32_t head_len,
			      const void *body, uint32_t body_len, bool more)
{
	struct frame_record record = { .len = head_len + body_len, .more = more };
	uint32_t at = atomic_load_explicit(&ring->written.at, memory_order_relaxed);
	uint32_t used = at - atomic_load_explicit(&ring->read.at, memory_order_acquire);
	uint32_t need = (uint32_t)sizeof(record) + FRAME_STEP(record.len);
	uint32_t left = FRAME_RING - at % FRAME_RING, skip = left < need ? left : 0;
	uint8_t *p;

	if (FRAME_RING - used < need + skip)
		return false;
	if (skip) {
		struct frame_record wrap = { .len = FRAME_WRAP };

		memcpy(ring->bytes + at % FRAME_RING, &wrap, sizeof(wrap));
		at += skip;
	}
	p = ring->bytes + at % FRAME_RING;
	memcpy(p, &record, sizeof(record));
	memcpy(p + sizeof(record), head, head_len);
	if (body_len)
		memcpy(p + sizeof(record) + head_len, body, body_len);
	atomic_store_explicit(&ring->written.at, at + need, memory_order_release);
	return true;
}

/* The next record, where it lies, or NULL; ring_took() gives its room back. */
static inline const uint8_t *ring_look(struct frame_ring *ring, struct frame_record *record)
{
	uint32_t at = atomic_load_explicit(&ring->read.at, memory_order_relaxed);

	if (at == atomic_load_explicit(&ring->written.at, memory_order_acquire))
		return NULL;
	memcpy(record, ring->bytes + at % FRAME_RING, sizeof(*record));
	if (record->len == FRAME_WRAP) {
		at += FRAME_RING - at % FRAME_RING;
		atomic_store_explicit(&ring->read.at, at, memory_order_release);
		memcpy(record, ring->bytes + at % FRAME_RING, sizeof(*record));
	}
	return ring->bytes + at % FRAME_RING + sizeof(*record);
}

static inline void ring_took(struct frame_ring *ring, const struct frame_record *record)
{
	uint32_t at = atomic_load_explicit(&ring->read.at, memory_order_relaxed);

	atomic_store_explicit(&ring->read.at,
			      at + (uint32_t)sizeof(*record) + FRAME_STEP(record->len),
			      memory_order_release);
}

/* Until the other writes, or so many nanoseconds: while the ring's count is that. */
static inline void ring_nap(struct frame_ring *ring, uint32_t written, long ns)
{
	const struct timespec most = { .tv_nsec = ns };

	syscall(SYS_futex, &ring->written.at, FUTEX_WAIT, written, &most, NULL, 0);
}

static inline void ring_wake(struct frame_ring *ring)
{
	syscall(SYS_futex, &ring->written.at, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static inline bool ring_is_empty(const struct frame_ring *ring)
{
	return atomic_load_explicit(&ring->read.at, memory_order_acquire) ==
	       atomic_load_explicit(&ring->written.at, memory_order_acquire);
}

#endif
