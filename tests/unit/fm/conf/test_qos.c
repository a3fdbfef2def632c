/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* qos: the texts of the configuration, and the tables that they come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/conf/conf.h"
#include "fm/conf/qos.h"

static void assert_refused(bool (*check)(const char *, char *, size_t), const char *text,
			   const char *reason)
{
	char why[128] = "";

	assert_false(check(text, why, sizeof(why)));
	assert_string_equal(why, reason);
}

static void texts_are_read_as_people_write_them(void **state)
{
	char why[128], many[QOS_TEXT_MAX] = "0:0";

	assert_true(qos_check_vlarb("", why, sizeof(why)));
	assert_true(qos_check_vlarb("0:4", why, sizeof(why)));
	assert_true(qos_check_vlarb(" 0 : 4 , 14:255,3:0 ", why, sizeof(why)));
	assert_true(qos_check_sl2vl("", why, sizeof(why)));
	assert_true(qos_check_sl2vl("0,1, 2,3,4,5,6,7,8,9,10,11,12,13,14,15", why, sizeof(why)));
	for (unsigned i = 1; i < QOS_ARB_ENTRIES; i++)
		strcat(many, ",1:1");
	assert_true(qos_check_vlarb(many, why, sizeof(why)));
	strcat(many, ",1:1");
	assert_refused(qos_check_vlarb, many, "\"1:1\": no more than 64 entries is expected");
}

static void bad_texts_are_refused_with_the_place(void **state)
{
	assert_refused(qos_check_vlarb, "0:4,15:1",
		       "\"15:1\": VL:weight, 0..14 and 0..255, is expected");
	assert_refused(qos_check_vlarb, "0:256",
		       "\"0:256\": VL:weight, 0..14 and 0..255, is expected");
	assert_refused(qos_check_vlarb, "0:4;1:4", "\";1:4\": a comma is expected");
	assert_refused(qos_check_vlarb, "0:4,", "\"\": VL:weight, 0..14 and 0..255, is expected");
	assert_refused(qos_check_sl2vl, "0,1,2",
		       "\"\": a VL, 0..15, for each of 16 SLs is expected");
	assert_refused(qos_check_sl2vl, "0,1,16",
		       "\"16\": a VL, 0..15, for each of 16 SLs is expected");
	assert_refused(qos_check_sl2vl, QOS_DEFAULT_SL2VL ",0",
		       "\",0\": nothing behind the VL of SL 15 is expected");
}

static struct qos_set made(void (*change)(struct qos_keys *keys))
{
	struct conf conf;
	struct qos_set set;

	conf_default(&conf);
	conf.qos.on = true;
	if (change)
		change(&conf.qos);
	qos_make(&conf.qos, &set);
	return set;
}

static void the_default_is_opensms(void **state)
{
	struct qos_set set = made(NULL);
	uint8_t data[64];

	for (unsigned kind = 0; kind < QOS_KINDS; kind++)
		assert_memory_equal(&set.kind[kind], &set.kind[0], sizeof(set.kind[0]));
	assert_int_equal(set.kind[0].max_vls, 15);
	assert_int_equal(set.kind[0].high_limit, 0);
	qos_sl2vl(&set.kind[0], 15, data);
	assert_memory_equal(data, "\x01\x23\x45\x67\x89\xab\xcd\xe7", 8);
	qos_arb(&set.kind[0], 0, 15, 15, data);
	assert_memory_equal(data, "\0\0\1\4\2\4\3\4\4\4\5\4", 12);
	qos_arb(&set.kind[0], 2, 15, 15, data);
	assert_memory_equal(data, "\0\4\1\0\2\0", 6);
	assert_int_equal(qos_dropped(&set), 0);
}

static void change_some(struct qos_keys *keys)
{
	keys->all.max_vls = 8;
	keys->all.high_limit = 9;
	strcpy(keys->all.sl2vl, "0,1,2,3,0,1,2,3,0,1,2,3,0,1,2,3");
	keys->kind[QOS_CA].max_vls = 4;
	keys->kind[QOS_CA].high_limit = 0;
	strcpy(keys->kind[QOS_SWITCH_PORT].vlarb_low, "2:7,3:8");
	strcpy(keys->kind[QOS_SWITCH_PORT].sl2vl, "0,0,15,0,0,0,0,0,0,0,0,0,0,0,0,15");
}

static void a_kind_says_what_differs_from_the_rest(void **state)
{
	struct qos_set set = made(change_some);
	uint8_t data[64];

	assert_int_equal(set.kind[QOS_CA].max_vls, 4);
	assert_int_equal(set.kind[QOS_ROUTER].max_vls, 8);
	assert_int_equal(set.kind[QOS_CA].high_limit, 0);
	assert_int_equal(set.kind[QOS_SWITCH_PORT].high_limit, 9);
	assert_int_equal(set.kind[QOS_CA].sl2vl[5], 1);
	assert_int_equal(set.kind[QOS_SWITCH_PORT].sl2vl[5], 0);
	qos_arb(&set.kind[QOS_SWITCH_PORT], 0, 4, 15, data);
	assert_memory_equal(data, "\2\7\3\x8\0\0\0\0", 8);
	assert_int_equal(qos_dropped(&set), 1u << 2 | 1u << 15);
	set.on = false;
	assert_int_equal(qos_dropped(&set), 0);
}

static void lanes_that_are_not_there_are_folded_down(void **state)
{
	struct qos_set set = made(change_some);
	uint8_t data[64];

	assert_int_equal(qos_vls(1), 1);
	assert_int_equal(qos_vls(3), 4);
	assert_int_equal(qos_vls(5), 15);
	qos_sl2vl(&set.kind[QOS_CA], 2, data);
	assert_memory_equal(data, "\x01\x01\x01\x01\x01\x01\x01\x01", 8);
	qos_sl2vl(&set.kind[QOS_SWITCH_PORT], 1, data);
	assert_memory_equal(data, "\x00\xf0\0\0\0\0\0\x0f", 8); /* what is dropped stays so */
	qos_arb(&set.kind[QOS_SWITCH_PORT], 0, 2, 2, data);
	assert_memory_equal(data, "\0\7\1\x8", 4);
}

static void arbitration_blocks_go_by_the_capabilities(void **state)
{
	assert_int_equal(qos_arb_entries(0, 8, 64), 8);
	assert_int_equal(qos_arb_entries(1, 8, 64), 0);
	assert_int_equal(qos_arb_entries(1, 40, 64), 8);
	assert_int_equal(qos_arb_entries(2, 8, 64), 32);
	assert_int_equal(qos_arb_entries(3, 8, 64), 32);
	assert_int_equal(qos_arb_entries(3, 8, 32), 0);
	assert_int_equal(qos_arb_entries(0, 0, 64), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read_as_people_write_them),
		cmocka_unit_test(bad_texts_are_refused_with_the_place),
		cmocka_unit_test(the_default_is_opensms),
		cmocka_unit_test(a_kind_says_what_differs_from_the_rest),
		cmocka_unit_test(lanes_that_are_not_there_are_folded_down),
		cmocka_unit_test(arbitration_blocks_go_by_the_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
