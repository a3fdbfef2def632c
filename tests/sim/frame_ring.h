/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * frame_ring: a ring of bytes in memory that two processes map, with one writer and one reader.
 *
 * A record is a header and its bytes, in steps of 8; one that does not fit before the end of the
 * ring leaves a mark there and begins at its start. A longer message is several records. Its bytes
 * are a struct ib_user_mad and the MAD.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define FRAME_RING   (1u << 20) /* bytes of a ring */
#define FRAME_RECORD (1u << 17) /* the longest record */

struct frame_end { /* alone in its cache line */
	_Alignas(64) _Atomic uint32_t at;
};

struct frame_ring {
	struct frame_end written, read; /* free-running counts of bytes */
	uint8_t bytes[FRAME_RING];
};

struct frame_record {
	uint32_t len;  /* of the bytes behind; FRAME_WRAP: none up to the ring's end */
	uint32_t more; /* the message goes on in the next */
};

#define FRAME_WRAP	UINT32_MAX
#define FRAME_STEP(len) (((uint32_t)(len) + 7u) & ~7u)

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
