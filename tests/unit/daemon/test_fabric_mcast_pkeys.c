/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Members of multicast groups that lose their partition: a membership ends when the port was
 * acknowledged to hold the P_Key no more, and the group, with its MLID, with the last of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>
#include "tests/fabric/double_misbehave.h"
#include "tests/lib/fabric_mcast_world.h"

#define TENANT 0x8005

static void tenant_has(struct world *w, const unsigned *hosts, unsigned count)
{
	FILE *out;

	snprintf(w->conf.partition.file, sizeof(w->conf.partition.file), "%s/partitions.conf",
		 w->state_dir);
	out = fopen(w->conf.partition.file, "w");
	assert_non_null(out);
	fprintf(out, "Default=0x7fff: ALL=full;\ntenant=0x5, defmember=full: ");
	for (unsigned i = 0; i < count; i++)
		fprintf(out, "0x%llx,", (unsigned long long)port_of(w, hosts[i]));
	fprintf(out, "SELF;\n");
	fclose(out);
	fabric_configure(w->fabric, &w->conf);
	run_for(w, SECOND_US);
}

static unsigned members(const struct world *w)
{
	return (unsigned)status_number(w, "multicast", "members");
}

static unsigned mlids(const struct world *w)
{
	return (unsigned)status_number(w, "multicast", "mlids");
}

/* Six of twelve leave. */
static void members_without_the_key_are_members_no_more(void **state)
{
	static const unsigned twelve[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct world w;
	unsigned before;

	small_world(&w);
	tenant_has(&w, twelve, 12);
	before = mlids(&w);
	for (unsigned i = 0; i < 12; i++)
		assert_int_equal(join_in(&w, twelve[i], 0, TENANT).status, 0);
	for (unsigned i = 0; i < 6; i++) /* of these each is the only member */
		if (i + 1 < GROUPS)
			join_in(&w, twelve[i], 1 + i, TENANT);
	assert_int_equal(members(&w), 12 + GROUPS - 1);
	tenant_has(&w, twelve + 6, 6);
	assert_int_equal(members(&w), 6);
	assert_int_equal(mlids(&w), before + 1);
	tenant_has(&w, twelve, 12); /* who returns joins again, and is whole */
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(join_in(&w, twelve[i], 0, TENANT).status, 0);
	assert_int_equal(members(&w), 12);
	unlink(w.conf.partition.file);
	world_fini(&w);
}

/* The configuration alone ends nothing: the port may still send and receive. */
static void a_port_that_does_not_answer_stays_until_it_has(void **state)
{
	static const unsigned two[] = { 3, 4 };
	struct world w;

	small_world(&w);
	tenant_has(&w, two, 2);
	join_in(&w, 3, 0, TENANT);
	join_in(&w, 4, 0, TENANT);
	assert_int_equal(members(&w), 2);
	double_set_fault(w.hw, node_of(&w, 4), DOUBLE_BAD_STATUS, 1000, 0x0c);
	tenant_has(&w, two, 0);
	assert_int_equal(members(&w), 1);
	double_set_fault(w.hw, node_of(&w, 4), DOUBLE_BAD_STATUS, 0, 0);
	double_cut(w.hw, node_of(&w, 20), 1); /* ports are brought up again */
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(members(&w), 0);
	unlink(w.conf.partition.file);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_without_the_key_are_members_no_more),
		cmocka_unit_test(a_port_that_does_not_answer_stays_until_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
