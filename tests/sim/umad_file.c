/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Open ports. A port's number is its descriptor, as in the real library. Threads may send and one
 * may receive at the same time.
 *
 * What the kernel would refuse of a write is refused here, so that the caller hears of it at once:
 * an unknown agent, a length, a TID that is on its way. The last is asked of fmsim only where the
 * memory can not tell.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "tests/sim/umad_own.h"

#define FILES	 65536
#define MAD_MIN	 36 /* bytes of a MAD that may be written */
#define MAD_SIZE 256
#define LINGER	 100 /* looks at the ring */
#define NAP_NS	 100000
#define ROOM_US	 50 /* until fmsim may have made room */

static struct file *_Atomic files[FILES];

static struct file *file_new(int connection, const int fds[3])
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f || fds[2] >= FILES)
		goto fail;
	f->memory = mmap(NULL, sizeof(*f->memory), PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	if (f->memory == MAP_FAILED)
		goto fail;
	f->connection = connection;
	f->wake = fds[1];
	f->fd = fds[2];
	pthread_mutex_init(&f->sending, NULL);
	pthread_mutex_init(&f->receiving, NULL);
	pthread_mutex_init(&f->asking, NULL);
	atomic_store(&files[f->fd], f);
	return f;
fail:
	free(f);
	return NULL;
}

/* A descriptor of a file that another process had opened: it has its agents still. NULL: none. */
static struct file *file_adopt(int fd)
{
	struct frame_request request;
	struct frame_reply reply;
	int fds[3] = { -1, -1, -1 }, connection;
	struct file *f = NULL;
	struct stat st;

	if (fstat(fd, &st) || !S_ISSOCK(st.st_mode) || (connection = sim_connect()) < 0)
		return NULL;
	sim_request(&request, FRAME_ADOPT, NULL, 0);
	request.inode = st.st_ino;
	if (sim_ask(connection, &request, &reply, fds) >= 0 && fds[0] >= 0)
		f = file_new(connection, (const int[]){ fds[0], fds[1], fd });
	close(fds[0]);
	close(fds[2]);
	if (!f) {
		close(fds[1]);
		close(connection);
		return NULL;
	}
	atomic_store(&f->kept, atomic_load(&f->memory->done));
	for (unsigned i = 0; i < AGENTS; i++) {
		f->known[i] = reply.agents >> i & 1;
		f->rmpp[i] = reply.agents_rmpp >> i & 1;
	}
	return f;
}

struct file *file_of(int fd)
{
	struct file *f = fd >= 0 && fd < FILES ? atomic_load(&files[fd]) : NULL;

	if (!f && fd >= 0)
		f = file_adopt(fd);
	if (!f)
		errno = EBADF;
	return f;
}

/* ---- Waking ---------------------------------------------------------------------------------- */

static void wake_server(const struct file *f)
{
	uint64_t one = 1;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	/* One that is full has woken fmsim already. */
	while (write(f->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_setcancelstate(state, NULL);
}

static void wake_if_asleep(const struct file *f)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&f->memory->server_sleeps, memory_order_relaxed) &&
	    atomic_exchange(&f->memory->server_sleeps, 0))
		wake_server(f);
}

bool file_is_lost(struct file *f)
{
	return atomic_load(&f->lost) || atomic_load(&f->memory->gone);
}

/*
 * The same where fmsim may have been killed, and could not say so: its end of the descriptor is
 * closed then. A device that was unplugged reads as EIO, too.
 */
static bool file_has_died(struct file *f)
{
	struct pollfd end = { .fd = f->fd };

	if (poll(&end, 1, 0) == 1)
		atomic_store(&f->lost, true);
	return file_is_lost(f);
}

/* The descriptor tells of nothing any more; or again, when something came meanwhile. */
static void quieten(struct file *f)
{
	char bytes[64];
	ssize_t n;

	if (!atomic_load(&f->memory->told))
		return;
	n = recv(f->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		atomic_store(&f->lost, true);
	atomic_store(&f->memory->told, 0);
	atomic_thread_fence(memory_order_seq_cst);
	if (!ring_is_empty(&f->memory->down) && atomic_load(&f->memory->client_waits)) {
		atomic_store(&f->memory->tell, 1);
		wake_if_asleep(f);
	}
}

/* ---- Receiving ------------------------------------------------------------------------------- */

static void room_made(struct file *f)
{
	const struct frame_ring *ring = &f->memory->down;

	if (atomic_load_explicit(&f->memory->backlog, memory_order_relaxed) &&
	    atomic_load(&ring->written.at) - atomic_load(&ring->read.at) < FRAME_RING / 2)
		wake_if_asleep(f);
}

static bool part_keep(struct file *f, const uint8_t *bytes, const struct frame_record *record)
{
	uint8_t *message = realloc(f->message, f->len + record->len);

	if (!message)
		return false;
	memcpy(message + f->len, bytes, record->len);
	f->message = message;
	f->len += record->len;
	f->whole = !record->more;
	ring_took(&f->memory->down, record);
	room_made(f);
	return true;
}

/* The next message, all of it, where it lies; NULL: none is there. `record` of a short one. */
static const uint8_t *message_look(struct file *f, size_t *len, struct frame_record *record)
{
	const uint8_t *bytes;

	while (!f->whole) {
		bytes = ring_look(&f->memory->down, record);
		if (!bytes)
			return NULL;
		if (!f->message && !record->more) {
			*len = record->len;
			return bytes;
		}
		if (!part_keep(f, bytes, record))
			return NULL;
	}
	*len = f->len;
	return f->message;
}

static void message_took(struct file *f, const struct frame_record *record)
{
	if (!f->whole) {
		ring_took(&f->memory->down, record);
		room_made(f);
		return;
	}
	free(f->message);
	f->message = NULL;
	f->len = 0;
	f->whole = false;
}

/* As read(2) of the kernel's file: length, or -errno. */
static ssize_t file_read(struct file *f, void *buffer, size_t room)
{
	struct frame_record record = { 0 };
	const uint8_t *message;
	size_t len;

	if (file_is_lost(f))
		return -EIO;
	message = message_look(f, &len, &record);
	if (!message) {
		quieten(f);
		message = message_look(f, &len, &record);
	}
	if (!message)
		return file_has_died(f) ? -EIO : -EAGAIN;
	if (len <= room) {
		memcpy(buffer, message, len);
		message_took(f, &record);
		return (ssize_t)len;
	}
	if (len <= umad_size() + MAD_SIZE || room < umad_size() + MAD_SIZE)
		return -EINVAL;
	memcpy(buffer, message, umad_size() + MAD_SIZE); /* its header says how long it is */
	return -ENOSPC;
}

static bool has_message(struct file *f)
{
	struct frame_record record;
	bool has;
	size_t len;

	pthread_mutex_lock(&f->receiving);
	has = message_look(f, &len, &record);
	if (!has) {
		quieten(f);
		has = message_look(f, &len, &record);
	}
	pthread_mutex_unlock(&f->receiving);
	return has || file_is_lost(f);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whoever waits says so, and looks once more: see frame.h. poll() may be the end of a thread. */
static void waits_end(void *arg)
{
	atomic_fetch_sub(&((struct file *)arg)->memory->client_waits, 1);
}

static int file_wait(struct file *f, int timeout_ms)
{
	struct pollfd ready = { .fd = f->fd, .events = POLLIN };
	int64_t end = now_ms() + timeout_ms;
	volatile int status = -ETIMEDOUT; /* over what the cleanup makes of a cancelled thread */

	atomic_fetch_add(&f->memory->client_waits, 1);
	pthread_cleanup_push(waits_end, f);
	for (;;) {
		int64_t left = timeout_ms < 0 ? -1 : end - now_ms();
		int n;

		if (has_message(f)) {
			status = 0;
			break;
		}
		if (timeout_ms >= 0 && left <= 0)
			break;
		n = poll(&ready, 1, (int)left);
		if (n < 0) {
			status = -EIO;
			break;
		}
		if (ready.revents & (POLLERR | POLLHUP | POLLNVAL))
			atomic_store(&f->lost, true);
	}
	pthread_cleanup_pop(1);
	return status;
}

static inline void cpu_relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
}

static bool has_requests_out(const struct file *f)
{
	return atomic_load_explicit(&f->kept, memory_order_relaxed) !=
	       atomic_load_explicit(&f->memory->done, memory_order_relaxed);
}

static void nap(struct file *f)
{
	struct frame_memory *m = f->memory;
	uint32_t written = atomic_load(&m->down.written.at);

	atomic_store(&m->client_naps, 1);
	atomic_thread_fence(memory_order_seq_cst);
	if (ring_is_empty(&m->down))
		ring_nap(&m->down, written, NAP_NS);
	atomic_store(&m->client_naps, 0);
}

/*
 * While fmsim is at work on what was asked, the answer is there in the next microseconds: sooner
 * than a sleeper is woken. Where it is not, another process has the processor that fmsim would
 * need. Who waits sleeps in file_wait() then, who does not will soon ask again: so he naps.
 */
static void linger(struct file *f, bool waits)
{
	const struct frame_memory *m = f->memory;

	if (atomic_load_explicit(&f->by_descriptor, memory_order_relaxed))
		return;
	for (unsigned i = 0; i < LINGER && ring_is_empty(&m->down); i++) {
		if (!has_requests_out(f))
			return;
		cpu_relax();
	}
	if (!waits && ring_is_empty(&m->down) && has_requests_out(f))
		nap(f);
}

int umad_poll(int portid, int timeout_ms)
{
	struct file *f = file_of(portid);

	if (!f)
		return -EIO;
	linger(f, true);
	return has_message(f) ? 0 : file_wait(f, timeout_ms);
}

int umad_recv(int portid, void *umad, int *length, int timeout_ms)
{
	struct file *f = file_of(portid);
	ssize_t n;

	if (!umad || !length || !f) {
		errno = f ? EINVAL : EBADF;
		return -errno;
	}
	linger(f, timeout_ms != 0);
	if (timeout_ms && !has_message(f) && (n = file_wait(f, timeout_ms)) < 0) {
		errno = (int)-n;
		return (int)n;
	}
	pthread_mutex_lock(&f->receiving);
	n = file_read(f, umad, umad_size() + (size_t)*length);
	pthread_mutex_unlock(&f->receiving);
	if (n >= 0) {
		*length = (size_t)n > umad_size() ? (int)((size_t)n - umad_size()) : 0;
		errno = 0;
		return (int)((struct ib_user_mad *)umad)->agent_id;
	}
	if (n == -ENOSPC)
		*length = (int)(((struct ib_user_mad *)umad)->length - umad_size());
	errno = (int)-n;
	return (int)n;
}

int umad_get_fd(int portid)
{
	struct file *f = file_of(portid);

	if (!f)
		return -EINVAL;
	/* From now on the descriptor tells always: nobody says when he looks at it. */
	atomic_store(&f->by_descriptor, true);
	atomic_fetch_add(&f->memory->client_waits, 1);
	atomic_store(&f->memory->tell, !ring_is_empty(&f->memory->down));
	wake_if_asleep(f);
	return portid;
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* fmsim is at the rings as long as there is something in them. */
static bool record_put(struct file *f, const void *head, uint32_t head_len, const void *body,
		       uint32_t body_len, bool more)
{
	while (!ring_write(&f->memory->up, head, head_len, body, body_len, more)) {
		if (file_has_died(f))
			return false;
		wake_if_asleep(f);
		usleep(ROOM_US);
	}
	return true;
}

static bool message_put(struct file *f, const struct ib_user_mad *head, const uint8_t *mad,
			size_t len)
{
	size_t first = len < FRAME_RECORD - sizeof(*head) ? len : FRAME_RECORD - sizeof(*head);
	bool put = record_put(f, head, sizeof(*head), mad, (uint32_t)first, first < len);

	for (size_t at = first; put && at < len;) {
		size_t part = len - at < FRAME_RECORD ? len - at : FRAME_RECORD;

		put = record_put(f, NULL, 0, mad + at, (uint32_t)part, at + part < len);
		at += part;
	}
	return put;
}

/* What the kernel keeps until an answer, or the message's end, is there. */
static bool is_kept(const struct file *f, const struct ib_user_mad *head, const uint8_t *mad)
{
	bool rmpp_class = mad[1] == 0x03 || mad[1] == 0x06 || mad[1] == 0x10 ||
			  (mad[1] >= VENDOR2_LOW && mad[1] <= VENDOR2_HIGH);

	return head->timeout_ms || (f->rmpp[head->agent_id] && rmpp_class && mad[26] & 1);
}

int file_ask(struct file *f, struct frame_request *request)
{
	struct frame_reply reply;
	int status;

	pthread_mutex_lock(&f->asking);
	status = sim_ask(f->connection, request, &reply, NULL);
	pthread_mutex_unlock(&f->asking);
	return status;
}

static bool is_busy(struct file *f, const struct ib_user_mad *head, const uint8_t *mad)
{
	struct frame_request request;

	if (!frame_tid_may_be(f->memory, mad))
		return false;
	sim_request(&request, FRAME_IS_BUSY, NULL, 0);
	memcpy(request.header, head, sizeof(*head));
	memcpy(request.header + sizeof(*head), mad, 24);
	return file_ask(f, &request) > 0;
}

/* As write(2): 0 or -errno. */
static int file_write(struct file *f, const struct ib_user_mad *user, size_t len)
{
	struct ib_user_mad head = *user;
	const uint8_t *mad = user->data;
	bool put;

	if (file_is_lost(f))
		return -EIO;
	if (head.agent_id >= AGENTS || !f->known[head.agent_id] || len < MAD_MIN)
		return -EINVAL;
	head.status = is_kept(f, &head, mad);
	pthread_mutex_lock(&f->sending);
	if (is_busy(f, &head, mad)) {
		pthread_mutex_unlock(&f->sending);
		return -EINVAL;
	}
	if (head.status) {
		frame_tid_change(f->memory, mad, 1);
		atomic_fetch_add_explicit(&f->kept, 1, memory_order_relaxed);
	}
	put = message_put(f, &head, mad, len);
	pthread_mutex_unlock(&f->sending);
	wake_if_asleep(f);
	return put ? 0 : -EIO;
}

int umad_send(int portid, int agentid, void *umad, int length, int timeout_ms, int retries)
{
	struct ib_user_mad *mad = umad;
	struct file *f = file_of(portid);
	int status;

	if (!f)
		return -EIO;
	mad->timeout_ms = (uint32_t)timeout_ms;
	mad->retries = (uint32_t)retries;
	mad->agent_id = (uint32_t)agentid;
	if (sim_debug_level > 1)
		umad_dump(mad);
	status = file_write(f, mad, (size_t)length);
	errno = -status;
	return status ? -EIO : 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

int umad_open_port(const char *ca_name, int portnum)
{
	char name[UMAD_CA_NAME_LEN];
	struct frame_request request;
	struct frame_reply reply;
	int fds[3] = { -1, -1, -1 }, connection, status;

	if (view_resolve(ca_name, &portnum, name) < 0)
		return -ENODEV;
	connection = sim_connect();
	if (connection < 0) {
		errno = -connection;
		return -EIO;
	}
	sim_request(&request, FRAME_OPEN, name, portnum);
	status = sim_ask(connection, &request, &reply, fds);
	if (status >= 0 && fds[2] >= 0 && file_new(connection, fds)) {
		close(fds[0]);
		return fds[2];
	}
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	close(connection);
	errno = status < 0 ? -status : ENOMEM;
	return status == -ENODEV || status == -ENXIO ? -EINVAL : -EIO;
}

int umad_close_port(int portid)
{
	struct file *f = file_of(portid);

	if (!f)
		return 0;
	atomic_store(&files[portid], NULL);
	munmap(f->memory, sizeof(*f->memory));
	close(f->fd);
	close(f->connection);
	close(f->wake);
	free(f->message);
	free(f);
	return 0;
}
