/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sending: described in io_umad.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/umad.h>
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"

#define QP1_QKEY      0x80010000u /* IBA 3.5.3 */
#define RMPP_RETRIES  3	  /* of a segment that is not acknowledged within the kernel's 2 s */
#define ACK_MS	      200 /* in place of these 2 s, for an answer of several segments */
#define RMPP_FLAGS_AT 26  /* RMPPFlags in an SA MAD (IBA 13.6.2.1) */
#define RMPP_ACTIVE   1

struct handle *umad_handle_of(struct umad_io *u, int agent)
{
	if (agent == AGENT_TABLES)
		return &u->handles[HANDLE_TABLES];
	return &u->handles[agent == AGENT_SA ? HANDLE_GS : HANDLE_SMI];
}

/* -1: no such class. */
static int agent_of(uint8_t mgmt_class)
{
	switch (mgmt_class) {
	case WIRE_SMI_LID:
		return AGENT_SMI_LID;
	case WIRE_SMI_DR:
		return AGENT_SMI_DR;
	case WIRE_SA:
		return AGENT_SA;
	case WIRE_PERF:
		return AGENT_PERF;
	default:
		return -1;
	}
}

void umad_buffers_open(struct umad_io *u)
{
	u->tx_size = u->rx_size = 0;
	umad_buffer_fit(&u->tx, &u->tx_size, WIRE_MAD_SIZE);
	umad_buffer_fit(&u->rx, &u->rx_size, WIRE_MAD_SIZE);
}

static void address_set(void *umad, const struct io_addr *to)
{
	ib_mad_addr_t *addr = umad_get_mad_addr(umad);
	uint32_t qkey = to->qp && !to->qkey ? QP1_QKEY : to->qkey;

	memset(addr, 0, umad_size() - offsetof(ib_user_mad_t, addr));
	umad_set_addr(umad, to->lid, (int)to->qp, to->sl, (int)qkey);
	umad_set_pkey(umad, to->pkey_index);
	addr->path_bits = to->path_bits;
	if (!to->grh)
		return;
	addr->grh_present = 1;
	addr->hop_limit = to->hop_limit;
	memcpy(addr->gid, to->gid, sizeof(addr->gid));
}

/* -EAGAIN: the queues below are full for the moment. */
static int send_error(int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
	case ENOMEM:
		return -EAGAIN;
	default:
		return error ? -error : -EIO;
	}
}

static bool is_rmpp(const uint8_t *mad)
{
	return mad[1] == WIRE_SA && mad[RMPP_FLAGS_AT] & RMPP_ACTIVE;
}

/* The agent that acknowledgements of the answer come to: they are MADs of the request's method. */
static int answering_agent(const struct umad_io *u)
{
	return u->agents[AGENT_TABLES] >= 0 ? AGENT_TABLES : AGENT_SA;
}

static int send_status(struct umad_io *u, int error)
{
	if (umad_is_gone(error))
		u->io.lost(u->io.arg, error);
	return send_error(error);
}

/*
 * How long the kernel is to wait for an acknowledgement, 0 = as long as it does by itself; and how
 * often: 8 s in all. It hands an answer with a time-out back when that has passed once more: of
 * those in one segment, which are many, it need not.
 */
static int ack_ms(const struct umad_io *u, size_t len)
{
	return len > WIRE_MAD_SIZE && u->io.info.real_fd ? ACK_MS : 0;
}

static int ack_retries(int ms)
{
	return ms ? (int)(UMAD_WRITER_LIFE_US / 1000 / (unsigned)ms) - 1 : RMPP_RETRIES;
}

/* Writes it here, in the loop. */
static int send_now(struct umad_io *u, int agent, const uint8_t *mad, size_t len, int kernel_ms,
		    int retries)
{
	umad_buffer_fit(&u->tx, &u->tx_size, len);
	memcpy(umad_get_mad(u->tx), mad, len);
	if (!umad_send(umad_handle_of(u, agent)->port, u->agents[agent], u->tx, (int)len, kernel_ms,
		       retries))
		return 0;
	return send_status(u, errno);
}

/* Has the thread write it; the address is in tx. */
static int give(struct umad_io *u, const struct io_addr *to, const uint8_t *head, size_t head_len,
		struct io_body *body, size_t len)
{
	int agent = answering_agent(u), ms = ack_ms(u, len);

	return umad_writer_give(u->writer, &(struct umad_answer){
						   .port = umad_handle_of(u, agent)->port,
						   .agent = u->agents[agent],
						   .timeout_ms = ms,
						   .retries = ack_retries(ms),
						   .lid = to->lid,
						   .address = u->tx,
						   .head = head,
						   .head_len = head_len,
						   .len = len,
						   .body = body,
					   });
}

/* Queues a copy for the thread: nothing else may use its descriptor until it is done. */
static int give_copy(struct umad_io *u, const struct io_addr *to, const uint8_t *mad, size_t len)
{
	struct io_body *body = io_body_new(memcpy(mem_alloc_unset(len, 1), mad, len));
	int status = give(u, to, mad, 0, body, len);

	io_body_unref(body);
	return status;
}

static int send_rmpp(struct umad_io *u, const struct io_addr *to, const uint8_t *mad, size_t len)
{
	int ms = ack_ms(u, len);

	if (u->writer && umad_writer_left(u->writer))
		return give_copy(u, to, mad, len);
	if (u->writer && !umad_writer_count(u->writer, to->lid, len))
		return -EAGAIN;
	return send_now(u, answering_agent(u), mad, len, ms, ack_retries(ms));
}

int umad_io_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		 unsigned timeout_ms)
{
	struct umad_io *u = (struct umad_io *)io;
	int agent = agent_of(mad[1]), status; /* byte 1: MgmtClass */

	if (!umad_is_open(u))
		return -ENODEV;
	if (agent < 0)
		return -EPROTONOSUPPORT;
	address_set(u->tx, to);
	if (is_rmpp(mad))
		return send_rmpp(u, to, mad, len);
	status = send_now(u, agent, mad, len, (int)(timeout_ms - timeout_ms / 8), 0);
	u->unanswered += !status && timeout_ms > 0;
	return status;
}

int umad_io_send_long(struct io *io, const struct io_addr *to, const uint8_t *head, size_t head_len,
		      struct io_body *body, size_t len)
{
	struct umad_io *u = (struct umad_io *)io;
	int status;

	if (!umad_is_open(u))
		return -ENODEV;
	address_set(u->tx, to);
	status = u->writer && is_rmpp(head) ? give(u, to, head, head_len, body, len) : -ENOTSUP;
	if (!status)
		umad_receive_pause(u);
	if (!status || status == -EAGAIN)
		return status;
	memcpy(body->data, head, head_len); /* no thread: the loop does */
	return umad_io_send(io, to, body->data, len, 0);
}
