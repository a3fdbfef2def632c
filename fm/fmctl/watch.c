/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * watch: a command again and again. On a terminal each answer takes the place of the one before,
 * cut to its size; elsewhere they follow one another. A first try that gets no answer ends it: the
 * name may be mistyped. Later failures are said and the next try is made: fmd may be restarting.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "fm/fmctl/fmctl.h"
#include "topology/mem.h"

#define DEFAULT_S   2.0
#define SECONDS_MAX 86400.0

/* ---- What was typed -------------------------------------------------------------------------- */

static bool read_seconds(const char *text, double *seconds)
{
	char *end;
	double value = strtod(text, &end);

	if (*text < '0' || *text > '9' || *end || !(value >= 0.1) || value > SECONDS_MAX)
		return false;
	*seconds = value;
	return true;
}

/* What stands behind `--watch` may also be the command's own: `links --watch 33` is 33 seconds. */
static bool is_number(const char *text)
{
	size_t len = strspn(text, "0123456789.");

	return len && !text[len];
}

/* Whether the argument is it; *apart: its seconds are in the next one. */
static bool is_watch(char **arg, double *seconds, bool *apart, bool *bad)
{
	*apart = false;
	if (!strcmp(*arg, "--watch")) {
		*seconds = DEFAULT_S;
		*apart = arg[1] && is_number(arg[1]);
		*bad |= *apart && !read_seconds(arg[1], seconds);
		return true;
	}
	if (strncmp(*arg, "--watch=", 8))
		return false;
	*bad |= !read_seconds(*arg + 8, seconds);
	return true;
}

bool fmctl_take_watch(int *argc, char **argv, double *seconds)
{
	bool bad = false, apart;
	int kept = 1;

	*seconds = 0;
	for (int i = 1; i < *argc; i++) {
		if (is_watch(argv + i, seconds, &apart, &bad))
			i += apart;
		else
			argv[kept++] = argv[i];
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

/* So many lines of the text; without wrapping, so that one of the text is one of the terminal. */
static void draw(const struct watch *w, const char *text, unsigned lines)
{
	char when[32];
	time_t now = time(NULL);
	struct tm local;

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

static unsigned terminal_lines(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row)
		return 24;
	return size.ws_row < 3 ? 3 : size.ws_row;
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
	if (status == FMCTL_DONE || len) {
		if (w->ctl->terminal)
			draw(w, text, terminal_lines() - 2);
		else
			printf("%s\n", text);
	}
	free(text);
	return status;
}

static void wait_for(double seconds)
{
	struct timespec left = { .tv_sec = (time_t)seconds };

	left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

enum fmctl_exit fmctl_watch(const struct fmctl *ctl, const struct command *command, int argc,
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
		wait_for(seconds);
	}
}
