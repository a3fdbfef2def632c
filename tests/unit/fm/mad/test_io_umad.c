/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* io_umad on a libibumad that the test plays: the device, and which port is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/mad/umad_own.h"
#include "tests/lib/fake_umad.h"

static void lost_cb(void *arg, const char *why)
{
	struct umad_bench *b = arg;

	b->losses++;
	snprintf(b->why, sizeof(b->why), "%s", why);
	loop_stop(b->loop);
}

static void failed_cb(void *arg, uint64_t tid)
{
	struct umad_bench *b = arg;

	b->failed = tid;
	loop_stop(b->loop);
}

static unsigned chosen(const struct umad_bench *b)
{
	return mad_port_info(b->mad)->port;
}

static void nobody_cares(void *arg, const struct mad_answer *answer)
{
	loop_stop(arg);
}

static void ask(struct umad_bench *b)
{
	mad_send(b->mad, &(struct mad_request){ .method = WIRE_GET, .attr_id = WIRE_NODE_INFO },
		 nobody_cares, b->loop);
}

static void a_device_that_is_not_there_is_opened_when_it_is(void **state)
{
	struct umad_bench b = umad_bench_begin(0);

	machine.absent = true;
	assert_int_equal(umad_bench_open(&b), -ENODEV);
	ask(&b); /* ends, unsent */
	umad_bench_run(&b);
	assert_int_equal(machine.sent, 0);
	machine.absent = false;
	assert_int_equal(umad_bench_open(&b), -ENODEV); /* its ports come a moment later */
	umad_bench_add_port(LINK_UP, 0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(machine.opened, HANDLES);
	umad_bench_end(&b);
}

static void a_device_that_goes_is_reported_once_and_opened_again(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	mad_on_lost(b.mad, lost_cb, &b);
	for (unsigned i = 1; i <= 3; i++) {
		assert_int_equal(umad_bench_open(&b), 0);
		machine.dead = true;
		umad_bench_wake();
		umad_bench_run(&b);
		assert_int_equal(b.losses, i);
		assert_false(mad_is_open(b.mad));
		assert_non_null(strstr(b.why, "mlx5_0 port 1: the device has gone"));
		assert_int_equal(machine.closed, i * HANDLES);
	}
	umad_bench_end(&b);
}

/* What is sent may meet it first, and older kernels tell nobody else. */
static void so_it_is_when_it_refuses_what_is_sent(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	mad_on_lost(b.mad, lost_cb, &b);
	assert_int_equal(umad_bench_open(&b), 0);
	machine.dead = true;
	ask(&b);
	umad_bench_run(&b);
	assert_int_equal(b.losses, 1);
	assert_int_equal(umad_bench_open(&b), 0);
	umad_bench_end(&b);
}

static void requests_that_the_kernel_hands_back_are_completed(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	b.io->failed = failed_cb;
	b.io->arg = &b;
	assert_int_equal(umad_bench_open(&b), 0);
	machine.give_back = true;
	umad_bench_wake();
	umad_bench_run(&b);
	assert_int_equal(b.failed, TID_GIVEN);
	umad_bench_end(&b);
}

static void what_another_manager_has_is_busy_and_what_is_forbidden_is_not(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	machine.refuse = EINVAL;
	assert_int_equal(umad_bench_open(&b), -EBUSY);
	machine.refuse = EIO;
	assert_int_equal(umad_bench_open(&b), -ENODEV);
	machine.refuse = 0;
	machine.forbid = EPERM;
	assert_int_equal(umad_bench_open(&b), -EPERM);
	machine.forbid = EACCES;
	assert_int_equal(umad_bench_open(&b), -EACCES);
	machine.forbid = 0;
	assert_int_equal(umad_bench_open(&b), 0);
	umad_bench_end(&b);
}

static void the_first_with_a_link_is_chosen(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(POLLING, 0);
	umad_bench_add_port(LINK_UP, 0);
	umad_bench_add_port(LINK_UP, 0);
	machine.ports[2].state = 4; /* somebody manages what is behind it */
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(chosen(&b), 2);
	assert_true(mad_port_info(b.mad)->link);
	umad_bench_end(&b);
}

static void as_long_as_none_has_one_it_is_chosen_again(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(POLLING, 0);
	umad_bench_add_port(POLLING, 0);
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(chosen(&b), 1);
	assert_false(mad_choose(b.mad, false));
	machine.ports[1].phys_state = LINK_UP;
	assert_true(mad_choose(b.mad, false));
	mad_close(b.mad);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(chosen(&b), 2);
	umad_bench_end(&b);
}

/* After a reset the other port may be there, and up, before it. */
static void the_one_that_had_a_link_stays_the_choice(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, 0);
	umad_bench_add_port(LINK_UP, 0);
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_false(mad_choose(b.mad, true));
	mad_close(b.mad);
	machine.ports[0].port_guid = htobe64(0x999);
	assert_int_equal(umad_bench_open(&b), -ENODEV);
	machine.ports[0].port_guid = htobe64(0x101);
	machine.ports[0].phys_state = POLLING;
	assert_false(mad_choose(b.mad, false));
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(chosen(&b), 1);
	umad_bench_end(&b);
}

static void one_that_is_no_manager_s_is_taken_only_when_it_is_named(void **state)
{
	struct umad_bench b;

	umad_bench_add_port(LINK_UP, DISABLED);
	b = umad_bench_begin(0);
	assert_int_equal(umad_bench_open(&b), -ENODEV);
	umad_bench_add_port(POLLING, 0);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(chosen(&b), 2);
	umad_bench_end(&b);
	b = umad_bench_begin(0x101);
	assert_int_equal(umad_bench_open(&b), 0);
	assert_int_equal(chosen(&b), 1);
	umad_bench_end(&b);
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
		cmocka_unit_test_setup(a_device_that_is_not_there_is_opened_when_it_is,
				       umad_bench_setup),
		cmocka_unit_test_setup(a_device_that_goes_is_reported_once_and_opened_again,
				       umad_bench_setup),
		cmocka_unit_test_setup(so_it_is_when_it_refuses_what_is_sent, umad_bench_setup),
		cmocka_unit_test_setup(requests_that_the_kernel_hands_back_are_completed,
				       umad_bench_setup),
		cmocka_unit_test_setup(
			what_another_manager_has_is_busy_and_what_is_forbidden_is_not,
			umad_bench_setup),
		cmocka_unit_test_setup(the_first_with_a_link_is_chosen, umad_bench_setup),
		cmocka_unit_test_setup(as_long_as_none_has_one_it_is_chosen_again,
				       umad_bench_setup),
		cmocka_unit_test_setup(the_one_that_had_a_link_stays_the_choice, umad_bench_setup),
		cmocka_unit_test_setup(one_that_is_no_manager_s_is_taken_only_when_it_is_named,
				       umad_bench_setup),
		cmocka_unit_test_setup(
			an_adapter_that_leads_to_nvswitches_says_so_in_its_product_data,
			umad_bench_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
