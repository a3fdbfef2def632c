/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * frame_memory: what fmsim and a client both map of an open port: two rings, one for each
 * direction, who sleeps, and which requests are on their way.
 *
 * The waker's rule, both ways: who goes to sleep says so first, then looks once more; who writes
 * does so first, then looks whether the other sleeps. A client that asks without waiting, while its
 * requests are on their way, may nap for some microseconds, woken by futex: where many processes
 * share the processors, whoever sleeps gives way to fmsim, and whoever spins does not.
 */
#pragma once

#include "tests/sim/frame_ring.h"

#define FRAME_TID_BITS 13
#define FRAME_TIDS     (1u << FRAME_TID_BITS)

struct frame_memory {
	_Alignas(64) _Atomic uint32_t server_sleeps;
	_Alignas(64) _Atomic uint32_t client_waits; /* wants the descriptor to tell */
	_Atomic uint32_t told;			    /* the descriptor is readable */
	_Atomic uint32_t tell;			    /* it is to be made so again */
	_Atomic uint32_t gone;
	_Atomic uint32_t backlog;	    /* fmsim holds more than the ring had room for */
	_Alignas(64) _Atomic uint32_t done; /* so many requests are not on their way any more */
	_Alignas(64) _Atomic uint32_t client_naps; /* for a moment, on the count of down.written */
	_Atomic uint64_t tids[FRAME_TIDS];	   /* requests on their way: frame_tid_change() */
	struct frame_ring up, down;		   /* to fmsim, to the client */
};

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
