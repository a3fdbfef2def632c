/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The status document as Prometheus text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/http/metrics.h"

/* The caller frees it. */
static char *text_of(const char *document)
{
	json_t *status = json_loads(document, 0, NULL);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(status);
	metrics_write(status, out);
	fclose(out);
	json_decref(status);
	return text;
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	assert_non_null(at);
	assert_true(at == text || at[-1] == '\n');
	assert_int_equal(at[strlen(line)], '\n');
}

static void figures_come_in_base_units(void **state)
{
	char *text = text_of("{\"rss_kb\": 3, \"route_ms\": 1500, \"loop_longest_us\": 20000,"
			     " \"fabric_up\": true, \"proof\": {\"reachable\": 65280}}");

	assert_line(text, "fmd_resident_memory_bytes 3072");
	assert_line(text, "fmd_route_seconds 1.5");
	assert_line(text, "fmd_loop_longest_seconds 0.02");
	assert_line(text, "fmd_fabric_up 1");
	assert_line(text, "fmd_proof_pairs_reachable 65280");
	free(text);
}

static void list_becomes_its_length(void **state)
{
	char *text = text_of("{\"troubles\": [{}, {}], \"nvswitch\": {\"inputs\":"
			     " {\"kmsg\": true, \"exporters\": false}}}");

	assert_line(text, "fmd_troubles 2");
	assert_line(text, "fmd_nvswitch_input_open{input=\"kmsg\"} 1");
	assert_line(text, "fmd_nvswitch_input_open{input=\"exporters\"} 0");
	free(text);
}

static void what_the_document_lacks_is_left_out(void **state)
{
	char *text = text_of("{\"last_fault\": null, \"switches\": \"many\", \"state\": \"up\"}");

	assert_null(strstr(text, "fmd_last_fault"));
	assert_null(strstr(text, "fmd_switches"));
	assert_non_null(strstr(text, "state=\"up\""));
	free(text);
}

static void members_become_samples_with_a_label(void **state)
{
	char *text = text_of("{\"nvswitch\": {\"states\": {\"HEALTHY\": 30, \"FATAL\": 2}}}");

	assert_line(text, "fmd_nvswitch_hosts{state=\"HEALTHY\"} 30");
	assert_line(text, "fmd_nvswitch_hosts{state=\"FATAL\"} 2");
	free(text);
}

static void a_word_becomes_a_sample_for_each_that_it_may_be(void **state)
{
	char *text = text_of("{\"state\": \"no-link\", \"role\": \"an odd \\\"one\\\"\"}");

	assert_line(text, "fmd_state{state=\"no-link\"} 1");
	assert_line(text, "fmd_state{state=\"up\"} 0");
	assert_line(text, "fmd_role{role=\"master\"} 0");
	assert_line(text, "fmd_role{role=\"an odd \\\"one\\\"\"} 1");
	free(text);
}

static void a_list_is_counted_by_what_its_objects_say(void **state)
{
	char *text = text_of("{\"alerts\": [{\"what\": \"isolated\"}, {\"what\": \"links-slow\"},"
			     " {\"what\": \"isolated\"}]}");

	assert_line(text, "fmd_alerts 3");
	assert_line(text, "fmd_alerts_by_kind{what=\"isolated\"} 2");
	assert_line(text, "fmd_alerts_by_kind{what=\"links-slow\"} 1");
	free(text);
}

static void each_metric_says_once_what_it_is(void **state)
{
	char *text = text_of("{\"switches\": 1, \"smps_sent\": 2, \"sa\": {\"requests\": 3}}");
	unsigned help = 0, type = 0, samples = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		help += !strncmp(line, "# HELP ", 7);
		type += !strncmp(line, "# TYPE ", 7);
		samples += line[0] != '#';
	}
	assert_int_equal(samples, 4);
	assert_int_equal(help, samples);
	assert_int_equal(type, samples);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_come_in_base_units),
		cmocka_unit_test(list_becomes_its_length),
		cmocka_unit_test(what_the_document_lacks_is_left_out),
		cmocka_unit_test(members_become_samples_with_a_label),
		cmocka_unit_test(a_word_becomes_a_sample_for_each_that_it_may_be),
		cmocka_unit_test(a_list_is_counted_by_what_its_objects_say),
		cmocka_unit_test(each_metric_says_once_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
