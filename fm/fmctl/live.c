/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The live commands that read arguments of their own: each asks fmd one question and hands the
 * answer to a show_* function, or prints it as it is with --json. FMCTL_USAGE from here makes
 * commands.c print the command's usage line.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"

enum fmctl_exit fmctl_ask_and_show(const struct fmctl *ctl, const char *cmd, json_t *args,
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
	fprintf(stderr, "fmctl: %s: applied, but not saved, so a restart would undo it: %s\n", cmd,
		error);
	return FMCTL_FAILED;
}

static enum fmctl_exit run_topology(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_pack("{s:s}", "format", ctl->json ? "json" : "text");
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	const char *format;

	if (first != argc) {
		json_decref(args);
		return FMCTL_USAGE;
	}
	format = json_string_value(json_object_get(args, "format"));
	return fmctl_ask_and_show(ctl, "topology", args,
				  strcmp(format, "json") ? show_text : show_json);
}
const struct fmctl_view topology_view = { .run = run_topology };

static enum fmctl_exit dump_file(const struct fmctl *ctl, const char *dir, const char *file)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		fprintf(stderr, "fmctl: dump: the directory's name is too long\n");
		return FMCTL_FAILED;
	}
	return fmctl_ask_text(ctl, "dump", json_pack("{s:s}", "file", file), path);
}

static enum fmctl_exit run_dump(const struct fmctl *ctl, int argc, char **argv)
{
	static const char *const files[] = { "opensm-lfts.dump", "opensm.fdbs", "opensm.mcfdbs",
					     "opensm-subnet.lst" };
	enum fmctl_exit status = FMCTL_DONE;
	json_t *written;

	if (fmctl_read_options(ctl->command, argc, argv, NULL) != argc - 1)
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
const struct fmctl_view dump_view = { .run = run_dump };

/* ---- Acts ---- */

static enum fmctl_exit run_forget(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	bool all = json_object_size(args), good = first >= 0 && argc - first == !all;

	if (good && !all && (good = fmctl_is_value(ctl, "WHAT", argv[first])))
		json_object_set_new(args, "what", json_string(argv[first]));
	if (good)
		return fmctl_ask_and_show(ctl, "forget", args, show_settled);
	json_decref(args);
	return FMCTL_USAGE;
}
const struct fmctl_view forget_view = { .run = run_forget };

static enum fmctl_exit run_loglevel(const struct fmctl *ctl, int argc, char **argv)
{
	int first = fmctl_read_options(ctl->command, argc, argv, NULL), words = argc - first;
	json_t *args;

	if (first < 0 || words < 1 || words > 2 || !fmctl_is_value(ctl, "LEVEL", argv[argc - 1]) ||
	    (words == 2 && !fmctl_is_value(ctl, "MODULE", argv[first])))
		return FMCTL_USAGE;
	args = json_pack("{s:s}", "level", argv[argc - 1]);
	if (words == 2)
		json_object_set_new(args, "module", json_string(argv[first]));
	return fmctl_ask_and_show(ctl, "loglevel", args, show_lines);
}
const struct fmctl_view loglevel_view = { .run = run_loglevel };
