/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The worst nights: a quarter, half and all of 32 machines broken at once; how soon the hook runs
 * after a fatal line; a hook that fails for ten minutes, while fmd restarts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/evidence.h"
#include "tests/lib/nvlink_world.h"

#define HOSTS 32
#define OWN   "Fatal, Link 12 Minion Halt"

/* Eight GPUs whose fabric manager has that status. */
static const char *machine(unsigned status)
{
	static char texts[8][1024];
	char *to = texts[status];
	size_t used = 0;

	for (unsigned g = 0; g < 8; g++)
		used += (size_t)snprintf(
			to + used, sizeof(texts[0]) - used,
			"DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu=\"%u\",modelName=\"NVIDIA H100 80GB "
			"HBM3\"} %u\n",
			g, status);
	return to;
}

static void all_well(struct nvlink_world *w)
{
	for (unsigned i = 0; i < w->nhosts; i++)
		w->texts[i] = machine(3);
	nvlink_world_pass(w, 60 * NVLINK_S);
	assert_int_equal(w->ncalls, 0);
}

static unsigned in_state(const struct nvlink_world *w, const char *state, const char *hook)
{
	unsigned count = 0;

	for (unsigned i = 0; i < w->nhosts; i++) {
		json_t *row = nvlink_world_row(w, i);
		const struct nvlink_call *call = nvlink_world_call(w, i);

		count += !strcmp(json_string_value(json_object_get(row, "state")), state) &&
			 (!hook || (call && !strcmp(call->state, hook)));
		json_decref(row);
	}
	return count;
}

static void each_of_9_16_and_32_of_32_is_told_and_its_hook_runs(void **state)
{
	static const unsigned broken[] = { 9, 16, 32 };

	for (unsigned form = 0; form < 3; form++) /* by exporter, by log, by both */
		for (unsigned k = 0; k < 3; k++) {
			static struct nvlink_world w;

			nvlink_world_init(&w, HOSTS, true);
			all_well(&w);
			for (unsigned i = 0; i < broken[k]; i++) {
				if (form != 1)
					w.texts[i] = machine(4);
				if (form)
					nvlink_world_log(&w, i,
							 "nvidia-nvswitch1: SXid (PCI:0000:85:00.0)"
							 ": 22003, " OWN);
			}
			nvlink_world_pass(&w, 120 * NVLINK_S);
			assert_int_equal(in_state(&w, "FATAL", "FATAL"), broken[k]);
			assert_int_equal(in_state(&w, "HEALTHY", NULL), HOSTS - broken[k]);
			assert_true(w.nv->health.guarded);
			print_message("%u of 32 broken: %u FATAL, their hooks run\n", broken[k],
				      in_state(&w, "FATAL", "FATAL"));
			nvlink_world_fini(&w);
		}
}

/* All numbers of the catalogue, as the kernel writes what is fatal. */
static void the_hook_runs_within_2_s_of_a_fatal_line(void **state)
{
	uint64_t longest_us = 0;
	unsigned fatal = 0;

	for (unsigned number = 1; number < 30100; number++) {
		static struct nvlink_world w;
		bool sxid = number > 10000;
		const struct nvlink_call *call;
		char line[160];
		uint64_t now_us;

		if (number == 200)
			number = 10001;
		if (sxid ? catalogue_find(CATALOGUE_SXID, number, NULL, 0)->state < NVSWITCH_NO_P2P
			 : catalogue_find(CATALOGUE_XID, number, "", 0)->state < NVSWITCH_NO_P2P)
			continue;
		nvlink_world_init(&w, 1, true);
		all_well(&w);
		if (sxid)
			snprintf(line, sizeof(line),
				 "nvidia-nvswitch1: SXid (PCI:0000:85:00.0): %05u, " OWN, number);
		else
			snprintf(line, sizeof(line), "NVRM: Xid (PCI:0000:43:00): %u, pid=1",
				 number);
		now_us = loop_now_us(w.loop);
		assert_true(nvlink_world_log(&w, 0, line));
		nvlink_world_pass(&w, 60 * NVLINK_S);
		call = nvlink_world_call(&w, 0);
		if (!call ||
		    strcmp(call->state,
			   sxid && catalogue_find(CATALOGUE_SXID, number, NULL, 0)->state ==
						   NVSWITCH_FATAL
				   ? "FATAL"
				   : "NO_P2P"))
			fail_msg("%s: %s", line, call ? call->state : "no hook");
		longest_us = call->at_us - now_us > longest_us ? call->at_us - now_us : longest_us;
		fatal++;
		nvlink_world_fini(&w);
	}
	print_message("%u fatal numbers, %.3f s to the hook at most\n", fatal, longest_us / 1e6);
	assert_true(fatal > 100);
	assert_true(longest_us <= 2 * NVLINK_S);
}

/* What is kept over the restart is in files; the hook's own line of calls is not. */
static void a_hook_that_fails_for_ten_minutes_is_run_again_behind_a_restart(void **state)
{
	/* 0: ill all the time; 1: drained, and well again meanwhile; 2: well at the end */
	for (unsigned form = 0; form < 3; form++) {
		static struct nvlink_world w;
		const char *ends = form ? "HEALTHY" : "FATAL";

		nvlink_world_init(&w, 1, true);
		all_well(&w);
		w.hook_fails = form != 1;
		w.texts[0] = machine(4);
		nvlink_world_pass(&w, 60 * NVLINK_S);
		assert_string_equal(nvlink_world_call(&w, 0)->state, "FATAL");
		w.hook_fails = true; /* slurmctld is down */
		if (form == 1)
			w.texts[0] = machine(3);
		nvlink_world_pass(&w, 400 * NVLINK_S);
		nvlink_world_restart(&w);
		w.ncalls = 0; /* what the program knows is the past's */
		if (form == 2)
			w.texts[0] = machine(3);
		nvlink_world_pass(&w, 200 * NVLINK_S);
		w.hook_fails = false;
		nvlink_world_pass(&w, 600 * NVLINK_S);
		assert_non_null(nvlink_world_call(&w, 0));
		assert_string_equal(nvlink_world_call(&w, 0)->state, ends);
		nvlink_world_fini(&w);
	}
}

static void a_file_says_how_many_gpus_a_host_has(void **state)
{
	static struct nvlink_world w;
	char path[] = "/tmp/fmd-aliases-XXXXXX", err[256] = "";
	FILE *out = fdopen(mkstemp(path), "w");
	json_t *row;

	fputs("box-00 bmc-17 gpus=7\nbox-01 gpus=8 10.0.0.2\n", out);
	fclose(out);
	nvlink_world_init(&w, 2, true);
	snprintf(w.conf.alias_file, sizeof(w.conf.alias_file), "%s", path);
	assert_int_equal(nvswitch_configure(w.nv, &w.conf, 0, err), 0);
	w.texts[0] = machine(3);
	*strstr((char *)w.texts[0], "DCGM_FI_DEV_FABRIC_MANAGER_STATUS{gpu=\"7\"") = '\0';
	w.texts[1] = w.texts[0];
	nvlink_world_pass(&w, 120 * NVLINK_S);
	row = nvlink_world_row(&w, 0);
	assert_string_equal(json_string_value(json_object_get(row, "state")), "HEALTHY");
	assert_int_equal(json_integer_value(json_object_get(row, "gpus_declared")), 7);
	json_decref(row);
	assert_int_equal(in_state(&w, "NO_P2P", "NO_P2P"), 1);
	out = fopen(path, "w");
	fputs("box-00 gpus=17\n", out);
	fclose(out);
	assert_int_equal(nvswitch_configure(w.nv, &w.conf, 0, err), -1);
	assert_non_null(strstr(err, ":1: a host has 16 GPUs at most"));
	nvlink_world_fini(&w);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_of_9_16_and_32_of_32_is_told_and_its_hook_runs),
		cmocka_unit_test(the_hook_runs_within_2_s_of_a_fatal_line),
		cmocka_unit_test(a_hook_that_fails_for_ten_minutes_is_run_again_behind_a_restart),
		cmocka_unit_test(a_file_says_how_many_gpus_a_host_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
