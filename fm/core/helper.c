/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* helper: the daemon's side (the other one is helper_process.c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/core/helper_message.h"
#include "fm/core/log.h"
#include "topology/mem.h"

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
