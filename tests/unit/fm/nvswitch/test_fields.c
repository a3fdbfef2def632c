/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which fields an exporter leaves out; and that the lists of etc/dcgm ask for what their generation
 * of DCGM has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/evidence.h"

static uint32_t seen_of(const char *const *names)
{
	struct evidence e;

	e = (struct evidence){ .configured = NVSWITCH_SYSTEM_AUTO };
	for (; *names; names++)
		evidence_ops.kind(&e, (struct lex_text){ *names, strlen(*names) });
	return e.metrics;
}

static bool misses(uint32_t seen, enum nvswitch_system system, const char *field)
{
	json_t *rows = evidence_missing(seen, system), *row;
	bool found = false;
	size_t index;

	json_array_foreach (rows, index, row)
		found |= !strcmp(json_string_value(json_object_get(row, "field")), field);
	json_decref(rows);
	return found;
}

static size_t count_missing(uint32_t seen, enum nvswitch_system system)
{
	json_t *rows = evidence_missing(seen, system);
	size_t count = json_array_size(rows);

	json_decref(rows);
	return count;
}

static void the_default_list_misses_all_that_counts(void **state)
{
	static const char *const names[] = { "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_XID_ERRORS",
					     "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", NULL };
	uint32_t seen = seen_of(names);

	assert_true(misses(seen, NVSWITCH_SYSTEM_H100, "DCGM_FI_DEV_P2P_NVLINK_STATUS"));
	assert_true(misses(seen, NVSWITCH_SYSTEM_H100, "DCGM_FI_DEV_FABRIC_MANAGER_STATUS"));
	assert_true(misses(seen, NVSWITCH_SYSTEM_H100, "DCGM_FI_DEV_NVSWITCH_LINK_STATUS"));
	assert_false(misses(seen, NVSWITCH_SYSTEM_NVL72, "DCGM_FI_DEV_NVSWITCH_LINK_STATUS"));
	assert_int_equal(count_missing(seen, NVSWITCH_SYSTEM_OTHER), 0); /* cards */
}

static void any_of_a_fields_names_will_do(void **state)
{
	static const char *const old[] = { "DCGM_FI_DEV_P2P_NVLINK_STATUS", NULL };
	static const char *const newer[] = { "DCGM_FI_DEV_NVLINK_P2P_STATUS", NULL };
	static const char *const pairs[] = { "DCGM_EXP_P2P_STATUS", NULL };

	assert_false(misses(seen_of(old), NVSWITCH_SYSTEM_H100, "DCGM_FI_DEV_P2P_NVLINK_STATUS"));
	assert_false(misses(seen_of(newer), NVSWITCH_SYSTEM_H100, "DCGM_FI_DEV_P2P_NVLINK_STATUS"));
	assert_false(misses(seen_of(pairs), NVSWITCH_SYSTEM_H100, "DCGM_FI_DEV_P2P_NVLINK_STATUS"));
}

static void who_is_no_dcgm_exporter_misses_nothing(void **state)
{
	static const char *const names[] = { "Link_Down", "go_goroutines", NULL };

	assert_int_equal(count_missing(seen_of(names), NVSWITCH_SYSTEM_H100), 0);
}

/* ---- The lists ------------------------------------------------------------------------------- */

/*
 * Name, number and first public release of NVIDIA/DCGM (dcgmlib/dcgm_fields.h, by its history up to
 * 72fa3fe, 4.6.0) that has it.
 */
static const struct {
	const char *name;
	unsigned id;
	double since;
} header[] = {
	{ "DCGM_FI_DEV_P2P_NVLINK_STATUS", 64, 4.31 },
	{ "DCGM_FI_DEV_MIG_MODE", 67, 1.7 },
	{ "DCGM_FI_DEV_FABRIC_MANAGER_STATUS", 170, 4.0 },
	{ "DCGM_FI_DEV_FABRIC_CLUSTER_UUID", 172, 4.0 },
	{ "DCGM_FI_DEV_FABRIC_CLIQUE_ID", 173, 4.0 },
	{ "DCGM_FI_DEV_FABRIC_HEALTH_MASK", 174, 4.42 },
	{ "DCGM_FI_DEV_XID_ERRORS", 230, 1.7 },
	{ "DCGM_FI_DEV_NVSWITCH_LINK_FATAL_ERRORS", 782, 3.04 },
	{ "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS", 856, 1.7 },
	{ "DCGM_FI_DEV_NVSWITCH_NON_FATAL_ERRORS", 857, 1.7 },
	{ "DCGM_FI_DEV_NVSWITCH_RESET_REQUIRED", 864, 3.13 },
	{ "DCGM_FI_DEV_NVSWITCH_LINK_STATUS", 870, 3.13 },
	{ "DCGM_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS", 1212, 4.0 },
	{ "DCGM_FI_DEV_NVLINK_GET_STATE", 1508, 4.5 },
	{ "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION", 1523, 4.5 },
	/* of dcgm-exporter itself */
	{ "DCGM_EXP_XID_ERRORS_COUNT", 0, 4.0 },
	{ "DCGM_EXP_P2P_STATUS", 0, 4.5 },
	{ "DCGM_EXP_GPU_HEALTH_STATUS", 0, 4.5 },
};

static double since_of(const char *name)
{
	for (unsigned i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		if (!strcmp(header[i].name, name))
			return header[i].since;
	fail_msg("no field of DCGM's header: %s", name);
	return 0;
}

/* Fields of a list; each line has three parts, as the exporter wants it. */
static uint32_t read_list(const char *path, double release)
{
	FILE *in = fopen(path, "r");
	struct evidence e;
	char line[256];

	assert_non_null(in);
	e = (struct evidence){ .configured = NVSWITCH_SYSTEM_AUTO };
	while (fgets(line, sizeof(line), in)) {
		char *first = strchr(line, ','), *second = first ? strchr(first + 1, ',') : NULL;

		if (*line == '#' || *line == '\n')
			continue;
		assert_non_null(second);
		assert_null(strchr(second + 1, ','));
		*first = *second = '\0';
		assert_true(!strcmp(first + 1, " gauge") || !strcmp(first + 1, " counter") ||
			    !strcmp(first + 1, " label"));
		if (since_of(line) > release)
			fail_msg("%s: %s is not in that DCGM yet", path, line);
		evidence_ops.kind(&e, (struct lex_text){ line, strlen(line) });
	}
	fclose(in);
	return e.metrics;
}

static void every_list_is_of_its_generation(void **state)
{
	static const struct {
		const char *path;
		double release;
		size_t missing; /* for an H100: what that DCGM does not have */
	} lists[] = {
		{ "etc/dcgm/dcgm-fmd-counters-3.csv", 3.13, 5 },
		{ "etc/dcgm/dcgm-fmd-counters-4.0.csv", 4.0, 4 },
		{ "etc/dcgm/dcgm-fmd-counters-4.3.csv", 4.31, 3 },
		{ "etc/dcgm/dcgm-fmd-counters-4.5.csv", 4.5, 0 },
	};

	for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(count_missing(read_list(lists[i].path, lists[i].release),
					       NVSWITCH_SYSTEM_H100),
				 lists[i].missing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_list_misses_all_that_counts),
		cmocka_unit_test(any_of_a_fields_names_will_do),
		cmocka_unit_test(who_is_no_dcgm_exporter_misses_nothing),
		cmocka_unit_test(every_list_is_of_its_generation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
