/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Readings of counters, and rates between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "fm/perf/counters.h"
#include "tests/fabric/double_answers.h"

#define S 1000000ull

static const struct wire_perf_caps plain = { 0 };
static const struct wire_perf_caps wide_traffic = { .ext = true, .casts = true };
static const struct wire_perf_caps all = { true, true, true, true, true };

struct port { /* that is read every 10 s */
	struct port_counters c;
	struct wire_perf device;
	uint64_t now_us;
};

/* By the bytes of the attribute, as they come from the wire. */
static void port_read(struct port *p, uint16_t attr_id, const struct wire_perf_caps *caps)
{
	uint8_t data[WIRE_GMP_DATA];
	struct wire_perf now;

	if (attr_id == WIRE_PORT_COUNTERS) {
		wire_perf_encode(&p->device, data);
		wire_perf_decode(data, &now);
	} else {
		wire_perf_ext_encode(&p->device, data);
		wire_perf_ext_decode(data, &now);
	}
	p->now_us += 10 * S;
	counters_take(&p->c, &now, counters_of(attr_id, caps), p->now_us);
}

static void data_is_in_bytes_and_rates_are_a_second(void **state)
{
	struct port p = { .now_us = S };

	p.device.value[PERF_XMIT_DATA] = 1ull << 40;
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	assert_int_equal(p.c.value[PERF_XMIT_DATA], 4ull << 40);
	assert_false(counters_rated(&p.c, PERF_XMIT_DATA));
	p.device.value[PERF_XMIT_DATA] += 2500000000;
	p.device.value[PERF_RCV_PACKETS] += 50;
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	assert_true(counters_rated(&p.c, PERF_XMIT_DATA));
	assert_float_equal(p.c.rate[PERF_XMIT_DATA], 1e9, 1e3);
	assert_float_equal(p.c.rate[PERF_RCV_PACKETS], 5, 1e-6);
	assert_int_equal(p.c.span_ms[COUNTERS_TRAFFIC], 10000);
	assert_int_equal(counters_read_us(&p.c), 21 * S);
}

static void a_counter_that_was_cleared_counts_from_nothing(void **state)
{
	struct port p = { .now_us = S };

	p.device.value[PERF_XMIT_PACKETS] = 1000000;
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	p.device.value[PERF_XMIT_PACKETS] = 30;
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	assert_float_equal(p.c.rate[PERF_XMIT_PACKETS], 3, 1e-6);
	assert_int_equal(p.c.value[PERF_XMIT_PACKETS], 30);
}

static void a_counter_at_its_end_has_no_rate_and_says_so(void **state)
{
	struct port p = { .now_us = S };

	p.device.value[PERF_RCV_DATA] = UINT32_MAX - 10;
	p.device.value[PERF_DOWNED] = 254;
	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	p.device.value[PERF_RCV_DATA] += 1000;
	p.device.value[PERF_DOWNED] += 1000;
	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	assert_int_equal(p.c.value[PERF_DOWNED], 255);
	assert_false(counters_rated(&p.c, PERF_RCV_DATA));
	assert_false(counters_rated(&p.c, PERF_DOWNED));
	assert_int_equal(p.c.full, 1u << PERF_RCV_DATA | 1u << PERF_DOWNED);
	assert_true(counters_rated(&p.c, PERF_SYMBOL));
	p.device.value[PERF_DOWNED] = 2; /* somebody cleared it */
	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	assert_int_equal(p.c.full, 1u << PERF_RCV_DATA);
	assert_float_equal(p.c.rate[PERF_DOWNED], 0.2, 1e-6);
}

/* The first reading is by PortCounters, as nobody knows yet what the agent can do. */
static void counters_of_another_width_are_not_compared(void **state)
{
	struct port p = { .now_us = S };

	p.device.value[PERF_XMIT_DATA] = 1ull << 40;
	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	assert_int_equal(p.c.value[PERF_XMIT_DATA], 4ull * UINT32_MAX);
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	assert_int_equal(p.c.value[PERF_XMIT_DATA], 4ull << 40);
	assert_false(counters_rated(&p.c, PERF_XMIT_DATA));
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	assert_true(counters_rated(&p.c, PERF_XMIT_DATA));
	assert_float_equal(p.c.rate[PERF_XMIT_DATA], 0, 0);
}

static void traffic_and_errors_come_from_two_attributes_where_they_have_to(void **state)
{
	struct port p = { .now_us = S };

	for (unsigned i = 0; i < 2; i++) {
		p.device.value[PERF_XMIT_DATA] += 1ull << 40;
		p.device.value[PERF_XMIT_UNICAST] += 40;
		p.device.value[PERF_SYMBOL] += 100;
		port_read(&p, WIRE_PERF_COUNTERS_EXT, &wide_traffic);
		port_read(&p, WIRE_PORT_COUNTERS, &wide_traffic);
	}
	assert_int_equal(p.c.value[PERF_XMIT_DATA], 8ull << 40);
	assert_int_equal(p.c.value[PERF_SYMBOL], 200);
	assert_int_equal(p.c.span_ms[COUNTERS_TRAFFIC], 20000);
	assert_float_equal(p.c.rate[PERF_XMIT_UNICAST], 2, 1e-6);
	assert_float_equal(p.c.rate[PERF_SYMBOL], 5, 1e-6);
	assert_float_equal(counters_error_rate(&p.c), 5, 1e-6);
}

static void what_a_device_does_not_count_is_left_out(void **state)
{
	static const struct wire_perf_caps no_casts = { .ext = true, .errors = true };
	struct port p = { .now_us = S };

	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	assert_false(counters_have(&p.c, PERF_XMIT_UNICAST));
	assert_false(counters_have(&p.c, COUNTERS_FEC_FIRST));
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &no_casts);
	assert_false(counters_have(&p.c, PERF_RCV_MULTICAST));
	port_read(&p, WIRE_PERF_COUNTERS_EXT, &all);
	assert_true(counters_have(&p.c, PERF_RCV_MULTICAST));
}

static void error_correction_is_counted_until_it_is_not(void **state)
{
	const unsigned corrected = COUNTERS_FEC_FIRST + WIRE_FEC_CORRECTED;
	const unsigned uncorrected = COUNTERS_FEC_FIRST + WIRE_FEC_UNCORRECTED;
	uint64_t now[WIRE_FEC_COUNTERS] = { [WIRE_FEC_CORRECTED] = 5 };
	struct port_counters c = { 0 };

	assert_true(isnan(counters_error_rate(&c)));
	counters_take_fec(&c, now, S);
	now[WIRE_FEC_CORRECTED] = 1005;
	now[WIRE_FEC_UNCORRECTED] = 20;
	counters_take_fec(&c, now, 11 * S);
	assert_float_equal(c.rate[corrected], 100, 1e-6);
	assert_float_equal(c.rate[uncorrected], 2, 1e-6);
	assert_float_equal(counters_error_rate(&c), 2, 1e-6);
	now[WIRE_FEC_CORRECTED] = 3ull * UINT32_MAX; /* the sum of lanes */
	counters_take_fec(&c, now, 21 * S);
	assert_false(counters_rated(&c, corrected));
	assert_int_equal(c.full, 1u << corrected);
	counters_take_fec(&c, NULL, 0);
	assert_false(counters_have(&c, corrected));
	assert_int_equal(counters_read_us(&c), 0);
}

static void two_readings_at_one_moment_have_no_rate(void **state)
{
	struct port_counters c = { 0 };
	uint64_t now[WIRE_FEC_COUNTERS] = { 7 };

	counters_take_fec(&c, now, S);
	counters_take_fec(&c, now, S + 10);
	assert_int_equal(c.rated, 0);
	counters_take_fec(&c, now, S); /* never back */
	assert_int_equal(c.rated, 0);
}

static void document_has_names_values_and_rates(void **state)
{
	struct port p = { .now_us = S };
	json_t *doc;

	p.device.value[PERF_XMIT_DATA] = 3;
	p.device.value[PERF_DOWNED] = 255;
	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	port_read(&p, WIRE_PORT_COUNTERS, &plain);
	doc = counters_json(&p.c, p.now_us + 2 * S);
	assert_float_equal(json_real_value(json_object_get(doc, "age_s")), 2, 1e-6);
	assert_float_equal(json_real_value(json_object_get(doc, "span_s")), 10, 1e-6);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(doc, "values"), "xmit_bytes")),
		12);
	assert_non_null(json_object_get(json_object_get(doc, "rates"), "xmit_bytes"));
	assert_null(json_object_get(json_object_get(doc, "rates"), "link_downed"));
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(doc, "at_their_end"), 0)),
		"link_downed");
	json_decref(doc);
}

/* Scripts and labels take the names as they are. */
static void every_counter_has_a_name_of_its_own(void **state)
{
	for (unsigned i = 0; i < COUNTERS_ALL; i++) {
		assert_true(strspn(counters_name(i), "abcdefghijklmnopqrstuvwxyz0123456789_") ==
			    strlen(counters_name(i)));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(counters_name(i), counters_name(k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_is_in_bytes_and_rates_are_a_second),
		cmocka_unit_test(a_counter_that_was_cleared_counts_from_nothing),
		cmocka_unit_test(a_counter_at_its_end_has_no_rate_and_says_so),
		cmocka_unit_test(counters_of_another_width_are_not_compared),
		cmocka_unit_test(traffic_and_errors_come_from_two_attributes_where_they_have_to),
		cmocka_unit_test(what_a_device_does_not_count_is_left_out),
		cmocka_unit_test(error_correction_is_counted_until_it_is_not),
		cmocka_unit_test(two_readings_at_one_moment_have_no_rate),
		cmocka_unit_test(document_has_names_values_and_rates),
		cmocka_unit_test(every_counter_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
