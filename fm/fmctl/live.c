/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The live commands: each reads its own options, asks fmd one question and hands the answer to a
 * show_* function, or prints it as it is with --json. FMCTL_USAGE from here makes fmctl.c print the
 * command's usage line.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"

static enum fmctl_exit ask_and_show(const struct fmctl *ctl, const char *cmd, json_t *args,
				    fmctl_show_fn *show)
{
	struct fmctl_answer answer = fmctl_ask(ctl, cmd, args);

	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : show)(ctl, answer.result);
		answer.status = fmctl_was_saved(cmd, answer.result);
	}
	json_decref(answer.result);
	return answer.status;
}

enum fmctl_exit fmctl_was_saved(const char *cmd, const json_t *result)
{
	const char *error = json_string_value(json_object_get(result, "not_saved"));

	if (!error)
		return FMCTL_DONE;
	fflush(stdout);
	fprintf(stderr, "fmctl: %s: in force, but a restart would forget it: %s\n", cmd, error);
	return FMCTL_FAILED;
}

/* For commands without arguments. */
static enum fmctl_exit plain(const struct fmctl *ctl, int argc, const char *cmd,
			     fmctl_show_fn *show)
{
	return argc == 1 ? ask_and_show(ctl, cmd, NULL, show) : FMCTL_USAGE;
}

/* The one long flag a command knows: 1 = given, 0 = not, -1 = something else is there. */
static int read_flag(int argc, char **argv, const char *name)
{
	const struct option longs[] = { { name, no_argument, NULL, 'f' }, { 0 } };
	int given = 0, c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c != 'f')
			return -1;
		given = 1;
	}
	return optind == argc ? given : -1;
}

enum fmctl_exit fmctl_status(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "status", show_status);
}

enum fmctl_exit fmctl_topology(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "format", required_argument, NULL, 'f' }, { 0 } };
	const char *format = ctl->json ? "json" : "text";
	int c;

	while ((c = getopt_long(argc, argv, "f:", longs, NULL)) != -1) {
		if (c != 'f')
			return FMCTL_USAGE;
		format = optarg;
	}
	if (optind < argc)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "topology", json_pack("{s:s}", "format", format),
			    strcmp(format, "json") ? show_text : show_json);
}

enum fmctl_exit fmctl_nodes(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "nodes", show_nodes);
}

enum fmctl_exit fmctl_switches(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "switches", show_nodes);
}

enum fmctl_exit fmctl_links(const struct fmctl *ctl, int argc, char **argv)
{
	static const struct option longs[] = { { "down", no_argument, NULL, 'd' },
					       { "sick", no_argument, NULL, 's' },
					       { 0 } };
	int c, which = 0;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?' || (which && which != c))
			return FMCTL_USAGE;
		which = c;
	}
	if (optind < argc)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "links",
			    json_pack("{s:b, s:b}", "down", which == 'd', "sick", which == 's'),
			    which == 's' ? show_sick : show_links);
}

enum fmctl_exit fmctl_health(const struct fmctl *ctl, int argc, char **argv)
{
	int now = read_flag(argc, argv, "read");

	if (now < 0)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "health", json_pack("{s:b}", "read", now), show_health);
}

enum fmctl_exit fmctl_hosts(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "hosts", show_hosts);
}

enum fmctl_exit fmctl_lft(const struct fmctl *ctl, int argc, char **argv)
{
	if (argc != 2)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "lft", json_pack("{s:s}", "switch", argv[1]), show_lft);
}

enum fmctl_exit fmctl_path(const struct fmctl *ctl, int argc, char **argv)
{
	if (argc != 3)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "path", json_pack("{s:s, s:s}", "from", argv[1], "to", argv[2]),
			    show_path);
}

/* Defects are what `check` is asked for, so they are its exit status too. */
static enum fmctl_exit proof_verdict(const json_t *result)
{
	const char *first = json_string_value(table_value(result, "proof.first"));

	if (json_is_true(table_value(result, "sound")) &&
	    !json_integer_value(table_value(result, "proof.unreachable")))
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: check: %s\n", first && *first ? first : "the tables are not sound");
	return FMCTL_FAILED;
}

static enum fmctl_exit readback_verdict(const json_t *result)
{
	if (!json_integer_value(table_value(result, "differ")) &&
	    !json_integer_value(table_value(result, "failed")))
		return FMCTL_DONE;
	fputs("fmctl: check: the switches do not hold what was programmed\n", stderr);
	return FMCTL_FAILED;
}

enum fmctl_exit fmctl_check(const struct fmctl *ctl, int argc, char **argv)
{
	int readback = read_flag(argc, argv, "readback");
	struct fmctl_answer answer;

	if (readback < 0)
		return FMCTL_USAGE;
	answer = fmctl_ask(ctl, "check", json_pack("{s:b}", "readback", readback));
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : readback ? show_readback : show_check)(ctl, answer.result);
		answer.status = (readback ? readback_verdict : proof_verdict)(answer.result);
	}
	json_decref(answer.result);
	return answer.status;
}

static enum fmctl_exit dump_file(const struct fmctl *ctl, const char *dir, const char *file)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		fprintf(stderr, "fmctl: dump: the folder's name is too long\n");
		return FMCTL_FAILED;
	}
	return fmctl_ask_text(ctl, "dump", json_pack("{s:s}", "file", file), path);
}

enum fmctl_exit fmctl_dump(const struct fmctl *ctl, int argc, char **argv)
{
	static const char *const files[] = { "opensm-lfts.dump", "opensm.fdbs", "opensm.mcfdbs",
					     "opensm-subnet.lst" };
	enum fmctl_exit status = FMCTL_DONE;
	json_t *written;

	if (argc != 2)
		return FMCTL_USAGE;
	if (mkdir(argv[1], 0777) && errno != EEXIST) {
		fprintf(stderr, "fmctl: dump: %s: %s\n", argv[1], strerror(errno));
		return FMCTL_FAILED;
	}
	written = json_array();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && status == FMCTL_DONE; i++) {
		status = dump_file(ctl, argv[1], files[i]);
		json_array_append_new(written, json_sprintf("%s/%s", argv[1], files[i]));
	}
	if (status == FMCTL_DONE && ctl->json)
		show_json(ctl, written);
	json_decref(written);
	return status;
}

enum fmctl_exit fmctl_groups(const struct fmctl *ctl, int argc, char **argv)
{
	if (argc == 1)
		return ask_and_show(ctl, "groups", NULL, show_groups);
	if (argc != 2)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "groups", json_pack("{s:s}", "group", argv[1]), show_members);
}

enum fmctl_exit fmctl_partitions(const struct fmctl *ctl, int argc, char **argv)
{
	if (argc == 1)
		return ask_and_show(ctl, "partitions", NULL, show_partitions);
	if (argc != 2)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "partitions", json_pack("{s:s}", "partition", argv[1]),
			    show_partition);
}

/* ---- Events ---- */

enum fmctl_exit fmctl_events(const struct fmctl *ctl, int argc, char **argv)
{
	bool follow = false;
	long count = 20;
	char *end;
	int c;

	while ((c = getopt(argc, argv, "fn:")) != -1) {
		if (c == 'f') {
			follow = true;
		} else if (c == 'n') {
			count = strtol(optarg, &end, 10);
			if (*end || count < 0 || count > 10000)
				return FMCTL_USAGE;
		} else {
			return FMCTL_USAGE;
		}
	}
	if (optind != argc)
		return FMCTL_USAGE;
	if (follow)
		return fmctl_ask_events(ctl, json_pack("{s:i}", "count", (int)count), show_events);
	return ask_and_show(ctl, "events", json_pack("{s:i}", "count", (int)count), show_events);
}

/* ---- Acts ---- */

enum fmctl_exit fmctl_reroute(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "reroute", show_settled);
}

enum fmctl_exit fmctl_sweep(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "sweep", show_settled);
}

enum fmctl_exit fmctl_cordon(const struct fmctl *ctl, int argc, char **argv)
{
	if (argc != 2)
		return FMCTL_USAGE;
	return ask_and_show(ctl, argv[0], json_pack("{s:s}", "what", argv[1]), show_cordon);
}

enum fmctl_exit fmctl_uncordon(const struct fmctl *ctl, int argc, char **argv)
{
	return fmctl_cordon(ctl, argc, argv);
}

enum fmctl_exit fmctl_release(const struct fmctl *ctl, int argc, char **argv)
{
	return fmctl_cordon(ctl, argc, argv);
}

enum fmctl_exit fmctl_forget(const struct fmctl *ctl, int argc, char **argv)
{
	if (argc != 2)
		return FMCTL_USAGE;
	return ask_and_show(ctl, "forget",
			    strcmp(argv[1], "--down") == 0 ? json_pack("{s:b}", "down", 1)
							   : json_pack("{s:s}", "what", argv[1]),
			    show_settled);
}

enum fmctl_exit fmctl_reload(const struct fmctl *ctl, int argc, char **argv)
{
	return plain(ctl, argc, "reload", show_act);
}

enum fmctl_exit fmctl_loglevel(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args;

	if (argc < 2 || argc > 3)
		return FMCTL_USAGE;
	args = json_pack("{s:s}", "level", argv[argc - 1]);
	if (argc == 3)
		json_object_set_new(args, "module", json_string(argv[1]));
	return ask_and_show(ctl, "loglevel", args, show_act);
}
