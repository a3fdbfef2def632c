/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * umad_writer: long answers, written by a thread of their own.
 *
 * An RMPP answer is one write(), in which the kernel makes all its segments: 64 MB of records are
 * 335,000 of them, a tenth of a second or more. Nothing else of this program waits for that: the
 * answer is put together and written by the thread, which begins with the first that is given and
 * ends with the writer. All else happens in the loop: what is written is reported there, and bodies
 * are given back there.
 *
 * The kernel keeps an answer until its last segment is acknowledged, eight seconds where nobody
 * does, and reports neither. So the bound is on what may be under way: each LID's level, and that
 * of all, runs out in that time.
 */
#ifndef FMD_MAD_UMAD_WRITER_H
#define FMD_MAD_UMAD_WRITER_H

#include "fm/mad/io.h"

#define UMAD_WRITER_EACH    (128ull << 20) /* bytes under way to one LID */
#define UMAD_WRITER_ALL	    (1024ull << 20)
#define UMAD_WRITER_LIFE_US 8000000ull /* of an answer that nobody acknowledges, all tries */

struct umad_writer;

struct umad_written {
	int error; /* errno; 0 = the kernel has it */
	uint16_t lid;
	size_t len;
	unsigned left; /* answers that are still to be written */
};
typedef void umad_written_fn(void *arg, const struct umad_written *written);

/*
 * address: umad's header, complete, of umad_size() bytes. The answer is head and what body has
 * behind as many bytes, len bytes in all.
 */
struct umad_answer {
	int port, agent;
	int timeout_ms, retries; /* of an acknowledgement; 0 = the kernel's 2 s */
	uint16_t lid;
	const void *address;
	const uint8_t *head;
	size_t head_len, len;
	struct io_body *body;
};

/*
 * The caller's; fn is called from the loop when an answer was written, or could not be. NULL: there
 * is no descriptor for the thread's reports (errno says why), so answers are written by the loop.
 */
struct umad_writer *umad_writer_new(struct loop *loop, umad_written_fn *fn, void *arg);
/* Waits for the write() that is out, if one is; the rest is dropped. NULL is fine. */
void umad_writer_free(struct umad_writer *w);
/*
 * Queues an answer for the thread: address and head are copied, of body a reference is taken. 0;
 * -EAGAIN: too much is under way already; other -errno: the thread could not be started.
 */
int umad_writer_give(struct umad_writer *w, const struct umad_answer *answer);
/* Answers given and not reported yet: until then nothing else may be done with their descriptor. */
unsigned umad_writer_left(const struct umad_writer *w);
/*
 * Counts an answer that was written without the thread. False, and nothing is counted: too much is
 * under way.
 */
bool umad_writer_count(struct umad_writer *w, uint16_t lid, size_t len);

#endif
