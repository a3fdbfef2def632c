/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytemap: translates a row of bytes through a table, as fast as the processor shuffles bytes. */
#ifndef FMD_ROUTING_BYTEMAP_H
#define FMD_ROUTING_BYTEMAP_H

#include <stddef.h>
#include <stdint.h>

/* out[i] = map[in[i]]. `used`: all inputs are below it, or 255 (and map[255] is 255). out and in do
 * not overlap. */
void bytemap(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
	     const uint8_t map[256], unsigned used);

#endif
