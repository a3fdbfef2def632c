/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * listener: a listening socket on the loop.
 *
 * When the process or the system has no descriptor left, accept(2) fails at once and the socket
 * stays readable: a loop that goes on trying eats a core and floods the log. A listener pauses for
 * a second instead, says so once in a while, and goes on by itself; who wants to connect waits in
 * the kernel's queue.
 */
#ifndef FMD_OS_LISTENER_H
#define FMD_OS_LISTENER_H

#include <sys/socket.h>
#include "fm/loop/loop.h"

struct listener;

/*
 * A connection: `fd` is the callback's to close, non-blocking and close-on-exec; `from` is
 * borrowed.
 */
typedef void listener_fn(void *arg, int fd, const struct sockaddr *from);

/*
 * A socket that listens at ADDRESS:PORT, a numeric address, so that nothing waits for a name, or
 * with `names` a host's name too; non-blocking and close-on-exec, the caller's. Or -errno.
 */
int listener_socket(struct loop *loop, const char *where, bool names);
/* bind(2); by the loop's helper where this process may not bind that port. 0, or -errno. */
int listener_bind(struct loop *loop, int fd, const struct sockaddr *at, socklen_t len);

/*
 * The caller's, never NULL. `fd` listens already, non-blocking; it stays the caller's to close.
 * `name` is for the log and outlives the listener.
 */
struct listener *listener_new(struct loop *loop, int fd, const char *name, listener_fn *fn,
			      void *arg);
void listener_free(struct listener *listener); /* NULL is fine */

/*
 * How many connections a server may hold: `percent` of the descriptors (RLIMIT_NOFILE) that are not
 * reserved for the daemon's own work (MAD devices, state files, child processes, operators), at
 * least 4 and at most `most`.
 */
unsigned listener_allowance(unsigned percent, unsigned most);

/* True: accept(2) failed for want of descriptors or memory, not because of the connection. */
bool listener_exhausted(int error);

#endif
