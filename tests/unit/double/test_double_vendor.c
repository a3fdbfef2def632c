/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric double's class of NVIDIA's devices, GeneralInfo. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "tests/fabric/double_world.h"

#define VENDOR	     0x0a
#define GENERAL_INFO 0x17

/* h2 asks a device. */
static struct double_heard ask(struct double_world *w, uint16_t lid, uint8_t method,
			       uint16_t attr_id)
{
	const struct wire_mad header = { .mgmt_class = VENDOR,
					 .class_version = 1,
					 .method = method,
					 .tid = 77,
					 .attr_id = attr_id };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	return double_world_ask_gmp(w, lid, mad);
}

static uint32_t uptime(const struct double_heard *heard)
{
	const uint8_t *at = heard->mad + 32 + 28;

	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static void a_device_reports_its_firmware_and_how_long_it_runs(void **state)
{
	struct double_world w;
	struct dnode *node;
	struct double_heard heard;
	uint16_t lid;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	node = double_node(w.d, SPINE);
	node->ni.vendor = 0x0002c9;
	node->ni.device = 0xd2f2;
	lid = node->ports[0].info.lid;
	heard = ask(&w, lid, WIRE_GET, GENERAL_INFO);
	assert_int_equal(heard.count, 1);
	assert_int_equal(heard.mad[3], WIRE_GET_RESP);
	assert_int_equal(heard.mad[5], 0);
	assert_int_equal(heard.mad[32 + 2] << 8 | heard.mad[32 + 3], 0xd2f2);
	node->booted_us = loop_now_us(w.loop) - 90000000;
	heard = ask(&w, lid, WIRE_GET, GENERAL_INFO);
	assert_int_equal(uptime(&heard), 90);
	double_world_fini(&w);
}

static void what_it_does_not_know_is_refused_and_others_have_no_such_agent(void **state)
{
	struct double_world w;
	struct dnode *node;
	uint16_t lid;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	node = double_node(w.d, SPINE);
	lid = node->ports[0].info.lid;
	node->ni.vendor = 0x0002c9;
	assert_int_equal(ask(&w, lid, WIRE_GET, 0x12).mad[5], 0x0c);
	assert_int_equal(ask(&w, lid, WIRE_SET, GENERAL_INFO).mad[5], 0x08);
	node->ni.vendor = 0x001175;
	assert_int_equal(ask(&w, lid, WIRE_GET, GENERAL_INFO).count, 0);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_reports_its_firmware_and_how_long_it_runs),
		cmocka_unit_test(what_it_does_not_know_is_refused_and_others_have_no_such_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
