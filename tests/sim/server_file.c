/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A client's open umad file: two rings in shared memory between the client's library and the
 * kernel's side.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "tests/sim/server_own.h"
#include "topology/base/mem.h"

#define ROUND	    256 /* records of a client before the next client's turn */
#define HEAD	    sizeof(struct ib_user_mad)
#define PASSED	    3 /* descriptors: memory, wake, the file */
#define REAP_US	    5000
#define BACKLOG_MAX (256u << 20) /* bytes that a client does not read */

struct ufile {
	struct ufile *next, **back;
	struct server *server;
	const struct connection *connection; /* NULL = it has ended */
	struct kfile *kfile;
	struct frame_memory *memory;
	int tell; /* the other end of the client's descriptor, -1 = gone */
	int memory_fd;
	uint64_t inode; /* of the client's descriptor */
	bool dirty;
	struct waiting *backlog, **backlog_end;
	size_t backlog_bytes;
	uint8_t *message; /* of several records */
	size_t message_len;
};

struct ufile *ufile_next(const struct ufile *f)
{
	return f->next;
}

/* ---- To the client --------------------------------------------------------------------------- */

static void tell(struct ufile *f)
{
	struct frame_memory *m = f->memory;

	f->dirty = false;
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&m->client_naps, memory_order_relaxed))
		ring_wake(&m->down);
	if (f->tell < 0 || !atomic_load(&m->client_waits) || atomic_exchange(&m->told, 1))
		return;
	send(f->tell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void backlog_add(struct ufile *f, const void *head, uint32_t head_len, const void *body,
			uint32_t body_len, bool more)
{
	struct waiting *p;

	if (f->backlog_bytes > BACKLOG_MAX)
		return;
	p = mem_alloc(1, sizeof(*p) + head_len + body_len);
	p->len = head_len + body_len;
	p->more = more;
	memcpy(p->bytes, head, head_len);
	if (body_len)
		memcpy(p->bytes + head_len, body, body_len);
	*f->backlog_end = p;
	f->backlog_end = &p->next;
	f->backlog_bytes += p->len;
	atomic_store(&f->memory->backlog, 1);
}

static void record_send(struct ufile *f, const void *head, uint32_t head_len, const void *body,
			uint32_t body_len, bool more)
{
	if (f->backlog || !ring_write(&f->memory->down, head, head_len, body, body_len, more))
		backlog_add(f, head, head_len, body, body_len, more);
	f->dirty = true;
}

static bool backlog_move(struct ufile *f)
{
	bool moved = false;

	while (f->backlog) {
		struct waiting *p = f->backlog;

		if (!ring_write(&f->memory->down, p->bytes, p->len, NULL, 0, p->more))
			return moved;
		f->backlog = p->next;
		f->backlog_bytes -= p->len;
		free(p);
		moved = f->dirty = true;
	}
	f->backlog_end = &f->backlog;
	atomic_store(&f->memory->backlog, 0);
	return moved;
}

static void file_deliver(void *arg, const struct ib_user_mad *head, const uint8_t *mad, size_t len)
{
	struct ufile *f = arg;
	size_t first = len < FRAME_RECORD - HEAD ? len : FRAME_RECORD - HEAD;

	record_send(f, head, HEAD, mad, (uint32_t)first, first < len);
	for (size_t at = first; at < len;) {
		size_t part = len - at < FRAME_RECORD ? len - at : FRAME_RECORD;

		record_send(f, NULL, 0, mad + at, (uint32_t)part, at + part < len);
		at += part;
	}
	server_work_soon(f->server);
}

/*
 * The client's descriptor fails: what lies unread in ours makes an error of the close, not only an
 * end.
 */
static void file_gone(void *arg)
{
	struct ufile *f = arg;

	atomic_store(&f->memory->gone, 1);
	if (f->tell >= 0)
		close(f->tell);
	f->tell = -1;
}

static void file_done(void *arg, const uint8_t *mad)
{
	struct ufile *f = arg;

	frame_tid_change(f->memory, mad, -1);
	atomic_fetch_add_explicit(&f->memory->done, 1, memory_order_relaxed);
}

static const struct kfile_ops file_ops = {
	.deliver = file_deliver,
	.gone = file_gone,
	.done = file_done,
};

/* ---- From the client ------------------------------------------------------------------------- */

/* `status` says whether the client counts it as on its way. */
static void message_write(struct ufile *f, const uint8_t *bytes, size_t len)
{
	struct ib_user_mad head;
	const uint8_t *mad = bytes + HEAD;
	bool counted;

	if (len < HEAD + KERNEL_MAD_HEADER)
		return;
	memcpy(&head, bytes, HEAD);
	counted = head.status;
	head.status = 0;
	if (kfile_write(f->kfile, &head, mad, len - HEAD) && counted)
		file_done(f, mad);
}

static void part_add(struct ufile *f, const uint8_t *bytes, uint32_t len)
{
	f->message = mem_resize(f->message, f->message_len + len, 1);
	memcpy(f->message + f->message_len, bytes, len);
	f->message_len += len;
}

static void record_take(struct ufile *f, const uint8_t *bytes, const struct frame_record *record)
{
	if (!f->message && !record->more) {
		message_write(f, bytes, record->len);
		return;
	}
	part_add(f, bytes, record->len);
	if (record->more)
		return;
	message_write(f, f->message, f->message_len);
	free(f->message);
	f->message = NULL;
	f->message_len = 0;
}

/* A client that writes nonsense loses its file, nothing else. */
static bool record_is_sound(const struct frame_ring *ring, const struct frame_record *record)
{
	uint32_t at = atomic_load(&ring->read.at) % FRAME_RING;

	return record->len <= FRAME_RECORD && at + sizeof(*record) + record->len <= FRAME_RING;
}

bool ufile_work(struct ufile *f)
{
	struct frame_ring *up = &f->memory->up;
	struct frame_record record;
	const uint8_t *bytes;
	bool worked = false;

	for (unsigned i = 0; i < ROUND && (bytes = ring_look(up, &record)); i++) {
		if (!record_is_sound(up, &record)) {
			file_gone(f);
			break;
		}
		record_take(f, bytes, &record);
		ring_took(up, &record);
		worked = true;
	}
	if (f->backlog && backlog_move(f))
		worked = true;
	if (atomic_load_explicit(&f->memory->tell, memory_order_relaxed) &&
	    atomic_exchange(&f->memory->tell, 0))
		f->dirty = true;
	if (f->dirty)
		tell(f);
	return worked;
}

bool ufile_sleeps(struct ufile *f, bool sleeps)
{
	atomic_store(&f->memory->server_sleeps, sleeps);
	return !sleeps || (ring_is_empty(&f->memory->up) && !atomic_load(&f->memory->tell));
}

/* ---- Requests -------------------------------------------------------------------------------- */

int ufile_register(struct ufile *f, const struct frame_register *want)
{
	struct kernel_reg reg = {
		.mgmt_class = want->mgmt_class,
		.class_version = want->class_version,
		.qpn = want->qpn,
		.rmpp_version = want->rmpp_version,
		.user_rmpp = want->flags & UMAD_USER_RMPP,
		.oui = want->oui,
		.methods = { want->methods[0], want->methods[1] },
	};

	ufiles_reap(f->server);
	return kfile_register(f->kfile, &reg);
}

int ufile_unregister(struct ufile *f, unsigned agent)
{
	while (ufile_work(f))
		; /* what it wrote before goes first */
	return kfile_unregister(f->kfile, agent);
}

int ufile_is_busy(struct ufile *f, const uint8_t header[64 + 24])
{
	struct ib_user_mad head;

	while (ufile_work(f))
		;
	memcpy(&head, header, HEAD);
	return kfile_is_busy(f->kfile, &head, header + HEAD);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int reply_with_files(const struct connection *c, const int fds[PASSED])
{
	struct frame_reply reply = { .agents = kfile_agents(c->file->kfile, false),
				     .agents_rmpp = kfile_agents(c->file->kfile, true) };
	struct iovec part = { &reply, sizeof(reply) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(PASSED * sizeof(int))];
	} control = { 0 };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(PASSED * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, PASSED * sizeof(int));
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(reply) ? 0 : -errno;
}

static int memory_make(struct frame_memory **memory)
{
	int fd = memfd_create("fmsim-port", MFD_CLOEXEC);

	*memory = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, sizeof(**memory)))
		*memory = mmap(NULL, sizeof(**memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int descriptors_make(struct ufile *f, int fds[PASSED])
{
	struct stat st;
	int pair[2];

	fds[0] = memory_make(&f->memory);
	if (fds[0] < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
		close(fds[0]);
		return -errno;
	}
	fds[1] = f->server->wake;
	fds[2] = pair[0];
	f->tell = pair[1];
	f->memory_fd = fds[0];
	fstat(fds[2], &st);
	f->inode = st.st_ino;
	send(fds[2], "", 1, MSG_NOSIGNAL); /* never read: see file_gone() */
	return 0;
}

int ufile_open(struct connection *c, guid_t node, unsigned port)
{
	struct ufile *f = mem_alloc(1, sizeof(*f));
	int fds[PASSED], status;

	f->server = c->server;
	f->connection = c;
	f->backlog_end = &f->backlog;
	f->kfile = kernel_open(c->server->k, node, port, &file_ops, f);
	status = f->kfile ? descriptors_make(f, fds) : -errno;
	if (status) {
		if (f->kfile)
			kfile_close(f->kfile);
		free(f);
		return status;
	}
	atomic_store(&f->memory->server_sleeps, !c->server->poll);
	f->next = c->server->files;
	f->back = &c->server->files;
	if (f->next)
		f->next->back = &f->next;
	c->server->files = f;
	c->file = f;
	reply_with_files(c, fds); /* a client that is gone is met when its connection is read */
	close(fds[2]);
	return 0;
}

int ufile_adopt(struct connection *c, uint64_t inode)
{
	for (struct ufile *f = c->server->files; f; f = f->next)
		if (f->inode == inode && f->tell >= 0) {
			f->connection = c;
			c->file = f;
			reply_with_files(
				c, (const int[]){ f->memory_fd, c->server->wake, c->server->wake });
			return 0;
		}
	return -EBADF;
}

void ufile_leave(struct ufile *f, const struct connection *c)
{
	if (f->connection != c)
		return;
	f->connection = NULL;
	ufiles_reap(f->server);
}

void ufiles_reap(void *server)
{
	struct server *s = server;

	for (struct ufile *f = s->files, *next; f; f = next) {
		struct pollfd end = { .fd = f->tell };

		next = f->next;
		if (f->connection)
			continue;
		if (f->tell < 0 || (poll(&end, 1, 0) == 1 && end.revents & POLLHUP))
			ufile_close(f);
		else
			loop_timer_set(s->reap, REAP_US);
	}
}

void ufile_close(struct ufile *f)
{
	kfile_close(f->kfile);
	file_gone(f);
	*f->back = f->next;
	if (f->next)
		f->next->back = f->back;
	while (f->backlog) {
		struct waiting *p = f->backlog;

		f->backlog = p->next;
		free(p);
	}
	munmap(f->memory, sizeof(*f->memory));
	close(f->memory_fd);
	free(f->message);
	free(f);
}
