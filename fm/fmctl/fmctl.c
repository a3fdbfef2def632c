/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fmctl/fmctl.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "topology/base/mem.h"

/* ---- Errors as documents --------------------------------------------------------------------- */

/*
 * With --json a program reads standard output, and finds a document there whatever
 * happened: of a command that failed before it had one, {"error": TEXT}. For that, what is written
 * to both streams passes through here.
 */

/* Standard streams while a command runs with --json. */
struct fmctl_told {
	FILE *out, *err;	/* as they were */
	FILE *counted, *caught; /* in their places */
	char *text;		/* what was written to stderr */
	size_t len;
	bool any; /* something was written to stdout */
};

static ssize_t write_out(void *cookie, const char *data, size_t len)
{
	struct fmctl_told *told = cookie;
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(STDOUT_FILENO, data + done, len - done);

		if (n < 0 && errno != EINTR)
			return 0;
		done += n > 0 ? (size_t)n : 0;
	}
	told->any = true;
	return (ssize_t)len;
}

/* Prints {"error": ..} if the command failed without a document. Returns the exit code. */
static int fmctl_told_end(struct fmctl_told *told, int status)
{
	int failed = fflush(stdout) || ferror(stdout);

	fflush(stderr);
	if (status != FMCTL_DONE && !told->any && told->text) {
		/* The first line, which has the reason; those of usage follow. */
		const char *text = told->text;
		static const char begin[] = "fmctl: ";
		size_t len = strcspn(text, "\n");
		json_t *document;

		if (!strncmp(text, begin, sizeof(begin) - 1)) {
			text += sizeof(begin) - 1;
			len -= sizeof(begin) - 1;
		}
		document = json_pack("{s:s%}", "error", text, len);
		if (!document)
			document = json_pack("{s:s}", "error", "an argument is not text in UTF-8");
		json_dumpf(document, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(document);
	}
	failed |= fflush(stdout);
	if (told->counted)
		fclose(told->counted);
	if (told->caught)
		fclose(told->caught);
	stdout = told->out;
	stderr = told->err;
	if (told->text)
		fputs(told->text, stderr);
	free(told->text);
	if (failed && status == FMCTL_DONE) {
		perror("fmctl: output");
		return FMCTL_FAILED;
	}
	return status;
}

/* ---- A command again and again --------------------------------------------------------------- */

/*
 * A command again and again. On a terminal each answer takes the place of the one before,
 * cut to its size; elsewhere they follow one another. A first try that gets no answer ends it: the
 * name may be mistyped. Later failures are said and the next try is made: fmd may be restarting.
 */

#define DEFAULT_S   2.0
#define SECONDS_MAX 86400.0

/* ---- What was typed -------------------------------------------------------------------------- */

static bool watch_read_seconds(const char *text, double *seconds)
{
	char *end;
	double value = strtod(text, &end);

	if (*text < '0' || *text > '9' || *end || !(value >= 0.1) || value > SECONDS_MAX)
		return false;
	*seconds = value;
	return true;
}

/*
 * Takes --watch out of the arguments: *seconds, 0 = it is not there. False = its value is no time,
 * with a message on stderr.
 */
static bool take_watch(int *argc, char **argv, double *seconds)
{
	bool bad = false;
	int kept = 1;

	*seconds = 0;
	for (int i = 1; i < *argc; i++) {
		const char *next = i + 1 < *argc ? argv[i + 1] : "";
		size_t digits = strspn(next, "0123456789.");

		if (!strcmp(argv[i], "--watch")) {
			/*
			 * A number behind it may also be the command's own; it is taken for
			 * seconds.
			 */
			*seconds = DEFAULT_S;
			if (digits && !next[digits])
				bad |= !watch_read_seconds(argv[++i], seconds);
		} else if (!strncmp(argv[i], "--watch=", 8)) {
			bad |= !watch_read_seconds(argv[i] + 8, seconds);
		} else {
			argv[kept++] = argv[i];
		}
	}
	argv[kept] = NULL;
	*argc = kept;
	if (bad)
		fprintf(stderr, "fmctl: --watch takes seconds, 0.1 to 86400\n");
	return !bad;
}

/* ---- Again and again ------------------------------------------------------------------------- */

struct watch {
	const struct fmctl *ctl;
	const struct command *command;
	int argc;
	char **argv;
	double seconds;
};

/* getopt moves arguments, so each run has a list of its own. */
static enum fmctl_exit run_once(const struct watch *w)
{
	char **argv = mem_alloc((size_t)w->argc + 1, sizeof(*argv));
	enum fmctl_exit status;

	memcpy(argv, w->argv, (size_t)w->argc * sizeof(*argv));
	status = fmctl_command_run(w->ctl, w->command, w->argc, argv);
	free(argv);
	return status;
}

/*
 * So many lines of the text as the terminal has; without wrapping, so that one of the text is one
 * of the terminal.
 */
static void draw(const struct watch *w, const char *text)
{
	struct winsize size;
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row;
	unsigned lines = !known ? 22 : size.ws_row < 3 ? 1 : size.ws_row - 2u;
	time_t now = time(NULL);
	struct tm local;
	char when[32];

	strftime(when, sizeof(when), "%H:%M:%S", localtime_r(&now, &local));
	printf("\033[?7l\033[H\033[2Jevery %g s: fmctl", w->seconds);
	for (int i = 0; i < w->argc; i++)
		printf(" %s", w->argv[i]);
	printf("   %s\n\n", when);
	for (; lines && *text; lines--) {
		size_t len = strcspn(text, "\n");

		printf("%.*s%s", (int)len, text, text[len] && lines > 1 ? "\n" : "");
		text += len + (text[len] == '\n');
	}
	printf("\033[?7h");
}

/* What the command prints is caught, so that it is shown at one stroke. *said: it printed. */
static enum fmctl_exit run_and_show(const struct watch *w, bool *said)
{
	FILE *out = stdout, *caught;
	enum fmctl_exit status;
	char *text = NULL;
	size_t len = 0;

	caught = open_memstream(&text, &len);
	if (!caught)
		return run_once(w);
	stdout = caught;
	status = run_once(w);
	fclose(caught);
	stdout = out;
	*said = len;
	if (w->ctl->terminal && (status == FMCTL_DONE || len))
		draw(w, text);
	else if (status == FMCTL_DONE || len)
		printf("%s\n", text);
	free(text);
	return status;
}

/* Runs the command again and again; returns the exit code when it cannot go on. */
static enum fmctl_exit fmctl_watch(const struct fmctl *ctl, const struct command *command, int argc,
				   char **argv, double seconds)
{
	const struct watch w = { ctl, command, argc, argv, seconds };
	bool first = true;

	if (!command->read_only || command->offline) {
		fprintf(stderr, "fmctl: %s: --watch works with read-only commands of fmd only\n",
			command->name);
		return FMCTL_USAGE;
	}
	while (true) {
		bool said = true;
		enum fmctl_exit status = run_and_show(&w, &said);

		if (status == FMCTL_USAGE || (first && status != FMCTL_DONE && !said))
			return status;
		if (fflush(stdout) || ferror(stdout))
			return FMCTL_FAILED;
		first = false;

		struct timespec left = { .tv_sec = (time_t)seconds };

		left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
		while (nanosleep(&left, &left) && errno == EINTR)
			;
	}
}

/* ---- The program ----------------------------------------------------------------------------- */

/*
 * Options, help, exit codes (0 done, 1 refused or failed, 2 usage, 3 no daemon). The table
 * of commands is in commands.c. Live commands ask fmd by its socket (ask.c); offline ones work on
 * files (plan.c, commands.c).
 */

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
		size_t digits = c == 't' ? strspn(optarg, "0123456789") : 0;

		if (c == 's') {
			ctl->socket = optarg;
			continue;
		}
		if (digits && digits <= 6 && !optarg[digits]) {
			ctl->timeout_s = (unsigned)strtoul(optarg, NULL, 10);
			continue;
		}
		if (c == 't')
			fprintf(stderr,
				"fmctl: --timeout %s: whole seconds are expected, 0 = none\n",
				optarg);
		else if (c == 'h')
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
	if (!take_watch(&argc, argv, &seconds))
		return FMCTL_USAGE;
	if (command->live && ctl->terminal && !ctl->json && seconds == 0)
		seconds = LIVE_S;
	/* `fmctl COMMAND --help`; a command that prints usage of its own is asked itself. */
	if (argc == 2 && !strcmp(argv[1], "--help"))
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

int main(int argc, char **argv)
{
	const char *term = getenv("TERM");
	struct fmctl ctl = { .socket = DEFAULT_SOCKET,
			     .timeout_s = TIMEOUT_S,
			     .terminal = isatty(STDOUT_FILENO),
			     .commands = fmctl_commands() };
	struct fmctl_told told = { .out = stdout, .err = stderr };
	bool watched = false;

	ctl.colour = ctl.terminal && !getenv("NO_COLOR") && term && strcmp(term, "dumb");
	if (argc > 1 && !strncmp(argv[1], "--complete", 10)) {
		ctl.timeout_s = 1; /* for a shell, which waits */
		if (!argv[1][10])
			fmctl_complete(&ctl, argc - 2, argv + 2);
		else if (!strcmp(argv[1], "--complete-line") && argc == 3)
			fmctl_complete_line(&ctl, argv[2]);
		return FMCTL_DONE;
	}
	argv[0] = (char[]){ "fmctl" }; /* getopt's messages begin with it */
	ctl.json = take_json_flag(&argc, argv);
	/* A watched command goes on and on, and says on stderr at once what failed. */
	for (int i = 1; i < argc; i++)
		watched |= !strncmp(argv[i], "--watch", 7);
	if (!ctl.json || watched)
		return run(&ctl, argc, argv);
	/* Takes the streams' places until fmctl_told_end(). */
	told.counted = fopencookie(&told, "w", (cookie_io_functions_t){ .write = write_out });
	told.caught = open_memstream(&told.text, &told.len);
	if (told.counted)
		stdout = told.counted;
	if (told.caught)
		stderr = told.caught;
	return fmctl_told_end(&told, run(&ctl, argc, argv));
}
