/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain. */
/*
 * What reading registers costs where there are 98,304 ends of links, of 16,384 HCAs and 1,280
 * switches: requests by kind in an hour, and in each second of it. The processor time of that hour,
 * with the agents of this test, is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "fm/mad/mad.h"
#include "fm/mad/wire_optional.h"
#include "fm/registers/registers.h"

#define HCAS	 16384
#define SWITCHES 1280
#define PORTS	 64
#define ENDS	 (HCAS + SWITCHES * PORTS)
#define SECOND	 1000000ull
#define HOUR_S	 3600
#define DAY_S	 86400
#define AGENT_US 50
#define WAITING	 64

struct site {
	struct io io;
	struct loop *loop;
	struct mad *mad;
	struct inventory inv;
	struct registers *registers;
	struct loop_timer *stop, *answers;
	struct inv_node *hcas[HCAS], *switches[SWITCHES];
	uint8_t waiting[WAITING][WIRE_MAD_SIZE];
	uint16_t lids[WAITING];
	unsigned nwaiting, asked; /* asked: in all */
	uint64_t key;
	bool may;
};

/* ---- Agents: all that is asked for is answered, soundly -------------------------------------- */

static void answer(uint8_t *mad)
{
	uint8_t *data = wire_gmp_data(mad), port, page;
	struct wire_mad m;

	assert_int_equal(wire_mad_decode(mad, WIRE_MAD_SIZE, &m), 0);
	assert_int_equal(m.method, WIRE_GET);
	if (m.attr_id == WIRE_VENDOR_INFO) {
		const struct wire_device device = { .major = 31, .up_s = 1000 };

		memset(data, 0, WIRE_GMP_DATA);
		wire_device_encode(&device, data + WIRE_VENDOR_INFO_OFFSET);
		data[WIRE_VENDOR_CAPS_OFFSET + 1] = 1 << 4;
	} else {
		assert_int_equal(m.attr_id, WIRE_ACCESS_REGISTER);
		wire_register_about(m.attr_mod, data, &port, &page);
		if (page == WIRE_PDDR_MODULE) {
			struct wire_module module = { .kind = WIRE_MODULE_PASSIVE };

			snprintf((char *)module.serial, sizeof(module.serial), "SN%u", m.attr_mod);
			wire_module_encode(&module, wire_register_page(data));
		} else {
			const struct wire_ber ber = { .raw_magnitude = 9,
						      .effective_magnitude = 15 };

			assert_int_equal(page, WIRE_PPCNT_BER);
			wire_ber_encode(&ber, wire_register_page(data));
		}
	}
	m.method = WIRE_GET_RESP;
	wire_mad_encode(&m, mad);
}

static int send_cb(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		   unsigned timeout_ms)
{
	struct site *s = (struct site *)io;

	assert_true(s->nwaiting < WAITING);
	s->lids[s->nwaiting] = to->lid;
	memcpy(s->waiting[s->nwaiting++], mad, WIRE_MAD_SIZE);
	s->asked++;
	loop_timer_set(s->answers, AGENT_US);
	return 0;
}

static void answers_cb(void *arg)
{
	struct site *s = arg;
	uint8_t now[WAITING][WIRE_MAD_SIZE];
	uint16_t lids[WAITING];
	unsigned count = s->nwaiting;

	memcpy(now, s->waiting, sizeof(now));
	memcpy(lids, s->lids, sizeof(lids));
	s->nwaiting = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct io_addr from = { .qp = 1, .lid = lids[i] };

		answer(now[i]);
		s->io.recv(s->io.arg, &from, now[i], WIRE_MAD_SIZE);
	}
}

static void stop_cb(void *arg)
{
	loop_stop(((struct site *)arg)->loop);
}

static void free_cb(struct io *io)
{
}

/* ---- The room's part ------------------------------------------------------------------------- */

static bool may_cb(void *arg)
{
	return ((struct site *)arg)->may;
}

static void ended_cb(void *arg, guid_t node, uint8_t port)
{
}

static bool module_cb(void *arg, guid_t node, uint8_t port, const struct wire_module *module)
{
	return true;
}

static void hot_cb(void *arg, const struct inv_node *node, uint8_t port,
		   const struct wire_module *module)
{
	fail();
}

static void lapped_cb(void *arg)
{
}

static void rebooted_cb(void *arg, guid_t node, const struct wire_device *before,
			const struct wire_device *now)
{
	fail();
}

/* ---- A fabric -------------------------------------------------------------------------------- */

static struct inv_node *add(struct site *s, uint8_t type, guid_t guid, uint8_t nports)
{
	const struct wire_node_info info = { .type = type,
					     .node_guid = guid,
					     .port_guid = guid,
					     .nports = nports,
					     .vendor = 0x0002c9,
					     .device = 0xd2f2 };

	return inventory_add(&s->inv, &info);
}

static void join(struct site *s, struct inv_node *a, unsigned port, struct inv_node *b,
		 unsigned far)
{
	inventory_link(&s->inv, a, (uint8_t)port, b, (uint8_t)far);
	a->ports[port].link_up = b->ports[far].link_up = true;
	a->ports[port].state = b->ports[far].state = TOPO_ACTIVE;
}

/* HCAs at the first switches, 32 each; all other ports are joined in pairs. */
static void begin(struct site *s)
{
	static const struct io_ops io_ops = { .send = send_cb, .free = free_cb };
	static const struct mad_conf mad_conf = {
		.window_max = 64, .window_device = 8, .timeout_ms = 200, .retries = 3
	};
	static const struct registers_ops ops = { may_cb,    ended_cb,	  module_cb, hot_cb,
						  lapped_cb, rebooted_cb, lapped_cb, NULL };
	unsigned port = 0;

	memset(s, 0, sizeof(*s));
	s->may = true;
	s->io.ops = &io_ops;
	s->loop = loop_new_simulated();
	s->mad = mad_new(s->loop, &s->io, &mad_conf);
	s->stop = loop_timer_new(s->loop, stop_cb, s);
	s->answers = loop_timer_new(s->loop, answers_cb, s);
	inventory_init(&s->inv);
	for (unsigned i = 0; i < SWITCHES; i++) {
		s->switches[i] = add(s, TOPO_SWITCH, 0x100000 + i, PORTS);
		s->switches[i]->ports[0].lid = (uint16_t)(1 + i);
		s->switches[i]->ports[0].capmask = WIRE_CAP_HIERARCHY; /* cages are known */
	}
	for (unsigned i = 0; i < HCAS; i++) {
		s->hcas[i] = add(s, TOPO_CA, 0x200000 + i, 1);
		s->hcas[i]->ports[1].lid = (uint16_t)(10000 + i);
		join(s, s->switches[i / 32], 1 + i % 32, s->hcas[i], 1);
	}
	for (unsigned i = 0; i < SWITCHES * PORTS; i++) {
		unsigned sw = i / PORTS, num = 1 + i % PORTS;

		if (s->switches[sw]->ports[num].peer)
			continue;
		if (port)
			join(s, s->switches[(port - 1) / PORTS], 1 + (port - 1) % PORTS,
			     s->switches[sw], num);
		port = port ? 0 : i + 1;
	}
	s->registers = registers_new(s->loop, s->mad, &s->inv, &s->key, &ops, s);
}

static void end(struct site *s)
{
	registers_free(s->registers);
	mad_free(s->mad);
	inventory_fini(&s->inv);
	loop_timer_free(s->stop);
	loop_timer_free(s->answers);
	loop_free(s->loop);
	free(s);
}

static void run_s(struct site *s, unsigned seconds)
{
	loop_timer_set(s->stop, seconds * SECOND);
	loop_run(s->loop);
}

static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint64_t asked(const struct site *s, unsigned kind)
{
	return registers_counts(s->registers, kind).asked;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void an_hour_reads_the_bit_errors_of_each_end_once_within_30_requests_a_second(void **state)
{
	struct site *s = calloc(1, sizeof(*s));
	uint64_t bit_errors, modules, before;
	double cpu;

	begin(s);
	run_s(s, 3 * HOUR_S); /* what is read once, and is behind itself once more */
	assert_int_equal(registers_counts(s->registers, REGISTER_KINDS).read, HCAS + SWITCHES);
	assert_true(registers_counts(s->registers, REGISTER_MODULE).read >= ENDS);
	assert_true(registers_counts(s->registers, REGISTER_BER).read >= ENDS);
	bit_errors = asked(s, REGISTER_BER);
	modules = asked(s, REGISTER_MODULE);
	before = s->asked;
	cpu = cpu_s();
	for (unsigned second = 0; second < HOUR_S; second += 10) {
		unsigned from = s->asked;

		run_s(s, 10);
		assert_true(s->asked - from <= 10 * 30 + 6);
	}
	cpu = cpu_s() - cpu;
	printf("%u ends: %.1f requests a second, %.3f %% of a core\n", ENDS,
	       (double)(s->asked - before) / HOUR_S, 100 * cpu / HOUR_S);
	assert_true(s->asked - before <= 30 * HOUR_S);
	assert_in_range(asked(s, REGISTER_BER) - bit_errors, ENDS * 98 / 100, ENDS);
	assert_true(asked(s, REGISTER_MODULE) - modules <= 3 * ENDS / 24);
	end(s);
}

/* All ports count errors in each pass of a minute: laps have half of the requests still. */
static void ports_that_are_watched_leave_requests_for_others(void **state)
{
	struct site *s = calloc(1, sizeof(*s));
	uint64_t devices;
	unsigned before;

	begin(s);
	run_s(s, 600);
	before = s->asked;
	devices = registers_counts(s->registers, REGISTER_MODULE).read;
	for (unsigned tick = 0; tick < 600 * 10; tick++) {
		loop_timer_set(s->stop, SECOND / 10);
		loop_run(s->loop);
		for (unsigned i = 0; i < 164; i++) {
			unsigned end_of = (tick * 164 + i) % (SWITCHES * PORTS);

			registers_watch(s->registers, s->switches[end_of / PORTS]->guid,
					(uint8_t)(1 + end_of % PORTS));
		}
	}
	assert_true(s->asked - before <= 600 * 30 + 6);
	assert_true(s->asked - before >= 600 * 25);
	assert_true(registers_counts(s->registers, REGISTER_MODULE).read - devices >= 600 * 5);
	end(s);
}

static void nothing_is_read_while_something_else_is_under_way(void **state)
{
	struct site *s = calloc(1, sizeof(*s));
	unsigned before;

	begin(s);
	run_s(s, 60);
	before = s->asked;
	assert_true(before > 0);
	s->may = false;
	run_s(s, 60);
	registers_watch(s->registers, s->switches[0]->guid, 1);
	assert_false(registers_read(s->registers, s->switches[0]->guid, 1));
	assert_int_equal(s->asked, before);
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_hour_reads_the_bit_errors_of_each_end_once_within_30_requests_a_second),
		cmocka_unit_test(ports_that_are_watched_leave_requests_for_others),
		cmocka_unit_test(nothing_is_read_while_something_else_is_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
