/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * io_umad on a libibumad that the test plays: devices come and go, ports have links or not, the
 * kernel gives requests back. The functions below stand in for the library's: the program's own
 * definitions go first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad.h>
#include "fm/core/job.h"
#include "fm/core/log.h"
#include "fm/mad/mad.h"
#include "fm/mad/umad_port.h"
#include "fm/mad/umad_writer.h"

#define PATIENCE  60000 /* runs of a millisecond at least */
#define PORTS	  3
#define LINK_UP	  5
#define POLLING	  2
#define DISABLED  (1u << 10) /* IsSMdisabled */
#define TID_GIVEN 42
#define HANDLES	  3 /* opened for one port at most */
#define TAKEN_MAX 4096
#define NO_FD	  100000

static struct machine {
	bool absent; /* no device */
	bool dead;   /* the device that was open has gone: the descriptor is of no use any more */
	bool give_back; /* the next that is read is a request without an answer */
	int refuse;	/* errno of registering */
	int forbid;	/* errno of opening */
	bool simulator; /* its descriptor is none that the kernel knows */
	int fds[HANDLES];
	unsigned opened, closed, sent;
	int sent_by;
	int retries, wait_ms;	   /* of what was sent last */
	unsigned waiting[HANDLES]; /* SMPs; SA requests, those for tables. They end up in.. */
	char taken[TAKEN_MAX];	   /* ..this order: s, r */
	unsigned ntaken;
	int longer; /* than a MAD: the next one */
	int room;   /* offered for what was read last */
	umad_port_t ports[PORTS];
	unsigned nports;
} m;

int umad_init(void)
{
	return 0;
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	strcpy(cas[0], "mlx5_0");
	return m.absent ? 0 : 1;
}

int umad_get_ca(const char *name, umad_ca_t *ca)
{
	memset(ca, 0, sizeof(*ca));
	strcpy(ca->ca_name, "mlx5_0");
	for (unsigned i = 0; i < m.nports; i++)
		ca->ports[i + 1] = &m.ports[i];
	return m.absent ? -ENODEV : 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	return 0;
}

int umad_open_port(const char *name, int num)
{
	errno = m.absent ? ENODEV : m.forbid;
	if (errno)
		return -EIO;
	m.dead = false;
	for (int i = 0; i < HANDLES; i++) {
		if (m.fds[i])
			continue;
		m.opened++;
		m.fds[i] = eventfd(0, EFD_NONBLOCK);
		return i;
	}
	fail_msg("a fourth descriptor");
	return -1;
}

int umad_close_port(int port)
{
	int fd = m.fds[port];

	m.closed++;
	m.fds[port] = 0;
	return close(fd);
}

int umad_get_fd(int port)
{
	return m.simulator ? NO_FD : m.fds[port];
}

int umad_register(int port, int mgmt_class, int version, uint8_t rmpp, long mask[16 / sizeof(long)])
{
	bool tables = mgmt_class == WIRE_SA && mask[0] & 1L << WIRE_GET_TABLE;

	if (!m.simulator && !m.refuse)
		assert_int_equal(
			port, tables ? 2
				     : mgmt_class ==
					       /* answers of counters do not wait behind requests */
					       WIRE_SA);
	if (!m.simulator && tables)
		assert_false(mask[0] & 1L << WIRE_GET);
	errno = m.refuse;
	return m.refuse ? -EPERM : mgmt_class;
}

int umad_unregister(int port, int agent)
{
	return 0;
}

int umad_poll(int port, int ms)
{
	return -ETIMEDOUT;
}

int umad_send(int port, int agent, void *umad, int len, int ms, int retries)
{
	errno = m.dead ? EIO : 0;
	m.sent++;
	m.sent_by = port;
	m.retries = retries;
	m.wait_ms = ms;
	return m.dead ? -EIO : 0;
}

/* Of its own header, and no more than the common one of the MAD (ib_umad's send_handler()). */
static int give_back(struct ib_user_mad *umad, int *len)
{
	uint8_t *mad = umad_get_mad(umad);

	memset(umad, 0, umad_size() + WIRE_MAD_HEADER);
	umad->status = ETIMEDOUT;
	mad[0] = 1;
	mad[1] = WIRE_SMI_DR;
	mad[2] = 1;
	mad[3] = WIRE_GET;
	mad[15] = TID_GIVEN;
	*len = WIRE_MAD_HEADER;
	m.give_back = false;
	return 1;
}

/* A Get, of the class that waits there; on a simulator SA requests first. */
static int give_waiting(int port, struct ib_user_mad *umad, int *len)
{
	uint8_t *mad = umad_get_mad(umad);
	bool sa = m.simulator ? m.waiting[1] > 0 : port > 0;

	m.waiting[m.simulator ? sa : port]--;
	memset(umad, 0, umad_size() + WIRE_MAD_SIZE);
	mad[0] = 1;
	mad[1] = sa ? WIRE_SA : WIRE_SMI_LID;
	mad[2] = sa ? 2 : 1;
	mad[3] = sa ? port == 2 ? WIRE_GET_TABLE : WIRE_GET : WIRE_TRAP;
	*len = m.longer ? m.longer : WIRE_MAD_SIZE;
	m.longer = 0;
	return 1;
}

int umad_recv(int port, void *umad, int *len, int ms)
{
	if (m.dead)
		return -EIO; /* since Linux 5.12; with EPOLLERR */
	if (m.give_back)
		return give_back(umad, len);
	m.room = *len;
	if (m.longer > *len) {
		*len = m.longer;
		return -ENOSPC;
	}
	if (m.simulator ? m.waiting[0] + m.waiting[1] : m.waiting[port])
		return give_waiting(port, umad, len);
	return -EAGAIN;
}

/* ---- One port, and who uses it --------------------------------------------------------------- */

struct bench {
	struct loop *loop;
	struct mad *mad;
	struct io *io;
	struct loop_timer *stop;
	unsigned losses;
	uint64_t failed;
	char why[128];
};

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

/* Whatever is to come has come long before; the end is the callback's. */
static void run(struct bench *b)
{
	loop_timer_set(b->stop, 10000000);
	assert_int_equal(loop_run(b->loop), 0);
}

static void lost_cb(void *arg, const char *why)
{
	struct bench *b = arg;

	b->losses++;
	snprintf(b->why, sizeof(b->why), "%s", why);
	loop_stop(b->loop);
}

static void failed_cb(void *arg, uint64_t tid)
{
	struct bench *b = arg;

	b->failed = tid;
	loop_stop(b->loop);
}

static void add_port(unsigned phys_state, uint32_t capmask)
{
	umad_port_t *port = &m.ports[m.nports++];

	strcpy(port->ca_name, "mlx5_0");
	strcpy(port->link_layer, "InfiniBand");
	port->portnum = (int)m.nports;
	port->port_guid = htobe64(0x100 + m.nports);
	port->phys_state = phys_state;
	port->capmask = htobe32(capmask);
	port->state = phys_state == LINK_UP ? 2 : 1;
}

static struct bench begin(guid_t guid)
{
	const struct mad_conf conf = { .timeout_ms = 20 };
	struct bench b = { .loop = loop_new() };

	log_set_level(-1, LOG_ERR - 1);
	b.io = io_umad_new(b.loop, guid, "", 0);
	b.mad = mad_new(b.loop, b.io, &conf);
	b.stop = loop_timer_new(b.loop, stop_cb, b.loop);
	return b;
}

static void end(struct bench *b)
{
	loop_timer_free(b->stop);
	mad_free(b->mad);
	loop_free(b->loop);
	assert_int_equal(m.opened, m.closed);
}

static int setup(void **state)
{
	m = (struct machine){ 0 };
	return 0;
}

static int open_port(struct bench *b)
{
	char err[256] = "";
	int status = mad_open(b->mad, err, sizeof(err));

	assert_true(!status == !err[0]);
	assert_true(mad_is_open(b->mad) == !status);
	return status;
}

static void wake(void)
{
	const uint64_t one = 1;

	for (int i = 0; i < HANDLES; i++)
		if (m.fds[i])
			assert_int_equal(write(m.fds[i], &one, sizeof(one)), sizeof(one));
}

static unsigned chosen(const struct bench *b)
{
	return mad_port_info(b->mad)->port;
}

/* ---- The device ------------------------------------------------------------------------------ */

static void nobody_cares(void *arg, const struct mad_answer *answer)
{
	loop_stop(arg);
}

static void ask(struct bench *b)
{
	mad_send(b->mad, &(struct mad_request){ .method = WIRE_GET, .attr_id = WIRE_NODE_INFO },
		 nobody_cares, b->loop);
}

static void a_device_that_is_not_there_is_opened_when_it_is(void **state)
{
	struct bench b = begin(0);

	m.absent = true;
	assert_int_equal(open_port(&b), -ENODEV);
	ask(&b); /* ends, unsent */
	run(&b);
	assert_int_equal(m.sent, 0);
	m.absent = false;
	assert_int_equal(open_port(&b), -ENODEV); /* its ports come a moment later */
	add_port(LINK_UP, 0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(m.opened, HANDLES);
	end(&b);
}

static void a_device_that_goes_is_told_once_and_opened_again(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	mad_on_lost(b.mad, lost_cb, &b);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(open_port(&b), 0);
		m.dead = true;
		wake();
		run(&b);
		assert_int_equal(b.losses, i);
		assert_false(mad_is_open(b.mad));
		assert_non_null(strstr(b.why, "mlx5_0 port 1: the device has gone"));
		assert_int_equal(m.closed, i * HANDLES);
	}
	end(&b);
}

/* What is sent may meet it first, and older kernels tell nobody else. */
static void so_it_is_when_it_refuses_what_is_sent(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	mad_on_lost(b.mad, lost_cb, &b);
	assert_int_equal(open_port(&b), 0);
	m.dead = true;
	ask(&b);
	run(&b);
	assert_int_equal(b.losses, 1);
	assert_int_equal(open_port(&b), 0);
	end(&b);
}

static void what_the_kernel_gives_back_is_heeded(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	b.io->failed = failed_cb;
	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	m.give_back = true;
	wake();
	run(&b);
	assert_int_equal(b.failed, TID_GIVEN);
	end(&b);
}

static void what_another_manager_has_is_busy_and_what_is_forbidden_is_not(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	m.refuse = EINVAL;
	assert_int_equal(open_port(&b), -EBUSY);
	m.refuse = EIO;
	assert_int_equal(open_port(&b), -ENODEV);
	m.refuse = 0;
	m.forbid = EPERM;
	assert_int_equal(open_port(&b), -EPERM);
	m.forbid = EACCES;
	assert_int_equal(open_port(&b), -EACCES);
	m.forbid = 0;
	assert_int_equal(open_port(&b), 0);
	end(&b);
}

/* ---- What is read and sent ------------------------------------------------------------------- */

static void taken_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct bench *b = arg;

	m.taken[m.ntaken++] = mad[3] == WIRE_GET_TABLE ? 't' : mad[1] == WIRE_SA ? 'r' : 's';
	if (m.taken[m.ntaken - 1] == 'r' && m.ntaken % 100 == 0)
		m.waiting[0]++; /* one more comes meanwhile */
	if (!m.waiting[0] && !m.waiting[1] && !m.waiting[2] && m.ntaken >= 500)
		loop_stop(b->loop);
}

static struct bench begin_reading(void)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	loop_set_pace(b.loop, (struct loop_pace){
				      .slice_us = 10000000 }); /* nothing hangs on the machine's */
	b.io->recv = taken_cb;
	b.io->arg = &b;
	return b;
}

/* Requests that were handed on between an SMP's coming and its being handed on. */
static void assert_no_smp_waits_for_more_than(unsigned most)
{
	unsigned since = 0, smps = 0;

	for (unsigned i = 0; i < m.ntaken; i++) {
		smps += m.taken[i] == 's';
		if (m.taken[i] == 's')
			since = 0;
		else if ((i + 1) % 100 > most && i >= 100)
			assert_true(since <= 100 + most);
		since++;
	}
	assert_true(smps > 20);
}

static void smps_are_read_before_sa_requests(void **state)
{
	struct bench b = begin_reading();

	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	m.waiting[0] = 20;
	m.waiting[1] = 500;
	wake();
	run(&b);
	assert_memory_equal(m.taken, "ssssssssssssssssssssr", 21);
	assert_no_smp_waits_for_more_than(2 * 16);
	end(&b);
}

#define SLICE_US    10000
#define REQUEST_US  100
#define STORM_STEPS 30

static unsigned steps_made, asked_by_storm;

static uint64_t worked_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* What each request of a storm costs; there are always more. */
static void stormy_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	uint64_t until = worked_us() + REQUEST_US;

	asked_by_storm++;
	m.waiting[1]++;
	m.waiting[2]++;
	while (worked_us() < until)
		;
}

/* A slice of an update. */
static enum job_said busy_step(void *arg)
{
	struct bench *b = arg;
	uint64_t until = loop_clock_us(b->loop) + SLICE_US;

	while (loop_clock_us(b->loop) < until)
		;
	if (++steps_made < STORM_STEPS)
		return JOB_MORE;
	loop_stop(b->loop);
	return JOB_NEXT;
}

static struct bench begin_storm(void)
{
	struct bench b = begin_reading();

	b.io->recv = stormy_cb;
	loop_set_pace(b.loop, (struct loop_pace){ .slice_us = SLICE_US });
	m.waiting[1] = m.waiting[2] = 1000;
	steps_made = asked_by_storm = 0;
	return b;
}

/*
 * By count. Each look at the descriptors may find a twentieth of a slice saved up and goes on to
 * the end of its batch; what requests take passes too.
 */
static void a_storm_of_requests_takes_a_twentieth_from_an_update(void **state)
{
	static const struct job_step steps[] = { { "busy", busy_step }, { 0 } };
	struct bench b = begin_storm();
	struct job *job = job_new(b.loop, &b);
	uint64_t start;

	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	wake();
	start = loop_clock_us(b.loop); /* a machine that is busy otherwise takes longer for it */
	job_start(job, steps, NULL);
	assert_int_equal(loop_run(b.loop), 0);
	assert_in_range(asked_by_storm, 1,
			(loop_clock_us(b.loop) - start) / REQUEST_US / 16 + 2 * 16);
	job_free(job);
	end(&b);
}

/* Until so many requests were served; a machine that has no time for us gives it later. */
static void run_until_asked(struct bench *b, unsigned count)
{
	for (unsigned i = 0; i < 10000 && asked_by_storm < count; i++) {
		loop_timer_set(b->stop, SLICE_US);
		assert_int_equal(loop_run(b->loop), 0);
	}
	assert_true(asked_by_storm >= count);
}

/*
 * While a fault waits for switches there is no work in slices, and requests have no more of the
 * time for it.
 */
static void a_storm_has_its_part_while_a_fault_waits_for_switches_too(void **state)
{
	struct bench b = begin_storm();
	uint64_t start, took;

	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	wake();
	loop_busy_for(b.loop, 1000000000);
	start = loop_clock_us(b.loop);
	run_until_asked(&b, 100);
	took = loop_clock_us(b.loop) - start;
	assert_in_range(asked_by_storm, 100, took / REQUEST_US / 16 + 2 * 16);
	loop_busy_for(b.loop, 0);
	run_until_asked(&b, asked_by_storm + 1000); /* all are served again */
	end(&b);
}

static void smps_are_read_while_requests_are_left_unread(void **state)
{
	struct bench b = begin_storm();

	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	wake();
	loop_busy_for(b.loop, 1000000000);
	run_until_asked(&b, 1);
	m.waiting[0] = 20;
	wake();
	run_until_asked(&b, asked_by_storm + 20);
	assert_int_equal(m.waiting[0], 0);
	end(&b);
}

static void requests_for_tables_and_others_are_read_by_turns(void **state)
{
	struct bench b = begin_reading();
	unsigned tables = 0;

	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	m.waiting[1] = 300;
	m.waiting[2] = 200;
	wake();
	run(&b);
	assert_int_equal(m.waiting[1] + m.waiting[2] + m.waiting[0], 0);
	for (unsigned i = 0; i < 64; i++)
		tables += m.taken[i] == 't';
	assert_int_equal(tables, 32);
	end(&b);
}

/*
 * A run may end without a look at descriptors, if this process was held up for as long as its timer
 * lasts.
 */
static void run_until_taken(struct bench *b, unsigned count)
{
	for (unsigned i = 0; i < PATIENCE && m.ntaken < count; i++) {
		loop_timer_set(b->stop, 1000);
		assert_int_equal(loop_run(b->loop), 0);
	}
}

static void on_a_simulator_sa_requests_wait_until_all_is_read(void **state)
{
	struct bench b;

	m.simulator = true;
	b = begin_reading();
	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(m.opened, 1);
	m.waiting[0] = 20;
	m.waiting[1] = 100;
	run_until_taken(&b, 120);
	assert_true(m.ntaken >= 120);
	assert_memory_equal(m.taken, "ssssssssssssssssssssr", 21);
	end(&b);
}

static void a_long_message_does_not_leave_a_large_buffer(void **state)
{
	struct bench b = begin_reading();

	b.io->arg = &b;
	assert_int_equal(open_port(&b), 0);
	m.longer = 3000000;
	m.waiting[1] = 1;
	wake();
	run_until_taken(&b, 1);
	assert_int_equal(m.ntaken, 1);
	assert_int_equal(m.room, WIRE_MAD_SIZE);
	end(&b);
}

static int retries_of(struct bench *b, uint8_t mgmt_class, uint8_t rmpp_flags, size_t len)
{
	const struct io_addr to = { .lid = 3, .qp = 1 };
	uint8_t *mad = calloc(1, len);

	mad[1] = mgmt_class;
	mad[26] = rmpp_flags;
	assert_int_equal(b->io->ops->send(b->io, &to, mad, len, 0), 0);
	free(mad);
	return m.retries;
}

/*
 * What a port answers comes back by the descriptor that asked: those of counters take no place
 * behind a storm of requests to the SA.
 */
static void counters_are_asked_for_where_smps_are(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	assert_int_equal(open_port(&b), 0);
	retries_of(&b, WIRE_PERF, 0, WIRE_MAD_SIZE);
	assert_int_equal(m.sent_by, 0);
	retries_of(&b, WIRE_SMI_LID, 0, WIRE_MAD_SIZE);
	assert_int_equal(m.sent_by, 0);
	retries_of(&b, WIRE_SA, 0, WIRE_MAD_SIZE);
	assert_int_equal(m.sent_by, 1);
	end(&b);
}

/*
 * The kernel's own wait for an acknowledgement is 2 s: at 1% loss an answer of thousands of records
 * would take longer than the 40 s it has.
 */
static void a_segment_that_is_lost_costs_a_long_answer_a_moment(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, 400000), 39);
	assert_int_equal(m.wait_ms, 200);
	assert_int_equal((m.retries + 1) * m.wait_ms * 1000, UMAD_WRITER_LIFE_US);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, WIRE_MAD_SIZE), 3);
	assert_int_equal(m.wait_ms, 0); /* else the kernel hands each of these back */
	end(&b);
}

/* An acknowledgement that is lost, or a segment, is not the end of the answer. */
static void long_answers_are_sent_again_by_the_kernel(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	b = begin(0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, 400000), 39);
	assert_int_equal(retries_of(&b, WIRE_SA, 1, WIRE_MAD_SIZE), 3);
	assert_int_equal(retries_of(&b, WIRE_SA, 0, WIRE_MAD_SIZE), 0);
	assert_int_equal(retries_of(&b, WIRE_SMI_DR, 1, WIRE_MAD_SIZE), 0);
	end(&b);
}

/* ---- Which port ------------------------------------------------------------------------------ */

static void the_first_with_a_link_is_chosen(void **state)
{
	struct bench b;

	add_port(POLLING, 0);
	add_port(LINK_UP, 0);
	add_port(LINK_UP, 0);
	m.ports[2].state = 4; /* somebody manages what is behind it */
	b = begin(0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(chosen(&b), 2);
	assert_true(mad_port_info(b.mad)->link);
	end(&b);
}

static void as_long_as_none_has_one_it_is_chosen_again(void **state)
{
	struct bench b;

	add_port(POLLING, 0);
	add_port(POLLING, 0);
	b = begin(0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(chosen(&b), 1);
	assert_false(mad_choose(b.mad, false));
	m.ports[1].phys_state = LINK_UP;
	assert_true(mad_choose(b.mad, false));
	mad_close(b.mad);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(chosen(&b), 2);
	end(&b);
}

/* After a reset the other port may be there, and up, before it. */
static void the_one_that_had_a_link_stays_the_choice(void **state)
{
	struct bench b;

	add_port(LINK_UP, 0);
	add_port(LINK_UP, 0);
	b = begin(0);
	assert_int_equal(open_port(&b), 0);
	assert_false(mad_choose(b.mad, true));
	mad_close(b.mad);
	m.ports[0].port_guid = htobe64(0x999);
	assert_int_equal(open_port(&b), -ENODEV);
	m.ports[0].port_guid = htobe64(0x101);
	m.ports[0].phys_state = POLLING;
	assert_false(mad_choose(b.mad, false));
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(chosen(&b), 1);
	end(&b);
}

static void one_that_is_no_manager_s_is_taken_only_when_it_is_named(void **state)
{
	struct bench b;

	add_port(LINK_UP, DISABLED);
	b = begin(0);
	assert_int_equal(open_port(&b), -ENODEV);
	add_port(POLLING, 0);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(chosen(&b), 2);
	end(&b);
	b = begin(0x101);
	assert_int_equal(open_port(&b), 0);
	assert_int_equal(chosen(&b), 1);
	end(&b);
}

static void an_adapter_that_leads_to_nvswitches_says_so_in_its_product_data(void **state)
{
	char path[] = "/tmp/fmd-test-XXXXXX";
	static const char vpd[] = "\x82\x04\x00"
				  "CX-7\0\0SMDL\x06SW_MNG\x78";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_false(umad_port_manages_nvswitches(path));
	assert_int_equal(write(fd, vpd, sizeof(vpd)), sizeof(vpd));
	close(fd);
	assert_true(umad_port_manages_nvswitches(path));
	unlink(path);
	assert_false(umad_port_manages_nvswitches(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_device_that_is_not_there_is_opened_when_it_is, setup),
		cmocka_unit_test_setup(a_device_that_goes_is_told_once_and_opened_again, setup),
		cmocka_unit_test_setup(so_it_is_when_it_refuses_what_is_sent, setup),
		cmocka_unit_test_setup(what_the_kernel_gives_back_is_heeded, setup),
		cmocka_unit_test_setup(
			what_another_manager_has_is_busy_and_what_is_forbidden_is_not, setup),
		cmocka_unit_test_setup(smps_are_read_before_sa_requests, setup),
		cmocka_unit_test_setup(a_storm_of_requests_takes_a_twentieth_from_an_update, setup),
		cmocka_unit_test_setup(a_storm_has_its_part_while_a_fault_waits_for_switches_too,
				       setup),
		cmocka_unit_test_setup(smps_are_read_while_requests_are_left_unread, setup),
		cmocka_unit_test_setup(counters_are_asked_for_where_smps_are, setup),
		cmocka_unit_test_setup(requests_for_tables_and_others_are_read_by_turns, setup),
		cmocka_unit_test_setup(on_a_simulator_sa_requests_wait_until_all_is_read, setup),
		cmocka_unit_test_setup(a_long_message_does_not_leave_a_large_buffer, setup),
		cmocka_unit_test_setup(long_answers_are_sent_again_by_the_kernel, setup),
		cmocka_unit_test_setup(a_segment_that_is_lost_costs_a_long_answer_a_moment, setup),
		cmocka_unit_test_setup(the_first_with_a_link_is_chosen, setup),
		cmocka_unit_test_setup(as_long_as_none_has_one_it_is_chosen_again, setup),
		cmocka_unit_test_setup(the_one_that_had_a_link_stays_the_choice, setup),
		cmocka_unit_test_setup(one_that_is_no_manager_s_is_taken_only_when_it_is_named,
				       setup),
		cmocka_unit_test_setup(
			an_adapter_that_leads_to_nvswitches_says_so_in_its_product_data, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
