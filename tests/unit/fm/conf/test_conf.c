/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The configuration: what is taken, what is refused and with which words, and that etc/fmd.conf
 * shows every key with the default that the code has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fm/conf/conf.h"
#include "fm/conf/conf_table.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"

struct fixture {
	char dir[64], path[96];
	struct conf conf;
	char err[256];
	char expected[512];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/fmd-test-conf-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/fmd.conf", f->dir);
	conf_default(&f->conf);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) >= 0, 1);
	fclose(file);
}

static int load(struct fixture *f, const char *text)
{
	write_file(f->path, text);
	return conf_load(f->path, &f->conf, f->err, sizeof(f->err));
}

/* Refused with `FILE:line: reason`, and the caller's configuration as it was. */
static void refuses(struct fixture *f, const char *text, unsigned line, const char *reason)
{
	struct conf before = f->conf;

	assert_int_equal(load(f, text), -1);
	snprintf(f->expected, sizeof(f->expected), "%s:%u: %s", f->path, line, reason);
	assert_string_equal(f->err, f->expected);
	assert_memory_equal(&before, &f->conf, sizeof(before));
}

static void empty_file_gives_the_defaults(void **state)
{
	struct fixture *f = *state;
	struct conf defaults;

	conf_default(&defaults);
	memset(&f->conf, 0xa5, sizeof(f->conf));
	assert_int_equal(load(f, ""), 0);
	assert_memory_equal(&f->conf, &defaults, sizeof(defaults));
	assert_int_equal(defaults.sweep.interval_ms, 10000);
	assert_int_equal(defaults.sm.subnet_prefix, 0xfe80000000000000);
	assert_int_equal(defaults.routing.engine, CONF_FTREE);
}

static void every_kind_of_value_is_taken(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		load(f, "guid = \"0x248a0703001234ff\";\nport = 2; sweep_interval = 0.25\n"
			"device = \"mlx5_1\"; packet_life_time = 0x13; log_level = \"debug\";"),
		0);
	assert_string_equal(f->conf.port.guids, "0x248a0703001234ff");
	assert_int_equal(f->conf.port.num, 2);
	assert_int_equal(f->conf.sweep.interval_ms, 250);
	assert_string_equal(f->conf.port.devices, "mlx5_1");
	assert_int_equal(f->conf.ports.packet_life_time, 0x13);
	assert_int_equal(f->conf.log_level, LOG_DEBUG);
}

static void seconds_may_be_whole_and_off(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, "sweep_interval = 30;"), 0);
	assert_int_equal(f->conf.sweep.interval_ms, 30000);
	assert_int_equal(load(f, "sweep_interval = 0;"), 0);
	assert_int_equal(f->conf.sweep.interval_ms, 0);
}

/* A file of an earlier version is not refused. */
static void key_that_has_another_name_now_works_by_either(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, "mcast_groups_per_port = 7;"), 0);
	assert_int_equal(f->conf.sa.max_mcgs, 7);
	assert_int_equal(load(f, "sa_etm_max_num_mcgs = 9;"), 0);
	assert_int_equal(f->conf.sa.max_mcgs, 9);
}

static void unknown_key_is_named_with_its_line(void **state)
{
	refuses(*state, "port = 1;\n\nsweep_intervall = 3;\n", 3,
		"unknown key sweep_intervall; near: 'sweep_interval'");
}

static void all_that_is_wrong_is_named_at_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		load(f, "hold_dwn = 3;\nport = \"one\";\nsweep_interval = 20;\nlmc = 9;\n"), -1);
	snprintf(f->expected, sizeof(f->expected),
		 "%s:1: unknown key hold_dwn; near: 'hold_down'\n"
		 "%s:2: port: a whole number is expected\n%s:4: lmc = 9 is outside 0..7",
		 f->path, f->path, f->path);
	assert_string_equal(f->err, f->expected);
	assert_int_equal(
		load(f, "hold_down = 300;\nhold_down_max = 200;\nhttp_cert_file = \"a\";\n"), -1);
	assert_non_null(strstr(f->err, ":1: hold_down = 300 is more than hold_down_max = 200\n"));
	assert_non_null(strstr(f->err, ":3: http_cert_file and http_key_file go together"));
}

static void times_may_have_their_unit(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, "sweep_interval = \"2min\"; transaction_timeout = \"0.3 s\";"
				 "m_key_lease_period = \"1h\"; hold_down = \"3ms\";"),
			 0);
	assert_int_equal(f->conf.sweep.interval_ms, 120000);
	assert_int_equal(f->conf.mad.timeout_ms, 300);
	assert_int_equal(f->conf.sm.mkey_lease_s, 3600);
	assert_int_equal(f->conf.sweep.hold_down_ms, 3);
	refuses(f, "sweep_interval = \"2 parsecs\";", 1,
		"sweep_interval: a number is expected, or a time such as \"90s\"");
	refuses(f, "sweep_interval = \"1ms\";", 1,
		"sweep_interval = 0.001 is outside 0.1..86400 s (0 = off)");
	refuses(f, "lmc = \"1s\";", 1, "lmc: a whole number is expected");
}

static void value_out_of_range_is_refused(void **state)
{
	struct fixture *f = *state;

	refuses(f, "\nsm_priority = 16;", 2, "sm_priority = 16 is outside 0..15");
	refuses(f, "sm_priority = -1;", 1, "sm_priority = -1 is outside 0..15");
	refuses(f, "transaction_timeout = 5;", 1,
		"transaction_timeout = 5 is outside 10..60000 ms");
	refuses(f, "sweep_interval = 0.01;", 1,
		"sweep_interval = 0.01 is outside 0.1..86400 s (0 = off)");
	refuses(f, "rebalance = 100001;", 1, "rebalance = 100001 is outside 0..100000 entries");
	refuses(f, "max_wire_smps = 4294967297L;", 1,
		"max_wire_smps = 4.29497e+09 is outside 1..1024");
}

static void value_of_another_type_is_refused(void **state)
{
	struct fixture *f = *state;

	refuses(f, "port = \"one\";", 1, "port: a whole number is expected");
	refuses(f, "port = 1.5;", 1, "port: a whole number is expected");
	refuses(f, "port = true;", 1, "port: a whole number is expected");
	refuses(f, "port : { number = 1; };", 1, "port: a whole number is expected");
	refuses(f, "sweep_interval = \"10\";", 1,
		"sweep_interval: a number is expected, or a time such as \"90s\"");
	refuses(f, "device = 1;", 1, "device: a text in quotes is expected");
	refuses(f, "guid = 0x248a070300123456L;", 1, "guid: a text in quotes is expected");
}

static void number_of_64_bits_must_be_one(void **state)
{
	struct fixture *f = *state;

	refuses(f, "guid = \"mlx5_0\";", 1,
		"guid: \"mlx5_0\": a port GUID such as 0x0002c90300001234 is expected");
	refuses(f, "guid = \"0x1g\";", 1,
		"guid: \"0x1g\": a port GUID such as 0x0002c90300001234 is expected");
	refuses(f, "m_key = \"-1\";", 1,
		"m_key = \"-1\" is not a 64-bit number such as \"0x1234\"");
	refuses(f, "m_key = \"0x1ffffffffffffffff\";", 1,
		"m_key = \"0x1ffffffffffffffff\" is not a 64-bit number such as \"0x1234\"");
}

static void word_must_be_a_known_one(void **state)
{
	refuses(*state, "routing_engine = \"minhop\";", 1,
		"routing_engine = \"minhop\" is not one of ftree, updn, updn-root");
}

static void text_that_does_not_fit_is_refused(void **state)
{
	struct fixture *f = *state;

	refuses(f, "\nstate_dir = \"\";", 2, "state_dir: a path is expected");
	refuses(f, "socket = \"\";", 1, "socket: a path is expected");
	char line[300];

	snprintf(line, sizeof(line), "device = \"%0256d\";", 0);
	refuses(f, line, 1, "device: longer than 255 characters");
	snprintf(line, sizeof(line), "device = \"%0255d\";", 0);
	assert_int_equal(load(f, line), 0);
	assert_int_equal(
		load(f, "device = [\"mlx5_3\", \"mlx5_0\"]; guid = \"0x0000000000000000\";"), 0);
	assert_string_equal(f->conf.port.devices, "mlx5_3 mlx5_0");
}

static void address_to_listen_on_must_be_one(void **state)
{
	struct fixture *f = *state;

	refuses(f, "\nhttp_listen = \"9810\";", 2,
		"http_listen: \"9810\": ADDRESS:PORT is expected");
	refuses(f, "http_listen = \":9810\";", 1,
		"http_listen: \":9810\": ADDRESS:PORT is expected");
	refuses(f, "http_listen = \"127.0.0.1:98100\";", 1,
		"http_listen: \"127.0.0.1:98100\": ADDRESS:PORT is expected");
	assert_int_equal(load(f, "http_listen = \"[::1]:9810\";"), 0);
	assert_int_equal(load(f, "http_listen = \"mgmt:80\";"), 0);
}

static void pattern_of_exporters_must_make_urls(void **state)
{
	struct fixture *f = *state;

	refuses(f, "nvswitch_url = \"http://dcgm:9400/metrics\";", 1,
		"nvswitch_url: \"http://dcgm:9400/metrics\": %h is expected in place of the host's "
		"name");
	refuses(f, "nvswitch_url = \"ftp://%h/\";", 1,
		"nvswitch_url: \"ftp://%h/\": http:// or https:// is expected");
	refuses(f, "nvswitch_url = \"http:///%h\";", 1,
		"nvswitch_url: \"http:///%h\": is not the URL of a server");
	refuses(f, "port = 1;\nnvswitch_url = \"https://%h/\";", 2,
		"nvswitch_url is https, but nvswitch_ca_file is not set");
	assert_int_equal(load(f, "nvswitch_url = \"http://%h:9400/metrics\";"), 0);
	assert_int_equal(load(f, "nvswitch_url = \"https://%h/\"; nvswitch_ca_file = \"/ca\";"), 0);
}

static void least_may_not_be_above_most(void **state)
{
	struct fixture *f = *state;

	refuses(f, "\nhold_down = 20;\nhold_down_max = 10;", 2,
		"hold_down = 20 is more than hold_down_max = 10");
	refuses(f, "hold_down = 300;", 1, "hold_down = 300 is more than hold_down_max = 250");
	refuses(f, "\n\nhold_down_max = 1;", 3, "hold_down = 2 is more than hold_down_max = 1");
	refuses(f, "quarantine_time = 90.5;\nquarantine_time_max = 90;", 1,
		"quarantine_time = 90.5 is more than quarantine_time_max = 90");
	assert_int_equal(load(f, "hold_down = 250;"), 0);
}

static void keys_that_protect_nothing_are_refused(void **state)
{
	struct fixture *f = *state;

	refuses(f, "m_key = \"0x77\";\nold_m_key = \"0x77\";", 2, "old_m_key is the same as m_key");
	assert_int_equal(load(f, "old_m_key = \"0x77\";"), 0); /* it is taken back */
	assert_int_equal(load(f, "m_key = \"0x77\";\nold_m_key = \"0x78\";"), 0);
	refuses(f, "m_key = \"0x77\";\nsa_key = \"1\";", 2,
		"m_key is set, but sa_key = 1 is publicly known: set another sa_key, or none to "
		"have one generated");
	assert_int_equal(load(f, "m_key = \"0x77\";\nsa_key = \"0x88\";"), 0);
	assert_int_equal(load(f, "m_key = \"0x77\";"), 0); /* one is made */
	assert_int_equal(load(f, "sa_key = \"1\";"), 0);   /* nothing is meant to be protected */
}

static void syntax_error_is_named_with_its_line(void **state)
{
	refuses(*state, "port = 1;\nguid = = 2;\n", 2, "syntax error");
}

static void key_written_twice_is_refused(void **state)
{
	refuses(*state, "port = 1;\nport = 2;\n", 2, "duplicate setting name");
}

static void file_that_cannot_be_read_is_refused(void **state)
{
	struct fixture *f = *state;
	struct conf before = f->conf;

	assert_int_equal(conf_load("/nonexistent/fmd.conf", &f->conf, f->err, sizeof(f->err)), -1);
	assert_string_equal(f->err,
			    "/nonexistent/fmd.conf:0: cannot be opened: No such file or directory");
	assert_int_equal(conf_load(f->dir, &f->conf, f->err, sizeof(f->err)), -1);
	snprintf(f->expected, sizeof(f->expected), "%s:0: is a directory", f->dir);
	assert_string_equal(f->err, f->expected);
	assert_memory_equal(&before, &f->conf, sizeof(before));
}

static void error_in_an_included_file_names_that_file(void **state)
{
	struct fixture *f = *state;
	char site[128], text[192];

	snprintf(site, sizeof(site), "%s/site.conf", f->dir);
	snprintf(text, sizeof(text), "@include \"%s\"\n", site);
	write_file(site, "port = 1;\nsm_priority = 99;\n");
	assert_int_equal(load(f, text), -1);
	snprintf(f->expected, sizeof(f->expected), "%s:2: sm_priority = 99 is outside 0..15", site);
	assert_string_equal(f->err, f->expected);
	write_file(site, "port = 1;\nsm_priority = 9;\n");
	assert_int_equal(load(f, text), 0);
	assert_int_equal(f->conf.sm.priority, 9);
	unlink(site);
}

static void long_reason_is_cut_not_overrun(void **state)
{
	struct fixture *f = *state;
	char small[24];

	memset(small, 'x', sizeof(small));
	write_file(f->path, "routing_engine = \"no\";");
	assert_int_equal(conf_load(f->path, &f->conf, small, sizeof(small) - 1), -1);
	assert_int_equal(strlen(small), sizeof(small) - 2);
	assert_int_equal(small[sizeof(small) - 1], 'x');
}

/* ---- conf.d ---- */

static void write_part(const char *folder, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	write_file(path, text);
}

/* Of fmd.conf conf.d, of another FILE FILE.d, with files that are read and some that are not. */
static void files_beside_are_read_in_the_order_of_their_names(void **state)
{
	static const char *const names[] = { "10-site.conf", "9-rack.conf", ".hidden.conf",
					     "20-old.conf.dpkg-old", "30.conf" };
	struct fixture *f = *state;
	char folder[80], path[160];

	for (unsigned other = 0; other < 2; other++) {
		snprintf(f->path, sizeof(f->path), "%s/%s", f->dir,
			 other ? "east.conf" : "fmd.conf");
		snprintf(folder, sizeof(folder), "%s/%s", f->dir, other ? "east.conf.d" : "conf.d");
		assert_int_equal(mkdir(folder, 0700), 0);
		assert_int_equal(load(f, "sm_priority = 1;\nport = 1;\n"), 0); /* it is empty */
		write_part(folder, names[0], "sm_priority = 5;\nhold_down = 9;\n");
		write_part(folder, names[1], "sm_priority = 7;\n");
		write_part(folder, names[2], "sm_priority = 99;\n");
		write_part(folder, names[3], "sm_priority = 99;\n");
		if (load(f, "sm_priority = 1;\nport = 2;\n"))
			fail_msg("%s", f->err);
		assert_int_equal(f->conf.sm.priority, 7);
		assert_int_equal(f->conf.port.num, 2);
		assert_int_equal(f->conf.sweep.hold_down_ms, 9);

		/* All errors of all files, each with its own file and line. */
		write_part(folder, names[4], "\nlmc = 9;\nport = ;\n");
		write_part(folder, names[1], "sm_prority = 7;\n");
		assert_int_equal(load(f, "port = -1;\n"), -1);
		snprintf(f->expected, sizeof(f->expected),
			 "%s:1: port = -1 is outside 0..254\n%s/30.conf:3: syntax error\n"
			 "%s/9-rack.conf:1: unknown key sm_prority; near: 'sm_priority'",
			 f->path, folder, folder);
		assert_string_equal(f->err, f->expected);

		/* Keys together: named is the file that counts. */
		write_part(folder, names[4], "hold_down = 800;\n");
		write_part(folder, names[1], "");
		assert_int_equal(load(f, "hold_down = 1;\n"), -1);
		snprintf(f->expected, sizeof(f->expected),
			 "%s/30.conf:1: hold_down = 800 is more than hold_down_max = 250", folder);
		assert_string_equal(f->err, f->expected);

		snprintf(path, sizeof(path), "%s/30.conf", folder);
		assert_int_equal(unlink(path) || mkdir(path, 0700), 0);
		assert_int_equal(load(f, ""), -1);
		snprintf(f->expected, sizeof(f->expected), "%s:0: is a directory", path);
		assert_string_equal(f->err, f->expected);
		assert_int_equal(rmdir(path), 0);
		for (unsigned i = 0; i < 4; i++) {
			snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
			assert_int_equal(unlink(path), 0);
		}
		assert_int_equal(rmdir(folder) || unlink(f->path), 0);
	}
}

static void note_configuration(void *arg, const char *key, const char *why)
{
	if (!strcmp(key, "configuration"))
		snprintf(arg, 512, "%s", why ? why : "");
}

/* A file that all may read is no harm unless it has a key that must stay secret. */
static void a_file_with_keys_that_all_can_read_is_named(void **state)
{
	struct fixture *f = *state;
	char folder[80], part[96], why[512];

	snprintf(folder, sizeof(folder), "%s/conf.d", f->dir);
	snprintf(part, sizeof(part), "%s/a.conf", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	write_file(f->path, "m_key = \"0x77\";\n");
	assert_int_equal(chmod(f->path, 0640), 0);
	write_file(part, "sm_priority = 3;\nsa_key = \"1\";\nm_key = \"0\";\n");
	assert_int_equal(chmod(part, 0644), 0);
	assert_int_equal(conf_load(f->path, &f->conf, f->err, sizeof(f->err)), 0);
	conf_judge_secrets(&f->conf, note_configuration, why);
	assert_string_equal(why, "");
	write_file(part, "sm_priority = 3;\nsa_key = \"0x88\";\n");
	assert_int_equal(conf_load(f->path, &f->conf, f->err, sizeof(f->err)), 0);
	conf_judge_secrets(&f->conf, note_configuration, why);
	snprintf(f->expected, sizeof(f->expected),
		 "%s holds keys and can be read by every user: chmod 0600 or 0640", part);
	assert_string_equal(why, f->expected);
	assert_int_equal(unlink(part) || rmdir(folder), 0);
}

/* What would wait for ever. */
static void a_device_with_its_port_is_refused(void **state)
{
	refuses(*state, "device = \"mlx5_0:1\";", 1,
		"device: \"mlx5_0:1\": a port number has its own key, port");
}

/* Both files that keys name are read, and both errors are shown. */
static void errors_of_files_that_keys_name_are_shown_together(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(load(f, "partition_config_file = \"/nonexistent/p\";\n"
				 "node_name_map = \"/nonexistent/n\";\n"),
			 -1);
	assert_non_null(strstr(f->err, "/nonexistent/p:"));
	assert_non_null(strstr(f->err, "\n/nonexistent/n:"));
}

/* ---- etc/fmd.conf against the table ---- */

/* `#key = value;` at the start of a line; remarks have a blank after the #. */
static bool is_sample(const char *line)
{
	return line[0] == '#' && line[1] >= 'a' && line[1] <= 'z';
}

/* The sample with all its keys taken into force; how often `key` occurs, if one is given. */
static unsigned read_sample(char *text, size_t size, const char *key)
{
	FILE *file = fopen("etc/fmd.conf", "r");
	char line[256], name[64];
	unsigned found = 0;
	size_t used = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		bool sample = is_sample(line);

		if (sample && key && sscanf(line + 1, "%63[a-z0-9_] =", name) == 1)
			found += !strcmp(name, key);
		used += snprintf(text + used, size - used, "%s", line + sample);
		assert_true(used < size);
	}
	fclose(file);
	return found;
}

static void sample_file_has_every_key_once(void **state)
{
	static char text[65536];

	for (size_t i = 0; i < conf_noptions; i++)
		if (read_sample(text, sizeof(text), conf_options[i].name) != 1)
			fail_msg("etc/fmd.conf should have `#%s = ..` once", conf_options[i].name);
}

static void sample_file_shows_the_defaults(void **state)
{
	struct fixture *f = *state;
	static char text[65536];
	struct conf defaults;

	conf_default(&defaults);
	memset(&f->conf, 0xa5, sizeof(f->conf));
	read_sample(text, sizeof(text), NULL);
	if (load(f, text))
		fail_msg("%s", f->err);
	assert_memory_equal(&f->conf, &defaults, sizeof(defaults));
}

static void lmc_stays_and_keys_change_beside_the_old_ones(void **state)
{
	struct fixture *f = *state;
	struct conf next = f->conf;

	next.sm.priority = 3;
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), 0);
	next.routing.lmc = 2;
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), -1);
	assert_non_null(strstr(f->err, "lmc cannot change"));
	next = f->conf;
	next.sm.mkey = 0x2222; /* ports hold none: they take any */
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), 0);
	f->conf = next;
	next.sm.mkey = 0x3333;
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), -1);
	assert_non_null(strstr(f->err, "to change m_key, set old_m_key"));
	next.sm.old_mkey = 0x2222;
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), 0);
	f->conf = next = (struct conf){ .sm.mkey_per_port = true };
	f->conf.sm.mkey_secret = (struct m_key_secret){ true, 16, "0123456789abcdef" };
	next.sm.mkey_secret = (struct m_key_secret){ true, 16, "another secret.." };
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), -1);
	assert_non_null(strstr(f->err, "set old_m_key_secret_file to it"));
	next.sm.old_mkey_secret = f->conf.sm.mkey_secret;
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), 0);
	next = f->conf;
	next.sm.mkey_per_port = false;
	assert_int_equal(conf_check_reload(&f->conf, &next, f->err, sizeof(f->err)), -1);
}

static void secret_files_are_read_with_the_configuration(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/fmd-secret-XXXXXX", text[128], error[192];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	snprintf(text, sizeof(text), "m_key_secret_file = \"%s\";", path);
	assert_int_equal(write(fd, "too short\n", 10), 10);
	snprintf(error, sizeof(error), "m_key_secret_file = \"%s\": has less than 16 bytes", path);
	refuses(f, text, 1, error);
	assert_int_equal(write(fd, "long enough by now\n\n", 20), 20);
	assert_int_equal(fchmod(fd, 0640), 0);
	snprintf(error, sizeof(error),
		 "m_key_secret_file = \"%s\": is accessible to others than its owner: chmod 0600",
		 path);
	refuses(f, text, 1, error);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(load(f, text), 0);
	assert_true(f->conf.sm.mkey_secret.set);
	assert_int_equal(f->conf.sm.mkey_secret.length, 28); /* without the line's end */
	close(fd);
	unlink(path);
	snprintf(error, sizeof(error), "m_key_secret_file = \"%s\": cannot be read", path);
	refuses(f, text, 1, error);
}

static void note_gone(void *arg, const char *key, const char *why)
{
	unsigned *said = arg;

	if (why)
		*said += strstr(why, "has no effect") != NULL;
}

static void a_range_of_lids_is_refused_that_is_none(void **state)
{
	static const char *const wrong[] = { "0-5", "9-5", "5", "1-49152", "1-5 ", "a-b" };
	struct fixture *f = *state;
	char text[64];

	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		snprintf(text, sizeof(text), "\nlid_range = \"%s\";\n", wrong[i]);
		assert_int_equal(load(f, text), -1);
		assert_non_null(strstr(f->err, ":2: "));
		assert_non_null(strstr(f->err, "FIRST-LAST is expected"));
	}
	assert_int_equal(load(f, "lid_range = \"16384-49151\";\n"), 0);
}

/* An upgrade must not stop a manager. */
static void a_key_of_before_is_no_error_and_is_said_with_what_takes_its_place(void **state)
{
	struct fixture *f = *state;
	unsigned said = 0;

	assert_int_equal(
		load(f,
		     "nvswitch_no_p2p_class = \"crossrail\";\nnvswitch_log_hold = 5;\n"
		     "nvswitch_fatal_weight = 300;\nlmc = 1;\n"
		     "syslog_listen = \"mgmt\";\nsyslog_allow = \"any\";\nkmsg = \"/dev/kmsg\";\n"),
		0);
	assert_int_equal(f->conf.routing.lmc, 1);
	conf_judge_secrets(&f->conf, note_gone, &said);
	assert_int_equal(said, 6);
	said = 0;
	assert_int_equal(load(f, "lmc = 1;\n"), 0);
	conf_judge_secrets(&f->conf, note_gone, &said);
	assert_int_equal(said, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_file_gives_the_defaults),
		TEST(every_kind_of_value_is_taken),
		TEST(seconds_may_be_whole_and_off),
		TEST(key_that_has_another_name_now_works_by_either),
		TEST(unknown_key_is_named_with_its_line),
		TEST(all_that_is_wrong_is_named_at_once),
		TEST(times_may_have_their_unit),
		TEST(value_out_of_range_is_refused),
		TEST(value_of_another_type_is_refused),
		TEST(number_of_64_bits_must_be_one),
		TEST(word_must_be_a_known_one),
		TEST(text_that_does_not_fit_is_refused),
		TEST(address_to_listen_on_must_be_one),
		TEST(pattern_of_exporters_must_make_urls),
		TEST(least_may_not_be_above_most),
		TEST(keys_that_protect_nothing_are_refused),
		TEST(syntax_error_is_named_with_its_line),
		TEST(key_written_twice_is_refused),
		TEST(file_that_cannot_be_read_is_refused),
		TEST(error_in_an_included_file_names_that_file),
		TEST(long_reason_is_cut_not_overrun),
		TEST(files_beside_are_read_in_the_order_of_their_names),
		TEST(a_file_with_keys_that_all_can_read_is_named),
		TEST(a_device_with_its_port_is_refused),
		TEST(errors_of_files_that_keys_name_are_shown_together),
		TEST(lmc_stays_and_keys_change_beside_the_old_ones),
		TEST(secret_files_are_read_with_the_configuration),
		TEST(sample_file_has_every_key_once),
		TEST(sample_file_shows_the_defaults),
		TEST(a_range_of_lids_is_refused_that_is_none),
		TEST(a_key_of_before_is_no_error_and_is_said_with_what_takes_its_place),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
