/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytemap: translates a row of bytes through a table, as fast as the processor shuffles bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BYTEMAP_KEEP 255 /* an input that no table translates */

/*
 * Sets out[i] to map[in[i]], or to BYTEMAP_KEEP where in[i] is that. All other inputs are below
 * `used`. out and in do not overlap.
 */
void bytemap(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
	     const uint8_t map[256], unsigned used);

/* As bytemap(), but where in[i] is BYTEMAP_KEEP out[i] keeps what it has. */
void bytemap_over(uint8_t *restrict out, const uint8_t *restrict in, size_t count,
		  const uint8_t map[256], unsigned used);
