/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl: options, the table of commands, exit codes (0 done, 1 refused or failed, 2 usage, 3 no
 * daemon). Live commands ask fmd by its socket (live.c); offline ones work on files
 * (plan.c, generate.c).
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/fmctl/fmctl.h"

#define DEFAULT_SOCKET "/run/fmd/fmd.sock"
#define TIMEOUT_S      10

static const struct command {
	const char *name, *arguments, *help;
	fmctl_command_fn *run;
	bool offline; /* needs no fmd, and says its own usage */
} commands[] = {
	{ "status", "", "how the fabric is", .run = fmctl_status },
	{ "topology", "[--format text|json|ibnetdiscover|dot|svg|slurm|lst]", "the fabric as it is",
	  .run = fmctl_topology },
	{ "nodes", "", "every node, a row each", .run = fmctl_nodes },
	{ "switches", "", "the switches", .run = fmctl_switches },
	{ "links", "[--down|--sick]", "every cable, or those that are down, or can't be trusted",
	  .run = fmctl_links },
	{ "health", "[--read]",
	  "sick and slow cables with their rates; --read: reads all counters now",
	  .run = fmctl_health },
	{ "hosts", "", "machines with their HCAs", .run = fmctl_hosts },
	{ "lft", "SWITCH", "a switch's forwarding table", .run = fmctl_lft },
	{ "path", "FROM TO", "hop by hop, as packets go", .run = fmctl_path },
	{ "check", "[--readback]", "proves the tables again; --readback: against the switches",
	  .run = fmctl_check },
	{ "cabling", "[--plan FILE]", "HCAs on another rail's leaf, cables that differ from a plan",
	  .run = fmctl_cabling },
	{ "groups", "[MGID|MLID]", "multicast groups; of one, its members", .run = fmctl_groups },
	{ "partitions", "[NAME|P_KEY]", "partitions; of one, its members",
	  .run = fmctl_partitions },
	{ "dump", "DIR", "tables and topology in OpenSM's files", .run = fmctl_dump },
	{ "events", "[-f] [-n N]", "what happened, newest last; -f waits for more",
	  .run = fmctl_events },
	{ "reroute", "", "computes, proves and programs the tables again", .run = fmctl_reroute },
	{ "sweep", "", "looks at the whole fabric again", .run = fmctl_sweep },
	{ "cordon", "WHAT",
	  "keeps transit off a switch or cable; done when no packet goes that way",
	  .run = fmctl_cordon },
	{ "uncordon", "WHAT", "lets it carry traffic again", .run = fmctl_uncordon },
	{ "release", "WHAT", "ends the quarantine of a cable, or of all of a switch's",
	  .run = fmctl_release },
	{ "forget", "WHAT|--down", "takes cables that are down for removed, WHAT's or all",
	  .run = fmctl_forget },
	{ "whatif", "--fail|--cordon WHAT | --nvswitch HOST=STATE ...",
	  "what would change, without touching anything", .run = fmctl_whatif },
	{ "nvswitch", "[HOST | logs | blocks | set HOST STATE | clear HOST]",
	  "NVSwitches and NVLinks of hosts", .run = fmctl_nvswitch },
	{ "reload", "", "reads the configuration file again", .run = fmctl_reload },
	{ "loglevel", "[MODULE] LEVEL", "error, warning, notice, info or debug",
	  .run = fmctl_loglevel },
	{ "plan", "NETFILE ...", "routes and proves a fabric from a file", .run = fmctl_plan,
	  .offline = true },
	{ "generate", "superpod|pgft ...", "a reference fabric as an ibnetdiscover file",
	  .run = fmctl_generate, .offline = true },
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	fputs("usage: fmctl [-s SOCKET] [--timeout SECONDS] [--json] COMMAND ...\n\n", out);
	for (size_t i = 0; i < COMMANDS; i++) {
		const struct command *c = &commands[i];
		int used = fprintf(out, "  %s %s", c->name, c->arguments);

		if (used > 26)
			used = fprintf(out, "\n") - 1;
		fprintf(out, "%*s%s\n", 28 - used, "", c->help);
	}
	fputs("\nplan and generate need no fmd. See fmctl(1).\n", out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
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

static int run(const struct fmctl *ctl, const struct command *command, int argc, char **argv)
{
	int status;

	optind = 0; /* getopt starts anew */
	status = command->run(ctl, argc, argv);
	if (status == FMCTL_USAGE && !command->offline)
		fprintf(stderr, "usage: fmctl %s%s%s\n", command->name,
			*command->arguments ? " " : "", command->arguments);
	return status;
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

	ctl.json = take_json_flag(&argc, argv);
	first = read_options(&ctl, argc, argv, &status);
	if (!first)
		return status;
	command = find_command(argv[first]);
	if (!command) {
		fprintf(stderr, "fmctl: no command %s; fmctl --help names them\n", argv[first]);
		return FMCTL_USAGE;
	}
	status = run(&ctl, command, argc - first, argv + first);
	if (fflush(stdout) || ferror(stdout)) {
		perror("fmctl: output");
		return FMCTL_FAILED;
	}
	return status;
}
