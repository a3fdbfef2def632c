/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests to fmsim, and their answers. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "tests/sim/umad_own.h"

int sim_debug_level;

void sim_warn(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "fmsim-umad: [%d] ", getpid());
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int sim_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("FMSIM");
	int fd;

	if (!path || strlen(path) >= sizeof(address.sun_path))
		return -ENOENT;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -errno;
}

static bool send_all(int fd, const void *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, (const char *)data + at, len - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

static void fds_take(struct msghdr *msg, int *fds)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	if (fds && cmsg && cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len >= CMSG_LEN(3 * sizeof(int)))
		memcpy(fds, CMSG_DATA(cmsg), 3 * sizeof(int));
}

static bool receive_all(int fd, void *data, size_t len, int *fds)
{
	for (size_t at = 0; at < len;) {
		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(3 * sizeof(int))];
		} control;
		struct iovec part = { (char *)data + at, len - at };
		struct msghdr msg = { .msg_iov = &part,
				      .msg_iovlen = 1,
				      .msg_control = control.bytes,
				      .msg_controllen = sizeof(control.bytes) };
		ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		fds_take(&msg, fds);
		at += (size_t)n;
	}
	return true;
}

/* A thread that is cancelled in between would leave the connection in the middle of an answer. */
int sim_ask(int fd, struct frame_request *request, struct frame_reply *reply, int *fds)
{
	bool done;
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	done = send_all(fd, request, sizeof(*request)) &&
	       receive_all(fd, reply, sizeof(*reply), fds);
	pthread_setcancelstate(state, NULL);
	return done ? reply->status : -EIO;
}

int sim_ask_once(struct frame_request *request, struct frame_reply *reply)
{
	int fd = sim_connect(), status;

	if (fd < 0)
		return fd;
	status = sim_ask(fd, request, reply, NULL);
	close(fd);
	return status;
}

void sim_request(struct frame_request *request, uint32_t kind, const char *ca, int port)
{
	const char *node = getenv("FMSIM_NODE");

	*request = (struct frame_request){ .magic = FRAME_MAGIC,
					   .kind = kind,
					   .port = (uint32_t)port };
	if (node)
		snprintf(request->node, sizeof(request->node), "%s", node);
	if (ca)
		snprintf(request->ca, sizeof(request->ca), "%s", ca);
}
