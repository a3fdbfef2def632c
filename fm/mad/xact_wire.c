/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a transaction looks like on the wire.
 *
 * A SMP goes by its directed route or to a LID, on QP 0, under the M_Key. A request of another
 * class goes to QP 1 of a LID, or another, under the Q_Key that all QP 1 have (IBA 3.5.3), with the
 * partition and SL that the request names; all behind the common header comes from the request.
 *
 * Its answer has the same class, attribute and modifier; the method is the request's with the
 * response bit, but for Set, which is answered as a Get is (IBA 13.4.5). A directed one is on its
 * way back (IBA 14.2.1.2).
 */
#include <string.h>
#include "fm/mad/wire_flaw.h"
#include "fm/mad/xact.h"

#define LID_PERMISSIVE 0xffff
#define QP1_QKEY       0x80010000u

static bool is_directed(const struct xact *x)
{
	return x->mgmt_class == WIRE_SMI_DR;
}

static void smp_take(struct xact *x, const struct mad_request *request)
{
	x->mgmt_class = request->path ? WIRE_SMI_DR : WIRE_SMI_LID;
	if (request->path) {
		x->path.hops = request->path->hops;
		memcpy(x->path.ports, request->path->ports, request->path->hops);
	}
	if (request->data)
		memcpy(x->data, request->data, sizeof(x->data));
}

void xact_take_request(struct xact *x, const struct mad_request *request)
{
	x->method = request->method;
	x->attr_id = request->attr_id;
	x->attr_mod = request->attr_mod;
	x->lid = request->lid;
	if (!request->mgmt_class) {
		smp_take(x, request);
		return;
	}
	x->mgmt_class = request->mgmt_class;
	x->sl = request->sl;
	x->pkey_index = request->pkey_index;
	x->qp = request->qp ? request->qp : 1;
	if (request->data)
		memcpy(x->gmp, request->data, sizeof(x->gmp));
}

static void smp_encode(const struct xact *x, struct wire_mad *header, uint8_t buf[WIRE_MAD_SIZE])
{
	if (is_directed(x)) {
		header->hop_count = x->path.hops;
		header->dr_slid = header->dr_dlid = LID_PERMISSIVE;
		memcpy(header->path + 1, x->path.ports, x->path.hops);
	}
	wire_mad_encode(header, buf);
	memcpy(wire_smp_data(buf), x->data, sizeof(x->data));
}

void xact_encode(const struct xact *x, uint8_t buf[WIRE_MAD_SIZE])
{
	struct wire_mad header = {
		.mgmt_class = x->mgmt_class,
		.class_version = x->mgmt_class == WIRE_SA ? 2 : 1,
		.method = x->method,
		.tid = x->tid,
		.attr_id = x->attr_id,
		.attr_mod = x->attr_mod,
	};

	memset(buf, 0, WIRE_MAD_SIZE);
	if (wire_is_smi(x->mgmt_class)) {
		header.key = x->key;
		smp_encode(x, &header, buf);
		return;
	}
	wire_mad_encode(&header, buf);
	memcpy(wire_gmp_data(buf), x->gmp, sizeof(x->gmp));
}

struct io_addr xact_address(const struct xact *x)
{
	if (is_directed(x))
		return (struct io_addr){ .lid = LID_PERMISSIVE };
	if (x->mgmt_class == WIRE_SMI_LID)
		return (struct io_addr){ .lid = x->lid };
	return (struct io_addr){ .lid = x->lid,
				 .qp = x->qp,
				 .qkey = QP1_QKEY,
				 .sl = x->sl,
				 .pkey_index = x->pkey_index };
}

bool xact_answered_by(const struct xact *x, const struct wire_mad *m, uint16_t from)
{
	uint8_t method = x->method == WIRE_SET ? WIRE_GET : x->method;

	return m->mgmt_class == x->mgmt_class && m->method == (method | WIRE_RESPONSE) &&
	       (is_directed(x) ? m->returning : from == x->lid) && m->attr_id == x->attr_id &&
	       m->attr_mod == x->attr_mod;
}

const char *xact_flaw(const struct xact *x, const struct wire_mad *m, uint8_t *raw)
{
	if (m->status || !wire_is_smi(m->mgmt_class))
		return NULL;
	return wire_flaw(x->attr_id, x->attr_mod, x->method == WIRE_SET, wire_smp_data(raw));
}
