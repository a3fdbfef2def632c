/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A listening socket when descriptors run out: it pauses, and goes on when there are some again.
 * And who has a turn when more come than there is time for, on virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
	w->listener = listener_new(w->loop, w->fd, "test", 1, taken_cb, w);
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
	assert_int_equal(send(w.client, "x", 1, 0), 1);
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

/* ---- Turns ----------------------------------------------------------------------------------- */

#define DOORS	 3
#define UNPROVEN 8
#define VISITS	 256
#define LOCAL	 255 /* in place of a host: a user of this machine */

struct hall;

struct door {
	struct hall *hall;
	struct listener *listener;
};

struct hall {
	struct loop *loop;
	struct door doors[DOORS];
	unsigned count, made_way; /* handed over; closed before */
	struct visit {
		uint64_t at_us;
		unsigned host; /* the last byte of its address */
		int fd;
	} visits[VISITS];
	int fds[VISITS], others[VISITS];
	unsigned nfds;
	bool proves;
	uint64_t cost_us; /* of each, for its server */
};

static void handed_over(void *arg, int fd, const struct sockaddr *from)
{
	struct door *door = arg;
	struct hall *h = door->hall;

	if (fd < 0) {
		h->made_way++;
		return;
	}
	h->visits[h->count++] = (struct visit){
		loop_now_us(h->loop),
		from->sa_family == AF_UNIX
			? LOCAL
			: ntohl(((const struct sockaddr_in *)from)->sin_addr.s_addr) & 0xff,
		fd
	};
	listener_worked(h->loop, loop_clock_us(h->loop) - h->cost_us);
	if (h->proves)
		listener_done(door->listener, fd, true);
}

static void open_hall(struct hall *h, bool proves)
{
	*h = (struct hall){ .loop = loop_new_simulated(), .proves = proves };
	for (struct door *d = h->doors; d < h->doors + DOORS; d++) {
		d->hall = h;
		d->listener = listener_new(h->loop, -1, "test", UNPROVEN, handed_over, d);
	}
}

static void close_hall(struct hall *h)
{
	for (unsigned i = 0; i < DOORS; i++)
		listener_free(h->doors[i].listener);
	loop_free(h->loop);
	for (unsigned i = 0; i < h->nfds; i++)
		close(h->others[i]);
	for (unsigned i = 0; i < h->count; i++)
		close(h->visits[i].fd);
}

/* Returns the place of it in `fds`. */
static unsigned come(struct hall *h, unsigned door, unsigned host)
{
	const struct sockaddr_in from = { .sin_family = host == LOCAL ? AF_UNIX : AF_INET,
					  .sin_addr.s_addr = htonl(0x0a000000 | host) };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	h->fds[h->nfds] = pair[0];
	h->others[h->nfds] = pair[1];
	listener_take(h->doors[door].listener, pair[0], (const struct sockaddr *)&from);
	return h->nfds++;
}

static bool is_closed(const struct hall *h, unsigned i)
{
	char byte;

	return recv(h->others[i], &byte, 1, MSG_DONTWAIT) == 0;
}

static void all_doors_together_hand_over_one_connection_a_turn(void **state)
{
	for (int busy = 0; busy < 2; busy++) {
		struct hall h;

		open_hall(&h, true);
		loop_busy_add(h.loop, busy);
		for (unsigned i = 0; i < LISTENER_WAITING; i++)
			come(&h, i % DOORS, i % 4);
		loop_run(h.loop);
		assert_int_equal(h.count, LISTENER_WAITING);
		for (unsigned i = 1; i < h.count; i++)
			assert_int_equal(h.visits[i].at_us - h.visits[i - 1].at_us,
					 busy ? LISTENER_BUSY_US : LISTENER_PACE_US);
		close_hall(&h);
	}
}

static void an_address_that_floods_has_every_second_turn_beside_another(void **state)
{
	struct hall h;

	open_hall(&h, true);
	for (unsigned i = 0; i < LISTENER_WAITING - 4; i++)
		come(&h, 0, 1);
	for (unsigned i = 0; i < 4; i++)
		come(&h, 1, 2);
	loop_run(h.loop);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(h.visits[i].host, 1 + i % 2);
	close_hall(&h);
}

static void users_several_of_whose_connections_wait_have_a_turn_less_often(void **state)
{
	struct hall h;
	uint64_t last = 0;

	open_hall(&h, true);
	for (unsigned i = 0; i < 4; i++)
		come(&h, 0, LOCAL);
	for (unsigned i = 0; i < 12; i++)
		come(&h, 1, 1);
	loop_run(h.loop);
	assert_int_equal(h.count, 16);
	for (unsigned i = 0, turns = 0; i < h.count && turns < 3; i++) {
		if (h.visits[i].host != LOCAL)
			continue;
		assert_true(!turns++ || h.visits[i].at_us - last >= LISTENER_BUSY_US);
		last = h.visits[i].at_us;
	}
	close_hall(&h);
}

static void a_user_with_one_connection_at_a_time_has_the_next_turn(void **state)
{
	struct hall h;

	open_hall(&h, true);
	for (unsigned i = 0; i < 4; i++) {
		come(&h, 0, LOCAL);
		loop_run(h.loop);
		assert_int_equal(h.count, i + 1);
		assert_true(!i || h.visits[i].at_us - h.visits[i - 1].at_us <= LISTENER_PACE_US);
	}
	close_hall(&h);
}

static void costly_turns_come_less_often_but_for_the_first_few(void **state)
{
	struct hall h;

	open_hall(&h, true);
	h.cost_us = 5000;
	for (unsigned i = 0; i < 32; i++)
		come(&h, 0, 1);
	loop_run(h.loop);
	assert_int_equal(h.count, 32);
	for (unsigned i = 1; i < 6; i++)
		assert_int_equal(h.visits[i].at_us - h.visits[i - 1].at_us, LISTENER_PACE_US);
	for (unsigned i = 16; i < 32; i++)
		assert_int_equal(h.visits[i].at_us - h.visits[i - 1].at_us, LISTENER_BUSY_US);
	close_hall(&h);
}

static void where_all_places_are_taken_the_one_with_the_most_loses_its_oldest(void **state)
{
	struct hall h;
	unsigned first, other;

	open_hall(&h, true);
	other = come(&h, 0, 2);
	first = come(&h, 0, 1);
	for (unsigned i = 0; i < 2 * LISTENER_WAITING; i++)
		come(&h, i % DOORS, 1);
	assert_false(is_closed(&h, other));
	assert_true(is_closed(&h, first));
	loop_run(h.loop);
	assert_int_equal(h.count, LISTENER_WAITING);
	assert_int_equal(h.made_way, LISTENER_WAITING + 2);
	close_hall(&h);
}

static void who_proves_nothing_makes_room_for_the_next_after_a_while(void **state)
{
	struct hall h;

	open_hall(&h, false);
	for (unsigned i = 0; i <= UNPROVEN; i++)
		come(&h, 0, i);
	loop_run(h.loop);
	assert_int_equal(h.count, UNPROVEN + 1);
	assert_in_range(h.visits[UNPROVEN].at_us - h.visits[0].at_us, 500000, 600000);
	assert_true(is_closed(&h, 0));
	assert_false(is_closed(&h, 1));
	listener_done(h.doors[0].listener, h.visits[1].fd, false);
	come(&h, 0, 99);
	loop_run(h.loop);
	assert_int_equal(h.count, UNPROVEN + 2);
	assert_false(is_closed(&h, 2));
	close_hall(&h);
}

static void an_address_that_has_proven_who_it_is_has_a_place_and_the_next_turn(void **state)
{
	struct hall h;

	open_hall(&h, true);
	come(&h, 0, 77);
	loop_run(h.loop);
	h.proves = false;
	for (unsigned i = 0; i < 2 * UNPROVEN; i++)
		come(&h, 0, i);
	come(&h, 0, 77);
	loop_run(h.loop);
	assert_true(h.visits[1].host == 77 || h.visits[2].host == 77);
	for (unsigned i = 2; i < 2 + UNPROVEN; i++)
		assert_in_range(h.visits[i].at_us - h.visits[1].at_us, 1, 100000);
	assert_in_range(h.visits[2 + UNPROVEN].at_us - h.visits[1].at_us, 500000, 600000);
	close_hall(&h);
}

static void servers_work_a_twentieth_of_the_time_while_the_loop_is_busy(void **state)
{
	struct hall h;
	uint64_t began;

	open_hall(&h, true);
	listener_worked(h.loop, loop_clock_us(h.loop) - 1000);
	assert_int_equal(listener_rest_us(h.loop), 0);
	loop_busy_add(h.loop, 1);
	assert_int_equal(listener_rest_us(h.loop), LISTENER_FIRST_US);
	began = loop_now_us(h.loop);
	come(&h, 0, 2);
	loop_run(h.loop);
	assert_int_equal(h.visits[0].at_us - began, LISTENER_FIRST_US);
	assert_int_equal(listener_rest_us(h.loop), 0);
	listener_worked(h.loop, loop_clock_us(h.loop) - 1000);
	assert_int_equal(listener_rest_us(h.loop), (LISTENER_SHARE - 1) * 1000);
	come(&h, 0, 1);
	loop_run(h.loop);
	assert_int_equal(listener_rest_us(h.loop), 0);
	assert_int_equal(h.count, 2);
	close_hall(&h);
}

/* As a daemon that is killed the moment it forked: the copy keeps what it had open. */
static void a_socket_of_a_killed_process_is_replaced_though_a_fork_of_it_lives(void **state)
{
	char folder[] = "/tmp/fmd-listener-XXXXXX", path[64];
	int ends[2], gone[2], fd;
	pid_t pid;
	char c;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	assert_return_code(pipe(ends), 0);
	assert_return_code(pipe(gone), 0);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		close(gone[0]);
		fd = listener_unix_socket(path, 0117, 1);
		if (fork())
			_exit(fd < 0);
		_exit(read(ends[0], &c, 1) != 0);
	}
	close(ends[0]);
	close(gone[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	fd = listener_unix_socket(path, 0117, 1);
	assert_true(fd >= 0);
	assert_int_equal(listener_unix_socket(path, 0117, 1), -EADDRINUSE);
	close(ends[1]);
	assert_int_equal(read(gone[0], &c, 1), 0); /* the copy has ended */
	close(gone[0]);
	close(fd);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_wait_while_descriptors_are_short),
		cmocka_unit_test(a_pause_makes_no_further_attempts),
		cmocka_unit_test(an_allowance_leaves_room_for_the_daemons_own_work),
		cmocka_unit_test(all_doors_together_hand_over_one_connection_a_turn),
		cmocka_unit_test(an_address_that_floods_has_every_second_turn_beside_another),
		cmocka_unit_test(users_several_of_whose_connections_wait_have_a_turn_less_often),
		cmocka_unit_test(a_user_with_one_connection_at_a_time_has_the_next_turn),
		cmocka_unit_test(costly_turns_come_less_often_but_for_the_first_few),
		cmocka_unit_test(where_all_places_are_taken_the_one_with_the_most_loses_its_oldest),
		cmocka_unit_test(who_proves_nothing_makes_room_for_the_next_after_a_while),
		cmocka_unit_test(
			an_address_that_has_proven_who_it_is_has_a_place_and_the_next_turn),
		cmocka_unit_test(servers_work_a_twentieth_of_the_time_while_the_loop_is_busy),
		cmocka_unit_test(
			a_socket_of_a_killed_process_is_replaced_though_a_fork_of_it_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
