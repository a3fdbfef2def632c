/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * loop: the one event loop. Only loop.c includes libevent.
 *
 * Timers and deferred jobs are loop's own (a heap), file descriptors and signals are libevent's. A
 * simulated loop has no descriptors: its clock jumps to the next timer, so tests own the time. All
 * callbacks run from loop_run(), never from inside a loop_* call. Objects may be freed from their
 * own callback.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct loop_timer;
struct loop_fd;

typedef void loop_fn(void *arg);

/* The caller's. A simulated one is never NULL. */
struct loop *loop_new(void); /* NULL: libevent can't wait for descriptors here */
struct loop *loop_new_simulated(void);
bool loop_is_simulated(const struct loop *loop);
/* Behind all timers, descriptors and poll functions; frees its signal handlers. NULL is fine. */
void loop_free(struct loop *loop);

/* Until loop_stop(); simulated: also when nothing is left to do. 0 or -errno. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
uint64_t loop_now_us(const struct loop *loop); /* monotonic; steady within one callback round */

/* The same clock read again, to time work; simulated: as above. */
uint64_t loop_clock_us(const struct loop *loop);
/* The same, and what the machine was suspended for counts as well: the other clocks stand then. */
uint64_t loop_boot_us(const struct loop *loop);
struct loop_held {
	uint64_t us;
	const char *what; /* as given to loop_took(), else `FILE: FUNCTION` of the callback */
};
/*
 * The longest that a callback held the loop in the last 10 to 20 seconds (as far as any ran in
 * them), and what took most of it; NULL = none ran yet.
 */
struct loop_held loop_longest(const struct loop *loop);
/*
 * For SIGCONT, the loop as its argument: the process was stopped, and the callback that holds the
 * record of all did not take that time.
 */
void loop_continued(void *loop);
/*
 * A callback that the loop does not call itself, as libevent's of a connection, has ended: it began
 * at start, by loop_clock_us(). Returns the time now.
 */
uint64_t loop_ran(struct loop *loop, uint64_t start, const char *what);
/* From within a callback: `what`, a literal, took so long of it. */
void loop_took(struct loop *loop, const char *what, uint64_t us);

/*
 * How long work that comes in slices (fm/loop/job.h) may hold the loop before others have their
 * turn, and how long it leaves it to them at least. For tests of what happens in between there are
 * other paces than the first.
 */
struct loop_pace {
	uint64_t slice_us, gap_us;
};
/*
 * What is urgent goes first: who serves others takes a small part of the time while there is any
 * (fm/mad/umad_own.h). fm/loop/job.h counts its pieces of work; what waits for answers in between
 * is reported with how long it may last, 0 = it is over.
 */
void loop_busy_add(struct loop *loop, int change);
void loop_busy_for(struct loop *loop, uint64_t us);
bool loop_is_busy(const struct loop *loop);
void loop_set_pace(struct loop *loop, struct loop_pace pace);
struct loop_pace loop_pace(const struct loop *loop);

/* The caller's, not armed, never NULL. `what`: a literal that names the callback; the macro's. */
struct loop_timer *loop_timer_new_as(struct loop *loop, loop_fn *fn, void *arg, const char *what);
#define loop_timer_new(loop, fn, arg) loop_timer_new_as(loop, fn, arg, __FILE__ ": " #fn)
void loop_timer_set(struct loop_timer *timer, uint64_t delay_us); /* (re)arms once */
void loop_timer_stop(struct loop_timer *timer);
bool loop_timer_armed(const struct loop_timer *timer); /* true: fn is going to be called */
void loop_timer_free(struct loop_timer *timer);	       /* NULL is fine */

enum { LOOP_READ = 1, LOOP_WRITE = 2 };
typedef void loop_fd_fn(void *arg, unsigned events);
/*
 * Calls fn while fd is ready for one of `events`, a set of the above; 0 = not now. The caller's,
 * never NULL; fd stays the caller's to close, behind loop_fd_free(). No effect in a simulated loop.
 */
struct loop_fd *loop_fd_new_as(struct loop *loop, int fd, unsigned events, loop_fd_fn *fn,
			       void *arg, const char *what);
#define loop_fd_new(loop, fd, events, fn, arg)                                                     \
	loop_fd_new_as(loop, fd, events, fn, arg, __FILE__ ": " #fn)
void loop_fd_set(struct loop_fd *watch, unsigned events);
void loop_fd_free(struct loop_fd *watch); /* does not close; NULL is fine */

/* fn is called from the loop, as any callback. 0 or -EINVAL; simulated: 0, and none is read. */
int loop_signal(struct loop *loop, int signum, loop_fn *fn, void *arg);

/*
 * For a source that has no descriptor to wait on (ibsim's umad): fn is called each round and says
 * whether it wants another round without sleeping. Returns a handle for loop_poll_free().
 */
struct loop_poll;
/*
 * Until the next timer is due, UINT64_MAX = none is armed: no poll function may sleep for longer.
 */
uint64_t loop_idle_us(const struct loop *loop);
typedef bool loop_poll_fn(void *arg);
struct loop_poll *loop_poll_new(struct loop *loop, loop_poll_fn *fn, void *arg);
void loop_poll_free(struct loop_poll *poll);

/* Of the process that does what this one may not (fm/os/helper.h); borrowed, NULL = none. */
struct helper;
void loop_set_helper(struct loop *loop, struct helper *helper);
struct helper *loop_helper(const struct loop *loop);

/* What all listening sockets of the loop share (fm/os/listener.h), whose it is; NULL = none. */
struct doors;
void loop_set_doors(struct loop *loop, struct doors *doors);
struct doors *loop_doors(const struct loop *loop);

/*
 * The libevent base, for the HTTP client alone (fm/nvswitch/intake_fetch.c); NULL in a simulated
 * loop.
 */
struct event_base *loop_event_base(struct loop *loop);

struct evdns_base; /* libevent's: event2/dns.h */
/*
 * Resolves names of hosts on the loop, which never waits for a DNS server. The caller's, to be
 * freed behind the connections that use it; NULL in a simulated loop. Without a resolv.conf names
 * of /etc/hosts and addresses still serve.
 */
struct evdns_base *resolver_new(struct loop *loop);
void resolver_free(struct evdns_base *resolver); /* NULL is fine */
