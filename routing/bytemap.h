/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytemap: translates a row of bytes through a table, as fast as the processor shuffles bytes. */
#ifndef FMD_ROUTING_BYTEMAP_H
#define FMD_ROUTING_BYTEMAP_H

#include <stddef.h>
#include <stdint.h>

#define BYTEMAP_TABLE 64 /* the fast way's largest table */

/*
 * out[i] = map[in[i]], where all inputs are below `used`, or 255 (which stays 255). out and in do not overlap.
 * map has 256 entries, or BYTEMAP_TABLE when used is no more than that and no input is 255.
 */
void bytemap(uint8_t *restrict out, const uint8_t *restrict in, size_t count, const uint8_t *map,
	     unsigned used);

#define BYTEMAP_KEEP 255

/* The same over what is there: where in[i] is BYTEMAP_KEEP, out[i] stays. map has at least `used` entries. */
void bytemap_over(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		  const uint8_t *map, unsigned used);

#endif
