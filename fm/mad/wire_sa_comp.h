/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_sa_comp: the components of SA records.
 *
 * A record is a row of bytes. Its layout says where each component lies, numbered as the component
 * mask numbers them. A request's mask and components compile to a wire_sa_match, which then decides
 * for any row whether the request asks for it.
 */
#ifndef FMD_MAD_WIRE_SA_COMP_H
#define FMD_MAD_WIRE_SA_COMP_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/mad/wire_sa.h"

/* Of a component's width, in a table of them. */
#define WIRE_R	      0x8000 /* reserved: has a number, is never compared */
#define WIRE_LID      0x4000 /* of a port: any of its LIDs asks for it */
#define WIRE_AT_LEAST 0x2000 /* a capability mask: may be asked for "at least these bits" */

struct wire_sa_layout {
	uint8_t size; /* of a row in bytes, padding to a multiple of 8 included */
	uint8_t ncomps;
	const uint16_t *comps; /* widths in bits and WIRE_R .., bit 0 of the component mask first */
};
/* Bytes of a row: the components together, padded to a multiple of 8. */
uint8_t wire_sa_layout_size(const struct wire_sa_layout *layout);
/* A component of at most 64 bits; 0 when the mask does not name it is the caller's business. */
uint64_t wire_sa_get(const struct wire_sa_layout *layout, unsigned comp, const uint8_t *row);
/* The other way round; bits of the value above the component's width are left out. */
void wire_sa_put(const struct wire_sa_layout *layout, unsigned comp, uint64_t value, uint8_t *row);

/*
 * Any LID of a port asks for the port: base LID of the port that has `lid`, `lid` itself if none
 * has.
 */
typedef uint16_t wire_sa_base_lid_fn(void *arg, uint16_t lid);

struct wire_sa_match {
	unsigned words;
	uint64_t mask[WIRE_SA_ROW_MAX / 8], want[WIRE_SA_ROW_MAX / 8];
};
/* `enough`: of capability masks the bits asked for suffice (attribute modifier bit 31). */
void wire_sa_match_init(struct wire_sa_match *match, const struct wire_sa_layout *layout,
			uint64_t comp_mask, const uint8_t *request, bool enough,
			wire_sa_base_lid_fn *base_lid, void *arg);
/* Whether the row has all the components that the request names. */
bool wire_sa_match(const struct wire_sa_match *match, const uint8_t *row);
/* From now on any value of these components will do. */
void wire_sa_match_any(struct wire_sa_match *match, const struct wire_sa_layout *layout,
		       uint64_t comps);

#define WIRE_SA_LID    0 /* component number, of all records of ports and nodes */
#define WIRE_BIT(comp) (1ull << (comp))

#endif
