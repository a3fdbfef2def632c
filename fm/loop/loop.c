/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The event loop, in rounds: due timers, then polled sources, then a wait inside libevent for
 * descriptors and signals, bounded by the next timer.
 *
 * Timers sit in a binary heap ordered by (due, seq): equal times run in the order they were set. A
 * round runs only timers that were set before it began, so a timer that sets itself to 0 cannot
 * starve the descriptors.
 *
 * The clock is read once a round and stands still while timers and polled sources run. Inside
 * libevent it is read at each call, since the wait comes before the callbacks there.
 *
 * While a polled source wants another round the loop does not sleep, and looks at descriptors only
 * every SPIN_LOOK_US: an epoll_wait() each round would cost more than the round. A source that
 * wants nothing is asked again after POLL_IDLE_US.
 *
 * A simulated loop has no libevent base: where the real one would sleep it sets its clock to the
 * next due time, and ends when there is none.
 */
#include <errno.h>
#include <time.h>
#include <sys/time.h>
#include <event2/event.h>
#include <event2/dns.h>
#include "fm/loop/loop.h"
#include "topology/base/mem.h"

#define POLL_IDLE_US 1000
#define SPIN_LOOK_US 200
#define SIM_START_US 1000000
#define SLICE_US     5000 /* and one call more: below the 20 ms that nobody may hold the loop */

struct loop_timer {
	struct loop *loop;
	loop_fn *fn;
	void *arg;
	const char *what; /* of fn, where it holds the loop */
	uint64_t due, seq;
	size_t slot; /* in the heap, from 1; 0 = not armed */
};

struct loop_fd {
	struct loop *loop;
	struct event *event;
	int fd;
	loop_fd_fn *fn;
	void *arg;
	const char *what; /* as a timer's */
};

struct loop_signal {
	struct loop_signal *next;
	struct event *event;
	loop_fn *fn;
	void *arg;
};

struct loop_poll {
	struct loop *loop;
	loop_poll_fn *fn;
	void *arg;
};

struct loop {
	struct event_base *base; /* NULL: simulated */
	struct event *wake;	 /* bounds a wait */
	struct loop_signal *signals;
	uint64_t now;
	uint64_t seq;
	uint64_t looked; /* when descriptors were last looked at */
	bool in_wait;	 /* inside libevent */
	bool stopped;
	struct loop_timer **heap; /* heap[1 .. armed] */
	size_t armed, heap_size;
	struct loop_poll **polls; /* NULL = freed during the round */
	size_t npolls;
	struct loop_held held,
		/* the longest callback in this span of HELD_SPAN_US, and in the one before */
		held_before,
		/* the longest in this one but for the newest of those that were that */
		held_but;
	uint64_t held_span;    /* when this one began */
	struct loop_held step; /* the longest part of the present callback, by loop_took() */
	struct loop_pace pace;
	int busy; /* jobs under way */
	uint64_t busy_until;
	struct helper *helper;
	struct doors *doors;
};

/* Not inlined: a timespec on the stack would give loop_now_us() a stack guard. */
static __attribute__((noinline)) uint64_t clock_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t loop_now_us(const struct loop *loop)
{
	return loop->in_wait ? clock_of(CLOCK_MONOTONIC) : loop->now;
}

uint64_t loop_clock_us(const struct loop *loop)
{
	return loop->base ? clock_of(CLOCK_MONOTONIC) : loop->now;
}

uint64_t loop_boot_us(const struct loop *loop)
{
	return loop->base ? clock_of(CLOCK_BOOTTIME) : loop->now;
}

/* ---- How long callbacks hold the loop -------------------------------------------------------- */

#define HELD_SPAN_US 10000000

static struct loop_held longer(struct loop_held a, struct loop_held b)
{
	return b.us > a.us ? b : a;
}

uint64_t loop_ran(struct loop *loop, uint64_t start, const char *what)
{
	uint64_t now = loop_clock_us(loop);

	if (now - loop->held_span >= HELD_SPAN_US) {
		loop->held_before = loop->held;
		loop->held = (struct loop_held){ 0 };
		loop->held_span = now;
	}
	if (loop->step.what)
		what = loop->step.what;
	if (now - start > loop->held.us) {
		loop->held_but = loop->held;
		loop->held = (struct loop_held){ now - start, what };
	}
	loop->step = (struct loop_held){ 0 };
	return now;
}

void loop_continued(void *arg)
{
	struct loop *loop = arg;

	loop->held = loop->held_but;
}

void loop_took(struct loop *loop, const char *what, uint64_t us)
{
	loop->step = longer(loop->step, (struct loop_held){ us, what });
}

struct loop_held loop_longest(const struct loop *loop)
{
	return longer(loop->held_before, loop->held);
}

void loop_set_pace(struct loop *loop, struct loop_pace pace)
{
	loop->pace = pace;
}

void loop_busy_add(struct loop *loop, int change)
{
	loop->busy += change;
}

void loop_busy_for(struct loop *loop, uint64_t us)
{
	loop->busy_until = loop_now_us(loop) + us;
}

bool loop_is_busy(const struct loop *loop)
{
	return loop->busy > 0 || loop_clock_us(loop) < loop->busy_until;
}

struct loop_pace loop_pace(const struct loop *loop)
{
	return loop->pace;
}

/* ---- Timers ---------------------------------------------------------------------------------- */

static bool heap_before(const struct loop_timer *a, const struct loop_timer *b)
{
	return a->due != b->due ? a->due < b->due : a->seq < b->seq;
}

static void heap_put(struct loop *loop, size_t slot, struct loop_timer *timer)
{
	loop->heap[slot] = timer;
	timer->slot = slot;
}

static void heap_up(struct loop *loop, size_t slot, struct loop_timer *timer)
{
	for (; slot > 1 && heap_before(timer, loop->heap[slot / 2]); slot /= 2)
		heap_put(loop, slot, loop->heap[slot / 2]);
	heap_put(loop, slot, timer);
}

static void heap_remove(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer *last = loop->heap[loop->armed--];
	size_t slot = timer->slot, child;

	timer->slot = 0;
	if (last == timer)
		return;
	if (slot > 1 && heap_before(last, loop->heap[slot / 2])) {
		heap_up(loop, slot, last);
		return;
	}
	for (; (child = slot * 2) <= loop->armed; slot = child) {
		if (child < loop->armed && heap_before(loop->heap[child + 1], loop->heap[child]))
			child++;
		if (!heap_before(loop->heap[child], last))
			break;
		heap_put(loop, slot, loop->heap[child]);
	}
	heap_put(loop, slot, last);
}

struct loop_timer *loop_timer_new_as(struct loop *loop, loop_fn *fn, void *arg, const char *what)
{
	struct loop_timer *timer = mem_new(timer);

	*timer = (struct loop_timer){ .loop = loop, .fn = fn, .arg = arg, .what = what };
	return timer;
}

void loop_timer_set(struct loop_timer *timer, uint64_t delay_us)
{
	struct loop *loop = timer->loop;

	loop_timer_stop(timer);
	timer->due = loop_now_us(loop) + delay_us;
	timer->seq = loop->seq++;
	if (loop->armed + 1 >= loop->heap_size) {
		loop->heap_size = loop->heap_size ? loop->heap_size * 2 : 64;
		loop->heap = mem_array_resize(loop->heap, loop->heap_size);
	}
	loop->armed++;
	heap_up(loop, loop->armed, timer);
}

void loop_timer_stop(struct loop_timer *timer)
{
	if (timer->slot)
		heap_remove(timer->loop, timer);
}

bool loop_timer_armed(const struct loop_timer *timer)
{
	return timer->slot;
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	loop_timer_stop(timer);
	free(timer);
}

/* ---- Descriptors and signals ----------------------------------------------------------------- */

static void fd_ready_cb(evutil_socket_t fd, short what, void *arg)
{
	struct loop_fd *watch = arg;
	struct loop *loop = watch->loop; /* the callback may free the watch */
	const char *name = watch->what;
	uint64_t start = loop_clock_us(loop);

	watch->fn(watch->arg,
		  (what & EV_READ ? LOOP_READ : 0u) | (what & EV_WRITE ? LOOP_WRITE : 0u));
	loop_ran(loop, start, name);
}

struct loop_fd *loop_fd_new_as(struct loop *loop, int fd, unsigned events, loop_fd_fn *fn,
			       void *arg, const char *what)
{
	struct loop_fd *watch = mem_new(watch);

	*watch = (struct loop_fd){ .loop = loop, .fd = fd, .fn = fn, .arg = arg, .what = what };
	loop_fd_set(watch, events);
	return watch;
}

void loop_fd_set(struct loop_fd *watch, unsigned events)
{
	if (!watch->loop->base)
		return;
	if (watch->event)
		event_free(watch->event);
	watch->event = NULL;
	if (!events)
		return;
	watch->event = event_new(watch->loop->base, watch->fd,
				 (short)((events & LOOP_READ ? EV_READ : 0) |
					 (events & LOOP_WRITE ? EV_WRITE : 0) | EV_PERSIST),
				 fd_ready_cb, watch);
	event_add(watch->event, NULL);
}

void loop_fd_free(struct loop_fd *watch)
{
	if (!watch)
		return;
	if (watch->event)
		event_free(watch->event);
	free(watch);
}

static void signal_cb(evutil_socket_t signum, short what, void *arg)
{
	struct loop_signal *sig = arg;

	sig->fn(sig->arg);
}

int loop_signal(struct loop *loop, int signum, loop_fn *fn, void *arg)
{
	if (!loop->base)
		return 0;

	struct loop_signal *sig = mem_new(sig);

	*sig = (struct loop_signal){ .next = loop->signals, .fn = fn, .arg = arg };
	sig->event = evsignal_new(loop->base, signum, signal_cb, sig);
	if (!sig->event || event_add(sig->event, NULL)) {
		if (sig->event)
			event_free(sig->event);
		free(sig);
		return -EINVAL;
	}
	loop->signals = sig;
	return 0;
}

struct event_base *loop_event_base(struct loop *loop)
{
	return loop->base;
}

/* ---- Polled sources -------------------------------------------------------------------------- */

struct loop_poll *loop_poll_new(struct loop *loop, loop_poll_fn *fn, void *arg)
{
	struct loop_poll *poll = mem_new(poll);

	*poll = (struct loop_poll){ .loop = loop, .fn = fn, .arg = arg };
	loop->polls = mem_resize(loop->polls, loop->npolls + 1, sizeof(struct loop_poll *));
	loop->polls[loop->npolls++] = poll;
	return poll;
}

void loop_poll_free(struct loop_poll *poll)
{
	if (!poll)
		return;

	struct loop *loop = poll->loop;

	for (size_t i = 0; i < loop->npolls; i++)
		if (loop->polls[i] == poll)
			loop->polls[i] = NULL;
	free(poll);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

uint64_t loop_idle_us(const struct loop *loop)
{
	if (!loop->armed)
		return UINT64_MAX;
	return loop->heap[1]->due > loop->now ? loop->heap[1]->due - loop->now : 0;
}

/* Time to the next thing due without an event; UINT64_MAX = nothing is. */
static uint64_t idle_us(const struct loop *loop)
{
	uint64_t wait = loop_idle_us(loop);

	return loop->npolls && wait > POLL_IDLE_US ? POLL_IDLE_US : wait;
}

static void wake_cb(evutil_socket_t fd, short what, void *arg)
{
}

static int wait_for_events(struct loop *loop, uint64_t wait_us)
{
	struct timeval tv = { .tv_sec = wait_us / 1000000,
			      .tv_usec = (suseconds_t)(wait_us % 1000000) };
	int flags = EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY;

	if (!wait_us)
		flags |= EVLOOP_NONBLOCK; /* without it libevent stays as long as it can read */
	else if (wait_us != UINT64_MAX)
		event_add(loop->wake, &tv);
	loop->in_wait = true;

	int status = event_base_loop(loop->base, flags);

	loop->in_wait = false;
	loop->looked = loop->now = clock_of(CLOCK_MONOTONIC);
	return status < 0 ? -EIO : 0;
}

int loop_run(struct loop *loop)
{
	int status = 0;

	loop->stopped = false;
	while (!loop->stopped && !status) {
		bool again = false;

		if (loop->base)
			loop->now = clock_of(CLOCK_MONOTONIC);

		/* The clock is read once a callback: the end of one is the next one's start. */
		uint64_t limit = loop->seq, start = loop->now;

		while (loop->armed && !loop->stopped) {
			struct loop_timer *timer = loop->heap[1];
			const char *what = timer->what; /* the callback may free the timer */

			if (timer->due > loop->now || timer->seq >= limit)
				break;
			heap_remove(loop, timer);
			timer->fn(timer->arg);
			start = loop_ran(loop, start, what);
		}

		/* True: some source wants another round without sleep. */
		size_t kept = 0;

		for (size_t i = 0; i < loop->npolls && !loop->stopped; i++) {
			const struct loop_poll *poll = loop->polls[i];
			uint64_t began = loop_clock_us(loop);

			again |= poll && poll->fn(poll->arg);
			loop_ran(loop, began, "a source without a descriptor");
		}
		for (size_t i = 0; i < loop->npolls; i++)
			if (loop->polls[i])
				loop->polls[kept++] = loop->polls[i];
		loop->npolls = kept;

		if (loop->stopped)
			break;
		if (loop->base && !again)
			status = wait_for_events(loop, idle_us(loop));
		else if (loop->base && loop->now - loop->looked >= SPIN_LOOK_US)
			status = wait_for_events(loop, 0);
		else if (!loop->base && !again && !loop->armed)
			break;
		else if (!loop->base && !again)
			loop->now += idle_us(loop);
	}
	return status;
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
	if (loop->base)
		event_base_loopbreak(loop->base);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void loop_set_helper(struct loop *loop, struct helper *helper)
{
	loop->helper = helper;
}

struct helper *loop_helper(const struct loop *loop)
{
	return loop->helper;
}

void loop_set_doors(struct loop *loop, struct doors *doors)
{
	loop->doors = doors;
}

struct doors *loop_doors(const struct loop *loop)
{
	return loop->doors;
}

struct loop *loop_new_simulated(void)
{
	struct loop *loop = mem_new(loop);

	loop->now = SIM_START_US;
	loop->pace.slice_us = SLICE_US;
	return loop;
}

bool loop_is_simulated(const struct loop *loop)
{
	return !loop->base;
}

struct loop *loop_new(void)
{
	struct loop *loop = mem_new(loop);
	struct event_config *config = event_config_new();

	/* Timers below a millisecond are in use (retries of a full queue): the precise ones. */
	if (config && !event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER))
		loop->base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (!loop->base) {
		free(loop);
		return NULL;
	}
	loop->wake = evtimer_new(loop->base, wake_cb, NULL);
	loop->pace.slice_us = SLICE_US;
	loop->now = clock_of(CLOCK_MONOTONIC);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->signals) {
		struct loop_signal *sig = loop->signals;

		loop->signals = sig->next;
		event_free(sig->event);
		free(sig);
	}
	for (size_t i = 0; i < loop->npolls; i++)
		free(loop->polls[i]);
	if (loop->wake)
		event_free(loop->wake);
	if (loop->base)
		event_base_free(loop->base);
	free(loop->polls);
	free(loop->heap);
	free(loop);
}

/* ---- Resolver -------------------------------------------------------------------------------- */

struct evdns_base *resolver_new(struct loop *loop)
{
	struct event_base *base = loop_event_base(loop);

	if (!base)
		return NULL;

	struct evdns_base *dns = evdns_base_new(base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
							      EVDNS_BASE_DISABLE_WHEN_INACTIVE);

	if (!dns) {
		dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
		if (dns)
			evdns_base_load_hosts(dns, "/etc/hosts");
	}
	return dns;
}

void resolver_free(struct evdns_base *resolver)
{
	if (resolver)
		evdns_base_free(resolver, 0);
}
