/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What becomes of rows of state_dir that were lost, of files of an older fmd, and of a disk that is
 * slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "tests/lib/fabric_world.h"

#define PATIENCE 1000000 /* looks, a tenth of a millisecond apart at least */

static void restart(struct world *w)
{
	stop_fabric(w);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(w);
	run_for(w, 3 * SECOND_US);
	assert_true(is_up(w));
}

/* The text of an alert whose subject it is, "" = none; the caller frees it. */
static char *alert_of(const struct world *w, const char *subject)
{
	json_t *status = fabric_status(w->fabric), *it;
	char *text = mem_strdup("");
	size_t i;

	json_array_foreach (json_object_get(status, "alerts"), i, it)
		if (!strcmp(json_string_value(json_object_get(it, "subject")), subject)) {
			free(text);
			text = mem_strdup(json_string_value(json_object_get(it, "text")));
		}
	json_decref(status);
	return text;
}

static void assert_alert(const struct world *w, const char *subject, const char *part)
{
	char *text = alert_of(w, subject);

	if (!strstr(text, part) || !*text)
		fail_msg("%s: '%s' is not in '%s'", subject, part, text);
	assert_int_equal(count_logged(w, "alert", part), 1);
	free(text);
}

/* ---- A database that was lost ---------------------------------------------------------------- */

#define DATABASE "state.db"

static void cut(const struct world *w)
{
	char path[128];
	struct stat st;

	state_path(w, DATABASE, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
}

static void spoil_the_header(const struct world *w)
{
	rows_damage(w->state_dir, 0, 16);
}

static void spoil_the_root(const struct world *w)
{
	rows_damage(w->state_dir, 100, 8);
}

static void spoil_a_page(const struct world *w)
{
	rows_damage(w->state_dir, -40000, 4096);
}

static void fill_with_noise(const struct world *w)
{
	rows_damage(w->state_dir, 0, 100000);
}

static void empty(const struct world *w)
{
	char path[128];

	state_path(w, DATABASE, path);
	assert_int_equal(truncate(path, 0), 0);
}

static void take_away(const struct world *w)
{
	char path[128];

	state_path(w, DATABASE, path);
	assert_int_equal(unlink(path), 0);
}

static void make_fifo(const struct world *w)
{
	char path[128];

	take_away(w);
	state_path(w, DATABASE, path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

/* Whatever has become of it, it is told, hosts register anew, and it is whole afterwards. */
static void database_that_is_damaged_or_lost_is_an_alert(void **state)
{
	static void (*const corrupt[])(const struct world *) = {
		cut,   spoil_the_header, spoil_the_root, spoil_a_page, fill_with_noise,
		empty, take_away,	 make_fifo
	};

	for (size_t i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++) {
		struct world w;
		guid_t host;
		unsigned before;
		char *text;

		world_init(&w, small_tree());
		run_for(&w, 10 * SECOND_US);
		host = w.design->nodes[w.design->nswitches + 3].guid;
		before = double_reregistered(w.hw, host, 1);
		stop_fabric(&w);
		corrupt[i](&w);
		log_set_level(LOG_CORE, LOG_ERR - 1);
		start_fabric(&w);
		run_for(&w, 10 * SECOND_US);
		assert_true(is_up(&w));
		text = alert_of(&w, DATABASE);
		if (!*text)
			fail_msg("no alert (%zu)", i);
		free(text);
		assert_int_equal(double_reregistered(w.hw, host, 1), before + 1);
		assert_hardware_holds_the_tables(&w);
		restart(&w); /* what is there instead is whole */
		assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
		world_fini(&w);
	}
}

/* Rows that can be read are in force; what a person would have to know of all is said. */
static void what_can_be_read_of_a_damaged_database_is_in_force(void **state)
{
	uint64_t seed = 5;
	unsigned kept = 0;

	for (unsigned i = 0; i < 12; i++) {
		struct world w;
		char path[128];
		struct stat st;
		unsigned cordoned;

		world_init(&w, pod(1));
		json_decref(cordon(&w, "spine-02", true).result);
		json_decref(cordon(&w, "leaf-su01-rail0:40", true).result);
		run_for(&w, 10 * SECOND_US);
		cordoned = status_number(&w, NULL, "links_cordoned");
		stop_fabric(&w);
		state_path(&w, DATABASE, path);
		assert_int_equal(stat(path, &st), 0);
		/* Behind page 2, the root of the table: without that nothing can be read. */
		rows_damage(w.state_dir,
			    4096 * (2 + damage_random(&seed) % (st.st_size / 4096 - 2)), 8);
		log_set_level(LOG_CORE, LOG_ERR - 1);
		start_fabric(&w);
		run_for(&w, 3 * SECOND_US);
		assert_true(is_up(&w));
		assert_true(count_alerts(&w, "state-lost", "") > 0);
		if (status_number(&w, NULL, "links_cordoned") == cordoned)
			kept++;
		else
			assert_alert(&w, DATABASE, "cordons had: spine-02, leaf-su01-rail0:40");
		strcat(path, ".bad");
		assert_int_equal(access(path, F_OK), 0);
		world_fini(&w);
	}
	assert_in_range(kept, 1, 12);
}

/* ---- A row that was lost --------------------------------------------------------------------- */

static void a_row_that_is_not_what_was_written_is_lost_alone(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	json_decref(cordon(&w, "leaf-su01-rail0:40", true).result);
	json_decref(cordon(&w, "leaf-su01-rail1:40", true).result);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 2);
	stop_fabric(&w);
	assert_int_equal(rows_run(w.state_dir,
				  "UPDATE state SET value = value || '1' WHERE kind = 'cordons' "
				  "AND key = (SELECT max(key) FROM state WHERE kind = 'cordons')"),
			 1);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_alert(&w, "cordons", "is not what was written, and is not used");
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 1);
	restart(&w); /* what is there instead is whole */
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 1);
	world_fini(&w);
}

static void quarantine_that_is_lost_is_named_too(void **state)
{
	struct world w;
	uint32_t leaf;
	unsigned port;
	char *kinds, text[128];

	world_init(&w, pod(1));
	leaf = far_leaf(&w);
	port = uplink_of(w.design, leaf);
	for (unsigned i = 0; i < 6; i++) {
		double_cut(w.hw, w.design->nodes[leaf].guid, port);
		run_for(&w, SECOND_US);
		double_join(w.hw, w.design->nodes[leaf].guid, port);
		run_for(&w, SECOND_US);
	}
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 1);
	kinds = disk_lines(&w, "kinds");
	snprintf(text, sizeof(text), "quarantine %s", w.design->nodes[leaf].desc);
	assert_non_null(strstr(kinds, text));
	free(kinds);
	world_fini(&w);
}

static void alert_ends_when_what_was_kept_is_taken_away(void **state)
{
	struct world w;
	char path[128];

	world_init(&w, pod(1));
	stop_fabric(&w);
	spoil_the_header(&w);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 1);
	state_path(&w, DATABASE ".bad", path);
	assert_int_equal(unlink(path), 0);
	run_for(&w, 11 * SECOND_US);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	assert_int_equal(count_logged(&w, "alert-over", DATABASE), 1);
	world_fini(&w);
}

static void unused_state_dir_and_whole_rows_are_no_alert(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	run_for(&w, 10 * SECOND_US);
	restart(&w);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	world_fini(&w);
}

/* Events of all lives: what is told of state_dir stands ahead of a life's beginning. */
static unsigned count_of(const struct world *w, const char *kind)
{
	json_t *events = fabric_events(w->fabric, 1000), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (events, i, event)
		count += !strcmp(json_string_value(json_object_get(event, "kind")), kind);
	json_decref(events);
	return count;
}

static void row_edited_by_hand_is_read_and_reported(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	json_decref(cordon(&w, "leaf-su01-rail0:40", true).result);
	stop_fabric(&w);
	assert_int_equal(rows_run(w.state_dir,
				  "INSERT INTO state(kind, key, value) SELECT kind, replace(key, "
				  "' 40', ' 41'), value FROM state WHERE kind = 'cordons'"),
			 1);
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 2);
	assert_int_equal(count_of(&w, "state-edited"), 1);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	restart(&w); /* it has a sum now */
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 2);
	assert_int_equal(count_of(&w, "state-edited"), 1);
	world_fini(&w);
}

/* ---- The version before ---------------------------------------------------------------------- */

#define OLD "tests/state/v1"

static void copy_old(const struct world *w)
{
	char command[256];

	snprintf(command, sizeof(command), "cp %s/* %s/", OLD, w->state_dir);
	assert_int_equal(system(command), 0);
}

/* LIDs of the old file, each held by whoever had it. */
static void assert_old_lids(const struct world *w)
{
	FILE *in = fopen(OLD "/lids", "r");
	unsigned long long guid;
	unsigned lid, lmc, count = 0;

	assert_non_null(in);
	while (fscanf(in, "0x%llx %u %u\n", &guid, &lid, &lmc) == 3) {
		uint32_t port = topo_find_port(fabric_topo(w->fabric), guid);

		assert_true(port != TOPO_NONE);
		assert_int_equal(fabric_lids(w->fabric)->lid_of_port[port], lid);
		count++;
	}
	fclose(in);
	assert_int_equal(count, 268);
}

static void upgrade_loses_nothing_alerts_nobody_and_is_done_once(void **state)
{
	static const char *const kinds[] = { "lids",	  "cordons",  "quarantine",   "nvswitch",
					     "overrides", "groups",   "cables",	      "nodes",
					     "aliases",	  "services", "subscriptions" };
	struct world w;
	char path[128];

	world_init(&w, pod(1));
	stop_fabric(&w);
	remove_all_state(&w);
	copy_old(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	assert_int_equal(count_of(&w, "state-edited"), 0);
	for (unsigned life = 0; life < 2; life++) {
		char *known = disk_lines(&w, "kinds");

		assert_int_equal(count_of(&w, "state-taken-over"), 1);
		assert_old_lids(&w);
		assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
		assert_int_equal(status_number(&w, NULL, "links_quarantined"), 1);
		assert_true(status_number(&w, "rebalance", "overrides") > 0);
		assert_int_equal(status_number(&w, "multicast", "members"), 4);
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			if (!strstr(known, kinds[i]))
				fail_msg("%s: it was never kept", kinds[i]);
			state_path(&w, kinds[i], path);
			assert_int_not_equal(access(path, F_OK), 0);
		}
		free(known);
		state_path(&w, "before-state.db/lids", path);
		assert_int_equal(access(path, F_OK), 0);
		restart(&w);
		assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	}
	world_fini(&w);
}

/* ---- A process that is killed ---------------------------------------------------------------- */

/* As SIGKILL leaves it: children go with it, nothing is written at the end. */
static void kill_fabric(struct world *w)
{
	char command[512], away[96];

	snprintf(away, sizeof(away), "%s-kept", w->state_dir);
	snprintf(command, sizeof(command), "rm -rf %s; cp -r %s %s", away, w->state_dir, away);
	assert_int_equal(system(command), 0);
	stop_fabric(w);
	snprintf(command, sizeof(command), "rm -rf %s; mv %s %s", w->state_dir, away, w->state_dir);
	assert_int_equal(system(command), 0);
}

static void what_is_down_is_known_however_often_fmd_is_killed_amid_changes(void **state)
{
	struct world w;
	uint32_t leaf, links;
	unsigned first;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	first = uplink_of(w.design, leaf);
	links = w.design->nlinks;
	for (unsigned life = 0; life < 5; life++) {
		double_cut(w.hw, w.design->nodes[leaf].guid, first);
		for (unsigned i = 0; i < 4; i++) { /* it never rests */
			double_cut(w.hw, w.design->nodes[leaf - 1].guid, first);
			run_for(&w, SECOND_US / 2);
			double_join(w.hw, w.design->nodes[leaf - 1].guid, first);
			run_for(&w, SECOND_US / 2);
		}
		kill_fabric(&w);
		start_fabric(&w);
		run_for(&w, SECOND_US);
		assert_int_equal(status_number(&w, NULL, "links"), links);
		assert_int_equal(status_number(&w, NULL, "links_down"), 1);
		assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	}
	world_fini(&w);
}

/* ---- A slow disk ----------------------------------------------------------------------------- */

static struct {
	pid_t loop;	      /* the thread whose fsync() is an error; 0 = none's */
	atomic_bool standing; /* others wait as long as it is true */
} disk;

static void sync_begins(void)
{
	if (disk.loop && syscall(SYS_gettid) == disk.loop) {
		print_error("the loop waits for the disk\n");
		abort();
	}
	while (disk.standing)
		usleep(1000);
}

/* In place of the C library's. */
int fsync(int fd)
{
	sync_begins();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	sync_begins();
	return (int)syscall(SYS_fdatasync, fd);
}

static void disk_stops(void)
{
	disk.standing = true;
	disk.loop = (pid_t)syscall(SYS_gettid);
}

static void disk_goes_on(void)
{
	disk.standing = false;
}

static struct world *waiting;
static bool (*wanted)(const struct world *w);
static struct loop_timer *looking;

static void look(void *arg)
{
	unsigned *left = arg;

	if (wanted(waiting) || !--*left)
		loop_stop(waiting->loop);
	else
		loop_timer_set(looking, 100);
}

static void wait_for(struct world *w, bool (*what)(const struct world *w))
{
	unsigned left = PATIENCE;

	waiting = w;
	wanted = what;
	looking = loop_timer_new(w->loop, look, &left);
	loop_timer_set(looking, 0);
	assert_int_equal(loop_run(w->loop), 0);
	loop_timer_free(looking);
	if (!what(w)) {
		json_t *events = fabric_events(w->fabric, 20);

		json_dumpf(events, stderr, JSON_INDENT(1));
		json_decref(events);
		fail();
	}
}

static bool has_fault(const struct world *w)
{
	return count_logged(w, "rerouted", "") > 0 && is_up(w);
}

static bool all_is_kept(const struct world *w)
{
	return state_is_kept(fabric_services(w->fabric).state);
}

static struct reply cordoned;

static bool is_answered(const struct world *w)
{
	return cordoned.count > 0;
}

static bool is_cordoned(const struct world *w)
{
	return status_number(w, NULL, "links_cordoned") > 0 && is_up(w);
}

/* In real time: the disk stands still once fmd has begun, and the fabric goes on. */
static void disk_that_stands_still_holds_up_nothing_but_the_answer_that_waits_for_it(void **state)
{
	struct world w = { .design = pod(1), .loop = loop_new() };
	uint32_t leaf;
	unsigned port;

	log_set_level(-1, LOG_ERR);
	strcpy(w.state_dir, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w.state_dir));
	conf_default(&w.conf);
	w.conf.audit.rate = 0;
	w.conf.mirror.synchronous = true;
	snprintf(w.conf.state_dir, sizeof(w.conf.state_dir), "%s", w.state_dir);
	w.hw = double_new(w.loop, w.design, w.design->nodes[w.design->nswitches].guid, 1, NULL);
	w.stop = loop_timer_new(w.loop, stop_cb, w.loop);
	start_fabric(&w);
	disk_stops();
	wait_for(&w, is_up); /* with LIDs that no disk has yet */
	assert_hardware_holds_the_tables(&w);
	leaf = far_leaf(&w);
	port = uplink_of(w.design, leaf);
	double_cut(w.hw, w.design->nodes[leaf].guid, port);
	wait_for(&w, has_fault);
	assert_hardware_holds_the_tables(&w);
	cordoned = (struct reply){ 0 };
	links_out_cordon(w.fabric, "spine-02", true, reply_cb, &cordoned);
	wait_for(&w, is_cordoned); /* in force.. */
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(cordoned.count, 0); /* ..and not answered: it is not kept yet */
	assert_false(all_is_kept(&w));
	disk_goes_on();
	wait_for(&w, is_answered);
	assert_string_equal(cordoned.error, "");
	assert_null(json_object_get(cordoned.result, "not_saved"));
	json_decref(cordoned.result);
	wait_for(&w, all_is_kept);
	disk.loop = 0;
	stop_fabric(&w);
	char *rows = state_lines(&w, "cordons");
	assert_string_not_equal(rows, "");
	free(rows);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(database_that_is_damaged_or_lost_is_an_alert),
		cmocka_unit_test(what_can_be_read_of_a_damaged_database_is_in_force),
		cmocka_unit_test(a_row_that_is_not_what_was_written_is_lost_alone),
		cmocka_unit_test(quarantine_that_is_lost_is_named_too),
		cmocka_unit_test(alert_ends_when_what_was_kept_is_taken_away),
		cmocka_unit_test(unused_state_dir_and_whole_rows_are_no_alert),
		cmocka_unit_test(row_edited_by_hand_is_read_and_reported),
		cmocka_unit_test(upgrade_loses_nothing_alerts_nobody_and_is_done_once),
		cmocka_unit_test(what_is_down_is_known_however_often_fmd_is_killed_amid_changes),
		cmocka_unit_test(
			disk_that_stands_still_holds_up_nothing_but_the_answer_that_waits_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
