/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Connections, and the rounds in which files are served. While there is work, and for a moment
 * after, the server looks at all rings without sleeping, since to be woken costs more than to
 * answer; then it tells all clients that it sleeps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "tests/sim/server_own.h"
#include "topology/base/mem.h"

#define AWAKE_US   60	 /* without work, before it sleeps */
#define CROWDED_US 20000 /* others want the processor, as was seen so long ago at most .. */
#define CROWD_LOOK 1000	 /* .. by looking so often */
#define TIMER_NEAR 100	 /* us: not worth a sleep */
#define ANSWER_MS  10000 /* a reader of commands that does not read */

/* ---- Rounds ---------------------------------------------------------------------------------- */

static bool sleep_is_told(struct server *s)
{
	bool quiet = true;

	for (struct ufile *f = s->files; f; f = ufile_next(f))
		if (!ufile_sleeps(f, true))
			quiet = false;
	return quiet;
}

/*
 * Where others want the processor, whoever spins loses it for a whole slice of time, while whoever
 * sleeps is woken at once: so there the server does not wait awake.
 */
static uint64_t awake_us(struct server *s, uint64_t now)
{
	struct rusage usage;

	if (now - s->crowd_looked_us >= CROWD_LOOK) {
		getrusage(RUSAGE_THREAD, &usage);
		if (usage.ru_nivcsw != s->preempted)
			s->crowded_us = now;
		s->preempted = usage.ru_nivcsw;
		s->crowd_looked_us = now;
	}
	return now - s->crowded_us < CROWDED_US ? 0 : AWAKE_US;
}

static bool poll_cb(void *arg)
{
	struct server *s = arg;
	uint64_t now = loop_clock_us(s->loop);
	bool worked = false;

	for (struct ufile *f = s->files; f; f = ufile_next(f))
		if (ufile_work(f))
			worked = true;
	if (worked)
		s->worked_us = now;
	if (worked || now - s->worked_us < awake_us(s, now) || loop_idle_us(s->loop) < TIMER_NEAR)
		return true;
	if (!sleep_is_told(s)) {
		for (struct ufile *f = s->files; f; f = ufile_next(f))
			ufile_sleeps(f, false);
		return true;
	}
	loop_poll_free(s->poll);
	s->poll = NULL;
	return false;
}

void server_work_soon(struct server *s)
{
	if (s->poll)
		return;
	for (struct ufile *f = s->files; f; f = ufile_next(f))
		ufile_sleeps(f, false);
	s->worked_us = loop_clock_us(s->loop);
	s->poll = loop_poll_new(s->loop, poll_cb, s);
}

static void woken(void *arg, unsigned events)
{
	struct server *s = arg;
	uint64_t count;

	if (read(s->wake, &count, sizeof(count)) == sizeof(count))
		server_work_soon(s);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* The request's strings are the client's: they end here, whatever it wrote. */
static struct dnode *device_named(struct connection *c, int *status)
{
	struct frame_request *r = &c->request;
	struct dnode *nodes[FRAME_DEVICES];
	unsigned n, number;
	char *end;

	r->node[FRAME_NAME - 1] = r->ca[FRAME_CA_NAME - 1] = '\0';
	n = view_devices(c->server->d, r->node, nodes);
	number = strncmp(r->ca, "mlx5_", 5) ? n : (unsigned)strtoul(r->ca + 5, &end, 10);
	*status = -ENODEV;
	if (number >= n || *end || !kernel_device_there(c->server->k, nodes[number]->guid))
		return NULL;
	*status = 0;
	return nodes[number];
}

static void devices_reply(struct connection *c, struct frame_reply *reply)
{
	struct dnode *nodes[FRAME_DEVICES];
	unsigned n;

	c->request.node[FRAME_NAME - 1] = '\0';
	n = view_devices(c->server->d, c->request.node, nodes);
	if (!n)
		reply->status = -ENOENT;
	for (unsigned i = 0; i < n; i++)
		if (kernel_device_there(c->server->k, nodes[i]->guid))
			snprintf(reply->names[reply->count++], FRAME_CA_NAME, "mlx5_%u", i);
}

static int issm_open(struct connection *c, const struct dnode *node)
{
	if (c->issm || c->file)
		return -EINVAL;
	c->issm = kernel_issm_open(c->server->k, node->guid, c->request.port);
	return c->issm ? 0 : -errno;
}

static int port_open(struct connection *c, const struct dnode *node)
{
	if (c->issm || c->file)
		return -EINVAL;
	return ufile_open(c, node->guid, c->request.port);
}

/* false: it was answered. */
static bool device_reply(struct connection *c, struct frame_reply *reply)
{
	const struct dnode *node = device_named(c, &reply->status);

	if (!node)
		return true;
	switch (c->request.kind) {
	case FRAME_CA:
		view_ca(node, &reply->ca);
		return true;
	case FRAME_PORT:
		if (!view_port(node, c->request.port, &reply->port))
			reply->status = -ENOENT;
		return true;
	case FRAME_ISSM:
		reply->status = issm_open(c, node);
		return true;
	default:
		reply->status = port_open(c, node);
		return reply->status != 0;
	}
}

static void file_reply(struct connection *c, struct frame_reply *reply)
{
	if (!c->file)
		reply->status = -EBADF;
	else if (c->request.kind == FRAME_REGISTER)
		reply->status = ufile_register(c->file, &c->request.reg);
	else if (c->request.kind == FRAME_UNREGISTER)
		reply->status = ufile_unregister(c->file, c->request.port);
	else
		reply->status = ufile_is_busy(c->file, c->request.header);
}

static void request_answer(struct connection *c)
{
	struct frame_reply reply = { 0 };

	switch (c->request.kind) {
	case FRAME_DEVICES_ARE:
		devices_reply(c, &reply);
		break;
	case FRAME_CA:
	case FRAME_PORT:
	case FRAME_ISSM:
	case FRAME_OPEN:
		if (!device_reply(c, &reply))
			return;
		break;
	case FRAME_ADOPT:
		reply.status = c->file ? -EINVAL : ufile_adopt(c, c->request.inode);
		if (!reply.status)
			return;
		break;
	case FRAME_REGISTER:
	case FRAME_UNREGISTER:
	case FRAME_IS_BUSY:
		file_reply(c, &reply);
		break;
	default:
		reply.status = -ENOSYS;
	}
	send(c->fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t len)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };

	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0 && poll(&ready, 1, ANSWER_MS) <= 0)
			return false;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return true;
}

/* What the command says, then a line `ok`, or one that begins with `error:`. */
static bool line_said(struct connection *c, const char *line)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool sent;

	if (!out)
		return false;
	if (!c->server->line(c->server->line_arg, line, out))
		fputs("ok\n", out);
	fclose(out);
	sent = write_all(c->fd, text, len);
	free(text);
	return sent;
}

/*
 * At 4,096 HCAs a judge reads for 130 ms, in which no device would answer: a copy of this process
 * reads the fabric of this moment, and the devices go on.
 */
static bool line_answer(struct connection *c, const char *line)
{
	pid_t pid;

	if (strncmp(line, "judge --json", 12) != 0)
		return line_said(c, line);
	if (c->server->judge)
		waitpid(c->server->judge, NULL, 0); /* it has answered, mostly */
	pid = fork();
	c->server->judge = pid > 0 ? pid : 0;
	if (pid)
		return pid > 0 || line_said(c, line);
	setpriority(PRIO_PROCESS, 0, 10);
	_exit(!line_said(c, line));
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void connection_close(struct connection *c)
{
	if (c->file)
		ufile_leave(c->file, c);
	if (c->issm)
		kissm_close(c->issm);
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	loop_fd_free(c->watch);
	close(c->fd);
	free(c);
}

/* false: the connection is to end. */
static bool lines_take(struct connection *c)
{
	char *end;

	while ((end = memchr(c->line, '\n', c->got))) {
		*end = '\0';
		if (!line_answer(c, c->line))
			return false;
		c->got -= (size_t)(end + 1 - c->line);
		memmove(c->line, end + 1, c->got);
	}
	return c->got < sizeof(c->line);
}

static bool requests_take(struct connection *c)
{
	if (c->got >= 4 && c->request.magic != FRAME_MAGIC)
		return false;
	if (c->got == sizeof(c->request)) {
		c->got = 0;
		request_answer(c);
	}
	return true;
}

static bool is_frames(const struct connection *c)
{
	return c->got && c->bytes[0] == (FRAME_MAGIC & 0xff);
}

static void connection_readable(void *arg, unsigned events)
{
	struct connection *c = arg;
	size_t room = is_frames(c) || !c->got ? sizeof(c->request) : sizeof(c->bytes);
	ssize_t n = recv(c->fd, c->bytes + c->got, room - c->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->got += (size_t)n;
	if (n <= 0 || !(is_frames(c) ? requests_take(c) : lines_take(c)))
		connection_close(c);
}

static void accept_cb(void *arg, unsigned events)
{
	struct server *s = arg;
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	struct connection *c;

	if (fd < 0)
		return;
	c = mem_alloc(1, sizeof(*c));
	c->server = s;
	c->fd = fd;
	c->next = s->connections;
	c->back = &s->connections;
	if (c->next)
		c->next->back = &c->next;
	s->connections = c;
	c->watch = loop_fd_new(s->loop, fd, LOOP_READ, connection_readable, c);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Whether a server answers there. */
static bool is_served(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool served = fd >= 0 && !connect(fd, (const struct sockaddr *)address, sizeof(*address));

	if (fd >= 0)
		close(fd);
	return served;
}

static int listen_at(const char *path, char *err, size_t err_size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		snprintf(err, err_size, "%s: longer than a socket's path may be", path);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (is_served(&address)) {
		snprintf(err, err_size, "%s: another fmsim serves it", path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 128))
		return fd;
	snprintf(err, err_size, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

struct server *server_new(struct loop *loop, struct double_fabric *d, struct kernel *k,
			  const char *path, server_line_fn *line, void *arg, char *err,
			  size_t err_size)
{
	int fd = listen_at(path, err, err_size);
	struct server *s;

	if (fd < 0)
		return NULL;
	s = mem_alloc(1, sizeof(*s));
	*s = (struct server){ .loop = loop,
			      .d = d,
			      .k = k,
			      .path = mem_strdup(path),
			      .fd = fd,
			      .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			      .line = line,
			      .line_arg = arg };
	s->watch = loop_fd_new(loop, fd, LOOP_READ, accept_cb, s);
	s->wake_watch = loop_fd_new(loop, s->wake, LOOP_READ, woken, s);
	s->reap = loop_timer_new(loop, ufiles_reap, s);
	return s;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	while (s->connections)
		connection_close(s->connections);
	while (s->files)
		ufile_close(s->files);
	loop_timer_free(s->reap);
	loop_poll_free(s->poll);
	loop_fd_free(s->watch);
	loop_fd_free(s->wake_watch);
	close(s->wake);
	close(s->fd);
	unlink(s->path);
	free(s->path);
	free(s);
}
