/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Long answers on a libibumad that the test plays: a write() of one that lasts holds its
 * descriptor, and nothing else. The functions below stand in for the library's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/loop/log.h"
#include "fm/mad/mad.h"
#include "fm/mad/umad_own.h"
#include "fm/mad/wire_sa.h"

#define MANY	 20 /* writes, a quarter of a second each */
#define HANDLES	 3
#define TABLES	 2 /* the descriptor of the SA's long answers */
#define LONG	 (3u << 20)
#define SENT_MAX 64

struct sent {
	int port;
	uint8_t mgmt_class, method, mark; /* mark: the byte that all of an answer are */
	uint16_t lid;
	size_t len;
	bool whole; /* the mark is everywhere behind the head */
};

/* One lock for all; a write() of a long answer waits until the gate is open. */
static struct machine {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool shut;  /* the gate */
	bool let;   /* .. but for one */
	bool held;  /* somebody waits at it: the descriptor's lock is his */
	int refuse; /* errno of the next long write */
	bool few;   /* once the port is opened there is no descriptor left */
	unsigned read_while_held, reads;
	unsigned waiting[HANDLES];
	struct sent sent[SENT_MAX];
	unsigned nsent;
	int fds[HANDLES];
	umad_port_t port;
} m = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void lock(void)
{
	pthread_mutex_lock(&m.lock);
}

static void unlock(void)
{
	pthread_cond_broadcast(&m.changed);
	pthread_mutex_unlock(&m.lock);
}

int umad_init(void)
{
	return 0;
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	strcpy(cas[0], "mlx5_0");
	return 1;
}

int umad_get_ca(const char *name, umad_ca_t *ca)
{
	memset(ca, 0, sizeof(*ca));
	strcpy(ca->ca_name, "mlx5_0");
	ca->ports[1] = &m.port;
	return 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	return 0;
}

int umad_open_port(const char *name, int num)
{
	int port = 0;

	while (m.fds[port])
		port++;
	assert_true(port < HANDLES);
	m.fds[port] = eventfd(0, EFD_NONBLOCK);
	return port;
}

int umad_close_port(int port)
{
	int fd = m.fds[port];

	assert_false(m.held);
	m.fds[port] = 0;
	return close(fd);
}

int umad_get_fd(int port)
{
	return m.fds[port];
}

static void take_descriptors(void)
{
	int next = dup(m.fds[0]);
	struct rlimit limit;

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int umad_register(int port, int mgmt_class, int version, uint8_t rmpp, long mask[16 / sizeof(long)])
{
	if (mgmt_class == WIRE_SA)
		assert_int_equal(rmpp, 1); /* else the kernel makes no segments */
	if (m.few && port == TABLES)
		take_descriptors();
	return mgmt_class + (port == TABLES);
}

int umad_unregister(int port, int agent)
{
	return 0;
}

int umad_poll(int port, int ms)
{
	return -ETIMEDOUT;
}

static bool is_marked(const uint8_t *mad, size_t len)
{
	for (size_t i = WIRE_SA_HEADER; i < len; i++)
		if (mad[i] != mad[len - 1])
			return false;
	return true;
}

static int refused(void)
{
	int error = m.refuse;

	m.refuse = 0;
	unlock();
	errno = error;
	return -error;
}

int umad_send(int port, int agent, void *umad, int len, int ms, int retries)
{
	const uint8_t *mad = umad_get_mad(umad);

	lock();
	if (port == TABLES && len >= (int)LONG) {
		m.held = true;
		pthread_cond_broadcast(&m.changed);
		while (m.shut && !m.let)
			pthread_cond_wait(&m.changed, &m.lock);
		m.let = m.held = false;
	} else if (port == TABLES && m.held) {
		abort(); /* a second write() to a descriptor that is held: it would wait */
	}
	if (m.refuse && len >= (int)LONG)
		return refused();
	if (m.nsent == SENT_MAX)
		abort();
	m.sent[m.nsent++] = (struct sent){ port,
					   mad[1],
					   mad[3],
					   mad[len - 1],
					   be16toh(umad_get_mad_addr(umad)->lid),
					   (size_t)len,
					   is_marked(mad, (size_t)len) };
	unlock();
	return 0;
}

int umad_recv(int port, void *umad, int *len, int ms)
{
	uint8_t *mad = umad_get_mad(umad);
	bool any;

	lock();
	m.reads += port == TABLES;
	m.read_while_held += m.held && port == TABLES;
	any = m.waiting[port] > 0;
	m.waiting[port] -= any;
	unlock();
	if (!any)
		return -EAGAIN;
	memset(umad, 0, umad_size() + WIRE_MAD_SIZE);
	mad[0] = 1;
	mad[1] = port ? WIRE_SA : WIRE_SMI_LID;
	mad[2] = port ? 2 : 1;
	mad[3] = port == TABLES ? WIRE_GET_TABLE : WIRE_GET;
	*len = WIRE_MAD_SIZE;
	return 1;
}

/* ---- The port, and who uses it --------------------------------------------------------------- */

struct desk {
	struct loop *loop;
	struct mad *mad;
	struct io *io;
	struct loop_timer *tick;
	bool (*until)(struct desk *d); /* the loop runs until then */
	unsigned taken[HANDLES];
	unsigned losses;
	char said[256]; /* the last line of the log */
};

static void tick_cb(void *arg)
{
	struct desk *d = arg;

	if (d->until(d))
		loop_stop(d->loop);
	else
		loop_timer_set(d->tick, 1000);
}

static void run_until(struct desk *d, bool (*until)(struct desk *d))
{
	d->until = until;
	loop_timer_set(d->tick, 0);
	assert_int_equal(loop_run(d->loop), 0);
}

static bool now(struct desk *d)
{
	return true;
}

/* Answers each at once, like the parts of the program that are asked: by a MAD of 256 bytes. */
static void asked_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct desk *d = arg;
	uint8_t answer[WIRE_MAD_SIZE] = { 1, mad[1], mad[2], mad[3] | WIRE_RESPONSE };
	unsigned port = mad[1] != WIRE_SA ? 0 : mad[3] == WIRE_GET_TABLE ? TABLES : 1;

	d->taken[port]++;
	if (port != TABLES)
		assert_int_equal(d->io->ops->send(d->io, from, answer, sizeof(answer), 0), 0);
}

static void lost_cb(void *arg, int error)
{
	struct desk *d = arg;

	assert_int_equal(error, EIO);
	d->losses++;
}

static int setup(void **state)
{
	struct desk *d = calloc(1, sizeof(*d));
	char err[256];

	m = (struct machine){ .lock = PTHREAD_MUTEX_INITIALIZER,
			      .changed = PTHREAD_COND_INITIALIZER };
	strcpy(m.port.ca_name, "mlx5_0");
	strcpy(m.port.link_layer, "InfiniBand");
	m.port.portnum = 1;
	m.port.port_guid = htobe64(0x101);
	m.port.phys_state = 5;
	m.port.state = 4;
	log_set_level(-1, LOG_ERR - 1);
	d->loop = loop_new();
	d->io = io_umad_new(d->loop, "", "", 0);
	d->mad = mad_new(d->loop, d->io, &(struct mad_conf){ .timeout_ms = 20 });
	d->tick = loop_timer_new(d->loop, tick_cb, d);
	assert_int_equal(mad_open(d->mad, err, sizeof(err)), 0);
	d->io->recv = asked_cb;
	d->io->lost = lost_cb;
	d->io->arg = d;
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct desk *d = *state;

	loop_timer_free(d->tick);
	mad_free(d->mad);
	loop_free(d->loop);
	free(d);
	return 0;
}

static void gate(bool shut)
{
	lock();
	m.shut = shut;
	unlock();
}

static unsigned count_sent(int port, uint8_t mark)
{
	unsigned count = 0;

	lock();
	for (unsigned i = 0; i < m.nsent; i++)
		count += m.sent[i].port == port && m.sent[i].mark == mark;
	unlock();
	return count;
}

/* Every byte behind the head is the mark. */
static struct io_body *new_body(uint8_t mark, size_t len)
{
	uint8_t *data = malloc(len);

	memset(data, mark, len);
	return io_body_new(data);
}

static int answer_from(struct desk *d, struct io_body *body, uint16_t lid, size_t len)
{
	uint8_t head[WIRE_SA_HEADER] = { 1, WIRE_SA, 2, WIRE_GET_TABLE | WIRE_RESPONSE };

	head[26] = 1; /* RMPP active */
	return mad_reply_long(d->mad, &(struct io_addr){ .lid = lid, .qp = 1 }, head, sizeof(head),
			      body, len);
}

static int answer_long(struct desk *d, uint8_t mark, uint16_t lid)
{
	struct io_body *body = new_body(mark, LONG);
	int status = answer_from(d, body, lid, LONG);

	io_body_unref(body);
	return status;
}

static int answer_short_table(struct desk *d, uint8_t mark)
{
	uint8_t mad[WIRE_MAD_SIZE];

	memset(mad, mark, sizeof(mad));
	memcpy(mad, (uint8_t[]){ 1, WIRE_SA, 2, WIRE_GET_TABLE | WIRE_RESPONSE }, 4);
	mad[26] = 1;
	return mad_reply(d->mad, &(struct io_addr){ .lid = 9, .qp = 1 }, mad, sizeof(mad));
}

static void wait_held(void)
{
	lock();
	while (!m.held)
		pthread_cond_wait(&m.changed, &m.lock);
	pthread_mutex_unlock(&m.lock);
}

static void come(int port, unsigned count)
{
	const uint64_t one = 1;

	lock();
	m.waiting[port] += count;
	unlock();
	assert_int_equal(write(m.fds[port], &one, sizeof(one)), sizeof(one));
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static bool all_were_asked(struct desk *d)
{
	return d->taken[0] == 5 && d->taken[1] == 7;
}

static bool tables_were_asked(struct desk *d)
{
	return d->taken[TABLES] == 4;
}

static void a_write_that_lasts_holds_nothing_but_tables(void **state)
{
	struct desk *d = *state;

	gate(true);
	assert_int_equal(answer_long(d, 'a', 5), 0);
	wait_held();
	come(0, 5);
	come(1, 7);
	come(TABLES, 4);
	run_until(d, all_were_asked);
	assert_int_equal(count_sent(0, 0), 5);
	assert_int_equal(count_sent(1, 0), 7);
	assert_int_equal(m.read_while_held, 0);
	assert_int_equal(d->taken[TABLES], 0);
	gate(false);
	run_until(d, tables_were_asked);
	assert_int_equal(count_sent(TABLES, 'a'), 1);
}

static bool three_tables_are_out(struct desk *d)
{
	return count_sent(TABLES, 'a') + count_sent(TABLES, 'b') + count_sent(TABLES, 'c') == 3;
}

static void answers_leave_whole_and_in_their_order(void **state)
{
	struct desk *d = *state;

	gate(true);
	assert_int_equal(answer_long(d, 'a', 5), 0);
	wait_held();
	assert_int_equal(answer_short_table(d, 'b'), 0); /* not by the loop: that would wait */
	assert_int_equal(answer_long(d, 'c', 6), 0);
	assert_int_equal(count_sent(TABLES, 'b'), 0);
	gate(false);
	run_until(d, three_tables_are_out);
	for (unsigned i = 0; i < 3; i++) {
		const unsigned lids[] = { 5, 9, 6 };

		assert_int_equal(m.sent[i].mark, 'a' + i);
		assert_int_equal(m.sent[i].lid, lids[i]);
		assert_int_equal(m.sent[i].method, WIRE_GET_TABLE | WIRE_RESPONSE);
		assert_int_equal(m.sent[i].len, i == 1 ? WIRE_MAD_SIZE : LONG);
		assert_true(i == 1 || m.sent[i].whole);
	}
}

static bool the_short_one_is_out(struct desk *d)
{
	return count_sent(TABLES, 'e') == 1;
}

static void a_short_one_is_written_at_once_when_none_is_being_written(void **state)
{
	struct desk *d = *state;

	assert_int_equal(answer_short_table(d, 'e'), 0);
	assert_true(the_short_one_is_out(d));
}

static bool five_are_out(struct desk *d)
{
	return count_sent(TABLES, 'f') == 5;
}

static void one_body_goes_to_several(void **state)
{
	struct desk *d = *state;
	struct io_body *body = new_body('f', LONG);

	gate(true);
	for (uint16_t lid = 1; lid <= 5; lid++)
		assert_int_equal(answer_from(d, body, lid, LONG), 0);
	assert_int_equal(body->refs, 6);
	gate(false);
	run_until(d, five_are_out);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(m.sent[i].lid, i + 1);
	io_body_unref(body); /* others are given back by the loop */
}

static bool it_was_lost(struct desk *d)
{
	return d->losses > 0;
}

static bool the_next_is_out(struct desk *d)
{
	return count_sent(TABLES, 'h') == 1;
}

static void errors_come_back_to_the_loop(void **state)
{
	struct desk *d = *state;

	m.refuse = ENOMEM;
	assert_int_equal(answer_long(d, 'g', 5), 0);
	assert_int_equal(answer_long(d, 'h', 5), 0);
	run_until(d, the_next_is_out);
	assert_int_equal(d->losses, 0);
	lock();
	m.refuse = EIO;
	unlock();
	assert_int_equal(answer_long(d, 'i', 5), 0);
	run_until(d, it_was_lost);
	assert_int_equal(d->losses, 1);
	assert_int_equal(count_sent(TABLES, 'g') + count_sent(TABLES, 'i'), 0);
}

static void what_is_under_way_is_bounded_for_each_and_for_all(void **state)
{
	struct desk *d = *state;
	struct io_body *body = new_body('j', UMAD_WRITER_EACH / 2);
	unsigned given = 0;
	int status;

	gate(true);
	assert_int_equal(answer_from(d, body, 1, UMAD_WRITER_EACH / 2), 0);
	assert_int_equal(answer_from(d, body, 1, UMAD_WRITER_EACH / 2), 0);
	assert_int_equal(answer_from(d, body, 1, UMAD_WRITER_EACH / 2), -EAGAIN);
	for (uint16_t lid = 2; !(status = answer_from(d, body, lid, UMAD_WRITER_EACH / 2)); lid++)
		given++;
	assert_int_equal(status, -EAGAIN);
	assert_int_equal(given + 2, UMAD_WRITER_ALL / (UMAD_WRITER_EACH / 2));
	m.refuse = ENOMEM; /* the one that is held; all others are dropped with the port */
	gate(false);
	io_body_unref(body);
}

/*
 * Writes that end one by one: the one that the loop waits for is not the last, whenever it begins
 * to wait.
 */
static void *let_now_and_then(void *arg)
{
	const atomic_bool *over = arg;

	while (!*over) {
		usleep(250000);
		lock();
		m.let = true;
		pthread_cond_broadcast(&m.changed);
		unlock();
	}
	return NULL;
}

/* umad_close_port() sees whether it was waited for. */
static void closing_waits_for_the_write_and_drops_the_rest(void **state)
{
	struct desk *d = *state;
	atomic_bool over = false;
	pthread_t other;

	gate(true);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(answer_long(d, 'k', 5), 0);
	wait_held();
	assert_int_equal(pthread_create(&other, NULL, let_now_and_then, &over), 0);
	mad_close(d->mad);
	over = true;
	pthread_join(other, NULL);
	assert_in_range(count_sent(TABLES, 'k'), 1, MANY - 1);
	gate(false);
	run_until(d, now);
	assert_int_equal(answer_long(d, 'l', 5), -ENODEV);
}

static void without_a_descriptor_for_the_thread_the_loop_writes(void **state)
{
	struct desk *d = *state;
	struct rlimit had;
	char err[256];

	mad_close(d->mad);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
	m.few = true;
	assert_int_equal(mad_open(d->mad, err, sizeof(err)), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
	assert_int_equal(answer_long(d, 'm', 5), 0);
	assert_int_equal(count_sent(TABLES, 'm'), 1);
	come(TABLES, 4);
	run_until(d, tables_were_asked);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_that_lasts_holds_nothing_but_tables),
		TEST(answers_leave_whole_and_in_their_order),
		TEST(a_short_one_is_written_at_once_when_none_is_being_written),
		TEST(one_body_goes_to_several),
		TEST(errors_come_back_to_the_loop),
		TEST(what_is_under_way_is_bounded_for_each_and_for_all),
		TEST(closing_waits_for_the_write_and_drops_the_rest),
		TEST(without_a_descriptor_for_the_thread_the_loop_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
