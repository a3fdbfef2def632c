/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ask: requests to fmd, and the commands that read arguments of their own. */
#include <errno.h>
#include <getopt.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include "fm/fmctl/fmctl.h"
#include "fm/opensm/osm_dump.h"
#include "topology/base/mem.h"

/* ---- The client's side of the control socket ------------------------------------------------- */

/*
 * One line for the request, one for the answer (control.h has the format). Answers may be of any
 * length; events that follow are shown as they come; a text that follows an answer is copied as it
 * comes and ends with a NUL, without which it is incomplete.
 */
#define PIECE (256 * 1024) /* of a text, at most so much at a time */

static enum fmctl_exit say_no_daemon(const struct fmctl *ctl)
{
	bool absent = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;

	fprintf(stderr, "fmctl: %s %s: %s\n", absent ? "no fmd listens on" : "cannot reach fmd at",
		ctl->socket, strerror(errno));
	return absent ? FMCTL_NO_DAEMON : FMCTL_FAILED;
}

/* Sets the time limit, which each piece of an answer or sign of progress restarts; 0 = none. */
static void set_timeout(int fd, unsigned seconds)
{
	const struct timeval limit = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static FILE *dial(const struct fmctl *ctl, enum fmctl_exit *status)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	FILE *stream;
	int fd;

	errno = ENAMETOOLONG;
	if (strlen(ctl->socket) >= sizeof(addr.sun_path) ||
	    (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0) {
		*status = say_no_daemon(ctl);
		return NULL;
	}
	strcpy(addr.sun_path, ctl->socket);
	set_timeout(fd, ctl->timeout_s);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) || !(stream = fdopen(fd, "r"))) {
		*status = say_no_daemon(ctl);
		close(fd);
		return NULL;
	}
	return stream;
}

static int send_request(int fd, const char *cmd, json_t *args)
{
	json_t *request = json_pack("{s:s, s:o, s:b}", "cmd", cmd, "args",
				    args ? args : json_object(), "progress", 1);
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	size_t len = text ? strlen(text) : 0, sent = 0;

	json_decref(request);
	if (!text)
		return -EILSEQ; /* an argument that is no UTF-8 */
	text[len++] = '\n';	/* in place of the NUL */
	while (sent < len) {
		ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			break;
		sent += n > 0 ? n : 0;
	}
	free(text);
	return sent == len || errno == EPIPE
		       ? 0
		       : -errno; /* hung up already: with the reason, to be read */
}

/* Prints the reason under the name that was typed: `nvswitch` for `nvswitch-set`. */
static struct fmctl_answer refused(const struct fmctl *ctl, const char *cmd, const char *reason)
{
	return (struct fmctl_answer){ .status = fmctl_fail(ctl->command ? ctl->command->name : cmd,
							   "%s", reason) };
}

/* Leaves the stream open behind the answer's line. */
static struct fmctl_answer ask(const struct fmctl *ctl, const char *cmd, json_t *args,
			       FILE **stream)
{
	struct fmctl_answer answer = { 0 };
	json_t *result = NULL, *line;
	const char *error = NULL;
	int status, ok = 0;
	char late[64];

	*stream = dial(ctl, &answer.status);
	if (!*stream) {
		json_decref(args);
		return answer;
	}
	status = send_request(fileno(*stream), cmd, args);
	if (status)
		return refused(ctl, cmd, strerror(-status));

	/* The answer's line, without the signs of progress before it; NULL = there is none. */
	FILE *in = *stream;

	line = NULL;
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	do {
		json_decref(line);
		len = getline(&text, &size, in);
		line = len > 0 && text[len - 1] == '\n' ? json_loadb(text, len, 0, NULL) : NULL;
	} while (json_object_get(line, "progress"));
	free(text);

	array_printf(late, "no answer from fmd for %u s", ctl->timeout_s);
	if (!line && ferror(*stream) && (errno == EAGAIN || errno == EWOULDBLOCK))
		answer = refused(ctl, cmd, late);
	else if (!line || json_unpack(line, "{s:b, s?o, s?s}", "ok", &ok, "result", &result,
				      "error", &error))
		answer = refused(ctl, cmd, "fmd gave no answer");
	else if (!ok || !result)
		answer = refused(ctl, cmd, error ? error : "fmd gave no reason");
	else
		answer = (struct fmctl_answer){ FMCTL_DONE, json_incref(result) };
	json_decref(line);
	return answer;
}

struct fmctl_answer fmctl_ask(const struct fmctl *ctl, const char *cmd, json_t *args)
{
	FILE *stream;
	struct fmctl_answer answer = ask(ctl, cmd, args, &stream);

	if (stream)
		fclose(stream);
	return answer;
}

static enum fmctl_exit save_text(FILE *from, const char *path)
{
	const char *error = NULL;
	FILE *to = fopen(path, "w");
	bool last = false;
	char piece[PIECE];
	size_t len;

	if (!to)
		return fmctl_fail(path, "%s", strerror(errno));
	while (!error && !last && (len = fread(piece, 1, sizeof(piece), from)) > 0) {
		last = piece[len - 1] == '\0';
		if (fwrite(piece, 1, len - last, to) != len - last)
			error = strerror(errno);
	}
	if (!error && !last)
		error = "the answer is incomplete";
	if (fclose(to) && !error)
		error = strerror(errno);
	return error ? fmctl_fail(path, "%s", error) : FMCTL_DONE;
}

/* ---- Events as they come ---- */

static enum fmctl_exit follow(const struct fmctl *ctl, FILE *stream, fmctl_show_fn *show)
{
	enum fmctl_exit status = FMCTL_DONE;
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	while (status == FMCTL_DONE && (len = getline(&text, &size, stream)) > 0) {
		json_t *line = json_loadb(text, len, 0, NULL), *list;
		json_t *event = json_object_get(line, "event");
		const char *error = json_string_value(json_object_get(line, "error"));

		if (event) {
			list = json_pack("[O]", event);
			show(ctl, list);
			json_decref(list);
			status = fflush(stdout) ? FMCTL_FAILED : FMCTL_DONE;
		} else {
			status = fmctl_fail("events", "%s", error ?: "fmd sent an invalid event");
		}
		json_decref(line);
	}
	free(text);
	if (status != FMCTL_DONE)
		return status;
	fmctl_fail("events", "fmd closed the connection");
	return FMCTL_NO_DAEMON;
}

enum fmctl_exit fmctl_ask_events(const struct fmctl *ctl, json_t *args, fmctl_show_fn *show)
{
	FILE *stream;
	struct fmctl_answer answer = ask(ctl, "follow", args, &stream);

	if (answer.status == FMCTL_DONE) {
		set_timeout(fileno(stream), 0); /* the next event may be a week away */
		show(ctl, answer.result);
		answer.status = fflush(stdout) ? FMCTL_FAILED : follow(ctl, stream, show);
	}
	json_decref(answer.result);
	if (stream)
		fclose(stream);
	return answer.status;
}

/* ---- Live commands --------------------------------------------------------------------------- */

/*
 * The live commands that read arguments of their own: each asks fmd one question and hands the
 * answer to a show_* function, or prints it as it is with --json. FMCTL_USAGE from here makes
 * commands.c print the command's usage line.
 */

enum fmctl_exit fmctl_ask_and_show(const struct fmctl *ctl, const char *cmd, json_t *args,
				   fmctl_show_fn *show)
{
	struct fmctl_answer answer = fmctl_ask(ctl, cmd, args);

	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : ctl->csv ? show_csv : show)(ctl, answer.result);
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
	return fmctl_fail(cmd, "applied, but not saved, so a restart would undo it: %s", error);
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

/* Writes the text that follows an answer into a file that is made or replaced, or goes. */
static enum fmctl_exit dump_file(const struct fmctl *ctl, const char *dir,
				 const struct osm_dump_file *file, json_t *written)
{
	struct fmctl_answer answer;
	char path[4096];
	struct stat st;
	FILE *stream;

	if (array_printf(path, "%s/%s", dir, file->name) >= (int)sizeof(path))
		return fmctl_fail("dump", "the directory's name is too long");
	answer = ask(ctl, "dump", json_pack("{s:s}", "file", file->name), &stream);
	if (answer.status == FMCTL_DONE) {
		/* Nothing more is asked: fmd hangs up behind the text. */
		shutdown(fileno(stream), SHUT_WR);
		answer.status = save_text(stream, path);
		if (!file->write && !answer.status && !stat(path, &st) && !st.st_size)
			unlink(path); /* no switch has groups */
		else
			json_array_append_new(written, json_string(path));
	}
	json_decref(answer.result);
	if (stream)
		fclose(stream);
	return answer.status;
}

static enum fmctl_exit run_dump(const struct fmctl *ctl, int argc, char **argv)
{
	enum fmctl_exit status = FMCTL_DONE;
	const struct osm_dump_file *file;
	json_t *written;

	if (fmctl_read_options(ctl->command, argc, argv, NULL) != argc - 1)
		return FMCTL_USAGE;
	if (mkdir(argv[1], 0777) && errno != EEXIST)
		return fmctl_fail("dump", "%s: %s", argv[1], strerror(errno));
	written = json_array();
	for (size_t i = 0; (file = osm_dump_file(i)) && status == FMCTL_DONE; i++)
		status = dump_file(ctl, argv[1], file, written);
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
		return fmctl_ask_and_show(ctl, "forget", args, show_answer);
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
	return fmctl_ask_and_show(ctl, "loglevel", args, show_answer);
}
const struct fmctl_view loglevel_view = { .run = run_loglevel };
