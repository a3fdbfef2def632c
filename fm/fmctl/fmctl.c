/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl: options, help, exit codes (0 done, 1 refused or failed, 2 usage, 3 no daemon). The table
 * of commands is in commands.c. Live commands ask fmd by its socket (ask.c); offline ones work on
 * files (plan.c, generate.c).
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fmctl/fmctl.h"

#define DEFAULT_SOCKET "/run/fmd/fmd.sock"
#define TIMEOUT_S      10
#define LIVE_S	       2

/* --json may stand anywhere; true when it was there. */
static bool take_json_flag(int *argc, char **argv)
{
	int kept = 1;
	bool found = false;

	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--json"))
			argv[kept++] = argv[i];
		else
			found = true;
	}
	argv[kept] = NULL;
	*argc = kept;
	return found;
}

/* `fmctl COMMAND --help`; a command that prints usage of its own is asked itself. */
static bool asks_for_help(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "--help");
}

static bool colour_wanted(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && term && strcmp(term, "dumb");
}

static bool read_seconds(const char *text, unsigned *seconds)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 6 || text[digits]) {
		fprintf(stderr, "fmctl: --timeout %s: whole seconds are expected, 0 = none\n",
			text);
		return false;
	}
	*seconds = (unsigned)strtoul(text, NULL, 10);
	return true;
}

/* Options before the command; returns its index in argv, 0 = ended with *status. */
static int read_options(struct fmctl *ctl, int argc, char **argv, int *status)
{
	static const struct option longs[] = { { "socket", required_argument, NULL, 's' },
					       { "timeout", required_argument, NULL, 't' },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, 'V' },
					       { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "+s:h", longs, NULL)) != -1) {
		if (c == 's') {
			ctl->socket = optarg;
			continue;
		}
		if (c == 't' && read_seconds(optarg, &ctl->timeout_s))
			continue;
		if (c == 'h')
			fmctl_print_help(ctl, stdout);
		else if (c == 'V')
			puts("fmctl " FMD_VERSION);
		*status = c == '?' || c == 't' ? FMCTL_USAGE : FMCTL_DONE;
		return 0;
	}
	if (optind < argc)
		return optind;
	fmctl_print_help(ctl, stderr);
	*status = FMCTL_USAGE;
	return 0;
}

/* For a shell, which waits: fmd has a second. what: "" = words, "-line" = one line. */
static int complete(struct fmctl *ctl, int count, char **words, const char *what)
{
	ctl->timeout_s = 1;
	if (!*what)
		fmctl_complete(ctl, count, words);
	else if (!strcmp(what, "-line") && count == 1)
		fmctl_complete_line(ctl, words[0]);
	return FMCTL_DONE;
}

static int run(struct fmctl *ctl, int argc, char **argv)
{
	const struct command *command;
	int status = FMCTL_DONE, first = read_options(ctl, argc, argv, &status);
	double seconds;

	if (!first)
		return status;
	command = fmctl_command_find(argv[first]);
	if (!command) {
		fmctl_refuse_command(ctl, argv[first]);
		return FMCTL_USAGE;
	}
	argc -= first;
	argv += first;
	if (!fmctl_take_watch(&argc, argv, &seconds))
		return FMCTL_USAGE;
	if (command->live && ctl->terminal && !ctl->json && seconds == 0)
		seconds = LIVE_S;
	if (asks_for_help(argc, argv))
		fmctl_print_command(command);
	else if (seconds > 0)
		status = fmctl_watch(ctl, command, argc, argv, seconds);
	else
		status = fmctl_command_run(ctl, command, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		perror("fmctl: output");
		return FMCTL_FAILED;
	}
	return status;
}

/* Then it goes on and on, and says on stderr at once what failed. */
static bool is_watched(char **argv)
{
	while (*++argv)
		if (!strncmp(*argv, "--watch", 7))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct fmctl ctl = { .socket = DEFAULT_SOCKET,
			     .timeout_s = TIMEOUT_S,
			     .colour = colour_wanted(),
			     .terminal = isatty(STDOUT_FILENO),
			     .commands = fmctl_commands() };
	struct fmctl_told told;

	if (argc > 1 && !strncmp(argv[1], "--complete", 10))
		return complete(&ctl, argc - 2, argv + 2, argv[1] + 10);
	argv[0] = (char[]){ "fmctl" }; /* getopt's messages begin with it */
	ctl.json = take_json_flag(&argc, argv);
	if (!ctl.json || is_watched(argv))
		return run(&ctl, argc, argv);
	fmctl_told_begin(&told);
	return fmctl_told_end(&told, run(&ctl, argc, argv));
}
