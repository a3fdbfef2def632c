/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_sa_table: the client's side of subnet administration (IBA 15.2): what SubnAdmGetTable asks,
 * and the rows of its answer.
 */
#ifndef FMD_MAD_WIRE_SA_TABLE_H
#define FMD_MAD_WIRE_SA_TABLE_H

#include "fm/mad/wire_sa.h"

/* All behind the common header: a request for all records. sm_key 0 = not a trusted one. */
void wire_sa_table_ask(uint64_t sm_key, uint8_t data[WIRE_GMP_DATA]);

struct wire_sa_table {
	const uint8_t *rows; /* within the answer */
	size_t size, count;  /* of a row in bytes; of rows */
};
/*
 * What a GetTableResp holds, of `length` bytes behind the common header, with rows of row_size
 * bytes at least. NULL; or a literal that says why it is none, or not whole: a message that RMPP
 * has not put together (no segment is numbered in it) is the first segment alone, unless its rows
 * fill it to its end.
 */
const char *wire_sa_table_decode(const uint8_t *data, size_t length, size_t row_size,
				 struct wire_sa_table *out);

#endif
