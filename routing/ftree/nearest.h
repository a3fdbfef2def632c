/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* nearest: of several switches, those nearest to each destination. Private to routing/. */
#ifndef FMD_ROUTING_NEAREST_H
#define FMD_ROUTING_NEAREST_H

#include <stdint.h>

#define NEAREST_BYTES 32 /* rows are whole multiples of it */

struct nearest {	/* by destination, `bytes` each */
	uint8_t *cost;	/* one more than the least of the rows' costs; REACH_NEVER = none has any */
	uint8_t *count; /* rows that have it */
	uint8_t *last;	/* the last of them; undefined where none has */
};

/* Fills the arrays of *out from n rows of costs, `bytes` each. */
void nearest_find(const uint8_t *const rows[], unsigned n, uint32_t bytes,
		  const struct nearest *out);

#endif
