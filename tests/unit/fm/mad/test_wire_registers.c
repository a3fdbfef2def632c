/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registers of NVIDIA's devices: where their fields lie, and that any bytes can be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fm/mad/wire_registers.h"

/* Bytes of the data as mstflint's register database places the fields: dwords are big-endian. */
static void fields_lie_where_the_register_database_has_them(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 }, *page = wire_register_page(data), port, number;
	struct wire_down down;
	struct wire_module module;

	wire_register_ask(WIRE_REGISTER_PDDR, 17, WIRE_PDDR_DOWN, data);
	assert_int_equal(data[12 + 1], 17);   /* local_port 0x0.16 */
	assert_int_equal(data[12 + 2], 0x40); /* pnat 0x0.14 */
	assert_int_equal(data[12 + 7], 6);    /* page_select 0x4.0 */
	wire_register_about(WIRE_REGISTER_PDDR, data, &port, &number);
	assert_int_equal(port, 17);
	assert_int_equal(number, WIRE_PDDR_DOWN);

	page[3] = 0x21; /* intent 0x0.4, blame 0x0.0 */
	page[7] = 23;	/* local_reason 0x4.0 */
	page[11] = 35;	/* remote_reason 0x8.0 */
	page[0x10] = 4; /* raw coefficient 0x10.24 */
	page[0x11] = 6; /* raw magnitude 0x10.16 */
	page[0x24] = 2; /* effective, 0x24 */
	page[0x25] = 7;
	page[0x2c] = 3; /* symbol, 0x2c */
	page[0x2d] = 9;
	wire_down_decode(page, &down);
	assert_int_equal(down.intent, WIRE_INTENT_NO);
	assert_int_equal(down.blame, WIRE_BLAME_LOCAL);
	assert_int_equal(down.local, 23);
	assert_int_equal(down.remote, 35);
	assert_int_equal(down.raw_coefficient, 4);
	assert_int_equal(down.raw_magnitude, 6);
	assert_int_equal(down.effective_coefficient, 2);
	assert_int_equal(down.effective_magnitude, 7);
	assert_int_equal(down.symbol_coefficient, 3);
	assert_int_equal(down.symbol_magnitude, 9);

	memset(data, 0, sizeof(data));
	memcpy(page + 0x14, "Vendor", 6);
	memcpy(page + 0x24, "Part", 4);
	memcpy(page + 0x3c, "Serial", 6);
	page[0x4c] = 0x2d; /* temperature 0x4c.16 */
	page[0x80] = 0x4b; /* high threshold 0x80.16 */
	wire_module_decode(page, &module);
	assert_memory_equal(module.vendor, "Vendor", 7);
	assert_memory_equal(module.part, "Part", 5);
	assert_memory_equal(module.serial, "Serial", 7);
	assert_int_equal(module.temperature, 45 * 256);
	assert_int_equal(module.hottest, 75 * 256);
}

static void bit_errors_lie_where_the_register_database_has_them(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 }, *page = wire_register_page(data);
	struct wire_ber ber;

	wire_register_ask(WIRE_REGISTER_PPCNT, 3, WIRE_PPCNT_BER, data);
	assert_int_equal(data[12 + 3], 0x16);	  /* grp 0x0.0 */
	assert_int_equal(data[12 + 4] & 0x80, 0); /* clr 0x4.31: nothing is ever cleared */
	page[0x65 + 1] = 15;			  /* effective magnitude 0x64.8 */
	page[0x67] = 1;				  /* effective coefficient 0x64.0 */
	wire_ber_decode(page, &ber);
	assert_int_equal(ber.effective_magnitude, 15);
	assert_int_equal(ber.effective_coefficient, 1);
	page[0x7c + 7] = 9; /* effective errors 0x7c, 8 bytes */
	wire_ber_decode(page, &ber);
	assert_int_equal(ber.effective_errors, 9);
}

/* By the device's own number of the port: those have no pnat. */
static void places_of_a_port_lie_where_the_register_database_has_them(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 };
	char label[40];

	wire_register_ask(WIRE_REGISTER_PMLP, 130, 0, data);
	assert_int_equal(data[12 + 1], 130);
	assert_int_equal(data[12 + 2], 0);
	assert_int_equal(data[12 + 3], 0);
	assert_false(wire_cage(data, label)); /* width 0x0.0: no lane is mapped */
	data[12 + 3] = 4;
	data[12 + 7] = 8; /* module 0x4.0 */
	assert_true(wire_cage(data, label));
	assert_string_equal(label, "cage 9/1");
	data[12 + 5] = 4; /* tx_lane 0x4.16 */
	assert_true(wire_cage(data, label));
	assert_string_equal(label, "cage 9/2");
	data[12 + 3] = 2;
	data[12 + 5] = 6;
	data[12 + 6] = 0x10 | 3; /* sub_module 0x4.12, slot_index 0x4.8 */
	assert_true(wire_cage(data, label));
	assert_string_equal(label, "slot 3 cage 9/4/2");
	data[12 + 3] = 3;
	assert_false(wire_cage(data, label));

	wire_register_ask(WIRE_REGISTER_PLIB, 7, 0, data);
	assert_int_equal(data[12 + 2], 0);
	data[12 + 2] = 1; /* ib_port 0x0.0/10 */
	data[12 + 3] = 9;
	assert_int_equal(wire_ib_port(data), 256 + 9);

	wire_register_ask(WIRE_REGISTER_PPCR, 1, 0, data);
	assert_int_equal(data[12 + 2], 0);
	data[12 + 15] = 4; /* num_of_planes 0xc.0 */
	assert_int_equal(wire_planes(data), 4);
	data[12 + 15] = 5;
	assert_int_equal(wire_planes(data), 0);

	wire_register_ask(WIRE_REGISTER_PPCNT, 2, WIRE_PPCNT_BER, data);
	*wire_register_plane(data) |= 3; /* plane_ind 0x4.8 */
	assert_int_equal(data[12 + 6], 3);
}

/* What MGIR (0x9020) has: hw_info, fw_info at 0x20. */
static void a_device_has_its_firmware_where_the_register_database_has_it(void **state)
{
	uint8_t at[WIRE_DEVICE_BYTES] = { 0 };
	struct wire_device device;
	char text[32];

	at[2] = 0xd2; /* device_id 0x0.0/16 */
	at[3] = 0xf2;
	at[0x1c + 3] = 77; /* uptime 0x1c */
	at[0x20 + 1] = 12; /* major 0x20.16/8, minor 0x20.8/8, sub_minor 0x20.0/8 */
	at[0x20 + 2] = 28;
	at[0x20 + 3] = 6;
	memcpy(at + 0x30, "MT_0000000001", 13); /* psid 0x30 */
	wire_device_decode(at, &device);
	assert_true(wire_device_is_sound(&device));
	assert_int_equal(device.device, 0xd2f2);
	assert_int_equal(device.up_s, 77);
	wire_device_firmware(&device, text);
	assert_string_equal(text, "12.28.0006");
	at[0x44 + 3] = 31; /* extended_major 0x44, minor, sub_minor */
	at[0x48 + 2] = 2014 >> 8;
	at[0x48 + 3] = 2014 & 255;
	at[0x4c + 2] = 1010 >> 8;
	at[0x4c + 3] = 1010 & 255;
	wire_device_decode(at, &device);
	wire_device_firmware(&device, text);
	assert_string_equal(text, "31.2014.1010");
	at[0x30] = 7;
	wire_device_decode(at, &device);
	assert_false(wire_device_is_sound(&device));
}

static void bit_errors_that_can_not_be_are_none(void **state)
{
	const struct wire_ber sound = { .cleared_ms = 1000,
					.bits = 400000000000,
					.raw_magnitude = 9,
					.effective_magnitude = 15 };
	uint64_t bins[WIRE_HISTOGRAM_BINS];
	uint8_t page[8 * WIRE_HISTOGRAM_BINS] = { 0 };
	struct wire_ber ber = sound;

	assert_true(wire_ber_is_sound(&ber));
	ber.effective_errors = ber.bits + 1;
	assert_false(wire_ber_is_sound(&ber));
	ber = sound;
	ber.bits = 400000000000000; /* of a second */
	assert_false(wire_ber_is_sound(&ber));
	ber = sound;
	ber.effective_magnitude = 0;
	assert_false(wire_ber_is_sound(&ber));
	page[15] = 3;
	assert_true(wire_histogram_decode(page, bins));
	assert_int_equal(bins[1], 3);
	page[16] = 0xff;
	assert_false(wire_histogram_decode(page, bins));
}

static void access_register_is_bit_20_of_the_capabilities(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 };

	for (unsigned bit = 0; bit < 32; bit++) {
		memset(data, 0, sizeof(data));
		data[8 + 0x80 + 3 - bit / 8] = (uint8_t)(1u << bit % 8);
		assert_int_equal(wire_registers_able(data), bit == 20);
	}
}

/* The numbers that the register database names are sentences; those that it does not are none. */
static void each_reason_has_its_words(void **state)
{
	unsigned named = 0;

	for (unsigned reason = 0; reason < 256; reason++) {
		const char *words = wire_down_reason(reason);

		named += words != NULL;
		for (unsigned other = 0; words && other < reason; other++)
			if (wire_down_reason(other))
				assert_string_not_equal(words, wire_down_reason(other));
	}
	assert_int_equal(named, 53);
	assert_string_equal(wire_down_reason(WIRE_DOWN_UNPLUGGED), "cable unplugged");
	assert_string_equal(wire_down_reason(25), "cable thermal shutdown");
	assert_null(wire_down_reason(58));
}

static void garbage_is_read_without_harm_and_comes_back_as_it_was(void **state)
{
	uint8_t page[WIRE_MODULE_BYTES], back[WIRE_MODULE_BYTES], again[WIRE_MODULE_BYTES];

	srand(37);
	for (unsigned round = 0; round < 20000; round++) {
		struct wire_down down;
		struct wire_module module;
		struct wire_ber ber;

		for (unsigned i = 0; i < sizeof(page); i++)
			page[i] = (uint8_t)rand();
		wire_down_decode(page, &down);
		wire_down_encode(&down, back);
		wire_down_decode(back, &down);
		wire_down_encode(&down, again);
		assert_memory_equal(again, back, WIRE_DOWN_BYTES);
		wire_module_decode(page, &module);
		wire_module_encode(&module, back);
		wire_module_decode(back, &module);
		wire_module_encode(&module, again);
		assert_memory_equal(again, back, WIRE_MODULE_BYTES);
		wire_ber_decode(page, &ber);
		wire_ber_encode(&ber, back);
		wire_ber_decode(back, &ber);
		wire_ber_encode(&ber, again);
		assert_memory_equal(again, back, WIRE_BER_BYTES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_lie_where_the_register_database_has_them),
		cmocka_unit_test(bit_errors_lie_where_the_register_database_has_them),
		cmocka_unit_test(places_of_a_port_lie_where_the_register_database_has_them),
		cmocka_unit_test(a_device_has_its_firmware_where_the_register_database_has_it),
		cmocka_unit_test(bit_errors_that_can_not_be_are_none),
		cmocka_unit_test(access_register_is_bit_20_of_the_capabilities),
		cmocka_unit_test(each_reason_has_its_words),
		cmocka_unit_test(garbage_is_read_without_harm_and_comes_back_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
