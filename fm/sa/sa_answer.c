/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Answers of the SA: the request's header turned round, and rows.
 *
 * GetTable answers leave as one buffer of any length marked RMPP active; the kernel cuts it into
 * segments (IBA 13.6). Their length is exact, for a client computes from it how many rows there
 * are. Get answers are one MAD of 256 bytes. An error carries the request's components back.
 */
#include <string.h>
#include "fm/sa/sa_impl.h"

static uint8_t response_to(uint8_t method)
{
	return method == WIRE_SET ? WIRE_GET_RESP : method | 0x80;
}

static void answer_send(struct sa *sa, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	if (mad_reply(sa->mad, from, mad, len) == 0)
		sa->stats.answered++;
}

/* An error carries the request's components back. */
static void error_send(struct sa_query *q)
{
	uint8_t mad[WIRE_MAD_SIZE];

	memcpy(mad, q->header, WIRE_SA_HEADER);
	memcpy(mad + WIRE_SA_HEADER, q->data, WIRE_SA_DATA);
	wire_sa_answer(mad, response_to(q->method), q->status, false, 0);
	if (q->status == WIRE_SA_UNSUPPORTED)
		q->sa->stats.unsupported++;
	answer_send(q->sa, &q->from, mad, sizeof(mad));
}

static void single_send(struct sa_query *q)
{
	size_t used = WIRE_SA_HEADER + q->record->layout.size;

	memcpy(q->answer, q->header, WIRE_SA_HEADER);
	memset(q->answer + used, 0, WIRE_MAD_SIZE - used);
	wire_sa_answer(q->answer, response_to(q->method), WIRE_SA_OK, false,
		       q->record->layout.size);
	answer_send(q->sa, &q->from, q->answer, WIRE_MAD_SIZE);
}

/* Its rows stay where they are until they are written. */
static void long_send(struct sa_query *q, const uint8_t *header, size_t len)
{
	if (!q->body)
		q->body = io_body_new(q->answer);
	if (!mad_reply_long(q->sa->mad, &q->from, header, WIRE_SA_HEADER, q->body, len))
		q->sa->stats.answered++;
}

static void table_send(struct sa_query *q)
{
	size_t row_size = q->nrows ? q->record->layout.size : 0;
	size_t len = WIRE_SA_HEADER + q->nrows * row_size;
	uint8_t header[WIRE_SA_HEADER];

	memcpy(header, q->header, WIRE_SA_HEADER);
	wire_sa_answer(header, response_to(q->method), WIRE_SA_OK, true, row_size);
	if (len >= SA_LONG) {
		long_send(q, header, len);
		return;
	}
	memcpy(q->answer, header, WIRE_SA_HEADER);
	answer_send(q->sa, &q->from, q->answer, len);
}

void sa_send(struct sa_query *q)
{
	bool table = q->method == WIRE_GET_TABLE || q->method == WIRE_GET_MULTI;

	if (!q->status && !table && q->nrows == 0)
		q->status = WIRE_SA_NO_RECORDS;
	if (!q->status && !table && q->nrows > 1)
		q->status = WIRE_SA_TOO_MANY_RECORDS;
	if (q->status)
		error_send(q);
	else if (table)
		table_send(q);
	else
		single_send(q);
}
