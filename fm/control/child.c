/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A table of 11,664 hosts takes longer to write than the loop may be held, and tables of a large
 * fabric in OpenSM's text run to a gigabyte. Both are pure functions of the published fabric, and
 * fork() gives a frozen copy of that for the price of a page table: the copy writes at leisure to a
 * pipe, and the fabric meanwhile may change as it likes. The parent only moves bytes, no faster
 * than the asker takes them.
 *
 * The copy keeps nothing of the parent's but the pipe: no descriptors, no signal handlers; it dies
 * with the parent, and it leaves by _exit() so that nobody's exit handlers run twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/control/child.h"
#include "topology/mem.h"

#define PIECE 65536

struct child {
	struct loop_fd *watch;
	const struct child_ops *ops;
	void *arg;
	pid_t pid;
	int fd;
	bool paused;
};

/* Sets what the parent's loop caught back to the default; what it ignored stays so. */
static void release_signals(void)
{
	struct sigaction action;

	for (int signum = 1; signum < NSIG; signum++)
		if (!sigaction(signum, NULL, &action) && action.sa_handler != SIG_IGN)
			signal(signum, SIG_DFL);
}

static _Noreturn void child_main(const struct child_ops *ops, void *arg, int fd)
{
	FILE *out;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	release_signals();
	if (fd > 3)
		close_range(3, fd - 1, 0);
	close_range(fd + 1, ~0U, 0);
	out = fdopen(fd, "w");
	if (!out)
		_exit(1);
	status = ops->write(arg, out);
	if (fflush(out))
		status = -1;
	_exit(status ? 1 : 0);
}

/* True when the child ended by itself and said that all is written. */
static bool child_reap(struct child *child)
{
	int status = -1;

	loop_fd_free(child->watch);
	close(child->fd);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	free(child);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void child_readable_cb(void *arg, unsigned events)
{
	struct child *child = arg;
	char piece[PIECE];
	ssize_t len = read(child->fd, piece, sizeof(piece));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len > 0) {
		child->ops->data(child->arg, piece, len);
	} else {
		const struct child_ops *ops = child->ops;
		void *owner = child->arg;

		ops->end(owner, child_reap(child));
	}
}

struct child *child_start(struct loop *loop, const struct child_ops *ops, void *arg)
{
	struct child *child;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		child_main(ops, arg, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return NULL;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	child = mem_alloc(1, sizeof(*child));
	*child = (struct child){ .ops = ops, .arg = arg, .pid = pid, .fd = ends[0] };
	child->watch = loop_fd_new(loop, child->fd, LOOP_READ, child_readable_cb, child);
	return child;
}

void child_pause(struct child *child, bool paused)
{
	if (child->paused == paused)
		return;
	child->paused = paused;
	loop_fd_set(child->watch, paused ? 0 : LOOP_READ);
}

void child_kill(struct child *child)
{
	if (!child)
		return;
	kill(child->pid, SIGKILL);
	child_reap(child);
}
