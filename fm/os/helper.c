/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * helper: the helper's own life, and the daemon's side of it. Hooks, which run there: hook.c.
 *
 * What the two say to each other is a packet of a SOCK_SEQPACKET pair each. Pair 0 is for programs:
 * struct helper_ask with HELPER_RUN, followed by the variables and, as SCM_RIGHTS, by what is to be
 * the program's standard output, or HELPER_KILL; answered by struct helper_report when a program
 * has ended. Pair 1 is for what the daemon waits for: HELPER_CONFIGURE, or HELPER_BIND followed by
 * the address and with the socket as SCM_RIGHTS; answered by an int, 0 or errno.
 *
 * Where no service manager keeps descriptors, the helper does: pair 1 has HELPER_KEEP and
 * HELPER_TAKE for that, followed by the name, and the descriptor as SCM_RIGHTS. When the daemon is
 * killed they are there for KEEP_MS; the helper of the next daemon asks for all of them, at a
 * socket in state_dir, which is the daemon's user's alone.
 *
 * The helper trusts no message: a hook is one of those that the configuration names, its variables
 * are FMD_* alone, a socket is bound to ports of the configuration alone. A program gets a process
 * group and an environment of its own, and of the helper's descriptors standard error alone. The
 * helper waits for it by a signalfd, beside the daemon's messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "fm/loop/log.h"
#include "fm/os/helper.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

enum {
	HELPER_RUN = 1,
	HELPER_KILL,
	HELPER_CONFIGURE,
	HELPER_BIND,
	HELPER_KEEP, /* without a descriptor: no more; without a name: those that were not taken */
	HELPER_TAKE,
	HELPER_END
};
enum { HELPER_RUNS, HELPER_CALLS, HELPER_PAIRS };

struct helper_ask {
	uint32_t kind;
	uint32_t id;	  /* of a program that runs; the daemon's choice */
	uint32_t program; /* enum helper_program */
	uint32_t length;  /* of what follows */
};

struct helper_report {
	uint32_t id;
	int32_t error, status;
};

struct helper_start { /* what the child begins with */
	int fds[HELPER_PAIRS];
	const struct conf *conf;
	const char *conf_path;
	void (*confine)(void);
};

/* ---- Messages with a descriptor -------------------------------------------------------------- */

union rights {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* As sendmsg(2); fd -1 = none goes with it. */
static ssize_t send_rights(int to, struct iovec *parts, unsigned count, int fd, int flags)
{
	union rights control = { .bytes = "" };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
	struct cmsghdr *rights = &control.head;

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
	}
	return sendmsg(to, &message, MSG_NOSIGNAL | flags);
}

/* As recvmsg(2), -1 for what was too long; *fd stays where none came. */
static ssize_t receive_rights(int from, struct iovec *parts, unsigned count, int *fd)
{
	union rights control;
	struct msghdr message = { .msg_iov = parts,
				  .msg_iovlen = count,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *rights = len < 0 ? NULL : CMSG_FIRSTHDR(&message);

	if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
	    rights->cmsg_len == CMSG_LEN(sizeof(*fd)))
		mem_copy(fd, CMSG_DATA(rights), 1);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		errno = EMSGSIZE;
	return message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? -1 : len;
}

/* ---- The helper process ---------------------------------------------------------------------- */

#define PROGRAMS_MAX  64  /* at a time; the daemon has fewer */
#define VARIABLES_MAX 256 /* of a program */
#define ANSWER_S      10
#define PORTS	      2	    /* http_listen, peer_listen */
#define KEPT_MAX      8	    /* the names of two ports, and as many to come */
#define KEEP_MS	      10000 /* behind the daemon's end */
#define PASS_ON_S     1

struct kept {
	int fd; /* -1 = free */
	bool taken;
	char name[HELPER_NAME];
};

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
	struct kept kept[KEPT_MAX];
	struct sockaddr_un at; /* where the next daemon's helper asks for them */
	int door;	       /* it listens there; 0 = nothing was kept yet, < 0: it can't */
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
	strcpy(p->programs[HELPER_EVENT_HOOK], conf->hosts.event_hook);
	strcpy(p->programs[HELPER_JOB_COMMAND], conf->hosts.job_command);
	p->ports[0] = port_of(conf->http.listen);
	p->ports[1] = port_of(conf->mirror.listen);
}

/* ---- Programs -------------------------------------------------------------------------------- */

#define INPUT "FMD_EVENT="

/* A pipe that holds the value of that variable; -1: there is no such variable, or no pipe. */
static int open_input(char **variables)
{
	while (*variables && strncmp(*variables, INPUT, strlen(INPUT)))
		variables++;

	int fds[2];

	if (!*variables || pipe2(fds, O_CLOEXEC))
		return -1;
	dprintf(fds[1], "%s\n",
		*variables + strlen(INPUT)); /* a pipe takes more than a message has */
	close(fds[1]);
	return fds[0];
}

/* Signals as a program expects them, and a group to be killed as a whole. */
static int spawn(char *program, char **variables, int output, pid_t *pid)
{
	char *arguments[] = { program, NULL };
	int input = open_input(variables);
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t all, none;

	posix_spawn_file_actions_init(&files);
	if (input >= 0)
		posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setpgroup(&attributes, 0);
	sigfillset(&all);
	posix_spawnattr_setsigdefault(&attributes, &all);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETSIGMASK);

	int error = posix_spawn(pid, program, &files, &attributes, arguments, variables);

	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	if (input >= 0)
		close(input);
	return error;
}

/*
 * False: they are not as they should be, FMD_ and capitals: nothing that a shell, the linker or
 * libc go by.
 */
static bool split(char *text, size_t len, char **variables)
{
	unsigned count = 0;

	if (!len || text[len - 1])
		return false;
	for (size_t at = 0; at < len; at += strlen(text + at) + 1) {
		size_t name = strspn(text + at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

		if (count == VARIABLES_MAX || strncmp(text + at, "FMD_", 4) ||
		    text[at + name] != '=')
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

/* 0, or errno. output: of the program; -1 = standard error. */
static int run(struct process *p, const struct helper_ask *ask, char *text, int output)
{
	char *variables[VARIABLES_MAX + 2];
	int at = 0, error;

	while (at < PROGRAMS_MAX && p->running[at].pid)
		at++;
	if (at == PROGRAMS_MAX)
		return EAGAIN;
	if (ask->program >= HELPER_PROGRAMS || !*p->programs[ask->program])
		return ENOENT;
	variables[0] = p->path;
	if (!split(text, ask->length, variables + 1))
		return EINVAL;
	error = spawn(p->programs[ask->program], variables, output < 0 ? STDERR_FILENO : output,
		      &p->running[at].pid);
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

/* ---- Messages -------------------------------------------------------------------------------- */

/*
 * The daemon was killed. What is kept outlives it in a process of its own: a program that waits
 * for the end of this one does not wait for that.
 */
static void keep_on(struct process *p)
{
	struct pollfd caller = { p->door, POLLIN, 0 };

	if (p->door <= 0 || fork())
		return;
	close_range(STDIN_FILENO, STDERR_FILENO, 0);
	if (poll(&caller, 1, KEEP_MS) < 1)
		return;

	int fd = accept4(p->door, NULL, NULL, SOCK_CLOEXEC);

	close(p->door);
	for (unsigned i = 0; i < KEPT_MAX; i++) {
		struct iovec name = { p->kept[i].name, HELPER_NAME };

		if (p->kept[i].fd >= 0)
			send_rights(fd, &name, 1, p->kept[i].fd, 0);
	}
}

/*
 * Returns with a whole message; text holds HELPER_TEXT_MAX bytes and a zero. Where the daemon has
 * ended it does not return: programs that it started run to their end, which is not reported.
 */
static bool receive(struct process *p, int from, struct helper_ask *ask, char *text, int *fd)
{
	struct iovec parts[] = { { ask, sizeof(*ask) }, { text, HELPER_TEXT_MAX } };

	errno = 0;

	ssize_t len = receive_rights(from, parts, 2, fd);

	if (len < 0 && (errno == EINTR || errno == EMSGSIZE))
		return false;
	if (len <= 0) {
		keep_on(p);
		_exit(0);
	}
	if (len < (ssize_t)sizeof(*ask) || (size_t)len != sizeof(*ask) + ask->length)
		return false;
	text[ask->length] = '\0';
	return true;
}

/* 0, or errno. Only ports of the configuration are bound. */
static int bind_to(const struct process *p, const struct helper_ask *ask, const char *text, int fd)
{
	struct sockaddr_storage at = { 0 };
	const struct sockaddr *address = (const struct sockaddr *)&at;
	const uint8_t *bytes = (const uint8_t *)address->sa_data; /* a port, of IPv4 and of IPv6 */

	if (fd < 0 || ask->length > sizeof(at))
		return EINVAL;
	memcpy(&at, text, ask->length);

	uint16_t port = (uint16_t)(bytes[0] << 8 | bytes[1]);

	if (at.ss_family != AF_INET && at.ss_family != AF_INET6)
		return EACCES;
	for (unsigned i = 0; port && i < PORTS; i++)
		if (p->ports[i] == port)
			return bind(fd, address, ask->length) ? errno : 0;
	return EACCES;
}

/* From the file, as at a reload. 0, or errno. */
static int configure(struct process *p)
{
	struct conf conf;
	char err[512];

	if (!p->with.conf_path)
		return ENOENT;
	if (conf_load_but_partitions(p->with.conf_path, &conf, err, sizeof(err)))
		return EINVAL;
	take_conf(p, &conf);
	return 0;
}

/* ---- Descriptors that outlive the daemon ----------------------------------------------------- */

static void forget(struct kept *kept)
{
	if (kept->fd >= 0)
		close(kept->fd);
	kept->fd = -1;
}

/* The one of that name, or a free one with it; NULL = all are used. */
static struct kept *find_kept(struct process *p, const char *name)
{
	struct kept *place = NULL;

	for (struct kept *it = p->kept; it < p->kept + KEPT_MAX; it++)
		if (it->fd < 0 || !strcmp(it->name, name)) {
			place = it;
			if (it->fd >= 0)
				break;
		}
	if (!place)
		return NULL;
	array_printf(place->name, "%s", name);
	place->taken = true;
	return place;
}

/* What the helper of a daemon that was killed has; from now on this one is asked. */
static void inherit(struct process *p)
{
	const struct timeval patience = { .tv_sec = PASS_ON_S };
	struct sockaddr_un *at = &p->at;
	char name[HELPER_NAME] = "";
	struct iovec part = { name, sizeof(name) };

	at->sun_family = AF_UNIX;
	p->door = snprintf(at->sun_path, sizeof(at->sun_path), "%s/agents",
			   p->with.conf->state_dir) < (int)sizeof(at->sun_path)
			  ? 0
			  : -ENAMETOOLONG;
	if (p->door)
		return;

	int from = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (!connect(from, (const struct sockaddr *)at, sizeof(*at)))
		for (struct kept *it = p->kept;
		     it < p->kept + KEPT_MAX && receive_rights(from, &part, 1, &it->fd) > 0; it++)
			memcpy(it->name, name, sizeof(name) - 1);
	close(from);
	unlink(at->sun_path); /* nobody serves it any more: state_dir has one daemon */
	p->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(p->door, (const struct sockaddr *)at, sizeof(*at)) || chmod(at->sun_path, 0600) ||
	    listen(p->door, 1))
		p->door = -errno;
}

/* 0, or errno; the descriptor of HELPER_KEEP goes over to it. */
static int keep(struct process *p, const char *name, int *fd)
{
	struct kept *it = find_kept(p, name);

	if (!it)
		return ENOSPC;
	forget(it);
	it->fd = *fd;
	*fd = -1;
	for (it = p->kept; !*name && it < p->kept + KEPT_MAX; it++)
		if (!it->taken)
			forget(it);
	return 0;
}

static void serve_calls(struct process *p, char *text)
{
	struct helper_ask ask = { 0 };
	int fd = -1, error = EINVAL, given = -1;
	struct iovec answer = { &error, sizeof(error) };

	if (!receive(p, p->with.fds[HELPER_CALLS], &ask, text, &fd))
		ask.kind = 0;
	if (!p->door && (ask.kind == HELPER_KEEP || ask.kind == HELPER_TAKE))
		inherit(p);
	if (ask.kind == HELPER_CONFIGURE) {
		error = configure(p);
	} else if (ask.kind == HELPER_BIND) {
		error = bind_to(p, &ask, text, fd);
	} else if (ask.kind == HELPER_KEEP) {
		error = keep(p, text, &fd);
	} else if (ask.kind == HELPER_TAKE) {
		struct kept *it = find_kept(p, text);

		given = it ? it->fd : -1;
		error = given < 0 ? ENOENT : 0;
	} else if (ask.kind == HELPER_END) {
		if (p->door > 0)
			unlink(p->at.sun_path);
		_exit(0);
	}
	if (fd >= 0)
		close(fd);
	send_rights(p->with.fds[HELPER_CALLS], &answer, 1, given, 0);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/*
 * The one that serves is a child of one that does nothing but begin it again when it was killed,
 * for memory say: the daemon has given up what that takes. Returns in the child; true: it is not
 * the first.
 */
static bool replace_killed(const struct process *p)
{
	bool again = false;
	int status;
	pid_t pid;

	while ((pid = fork()) > 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (WIFEXITED(status))
			_exit(0);
		again = true;
		report(p, 0, EPIPE, 0);
	}
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return again;
}

/* The helper process: serves the daemon's messages until the daemon ends, then exits. */
static void helper_main(const struct helper_start *start)
{
	char *text = mem_alloc(HELPER_TEXT_MAX + 1, 1);
	const char *path = getenv("PATH");
	struct process p = { .with = *start };
	sigset_t children;

	for (unsigned i = 0; i < KEPT_MAX; i++)
		p.kept[i].fd = -1;
	p.path = mem_printf("PATH=%s", path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
	take_conf(&p, start->conf);
	/* A terminal and the service manager end all processes of a service: not this one. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	/* What the service manager has kept for the daemon. */
	close_range(STDERR_FILENO + 1, (unsigned)p.with.fds[0] - 1, 0);
	prctl(PR_SET_NAME, "fmd-helper");
	if (start->confine)
		start->confine();
	if (replace_killed(&p))
		configure(&p); /* it may be another since the start */
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	p.children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
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
		if (waits[0].revents) {
			struct helper_ask ask = { 0 };
			int fd = -1, error, at;

			if (receive(&p, p.with.fds[HELPER_RUNS], &ask, text, &fd) &&
			    ask.kind == HELPER_RUN) {
				error = run(&p, &ask, text, fd);
				if (error)
					report(&p, ask.id, error, 0);
			} else if (ask.kind == HELPER_KILL && (at = find(&p, 0, ask.id)) >= 0) {
				kill(-p.running[at].pid, SIGKILL);
			}
			if (fd >= 0)
				close(fd);
		}
	}
}

/* ---- The daemon's side ----------------------------------------------------------------------- */

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

static void report_cb(void *arg, unsigned events)
{
	struct helper *helper = arg;
	struct helper_report report;
	struct helper_run *run;
	ssize_t len = recv(helper->fds[HELPER_RUNS], &report, sizeof(report), MSG_DONTWAIT);
	bool again = len == sizeof(report) && !report.id;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len == sizeof(report) && !again) {
		run = take_run(helper, report.id);
		if (run)
			run_ended(run, report.error, report.status);
		return;
	}
	log_line(LOG_CORE, LOG_ERR, "the helper process has ended: %s",
		 again ? "another one runs hooks now" : "no hook runs until a restart");
	loop_fd_free(again ? NULL : helper->watch);
	for (unsigned i = 0; !again && i < HELPER_PAIRS; i++) {
		helper->watch = NULL;
		close(helper->fds[i]);
		helper->fds[i] = -1;
	}
	for (uint32_t last = helper->last_id;; run_ended(take_run(helper, run->id), EPIPE, 0)) {
		for (run = helper->runs; run && run->id > last; run = run->next)
			; /* begun by the end of another */
		if (!run)
			break;
	}
}

static int ask(struct helper *helper, const struct helper_ask *what, const char *text, int fd)
{
	struct iovec parts[] = { { (void *)what, sizeof(*what) }, { (void *)text, what->length } };
	int to = helper->fds[HELPER_RUNS];

	if (to < 0) {
		errno = EPIPE;
		return -1;
	}
	return send_rights(to, parts, 2, fd, MSG_DONTWAIT) < 0 ? -1 : 0;
}

struct helper_run *helper_start_program(struct helper *helper, enum helper_program program,
					const char *text, size_t len, int output,
					helper_ended_fn *fn, void *arg)
{
	struct helper_ask what = { HELPER_RUN, helper->last_id + 1, program, len };

	if (len > HELPER_TEXT_MAX) {
		errno = E2BIG;
		return NULL;
	}
	if (ask(helper, &what, text, output))
		return NULL;

	struct helper_run *run = mem_new(run);

	*run = (struct helper_run){ helper->runs, helper, ++helper->last_id, fn, arg };
	helper->runs = run;
	return run;
}

void helper_stop(struct helper_run *run)
{
	struct helper_ask what = { HELPER_KILL, run->id, 0, 0 };

	take_run(run->helper, run->id);
	ask(run->helper, &what, NULL, -1);
	free(run);
}

/* ---- What is waited for ---------------------------------------------------------------------- */

/* 0, or -errno; the descriptor of the answer, where one came, goes to *taken. */
static int call(struct helper *helper, uint32_t kind, const void *text, size_t len, int fd,
		int *taken)
{
	struct helper_ask what = { .kind = kind, .length = len };
	struct iovec parts[] = { { &what, sizeof(what) }, { (void *)text, len } };
	int to = helper->fds[HELPER_CALLS], error = EPIPE;
	struct iovec answer = { &error, sizeof(error) };

	if (to < 0 || send_rights(to, parts, 2, fd, 0) < 0)
		return -EPIPE;
	while ((len = receive_rights(to, &answer, 1, taken)) == (size_t)-1 && errno == EINTR)
		;
	return len == sizeof(error) ? -error : -EPIPE;
}

int helper_configure(struct helper *helper)
{
	return call(helper, HELPER_CONFIGURE, NULL, 0, -1, NULL);
}

int helper_bind(struct helper *helper, int fd, const struct sockaddr *at, socklen_t len)
{
	return call(helper, HELPER_BIND, at, len, fd, NULL);
}

int helper_keep(struct helper *helper, const char *name, int fd)
{
	return call(helper, HELPER_KEEP, name, strlen(name), fd, NULL);
}

int helper_take(struct helper *helper, const char *name)
{
	int fd = -1, status = call(helper, HELPER_TAKE, name, strlen(name), -1, &fd);

	return status ? status : fd;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct helper *helper_start(const struct conf *conf, const char *conf_path, void (*confine)(void),
			    char *err, size_t err_size)
{
	struct helper_start start = { .conf = conf, .conf_path = conf_path, .confine = confine };
	struct helper *helper = mem_new(helper);
	int pairs[HELPER_PAIRS][2];
	unsigned made = 0;

	while (made < HELPER_PAIRS &&
	       !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[made]))
		made++;
	if (made < HELPER_PAIRS || (helper->pid = fork()) < 0) {
		snprintf(err, err_size, "helper process: %s", strerror(errno));
		while (made--) {
			close(pairs[made][0]);
			close(pairs[made][1]);
		}
		free(helper);
		return NULL;
	}
	/* One that is killed while it is asked leaves no answer. */
	setsockopt(pairs[HELPER_CALLS][0], SOL_SOCKET, SO_RCVTIMEO,
		   &(struct timeval){ .tv_sec = ANSWER_S }, sizeof(struct timeval));
	for (unsigned i = 0; i < HELPER_PAIRS; i++) {
		close(pairs[i][helper->pid ? 1 : 0]);
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
	const struct helper_ask end = { .kind = HELPER_END };

	if (!helper)
		return;
	loop_fd_free(helper->watch);
	if (helper->loop)
		loop_set_helper(helper->loop, NULL);
	send(helper->fds[HELPER_CALLS], &end, sizeof(end), MSG_NOSIGNAL);
	for (unsigned i = 0; i < HELPER_PAIRS; i++)
		if (helper->fds[i] >= 0)
			close(helper->fds[i]);
	while (helper->runs)
		free(take_run(helper, helper->runs->id));
	while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(helper);
}
