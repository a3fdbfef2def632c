/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What becomes of groups and members over restarts of fmd, and when partitions change, on the
 * fabric double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_mcast_world.h"

/* ---- A restart ------------------------------------------------------------------------------- */

static void a_restart_is_nothing_members_notice(void **state)
{
	struct model m = { 0 };
	uint64_t seed = 4;
	struct world w;

	small_world(&w);
	for (unsigned i = 0; i < 60; i++)
		model_join(&w, &m, 1 + damage_random(&seed) % (HOSTS - 1),
			   damage_random(&seed) % GROUPS, 1 + damage_random(&seed) % 15);
	run_for(&w, SECOND_US / 10);
	double members = status_number(&w, "multicast", "members");
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), members);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MFT), 0);
	assert_held(&w, &m);
	model_join(&w, &m, 7, 0, WIRE_JOIN_FULL); /* the MLID is the same */
	run_for(&w, SECOND_US / 10);
	assert_held(&w, &m);
	world_fini(&w);
}

/*
 * So many LIDs, and answers so late, that forwarding tables are still read back when the join's
 * tree stands.
 */
static void who_joins_after_a_restart_does_not_wait_for_tables_that_are_read_back(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	stop_fabric(&w);
	w.conf.routing.lmc = 7;
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	stop_fabric(&w);
	start_fabric(&w);
	for (unsigned i = 0; i < 20000 && !status_number(&w, NULL, "lft_blocks_unread"); i++)
		run_for(&w, 50);
	double_set_fault(w.hw, 0, DOUBLE_DELAY, 1000, 3000);
	for (unsigned host = 1; host < 12; host += 5)
		model_join(&w, &m, host, 0, WIRE_JOIN_FULL);
	for (unsigned i = 0; i < 100 && !status_number(&w, "multicast", "mft_blocks_written"); i++)
		run_for(&w, 1000);
	assert_true(status_number(&w, "multicast", "mft_blocks_written") > 0);
	assert_true(status_number(&w, NULL, "lft_blocks_unread") > 0);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_held(&w, &m);
	world_fini(&w);
}

static void groups_are_saved_while_it_runs(void **state)
{
	unsigned members = 0;
	struct world w;
	char *rows;

	small_world(&w);
	for (unsigned i = 1; i < 6; i++)
		assert_int_equal(join(&w, i, 0, WIRE_JOIN_FULL).status, WIRE_SA_OK);
	run_for(&w, SECOND_US);
	assert_true(state_is_kept(fabric_services(w.fabric).state));
	rows = state_lines(&w, "groups");
	for (const char *at = rows; (at = strstr(at, "joined ")); at++)
		members++;
	free(rows);
	assert_int_equal(members, 5);
	world_fini(&w);
}

static void groups_that_can_not_be_are_lost_and_told(void **state)
{
	static const char *const bad[] = {
		"joined 0xff12401bffff0000 0xffffffff 0x1 1 0\n",
		"group 0xff12401bffff0000 0xffffffff 0xbfff 0xffff 0xb1b 4 3 18 0 0x0 0 0\n",
		("group 0xff12401bffff0000 0xffffffff 0xc000 0xffff 0xb1b 4 3 18 0 0x0 0 0\n"
		 "group 0xff12401bffff0000 0xfffffffe 0xc000 0xffff 0xb1b 4 3 18 0 0x0 0 0\n"),
		"nonsense\n",
	};
	struct world w;

	small_world(&w);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		restart_with_corrupted(&w, "groups", bad[i]);
		assert_int_equal(status_number(&w, "multicast", "groups"), 1);
		assert_int_equal(status_number(&w, "multicast", "members"), 0);
	}
	world_fini(&w);
}

static void members_that_are_away_at_a_restart_are_waited_for(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	for (unsigned i = 10; i < 14; i++)
		model_join(&w, &m, i, 0, WIRE_JOIN_FULL);
	stop_fabric(&w);
	double_cut(w.hw, node_of(&w, 12), 1);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 4);
	double_join(w.hw, node_of(&w, 12), 1);
	run_for(&w, 12 * SECOND_US);
	assert_held(&w, &m);
	double_cut(w.hw, node_of(&w, 13), 1);
	run_for(&w, 12 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 3);
	stop_fabric(&w);
	double_cut(w.hw, node_of(&w, 12), 1);
	start_fabric(&w);
	run_for(&w, 601 * SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 2);
	world_fini(&w);
}

/* As if fmd had died before it was written. */
static void forget_last_join(const struct world *w)
{
	assert_int_equal(rows_run(w->state_dir, "DELETE FROM state WHERE kind = 'groups' AND key = "
						"(SELECT max(key) FROM state WHERE kind = 'groups' "
						"AND key LIKE 'joined %')"),
			 1);
}

static unsigned registrations(const struct world *w)
{
	unsigned count = 0;

	for (unsigned host = 0; host < HOSTS; host++)
		count += double_reregistered(w->hw, node_of(w, host), 1);
	return count;
}

static void who_joined_unknown_to_the_rows_is_asked_to_join_again(void **state)
{
	struct world w;

	small_world(&w);
	for (unsigned i = 10; i < 14; i++)
		assert_int_equal(join(&w, i, 0, WIRE_JOIN_FULL).status, WIRE_SA_OK);
	run_for(&w, SECOND_US / 10);
	stop_fabric(&w);
	forget_last_join(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(registrations(&w), 2 * HOSTS);
	assert_int_equal(count_logged(&w, "mcast-strangers", "register anew"), 1);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(registrations(&w), 2 * HOSTS); /* once is enough */
	world_fini(&w);
}

/* ---- Partitions ------------------------------------------------------------------------------ */

/* Who is in partition 1 with fmd's host: hosts 1 up to that number. */
static void write_partition(struct world *w, unsigned last)
{
	FILE *out;

	snprintf(w->conf.partition.file, sizeof(w->conf.partition.file), "%s/partitions.conf",
		 w->state_dir);
	out = fopen(w->conf.partition.file, "w");
	assert_non_null(out);
	fprintf(out, "Default=0x7fff : ALL=limited, SELF=full;\none=1, defmember=full : SELF");
	for (unsigned host = 1; host <= last; host++)
		fprintf(out, ", 0x%llx", (unsigned long long)port_of(w, host));
	fprintf(out, ";\n");
	fclose(out);
	fabric_configure(w->fabric, &w->conf);
	run_for(w, SECOND_US);
}

static void a_member_without_the_p_key_is_sent_nothing_until_it_joins_again(void **state)
{
	struct model m = { 0 };
	struct world w;

	small_world(&w);
	write_partition(&w, 20);
	for (unsigned i = 10; i <= 20; i++)
		m.state[0][i] = join_in(&w, i, 0, 0x8001).rec.join_state;
	m.mlid[0] = join_in(&w, 10, 0, 0x8001).rec.mlid;
	run_for(&w, SECOND_US / 10);
	assert_held(&w, &m);
	write_partition(&w, 15);
	for (unsigned i = 16; i <= 20; i++)
		m.state[0][i] = 0;
	assert_held(&w, &m);
	write_partition(&w, 18);
	assert_held(&w, &m);
	for (unsigned i = 16; i <= 18; i++)
		m.state[0][i] = join_in(&w, i, 0, 0x8001).rec.join_state;
	run_for(&w, SECOND_US / 10);
	assert_held(&w, &m);
	unlink(w.conf.partition.file);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restart_is_nothing_members_notice),
		cmocka_unit_test(
			who_joins_after_a_restart_does_not_wait_for_tables_that_are_read_back),
		cmocka_unit_test(groups_are_saved_while_it_runs),
		cmocka_unit_test(groups_that_can_not_be_are_lost_and_told),
		cmocka_unit_test(members_that_are_away_at_a_restart_are_waited_for),
		cmocka_unit_test(who_joined_unknown_to_the_rows_is_asked_to_join_again),
		cmocka_unit_test(a_member_without_the_p_key_is_sent_nothing_until_it_joins_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
