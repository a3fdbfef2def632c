/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * random: splitmix64 (Steele, Lea and Flood, 2014): small, seedable, the same everywhere. Not for
 * secrets.
 */
#ifndef FMD_TOPOLOGY_BASE_RANDOM_H
#define FMD_TOPOLOGY_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
