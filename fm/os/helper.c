/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/os/helper.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "topology/base/text.h"
#include "fm/os/helper_message.h"
#include "fm/loop/log.h"
#include "topology/base/mem.h"

struct helper;
static int ask(struct helper *helper, const struct helper_ask *what, const char *text);

/*
 * helper_process: the helper's own life. It trusts no message: a hook is one of those that the
 * configuration names, its variables are FMD_* alone, a socket is bound to ports of the
 * configuration alone.
 *
 * A program gets a process group and an environment of its own, and no descriptor of ours but
 * standard error. The helper waits for it by a signalfd, beside the daemon's messages.
 */

#define PROGRAMS_MAX  64  /* at a time; the daemon has fewer */
#define VARIABLES_MAX 256 /* of a program */
#define PORTS	      3	  /* http_listen, syslog_listen, peer_listen */

struct process {
	struct helper_start with;
	char programs[HELPER_PROGRAMS][256];
	uint16_t ports[PORTS]; /* 0 = none */
	char *path;	       /* PATH=.. as the daemon was started with */
	int children;	       /* a signalfd */
	struct {
		pid_t pid; /* 0 = free */
		uint32_t id;
	} running[PROGRAMS_MAX];
};

/* ---- The configuration ----------------------------------------------------------------------- */

static uint16_t port_of(const char *where)
{
	struct address at;

	return *where && address_parse(where, &at) ? at.port : 0;
}

static void take_conf(struct process *p, const struct conf *conf)
{
	strcpy(p->programs[HELPER_NVSWITCH_HOOK], conf->nvswitch.hook);
	strcpy(p->programs[HELPER_HOST_HOOK], conf->hosts.hook);
	p->ports[0] = port_of(conf->http.listen);
	p->ports[1] = port_of(conf->nvswitch.syslog_listen);
	p->ports[2] = port_of(conf->mirror.listen);
}

/* 0, or errno. */
static int read_conf(struct process *p)
{
	char err[512];
	struct conf conf;

	if (!p->with.conf_path)
		return ENOENT;
	if (conf_load_but_partitions(p->with.conf_path, &conf, err, sizeof(err)))
		return EINVAL;
	take_conf(p, &conf);
	return 0;
}

/* ---- Programs -------------------------------------------------------------------------------- */

static int set_up_files(posix_spawn_file_actions_t *files)
{
	posix_spawn_file_actions_init(files);
	posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
	return posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
}

/* Signals as a program expects them, and a group to be killed as a whole. */
static void set_up_attributes(posix_spawnattr_t *attributes)
{
	sigset_t set;

	posix_spawnattr_init(attributes);
	posix_spawnattr_setpgroup(attributes, 0);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(attributes, &set);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attributes, &set);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
						     POSIX_SPAWN_SETSIGMASK);
}

static int spawn(char *program, char **variables, pid_t *pid)
{
	char *arguments[] = { program, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error;

	set_up_files(&files);
	set_up_attributes(&attributes);
	error = posix_spawn(pid, program, &files, &attributes, arguments, variables);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/* FMD_ and capitals: nothing that a shell, the linker or libc go by. */
static bool is_ours(const char *variable)
{
	size_t len = strspn(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return !strncmp(variable, "FMD_", 4) && variable[len] == '=';
}

/* False: they are not as they should be. */
static bool split(char *text, size_t len, char **variables)
{
	unsigned count = 0;

	if (!len || text[len - 1])
		return false;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		if (count == VARIABLES_MAX || !is_ours(text + at))
			return false;
		variables[count++] = text + at;
	}
	variables[count] = NULL;
	return true;
}

static void report(const struct process *p, uint32_t id, int error, int status)
{
	const struct helper_report message = { id, error, status };

	send(p->with.fds[HELPER_RUNS], &message, sizeof(message), MSG_NOSIGNAL);
}

static int find(const struct process *p, pid_t pid, uint32_t id)
{
	for (int i = 0; i < PROGRAMS_MAX; i++)
		if (pid ? p->running[i].pid == pid : p->running[i].pid && p->running[i].id == id)
			return i;
	return -1;
}

static int find_free(const struct process *p)
{
	for (int i = 0; i < PROGRAMS_MAX; i++)
		if (!p->running[i].pid)
			return i;
	return -1;
}

/* 0, or errno. */
static int run(struct process *p, const struct helper_ask *ask, char *text)
{
	char *variables[VARIABLES_MAX + 2];
	int at = find_free(p), error;

	if (at < 0)
		return EAGAIN;
	if (ask->program >= HELPER_PROGRAMS || !*p->programs[ask->program])
		return ENOENT;
	variables[0] = p->path;
	if (!split(text, ask->length, variables + 1))
		return EINVAL;
	error = spawn(p->programs[ask->program], variables, &p->running[at].pid);
	p->running[at].id = ask->id;
	if (error)
		p->running[at].pid = 0;
	return error;
}

static void reap(struct process *p)
{
	struct signalfd_siginfo info;
	ssize_t len = read(p->children, &info, sizeof(info));
	int status, at;
	pid_t pid;

	(void)len;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		at = find(p, pid, 0);
		if (at < 0)
			continue;
		report(p, p->running[at].id, 0, status);
		p->running[at].pid = 0;
	}
}

/* ---- Sockets --------------------------------------------------------------------------------- */

static bool is_ours_to_bind(const struct process *p, const struct sockaddr *at, size_t len)
{
	const uint8_t *bytes = NULL; /* in the network's order */
	uint16_t port;

	if (at->sa_family == AF_INET && len >= sizeof(struct sockaddr_in))
		bytes = (const uint8_t *)&((const struct sockaddr_in *)at)->sin_port;
	else if (at->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6))
		bytes = (const uint8_t *)&((const struct sockaddr_in6 *)at)->sin6_port;
	port = bytes ? (uint16_t)(bytes[0] << 8 | bytes[1]) : 0;
	for (unsigned i = 0; port && i < PORTS; i++)
		if (p->ports[i] == port)
			return true;
	return false;
}

static int socket_of(struct msghdr *message)
{
	struct cmsghdr *rights = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
	    rights->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
	return fd;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* The daemon has ended: programs that it started run to their end, which is not reported. */
static _Noreturn void leave(void)
{
	_exit(0);
}

/* Returns with a whole message; text has room for HELPER_TEXT_MAX and a zero. */
static bool receive(int from, struct helper_ask *ask, char *text, int *fd)
{
	struct iovec parts[] = { { ask, sizeof(*ask) }, { text, HELPER_TEXT_MAX } };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = parts,
				  .msg_iovlen = 2,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(from, &message, MSG_CMSG_CLOEXEC);

	if (len < 0 && errno == EINTR)
		return false;
	if (len <= 0)
		leave();
	*fd = socket_of(&message);
	return len >= (ssize_t)sizeof(*ask) && (size_t)len == sizeof(*ask) + ask->length &&
	       !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
}

static void serve_programs(struct process *p, char *text)
{
	struct helper_ask ask = { 0 };
	int fd = -1, error, at;

	if (receive(p->with.fds[HELPER_RUNS], &ask, text, &fd) && ask.kind == HELPER_RUN) {
		error = run(p, &ask, text);
		if (error)
			report(p, ask.id, error, 0);
	} else if (ask.kind == HELPER_KILL && (at = find(p, 0, ask.id)) >= 0) {
		kill(-p->running[at].pid, SIGKILL);
	}
	if (fd >= 0)
		close(fd);
}

static int bind_to(const struct process *p, const struct helper_ask *ask, const char *text, int fd)
{
	struct sockaddr_storage at = { 0 };

	if (fd < 0 || ask->length > sizeof(at))
		return EINVAL;
	memcpy(&at, text, ask->length);
	if (!is_ours_to_bind(p, (const struct sockaddr *)&at, ask->length))
		return EACCES;
	return bind(fd, (const struct sockaddr *)&at, ask->length) ? errno : 0;
}

static void serve_calls(struct process *p, char *text)
{
	struct helper_ask ask = { 0 };
	int fd = -1, error = EINVAL;

	if (receive(p->with.fds[HELPER_CALLS], &ask, text, &fd) && ask.kind == HELPER_CONFIGURE)
		error = read_conf(p);
	else if (ask.kind == HELPER_BIND)
		error = bind_to(p, &ask, text, fd);
	if (fd >= 0)
		close(fd);
	send(p->with.fds[HELPER_CALLS], &error, sizeof(error), MSG_NOSIGNAL);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* A terminal and the service manager end all processes of a service: this one ends by itself. */
static void set_up_signals(struct process *p)
{
	sigset_t children;

	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	p->children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void set_up(struct process *p, const struct helper_start *start)
{
	const char *path = getenv("PATH");

	*p = (struct process){ .with = *start };
	p->path = mem_printf("PATH=%s", path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
	take_conf(p, start->conf);
	set_up_signals(p);
	prctl(PR_SET_NAME, "fmd-helper");
	if (start->confine)
		start->confine();
}

/* The helper process: serves the daemon's messages until the daemon ends, then exits. */
static void helper_main(const struct helper_start *start)
{
	char *text = mem_alloc(HELPER_TEXT_MAX + 1, 1);
	struct process p;

	set_up(&p, start);
	for (;;) {
		struct pollfd waits[] = { { p.with.fds[HELPER_RUNS], POLLIN, 0 },
					  { p.with.fds[HELPER_CALLS], POLLIN, 0 },
					  { p.children, POLLIN, 0 } };

		if (poll(waits, 3, -1) < 0)
			continue;
		if (waits[2].revents)
			reap(&p);
		if (waits[1].revents)
			serve_calls(&p, text);
		if (waits[0].revents)
			serve_programs(&p, text);
	}
}

/* helper: the daemon's side (the other one is helper.c). */

struct helper_run {
	struct helper_run *next;
	struct helper *helper;
	uint32_t id;
	helper_ended_fn *fn;
	void *arg;
};

struct helper {
	pid_t pid;
	int fds[HELPER_PAIRS]; /* -1 = it has ended */
	struct loop *loop;
	struct loop_fd *watch;
	uint32_t last_id;
	struct helper_run *runs;
};

/* ---- Programs -------------------------------------------------------------------------------- */

static struct helper_run *take_run(struct helper *helper, uint32_t id)
{
	for (struct helper_run **link = &helper->runs; *link; link = &(*link)->next) {
		struct helper_run *run = *link;

		if (run->id != id)
			continue;
		*link = run->next;
		return run;
	}
	return NULL; /* it was stopped */
}

static void run_ended(struct helper_run *run, int error, int status)
{
	run->fn(run->arg, error, status);
	free(run);
}

static void gone(struct helper *helper)
{
	log_line(LOG_CORE, LOG_ERR, "the helper process has ended: no hook runs until a restart");
	loop_fd_free(helper->watch);
	helper->watch = NULL;
	for (unsigned i = 0; i < HELPER_PAIRS; i++) {
		close(helper->fds[i]);
		helper->fds[i] = -1;
	}
	while (helper->runs)
		run_ended(take_run(helper, helper->runs->id), EPIPE, 0);
}

static void report_cb(void *arg, unsigned events)
{
	struct helper *helper = arg;
	struct helper_report report;
	struct helper_run *run;
	ssize_t len = recv(helper->fds[HELPER_RUNS], &report, sizeof(report), MSG_DONTWAIT);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len != sizeof(report)) {
		gone(helper);
		return;
	}
	run = take_run(helper, report.id);
	if (run)
		run_ended(run, report.error, report.status);
}

static int ask(struct helper *helper, const struct helper_ask *what, const char *text)
{
	struct iovec parts[] = { { (void *)what, sizeof(*what) }, { (void *)text, what->length } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (helper->fds[HELPER_RUNS] < 0) {
		errno = EPIPE;
		return -1;
	}
	return sendmsg(helper->fds[HELPER_RUNS], &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1
											    : 0;
}

struct helper_run *helper_start_program(struct helper *helper, enum helper_program program,
					const char *text, size_t len, helper_ended_fn *fn,
					void *arg)
{
	struct helper_ask what = { HELPER_RUN, helper->last_id + 1, program, (uint32_t)len };
	struct helper_run *run;

	if (len > HELPER_TEXT_MAX) {
		errno = E2BIG;
		return NULL;
	}
	if (ask(helper, &what, text))
		return NULL;
	run = mem_alloc(1, sizeof(*run));
	*run = (struct helper_run){ helper->runs, helper, ++helper->last_id, fn, arg };
	helper->runs = run;
	return run;
}

void helper_stop(struct helper_run *run)
{
	struct helper_ask what = { HELPER_KILL, run->id, 0, 0 };

	take_run(run->helper, run->id);
	ask(run->helper, &what, NULL);
	free(run);
}

/* ---- What is waited for ---------------------------------------------------------------------- */

static int await_answer(struct helper *helper, const struct msghdr *message)
{
	int fd = helper->fds[HELPER_CALLS], error = EPIPE;
	ssize_t len;

	if (fd < 0 || sendmsg(fd, message, MSG_NOSIGNAL) < 0)
		return -EPIPE;
	while ((len = recv(fd, &error, sizeof(error), 0)) < 0 && errno == EINTR)
		;
	return len == sizeof(error) ? -error : -EPIPE;
}

int helper_configure(struct helper *helper)
{
	struct helper_ask what = { .kind = HELPER_CONFIGURE };
	struct iovec part = { &what, sizeof(what) };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return await_answer(helper, &message);
}

int helper_bind(struct helper *helper, int fd, const struct sockaddr *at, socklen_t len)
{
	struct helper_ask what = { .kind = HELPER_BIND, .length = len };
	struct iovec parts[] = { { &what, sizeof(what) }, { (void *)at, len } };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fd))];
	} control = { .room = "" };
	struct msghdr message = { .msg_iov = parts,
				  .msg_iovlen = 2,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	return await_answer(helper, &message);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int make_pairs(int pairs[HELPER_PAIRS][2])
{
	for (unsigned i = 0; i < HELPER_PAIRS; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[i])) {
			while (i--) {
				close(pairs[i][0]);
				close(pairs[i][1]);
			}
			return -1;
		}
	return 0;
}

struct helper *helper_start(const struct conf *conf, const char *conf_path, void (*confine)(void),
			    char *err, size_t err_size)
{
	struct helper_start start = { .conf = conf, .conf_path = conf_path, .confine = confine };
	struct helper *helper = mem_alloc(1, sizeof(*helper));
	int pairs[HELPER_PAIRS][2];

	if (make_pairs(pairs) || (helper->pid = fork()) < 0) {
		snprintf(err, err_size, "helper process: %s", strerror(errno));
		free(helper);
		return NULL;
	}
	for (unsigned i = 0; i < HELPER_PAIRS; i++) {
		close(pairs[i][helper->pid == 0 ? 0 : 1]);
		helper->fds[i] = pairs[i][0];
		start.fds[i] = pairs[i][1];
	}
	if (!helper->pid)
		helper_main(&start);
	return helper;
}

void helper_attach(struct helper *helper, struct loop *loop)
{
	helper->loop = loop;
	helper->watch = loop_fd_new(loop, helper->fds[HELPER_RUNS], LOOP_READ, report_cb, helper);
	loop_set_helper(loop, helper);
}

bool helper_is_gone(const struct helper *helper)
{
	return helper->fds[HELPER_RUNS] < 0;
}

void helper_end(struct helper *helper)
{
	if (!helper)
		return;
	loop_fd_free(helper->watch);
	if (helper->loop)
		loop_set_helper(helper->loop, NULL);
	for (unsigned i = 0; i < HELPER_PAIRS; i++)
		if (helper->fds[i] >= 0)
			close(helper->fds[i]);
	while (helper->runs)
		free(take_run(helper, helper->runs->id));
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(helper);
}
