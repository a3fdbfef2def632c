/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "tests/lib/fake_umad.h"

struct machine machine;

int umad_init(void)
{
	return 0;
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	strcpy(cas[0], "mlx5_0");
	return machine.absent ? 0 : 1;
}

int umad_get_ca(const char *name, umad_ca_t *ca)
{
	memset(ca, 0, sizeof(*ca));
	strcpy(ca->ca_name, "mlx5_0");
	for (unsigned i = 0; i < machine.nports; i++)
		ca->ports[i + 1] = &machine.ports[i];
	return machine.absent ? -ENODEV : 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	return 0;
}

int umad_open_port(const char *name, int num)
{
	errno = machine.absent ? ENODEV : machine.forbid;
	if (errno)
		return -EIO;
	machine.dead = false;
	for (int i = 0; i < HANDLES; i++) {
		if (machine.fds[i])
			continue;
		machine.opened++;
		machine.fds[i] = eventfd(0, EFD_NONBLOCK);
		return i;
	}
	fail_msg("a fourth descriptor");
	return -1;
}

int umad_close_port(int port)
{
	int fd = machine.fds[port];

	machine.closed++;
	machine.fds[port] = 0;
	return close(fd);
}

int umad_get_fd(int port)
{
	return machine.simulator ? NO_FD : machine.fds[port];
}

int umad_register(int port, int mgmt_class, int version, uint8_t rmpp, long mask[16 / sizeof(long)])
{
	bool tables = mgmt_class == WIRE_SA && mask[0] & 1L << WIRE_GET_TABLE;

	if (!machine.simulator && !machine.refuse)
		assert_int_equal(
			port, tables ? 2
				     : mgmt_class ==
					       /* answers of counters do not wait behind requests */
					       WIRE_SA);
	if (!machine.simulator && tables)
		assert_false(mask[0] & 1L << WIRE_GET);
	errno = machine.refuse;
	return machine.refuse ? -EPERM : mgmt_class;
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
	errno = machine.dead ? EIO : 0;
	machine.sent++;
	machine.sent_by = port;
	machine.retries = retries;
	machine.wait_ms = ms;
	return machine.dead ? -EIO : 0;
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
	machine.give_back = false;
	return 1;
}

/* A Get, of the class that waits there; on a simulator SA requests first. */
static int give_waiting(int port, struct ib_user_mad *umad, int *len)
{
	uint8_t *mad = umad_get_mad(umad);
	bool sa = machine.simulator ? machine.waiting[1] > 0 : port > 0;

	machine.waiting[machine.simulator ? sa : port]--;
	memset(umad, 0, umad_size() + WIRE_MAD_SIZE);
	mad[0] = 1;
	mad[1] = sa ? WIRE_SA : WIRE_SMI_LID;
	mad[2] = sa ? 2 : 1;
	mad[3] = sa ? port == 2 ? WIRE_GET_TABLE : WIRE_GET : WIRE_TRAP;
	*len = machine.longer ? machine.longer : WIRE_MAD_SIZE;
	machine.longer = 0;
	return 1;
}

int umad_recv(int port, void *umad, int *len, int ms)
{
	if (machine.dead)
		return -EIO; /* since Linux 5.12; with EPOLLERR */
	if (machine.give_back)
		return give_back(umad, len);
	machine.room = *len;
	if (machine.longer > *len) {
		*len = machine.longer;
		return -ENOSPC;
	}
	if (machine.simulator ? machine.waiting[0] + machine.waiting[1] : machine.waiting[port])
		return give_waiting(port, umad, len);
	return -EAGAIN;
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

void umad_bench_run(struct umad_bench *b)
{
	loop_timer_set(b->stop, 10000000);
	assert_int_equal(loop_run(b->loop), 0);
}

void umad_bench_add_port(unsigned phys_state, uint32_t capmask)
{
	umad_port_t *port = &machine.ports[machine.nports++];

	strcpy(port->ca_name, "mlx5_0");
	strcpy(port->link_layer, "InfiniBand");
	port->portnum = (int)machine.nports;
	port->port_guid = htobe64(0x100 + machine.nports);
	port->phys_state = phys_state;
	port->capmask = htobe32(capmask);
	port->state = phys_state == LINK_UP ? 2 : 1;
}

struct umad_bench umad_bench_begin(guid_t guid)
{
	const struct mad_conf conf = { .timeout_ms = 20 };
	struct umad_bench b = { .loop = loop_new() };
	char named[32];

	log_set_level(-1, LOG_ERR - 1);
	snprintf(named, sizeof(named), "0x%016llx", (unsigned long long)guid);
	b.io = io_umad_new(b.loop, named, "", 0);
	b.mad = mad_new(b.loop, b.io, &conf);
	b.stop = loop_timer_new(b.loop, stop_cb, b.loop);
	return b;
}

void umad_bench_end(struct umad_bench *b)
{
	loop_timer_free(b->stop);
	mad_free(b->mad);
	loop_free(b->loop);
	assert_int_equal(machine.opened, machine.closed);
}

int umad_bench_setup(void **state)
{
	machine = (struct machine){ 0 };
	return 0;
}

int umad_bench_open(struct umad_bench *b)
{
	char err[256] = "";
	int status = mad_open(b->mad, err, sizeof(err));

	assert_true(!status == !err[0]);
	assert_true(mad_is_open(b->mad) == !status);
	return status;
}

void umad_bench_wake(void)
{
	const uint64_t one = 1;

	for (int i = 0; i < HANDLES; i++)
		if (machine.fds[i])
			assert_int_equal(write(machine.fds[i], &one, sizeof(one)), sizeof(one));
}
