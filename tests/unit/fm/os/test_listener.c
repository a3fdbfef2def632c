/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A listening socket when descriptors run out: it pauses, and goes on when there are some again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fm/os/listener.h"

#define LIMIT	 64
#define WAIT_US	 3000000
#define ROUND_US 1000
#define PAUSE_US                                                                                   \
	1000000 /* the listener's: 50 rounds last longer on a machine that is busy enough */

/* In place of the C library's, to be counted. */
static unsigned attempts;

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	attempts++;
	return (int)syscall(SYS_accept4, fd, from, len, flags);
}

struct world {
	struct loop *loop;
	struct loop_timer *round;
	struct listener *listener;
	int fd, taken, client;
	unsigned rounds, enough; /* of the loop */
	int filler[LIMIT];
	unsigned fillers;
	struct rlimit before;
	struct sockaddr_in at;
};

static void taken_cb(void *arg, int fd, const struct sockaddr *from)
{
	struct world *w = arg;

	assert_int_equal(from->sa_family, AF_INET);
	close(fd);
	w->taken++;
	loop_stop(w->loop);
}

static void round_cb(void *arg)
{
	struct world *w = arg;

	if (++w->rounds >= w->enough)
		loop_stop(w->loop);
	else
		loop_timer_set(w->round, ROUND_US);
}

static void run(struct world *w, unsigned rounds)
{
	w->rounds = 0;
	w->enough = rounds;
	loop_timer_set(w->round, ROUND_US);
	loop_run(w->loop);
}

static void use_up_descriptors(struct world *w)
{
	struct rlimit low = { LIMIT, w->before.rlim_max };
	int fd;

	setrlimit(RLIMIT_NOFILE, &low);
	while (w->fillers < LIMIT && (fd = open("/dev/null", O_RDONLY)) >= 0)
		w->filler[w->fillers++] = fd;
}

static void give_descriptors_back(struct world *w)
{
	while (w->fillers)
		close(w->filler[--w->fillers]);
	setrlimit(RLIMIT_NOFILE, &w->before);
}

static void set_up(struct world *w)
{
	socklen_t len = sizeof(w->at);

	*w = (struct world){ .loop = loop_new() };
	getrlimit(RLIMIT_NOFILE, &w->before);
	w->at = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	w->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(w->fd, (struct sockaddr *)&w->at, sizeof(w->at)), 0);
	assert_int_equal(listen(w->fd, 8), 0);
	getsockname(w->fd, (struct sockaddr *)&w->at, &len);
	w->client = socket(AF_INET, SOCK_STREAM, 0);
	w->round = loop_timer_new(w->loop, round_cb, w);
	w->listener = listener_new(w->loop, w->fd, "test", taken_cb, w);
}

static void tear_down(struct world *w)
{
	listener_free(w->listener);
	loop_timer_free(w->round);
	loop_free(w->loop);
	close(w->client);
	close(w->fd);
}

static void connections_wait_while_descriptors_are_short(void **state)
{
	struct world w;

	set_up(&w);
	use_up_descriptors(&w);
	assert_int_equal(connect(w.client, (struct sockaddr *)&w.at, sizeof(w.at)), 0);
	run(&w, 50);
	assert_int_equal(w.taken, 0);
	give_descriptors_back(&w);
	run(&w, WAIT_US / ROUND_US);
	assert_int_equal(w.taken, 1);
	tear_down(&w);
}

static void a_pause_makes_no_further_attempts(void **state)
{
	struct world w;
	uint64_t began;

	set_up(&w);
	use_up_descriptors(&w);
	connect(w.client, (struct sockaddr *)&w.at, sizeof(w.at));
	attempts = 0;
	began = loop_clock_us(w.loop);
	run(&w, 50);
	give_descriptors_back(&w);
	assert_in_range(attempts, 1, 1 + (loop_clock_us(w.loop) - began) / PAUSE_US);
	tear_down(&w);
}

static void an_allowance_leaves_room_for_the_daemons_own_work(void **state)
{
	struct rlimit before, low;

	getrlimit(RLIMIT_NOFILE, &before);
	low = (struct rlimit){ 96, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &low);
	assert_int_equal(listener_allowance(50, 4096), 16);
	assert_int_equal(listener_allowance(25, 256), 8);
	low.rlim_cur = 70;
	setrlimit(RLIMIT_NOFILE, &low);
	assert_int_equal(listener_allowance(50, 4096), 4);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_true(listener_allowance(50, 7) <= 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_wait_while_descriptors_are_short),
		cmocka_unit_test(a_pause_makes_no_further_attempts),
		cmocka_unit_test(an_allowance_leaves_room_for_the_daemons_own_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
