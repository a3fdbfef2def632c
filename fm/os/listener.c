/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <netdb.h>
#include <sys/resource.h>
#include <unistd.h>
#include "topology/base/text.h"
#include "fm/os/helper.h"
#include "fm/os/listener.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"

#define ACCEPTS	     64 /* connections a round */
#define PAUSE_US     1000000
#define SAY_AGAIN_US 60000000
#define RESERVED     64 /* descriptors */

struct listener {
	struct loop *loop;
	struct loop_fd *watch;
	struct loop_timer *pause;
	const char *name;
	listener_fn *fn;
	void *arg;
	int fd;
	uint64_t said_us; /* when the shortage was logged; 0 = never */
};

bool listener_exhausted(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void resume_cb(void *arg)
{
	struct listener *l = arg;

	loop_fd_set(l->watch, LOOP_READ);
}

static void accept_cb(void *arg, unsigned events)
{
	struct listener *l = arg;
	uint64_t now = loop_now_us(l->loop);

	for (unsigned i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t len = sizeof(from);
		int fd = accept4(l->fd, (struct sockaddr *)&from, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			l->fn(l->arg, fd, (const struct sockaddr *)&from);
		} else if (listener_exhausted(errno)) {
			int error = errno;

			loop_fd_set(l->watch, 0);
			loop_timer_set(l->pause, PAUSE_US);
			if (l->said_us && now - l->said_us < SAY_AGAIN_US)
				return;
			l->said_us = now;
			log_line(LOG_CORE, LOG_WARNING,
				 "%s: cannot accept connections: %s; retried each second", l->name,
				 strerror(error));
			return;
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

struct listener *listener_new(struct loop *loop, int fd, const char *name, listener_fn *fn,
			      void *arg)
{
	struct listener *l = mem_alloc(1, sizeof(*l));

	*l = (struct listener){ .loop = loop, .fd = fd, .name = name, .fn = fn, .arg = arg };
	l->pause = loop_timer_new(loop, resume_cb, l);
	l->watch = loop_fd_new(loop, fd, LOOP_READ, accept_cb, l);
	return l;
}

void listener_free(struct listener *l)
{
	if (!l)
		return;
	loop_timer_free(l->pause);
	loop_fd_free(l->watch);
	free(l);
}

unsigned listener_allowance(unsigned percent, unsigned most)
{
	struct rlimit limit;
	rlim_t share;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 4;
	share = limit.rlim_cur > RESERVED ? (limit.rlim_cur - RESERVED) * percent / 100 : 0;
	return share < 4 ? 4 : share < most ? (unsigned)share : most;
}

/* ---- Sockets --------------------------------------------------------------------------------- */

int listener_bind(struct loop *loop, int fd, const struct sockaddr *at, socklen_t len)
{
	int status = bind(fd, at, len) ? -errno : 0;

	if (status != -EACCES || !loop_helper(loop))
		return status;
	return helper_bind(loop_helper(loop), fd, at, len);
}

int listener_socket(struct loop *loop, const char *where, bool names)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV |
						    (names ? 0 : AI_NUMERICHOST),
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	struct address at;
	int fd, on = 1, status;
	char port[8];

	if (!address_parse(where, &at))
		return -EINVAL;
	snprintf(port, sizeof(port), "%u", at.port);
	if (getaddrinfo(*at.host ? at.host : NULL, port, &hints, &found) || !found)
		return names ? -EADDRNOTAVAIL : -EINVAL;
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	status = fd < 0 ? -errno : 0;
	if (!status)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!status)
		status = listener_bind(loop, fd, found->ai_addr, found->ai_addrlen);
	if (!status && listen(fd, SOMAXCONN))
		status = -errno;
	if (status && fd >= 0)
		close(fd);
	freeaddrinfo(found);
	return status ? status : fd;
}
