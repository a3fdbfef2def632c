/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What becomes of files of state_dir that were lost, of those of an older fmd, and of a disk that
 * is slow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
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

/* The text of an alert whose subject is the file, "" = none; the caller frees it. */
static char *alert_of(const struct world *w, const char *file)
{
	json_t *status = fabric_status(w->fabric), *it;
	char *text = mem_strdup(""), subject[64];
	size_t i;

	snprintf(subject, sizeof(subject), "state_dir/%s", file);
	json_array_foreach (json_object_get(status, "alerts"), i, it)
		if (!strcmp(json_string_value(json_object_get(it, "subject")), subject)) {
			free(text);
			text = mem_strdup(json_string_value(json_object_get(it, "text")));
		}
	json_decref(status);
	return text;
}

static void assert_alert(const struct world *w, const char *file, const char *part)
{
	char *text = alert_of(w, file);

	if (!strstr(text, part) || !*text)
		fail_msg("%s: '%s' is not in '%s'", file, part, text);
	assert_int_equal(count_logged(w, "alert", part), 1);
	free(text);
}

/* About files. */
/* ---- Lost files ------------------------------------------------------------------------------ */

static void cut(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 50), 0);
}

static void flip(const char *path)
{
	int fd = open(path, O_RDWR);
	char byte;

	assert_int_equal(pread(fd, &byte, 1, 30), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 30), 1);
	close(fd);
}

static void empty(const char *path)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void take_away(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static void make_fifo(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void cordon_that_is_lost_is_an_alert_that_names_it(void **state)
{
	static void (*const corrupt[])(const char *) = { cut, flip, empty, take_away, make_fifo };

	for (size_t i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++) {
		struct world w;
		char path[128];

		world_init(&w, pod(1));
		json_decref(cordon(&w, "spine-02", true).result);
		json_decref(cordon(&w, "leaf-su01-rail0:40", true).result);
		state_path(&w, "cordons", path);
		stop_fabric(&w);
		corrupt[i](path);
		start_fabric(&w);
		run_for(&w, 3 * SECOND_US);
		assert_alert(&w, "cordons", "it had: spine-02, leaf-su01-rail0:40");
		assert_int_equal(status_number(&w, NULL, "links_cordoned"), 0);
		restart(&w); /* what is there instead is whole */
		assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
		world_fini(&w);
	}
}

static void quarantine_that_is_lost_is_named_too(void **state)
{
	struct world w;
	char path[128];
	uint32_t leaf;
	unsigned port;

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
	state_path(&w, "quarantine", path);
	stop_fabric(&w);
	cut(path);
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_alert(&w, "quarantine", w.design->nodes[leaf].desc);
	world_fini(&w);
}

static void alert_ends_when_what_was_kept_is_taken_away(void **state)
{
	struct world w;
	char path[128];

	world_init(&w, pod(1));
	json_decref(cordon(&w, "spine-02", true).result);
	state_path(&w, "cordons", path);
	stop_fabric(&w);
	flip(path);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 1);
	strcat(path, ".bad");
	assert_int_equal(unlink(path), 0);
	run_for(&w, 11 * SECOND_US);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	assert_int_equal(count_logged(&w, "alert-over", "cordons"), 1);
	world_fini(&w);
}

static void every_file_that_is_damaged_or_lost_is_an_alert(void **state)
{
	static const char *const files[] = { "lids",	"cables",   "tables",	     "groups",
					     "aliases", "services", "subscriptions", "manifest" };
	static void (*const corrupt[])(const char *) = { cut, flip, empty, take_away };

	for (size_t i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++) {
		struct world w;
		char path[128];

		world_init(&w, small_tree());
		run_for(&w, 10 * SECOND_US);
		for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
			char *text;

			state_path(&w, files[k], path);
			stop_fabric(&w);
			corrupt[i](path);
			log_set_level(LOG_CORE, LOG_ERR - 1);
			start_fabric(&w);
			run_for(&w, 10 * SECOND_US);
			assert_true(is_up(&w));
			text = alert_of(&w, files[k]);
			if (!*text)
				fail_msg("%s: no alert (%zu)", files[k], i);
			free(text);
			assert_int_equal(count_alerts(&w, "state-lost", ""), 1);
			strcat(path, ".bad");
			unlink(path);
			run_for(&w, 11 * SECOND_US);
		}
		world_fini(&w);
	}
}

static void unused_state_dir_and_whole_files_are_no_alert(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	run_for(&w, 10 * SECOND_US);
	restart(&w);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	world_fini(&w);
}

static void file_edited_by_hand_is_read_and_reported(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	json_decref(cordon(&w, "spine-02", true).result);
	stop_fabric(&w);
	strip_state(&w, "cordons");
	start_fabric(&w);
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_int_equal(count_logged(&w, "state-edited", "cordons"), 1);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	restart(&w); /* it was written anew */
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_int_equal(count_logged(&w, "state-edited", ""), 0);
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

static bool is_new_form(const struct world *w, const char *name)
{
	struct state_content content;
	char path[128];
	enum state_result said;

	state_path(w, name, path);
	said = state_file_load(path, name, &content);
	free(content.bytes);
	return said == STATE_WHOLE;
}

static void upgrade_loses_nothing_alerts_nobody_and_writes_all_anew(void **state)
{
	static const char *const files[] = { "lids",	  "cordons",  "quarantine",   "nvswitch",
					     "overrides", "groups",   "cables",	      "tables",
					     "aliases",	  "services", "subscriptions" };
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};
	struct world w;
	char command[128];

	world_init(&w, pod(1));
	stop_fabric(&w);
	snprintf(command, sizeof(command), "rm %s/*", w.state_dir);
	assert_int_equal(system(command), 0);
	copy_old(&w);
	w.mad = mad_new(w.loop, double_io(w.hw), &mad);
	w.fabric = fabric_new(w.loop, w.mad, &w.conf, fabric_rooms);
	fabric_start(w.fabric);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	assert_int_equal(count_logged(&w, "state-edited", ""), 0);
	assert_old_lids(&w);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
	assert_int_equal(status_number(&w, NULL, "links_quarantined"), 1);
	assert_true(status_number(&w, "rebalance", "overrides") > 0);
	assert_int_equal(status_number(&w, "multicast", "members"), 4);
	run_for(&w, 70 * SECOND_US);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (!is_new_form(&w, files[i]))
			fail_msg("%s is of the old form still", files[i]);
	restart(&w);
	assert_old_lids(&w);
	assert_int_equal(count_alerts(&w, "state-lost", ""), 0);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 64);
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
	pid_t own;	       /* whose fsync() is an error; 0 = nobody's */
	atomic_bool *standing; /* shared with children, which wait as long as it is true */
} disk;

/* In place of the C library's. */
int fsync(int fd)
{
	if (disk.own && getpid() == disk.own) {
		print_error("fsync() in the loop\n");
		abort();
	}
	while (disk.standing && *disk.standing)
		usleep(1000);
	return (int)syscall(SYS_fsync, fd);
}

static void disk_stops(void)
{
	disk.standing = mmap(NULL, sizeof(*disk.standing), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(disk.standing, MAP_FAILED);
	*disk.standing = true;
	disk.own = getpid();
}

static void disk_goes_on(void)
{
	*disk.standing = false;
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

static bool file_is_there(const struct world *w, const char *name)
{
	char path[128];

	state_path(w, name, path);
	return access(path, F_OK) == 0;
}

static bool all_is_written(const struct world *w)
{
	return file_is_there(w, "cordons") && file_is_there(w, "lids") &&
	       file_is_there(w, "cables");
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

/* In real time: the disk stands still from before the first file on, and the fabric goes on. */
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
	snprintf(w.conf.state_dir, sizeof(w.conf.state_dir), "%s", w.state_dir);
	w.hw = double_new(w.loop, w.design, w.design->nodes[w.design->nswitches].guid, 1, NULL);
	w.stop = loop_timer_new(w.loop, stop_cb, w.loop);
	disk_stops();
	start_fabric(&w);
	wait_for(&w, is_up); /* with LIDs that no file has yet */
	assert_hardware_holds_the_tables(&w);
	leaf = far_leaf(&w);
	port = uplink_of(w.design, leaf);
	double_cut(w.hw, w.design->nodes[leaf].guid, port);
	wait_for(&w, has_fault);
	assert_hardware_holds_the_tables(&w);
	cordoned = (struct reply){ 0 };
	maintenance_cordon(w.fabric, "spine-02", true, reply_cb, &cordoned);
	wait_for(&w, is_cordoned); /* in force.. */
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(cordoned.count, 0); /* ..and not answered: it is not kept yet */
	assert_false(file_is_there(&w, "cordons"));
	disk_goes_on();
	wait_for(&w, is_answered);
	assert_string_equal(cordoned.error, "");
	assert_null(json_object_get(cordoned.result, "not_saved"));
	assert_true(file_is_there(&w, "cordons"));
	json_decref(cordoned.result);
	wait_for(&w, all_is_written);
	disk.own = 0;
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cordon_that_is_lost_is_an_alert_that_names_it),
		cmocka_unit_test(quarantine_that_is_lost_is_named_too),
		cmocka_unit_test(alert_ends_when_what_was_kept_is_taken_away),
		cmocka_unit_test(every_file_that_is_damaged_or_lost_is_an_alert),
		cmocka_unit_test(unused_state_dir_and_whole_files_are_no_alert),
		cmocka_unit_test(file_edited_by_hand_is_read_and_reported),
		cmocka_unit_test(upgrade_loses_nothing_alerts_nobody_and_writes_all_anew),
		cmocka_unit_test(what_is_down_is_known_however_often_fmd_is_killed_amid_changes),
		cmocka_unit_test(
			disk_that_stands_still_holds_up_nothing_but_the_answer_that_waits_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
