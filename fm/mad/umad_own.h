/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * umad_own: what the files of io_umad share: the port, its descriptors and agents. The essay is in
 * io_umad.c.
 */
#ifndef FMD_MAD_UMAD_OWN_H
#define FMD_MAD_UMAD_OWN_H

#include "fm/mad/io.h"
#include "fm/mad/sa_share.h"
#include "fm/mad/umad_port.h"
#include "fm/mad/umad_writer.h"
#include "fm/mad/wire.h"

#define UMAD_BLOCK_MS 1 /* the other events wait no longer than that */

enum { AGENT_SMI_LID, AGENT_SMI_DR, AGENT_SA, AGENT_PERF, AGENT_TABLES, AGENTS };

/*
 * SMPs are read first, and what ports answer of their counters: both are answers to us, no more
 * than we asked for, and share a window of transactions, so that either, left unread behind
 * requests to the SA, would hold up the other. On a simulator all are the first.
 */
enum { HANDLE_SMI, HANDLE_GS, HANDLE_TABLES, HANDLES };

struct handle {
	struct umad_io *u;
	int port; /* libibumad's, -1 = closed */
	struct loop_fd *watch;
};

struct later { /* an SA request that was read, and not handed on yet */
	struct io_addr from;
	uint8_t mad[WIRE_MAD_SIZE];
};

struct umad_io {
	struct io io; /* first */
	struct umad_wish wish;
	struct loop *loop;
	struct handle handles[HANDLES];
	struct umad_writer *writer; /* NULL on a simulator, and while the port is closed */
	struct loop_poll *poll;
	struct later *later; /* a ring; NULL until a simulator was opened */
	unsigned later_first, nlater;
	struct sa_share share;
	/* armed: requests to the SA are left unread; NULL while the port is closed */
	struct loop_timer *resume;
	int agents[AGENTS];
	int issm; /* held open while IsSM is set, else -1 */
	unsigned expected;
	unsigned lively;     /* ibsim: waits in vain until the loop may sleep */
	unsigned unanswered; /* requests sent, ours or not any more */
	void *tx, *rx;
	size_t tx_size, rx_size; /* of the MAD in them */
};

bool umad_is_open(const struct umad_io *u); /* the port: it has descriptors */
bool umad_is_gone(int error);		    /* errno says that there is no such device any more */
/*
 * Makes tx and rx, each for one MAD. Call it when a port was opened: only then umad_size() is that
 * of the kernel's header format.
 */
void umad_buffers_open(struct umad_io *u);
/* Enlarges a buffer that holds fewer than len bytes of a MAD; the buffer may move. */
void umad_buffer_fit(void **buf, size_t *size, size_t len);
/* The descriptor of an agent (AGENT_ ..): one of u->handles, never NULL. */
struct handle *umad_handle_of(struct umad_io *u, int agent);

/* Operations of io: 0 or -errno, as io_ops says. */
int umad_io_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		 unsigned timeout_ms);
int umad_io_send_long(struct io *io, const struct io_addr *to, const uint8_t *head, size_t head_len,
		      struct io_body *body, size_t len);
void umad_io_expect(struct io *io, unsigned outstanding);

/*
 * The descriptors of a port that was opened are read from now on; of one that is to be closed no
 * more.
 */
void umad_receive_start(struct umad_io *u);
void umad_receive_stop(struct umad_io *u);
/*
 * Requests for tables are left unread while the writer has their descriptor, until umad_written()
 * says that it has ended (umad_written_fn).
 */
void umad_receive_pause(struct umad_io *u);
void umad_written(void *arg, const struct umad_written *written);

#endif
