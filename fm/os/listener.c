/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "topology/base/text.h"
#include "fm/os/helper.h"
#include "fm/os/listener.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"

#define ACCEPTS	     8	      /* connections a round */
#define GRACE_US     500000   /* a handshake may last so long over a wide network */
#define SILENT_US    30000000 /* looked for four times as often */
#define BURST_US     500000   /* of work and rest is counted; half of it may come at once */
#define CALLERS	     128      /* addresses that are remembered */
#define PAUSE_US     1000000
#define SAY_AGAIN_US 60000000
#define RESERVED     64 /* descriptors */
#define FDS_PERCENT  25 /* of the others, for connections that wait */

struct listener {
	struct loop *loop;
	struct loop_fd *watch;
	struct loop_timer *pause;
	const char *name;
	listener_fn *fn;
	void *arg;
	int fd;
	unsigned unproven;
	uint64_t logged_us; /* when the shortage was logged; 0 = never */
};

struct caller { /* an address, of IPv6 its network; or a user of this machine */
	uint64_t key, served_us;
	bool proven;
};

struct visit {
	struct listener *door;
	struct loop_fd *watch; /* NULL = something has arrived */
	struct caller *caller;
	uint64_t since_us; /* it came, or was handed over */
	int fd;
	bool inside; /* its server has it */
	struct sockaddr_storage from;
};

/* All of a loop's, made with its first listener. */
struct doors {
	struct loop *loop;
	struct loop_timer *turn;
	uint64_t open_us; /* no connection has its turn before */
	uint64_t rest_us; /* no work for callers other than operators before */
	bool busy;	  /* the loop was, when the doors last asked */
	uint64_t owed_us; /* when what was worked is a LISTENER_CALM-th of the time again */
	unsigned users;	  /* listeners */
	unsigned most, count, turns;
	struct visit *visits[LISTENER_WAITING]; /* the oldest first */
	struct caller callers[CALLERS];
};

static void resume_cb(void *arg)
{
	struct listener *l = arg;

	loop_fd_set(l->watch, LOOP_READ);
}

/* Of a user's connections those to one unix socket are one caller's. */
static uint64_t key_of(const struct listener *l, int fd, const struct sockaddr *from)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
	struct ucred user = { 0 };
	socklen_t size = sizeof(user);
	uint64_t key;

	if (from->sa_family == AF_INET)
		return ((const struct sockaddr_in *)from)->sin_addr.s_addr;
	if (from->sa_family != AF_INET6)
		return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size)
			       ? 0
			       : (2ull * l->fd + 1) << 32 | user.uid;
	mem_copy(&key, six->sin6_addr.s6_addr, 1);
	if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		key = six->sin6_addr.s6_addr32[3];
	else if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
		mem_copy(&key, six->sin6_addr.s6_addr + sizeof(key), 1);
	return key;
}

/* An unknown one takes the place of who came longest ago, proved nothing and has none here. */
static struct caller *find_caller(struct doors *d, uint64_t key)
{
	struct caller *oldest = NULL;

	for (struct caller *it = d->callers; it < d->callers + CALLERS; it++) {
		bool here = it->key == key && (it->served_us || it->proven);

		for (unsigned i = 0; i < d->count; i++)
			here |= d->visits[i]->caller == it;
		if (here && it->key == key)
			return it;
		if (!here && (!oldest || it->proven < oldest->proven ||
			      (it->proven == oldest->proven && it->served_us < oldest->served_us)))
			oldest = it;
	}
	*oldest = (struct caller){ .key = key };
	return oldest;
}

static void forget(struct doors *d, unsigned i)
{
	loop_fd_free(d->visits[i]->watch);
	free(d->visits[i]);
	memmove(d->visits + i, d->visits + i + 1, (--d->count - i) * sizeof(*d->visits));
}

/*
 * Of whom the most connections are here, at `door` only those inside: the oldest, one without a
 * word before others. NULL = there is none.
 */
static struct visit *find_burden(const struct doors *d, const struct listener *door)
{
	struct visit *worst = NULL;
	unsigned most = 0;

	for (unsigned i = 0; i < d->count; i++) {
		struct visit *v = d->visits[i];
		unsigned count = 0;

		if (door && !(v->inside && v->door == door))
			continue;
		for (unsigned j = 0; j < d->count; j++)
			count += d->visits[j]->caller == v->caller &&
				 (!door || (d->visits[j]->inside && d->visits[j]->door == door));
		if (count > most || (count == most && v->watch && !worst->watch)) {
			most = count;
			worst = v;
		}
	}
	return worst;
}

/* Its server finds that it has ended, or is called. */
static void turn_out(struct doors *d, struct visit *v)
{
	const struct visit was = *v;
	unsigned i = 0;

	while (d->visits[i] != v)
		i++;
	forget(d, i);
	if (was.inside) {
		shutdown(was.fd, SHUT_RDWR);
	} else {
		close(was.fd);
		was.door->fn(was.door->arg, -1, (const struct sockaddr *)&was.from);
	}
}

void listener_worked(struct loop *loop, uint64_t began_us)
{
	struct doors *d = loop_doors(loop);

	uint64_t now = loop_clock_us(loop), worked = now - began_us;

	if (!d)
		return;
	if (loop_is_busy(loop))
		d->rest_us = began_us + LISTENER_SHARE * worked;
	if (d->owed_us < now + BURST_US)
		d->owed_us = (d->owed_us > now ? d->owed_us : now) + LISTENER_CALM * worked;
}

uint64_t listener_rest_us(const struct loop *loop)
{
	struct doors *d = loop_doors(loop);
	uint64_t now = loop_now_us(loop);
	bool busy = d && loop_is_busy(loop);

	if (busy && !d->busy && d->rest_us < now + LISTENER_FIRST_US)
		d->rest_us = now + LISTENER_FIRST_US;
	if (d)
		d->busy = busy;
	return busy && d->rest_us > now ? d->rest_us - now : 0;
}

static void arm(struct doors *d, uint64_t least_us)
{
	uint64_t now = loop_now_us(d->loop), wait = d->open_us > now ? d->open_us - now : 0;
	uint64_t rest = listener_rest_us(d->loop);
	bool ready = false, silent = false;

	least_us = least_us > rest ? least_us : rest;
	for (unsigned i = 0; i < d->count; i++) {
		ready |= !d->visits[i]->inside && !d->visits[i]->watch;
		silent |= d->visits[i]->watch != NULL;
	}
	if (ready)
		loop_timer_set(d->turn, wait > least_us ? wait : least_us);
	else if (silent && !loop_timer_armed(d->turn))
		loop_timer_set(d->turn, SILENT_US / 4);
}

/* Whether it may go in now, where *leaves has to go first; NULL = nobody has to. */
static bool has_place(const struct doors *d, const struct visit *v, struct visit **leaves)
{
	unsigned inside = 0, crowd = 0;

	for (unsigned i = 0; i < d->count; i++) {
		inside += d->visits[i]->inside && d->visits[i]->door == v->door &&
			  d->visits[i]->caller->proven <= v->caller->proven;
		crowd += !d->visits[i]->inside && d->visits[i]->caller == v->caller;
	}
	if (v->from.ss_family == AF_UNIX && crowd > 1 &&
	    loop_now_us(d->loop) - v->caller->served_us < LISTENER_BUSY_US)
		return false;
	*leaves = inside < v->door->unproven + v->caller->proven ? NULL : find_burden(d, v->door);
	return !*leaves || loop_now_us(d->loop) - (*leaves)->since_us >= GRACE_US;
}

static void turn_cb(void *arg)
{
	struct doors *d = arg;
	struct visit *next = NULL, *leaves = NULL, *burden;
	uint64_t now = loop_now_us(d->loop);

	for (unsigned i = d->count; i-- > 0;)
		if (d->visits[i]->watch && now - d->visits[i]->since_us >= SILENT_US)
			turn_out(d, d->visits[i]);
	/* Every second turn is for who has proven who it is, where there is one. */
	for (unsigned i = 0; i < d->count; i++) {
		struct visit *v = d->visits[i];
		const struct caller *a = v->caller, *b = next ? next->caller : NULL;
		bool first = !b || (a->proven != b->proven && d->turns % 2 == 0
					    ? a->proven
					    : a->served_us < b->served_us);

		if (!v->inside && !v->watch && first && has_place(d, v, &burden)) {
			next = v;
			leaves = burden;
		}
	}
	if (!next || listener_rest_us(d->loop)) {
		arm(d, next ? 0 : LISTENER_BUSY_US);
		return;
	}
	if (leaves)
		turn_out(d, leaves);

	bool busy = loop_is_busy(d->loop) || d->owed_us > now + BURST_US / 2;

	d->open_us = now + (busy ? LISTENER_BUSY_US : LISTENER_PACE_US);
	d->turns++;
	next->inside = true;
	next->since_us = next->caller->served_us = now;
	arm(d, 0);
	next->door->fn(next->door->arg, next->fd, (const struct sockaddr *)&next->from);
}

static void arrived_cb(void *arg, unsigned events)
{
	struct visit *v = arg;

	loop_fd_free(v->watch);
	v->watch = NULL;
	arm(loop_doors(v->door->loop), 0);
}

void listener_take(struct listener *l, int fd, const struct sockaddr *from)
{
	struct doors *d = loop_doors(l->loop);
	struct visit *v = mem_new(v);

	*v = (struct visit){ .door = l, .fd = fd, .since_us = loop_now_us(l->loop) };
	memcpy(&v->from, from,
	       from->sa_family == AF_INET6  ? sizeof(struct sockaddr_in6)
	       : from->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					    : sizeof(from->sa_family));
	if (d->count == d->most)
		turn_out(d, find_burden(d, NULL));
	v->caller = find_caller(d, key_of(l, fd, from));
	d->visits[d->count++] = v;
	if (!loop_is_simulated(l->loop) && from->sa_family != AF_UNIX)
		v->watch = loop_fd_new(l->loop, fd, LOOP_READ, arrived_cb, v);
	arm(d, 0);
}

bool listener_done(struct listener *l, int fd, bool proven)
{
	struct doors *d = loop_doors(l->loop);

	for (unsigned i = 0; i < d->count; i++)
		if (d->visits[i]->inside && d->visits[i]->door == l && d->visits[i]->fd == fd) {
			d->visits[i]->caller->proven |= proven;
			forget(d, i);
			arm(d, 0);
			return true;
		}
	return false;
}

static void accept_cb(void *arg, unsigned events)
{
	struct listener *l = arg;
	uint64_t now = loop_now_us(l->loop), began = loop_clock_us(l->loop);

	for (unsigned i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t len = sizeof(from);
		int fd = accept4(l->fd, (struct sockaddr *)&from, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0 && !l->unproven) {
			l->fn(l->arg, fd, (const struct sockaddr *)&from);
		} else if (fd >= 0) {
			listener_take(l, fd, (const struct sockaddr *)&from);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			int error = errno;

			loop_fd_set(l->watch, 0);
			loop_timer_set(l->pause, PAUSE_US);
			if (l->logged_us && now - l->logged_us < SAY_AGAIN_US)
				return;
			l->logged_us = now;
			log_line(LOG_CORE, LOG_WARNING,
				 "%s: cannot accept connections: %s; retried each second", l->name,
				 strerror(error));
			return;
		} else if (errno == EAGAIN) {
			break;
		}
	}
	listener_worked(l->loop, began);
	if (listener_rest_us(l->loop)) {
		loop_fd_set(l->watch, 0);
		loop_timer_set(l->pause, listener_rest_us(l->loop));
	}
}

struct listener *listener_new(struct loop *loop, int fd, const char *name, unsigned unproven,
			      listener_fn *fn, void *arg)
{
	struct listener *l = mem_new(l);
	struct doors *d = loop_doors(loop);

	*l = (struct listener){ loop, .name = name, .fn = fn, .arg = arg, .fd = fd };
	l->unproven = unproven;
	if (!d) {
		d = mem_new(d);
		d->loop = loop;
		d->most = listener_allowance(FDS_PERCENT, LISTENER_WAITING);
		d->turn = loop_timer_new(loop, turn_cb, d);
		loop_set_doors(loop, d);
	}
	d->users++;
	l->pause = loop_timer_new(loop, resume_cb, l);
	l->watch = loop_fd_new(loop, fd, LOOP_READ, accept_cb, l);
	return l;
}

void listener_free(struct listener *l)
{
	struct doors *d = l ? loop_doors(l->loop) : NULL;

	if (!l)
		return;
	for (unsigned i = d->count; i-- > 0;)
		if (d->visits[i]->door == l) {
			if (!d->visits[i]->inside)
				close(d->visits[i]->fd);
			forget(d, i);
		}
	if (!--d->users) {
		loop_timer_free(d->turn);
		loop_set_doors(l->loop, NULL);
		free(d);
	}
	loop_timer_free(l->pause);
	loop_fd_free(l->watch);
	free(l);
}

unsigned listener_allowance(unsigned percent, unsigned most)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 4;

	rlim_t share = limit.rlim_cur > RESERVED ? (limit.rlim_cur - RESERVED) * percent / 100 : 0;

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

/* A fork of a process that was killed may keep its socket for a moment: who listened counts. */
static int clear_place(const struct sockaddr_un *at)
{
	struct ucred peer = { 0 };
	struct stat st;

	if (lstat(at->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;

	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;

	int status = connect(fd, (const struct sockaddr *)at, sizeof(*at)) ? -errno : -EADDRINUSE;

	if (status == -EADDRINUSE &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){ sizeof(peer) }) &&
	    peer.pid && kill(peer.pid, 0) && errno == ESRCH)
		status = -ECONNREFUSED;
	close(fd);
	if (status == -EAGAIN)
		return -EADDRINUSE; /* its queue is full */
	if (status != -ECONNREFUSED)
		return status;
	return unlink(at->sun_path) ? -errno : 0;
}

int listener_unix_socket(const char *path, mode_t mask, int backlog)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(at.sun_path))
		return -ENAMETOOLONG;
	strcpy(at.sun_path, path);

	int status = clear_place(&at);

	if (status)
		return status;

	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	mask = umask(mask); /* it holds while the file is made */
	status = bind(fd, (const struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
	umask(mask);
	if (!status && listen(fd, backlog))
		status = -errno;
	if (!status)
		return fd;
	close(fd);
	return status;
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
	array_printf(port, "%u", at.port);
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
