/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * listener: a listening socket on the loop, and the budget that all of a loop share.
 *
 * A connection costs a handshake or a process, and anybody can make one. So connections wait, in
 * one reserve for all listeners, those of networks until something arrives, and are handed to their
 * servers one at a time: each LISTENER_PACE_US, or LISTENER_BUSY_US while the fabric's work is
 * under way (loop_is_busy()) and while servers work more than a LISTENER_CALM-th of the time. Next
 * is the address (of a unix socket the user) whose turn was longest ago; at every second turn one
 * that has proven who it is. A user of whom several wait has one each LISTENER_BUSY_US, as behind
 * a unix socket each costs a fork. Where the reserve is full the address with the most connections
 * loses one: its oldest that is silent.
 *
 * When the process or the system has no descriptor left, accept(2) fails at once and the socket
 * stays readable: a loop that goes on trying eats a core and floods the log. A listener pauses for
 * a second instead, says so once in a while, and goes on by itself; who wants to connect waits in
 * the kernel's queue.
 */
#pragma once

#include <sys/socket.h>
#include "fm/loop/loop.h"

struct listener;

#define LISTENER_PACE_US  10000
#define LISTENER_BUSY_US  40000
#define LISTENER_WAITING  64	/* connections in all, with those that have proven nothing yet */
#define LISTENER_SHARE	  20	/* part of the time that doors may have while the loop is busy */
#define LISTENER_CALM	  10	/* and otherwise, before turns are as seldom */
#define LISTENER_FIRST_US 20000 /* a fault is often over before doors have their first share */

/*
 * A connection that has its turn: `fd` is the callback's to close, non-blocking and close-on-exec;
 * `from` is borrowed. -1: one that has sent nothing for half a minute, or has made way for another,
 * and is closed.
 */
typedef void listener_fn(void *arg, int fd, const struct sockaddr *from);

/*
 * A socket that listens at ADDRESS:PORT, a numeric address, so that nothing waits for a name, or
 * with `names` a host's name too; non-blocking and close-on-exec, the caller's. Or -errno.
 */
int listener_socket(struct loop *loop, const char *where, bool names);
/*
 * A unix socket that listens at a path; the mask is that of its file's mode. One that nobody serves
 * any more is replaced; one that another process serves, or anything else in the place, stays. The
 * socket, the caller's, or -errno.
 */
int listener_unix_socket(const char *path, mode_t mask, int backlog);
/* bind(2); by the loop's helper where this process may not bind that port. 0, or -errno. */
int listener_bind(struct loop *loop, int fd, const struct sockaddr *at, socklen_t len);

/*
 * The caller's, never NULL. `fd` listens already, non-blocking; it stays the caller's to close.
 * `name` is for the log and outlives the listener. unproven: connections that it has at a time
 * whose other ends have not proven yet who they are, one more of an address that did so before; the
 * oldest of the address with the most is shut down for the next. 0: its file's mode says who may
 * connect and a connection costs next to nothing, so that each is handed over as it comes.
 */
struct listener *listener_new(struct loop *loop, int fd, const char *name, unsigned unproven,
			      listener_fn *fn, void *arg);
/* Closes what still waits; NULL is fine. */
void listener_free(struct listener *listener);
/*
 * Of a connection that had its turn: its other end has proven who it is, or it is about to be
 * closed, which its server says of each. Others are no concern of the listener's. False: it has
 * been shut down for another, or this was reported before.
 */
bool listener_done(struct listener *listener, int fd, bool proven);
/*
 * A server has worked for who is no operator since that time of loop_clock_us(); how long it leaves
 * the time to others: while the loop is busy all servers have a LISTENER_SHARE-th of it together.
 */
void listener_worked(struct loop *loop, uint64_t began_us);
uint64_t listener_rest_us(const struct loop *loop);
/* A connection has come: as accept(2) gave it, and for tests on a simulated loop. */
void listener_take(struct listener *listener, int fd, const struct sockaddr *from);

/*
 * How many connections a server may hold: `percent` of the descriptors (RLIMIT_NOFILE) that are not
 * reserved for the daemon's own work (MAD devices, state files, child processes, operators), at
 * least 4 and at most `most`.
 */
unsigned listener_allowance(unsigned percent, unsigned most);
