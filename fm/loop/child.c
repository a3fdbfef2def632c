/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A table of 11,664 hosts takes longer to write than the loop may be held, and tables of a large
 * fabric in OpenSM's text run to a gigabyte. Both are pure functions of the published fabric, and
 * fork() gives a frozen copy of that for the price of a page table: the copy writes at leisure to a
 * pipe, and the fabric meanwhile may change as it likes. The parent only moves bytes, no faster
 * than the client takes them. Of a gigabyte that would be seconds of the parent's time: such a
 * child writes to the client's socket itself, and its pipe only tells when it ends.
 *
 * A copy that ends has gigabytes of pages to give back and may have to wait for its turn to do it:
 * nobody waits for that in the loop, it is asked after until it is gone.
 *
 * The copy keeps nothing of the parent's but what it writes to: no other descriptors, no signal
 * handlers; it dies with the parent, and it leaves by _exit() so that nobody's exit handlers run
 * twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "fm/loop/child.h"
#include "topology/base/mem.h"

#define PIECE	     65536
#define CHILD_NICE   10		 /* the fabric goes before documents */
#define PIPE_SIZE    (4 * PIECE) /* if the system gives so much */
#define ASK_FIRST_US 500	 /* after one that is about to end; then twice as long each time */
#define ASK_MOST_US  20000	 /* the longest of these pauses */

struct children {
	struct loop *loop;
	struct loop_timer *timer;
	struct child *ending; /* their pipes are closed */
	uint64_t ask_us;
};

struct child {
	struct children *all;
	struct child *next;	     /* of those that are ending */
	struct loop_fd *watch;	     /* NULL = it is ending */
	const struct child_ops *ops; /* NULL = it was killed: nothing is called */
	void *arg;
	pid_t pid;
	int fd;
	bool paused;
};

/* The parent's sockets do not block, and stay so: it is one open file for both. */
static ssize_t write_socket(void *cookie, const char *data, size_t len)
{
	struct pollfd writable = { .fd = *(const int *)cookie, .events = POLLOUT };
	size_t sent = 0;

	while (sent < len) {
		ssize_t now = send(writable.fd, data + sent, len - sent, MSG_NOSIGNAL);

		if (now > 0)
			sent += now;
		else if (now < 0 && errno == EAGAIN)
			poll(&writable, 1, -1);
		else if (now < 0 && errno != EINTR)
			return 0;
	}
	return sent;
}

/* `socket` is -1 where it writes to the pipe. */
static _Noreturn void child_main(const struct child_ops *ops, void *arg, int fd, int socket,
				 pid_t parent)
{
	const cookie_io_functions_t functions = { .write = write_socket };
	int low = socket < 0 || fd < socket ? fd : socket, high = fd > socket ? fd : socket;
	struct sigaction action;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it had been killed before */
	setpriority(PRIO_PROCESS, 0, CHILD_NICE);
	/*
	 * What the parent's loop caught has its default again; what it ignored stays so, and so
	 * does the sandbox's handler of refused calls.
	 */
	for (int signum = 1; signum < NSIG; signum++)
		if (signum != SIGSYS && !sigaction(signum, NULL, &action) &&
		    action.sa_handler != SIG_IGN)
			signal(signum, SIG_DFL);
	if (low > 3)
		close_range(3, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);

	FILE *out = socket < 0 ? fdopen(fd, "w") : fopencookie(&socket, "w", functions);

	if (!out)
		_exit(1);
	setvbuf(out, NULL, _IOFBF, PIECE);

	int status = ops->write(arg, out);

	_exit(fflush(out) || status);
}

/* ---- Its end --------------------------------------------------------------------------------- */

/* The process is gone; *whole: it ended by itself and reported that all is written. */
static bool is_gone(const struct child *child, int flags, bool *whole)
{
	int status = -1;
	pid_t pid;

	while ((pid = waitpid(child->pid, &status, flags)) < 0 && errno == EINTR)
		;
	*whole = WIFEXITED(status) && !WEXITSTATUS(status);
	return pid;
}

/* Tells and frees those that are gone; asks again while some are left. */
static void ask_cb(void *arg)
{
	struct children *all = arg;
	struct child **link = &all->ending;

	while (*link) {
		struct child *child = *link;
		bool whole;

		if (!is_gone(child, WNOHANG, &whole)) {
			link = &child->next;
			continue;
		}
		*link = child->next;
		if (child->ops)
			child->ops->end(child->arg, whole);
		free(child);
	}
	if (!all->ending)
		return;
	all->ask_us = all->ask_us * 2 < ASK_MOST_US ? all->ask_us * 2 : ASK_MOST_US;
	loop_timer_set(all->timer, all->ask_us);
}

/* Takes nothing more of it, and asks after it from the loop. */
static void begin_end(struct child *child)
{
	struct children *all = child->all;

	if (!child->watch)
		return;
	loop_fd_free(child->watch);
	child->watch = NULL;
	close(child->fd);
	child->next = all->ending;
	all->ending = child;
	all->ask_us = ASK_FIRST_US;
	loop_timer_set(all->timer, 0);
}

static void child_readable_cb(void *arg, unsigned events)
{
	struct child *child = arg;
	char piece[PIECE];
	ssize_t len = read(child->fd, piece, sizeof(piece));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len > 0)
		child->ops->data(child->arg, piece, len);
	else
		begin_end(child);
}

/* ---- Its life -------------------------------------------------------------------------------- */

struct child *child_start(struct children *all, const struct child_ops *ops, void *arg, int socket)
{
	pid_t pid, own = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	pid = fork();
	if (!pid) {
		close(ends[0]);
		child_main(ops, arg, ends[1], socket, own);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return NULL;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	fcntl(ends[0], F_SETPIPE_SZ, PIPE_SIZE);

	struct child *child = mem_new(child);

	*child = (struct child){ .all = all, .ops = ops, .arg = arg, .pid = pid, .fd = ends[0] };
	child->watch = loop_fd_new(all->loop, child->fd, LOOP_READ, child_readable_cb, child);
	return child;
}

void child_pause(struct child *child, bool paused)
{
	if (child->paused == paused || !child->watch)
		return;
	child->paused = paused;
	loop_fd_set(child->watch, paused ? 0 : LOOP_READ);
}

void child_kill(struct child *child)
{
	if (!child)
		return;
	child->ops = NULL;
	kill(child->pid, SIGKILL);
	begin_end(child);
}

struct children *children_new(struct loop *loop)
{
	struct children *all = mem_new(all);

	all->loop = loop;
	all->timer = loop_timer_new(loop, ask_cb, all);
	return all;
}

void children_free(struct children *all)
{
	if (!all)
		return;
	while (all->ending) {
		struct child *child = all->ending;
		bool whole;

		all->ending = child->next;
		is_gone(child, 0, &whole);
		free(child);
	}
	loop_timer_free(all->timer);
	free(all);
}

/* ---- Threads --------------------------------------------------------------------------------- */

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, had;

	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &had);

	int error = pthread_create(thread, NULL, run, arg);

	pthread_sigmask(SIG_SETMASK, &had, NULL);
	return error;
}
