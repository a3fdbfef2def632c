/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Completion of a command line ------------------------------------------------------------ */

/*
 * The candidates that bash offers for a command line, from the rows and the usage texts
 * of the commands: behind an option with a value the values in the usage, else options and literal
 * words. A word in capitals is a name that fmd knows or a free text; bash itself completes the
 * names of files.
 */

struct offers {
	const struct fmctl *ctl; /* to request names from fmd */
	const char *word;	 /* typed so far: the prefix of what is offered */
	size_t skip;		 /* bytes of each candidate that the shell has already */
	unsigned *asked;	 /* kinds of names that were offered, each once */
	bool bare;		 /* outside of quotes: blanks and the like are escaped */
};

/* ---- Names of the fabric --------------------------------------------------------------------- */

/*
 * Asked of fmd; where there is none, nothing is offered. A candidate's blanks are escaped, and what
 * stands before a ':' or '=' is left out where bash takes that for the end of a word.
 */
#define SPECIAL " \t\"'\\$`&|;<>()*?[]{}!#~"

/* Writes a candidate to stdout, if it begins with the word. */
static void offer_text(const struct offers *offers, const char *text, size_t len)
{
	size_t typed = strlen(offers->word);

	if (len < typed || strncmp(text, offers->word, typed))
		return;
	for (size_t i = offers->skip; i < len; i++) {
		if (offers->bare && strchr(SPECIAL, text[i]))
			putchar('\\');
		putchar(text[i]);
	}
	putchar('\n');
}

/* What words of usage stand for. */
static const struct {
	const char *metavar, *kind;
	unsigned bit; /* of the kind */
} names[] = {
	{ "WHAT", "what", 1 },	     { "FROM", "what", 1 },   { "TO", "what", 1 },
	{ "NODE", "what", 1 },	     { "HOST", "host", 2 },   { "LEAF", "leaf", 4 },
	{ "SWITCH", "switch", 8 },   { "KIND", "event", 16 }, { "MLID", "group", 32 },
	{ "NAME", "partition", 64 },
};

/* offers names that fmd knows. metavar: of the usage: HOST, WHAT, LEAF|SWITCH. */
static void offer_names(const struct offers *offers, const char *metavar, size_t len)
{
	const char *end = metavar + len;

	while (metavar < end) {
		size_t part = strcspn(metavar, "| []\n=.");

		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i].metavar) == part &&
			    !strncmp(names[i].metavar, metavar, part) &&
			    !(*offers->asked & names[i].bit)) {
				*offers->asked |= names[i].bit;

				struct fmctl_answer answer =
					fmctl_ask(offers->ctl, "names",
						  json_pack("{ss ss}", "kind", names[i].kind,
							    "prefix", offers->word));

				JSON_EACH (name, answer.result)
					if (json_is_string(name))
						offer_text(offers, json_string_value(name),
							   json_string_length(name));
				json_decref(answer.result);
			}
		metavar += part + 1;
	}
}

static void offer(const struct offers *offers, const char *text)
{
	offer_text(offers, text, strlen(text));
}

/* ---- Ahead of the command -------------------------------------------------------------------- */

static void offer_commands(const struct offers *offers)
{
	for (const struct command *command = fmctl_commands; command->name; command++)
		if (command->help)
			offer(offers, command->name);
}

/* ---- Usage ----------------------------------------------------------------------------------- */

/* The next piece of usage, cut at blanks and brackets: "--format", "text|json|svg", "WHAT". */
static const char *next_piece(const char *at, size_t *len)
{
	at += strspn(at, " []\n");
	*len = strcspn(at, " []\n");
	return *len ? at : NULL;
}

/* To be typed as it stands. */
static bool is_literal(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)text[i]) || strchr(",.:=", text[i]))
			return false;
	return len > 1;
}

/* What follows in the same bracket, and is no alternative. */
static const char *value_of(const char *piece, size_t *len)
{
	if (*piece != '-' || piece[*len] != ' ' || strchr("|[", piece[*len + 1]))
		return NULL;
	return next_piece(piece + *len, len);
}

/* Literals and names. */
static void offer_piece(const struct offers *offers, const struct command *command,
			const char *piece, size_t len)
{
	char name[64];

	/* Of "--fail|--cordon", "logs": each alternative; the row offers its own options. */
	for (const char *at = piece, *end = piece + len; at < end;) {
		size_t part = strcspn(at, "| []\n");

		array_printf(name, "%.*s", part > 2 ? (int)part - 2 : 0, at + 2);
		if (is_literal(at, part) && !command_option_find(command, name))
			offer_text(offers, at, part);
		at += part + 1;
	}
	if (len == strlen("COMMAND") && !strncmp(piece, "COMMAND", len))
		offer_commands(offers);
	else
		offer_names(offers, piece, len);
}

/* Offers values for the option before the word, if the usage has some. */
static bool offer_usage_value(const struct offers *offers, const struct command *command,
			      const char *usage, const char *before)
{
	const char *piece, *value;
	size_t len, value_len;
	char words[128];

	for (piece = usage; before && (piece = next_piece(piece, &len)); piece += len) {
		value_len = len;
		value = value_of(piece, &value_len);
		array_printf(words, "%.*s", (int)len, piece);
		if (value && text_has_word(words, '|', before)) {
			offer_piece(offers, command, value, value_len);
			return true;
		}
	}
	return false;
}

/* Arguments stand behind the command's name, in each line of a usage text the same. */
static const char *arguments_of(const struct command *command)
{
	const char *usage = command->view->usage;
	const char *name = usage ? strstr(usage, command->name) : NULL;

	return name ? name + strlen(command->name) : command->arguments;
}

/* ---- The row --------------------------------------------------------------------------------- */

/* The value of the option before, if it is one of the row that takes one. */
static bool offer_value(const struct offers *offers, const struct command *command,
			const char *before)
{
	const struct command_option *option;

	for (unsigned i = 0; before && (option = command_option_at(command, i)); i++) {
		/* `before`: --name, or the option's letter. */
		if (!option->value ||
		    !((!strncmp(before, "--", 2) && !strcmp(option->name, before + 2)) ||
		      (option->letter && before[0] == '-' && before[1] == option->letter &&
		       !before[2])))
			continue;
		if (!strcmp(option->name, "sort")) {
			/*
			 * By their keys in JSON, which have no blanks; in capitals they stand in
			 * the table.
			 */
			const char *down = *offers->word == '-' ? "-" : "";
			char name[64];

			for (const struct table_column *column = command->columns; column->title;
			     column++) {
				array_printf(name, "%s%.*s", down, (int)strcspn(column->key, "+/["),
					     column->key);
				offer(offers, name);
			}
		} else
			offer_piece(offers, command, option->value, strlen(option->value));
		return true;
	}
	return false;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void complete(const struct offers *asked, int count, char **words)
{
	struct fmctl ctl = *asked->ctl;
	struct offers mine = *asked, *offers = &mine;
	static const char *const globals[] = { "--json",    "--csv",  "--columns", "--socket",
					       "--timeout", "--help", "--version" };
	const struct command_option *option;
	unsigned kinds = 0;
	char name[64];
	int at = 0;

	/* The command among the words of a line; count = it is not typed yet. */
	for (; at < count && words[at][0] == '-'; at++) {
		bool socket = !strcmp(words[at], "-s") || !strcmp(words[at], "--socket");

		if (socket && at + 1 < count)
			ctl.socket = words[at + 1];
		at += socket || !strcmp(words[at], "--timeout");
	}

	const struct command *command = at < count ? fmctl_command_find(words[at]) : NULL;
	const char *before = count > at + 1 ? words[count - 1] : NULL;

	offers->ctl = &ctl;
	offers->asked = &kinds;
	if (at >= count) {
		offer_commands(offers);
		for (size_t i = 0; i < ARRAY_SIZE(globals); i++)
			offer(offers, globals[i]);
		return;
	}
	ctl.command = command;
	if (!command || offer_value(offers, command, before))
		return;

	const char *usage = arguments_of(command), *piece, *value;
	size_t len, value_len;

	if (offer_usage_value(offers, command, usage, before))
		return;
	for (unsigned i = 0; (option = command_option_at(command, i)); i++) {
		array_printf(name, "%s%s", option->name[1] ? "--" : "-", option->name);
		offer(offers, name);
	}

	for (piece = usage; (piece = next_piece(piece, &len)); piece += len) {
		/* "fmctl generate pgft ..": its first words are typed already. */
		bool begins_line = len == strlen("fmctl") && !strncmp(piece, "fmctl", len);

		value_len = len;
		value = begins_line ? next_piece(piece + len, &value_len)
				    : value_of(piece, &value_len);
		if (!begins_line)
			offer_piece(offers, command, piece, len);
		if (value) {
			piece = value;
			len = value_len;
		}
	}
}

/* ---- A line as it stands --------------------------------------------------------------------- */

#define WORDS_MAX 256

struct line {
	char *text; /* the words without quotes, one behind the other, each with its NUL */
	char *words[WORDS_MAX];
	int count;
	char quote;  /* that is open at the end, 0 = none */
	size_t skip; /* of the last word: up to the last ':' or '=' outside of quotes */
};

/* A character that is a part of a word; `bare`: outside of quotes, and not escaped. */
static void take_char(struct line *line, char **to, char c, bool bare)
{
	*(*to)++ = c;
	if (bare && (c == ':' || c == '='))
		line->skip = *to - line->words[line->count];
}

static void fmctl_complete_line(const struct fmctl *ctl, const char *text)
{
	struct line line = { .text = mem_alloc(strlen(text) + 2, 1) };
	struct offers offers = { .ctl = ctl };
	char *to = line.text, *value;
	bool inside = false;

	/* As a shell reads it; the last word is what is being typed, and may be empty. */
	line.words[0] = to;
	for (; *text; text++) {
		if (line.quote && *text == line.quote) {
			line.quote = 0;
		} else if (*text == '\\' && line.quote != '\'' && text[1]) {
			take_char(&line, &to, *++text, false);
		} else if (!line.quote && (*text == '\'' || *text == '"')) {
			line.quote = *text;
		} else if (!line.quote && (*text == ' ' || *text == '\t')) {
			if (inside) {
				*to++ = '\0';
				line.count += line.count + 2 < WORDS_MAX;
				line.words[line.count] = to;
				line.skip = 0;
			}
			inside = false;
			continue;
		} else {
			take_char(&line, &to, *text, !line.quote);
		}
		inside = true;
	}
	*to = '\0';
	/* `--leaf=spi` is completed as `--leaf spi`. */
	offers.word = line.words[line.count];
	value = strchr(offers.word, '=');
	if (!strncmp(offers.word, "--", 2) && value && line.count + 2 < WORDS_MAX) {
		size_t len = value + 1 - offers.word;

		*value = '\0';
		offers.word = line.words[++line.count] = value + 1;
		line.skip = line.skip > len ? line.skip - len : 0;
	}
	offers.skip = line.skip;
	offers.bare = !line.quote;
	if (line.count)
		complete(&offers, line.count - 1, line.words + 1);
	free(line.text);
}

/* ---- Errors as documents --------------------------------------------------------------------- */

/*
 * With --json a program reads standard output, and finds a document there whatever
 * happened: of a command that failed before it had one, {"error": TEXT}. For that, what is written
 * to both streams passes through here.
 */

/* Standard streams while a command runs with --json. */
struct fmctl_output {
	FILE *out, *err;	/* as they were */
	FILE *counted, *caught; /* in their places */
	char *text;		/* what was written to stderr */
	size_t len;
	bool any; /* something was written to stdout */
};

static ssize_t write_out(void *cookie, const char *data, size_t len)
{
	struct fmctl_output *output = cookie;
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(STDOUT_FILENO, data + done, len - done);

		if (n < 0 && errno != EINTR)
			return 0;
		done += n > 0 ? (size_t)n : 0;
	}
	output->any = true;
	return len;
}

/* Prints {"error": ..} if the command failed without a document. Returns the exit code. */
static int fmctl_output_end(struct fmctl_output *output, int status)
{
	int failed = fflush(stdout) || ferror(stdout);

	fflush(stderr);
	if (status != FMCTL_DONE && !output->any && output->len) {
		/* The first line, which has the reason; those of usage follow. */
		const char *text = output->text;
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
	if (output->counted)
		fclose(output->counted);
	if (output->caught)
		fclose(output->caught);
	stdout = output->out;
	stderr = output->err;
	if (output->text)
		fputs(output->text, stderr);
	free(output->text);
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
 * name may be mistyped. Later failures are printed and the next try is made: fmd may be restarting.
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
	char **argv = mem_array(argv, (size_t)w->argc + 1);
	enum fmctl_exit status;

	mem_copy(argv, w->argv, w->argc);
	status = fmctl_command_run(w->ctl, w->command, w->argc, argv);
	free(argv);
	return status;
}

/* What the command prints is caught, and shown at one stroke. *printed: there was some. */
static enum fmctl_exit run_and_show(const struct watch *w, bool *printed)
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
	*printed = len;
	if (w->ctl->terminal && (status == FMCTL_DONE || len)) {
		/*
		 * So many lines of the text as the terminal has; without wrapping, so that one of
		 * the text is one of the terminal.
		 */
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
		for (const char *line = text; lines && *line; lines--) {
			size_t width = strcspn(line, "\n");

			printf("%.*s%s", (int)width, line, line[width] && lines > 1 ? "\n" : "");
			line += width + (line[width] == '\n');
		}
		printf("\033[?7h");
	} else if (status == FMCTL_DONE || len)
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
		fmctl_fail(command->name, "--watch works with read-only commands of fmd only");
		return FMCTL_USAGE;
	}
	while (true) {
		bool printed = true;
		enum fmctl_exit status = run_and_show(&w, &printed);

		if (status == FMCTL_USAGE || (first && status != FMCTL_DONE && !printed))
			return status;
		if (fflush(stdout) || ferror(stdout))
			return FMCTL_FAILED;
		first = false;

		struct timespec left = { .tv_sec = seconds };

		left.tv_nsec = (seconds - (double)left.tv_sec) * 1e9;
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
			ctl->timeout_s = strtoul(optarg, NULL, 10);
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
	if ((ctl->csv || ctl->only) && (ctl->json || !command->columns)) {
		fmctl_fail(command->name, "--%s: %s", ctl->csv ? "csv" : "columns",
			   ctl->json ? "not with --json" : "its answer is no table");
		return FMCTL_USAGE;
	}
	if (ctl->only && !fmctl_has_columns(command, ctl->only))
		return FMCTL_USAGE;
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
	struct fmctl ctl = { .socket = getenv("FMD_SOCKET") ?: DEFAULT_SOCKET,
			     .timeout_s = TIMEOUT_S,
			     .terminal = isatty(STDOUT_FILENO),
			     .commands = fmctl_commands };
	struct fmctl_output output = { .out = stdout, .err = stderr };
	struct winsize size = { 0 };
	bool watched = false;
	int kept = 1;

	if (ctl.terminal && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		ctl.columns = size.ws_col;
	else if (!ctl.terminal && getenv("COLUMNS"))
		ctl.columns = atoi(getenv("COLUMNS"));
	ctl.colour = ctl.terminal && !getenv("NO_COLOR") && term && strcmp(term, "dumb");
	if (argc == 3 && !strcmp(argv[1], "--complete-line")) {
		ctl.timeout_s = 1; /* for a shell, which waits */
		fmctl_complete_line(&ctl, argv[2]);
		return FMCTL_DONE;
	}
	argv[0] = (char[]){ "fmctl" }; /* getopt's messages begin with it */
	/* --json, --csv and --columns may stand anywhere. */
	for (int i = 1; i < argc; i++) {
		/* A watched command goes on and on, and says on stderr at once what failed. */
		watched |= !strncmp(argv[i], "--watch", 7);
		if (!strcmp(argv[i], "--json"))
			ctl.json = true;
		else if (!strcmp(argv[i], "--csv"))
			ctl.csv = true;
		else if (!strcmp(argv[i], "--columns") && i + 1 < argc)
			ctl.only = argv[++i];
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	argc = kept;
	if (!ctl.json || watched)
		return run(&ctl, argc, argv);
	/* Takes the streams' places until fmctl_output_end(). */
	output.counted = fopencookie(&output, "w", (cookie_io_functions_t){ .write = write_out });
	output.caught = open_memstream(&output.text, &output.len);
	if (output.counted)
		stdout = output.counted;
	if (output.caught)
		stderr = output.caught;
	return fmctl_output_end(&output, run(&ctl, argc, argv));
}
