/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_sa_table.h"
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>

#define AT(field) (offsetof(ib_sa_mad_t, field) - WIRE_MAD_HEADER)
#define ROWS_AT	  (WIRE_SA_HEADER - WIRE_MAD_HEADER)

_Static_assert(sizeof(ib_mad_t) == WIRE_MAD_HEADER, "common header");

void wire_sa_table_ask(uint64_t sm_key, uint8_t data[WIRE_GMP_DATA])
{
	ib_net64_t key = cl_hton64(sm_key);

	memset(data, 0, WIRE_GMP_DATA);
	memcpy(data + AT(sm_key), &key, sizeof(key));
}

const char *wire_sa_table_decode(const uint8_t *data, size_t length, size_t row_size,
				 struct wire_sa_table *out)
{
	ib_net16_t words; /* of a row, 8 bytes each */
	ib_net32_t segment;

	*out = (struct wire_sa_table){ .rows = data + ROWS_AT };
	if (length < ROWS_AT)
		return "an answer that is too short";
	memcpy(&words, data + AT(attr_offset), sizeof(words));
	memcpy(&segment, data + AT(seg_num), sizeof(segment));
	out->size = cl_ntoh16(words) * 8u;
	if (!out->size)
		return NULL;
	if (out->size < row_size)
		return "records that are too short";
	out->count = (length - ROWS_AT) / out->size;
	if (!segment && (length - ROWS_AT) % out->size)
		return "an answer without its further segments (there is no RMPP here)";
	return NULL;
}
