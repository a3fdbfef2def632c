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

static void print_help(FILE *out)
{
	const struct command *c;

	fputs("usage: fmctl [-s SOCKET] [--timeout SECONDS] [--json] COMMAND ...\n\n", out);
	for (unsigned i = 0; (c = fmctl_command_at(i)); i++) {
		int used;

		if (!c->help)
			continue;
		used = fprintf(out, "  %s %s", c->name, c->arguments);
		if (used > 26)
			used = fprintf(out, "\n") - 1;
		fprintf(out, "%*s%s\n", 28 - used, "", c->help);
	}
	fputs("\nplan and generate need no fmd. See fmctl(1).\n", out);
}

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
			print_help(stdout);
		else if (c == 'V')
			puts("fmctl " FMD_VERSION);
		*status = c == '?' || c == 't' ? FMCTL_USAGE : FMCTL_DONE;
		return 0;
	}
	if (optind < argc)
		return optind;
	print_help(stderr);
	*status = FMCTL_USAGE;
	return 0;
}

int main(int argc, char **argv)
{
	struct fmctl ctl = { .socket = DEFAULT_SOCKET,
			     .timeout_s = TIMEOUT_S,
			     .colour = colour_wanted() };
	const struct command *command;
	int status = FMCTL_DONE, first;

	if (argc > 1 && !strcmp(argv[1], "--complete")) {
		fmctl_complete(argc - 2, argv + 2);
		return FMCTL_DONE;
	}
	ctl.json = take_json_flag(&argc, argv);
	first = read_options(&ctl, argc, argv, &status);
	if (!first)
		return status;
	command = fmctl_command_find(argv[first]);
	if (!command) {
		fprintf(stderr, "fmctl: no command %s; fmctl --help names them\n", argv[first]);
		return FMCTL_USAGE;
	}
	status = fmctl_command_run(&ctl, command, argc - first, argv + first);
	if (fflush(stdout) || ferror(stdout)) {
		perror("fmctl: output");
		return FMCTL_FAILED;
	}
	return status;
}
