/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric double's congestion control agents: class 0x21 as a congestion manager uses it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/double_world.h"

#define CC	0x21
#define CC_KEY	24
#define CC_DATA 64

/* h2 asks; the status, or -1 where nothing comes. `data` gets the answer's. */
static int ask(struct double_world *w, uint16_t lid, uint8_t method, uint16_t attr_id, uint32_t mod,
	       uint64_t key, uint8_t data[192])
{
	const struct wire_mad header = { .mgmt_class = CC,
					 .class_version = 2,
					 .method = method,
					 .tid = 77,
					 .attr_id = attr_id,
					 .attr_mod = mod };
	struct double_heard heard;
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[CC_KEY + i] = (uint8_t)(key >> (56 - 8 * i));
	memcpy(mad + CC_DATA, data, 192);
	heard = double_world_ask_gmp(w, lid, mad);
	if (!heard.count)
		return -1;
	memcpy(data, heard.mad + CC_DATA, 192);
	return heard.mad[4] << 8 | heard.mad[5];
}

static void what_is_set_is_held_and_read_back(void **state)
{
	uint8_t data[192] = { 0 };
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	data[3] = 0x1f;	  /* control map */
	data[4 + 31] = 6; /* victim mask */
	data[75] = 9;	  /* marking rate */
	assert_int_equal(ask(&w, LID_SPINE, WIRE_SET, 0x14, 0, 0, data), 0);
	assert_int_equal(double_cc(w.d, SPINE, 0, 0x14, 0)[75], 9);
	memset(data, 0, sizeof(data));
	assert_int_equal(ask(&w, LID_SPINE, WIRE_GET, 0x14, 0, 0, data), 0);
	assert_int_equal(data[4 + 31], 6);
	data[0] = 0;
	data[1] = 127; /* CCTI limit */
	assert_int_equal(ask(&w, LID_H1, WIRE_SET, 0x17, 1, 0, data), 0);
	assert_int_equal(double_cc(w.d, H1, 1, 0x17, 1)[1], 127);
	assert_null(double_cc(w.d, H1, 1, 0x17, 0));
	double_reboot(w.d, SPINE);
	assert_null(double_cc(w.d, SPINE, 0, 0x14, 0));
	double_world_fini(&w);
}

static void each_kind_of_node_has_its_own_attributes(void **state)
{
	uint8_t data[192] = { 0 };
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	assert_int_equal(ask(&w, LID_H1, WIRE_SET, 0x14, 0, 0, data), 0x0c);
	assert_int_equal(ask(&w, LID_SPINE, WIRE_SET, 0x16, 0, 0, data), 0x0c);
	assert_int_equal(ask(&w, LID_H1, WIRE_GET, 0x11, 0, 0, data), 0);
	assert_int_equal(data[2], 2); /* blocks of the table.. */
	assert_int_equal(ask(&w, LID_H1, WIRE_SET, 0x17, 2, 0, data), 0x1c); /* ..and no more */
	assert_int_equal(ask(&w, LID_LEAF1, WIRE_SET, 0x15, 1, 0, data), 0);
	assert_int_equal(ask(&w, LID_LEAF1, WIRE_SET, 0x15, 2, 0, data), 0x1c); /* 40 ports */
	assert_int_equal(ask(&w, LID_LEAF1, WIRE_GET, 0x01, 0, 0, data), 0);
	assert_int_equal(data[1], 2);
	double_set_no_cc(w.d, LEAF1, true);
	assert_int_equal(ask(&w, LID_LEAF1, WIRE_GET, 0x01, 0, 0, data), 0x0c);
	double_world_fini(&w);
}

static void a_key_is_asked_for(void **state)
{
	uint8_t data[192] = { [7] = 0x42, [8] = 0x80 };
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	assert_int_equal(ask(&w, LID_SPINE, WIRE_SET, 0x12, 0, 0, data), 0);
	assert_int_equal(ask(&w, LID_SPINE, WIRE_GET, 0x12, 0, 0, data), -1);
	assert_int_equal(ask(&w, LID_SPINE, WIRE_SET, 0x14, 0, 0x41, data), -1);
	assert_int_equal(ask(&w, LID_SPINE, WIRE_GET, 0x12, 0, 0x42, data), 0);
	assert_int_equal(data[7], 0x42);
	assert_int_equal(data[13], 2); /* violations */
	data[8] = 0;		       /* who has no key may read, but not the key */
	assert_int_equal(ask(&w, LID_SPINE, WIRE_SET, 0x12, 0, 0x42, data), 0);
	assert_int_equal(ask(&w, LID_SPINE, WIRE_GET, 0x12, 0, 0, data), 0);
	assert_int_equal(data[7], 0);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_is_held_and_read_back),
		cmocka_unit_test(each_kind_of_node_has_its_own_attributes),
		cmocka_unit_test(a_key_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
